"""From counts to a lower bound on epsilon that holds with a stated confidence.

Theorem. A mechanism M is (epsilon, delta)-differentially private for the neighbours x and y only if for every set S of
outcomes  P[M(x) in S] <= exp(epsilon) P[M(y) in S] + delta.  So for every S with P = P[M(x) in S] > delta,

    epsilon >= ln( (P - delta) / Q ),     Q = P[M(y) in S].

Let S be fixed before n draws of each are made, of which a and b fall into S. Clopper and Pearson's one-sided bounds
L(a) <= P and U(b) >= Q fail with probability at most alpha/2 each, whatever P and Q are, so that

    epsilon >= ln( (L(a) - delta) / U(b) )     except with probability alpha.

Proof. L(a) is the p at which P[Binomial(n, p) >= a] = alpha/2, the alpha/2 quantile of Beta(a, n - a + 1); U(b) the p
at which P[Binomial(n, p) <= b] = alpha/2, the 1 - alpha/2 quantile of Beta(b + 1, n - b). A union of two failures.

Assumption: the draws are independent and S does not depend on them; `measuring` chooses S from draws of its own.

Source: Clopper and Pearson 1934; Ding, Wang, Wang, Zhang, Kifer 2018 (testing claims of privacy by such events).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special


@dataclass(frozen=True, slots=True)
class Bound:
    """epsilon is at least `epsilon` at this `delta`, except with probability 1 - confidence.

    `event` says in words which outcomes were counted, `likelier` under which of the two inputs they are more frequent.
    Of `draws` from each side, `hits` fell into the event there and `other_hits` on the other side.

    >>> Bound(0.9, 0.0, 0.999, "number 1 < 1", "the first", 1000, 600, 200, 0.1).epsilon
    0.9
    """

    epsilon: float
    delta: float
    confidence: float
    event: str
    likelier: str
    draws: int
    hits: int
    other_hits: int
    seconds: float

    @property
    def estimate(self) -> float:
        """What the counts say without a margin: the most likely value of the event's own epsilon."""
        return (
            epsilon_of(self.hits / self.draws, self.other_hits / self.draws, self.delta) if self.draws else self.epsilon
        )

    @property
    def upper(self) -> float:
        """An upper bound of the epsilon *of this event*, with the same confidence; other events may be worse."""
        if not self.draws:
            return self.epsilon
        share = (1 - self.confidence) / 2
        high, low = above(self.hits, self.draws, share), below(self.other_hits, self.draws, share)
        return epsilon_of(float(high), float(low), self.delta)

    def __str__(self) -> str:
        sure = "exactly" if not self.draws else f"at least, with confidence {self.confidence:.7g}"
        where = f"({self.event}; likelier under {self.likelier})"
        return f"epsilon {self.epsilon:.4g} {sure}, at delta {self.delta:.3g} {where}"


def below(hits: Any, draws: int, failure: float) -> NDArray[np.float64]:
    """The lower Clopper-Pearson bound of a probability; 0 for no hit."""
    count = np.asarray(hits, dtype=np.float64)
    found = special.betaincinv(np.maximum(count, 1), draws - np.maximum(count, 1) + 1, failure)
    return np.where(count == 0, 0.0, found)


def above(hits: Any, draws: int, failure: float) -> NDArray[np.float64]:
    """The upper Clopper-Pearson bound of a probability; 1 if all draws are hits."""
    count = np.asarray(hits, dtype=np.float64)
    missed = np.maximum(draws - count, 1)
    found = special.betainccinv(draws - missed + 1, missed, failure)
    return np.where(count == draws, 1.0, found)


def epsilon_of(probability: float, other: float, delta: float) -> float:
    """The least epsilon that allows an event to have these two probabilities; 0 where delta alone allows it."""
    if probability - delta <= other:
        return 0.0
    return math.log((probability - delta) / other) if other > 0 else math.inf


def epsilon_low(hits: Any, other_hits: Any, draws: int, delta: float, failure: float) -> NDArray[np.float64]:
    """The bound of the theorem, for many events at once; 0 where there is none."""
    least = below(hits, draws, failure / 2) - delta
    most = above(other_hits, draws, failure / 2)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.maximum(least, 0.0) / most), 0.0)


def needed(
    probability: float, other: float, delta: float, epsilon: float, failure: float, *, most: int = 10**13
) -> int | None:
    """How many draws would show that an event of these probabilities breaks `epsilon`, nine times of ten.

    None where it does not break it, or only with more than `most` draws. It assumes counts at the tenth percentile of
    chance on both sides, so it is more often too high than too low.
    """
    if epsilon_of(probability, other, delta) <= epsilon:
        return None
    draws = 100
    while draws <= most:
        if _shows(probability, other, delta, epsilon, failure, draws):
            break
        draws *= 2
    else:
        return None
    low, high = draws // 2, draws
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        if _shows(probability, other, delta, epsilon, failure, middle):
            high = middle
        else:
            low = middle
    return high


_TENTH = 1.2816  # the normal quantile of 90 %


def _shows(probability: float, other: float, delta: float, epsilon: float, failure: float, draws: int) -> bool:
    few = draws * probability - _TENTH * math.sqrt(draws * probability * (1 - probability))
    many = draws * other + _TENTH * math.sqrt(draws * other * (1 - other))
    hits, others = max(math.floor(few), 0), min(math.ceil(many), draws)
    return float(epsilon_low(hits, others, draws, delta, failure)) > epsilon
