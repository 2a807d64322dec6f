"""An A/B test: two groups, a yes-or-no outcome, the difference, the lift, and whether it may be chance.

Theorem. The four counts (group x outcome) are released with noise of scale 1/epsilon each: a row is in one of them, so
their L1 sensitivity is 1. All else is post-processing.

The difference's interval takes the error as the normal one of two proportions, each with one success and one failure
added (Agresti, Caffo), plus the known noise of the four counts over the groups' sizes. The lift (second over first,
minus 1) gets the ratios that the same law does not reject (Fieller); with few rows it is not shown. The p-value is that
of equal proportions, with the pooled one in the sampling variance.

Assumptions: rows are independent draws, one of each unit. Neighbours: one unit's row, added or removed.
Source: Agresti, Caffo 2000; Fieller 1954.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit import parameters
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.domains import counts_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.inference.proportion import success
from tacit.statistics.inference.two_groups import groups_of, other_column
from tacit.statistics.moments.additive import laplace
from tacit.statistics.moments.inversion import not_rejected
from tacit.statistics.moments.noise_sum import NoiseSum
from tacit.statistics.source import Opened, source_of

_MOST_LIFT = 1e6
_FEW = 10.0  # times the noise's scale: with fewer rows a quotient is shown only if noise makes them look like more


@dataclass(frozen=True, slots=True)
class Arm:
    """One group's released counts, of noise of this scale."""

    yes: float
    no: float
    scale: float

    @property
    def count(self) -> float:
        """The number of rows."""
        return self.yes + self.no

    @property
    def rate(self) -> float:
        """The proportion of yes."""
        return min(max(self.yes / max(self.count, 1.0), 0.0), 1.0)

    @property
    def enough(self) -> bool:
        """Whether the count stands out of its noise."""
        return self.count > 4 * self.scale

    def law(self, weight: float = 1.0, rate: float | None = None) -> NoiseSum:
        """The law of the rate's error, times a weight; `rate` is the one that sampling is taken at."""
        count = self.count
        adjusted = (max(self.yes, 0.0) + 1) / (count + 2) if rate is None else rate
        at = min(max(adjusted, 0.0), 1.0)
        size = count + 2 if rate is None else count
        noise = abs(weight) * self.scale / count
        return NoiseSum((noise * (1 - at), noise * at), weight * weight * at * (1 - at) / size)


def together(first: NoiseSum, second: NoiseSum) -> NoiseSum:
    """The law of the sum of two independent errors."""
    scales = tuple(each for each in (*first.scales, *second.scales) if each > 0)
    return NoiseSum(scales, first.variance + second.variance)


def ab_test(
    data: Any,
    columns: Any = None,
    *,
    by: str,
    epsilon: Number,
    value: Any = None,
    groups: Any = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """Whether the second group says yes (`value`; or 1, or true) more often than the first, and by how much.

    >>> facts = {"bought": ["no", "yes"], "page": ["old", "new"]}
    >>> data = {"bought": ["no", "yes", "yes"], "page": ["old", "new", "new"]}
    >>> ab_test(data, by="page", value="yes", values=facts, epsilon=1).title
    'A/B test of old and new'
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each("An A/B test")
    cells, place = success(source.variable(other_column(source, by)), value)
    chosen = groups_of(source, by, groups)
    exact_epsilon = parameters.price("epsilon", epsilon)
    confidence = float(parameters.level("level", level))
    noise = laplace(1, exact_epsilon)

    def compute(opened: Opened, bits: BitSource) -> Content:
        table = counts_of(opened, [chosen.cells, cells])
        exact = [int(each) for group in chosen.places for each in (table[group, place], _rest(table[group], place))]
        yes, no, yes_second, no_second = (float(each) for each in noise.release(exact, bits))
        scale = noise.mechanism.scale
        return _content(Arm(yes, no, scale), Arm(yes_second, no_second, scale), chosen.names, confidence)

    asked = {
        "study": "ab test",
        "by": chosen.cells.name,
        "groups": list(chosen.names),
        "value": str(cells.labels[place]),
    }
    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def _rest(counts: Any, place: int) -> int:
    return int(counts.sum() - counts[place])


def difference(first: Arm, second: Arm, level: float) -> tuple[float, float]:
    """The interval of (second rate - first rate)."""
    if not (first.enough and second.enough):
        return -1.0, 1.0
    law, gap = together(first.law(), second.law()), second.rate - first.rate
    reach = law.quantile(level)
    return max(gap - reach, -1.0), min(gap + reach, 1.0)


def chance(first: Arm, second: Arm) -> float:
    """The p-value of equal rates."""
    if not (first.enough and second.enough):
        return 1.0
    pooled = min(max((first.yes + second.yes) / (first.count + second.count), 0.0), 1.0)
    law = together(first.law(rate=pooled), second.law(rate=pooled))
    return law.beyond(abs(second.rate - first.rate))


def lift(first: Arm, second: Arm, level: float) -> tuple[float | None, float | None, float | None]:
    """(second/first - 1) and its interval; None for an end that is not bounded."""
    if min(first.count / first.scale, second.count / second.scale) <= _FEW or first.rate <= 0:
        return None, None, None
    estimate = second.rate / first.rate

    def chance_of(ratio: float) -> float:
        return together(first.law(ratio), second.law()).beyond(abs(second.rate - ratio * first.rate))

    low, high = not_rejected(chance_of, level, estimate, 0.0, max(_MOST_LIFT, 2 * estimate))
    return estimate - 1, low - 1, None if high >= _MOST_LIFT else high - 1


def _content(first: Arm, second: Arm, names: tuple[str, str], level: float) -> Content:
    gap, (low, high), p_value = second.rate - first.rate, difference(first, second, level), chance(first, second)
    relative, least, most = lift(first, second, level)
    table = (
        column("second - first", [f"{names[1]} - {names[0]}"]),
        column("difference", [gap], [low], [high]),
        column("lift", [relative], [least], [most]),
        column("p_value", [p_value]),
    )
    arrays = {"rates": [first.rate, second.rate], "counts": [first.count, second.count]}
    words = "Intervals and the p-value cover sampling and noise."
    return Content(
        f"A/B test of {names[0]} and {names[1]}", table, (_sentence(names, gap, low, high, level), words), arrays
    )  # fmt: skip


def _sentence(names: tuple[str, str], gap: float, low: float, high: float, level: float) -> str:
    """What the test says, in words; made of released numbers."""
    points = f"{100 * gap:+.2f} percentage points ({100 * low:+.2f} to {100 * high:+.2f})"
    if low > 0 or high < 0:
        better, worse = (names[1], names[0]) if low > 0 else (names[0], names[1])
        return f"{better} does better than {worse} at the level of {100 * level:g} %: {names[1]} differs by {points}."
    return f"No clear difference at the level of {100 * level:g} %: {names[1]} differs from {names[0]} by {points}."
