"""A pick without its noise: its column, its grid, and the wanted ranks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias

from sqlglot import exp

from tacit.mechanisms import Extreme, Mode, Quantiles
from tacit.plan.columns import KeyColumn, RawKey
from tacit.question import tree

PickMechanism: TypeAlias = Quantiles | Extreme | Mode


@dataclass(frozen=True, slots=True)
class PickPart:
    """`sql` gives a row's place on a grid of `points`, or for a mode its value. It is NULL only where `nullable`."""

    kind: OneOf["quantile", "min", "max", "mode"]
    sql: exp.Expr
    nullable: bool
    points: int
    low: int
    stride: int
    values: tuple[RawKey, ...] | None
    shares: tuple[Fraction, ...]
    columns: tuple[KeyColumn, ...]
    aggregates: tuple[tree.Aggregate, ...]
    step: Fraction | None = None  # values within the same step of this are one point; None: all are told apart

    @property
    def levels(self) -> int:
        """How many choices a unit's rows are part of."""
        return Quantiles.levels_of(len(self.shares)) if self.kind == "quantile" else len(self.columns)

    def mechanism(self, rows: int, epsilon: Fraction) -> PickMechanism:
        """The mechanism for at most `rows` rows of a unit."""
        if self.kind == "quantile":
            return Quantiles(self.points, self.shares, rows, epsilon)
        if self.kind == "mode":
            return Mode(self.points, rows, epsilon, len(self.columns))
        return Extreme(self.points, self.kind == "max", rows, epsilon)
