"""The most frequent values of a long stream, with a small memory: a Misra-Gries sketch, released once with noise.

The sketch keeps `size` keys with counters, at first dummy keys with counters 0. A row of a kept key raises its counter.
Any other row's key takes the place of the least key whose counter is 0; where there is none, all counters fall by 1. A
counter never exceeds the truth, and falls short of it by at most rows/(size + 1).

Lemma (Lebeda, Tetek 2023, Lemma 8; also enumerated in the tests). Take two streams, one of them with one row more. A
key that is not kept counts as 0. Then either all counters kept in either sketch differ by 1, in the same direction,
or one counter differs by 1 and all others are equal. At most two keys of either sketch are not kept in the other, and
their counters are at most 1.

Theorem. Release every kept key that is not a dummy with its counter, plus a noise u that all share, plus a noise v of
its own, both discrete Laplace of scale 1/epsilon, if that is at least a threshold t. If 2 (1 + exp(epsilon)) Pr[1 + u +
v >= t] <= delta, the release is (epsilon, delta)-differentially private (neighbours: one row added or removed).
Proof. Let K be the keys kept in both, and Q(o), Q'(o) the probabilities of an output o on K alone, other keys left out.
If all counters differ by 1, moving u by 1 gives Q <= exp(epsilon) Q'; if one does, moving its own v does. With d a
bound on the probability that a key kept in one sketch alone (at most two, with counters of at most 1) reaches t: P(O)
<= Q(O) + d <= exp(epsilon) Q'(O) + d <= exp(epsilon) (P'(O) + d) + d, as P' differs from Q' on that event alone.

Source: Lebeda, Tetek 2023, "Better differentially private approximate histograms and heavy hitters using the
Misra-Gries sketch", whose noise this is; the threshold is computed from the exact law instead of a tail bound.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NoReturn

from tacit import noise, parameters
from tacit.errors import BudgetExceeded, TacitError
from tacit.loss.events import Approximate
from tacit.parameters import Number

_NOBODY = ""
_LARGEST_EPSILON = 100


class HeavyHitters:
    """A sketch of `size` texts. It is released once, and holds exact counters until then.

    >>> words = HeavyHitters(100, epsilon=1, delta="1e-6")
    >>> words.add(["tea"] * 500 + ["rare"])
    >>> list(words.release())  # a count of 1 never passes
    ['tea']
    """

    def __init__(self, size: int, *, epsilon: Number, delta: Number) -> None:
        self.size = parameters.whole("size", size, least=1)
        self.epsilon, self.delta = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
        if self.delta == 0:
            raise parameters.refuse("delta", "above 0: which keys are kept depends on single rows", delta)
        self.threshold = threshold_for(self.epsilon, self.delta)
        self._released, self._turn = False, threading.Lock()
        # dummy keys come first in the order, so that they are replaced first
        self._counters: dict[tuple[str, int], int] = {(_NOBODY, place): 0 for place in range(self.size)}

    @property
    def event(self) -> Approximate:
        """What a release costs."""
        return Approximate(self.epsilon, self.delta)

    def add(self, rows: Iterable[Any]) -> None:
        """Count rows one by one, in the order in which they come. A row is read as a text."""
        if self._released:
            raise TacitError("This sketch was released. Make another for another stretch of the stream.")
        for row in rows:
            self._count((as_text(row), -1))

    def _count(self, key: tuple[str, int]) -> None:
        counters = self._counters
        if key in counters:
            counters[key] += 1
            return
        empty = min((each for each, count in counters.items() if count == 0), key=_order, default=None)
        if empty is None:
            for each in counters:
                counters[each] -= 1
            return
        del counters[empty]
        counters[key] = 1

    def release(self, *, bits: noise.BitSource | None = None) -> dict[str, int]:
        """The frequent values with noisy counts, most frequent first. Once."""
        with self._turn:
            if self._released:
                raise BudgetExceeded(
                    "This sketch was released, and was paid for once. Make another for another stretch of the stream.",
                    asked=Fraction(1),
                    remaining=Fraction(0),
                )
            self._released = True
        source = noise.secure() if bits is None else bits
        scale = 1 / self.epsilon
        drawn = [int(each) for each in noise.discrete_laplace(scale, self.size + 1, source)]
        shared = drawn.pop()
        noisy = {key: count + shared + own for (key, count), own in zip(self._counters.items(), drawn, strict=True)}
        self._counters.clear()  # nothing exact stays in memory
        kept = [(value, text) for (text, place), value in noisy.items() if place < 0 and value >= self.threshold]
        return {text: value for value, text in sorted(kept, key=lambda pair: (-pair[0], pair[1]))}

    def misses(self, rows: int) -> float:
        """How far a count may fall short of the truth in this many rows, before noise."""
        return rows / (self.size + 1)

    def __reduce__(self) -> NoReturn:
        raise TacitError("A sketch can be neither copied nor pickled: it is released once. Make a new one.")


def as_text(row: Any) -> str:
    """A row as a text; a row without one becomes the name of its type, because nothing about a row may raise."""
    try:
        return str(row)
    except (TypeError, ValueError, RecursionError):
        return type(row).__name__


def _order(key: tuple[str, int]) -> tuple[int, tuple[str, int]]:
    """Dummy keys first, then texts in their order."""
    return (0 if key[1] >= 0 else 1, key)


def threshold_for(epsilon: Fraction, delta: Fraction) -> int:
    """The least whole t with 2 (1 + exp(epsilon)) Pr[1 + u + v >= t] <= delta; a little more where floats cannot
    tell.
    """
    if epsilon > _LARGEST_EPSILON:
        raise parameters.refuse("epsilon", f"at most {_LARGEST_EPSILON}", float(epsilon))
    grown = math.exp(float(epsilon)) * (1 + 1e-12)
    allowed = float(delta) / (2 * (1 + grown)) * (1 - 1e-9)
    low, high = 0, 1
    while tail(epsilon, high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(epsilon, middle) > allowed else (low, middle)
    return high + 1


def tail(epsilon: Fraction, least: int) -> float:
    """Pr[u + v >= least] for least >= 1, u and v discrete Laplace of scale 1/epsilon.

    Pr[u + v = s] = k^2 p^|s| (|s| + (1 + p^2)/(1 - p^2)), p = exp(-epsilon), k = (1 - p)/(1 + p); summed from `least`
    on.
    """
    p = math.exp(-float(epsilon))
    one = -math.expm1(-float(epsilon))
    k = one / (1 + p)
    ratio = (1 + p * p) / (one * (1 + p))
    # not p**least: the rounding of p would grow with the power
    return k * k * math.exp(-float(epsilon) * least) * ((least + ratio) / one + p / (one * one))
