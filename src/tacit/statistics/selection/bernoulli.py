"""The bias of a coin by the exponential mechanism, and how it compares with a noisy count.

Theorem. Between public bounds the bias is drawn from its tempered likelihood, theta**(power heads) (1 - theta)**(power
tails) with power = epsilon / -ln(min(low, 1 - high)): pure epsilon when a flip is added or removed, one flip a unit
(`mechanisms.bernoulli_parameter`). Its variance is about theta (1 - theta)/(power n), O(1/n); that of a noisy count,
over n if n is public, is about 2/(epsilon n)**2, O(1/n**2). The draw is the better one only for few flips.

The comparison uses no data: it shows what each would do to made-up flips, when one flip of a public number is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit import parameters
from tacit.curator import Price
from tacit.mechanisms import BernoulliParameter, LaplaceProportion
from tacit.noise import BitSource
from tacit.statistics.domains import counts_of, domain_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, source_of


def bernoulli_parameter(
    data: Any,
    columns: str | None = None,
    *,
    epsilon: parameters.Number,
    between: tuple[parameters.Number, parameters.Number] = ("0.1", "0.9"),
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The probability of the second of two values (of true, or 1), drawn `between` public bounds.

    >>> 0 < bernoulli_parameter(["yes", "no"], values=["no", "yes"], epsilon=1).value < 1
    True
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each("The bias of a coin")
    domain = domain_of(source.only)
    if domain.size != 2:
        raise parameters.refuse(f"column {domain.name!r}", "one with two values", f"{domain.size:,} values")
    mechanism = BernoulliParameter(parameters.price("epsilon", epsilon), between, replace=False)

    def compute(opened: Opened, bits: BitSource) -> Content:
        tails, heads = (int(each) for each in counts_of(opened, [domain]))
        theta = mechanism.release(heads, tails, bits=bits)
        note = (
            f"A draw between {float(mechanism.low):g} and {float(mechanism.high):g}, where {mechanism.scale:.3g} rows "
            "weigh as one; its deviation is sqrt(theta (1 - theta) times that, over the rows), which are not released."
        )
        return Content(f"The probability of {domain.labels[1]}", (column("theta", [theta]),), (note,))

    asked = {
        "study": "bernoulli_parameter",
        "epsilon": str(mechanism.epsilon),
        "between": [str(mechanism.low), str(mechanism.high)],
    }
    return source.release(asked, Price(mechanism.event, mechanism.epsilon), compute, level=level, analyst=analyst)


def bernoulli_comparison(
    *,
    epsilon: parameters.Number,
    flips: Sequence[int] = (10, 30, 100, 300, 1_000, 3_000, 10_000),
    bias: parameters.Number = "0.3",
    between: tuple[parameters.Number, parameters.Number] = ("0.1", "0.9"),
) -> Finding:
    """The standard deviations of both ways for made-up flips of this bias: no data, no cost. Its chart shows curves.

    >>> len(bernoulli_comparison(epsilon=1, flips=[10, 100]))
    2
    """
    exact = parameters.price("epsilon", epsilon)
    drawn, counted = BernoulliParameter(exact, between), LaplaceProportion(exact)
    share = parameters.level("bias", bias)
    numbers = sorted(parameters.whole("flips", each, least=1) for each in flips)
    if not numbers:
        raise parameters.refuse("flips", "at least one number of flips", "none")
    heads = [round(share * each) for each in numbers]
    deviations = [drawn.standard_deviation(each, total - each) for each, total in zip(heads, numbers, strict=True)]
    facts = {
        "unit": "one flip",
        "neighbours": "one flip, replaced",
        "epsilon": str(drawn.epsilon),
        "delta": "0",
        "rows_per_unit": "1",
        "entry": "none (no data were used)",
    }
    columns = (
        column("flips", numbers),
        column("exponential", deviations),
        column("laplace", [counted.standard_deviation(each) for each in numbers]),
    )
    notes = ("Standard deviations of the released bias: O(1/sqrt(n)) by the exponential mechanism, O(1/n) by a count.",)
    return Finding("A coin's bias, two ways", columns, notes, {}, 0.95, facts, "line")
