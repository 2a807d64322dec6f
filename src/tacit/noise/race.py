"""Choosing an index by a race: the exact sampler behind the exponential mechanism and permute-and-flip.

Candidate i has log-weight w_i = factor * score_i + ln prior_i and an independent uniform real U_i. Two races:

    exponential race   key_i = w_i - ln(-ln(1 - U_i))   P(i wins) = exp(w_i) / sum_j exp(w_j)       (Gumbel noise)
    one-sided race     key_i = w_i - ln U_i             noisy maximum with exponential noise = permute-and-flip

The largest key wins (Yellott 1977; McKenna and Sheldon 2020, Ding et al. 2021 for the second).

Method. As -ln(1 - U) >= U, both keys are at most B_i = w_i - ln v_i, v_i the known first bits of U_i, so B_i costs one
float logarithm a candidate. One candidate's key gives a lower bound K of the winning key; a candidate with B_i below K
by more than the float error is out. The few contenders left are settled with enclosures of their keys and further bits
of their uniforms. The winner is the one that infinitely many bits would have given.

Float error. w_i is a rounded difference of scores, times a rounded factor, plus a rounded logarithm: with u = 2**-53
and logarithms within 8 units in the last place, B_i is off by at most 16u(|w_i| + 2|ln prior_i| + 45), |ln prior_i|
being at most 745. If |w_i| <= 2|K| + 2048, that is below (2|K| + 4096) 2**-48, and so are the errors of K and of a
contender's own float key. Otherwise w_i < -2|K| - 2048 (weights are at most 745) and B_i, at most w_i + 45 with
whatever error, is below K by far. So `_slack` never drops the winner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource
from tacit.noise.reals import Enclosure, LazyUniform, digits, log_enclosure, log_of_uniform, power_of_ten, quotient

Scores: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
Weight: TypeAlias = Callable[[int, int], Enclosure]
"""Encloses the log-weight of a candidate: (index, digits) -> enclosure, with 10**-(digits + 8) of its size to spare."""

_CHUNK = 1 << 14
_SMALLEST_FACTOR, _LARGEST_FACTOR = 1e-280, 1e280


def exponential_race(
    scores: Scores, factor: Fraction, bits: BitSource, prior: NDArray[np.float64] | None = None
) -> int:
    """An index, with probability proportional to prior_i * exp(factor * score_i).

    >>> import numpy as np
    >>> from tacit.noise import secure
    >>> exponential_race(np.array([0, 10_000, 0]), Fraction(1), secure())  # e**10000 to 1
    1
    """
    return _race(scores, factor, bits, prior, gumbel=True)


def one_sided_race(scores: Scores, factor: Fraction, bits: BitSource) -> int:
    """The index of the largest factor * score_i + E_i, the E_i independent standard exponential.

    >>> import numpy as np
    >>> from tacit.noise import secure
    >>> one_sided_race(np.array([0, 10_000, 0]), Fraction(1), secure())  # e**10000 to 1
    1
    """
    return _race(scores, factor, bits, None, gumbel=False)


def _race(scores: Scores, factor: Fraction, bits: BitSource, prior: NDArray[np.float64] | None, gumbel: bool) -> int:
    if scores.size == 0:
        raise parameters.refuse("scores", "a list of at least one score", "an empty list")
    if not _SMALLEST_FACTOR < factor < _LARGEST_FACTOR:
        raise parameters.refuse("factor", f"between {_SMALLEST_FACTOR} and {_LARGEST_FACTOR}", float(factor))
    if prior is not None and not (prior > 0).any():
        raise parameters.refuse("prior", "weights of which at least one is above 0", "only zeros")
    log_prior = None if prior is None else _log_prior(prior)
    floats = log_weights(scores, float(factor), log_prior)
    best = scores.max()

    def weight(index: int, precision: int) -> Enclosure:
        exact = factor * (Fraction(scores[index].item()) - Fraction(best.item()))
        context = digits(precision + 12)
        value = quotient(exact, context)
        margin = context.multiply(value.copy_abs(), power_of_ten(-precision - 8))
        low, high = context.subtract(value, margin), context.add(value, margin)
        if prior is not None:
            prior_low, prior_high = log_enclosure(Fraction(prior[index].item()), precision)
            low, high = context.add(low, prior_low), context.add(high, prior_high)
        return low, high

    return run(floats, weight, bits, gumbel)


def _log_prior(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.log(prior)
    return logs


def log_weights(scores: Scores, factor: float, log_prior: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """factor * (score - best score) + ln prior in float64."""
    distance: NDArray[np.float64]
    if scores.dtype == np.int64:
        # as unsigned words the distance to the best score is exact even where int64 would overflow
        distance = (scores.max().view(np.uint64) - scores.view(np.uint64)).astype(np.float64)
    else:
        with np.errstate(over="ignore"):
            distance = np.subtract(scores.max(), scores, dtype=np.float64)  # correctly rounded
    with np.errstate(over="ignore"):
        distance *= -factor
    if log_prior is not None:
        distance += log_prior
    return distance


def run(weights: NDArray[np.float64], weight: Weight, bits: BitSource, gumbel: bool) -> int:
    """Run the race on float log-weights; `weight` encloses them exactly where the floats cannot tell.

    A weight of minus infinity never wins; at least one must be finite.
    """
    bar = -math.inf
    contenders: list[tuple[float, int, int]] = []
    for start in range(0, weights.size, _CHUNK):
        chunk = weights[start : start + _CHUNK]
        words = bits.words(chunk.size)
        bound = _bounds(chunk, words)
        leader = int(bound.argmax())
        if bound[leader] == -math.inf or bound[leader] < bar - _slack(bar):
            continue
        bar = max(bar, _key(float(chunk[leader]), int(words[leader]) + 1, gumbel))
        for place in np.flatnonzero((bound >= bar - _slack(bar)) & (bound > -math.inf)):
            contenders.append((float(chunk[place]), start + int(place), int(words[place])))
    return _finish(contenders, weight, bits, gumbel)


def run_again(weights: NDArray[np.float64], weight: Weight, bits: BitSource, count: int) -> list[int]:
    """The winners of `count` exponential races on the same weights, independent of each other, at once."""
    if weights.size * count > _CHUNK:
        return [run(weights, weight, bits, gumbel=True) for _ in range(count)]
    words = bits.words(weights.size * count).reshape(count, weights.size)
    bound = _bounds(np.broadcast_to(weights, words.shape), words)
    leaders = bound.argmax(axis=1).tolist()
    bars = [_key(float(weights[place]), int(words[race, place]) + 1, True) for race, place in enumerate(leaders)]
    least = np.array([bar - _slack(bar) for bar in bars])[:, None]
    contenders: list[list[tuple[float, int, int]]] = [[] for _ in range(count)]
    for race, place in zip(
        *(found.tolist() for found in np.nonzero((bound >= least) & (bound > -math.inf))), strict=True
    ):
        contenders[race].append((float(weights[place]), place, int(words[race, place])))
    return [each[0][1] if len(each) == 1 else _finish(each, weight, bits, True) for each in contenders]


def _finish(contenders: list[tuple[float, int, int]], weight: Weight, bits: BitSource, gumbel: bool) -> int:
    """The winner among those who may have won: (float log-weight, index, first bits)."""
    bar = max(_key(value, word + 1, gumbel) for value, _, word in contenders)
    left = [(index, word) for value, index, word in contenders if _key(value, word, gumbel) >= bar - _slack(bar)]
    if len(left) == 1:
        return left[0][0]
    return _settle([(index, LazyUniform(bits, word, 64)) for index, word in left], weight, gumbel)


def _bounds(weights: NDArray[np.float64], words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """B_i = w_i - ln v_i: infinite where no bit of U_i is set yet, minus infinity where the weight is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bound: NDArray[np.float64] = np.log(words * 2.0**-64)
        np.subtract(weights, bound, out=bound)
    if not bound.max() < math.inf:
        bound[weights == -math.inf] = -math.inf
    return bound


def _slack(bar: float) -> float:
    return (2 * abs(bar) + 4096) * 2.0**-48 if bar > -math.inf else math.inf


def _key(weight: float, word: int, gumbel: bool) -> float:
    """A candidate's key in float64 if U = word / 2**64; keys fall as U grows."""
    if word == 0:
        return math.inf
    if not gumbel:
        return weight - math.log(word / 2**64)
    if word == 2**64:
        return -math.inf
    # near 1 a float cannot hold U, but it can hold 1 - U
    minus_log = -math.log1p(-word / 2**64) if word < 2**63 else -math.log((2**64 - word) / 2**64)
    return weight - math.log(minus_log)


def _settle(runners: list[tuple[int, LazyUniform]], weight: Weight, gumbel: bool) -> int:
    """Refine the runners' keys until one is certainly ahead of all others."""
    while True:
        keys = [(*_enclosed_key(index, uniform, weight, gumbel), index, uniform) for index, uniform in runners]
        leading = max(low for low, _, _, _ in keys)
        still = [(index, uniform) for _, high, index, uniform in keys if high >= leading]
        if len(still) == 1:
            return still[0][0]
        for _, uniform in still:
            uniform.refine()
        runners = still


def _enclosed_key(index: int, uniform: LazyUniform, weight: Weight, gumbel: bool) -> Enclosure:
    precision = 20 + uniform.known // 3
    context = digits(precision + 12)
    full = (1 << uniform.known) - 1
    while uniform.numerator == 0 or uniform.numerator == full:
        uniform.refine()  # the ends, where a logarithm is infinite, have probability zero
        full = (1 << uniform.known) - 1
    low, high = weight(index, precision)
    noise_low, noise_high = _gumbel(uniform, precision) if gumbel else _minus_log(uniform, precision)
    return context.add(low, noise_low), context.add(high, noise_high)


def _minus_log(uniform: LazyUniform, precision: int) -> Enclosure:
    low, high = log_of_uniform(uniform, precision)
    return high.copy_negate(), low.copy_negate()


def _gumbel(uniform: LazyUniform, precision: int) -> Enclosure:
    """-ln(-ln(1 - U)), which falls as U grows."""
    unit = 1 << uniform.known
    # the inner logarithm is as small as U itself, so it needs as many digits more as U has leading zeros
    inner = precision + uniform.known // 3 + 2
    largest = -Fraction(log_enclosure(1 - Fraction(uniform.numerator + 1, unit), inner)[0])
    smallest = -Fraction(log_enclosure(1 - Fraction(uniform.numerator, unit), inner)[1])
    low, high = log_enclosure(largest, precision)[1], log_enclosure(smallest, precision)[0]
    return low.copy_negate(), high.copy_negate()


__all__ = ["exponential_race", "one_sided_race"]
