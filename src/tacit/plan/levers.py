"""What a question says about its own price (`tree.Privacy`), put together with what was given beside it.

Promise: nothing that was said is dropped. What is said in both places must be the same; otherwise neither is taken and
the question is refused. The question that comes back no longer says it, so that it is one question however its price
was written, and is answered once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from tacit import parameters
from tacit.errors import QuestionError
from tacit.parameters import Number
from tacit.policy import ColumnUnit, Policy
from tacit.question import tree

_Said = TypeVar("_Said", int, Fraction)


@dataclass(frozen=True, slots=True)
class Levers:
    """The price and the bounds of one question; None where nobody said anything."""

    epsilon: Number | None = None
    delta: Number | None = None
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None


def merged(question: tree.Question, beside: Levers) -> tuple[tree.Question, Levers]:
    """The question without its own words about privacy, and all that was said."""
    said = question.privacy
    if said is None:
        return question, beside
    return replace(question, privacy=None), Levers(
        _same("epsilon", said.epsilon, _exact("epsilon", beside.epsilon)) if said.epsilon else beside.epsilon,
        _same("delta", said.delta, _exact("delta", beside.delta)) if said.delta is not None else beside.delta,
        _same("rows_per_unit", said.rows_per_unit, _whole("rows_per_unit", beside.rows_per_unit)),
        _same("groups_per_unit", said.groups_per_unit, _whole("groups_per_unit", beside.groups_per_unit)),
    )


def check_unit(privacy: tree.Privacy | None, tables: Iterable[str], policy: Policy) -> None:
    """Refuse a question that names another unit than the policy protects. Who is protected is the owner's word."""
    if privacy is None or privacy.unit is None:
        return
    for table in tables:
        unit = policy.unit_of(table).unit
        if not isinstance(unit, ColumnUnit):
            raise QuestionError(f"Table {table!r} protects single rows, by its policy. Leave out privacy_unit_column.")
        if unit.column.casefold() != privacy.unit.casefold():
            raise QuestionError(
                f"The unit of table {table!r} is {unit.column!r}, by its policy, and not {privacy.unit!r}. "
                f"Write privacy_unit_column = {unit.column}, or leave it out."
            )


def _exact(name: str, value: Number | None) -> Fraction | None:
    return None if value is None else parameters.rational(name, value)


def _whole(name: str, value: int | None) -> int | None:
    return None if value is None else parameters.whole(name, value, least=1)


def _same(name: str, said: _Said | None, given: _Said | None) -> _Said | None:
    if said is None or given is None:
        return given if said is None else said
    if said != given:
        raise QuestionError(
            f"The question itself says {name} = {_shown(said)}, and {_shown(given)} was given beside it. Say it once."
        )
    return said


def _shown(number: int | Fraction) -> str:
    """A short decimal where that is exact."""
    exact = Fraction(number)
    short = f"{float(exact):.12g}" if abs(exact) < 10**300 else ""
    return short if short and Fraction(short) == exact else parameters.as_text(exact)
