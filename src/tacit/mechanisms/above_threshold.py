"""Above threshold (the sparse vector technique): many questions, paid for only when the answer is "yes, above".

Theorem. Let neighbours change every asked value by at most `sensitivity` = D, a whole number. With the noises

    r    ~ geometric on 0, 1, 2, ...   mass proportional to exp(-k e1 / D)           drawn once, for the threshold
    v_i  ~ geometric on 0, 1, 2, ...   mass proportional to exp(-k e2 / (m c D))     drawn afresh for every question
    "above" when  value_i + v_i >= threshold + shift + r,   stopping after c "above"s,

the whole sequence of answers is (e1 + e2)-differentially private, where m = 2, or m = 1 when the values are monotone
(going from one neighbour to the other, all of them rise or all of them fall; counts under add or remove one unit).

Assumptions: whole values; the relation of neighbours is the caller's, who states `sensitivity` in it; questions may
depend on earlier answers. `shift` is a public whole number (it removes the mean of the noise).

Proof. Fix a sequence of answers and condition on r = z. Its probability is the sum over z of P(r = z) times the product
of P(v < t + z - x_i) over the "below"s and of P(v >= t + z - x_i) over the at most c "above"s, x_i the value with one
neighbour and y_i with the other. Compare the term at z for x with the term at z + D for y:
  * P(r = z) <= exp(e1) P(r = z + D), and z + D is in the support;
  * "below": y_i <= x_i + D gives {v < t + z - x_i} inside {v < t + (z + D) - y_i}: no cost, however many there are;
  * "above": t + (z + D) - y_i is at most 2D above t + z - x_i, and P(v >= k) <= exp(n e2/(m c D)) P(v >= k + n) for
    every whole k and n >= 0 (an equality for k >= 0, and P = 1 below it): a factor of at most exp(2 e2/(m c)) each.
For m = 2 the product is at most exp(e1 + e2). For m = 1: if all y_i >= x_i the "above" distance is at most D; if all
y_i <= x_i leave z where it is: "below" costs nothing, "above" a distance of at most D: exp(e2). Every step is a step of
whole numbers, so ties (>= against >) and the grid change nothing. Noise on one side is enough because the proof only
ever moves noise upwards; it has half the variance of two-sided noise, and the bound is met with equality by two
questions (see the tests), so no smaller noise would do.

The budget is split e1 : e2 = 1 : (m c)**(2/3), which minimises the variance of r - v.

Sources: Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017 (one threshold for all fires, the split, the
monotone case). Lyu et al. list published variants that are not private; this is none of them:
  * a numeric answer that reuses v_i (here: fresh noise, paid apart in the event);
  * v_i not growing with c (here: scale m c D / e2);
  * no v_i at all (here: always);
  * going on after c "above"s (here: refused, and the session can be neither copied nor pickled);
  * v_i = noise of scale c D / e2 for values that are not monotone (here: only under `monotone=True`).
"""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.errors import BudgetExceeded, TacitError
from tacit.loss import events
from tacit.mechanisms.base import ordinary
from tacit.mechanisms.whole_numbers import integers
from tacit.noise import BitSource, discrete_laplace, geometric, secure

_SPLIT_DENOMINATOR = 1000
_LIMIT = 1 << 62


class AboveThreshold:
    """One session of questions "is this value above the threshold?", stopping after `fires` yeses.

    `epsilon` pays for the session, however many questions it hears. With `answer_epsilon` every yes may come with the
    value itself, under fresh discrete Laplace noise of that epsilon.

    >>> AboveThreshold(1, "0.5", 100).event.kind
    'pure'
    """

    __slots__ = (
        "_bar", "_bits", "_left", "_lock", "_process", "_scale", "_threshold_scale", "answer_epsilon", "epsilon",
        "fires", "monotone", "question_epsilon", "sensitivity", "shift", "threshold", "threshold_epsilon",
    )  # fmt: skip

    def __init__(
        self,
        sensitivity: int,
        epsilon: parameters.Number,
        threshold: int,
        *,
        fires: int = 1,
        monotone: bool = False,
        answer_epsilon: parameters.Number | None = None,
        bits: BitSource | None = None,
    ) -> None:
        self.sensitivity = parameters.whole("sensitivity", sensitivity, least=1)
        self.epsilon = parameters.positive("epsilon", epsilon)
        self.threshold = _public_integer("threshold", threshold)
        self.fires = parameters.whole("fires", fires, least=1)
        self.monotone = bool(monotone)
        self.answer_epsilon = None if answer_epsilon is None else parameters.positive("answer_epsilon", answer_epsilon)
        self.threshold_epsilon, self.question_epsilon = _split(self.epsilon, self._multiple)
        self._threshold_scale = ordinary("epsilon", self.sensitivity / self.threshold_epsilon, epsilon)
        self._scale = ordinary("epsilon", self._multiple * self.sensitivity / self.question_epsilon, epsilon)
        self.shift = round(_mean(self._scale) - _mean(self._threshold_scale))
        self._bits = secure() if bits is None else bits
        self._left = self.fires
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._bar = self.threshold + self.shift + geometric(self._threshold_scale, None, self._bits)

    @property
    def _multiple(self) -> int:
        """m c of the theorem: how far all "above"s of a session together move their noise, in sensitivities."""
        return self.fires if self.monotone else 2 * self.fires

    @property
    def threshold_scale(self) -> float:
        """Scale of the geometric noise on the threshold."""
        return float(self._threshold_scale)

    @property
    def scale(self) -> float:
        """Scale of the geometric noise on each question."""
        return float(self._scale)

    @property
    def event(self) -> events.Event:
        """What the whole session releases, however it goes."""
        answers = events.Pure(self.epsilon)
        if self.answer_epsilon is None:
            return answers
        value = events.DiscreteLaplace(self.sensitivity, self.sensitivity / self.answer_epsilon)
        return events.Composed((answers, events.Repeated(value, self.fires)))

    @property
    def left(self) -> int:
        """How many times it may still say yes. Public: it follows from the answers."""
        return self._left

    def ask(self, value: int) -> bool:
        """Whether the value is above the threshold, give or take the noise."""
        (above,) = self.scan([value])
        return bool(above)

    def scan(self, values: Any) -> NDArray[np.bool_]:
        """The answers to many questions in order, up to and including the last yes that was paid for."""
        exact = integers(values).reshape(-1)
        with self._lock:
            self.check()
            noise = geometric(self._scale, exact.size, self._bits)
            above = _at_least(exact, noise, self._bar)
            fired = np.flatnonzero(above)
            if fired.size >= self._left:
                above = above[: fired[self._left - 1] + 1]
            self._left -= int(np.count_nonzero(above))
        return above

    def ask_value(self, value: int) -> int | None:
        """None below the threshold; above it the value under fresh noise, paid by `answer_epsilon`."""
        if self.answer_epsilon is None:
            raise parameters.refuse(
                "answer_epsilon", "given when the session is made", None, "Values are paid apart from yes and no."
            )
        if not self.ask(value):
            return None
        return int(value) + discrete_laplace(self.sensitivity / self.answer_epsilon, None, self._bits)

    def error(self, confidence: parameters.Number, questions: int = 1) -> int:
        """With this confidence all of `questions` values at least this far from the threshold are answered right.

        A value of at least threshold + error is missed only when r >= error + 1 - shift; one of at most
        threshold - error fires only when its v >= error + shift; the chances are summed over the questions.
        """
        allowed = float(1 - parameters.open_probability("confidence", confidence))
        count = parameters.whole("questions", questions, least=1)

        def too_likely(distance: int) -> bool:
            missed = math.exp(-max(distance + 1 - self.shift, 0) / self.threshold_scale)
            fired = count * math.exp(-max(distance + self.shift, 0) / self.scale)
            return (missed + fired) * (1 + 1e-12) > allowed

        low, high = -1, 1
        while too_likely(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if too_likely(middle) else (low, middle)
        return high

    def check(self) -> None:
        """Refuse where the next question would be refused: no yes is left, or this is another process."""
        if self._process != os.getpid():
            raise TacitError("This AboveThreshold session belongs to another process. Open a new session here.")
        if self._left == 0:
            raise BudgetExceeded(
                f"This AboveThreshold session has said yes {self.fires} time(s), all it was paid for. "
                "Open and pay for a new session, or ask for more 'fires' at the start.",
                asked=Fraction(1),
                remaining=Fraction(0),
            )

    def __reduce__(self) -> NoReturn:
        # A copy would hold the same noise and a fresh count of fires: more than was paid for.
        raise TacitError("An AboveThreshold session can be neither copied nor pickled. Open a new session instead.")

    def __repr__(self) -> str:
        return (
            f"AboveThreshold(sensitivity={self.sensitivity}, epsilon={parameters.as_text(self.epsilon)}, "
            f"threshold={self.threshold}, fires={self.fires}, left={self._left})"
        )


def _split(epsilon: Fraction, multiple: int) -> tuple[Fraction, Fraction]:
    """The threshold's and the questions' part of epsilon, in the ratio 1 : multiple**(2/3) to three digits."""
    ideal = 1 / (1 + multiple ** (2 / 3))
    share = max(Fraction(ideal).limit_denominator(_SPLIT_DENOMINATOR), Fraction(1, _SPLIT_DENOMINATOR))
    return epsilon * share, epsilon * (1 - share)


def _mean(scale: Fraction) -> float:
    """The mean of the geometric noise."""
    return 1 / math.expm1(min(float(1 / scale), 700.0))


def _public_integer(name: str, value: Any) -> int:
    exact = parameters.rational(name, value, "a whole number")
    if exact.denominator != 1 or isinstance(value, float):
        raise parameters.refuse(name, "a whole number", value)
    return exact.numerator


def _at_least(values: NDArray[np.int64], noise: NDArray[Any], bar: int) -> NDArray[np.bool_]:
    """values + noise >= bar, in whole numbers of any size."""
    # clamping moves two values no further apart; the difference to a bar in the same range then fits 64 bits
    inside = np.clip(values, -_LIMIT, _LIMIT)
    if noise.dtype == object or abs(bar) >= _LIMIT:
        return np.asarray(noise >= bar - inside.astype(object), dtype=np.bool_)
    return np.asarray(noise >= np.int64(bar) - inside)
