"""What the studies of several columns share: reading what was asked, and planning the release of second moments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.parameters import Number
from tacit.statistics.moments.bounded import all_bounded
from tacit.statistics.moments.clipping import ball_of
from tacit.statistics.moments.second_moments import Design, design
from tacit.statistics.source import Source, source_of

_MOST_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class Several:
    """Several columns, how their second moments will be released, and the public words for it."""

    source: Source
    design: Design
    level: Fraction

    def asked(self, study: str, **more: Any) -> dict[str, Any]:
        """What stands for the study in the ledger."""
        ball = self.design.ball
        shape = {"norm": None, "reach": None} if ball is None else {"norm": ball.norm, "reach": ball.reach}
        return {"study": study, **shape, **more}

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [each.name for each in self.design.columns]

    @property
    def clipping(self) -> str:
        """What was done to the rows."""
        ball = self.design.ball
        if ball is None:
            return "Each value is clamped to its bounds."
        return (
            f"Rows are clipped to an {ball.norm.upper()} ball of radius {ball.radius:.4g}, in units in which each "
            "column's bounds are -1 and 1; what is said is about the clipped rows."
        )


def several(
    data: Any,
    columns: Any,
    *,
    epsilon: Number,
    delta: Number,
    bounds: Any,
    rows_per_unit: int | None,
    norm: Any,
    radius: Any,
    level: Number,
    least: int,
) -> Several:
    """The columns and the plan, or a refusal; nothing has been paid."""
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    known = all_bounded(source, least)
    if len(known) > _MOST_COLUMNS:
        raise parameters.refuse("columns", f"at most {_MOST_COLUMNS}", len(known))
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    ball = ball_of(norm, radius, len(known))
    made = design(known, ball, source.rows_per_unit, exact_epsilon, exact_delta)
    return Several(source, made, parameters.level("level", level))
