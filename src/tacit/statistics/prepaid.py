"""Sources that stand in for another: one that tells what a study would cost, and one where it is paid for already.

    price = price_of(source, study)              # the study is called, and stopped where it would pay
    study(Prepaid(source, opened, bits, ...))    # the study is called again, and computes

So a study written for any source can be part of something larger that is charged once. What it may spend is bounded:
a `Prepaid` source refuses more than its allowance, what needs a delta where it has none, and (with `only`) any event
but the one that was charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.errors import QuestionError
from tacit.loss import events
from tacit.noise import BitSource
from tacit.plan.row_plan import Variable
from tacit.statistics.finding import Finding
from tacit.statistics.source import ArraySource, Opened, PricedStudy, Source, finding_of


class _Stopped(Exception):  # not a refusal: nothing is wrong
    """A study reached the point where it pays."""

    def __init__(self, asked: Mapping[str, Any], price: Price) -> None:
        super().__init__("A study was stopped before it paid.")
        self.asked, self.price = asked, price


class _StandIn(Source):
    """The public facts of another source, or of some of its columns."""

    def __init__(self, source: Source, columns: Sequence[str] | None) -> None:
        self._source = source
        self._known = source.variables if columns is None else tuple(source.variable(name) for name in columns)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns."""
        return self._known

    @property
    def rows_per_unit(self) -> int:
        """As in the other source."""
        return self._source.rows_per_unit

    @property
    def neighbours(self) -> str:
        """As in the other source."""
        return self._source.neighbours

    def of(self, *columns: str) -> _StandIn:
        """Some of the columns."""
        return type(self)(self._source, columns)

    def paid(self, asked: Mapping[str, Any], price: Price, analyst: str | None) -> Opened:
        """Refused here: a study that asks one by one pays for itself."""
        raise QuestionError("A study that goes on asking cannot be part of another one. Give it its own budget.")


class _Stopping(_StandIn):
    def deliver(self, study: PricedStudy) -> Finding:
        parameters.level("level", study.level)
        names = [each.name for each in self.variables]
        raise _Stopped({**study.asked, "columns": names, "level": str(study.level)}, study.price)


class Prepaid(_StandIn):
    """Data that were paid for: studies of them compute at once, within the allowance."""

    def __init__(
        self,
        source: Source,
        opened: Opened,
        bits: BitSource,
        epsilon: Fraction,
        delta: Fraction = Fraction(0),
        *,
        only: events.Event | None = None,
        entry: str = "part of another study",
        columns: Sequence[str] | None = None,
    ) -> None:
        super().__init__(source, columns)
        self._opened, self._bits, self._entry, self._only = opened, bits, entry, only
        self._left = [epsilon, delta]  # shared with the sources that are made from this one

    def of(self, *columns: str) -> Prepaid:
        """Some of the columns, paid from the same allowance."""
        wanted, only = columns or None, self._only
        made = Prepaid(
            self._source, self._opened, self._bits, Fraction(0), only=only, entry=self._entry, columns=wanted
        )
        made._left = self._left
        return made

    def sharing(self, source: Source) -> Prepaid:
        """Another source of the same rows, paid from the same allowance."""
        made = Prepaid(source, self._opened, self._bits, Fraction(0), only=self._only, entry=self._entry)
        made._left = self._left
        return made

    def deliver(self, study: PricedStudy) -> Finding:
        """The finding, taken from the allowance."""
        exact, price = float(parameters.level("level", study.level)), study.price
        if price.epsilon > self._left[0] or price.delta > self._left[1]:
            left = f"at most ({float(self._left[0]):g}, {float(self._left[1]):g}), what is left of the allowance"
            raise parameters.refuse("epsilon and delta", left, (float(price.epsilon), float(price.delta)))
        if self._only is not None and price.event != self._only:
            raise parameters.refuse("event", "the one that was paid for", price.event.to_json())
        self._left[0] -= price.epsilon
        self._left[1] -= price.delta
        return Finding.from_bytes(
            finding_of(study.compute(self._opened, self._bits), self, price, exact, self._entry).to_bytes()
        )


def price_of(
    source: Source, columns: Sequence[str] | None, study: Callable[[Source], Any]
) -> tuple[dict[str, Any], Price]:
    """What a study asks and what it would cost, found by calling it on a source that stops it there."""
    try:
        study(_Stopping(source, columns))
    except _Stopped as stopped:
        return dict(stopped.asked), stopped.price
    raise QuestionError("The study released nothing from the data that it was given.")


def price_within(study: Callable[[Callable[[Source], Source]], Any]) -> tuple[dict[str, Any], Price]:
    """The same for a study that makes its own source: it is given the source to use instead."""
    try:
        study(lambda source: _Stopping(source, None))
    except _Stopped as stopped:
        return dict(stopped.asked), stopped.price
    raise QuestionError("The study released nothing from the data that it was given.")


class Replayed(_StandIn):
    """Data whose finding exists already: a study of them is given that finding, and sees nothing else."""

    def __init__(self, source: Source, finding: Finding) -> None:
        super().__init__(source, None)
        self._finding = finding

    def of(self, *columns: str) -> Replayed:
        """Some of the columns: the finding is the same."""
        made = Replayed(self._source, self._finding)
        made._known = tuple(self._source.variable(name) for name in columns)
        return made

    def deliver(self, study: PricedStudy) -> Finding:
        """The finding."""
        return self._finding


def rehearsal(source: Source, bits: BitSource, epsilon: Fraction) -> Prepaid:
    """The same columns without any row: a study can be tried on it free of charge."""
    names = [each.name for each in source.variables]
    empty = ArraySource(
        source.variables,
        {name: np.zeros(0, dtype=np.int64) for name in names},
        {name: np.zeros(0, dtype=bool) for name in names},
    )
    opened = empty.paid({}, Price(events.Composed(()), Fraction(0)), None)
    return Prepaid(source, opened, bits, epsilon)
