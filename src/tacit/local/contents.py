"""What all reports of a survey together tell, as the content of a finding: shares, a mean, a variance, a mean vector.

Variance. A person reports t (steps above the lower end) or s = (2 t - m)**2/m, by a fair coin. With M1 the mean of
2 t - m and M2 that of m s, each from its own reports, Var(2 t - m) = M2 - M1**2. V1 and V2 being the estimated
variances of the two means, M2 - M1**2 + V1 has no bias, and the variance V2 + 4 M1**2 V1 + 2 V1**2 if M1 is normal; for
the interval V1 and V2 are at least what the law says, and include the chance of which half a person is in
(`mean_ends`). The result is about the answers as they were rounded to steps, which adds at most a quarter of a step
squared.

Vectors. A report names one of `words` directions of its seed, uniform on the sphere. By symmetry the mean of the
direction is c u for an answer u of length 1, c = (a - b) T/(a k + b (m - k)), T the expected sum of the k largest of
m independent scores: the score of a direction is (2 B - 1) for B of the law Beta((d - 1)/2, (d - 1)/2), and
T = -k + integral over x from -1 to 1 of E[min(k, N(x))], N(x) binomial of m and Pr[score > x]. (The sum of the
k largest numbers of [-1, 1] is -k plus the integral of how many of them exceed x.) So direction/c has mean u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, betainc, ndtri

from tacit.local import crowd, laws
from tacit.local.mean_ends import mean_ends, variance_of_half
from tacit.local.numbers import distribution, quantiles_of, steps_told
from tacit.local.reading import Read
from tacit.local.shares import consistent, falling, shares
from tacit.loss.numbers.rounding import float_up
from tacit.statistics.finding import Content, column

LEAST: Final = 30
"""Reports below which a mean has no interval."""
_NODES: Final = 600

Description = dict[str, Any]


def of_shares(asked: Description, law: laws.Law, read: Read, level: float, *, is_falling: bool) -> Content:
    """The share of every answer."""
    people = len(read.reports)
    estimate, low, high = shares(law, crowd.support(law, read.reports), people, level)
    answers = asked["values"]
    keys = [" / ".join(map(str, each)) if isinstance(each, list) else each for each in answers]
    nearest = consistent(falling(estimate) if is_falling else estimate)
    table = (column("answer", keys), column("share", estimate, low, high), column("consistent", nearest))
    what = "the nearest distribution that does not grow from one answer to the next" if is_falling else (
        "the nearest distribution"
    )  # fmt: skip
    notes = (
        f"{people:,} reports. Intervals cover the share among those who answered, and in the population if "
        f"they are a random sample of it; each has its own level. 'consistent' is {what}.",
        *read.notes,
    )
    arrays: dict[str, Any] = {"people": people}
    sizes = [len({each[place] for each in answers}) for place in range(len(asked.get("names", ())))]
    for place, name in enumerate(asked.get("names", ())):
        whole = np.asarray(nearest).reshape(sizes)  # answers are all combinations, the last question fastest
        arrays[f"of {name}"] = whole.sum(axis=tuple(each for each in range(len(sizes)) if each != place))
    return Content("Shares", table, notes, arrays)


def of_number(asked: Description, law: laws.Law, read: Read, level: float, quantiles: Sequence[float] = ()) -> Content:
    """The mean of a number; for a window also the whole distribution, and quantiles of it, without an interval."""
    people = len(read.reports)
    low, step = _scale(asked)
    mean = low + step * float(np.mean(steps_told(law, read.reports)))
    enough = people >= LEAST
    arrays: dict[str, Any] = {"people": people}
    if law["kind"] == "window":
        found = distribution(law, crowd.support(law, read.reports))
        arrays["distribution"] = found
        arrays["quantiles"] = [low + step * each for each in quantiles_of(found, quantiles)]
    high = float(Fraction(asked["high"]))
    ends: tuple[Any, Any] = (None, None)
    if enough:
        first, last = mean_ends(law, read.reports, level)
        ends = [low + step * first], [min(low + step * last, high)]
    kept = min(max(mean, low), high)
    return Content("Mean", (column("mean", [kept], *ends),), _notes(read, enough, "mean"), arrays)


def of_moments(asked: Description, law: laws.Law, read: Read, level: float) -> Content:
    """Mean and variance of a number."""
    people, steps = len(read.reports), asked["steps"]
    low, step = _scale(asked)
    each, squared = _told(law, read.reports, 0), _told(law, read.reports, 1)
    first, square = 2 * each - steps, steps * squared  # in half steps from the middle
    half, most = step / 2, steps**2
    enough = min(len(first), len(square)) >= LEAST
    m1, m2 = float(np.mean(first)) if len(first) else 0.0, float(np.mean(square)) if len(square) else 0.0
    v1 = 4 * variance_of_half(law["parts"][0], each)
    v2 = steps**2 * variance_of_half(law["parts"][1], squared)
    spread = m2 - m1**2 + (float(np.var(first, ddof=1)) / len(first) if len(first) > 1 else 0.0)
    off = float(ndtri((1 + level) / 2))
    wide = off * math.sqrt(v2 + 4 * m1**2 * v1 + 2 * v1**2)
    middle = low + steps * half
    ends: list[tuple[Any, Any]] = [(None, None), (None, None)]
    if enough:
        reach = off * math.sqrt(v1)
        ends = [
            (_within([middle + half * (m1 - reach), middle + half * (m1 + reach)], low, low + step * steps)),
            (_within([half**2 * (spread - wide), half**2 * (spread + wide)], 0.0, half**2 * most)),
        ]
    columns = (
        column("mean", [min(max(middle + half * m1, low), low + step * steps)], *ends[0]),
        column("variance", [half**2 * min(max(spread, 0.0), most)], *ends[1]),
    )
    return Content("Mean and variance", columns, _notes(read, enough, "mean and variance"),
                   {"people": people})  # fmt: skip


def of_vectors(asked: Description, law: laws.Law, read: Read, level: float) -> Content:
    """The mean of vectors, coordinate by coordinate."""
    people = len(read.reports)
    found = crowd.directions(law, read.reports[:, 0].tolist(), read.reports[:, 1].tolist())
    told = found * (float(Fraction(asked["norm"])) / shrunk(law))
    mean = told.mean(axis=0)
    ends: tuple[Any, Any] = (None, None)
    enough = people >= LEAST
    if enough:
        wide = float(ndtri((1 + level) / 2)) * told.std(axis=0, ddof=1) / math.sqrt(people)
        ends = (mean - wide, mean + wide)
    table = (column("coordinate", list(range(1, law["dimensions"] + 1))), column("mean", mean, *ends))
    return Content(
        "Mean of vectors", table, _notes(read, enough, "mean", ", each coordinate by itself"), {"people": people}
    )


@lru_cache(maxsize=64)
def _largest(words: int, near: int, dimensions: int) -> float:
    """T: the expected sum of the `near` largest scores."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    shape = (dimensions - 1) / 2
    above = betainc(shape, shape, (1 - nodes) / 2)
    counted = sum(bdtrc(fewer, words, above) for fewer in range(near))
    return float(weights @ counted) - near


def shrunk(law: laws.Law) -> float:
    """c: how long the mean of a report's direction is, for an answer of length 1."""
    a, b, words, near = law["keep"], law["other"], law["words"], law["near"]
    return float(a - b) * _largest(words, near, law["dimensions"]) / float(a * near + b * (words - near))


def influence(asked: Description, law: laws.Law) -> float:
    """How far one made-up report among n can move an estimate, times n: the width of all that a report can tell."""
    if "values" in asked:
        p, q = laws.supports(law)
        return float_up(1 / (p - q))
    if law["kind"] == "nearest":
        return 2 * float(Fraction(asked["norm"])) / shrunk(law) * (1 + 1e-9)
    parts = law["parts"] if law["kind"] == "either" else [law]
    told = [steps_told(part, np.array([0, 1 if part["kind"] == "sign" else part["steps"] + part["window"] - 1]))
            for part in parts]  # fmt: skip
    return _scale(asked)[1] * float(max(map(np.max, told)) - min(map(np.min, told))) * (1 + 1e-9)


def _told(law: laws.Law, reports: NDArray[np.int64], which: int) -> NDArray[np.float64]:
    return steps_told(law["parts"][which], reports[reports[:, 0] == which, 1])


def _scale(asked: Description) -> tuple[float, float]:
    """The lower end, and the length of a step."""
    low, high = Fraction(asked["low"]), Fraction(asked["high"])
    return float(low), float((high - low) / asked["steps"])


def _within(ends: list[float], low: float, high: float) -> tuple[list[float], list[float]]:
    lower, upper = (min(max(each, low), high) for each in ends)
    return [lower], [upper]


def _notes(read: Read, enough: bool, what: str, how: str = "") -> tuple[str, ...]:
    said = (
        f"Intervals cover the {what} of those who answered{how}."
        if enough
        else f"Fewer than {LEAST} reports: no interval."
    )
    return (f"{len(read.reports):,} reports.", said, *read.notes)
