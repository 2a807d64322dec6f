"""Key selection: which keys of an open set (words, URLs, zip codes seen in the data) may be named at all.

Theorem. Let a key with n units be released with probability p(n), p(0) = 0 and

    p(n + 1) = min( exp(e) p(n) + d,  1 - exp(-e) (1 - p(n) - d),  1 ).

Every key on its own is then (e, d)-differentially private when one unit is added to or removed from it, and no rule
with this property releases any key with a larger probability. A unit that stands in at most k keys touches k such
decisions, so with e = epsilon/k and d = delta/k the list of released keys is (epsilon, delta)-differentially private
(basic composition).

Assumptions: add or remove one unit; n counts distinct units; each unit was cut to `keys_per_unit` keys before counting;
keys with no unit are never looked at, so the set of possible keys need not be known.

Proof. Of the two outcomes "released" and "not", (e, d) between n and n + 1 demands p(n + 1) <= exp(e) p(n) + d and 1
- p(n) <= exp(e) (1 - p(n + 1)) + d, the two terms of the minimum; the two other demands, p(n) <= exp(e) p(n + 1) + d
and 1 - p(n + 1) <= exp(e)(1 - p(n)) + d, hold because p does not fall. Larger p(n) allows larger p(n + 1), so taking
equality from p(0) = 0 on is largest for every n at once.

Closed form, E = exp(e). The first term is the smaller one while p(n) <= (1 - d)/(E + 1). Hence with

    r = 1 + floor( ln( (E - 1 + 2d) / (d (E + 1)) ) / e ):
    p(n) = d (E**n - 1)/(E - 1)                                             for n <= r,
    1 - p(r + m) = max( 0,  E**-m (1 - p(r)) - d (1 - E**-m)/(E - 1) )      for m >= 0.

A uniform number is compared with p(n) in float64 with a band of 2**-40; inside the band with ever tighter enclosures of
the closed form, so every key is released with probability exactly p(n).

The truncated geometric equivalent (`release_counts`): with X of mass proportional to exp(-e |x|) on -k..k, k the
least whole number with P(X = k) = (E - 1)/(E**k (E + 1) - 2) <= d, the noisy count n + X is (e, d)-private, since
shifting X by one changes masses by a factor of at most E except at one end point, of mass at most d. n + X > k never
happens for n = 0, and where the bound on k holds with equality it happens with probability p(n): the same rule, and the
count comes free.

Source: Desfontaines, Voss, Gipson, Mandayam 2020 ("Differentially private partition selection").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss import events
from tacit.mechanisms.whole_numbers import integers, saturating_sum
from tacit.noise import BitSource, secure
from tacit.noise.reals import (
    Enclosure,
    LazyUniform,
    digits,
    exp_enclosure,
    log_enclosure,
    power_of_ten,
    quotient,
    widened,
)
from tacit.noise.truncated import truncated_discrete_laplace

_SMALLEST, _LARGEST = Fraction(1, 10**12), Fraction(100)
_SMALLEST_DELTA = Fraction(1, 10**200)
_BAND = 2.0**-40


@dataclass(frozen=True, slots=True, init=False)
class KeySelection:
    """Releases the keys that enough units share; `epsilon` and `delta` pay for all keys of one unit together.

    >>> KeySelection("0.5", "1e-6").event.to_json()
    '{"delta":"1/1000000","epsilon":"1/2","keys_per_unit":1,"kind":"key-selection"}'
    """

    epsilon: Fraction
    delta: Fraction
    keys_per_unit: int

    def __init__(self, epsilon: parameters.Number, delta: parameters.Number, keys_per_unit: int = 1) -> None:
        object.__setattr__(self, "epsilon", parameters.positive("epsilon", epsilon))
        object.__setattr__(self, "delta", parameters.open_probability("delta", delta))
        object.__setattr__(self, "keys_per_unit", parameters.whole("keys_per_unit", keys_per_unit, least=1))
        if not _SMALLEST <= self.key_epsilon <= _LARGEST:
            raise parameters.refuse("epsilon", "from 1e-12 to 100 for each key of a unit", float(self.key_epsilon))
        if self.key_delta < _SMALLEST_DELTA:
            raise parameters.refuse("delta", "at least 1e-200 for each key of a unit", str(self.key_delta))

    @property
    def key_epsilon(self) -> Fraction:
        """What one key spends of epsilon."""
        return self.epsilon / self.keys_per_unit

    @property
    def key_delta(self) -> Fraction:
        """What one key spends of delta."""
        return self.delta / self.keys_per_unit

    @property
    def event(self) -> events.Event:
        """The list of released keys."""
        return events.KeySelection(self.key_epsilon, self.key_delta, self.keys_per_unit)

    @property
    def counts_event(self) -> events.Event:
        """The list of released keys with their noisy counts, from `release_counts`."""
        return events.Repeated(events.Approximate(self.key_epsilon, self.key_delta), self.keys_per_unit)

    def probability(self, units: Any) -> Any:
        """The probability that a key with this many units is released: a float, or an array of them."""
        counts = np.asarray(units)
        chances = _float_probabilities(counts.reshape(-1), self.key_epsilon, self.key_delta)
        return float(chances[0]) if counts.ndim == 0 else chances.reshape(counts.shape)

    def threshold(self, confidence: parameters.Number) -> int:
        """The least number of units with which a key is released with at least this probability."""
        wanted = float(parameters.open_probability("confidence", confidence))
        low, high = 0, 1
        while self.probability(high) < wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.probability(middle) < wanted else (low, middle)
        return high

    def choose(self, counts: Any, *, bits: BitSource | None = None) -> NDArray[np.bool_]:
        """Which keys are released, given the number of units in each (below zero is read as zero)."""
        exact = np.maximum(integers(counts, "counts"), 0)
        source = secure() if bits is None else bits
        return self._word_is_low(exact.reshape(-1), source.words(exact.size), 64, source).reshape(exact.shape)

    def release_counts(self, counts: Any, *, bits: BitSource | None = None) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Which keys are released, and their noisy numbers of units (0 where not): costs `counts_event`."""
        exact = np.maximum(integers(counts, "counts"), 0)
        source = secure() if bits is None else bits
        reach = self.reach
        noise = truncated_discrete_laplace(1 / self.key_epsilon, -reach, reach, exact.size, source)
        noisy = saturating_sum(exact, noise.reshape(exact.shape))
        kept = noisy > reach
        return kept, np.where(kept, noisy, 0)

    @property
    def reach(self) -> int:
        """k, the largest noise of `release_counts`, and the count that a released noisy count is above."""
        return _crossing(self.key_epsilon, self.key_delta)

    def error(self, confidence: parameters.Number) -> int:
        """The least width w that holds the noise of a count (released or not) with at least this confidence."""
        missing = float(1 - parameters.open_probability("confidence", confidence))
        rate, reach = float(self.key_epsilon), self.reach
        # P(|X| > w) = 2 (E**-w - E**-k) / (E + 1 - 2 E**-k) <= missing, solved for E**-w
        ground = math.exp(-reach * rate)
        enough = missing * (math.exp(rate) + 1 - 2 * ground) / 2 + ground
        return min(reach, max(0, math.ceil(-math.log(enough) / rate * (1 + 1e-12))))

    def _word_is_low(
        self, counts: NDArray[np.int64], words: NDArray[np.uint64], known: int, bits: BitSource
    ) -> NDArray[np.bool_]:
        """U < p(n) for each U whose first `known` bits stand at the top of a word (the tests narrow it)."""
        distance = _float_probabilities(counts, self.key_epsilon, self.key_delta) - words * 2.0**-64
        low: NDArray[np.bool_] = distance > 0
        for place in np.flatnonzero(np.abs(distance) <= _BAND + 2.0**-known):
            uniform = LazyUniform(bits, int(words[place]) >> (64 - known), known)
            low[place] = uniform.is_below(partial(self.enclosed_probability, int(counts[place])))
        return low

    def enclosed_probability(self, units: int, precision: int) -> Enclosure:
        """p(units) to about `precision` digits."""
        delta = self.key_delta
        turn = _crossing(self.key_epsilon, delta)
        base_low, base_high = (end - 1 for end in _exp(self.key_epsilon, precision))

        def rising(count: int) -> tuple[Fraction, Fraction]:
            power_low, power_high = _exp(count * self.key_epsilon, precision)
            return delta * max(power_low - 1, Fraction(0)) / base_high, delta * (power_high - 1) / base_low

        if units <= 0:
            low = high = Fraction(0)
        elif units <= turn:
            low, high = rising(units)
        else:
            at_turn_low, at_turn_high = rising(turn)
            decay_low, decay_high = _exp((turn - units) * self.key_epsilon, precision)
            rest_low = decay_low * (1 - at_turn_high) - delta * (1 - decay_low) / base_low
            rest_high = decay_high * (1 - at_turn_low) - delta * (1 - decay_high) / base_high
            low, high = 1 - max(rest_high, Fraction(0)), 1 - max(rest_low, Fraction(0))
        if low == high:  # exactly 0 or 1
            return Decimal(int(low)), Decimal(int(low))
        context = digits(precision + 12)
        allowance = power_of_ten(-precision - 8)
        return (
            widened(quotient(low, context), allowance, context)[0],
            widened(quotient(high, context), allowance, context)[1],
        )


def _exp(exponent: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    # thirteen digits more: exp(e) - 1 has so many leading zeros at the smallest epsilon
    low, high = exp_enclosure(exponent, precision + 15)
    return Fraction(low), Fraction(high)


@lru_cache(maxsize=256)
def _crossing(epsilon: Fraction, delta: Fraction) -> int:
    """r = 1 + floor(x) and k = ceil(x) of the closed forms, the same number, x = ln((E - 1 + 2d) / (d (E + 1))) / e.

    x is never whole: E is transcendental, and d (E + 1) E**x = E - 1 + 2d is no identity of polynomials. So this ends.
    """
    precision = 30
    while True:
        low, high = _exp(epsilon, precision)
        # the quotient falls with E below and grows with E above: take each end at its worst
        smallest = log_enclosure((low - 1 + 2 * delta) / (delta * (high + 1)), precision)[0]
        largest = log_enclosure((high - 1 + 2 * delta) / (delta * (low + 1)), precision)[1]
        floors = {math.floor(Fraction(end) / epsilon) for end in (smallest, largest)}
        if len(floors) == 1:
            return 1 + floors.pop()
        precision *= 2


def _float_probabilities(counts: NDArray[Any], epsilon: Fraction, delta: Fraction) -> NDArray[np.float64]:
    """p(n) in float64, off by less than 2**-41: exponents are at most 100 + ln(1/d) <= 561, and off by 2**-52 of it."""
    turn = _crossing(epsilon, delta)
    rate, loss = float(epsilon), float(delta)
    base = math.expm1(rate)
    rising = loss * np.expm1(np.clip(counts, 0, turn) * rate) / base
    at_turn = loss * math.expm1(turn * rate) / base
    beyond = np.maximum(counts, turn).astype(np.float64) - float(turn)
    rest = np.exp(-beyond * rate) * (1 - at_turn) + loss * np.expm1(-beyond * rate) / base
    chances: NDArray[np.float64] = np.where(counts <= turn, rising, 1 - np.maximum(rest, 0.0))
    return chances
