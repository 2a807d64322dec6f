"""Rule: the sources in FROM and JOIN become places: sources whose columns have bounds and whose units have few rows.

Why a unit has few rows in each of them stands in `sources.opener`.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import QuestionError
from tacit.plan.draft import Draft, changed
from tacit.plan.sources.opener import Opener


def open_sources(draft: Draft) -> Draft:
    """The draft with its sources opened, and how many rows of one unit they hold together."""
    question = draft.question
    opener = Opener(draft.policy, question.rows_per_unit)
    joined = opener.open_from(question.source, question.joins, question.where)
    if joined.rows is None:
        raise QuestionError(
            f"Table {joined.places[0].shown!r} is public: read it directly. A question has a private table in it."
        )
    opener.check_asked()
    resolved = replace(question, source=joined.source, joins=joined.joins, rows_per_unit=None)
    return changed(
        draft,
        question=resolved,
        joined=joined,
        scope=joined.scope,
        rows_per_unit=joined.rows,
        notes=tuple(dict.fromkeys(opener.notes)),
    )
