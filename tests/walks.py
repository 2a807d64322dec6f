"""How often a text is read, a question prepared and a plan finished, while something is asked."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


def counted(patch: pytest.MonkeyPatch) -> Counter[str]:
    """The counts from now on: texts "read", questions "prepared" up to their noise, plans "finished" with theirs."""
    found: Counter[str] = Counter()
    for module, name, called in (
        ("tacit.question.read", "syntax_of", "read"),
        ("tacit.plan.make", "prepare", "prepared"),
        ("tacit.plan.make", "_finished", "finished"),
    ):
        place = sys.modules[module]
        patch.setattr(place, name, _counting(getattr(place, name), found, called))
    return found


def _counting(function: Callable[..., Any], found: Counter[str], called: str) -> Callable[..., Any]:
    def counting(*arguments: Any, **options: Any) -> Any:
        found[called] += 1
        return function(*arguments, **options)

    return counting


ONCE = {"read": 1, "prepared": 1, "finished": 1}
