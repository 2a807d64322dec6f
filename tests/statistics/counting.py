"""What tests of counting studies share: what a finding was charged, and how far neighbours moved what was released."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.loss import compose
from tacit.loss.events import from_json
from tacit.statistics.finding import Finding

HUGE = 10_000
"""At this epsilon discrete Laplace noise of a sensitivity up to 10 is zero but for exp(-1000): counts are exact."""


def event_of(finding: Finding) -> dict[str, Any]:
    """The charged event, as plain JSON."""
    found: dict[str, Any] = json.loads(finding.receipt["event"])
    return found


def sensitivity_of(finding: Finding) -> Fraction:
    """The sensitivity that the charge states."""
    return Fraction(event_of(finding)["sensitivity"])


def worth(finding: Finding, delta: float = 0.0) -> float:
    """What the charged event is worth by the tight accountant."""
    return float(compose([from_json(finding.receipt["event"])]).epsilon(delta=delta))


def clinic(
    rows: pd.DataFrame, rows_per_unit: int, columns: dict[str, Any], epsilon: float = 10**7, delta: float = 1e-3
) -> tacit.Curator:
    """A curator of these rows, the unit in column `who`."""
    return tacit.protect(
        rows,
        unit="who",
        rows_per_unit=rows_per_unit,
        columns=columns,
        budget=tacit.Budget(epsilon=epsilon, delta=delta),
    )


def with_and_without(seed: int, units: int, rows_per_unit: int, draw: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Neighbours: rows of several units, and the same with one unit less. `draw(rng, size)` makes the columns."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, rows_per_unit + 1, size=units)
    counts[0] = rows_per_unit
    who = np.repeat(np.arange(units), counts)
    frame = pd.DataFrame({"who": who, **draw(rng, len(who))})
    return frame, frame[frame.who != 0].reset_index(drop=True)
