"""The choice of one event: a score, a threshold, a side, and the input under which the event is likelier.

Promise: the choice uses draws that are neither those the scores were fitted to nor those that are counted afterwards.
It maximises the bound that the coming count is expected to give, with estimates moved by their own sampling error
towards "no difference", so that thresholds that only look good by chance are not chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import epsilon_low
from tacit.audit.draws import Releases
from tacit.audit.finders import Score
from tacit.audit.readings import Reading

_TRIED = 250


@dataclass(frozen=True, slots=True)
class Chosen:
    """Outcomes whose score is at least `threshold` (or, not `upward`, all others)."""

    score: Score
    threshold: float
    upward: bool
    first_likelier: bool

    def hits(self, releases: Releases) -> int:
        """How many releases are in the event."""
        inside = self.score(releases) >= self.threshold
        return int(np.count_nonzero(inside if self.upward else ~inside))

    @property
    def words(self) -> str:
        return f"{self.score.words} {'>=' if self.upward else '<'} {self.threshold:.6g}"


def choose(
    scores: Sequence[Score], first: Releases, second: Releases, *, draws: int, delta: float, failure: float
) -> Chosen:
    """The event that promises the best bound once it is counted in `draws` draws of each side."""
    best, best_bound = None, -1.0
    read: dict[Reading, tuple[NDArray[np.generic], NDArray[np.generic]]] = {}
    for score in scores:
        if score.reading not in read:
            read[score.reading] = (score.reading(first), score.reading(second))
        here, there = (np.sort(score.of(side)) for side in read[score.reading])
        cuts = _cuts(here, there)
        share, other = (1 - np.searchsorted(side, cuts, side="left") / len(side) for side in (here, there))
        for upward, first_likelier in ((True, True), (True, False), (False, True), (False, False)):
            p, q = (share, other) if first_likelier else (other, share)
            p, q = (p, q) if upward else (1 - p, 1 - q)
            found = _promised(p, q, len(here), draws, delta, failure)
            at = int(np.argmax(found))
            if found[at] > best_bound:
                best_bound = float(found[at])
                best = Chosen(score, float(cuts[at]), upward, first_likelier)
    if best is None:
        raise ValueError("no score to choose from")
    return best


def _cuts(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds to try: all different scores, or some, dense at both ends, where ratios are extreme."""
    both = np.unique(np.concatenate([first, second]))
    if len(both) <= 2 * _TRIED:
        return both
    tail = np.unique(np.geomspace(1, len(both) // 2, _TRIED).astype(int))
    even = np.linspace(0, len(both) - 1, _TRIED).astype(int)
    some = np.unique(np.concatenate([tail, len(both) - 1 - tail, even]))
    return np.asarray(both[some])


def _promised(
    p: NDArray[np.float64], q: NDArray[np.float64], seen: int, draws: int, delta: float, failure: float
) -> NDArray[np.float64]:
    less = np.maximum(p - np.sqrt(p * (1 - p) / seen), 0.0)
    more = np.minimum(q + np.sqrt(q * (1 - q) / seen) + 1 / seen, 1.0)
    return epsilon_low(np.floor(less * draws), np.ceil(more * draws), draws, delta, failure)
