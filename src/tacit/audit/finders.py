"""Finders of events: from draws of both inputs to scores that are high where the first input is the likelier one.

A score turns every release into a number; the events that are tried are "the score is at least t" and its complement
(`choosing`). By Neyman and Pearson's lemma the best event of all is one of the likelihood ratio, so every finder here
estimates that ratio, or something that rises with it:

- `thresholds`: each number itself (and mean, least, greatest, spread of a vector); right for one shifted number;
- `cells`: each number falls into a cell with its share of draws of either side, log ratios added up over the numbers:
  the likelihood ratio itself where the numbers of a release are independent;
- `low_bits`: the same for the lowest bit that is set, which gives away float noise that was added to a value;
- `labels`: every release that comes more than once, and every shape of release, with its ratio;
- `linear`: logistic regression on all numbers together, for releases whose numbers depend on each other.

Promise: a score is a total function of releases and was fixed without the draws that are counted later, so a finder may
be clever or wrong: that changes how much is found, never whether the bound holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.audit.draws import Releases
from tacit.audit.readings import LowBits, Numbers, Reading, Shapes, Summaries, Texts, plain_numbers, width_of

_MOST_CELLS = 512
_DRAWS_IN_A_CELL = 40
_SINGLE = 8
_MOST_REGRESSED = 30_000


@dataclass(frozen=True, slots=True)
class Score:
    """A number for every release: its meaning in words, how a release is read, and how the score follows."""

    words: str
    reading: Reading
    rule: Callable[[NDArray[Any]], NDArray[np.float64]]

    def __call__(self, releases: Releases) -> NDArray[np.float64]:
        return self.of(self.reading(releases))

    def of(self, read: NDArray[Any]) -> NDArray[np.float64]:
        """The score of releases that have been read; releases without a score are below all others."""
        return np.nan_to_num(np.asarray(self.rule(read), dtype=np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)


Finder: TypeAlias = Callable[[Releases, Releases], "Sequence[Score]"]


def everything(first: Releases, second: Releases) -> list[Score]:
    """All scores that the finders of this module come up with."""
    return [score for finder in (thresholds, cells, low_bits, labels, linear) for score in finder(first, second)]


def _width(first: Releases, second: Releases) -> int:
    return max(width_of(first), width_of(second))


def _kind(width: int) -> str:
    return "the number" if width == 1 else "the numbers"


# -- numbers as they are -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """One column of what was read."""

    place: int

    def __call__(self, read: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(read[:, self.place], dtype=np.float64)


def thresholds(first: Releases, second: Releases) -> list[Score]:
    """Each number of a short release, and the summaries of a vector."""
    width = _width(first, second)
    found = [Score(f"number {place + 1}", Numbers(width), Place(place)) for place in range(min(width, _SINGLE))]
    if width > 1:
        names = ("mean", "least", "greatest", "spread", "numbers missing")
        found += [Score(f"{name} of the vector", Summaries(width), Place(at)) for at, name in enumerate(names)]
    return found


# -- ratios in cells -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CellRatios:
    """The sum, over the numbers, of the log ratio of the cell that the number falls into."""

    edges: tuple[NDArray[np.float64], ...]
    ratios: tuple[NDArray[np.float64], ...]

    def __call__(self, read: NDArray[Any]) -> NDArray[np.float64]:
        total = np.zeros(len(read))
        for place, (edges, ratios) in enumerate(zip(self.edges, self.ratios, strict=True)):
            total += ratios[_cell(read[:, place], edges)]
        return total


def _cell(values: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The number of the cell; the last one is for missing numbers."""
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _edges(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    there = values[np.isfinite(values)]
    if not there.size:
        return np.empty(0)
    different = np.unique(there)
    if different.size > most:
        ends = np.linspace(0, 1, most + 1)[1:-1]
        different = np.unique(np.quantile(there, ends))
    return different  # a cell begins at its edge: a few different values get one cell each


def log_ratio(first: NDArray[Any], second: NDArray[Any], draws: int, other_draws: int) -> NDArray[np.float64]:
    """Log ratio of shares, with half a draw more on both sides so that it stays finite and rare cells count little."""
    return np.log((first + 0.5) / (draws + 1)) - np.log((second + 0.5) / (other_draws + 1))


def _cell_ratios(reading: Reading, first: Releases, second: Releases) -> CellRatios:
    here, there = reading(first), reading(second)
    width = here.shape[1]
    most = min(_MOST_CELLS if width == 1 else 64, max(2, len(here) // _DRAWS_IN_A_CELL))
    edges, ratios = [], []
    for place in range(width):
        cut = _edges(np.concatenate([here[:, place], there[:, place]]), most)
        counts = [np.bincount(_cell(side[:, place], cut), minlength=len(cut) + 2) for side in (here, there)]
        edges.append(cut)
        ratios.append(log_ratio(counts[0], counts[1], len(here), len(there)))
    return CellRatios(tuple(edges), tuple(ratios))


def cells(first: Releases, second: Releases) -> list[Score]:
    """Ratios in the cells of a histogram, added up over the numbers."""
    width = _width(first, second)
    if not width:
        return []
    rule = _cell_ratios(Numbers(width), first, second)
    return [Score(f"log ratio of cells of {_kind(width)}", Numbers(width), rule)]


def low_bits(first: Releases, second: Releases) -> list[Score]:
    """The lowest bit that is set in each number, by itself and by its ratio."""
    width = _width(first, second)
    if not width or (isinstance(first, np.ndarray) and first.dtype.kind == "b"):
        return []
    found = [Score(f"lowest bit of number {place + 1}", LowBits(width), Place(place)) for place in range(min(width, 2))]
    rule = _cell_ratios(LowBits(width), first, second)
    return [*found, Score(f"log ratio of lowest bits of {_kind(width)}", LowBits(width), rule)]


# -- releases as labels --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LabelRatios:
    """The log ratio of a label that was seen before; 0 for others."""

    ratios: Mapping[Any, float]

    def __call__(self, read: NDArray[Any]) -> NDArray[np.float64]:
        known = self.ratios
        return np.array([known.get(label, 0.0) for label in read.tolist()])


@dataclass(frozen=True, slots=True, eq=False)
class NumberRatios:
    """The same for numbers, which are looked up all together."""

    known: NDArray[Any]
    ratios: NDArray[np.float64]

    def __call__(self, read: NDArray[Any]) -> NDArray[np.float64]:
        at = np.minimum(np.searchsorted(self.known, read), len(self.known) - 1)
        return np.where(self.known[at] == read, self.ratios[at], 0.0)


def labels(first: Releases, second: Releases) -> list[Score]:
    """Ratios of whole releases, where they repeat; and of their shapes, where there is more than one."""
    found = list(_of_labels("the release itself", Texts(), first, second))
    if not (plain_numbers(first) and plain_numbers(second)):
        found += _of_labels("the shape of the release", Shapes(), first, second)
    return found


def _of_labels(words: str, reading: Reading, first: Releases, second: Releases) -> Iterator[Score]:
    here, there = reading(first), reading(second)
    if here.dtype.kind != there.dtype.kind:
        return
    both = np.concatenate([here, there])
    known, codes = np.unique(both, return_inverse=True)
    if not 1 < len(known) <= len(both) / 2:
        return  # a single label says nothing, and neither do labels that never repeat
    counts = [np.bincount(part, minlength=len(known)) for part in (codes[: len(here)], codes[len(here) :])]
    ratios = log_ratio(counts[0], counts[1], len(here), len(there))
    if both.dtype == object:
        yield Score(words, reading, LabelRatios(dict(zip(known.tolist(), ratios.tolist(), strict=True))))
    else:
        yield Score(words, reading, NumberRatios(known, ratios))


# -- all numbers together ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A weighted sum of the standardised numbers, and of marks for the missing ones."""

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __call__(self, read: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self.features(read) @ self.weights)

    def features(self, read: NDArray[Any]) -> NDArray[np.float64]:
        """Numbers of ordinary size, then a one for each that is missing."""
        missing = ~np.isfinite(read)
        scaled = np.clip((np.where(missing, self.centre, read) - self.centre) / self.spread, -6, 6)
        return np.concatenate([scaled, missing.astype(np.float64)], axis=1)


def linear(first: Releases, second: Releases) -> list[Score]:
    """Logistic regression, for vectors."""
    width = _width(first, second)
    if width < 2:
        return []
    here, there = (Numbers(width)(side[:_MOST_REGRESSED]) for side in (first, second))
    both = np.concatenate([here, there])
    finite = np.where(np.isfinite(both), both, 0.0)
    centre = np.median(finite, axis=0)
    spread = np.maximum(1.4826 * np.median(np.abs(finite - centre), axis=0), 1e-9)
    spread = np.where(spread > 1e-9, spread, np.maximum(finite.std(axis=0), 1e-9))
    blank = Linear(centre, spread, np.zeros(2 * width))
    weights = _regressed(blank.features(both), np.arange(len(both)) < len(here))
    return [Score("logistic regression on the numbers", Numbers(width), Linear(centre, spread, weights))]


def _regressed(features: NDArray[np.float64], is_first: NDArray[np.bool_], steps: int = 12) -> NDArray[np.float64]:
    """Newton's steps for ridge-penalised logistic regression, without an intercept: a threshold stands for it."""
    target = is_first.astype(np.float64)
    centred = features - features.mean(axis=0)
    weights = np.zeros(features.shape[1])
    ridge = 1e-4 * len(target) * np.eye(len(weights))
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(centred @ weights, -30, 30)))
        slope = centred.T @ (target - chance) - ridge @ weights
        curve = (centred * (chance * (1 - chance))[:, None]).T @ centred + ridge
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.max(np.abs(step)) < 1e-6:
            break
    return weights
