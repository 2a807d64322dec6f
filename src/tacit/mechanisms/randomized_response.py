"""Randomised response: everyone reports an answer of their own, and can deny it.

Theorem. One of k options is the truth. Reporting it with probability p = e/(e + k - 1), e = exp(epsilon), and every
other option with probability q = 1/(e + k - 1), is pure epsilon-differentially private for the one who answers
(neighbours: the answer is replaced by any other), and no epsilon-private report is right more often.
Proof. For every report the probabilities under two true answers are p or q each, and p/q = exp(epsilon).

The same by coins: the truth with probability `truth`, else an option drawn uniformly from all k. Then
q = (1 - truth)/k, p = truth + q, and epsilon = ln(1 + k truth/(1 - truth)). With two options and truth 1/2: 3/4, 1/4,
ln 3. The event states that logarithm rounded up to a double.

Estimates. A share s of true answers shows up as r = q + s (p - q) of the reports, so (reported share - q)/(p - q) is
an unbiased estimate (2 * mean - 1/2 for the coins above). When the n who answer are a random sample of a population
with share s, its variance is r (1 - r)/(n (p - q)**2). Given the answers, a reported share is a mean of n independent
coins, and is further than x from its expectation with probability at most 2 exp(-2 n x**2) (Hoeffding).

Assumptions. Every person answers once. Options are numbered 0, ..., k - 1; an answer outside is private like any
answer, so it is not refused but read as the nearest option. The coin is exact: whether a report lies is decided by
comparing a lazily refined uniform number with the probability of a lie, also where that is irrational.

Source: Warner 1965; k options and optimality: Kairouz, Oh, Viswanath 2014.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.loss import events
from tacit.loss.numbers.rounding import fraction_log_up
from tacit.mechanisms.base import only_one, ordinary
from tacit.mechanisms.whole_numbers import as_array, integers
from tacit.noise.bernoulli import decide, first_bits_of
from tacit.noise.functions import Interval
from tacit.noise.reals import Enclosure, LazyUniform, exp_enclosure
from tacit.parameters import Number

_LARGEST_EPSILON = 700  # beyond it a lie has probability below 1e-300, where floats end
_MOST_OPTIONS = 1 << 62


@dataclass(frozen=True, slots=True)
class _Lie:
    """The event U < probability, decided by the first 64 bits of U nearly always."""

    first_bits: int
    probability: Callable[[int], Enclosure]

    def told(self, bits: noise.BitSource) -> bool:
        word = bits.bits(64)
        return word < self.first_bits or (word == self.first_bits and self._settled(LazyUniform(bits, word, 64)))

    def all_told(self, size: int, bits: noise.BitSource) -> NDArray[np.bool_]:
        return decide(bits.words(size), 64, self.first_bits, self._settled, bits)

    def _settled(self, uniform: LazyUniform) -> bool:
        return uniform.is_below(self.probability)


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse:
    """A report among `options` numbered 0, 1, ..., by its epsilon or by how often the truth is told outright.

    >>> RandomizedResponse(2, 1).event.to_json()
    '{"epsilon":"1","kind":"randomized-response","options":2}'
    """

    event: events.RandomizedResponse
    truth: float
    """p - q: the share of reports that are the truth rather than a uniform draw."""
    other: float
    """q: the probability of any one other option."""
    _lie: _Lie = field(repr=False, compare=False)

    def __init__(self, options: int = 2, epsilon: Number | None = None, *, truth: Number | None = None) -> None:
        count = parameters.whole("options", options, least=2)
        if count > _MOST_OPTIONS:
            raise parameters.refuse("options", "at most 2**62", options)
        if only_one(epsilon=epsilon, truth=truth) == "epsilon":
            exact = parameters.positive("epsilon", epsilon)
            _check_epsilon("epsilon", exact, epsilon)
            odds = math.expm1(float(exact))
            told, other = odds / (odds + count), 1 / (odds + count)
            probability = partial(_irrational_lie, exact, count)
            lie = _Lie(first_bits_of(probability, 64), probability)
        else:
            share = parameters.open_probability("truth", truth)
            ordinary("truth", 1 / share, truth)
            exact = Fraction(fraction_log_up(1 + count * share / (1 - share)))
            _check_epsilon("truth", exact, truth)
            told, other = float(share), float((1 - share) / count)
            rational = (1 - share) * (count - 1) / count
            lie = _Lie(rational.numerator * 2**64 // rational.denominator, partial(_rational_lie, rational))
        object.__setattr__(self, "event", events.RandomizedResponse(exact, count))
        object.__setattr__(self, "truth", told)
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "_lie", lie)

    @property
    def scale(self) -> float:
        """By how much the randomness of the reports is stretched in an estimate: 1/(p - q)."""
        return 1 / self.truth

    def release(self, answers: Any, *, bits: noise.BitSource | None = None) -> Any:
        """Reports for true answers: an int for an int (or a truth value), an int64 array for an array or list."""
        source = noise.secure() if bits is None else bits
        options = self.event.options
        if isinstance(answers, numbers.Integral):
            answer = min(max(int(answers), 0), options - 1)
            if not self._lie.told(source):
                return answer
            return (answer + 1 + noise.uniform_below(options - 1, None, source)) % options
        truths = np.clip(_as_integers(answers), 0, options - 1)
        # everyone draws another option, used or not: what is drawn does not depend on what leaves
        lies = self._lie.all_told(truths.size, source).reshape(truths.shape)
        others = noise.uniform_below(options - 1, truths.size, source).reshape(truths.shape)
        return np.where(lies, (truths + 1 + others) % options, truths)

    def estimate(self, reports: Any) -> NDArray[np.float64]:
        """Unbiased estimates of the share of each option among the true answers. They may fall outside [0, 1]."""
        read = _as_integers(reports).ravel()
        if read.size == 0:
            raise parameters.refuse("reports", "at least one report", "none")
        if read.min() < 0 or read.max() >= self.event.options:
            raise parameters.refuse("reports", f"numbers from 0 to {self.event.options - 1}", "others among them")
        shares = np.bincount(read, minlength=self.event.options) / read.size
        return np.asarray((shares - self.other) / self.truth)

    def variance(self, share: Number, count: int) -> float:
        """The variance of one option's estimate, from `count` people sampled where its true share is `share`."""
        people = parameters.whole("count", count, least=1)
        reported = self.other + float(parameters.probability("share", share)) * self.truth
        return reported * (1 - reported) / (people * self.truth**2)

    def error(self, confidence: Number, *, count: int) -> float:
        """One option's estimate is further than this from its share among `count` answers with probability
        at most 1 - confidence."""
        people = parameters.whole("count", count, least=1)
        level = 1 - parameters.open_probability("confidence", confidence)
        return math.sqrt(fraction_log_up(2 / level) / (2 * people)) / self.truth * (1 + 2.0**-48)

    def posterior(self, prior: Any, report: int) -> Any:
        """What someone who believed `prior` believes after the report.

        A number is the prior probability of option 1 ("yes") of two; a list has one for each option.
        """
        seen = parameters.whole("report", report)
        if seen >= self.event.options:
            raise parameters.refuse("report", f"a number from 0 to {self.event.options - 1}", report)
        if isinstance(prior, numbers.Number):
            if self.event.options != 2:
                raise parameters.refuse("prior", f"a list of {self.event.options} probabilities", prior)
            yes = float(parameters.probability("prior", prior))
            return float(self.posterior([1 - yes, yes], seen)[1])
        beliefs = np.asarray(prior, dtype=np.float64)
        if beliefs.shape != (self.event.options,) or not (beliefs >= 0).all() or not math.isclose(beliefs.sum(), 1):
            raise parameters.refuse("prior", f"{self.event.options} probabilities that sum to 1", prior)
        likelihood = np.full(beliefs.size, self.other)
        likelihood[seen] += self.truth
        joint = beliefs * likelihood
        return joint / joint.sum()


def _check_epsilon(name: str, exact: Fraction, found: object) -> None:
    ordinary(name, 1 / exact, found)
    if exact > _LARGEST_EPSILON:
        raise parameters.refuse(name, f"such that epsilon is at most {_LARGEST_EPSILON}", found)


def _irrational_lie(epsilon: Fraction, options: int, precision: int) -> Enclosure:
    """(k - 1)/(exp(epsilon) + k - 1)."""
    others = Interval.of(options - 1, precision)
    return (others / (Interval(*exp_enclosure(epsilon, precision), precision) + others)).enclosure


def _rational_lie(exact: Fraction, precision: int) -> Enclosure:
    return Interval.of(exact, precision).enclosure


def _as_integers(values: Any) -> NDArray[np.int64]:
    """Option numbers; truth values count as 0 and 1."""
    array = as_array(values)
    if array.dtype == np.bool_:
        return array.astype(np.int64)
    if array.dtype == object:
        flat = np.array([int(item) if isinstance(item, bool) else item for item in array.flat] + [None], dtype=object)
        array = flat[:-1].reshape(array.shape)
    return integers(array, "answers")
