"""The plan of answers put together (UNION ALL): the plans of its SELECTs, and and the joint kinds of their columns.

Promise: the kinds of all columns follow from the plans, before anything is paid; SELECTs whose columns do not fit
together are refused here. The cost of the whole is the composition of its plans' costs. Putting rows one below the
other, sorting and cutting them looks at released values alone, and is free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.errors import QuestionError
from tacit.loss.events import Composed, Event
from tacit.plan.plan import Expected, OutputPlan, Pick, Plan, Query
from tacit.question import tree
from tacit.question.shared_scan import HIDDEN, Family

Planned = Sequence[tuple[Family, Plan]]
_NUMBERS = {"integer": "real", "integer[]": "real[]"}
"""The kind of a column that mixes whole and real numbers."""


@dataclass(frozen=True, slots=True)
class UnitedPlan:
    """How the answers of several questions are made and put together. `plans` may answer several of them each."""

    question: tree.United
    plans: tuple[tuple[Family, Plan], ...]
    kinds: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, those of the first SELECT."""
        return tuple(output.name for output in self.question.parts[0].outputs)

    @property
    def event(self) -> Event:
        """The event of all plans together."""
        return Composed(tuple(plan.event for _, plan in self.plans))

    @property
    def epsilon(self) -> Fraction:
        """The total that was asked for."""
        return sum((plan.epsilon for _, plan in self.plans if plan.epsilon is not None), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """The total that was asked for."""
        return sum((plan.delta for _, plan in self.plans), Fraction(0))

    @property
    def picks(self) -> tuple[Pick, ...]:
        """The picks of all plans."""
        return tuple(pick for _, plan in self.plans for pick in plan.picks)

    @property
    def outputs(self) -> tuple[OutputPlan, ...]:
        """The columns of every SELECT in turn."""
        return tuple(output for _, _, output in self._columns())

    @property
    def queries(self) -> tuple[Query, ...]:
        """Every query that is pushed down."""
        return tuple(query for _, plan in self.plans for query in plan.queries)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The plans in plain words."""
        found = [
            f"The answers of {len(self.question.parts)} SELECTs are put together, one below the other, for one charge. "
            "What they may cost is shared by their number; sorting and cutting the whole costs nothing."
        ]
        for family, plan in self.plans:
            numbers = ", ".join(str(member.place + 1) for member in family.members)
            found += ["", f"SELECT {numbers}:", *plan.sentences]
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all answers."""
        return tuple(dict.fromkeys(note for family, plan in self.plans for note in self._notes(family, plan)))

    def _notes(self, family: Family, plan: Plan) -> Iterator[str]:
        names = tuple(output.name for output in plan.outputs)
        columns = [(names[column], place) for member in family.members for place, column in enumerate(member.columns)]
        return spoken(plan.notes, {name: self.names[place] for name, place in columns})

    @property
    def errors(self) -> tuple[Expected, ...]:
        """What is expected of every noisy column whose noise does not depend on the data."""
        return tuple(each for each in self._expected(None) if each.rows is None)

    def errors_at(self, rows: int) -> tuple[Expected, ...]:
        """What is expected of every noisy column in a cell with this many rows."""
        return tuple(self._expected(rows))

    def _expected(self, rows: int | None) -> Iterator[Expected]:
        for place, plan, output in self._columns():
            listed = plan.errors if rows is None else plan.errors_at(rows)
            found = next((each for each in listed if each.name == output.name), None)
            if found is not None:
                yield replace(found, name=f"{self._called(place, plan, output)} of SELECT {place + 1}")

    def _called(self, place: int, plan: Plan, output: OutputPlan) -> str:
        member = next(each for family, _ in self.plans for each in family.members if each.place == place)
        return self.names[member.columns.index(plan.outputs.index(output))]

    def _columns(self) -> Iterator[tuple[int, Plan, OutputPlan]]:
        """Which SELECT, the plan that answers it, and the plan's column, in the order of the text."""
        members = [(member, plan) for family, plan in self.plans for member in family.members]
        for member, plan in sorted(members, key=lambda each: each[0].place):
            for column in member.columns:
                yield member.place, plan, plan.outputs[column]


def spoken(notes: Iterable[str], own: Mapping[str, str]) -> Iterator[str]:
    """The notes about these columns or about none; columns without an alias get the asker's names (`own`)."""
    hidden = rf"{re.escape(HIDDEN)}\d+"
    for note in notes:
        named = re.findall(hidden, note)
        meant = ", ".join(dict.fromkeys(own[name] for name in named if name in own))
        if not named:
            yield note
        elif meant:
            before, after = re.split(rf"{hidden}(?:, {hidden})*", note, maxsplit=1)
            yield f"{before}{meant}{after}"


def unite_plans(question: tree.United, plans: Planned) -> UnitedPlan:
    """The plans put together, where their columns fit."""
    kinds: list[list[str]] = [[] for _ in question.parts[0].outputs]
    members = [(member, plan) for family, plan in plans for member in family.members]
    for member, plan in sorted(members, key=lambda each: each[0].place):
        for place, column in enumerate(member.columns):
            # NULL is of whatever kind the others are
            if question.parts[member.place].outputs[place].expression != tree.Literal(None):
                kinds[place].append(plan.outputs[column].kind)
    names = [output.name for output in question.parts[0].outputs]
    whole = tuple(_kind(each, name) for each, name in zip(kinds, names, strict=True))
    for each in question.order:
        if whole[each.place] not in ("integer", "real", "text", "date", "timestamp", "boolean"):
            raise QuestionError(
                f"ORDER BY {names[each.place]!r}: lists and maps have no order. Sort by another column."
            )
    return UnitedPlan(question, tuple(plans), whole)


def _kind(kinds: Sequence[str], name: str) -> str:
    found = set(kinds)
    if len(found) > 1:
        found = {_NUMBERS.get(kind, kind) for kind in found}
    if len(found) > 1:
        listed = ", ".join(dict.fromkeys(kinds))
        raise QuestionError(
            f"The column {name!r} of a UNION ALL must be of one kind in all its SELECTs, and is {listed}. "
            "Give each kind a column of its own, with NULL in the other SELECTs."
        )
    return next(iter(found), "real")
