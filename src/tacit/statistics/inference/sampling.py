"""What a sample says of the population behind it, when noise was added to the sample's sums.

Assumption of all inference here: the rows are independent draws from a population, and one unit has one row.

One mean. At the population's mean m, the released T = sum (share - m) is the sampling error (nearly normal, of variance
v = n sigma**2) plus a known combination of the noises, and the released V = sum (share - m)**2 is v, plus its own
sampling error (of variance 2 v**2/n in a normal population), plus another known combination. The two combinations are
correlated, so V is first corrected by the regression on T. The p-value of m is Pr[|T'| > |T|] for T' of the law
`NoiseSum`, averaged over where v may be: normal around the corrected V, between 0 and n m (1 - m), the most that
shares between 0 and 1 with mean m can have.

Two means. The difference of the estimates errs by sampling and noise, to first order. Its variance is estimated, so the
tail is taken from the t law with as many degrees of freedom as a chi-square of the same relative variance has (Welch,
Satterthwaite): 2 w**2/Var(w), where Var(w) is made of the noise's part (`Moments.variance_noise`) and the sample's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacit.statistics.moments.noise_sum import NoiseSum
from tacit.statistics.moments.one_column import Moments

Reals = NDArray[np.float64]
_SHARES = (np.arange(9) + 0.5) / 9


def sampling_variance(moments: Moments) -> float:
    """The variance of the sum of (share - mean) over the rows that sampling gives: n times the population's."""
    count = max(moments.count, 2.0)
    return count * moments.variance * count / (count - 1)


def freedom(variance: float, uncertainty: float) -> float:
    """The degrees of freedom of an estimated variance with this variance of its own."""
    return max(1.0, 2 * variance * variance / uncertainty) if uncertainty > 0 else math.inf


def uncertainty(moments: Moments) -> float:
    """The variance of `sampling_variance` as an estimate."""
    return moments.variance_noise() + 2 * max(moments.count, 2.0) * moments.variance**2


def heavier(chance: float, degrees: float) -> float:
    """A two-sided tail probability of a known variance, made one of a variance with this many degrees of freedom."""
    if not 0 < chance < 1 or math.isinf(degrees):
        return chance
    return min(1.0, 2 * float(special.stdtr(degrees, special.ndtri(chance / 2))))


def chance_of_mean(moments: Moments, share: float, code: float) -> float:
    """The p-value of a population's mean. `code` is one step of the codes, for the rounding of the noise."""
    statistic = moments.centred(share)
    return float(
        np.mean(
            [moments.noise_of_centred(share, each).beyond(abs(statistic) - code) for each in _variances(moments, share)]
        )
    )


def _variances(moments: Moments, share: float) -> Reals:
    """Where the sampling variance may be, if `share` is the mean: equally likely points, from low to high."""
    count = max(moments.count, 2.0)
    first = np.array([1 - share, 0.5 - share, -share])
    second = np.array([(1 - share) ** 2, -share * (1 - share), share**2])
    each_noise, most = 2 * moments.noise**2, count * share * (1 - share)
    statistic, squares = float(first @ moments.parts), float(second @ moments.parts)
    noise, together = each_noise * float(first @ first), each_noise * float(first @ second)
    total = min(max(squares, 0.0), most) + noise
    centre = squares - (together / total * statistic if total > 0 else 0.0)
    likely = min(max(centre, 0.0), most)
    total = likely + noise
    left = each_noise * float(second @ second) - (together**2 / total if total > 0 else 0.0)
    spread = math.sqrt(max(left, 0.0) + 2 * likely**2 / count)
    if most <= 0 or spread <= 1e-12 * most:
        return np.array([likely])
    low, high = special.ndtr(-centre / spread), special.ndtr((most - centre) / spread)
    if high - low < 1e-12:  # the centre is far outside: the end that is nearer
        return np.array([likely])
    points = centre + spread * special.ndtri(low + (high - low) * _SHARES)
    return np.asarray(np.clip(points, 0.0, most))


def chances_of_differences(first: Moments, second: Moments) -> Callable[[float], float]:
    """The p-value of any difference of two populations' means (first - second), to first order in the noise."""
    law = difference_law([first, second])
    doubt = sum(uncertainty(each) / each.count**4 for each in (first, second))
    degrees, found = freedom(law.deviation**2, doubt), first.mean - second.mean
    return lambda difference: heavier(law.beyond(abs(found - difference)), degrees)


def chance_of_difference(first: Moments, second: Moments, difference: float) -> float:
    """The p-value of one difference."""
    return chances_of_differences(first, second)(difference)


def difference_law(groups: Sequence[Moments]) -> NoiseSum:
    """The law of the error of a difference of means."""
    laws = [each.noise_of_centred(each.mean, sampling_variance(each)) for each in groups]
    scales = [scale / each.count for each, law in zip(groups, laws, strict=True) for scale in law.scales]
    return NoiseSum(tuple(scales), sum(law.variance / each.count**2 for each, law in zip(groups, laws, strict=True)))
