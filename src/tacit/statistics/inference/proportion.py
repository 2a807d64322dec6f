"""The proportion of rows with a property, in the population: sampling and noise together.

Theorem. The number of rows with the property and the number without are released with noise of scale 1/epsilon each: a
row is in one of them, so the L1 sensitivity of the pair is 1. Their sum is the count, and the interval holds the
proportions that an exact test does not reject (`binomial_noise`); it is sound for few rows, where the noise is what
matters, as for many.

Assumptions: rows are independent draws from a population, one row of each unit. Neighbours: one unit's row, added or
removed. The law of the noise is taken as the continuous one, which is a little wider than that on the whole numbers.
Source: Awan, Slavkovic 2018 (exact inference for a noisy binomial); the inversion of a test is Neyman's.
"""

from __future__ import annotations

from typing import Any

from tacit import parameters
from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.plan.row_plan import Variable
from tacit.statistics.domains import Domain, counts_of, domain_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.inference.binomial_noise import chance_of_proportion
from tacit.statistics.moments.additive import laplace
from tacit.statistics.moments.inversion import not_rejected
from tacit.statistics.source import Opened, source_of


def proportion(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    value: Any = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The population's proportion of rows whose column is `value` (for truth values, or 0 and 1: that are 1).

    >>> found = proportion(["yes", "no", "yes"], value="yes", values=["no", "yes"], epsilon=1)
    >>> found.receipt["epsilon"]
    '1'
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each("A confidence interval for a proportion")
    cells, place = success(source.only, value)
    exact_epsilon = parameters.price("epsilon", epsilon)
    confidence = float(parameters.level("level", level))
    noise = laplace(1, exact_epsilon)

    def compute(opened: Opened, bits: BitSource) -> Content:
        table = counts_of(opened, [cells])
        exact = [int(table[place]), int(table.sum() - table[place])]
        with_it, without = (float(each) for each in noise.release(exact, bits))
        share, low, high = interval(with_it, without, noise.mechanism.scale, confidence)
        words = "The interval covers sampling and noise: it is for the population of the rows."
        found = column("proportion", [share], [low], [high])
        title = f"Proportion of {cells.name} = {cells.labels[place]}"
        return Content(title, (found,), (words,), {"count": with_it + without})

    asked = {"study": "proportion", "value": str(cells.labels[place])}
    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def success(variable: Variable, value: Any) -> tuple[Domain, int]:
    """The column's cells, and the place of the one that is counted."""
    cells = domain_of(variable)
    if value is None:
        if cells.size != 2 or variable.meaning == "text":
            hint = f"Its values: {', '.join(map(str, cells.labels[:10]))}."
            raise parameters.refuse("value", f"given for column {cells.name!r}: which value is counted", None, hint)
        return cells, 1
    for place, label in enumerate(cells.labels):
        if label == value or str(label) == str(value):
            return cells, place
    shown = ", ".join(map(str, cells.labels[:10]))
    raise QuestionError(f"Column {cells.name!r} has no value {value!r}. Values: {shown}.")


def interval(with_it: float, without: float, scale: float, level: float) -> tuple[float, float, float]:
    """The proportion and the ends of its interval; everything where the count does not stand out of its noise."""
    total = with_it + without
    share = min(max(with_it / max(total, 1.0), 0.0), 1.0)
    if total <= 4 * scale:
        return share, 0.0, 1.0
    low, high = not_rejected(
        lambda p: chance_of_proportion(with_it, without, scale, p), level, share, 0.0, 1.0
    )  # fmt: skip
    return share, low, high
