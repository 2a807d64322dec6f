"""What was asked: SQL text becomes one small typed tree, or a refusal that says where and what to write instead.

    from tacit.question import read
    question = read("SELECT sex, avg(age) FROM visits GROUP BY sex")

Nothing here knows about privacy, and no part of the text is ever executed: everything that is not listed is refused.
"""

from __future__ import annotations

from tacit.question.canonical import canonical
from tacit.question.read import read, read_asked, read_with_select
from tacit.question.tree import Question, United

__all__ = ["Question", "United", "canonical", "read", "read_asked", "read_with_select"]
