"""What an asker says in addition to the question: its price, its levers, and who asks.

It is said as arguments, on a command line, in a request, or in the question's own text (`tree.Privacy`). `Asked.of`
reads it once, as a person writes numbers, and is the one place where it is checked without the question; all who come
after take the one value. `with_words_of` adds what the text says.

Promise: nothing that was said is dropped. What is said in both places must be the same; otherwise neither is taken and
the question is refused. The returned question no longer has these words, so it is the same question however its price
was written, and is answered once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
class Asked:
    """The price (epsilon or rho, with a delta; or the accuracy `within`), the levers and the asker; None: not said."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    within: Number | None = None
    rows: int | None = None  # the asker's guess of how many rows a cell has
    weights: Mapping[str, Fraction] | None = None
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    analyst: str | None = None

    @classmethod
    def of(
        cls,
        epsilon: Number | Asked | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        rows: int | None = None,
        weights: Mapping[str, Number] | None = None,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Asked:
        """As a person wrote it: 0.1 is exactly a tenth. An `Asked` says all of it, and stays as it is.

        >>> from tacit.plan.asked import Asked
        >>> Asked.of(0.1, delta="1e-6").epsilon
        Fraction(1, 10)
        """
        if isinstance(epsilon, Asked):
            besides = (delta, rho, within, rows, weights, rows_per_unit, groups_per_unit, analyst)
            if any(each is not None for each in besides):
                raise parameters.refuse("epsilon", "a number where other parameters are given", epsilon)
            return epsilon
        return cls(
            None if epsilon is None else parameters.price("epsilon", epsilon),
            None if delta is None else parameters.slip("delta", delta),
            None if rho is None else parameters.price("rho", rho),
            within,
            None if rows is None else parameters.whole("rows", rows, least=1),
            {name: parameters.price("weights", each) for name, each in weights.items()} if weights else None,
            None if rows_per_unit is None else parameters.whole("rows_per_unit", rows_per_unit, least=1),
            None if groups_per_unit is None else parameters.whole("groups_per_unit", groups_per_unit, least=1),
            analyst,
        )

    def with_words_of(self, said: tree.Privacy | None) -> Asked:
        """All that was said, here and in the question's own text."""
        if said is None:
            return self
        return replace(
            self,
            epsilon=_same("epsilon", said.epsilon, self.epsilon) if said.epsilon else self.epsilon,
            delta=_same("delta", said.delta, self.delta) if said.delta is not None else self.delta,
            rows_per_unit=_same("rows_per_unit", said.rows_per_unit, self.rows_per_unit),
            groups_per_unit=_same("groups_per_unit", said.groups_per_unit, self.groups_per_unit),
        )

    def bounded(self, question: tree.Question) -> tree.Question:
        """The question without its own words about privacy, with its bounds."""
        most = question.rows_per_unit if self.rows_per_unit is None else self.rows_per_unit
        groups = question.groups_per_unit if self.groups_per_unit is None else self.groups_per_unit
        if question.privacy is None and (most, groups) == (question.rows_per_unit, question.groups_per_unit):
            return question
        return replace(question, privacy=None, rows_per_unit=most, groups_per_unit=groups)


def check_unit(privacy: tree.Privacy | None, tables: Iterable[str], policy: Policy) -> None:
    """Refuse a question that names another unit than the policy protects. The owner decides who is protected."""
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


def _same(name: str, said: _Said | None, given: _Said | None) -> _Said | None:
    if said is None or given is None:
        return given if said is None else said
    if said != given:
        raise QuestionError(
            f"The question itself says {name} = {_shown(said)}, and {_shown(given)} was given besides. Say it once."
        )
    return said


def _shown(number: int | Fraction) -> str:
    """A short decimal where that is exact."""
    exact = Fraction(number)
    short = f"{float(exact):.12g}" if abs(exact) < 10**300 else ""
    return short if short and Fraction(short) == exact else parameters.as_text(exact)
