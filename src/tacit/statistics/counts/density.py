"""A density from a noisy histogram, whose error tends to the one without privacy as rows grow.

Method. Cut the bounds into k equal bins; f is (noisy count, repaired)/(noisy total * width) inside each. With counts of
variance V = 2 (r/epsilon)**2, n rows and bounds of length L, the expected squared L2 distance from the true f is about
    (1/L) (k/n  +  V k**2/n**2  +  L**3 R/(12 k**2)),   R the integral of f'**2:
sampling, noise, and the steps of the histogram. k is where this is least, with L**3 R taken as 48 (a bell with a
standard deviation of L/7): without noise that is k = 2 n**(1/3), the rule of Rice. At that k the noise is of the order
n**(-4/3) compared with n**(-2/3) for the others, so it vanishes, and the rate is the one of histograms without privacy:
n**(-2/3) squared, for every f with a square-integrable derivative.

Privacy. One twentieth of epsilon buys the number of rows, from which k follows; the rest buys the counts. Both are
discrete Laplace noise of L1 sensitivity r, neighbours one unit's rows added or removed. With `bins` given, all of
epsilon goes to the counts. Sources: Dwork, McSherry, Nissim, Smith 2006; Wasserman, Zhou 2010 (noisy histograms as
densities).

Intervals cover the noise: they are for the rows' share p in a bin, over its width. With c' the noisy count of a bin and
N' the sum of all k, c' - p N' is (1 - p) times one noise less p times the others, of variance V (1 - 2 p + k p**2). The
p for which it is within q of zero in deviations are an interval, between the roots of
    p**2 (N'**2 - q**2 V k) - 2 p (c' N' - q**2 V) + c'**2 - q**2 V
(Fieller); all of 0 to 1 where N' does not stand out of its noise. A weighted sum of Laplace numbers lies in its tails
between a Laplace and a normal number of the same variance, and q is the larger of their quantiles.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit import parameters
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.statistics.counts.counting_noise import price_of, variance_of
from tacit.statistics.counts.histogram import cell_columns, edge_arrays
from tacit.statistics.counts.projection import simplex
from tacit.statistics.domains import Domain, counts_of, domain_of, limits_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Whole, source_of

Reals = NDArray[np.float64]
COUNT_SHARE = Fraction(1, 20)
MOST_BINS = 4096
_ROUGHNESS = 4.0  # L**3 R/12


def density(
    data: Any,
    columns: str | None = None,
    *,
    epsilon: parameters.Number,
    bins: int | None = None,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """A density over the bounds of a column of numbers; `bins` of equal width, or as many as the rows are worth.

    >>> found = density([20, 30, 70], bins=2, bounds=(0, 100), epsilon=1)
    >>> list(zip(found["from"], found["to"])), min(found["density"]) >= 0
    ([(0, 50), (50, 100)], True)
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    exact = parameters.price("epsilon", epsilon)
    confidence = parameters.level("level", level)
    variable = source.only
    if variable.meaning != "number":
        raise parameters.refuse("column", "one of numbers", f"{variable.name!r}, of {variable.meaning} values")
    limits_of(variable)
    domain_of(variable, 1 if bins is None else bins)  # refused here, before anything is paid
    share = COUNT_SHARE if bins is None else Fraction(0)
    counting = None if bins is not None else Laplace(sensitivity=source.rows_per_unit, epsilon=exact * share)
    mechanism = Laplace(sensitivity=source.rows_per_unit, epsilon=exact * (1 - share))
    variance, reach = variance_of(mechanism), mechanism.error(level)

    def compute(opened: Opened, bits: BitSource) -> Content:
        if counting is None:
            assert bins is not None
            cells = domain_of(variable, bins)
        else:
            rows = int(counts_of(opened, [domain_of(variable, 1)]).sum())
            cells = domain_of(variable, best_bins(counting.release(rows, bits=bits), variance))
        noisy = mechanism.release(counts_of(opened, [cells]), bits=bits)
        return _content(cells, noisy, float(reach), variance, float(confidence))

    events = [mechanism.event] if counting is None else [counting.event, mechanism.event]
    asked = {"study": "density", "bins": None if bins is None else int(bins)}
    return source.release(asked, price_of(exact, Fraction(0), *events), compute, level=level, analyst=analyst)


def best_bins(rows: int, variance: float) -> int:
    """The k that makes k/n + V k**2/n**2 + 4/k**2 least, for a (noisy) number of rows n."""
    known = max(rows, 1)
    k = np.arange(1, MOST_BINS + 1, dtype=np.float64)
    return int(np.argmin(k / known + variance * (k / known) ** 2 + _ROUGHNESS / k**2)) + 1


def shares_within(noisy: Whole, reach: float, variance: float, level: float) -> tuple[Reals, Reals]:
    """The ends of the shares that the noisy counts do not reject; `reach` is a single count's own."""
    quantile = max(-math.log(1 - level) / math.sqrt(2), float(ndtri((1 + level) / 2)))
    squared = max(quantile * quantile * variance, reach * reach)
    total, counts = float(noisy.sum()), noisy.astype(np.float64)
    leading = total * total - squared * len(counts)
    if total <= 0 or leading <= 0:
        return np.zeros(len(counts)), np.ones(len(counts))
    half = counts * total - squared
    root = np.sqrt(np.maximum(half * half - leading * (counts * counts - squared), 0.0))
    return np.clip((half - root) / leading, 0.0, 1.0), np.clip((half + root) / leading, 0.0, 1.0)


def _content(cells: Domain, noisy: Whole, reach: float, variance: float, level: float) -> Content:
    assert cells.edges is not None
    widths = np.diff(np.array([float(edge) for edge in cells.edges]))
    total = float(noisy.sum())
    if total <= 0:  # nothing is known: the flat density
        flat = np.full(cells.size, 1.0 / float(widths.sum()))
        values = flat
        low = high = np.full(cells.size, np.nan)  # no interval
        note = "The noisy total is not above zero, so nothing can be told: a flat density."
    else:
        values = simplex(noisy.astype(np.float64)) / (total * widths)
        least, most = shares_within(noisy, reach, variance, level)
        low, high = np.minimum(least / widths, values), np.maximum(most / widths, values)
        note = "Intervals cover the noise, each by itself: they are for the rows' own share of a bin."
    return Content(
        f"Density of {cells.name}",
        (*cell_columns(cells), column("density", values, low, high)),
        (note,),
        {**edge_arrays(cells), "counts": noisy},
    )
