"""`minimise`: weights that make the sum of the caller's convex Lipschitz loss small, by noisy gradients.

    def loss(weights, rows):                      # one number for each line of `rows`
        return np.abs(rows[:, 1] - weights[0] - weights[1] * rows[:, 0])

    minimise(loss, patients, ["age", "charge"], start=(0, 0), radius=10, lipschitz=120, epsilon=1, delta=1e-6)

The loss never sees a row. Columns are cut into cells, at most 20,000 of them in all, by public facts alone: listed
values one by one, numbers into equal steps. Each round the loss (or its gradient) is worked out for the middles of all
cells at weights that were released before; its values there are public, whatever it does. Only the number of rows in
each cell is private. The gradients of cells are shrunk to the length `lipschitz`, put on a grid of whole numbers, and
summed over the rows.

Theorem. A row adds the whole-number gradient of its cell, of length at most LENGTH (in the L2 norm for Gaussian noise,
in the L1 norm for Laplace noise), so r rows of a unit move the sum by at most r LENGTH. The number of rows is released
once. Both are charged together (`calibrated`).

Weights move against the noisy mean gradient with momentum, by half of radius/(the root of the sum of squares of all
gradients so far), and stay within `radius` of the start; released is the average of the second half. That this comes
near the least loss needs a convex loss and gradients that are not longer than stated; privacy needs neither.

Neighbours: one unit's rows, added or removed. Assumptions: bounds and listed values are public.
Source: Bassily, Smith, Thakurta 2014 (noisy gradients); Duchi, Hazan, Singer 2011 (the steps).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tacit import parameters
from tacit.errors import TacitError
from tacit.learning.balls import shrunk_rows
from tacit.learning.calibrated import Part, calibrated
from tacit.learning.clusters.lloyd import shrunk_taxicab
from tacit.learning.columns import Feature, Reals, features_of
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.plan.row_plan import Cut
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Whole, source_of

Loss: TypeAlias = Callable[[Reals, Reals], Any]
LENGTH = 1 << 16
_MOST_CELLS = 20_000
_MOST_WEIGHTS = 1_000
_COUNT_SHARE = Fraction(1, 20)
_ROUNDS, _PURE_ROUNDS = 50, 20
_MOMENTUM = 0.6
_NEAR = 1e-5  # of the radius: how far apart the losses are that make a difference quotient
_LONG = 1e9  # gradients are cut here before they are shrunk, in units of `lipschitz`


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells that rows are counted in, by public facts."""

    features: tuple[Feature, ...]
    steps: tuple[int, ...]  # of each column

    @property
    def many(self) -> int:
        """How many there are."""
        return math.prod(self.steps)

    @property
    def middles(self) -> Reals:
        """A line for each cell: numbers in their own units, a listed value's place in its list."""
        axes: list[Reals] = []
        for each, steps in zip(self.features, self.steps, strict=True):
            if each.options is not None:
                axes.append(np.arange(steps, dtype=np.float64))
                continue
            middle = (np.arange(steps) + 0.5) * ((each.width + 1) / steps) - 0.5
            axes.append(np.asarray((each.low + middle) * float(each.step), dtype=np.float64))
        return np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)

    def counts(self, opened: Opened) -> Whole:
        """How many rows stand in each cell, in the order of `middles`."""
        asked: list[str | Cut] = [
            each.name if each.options is not None else Cut(each.name, _edges(each, steps))
            for each, steps in zip(self.features, self.steps, strict=True)
        ]
        codes, rows = opened.tally(*asked)
        places = codes.copy()
        for at, (each, meaning) in enumerate(zip(self.features, opened.meanings(*self._names), strict=True)):
            if each.options is not None:
                places[:, at] = each.places(codes[:, at], meaning)
        inside = np.all(places >= 0, axis=1)
        flat = np.ravel_multi_index(tuple(places[inside].T), self.steps)
        found = np.zeros(self.many, dtype=np.int64)
        np.add.at(found, flat, rows[inside])
        return found

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self.features]


def _edges(feature: Feature, steps: int) -> tuple[int, ...]:
    """The first code of each step but the first."""
    return tuple(feature.low - (-step * (feature.width + 1) // steps) for step in range(1, steps))


def cells_of(features: Sequence[Feature]) -> Cells:
    """As many steps of each number as there is room for."""
    listed = math.prod(each.size for each in features if each.options is not None)
    numbers = sorted(each.width + 1 for each in features if each.options is None)
    room = _MOST_CELLS // listed if listed else 0
    most = 0
    for place, own in enumerate(numbers):
        most = math.floor(room ** (1 / (len(numbers) - place)) + 1e-9)
        if own > most:
            break
        room //= own
    if (numbers and most < 2) or listed > _MOST_CELLS:
        hint = "Take fewer columns, or fewer listed values."
        raise parameters.refuse("columns", f"few enough for {_MOST_CELLS:,} cells", len(features), hint)
    steps = tuple(each.size if each.options is not None else min(each.width + 1, most) for each in features)
    return Cells(tuple(features), steps)


@dataclass(frozen=True, slots=True)
class Problem:
    """A loss, where its weights may be, and how long its gradients are."""

    loss: Loss
    gradient: Loss | None
    start: Reals
    radius: float
    lipschitz: float

    def gradients(self, weights: Reals, middles: Reals, taxicab: bool) -> Whole:
        """The gradient of each cell in whole numbers, LENGTH standing for `lipschitz`; no longer than LENGTH."""
        with np.errstate(all="ignore"):
            found = self._reals(weights, middles) / self.lipschitz
            found = np.clip(np.where(np.isnan(found), 0.0, found), -_LONG, _LONG)
            sizes = np.abs(found).sum(axis=1) if taxicab else np.linalg.norm(found, axis=1)
            found = found / np.maximum(sizes, 1.0)[:, None]
        whole = np.rint(found * LENGTH).astype(np.int64)
        return shrunk_taxicab(whole, LENGTH) if taxicab else shrunk_rows(whole, LENGTH)

    def _reals(self, weights: Reals, middles: Reals) -> Reals:
        many, size = len(middles), len(weights)
        if self.gradient is not None:
            return _read(self.gradient(weights.copy(), middles.copy()), (many, size), "gradient")
        found, near = np.empty((many, size)), _NEAR * self.radius
        for place in range(size):
            step = np.where(np.arange(size) == place, near, 0.0)
            ahead, behind = (
                _read(self.loss(at, middles.copy()), (many,), "loss") for at in (weights + step, weights - step)
            )
            found[:, place] = (ahead - behind) / (2 * near)
        return found

    def inside(self, weights: Reals) -> Reals:
        """The nearest point within the radius."""
        away = weights - self.start
        return np.asarray(self.start + away * min(1.0, self.radius / max(float(np.linalg.norm(away)), 1e-300)))

    def fingerprint(self, middles: Reals) -> str:
        """Identifies the loss by its value at the start and near it, in every cell."""
        digest = hashlib.sha256()
        for shift in (0.0, 0.31, -0.17):
            beside = self.inside(self.start + shift * self.radius * np.cos(np.arange(len(self.start)) + 1.0))
            digest.update(self.gradients(beside, middles, False).tobytes())
        return digest.hexdigest()


def minimise(
    loss: Loss,
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    start: Sequence[float],
    radius: parameters.Number,
    lipschitz: parameters.Number,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    gradient: Loss | None = None,
    rounds: int | None = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    analyst: str | None = None,
) -> Finding:
    """Weights within `radius` of `start` that make the mean loss small: `finding["weight"]`.

    loss(weights, rows) gives one number for each line of `rows`; gradient, where given, one line of slopes for each. A
    line has a number for each column: what it means, or the place of a listed value. lipschitz: how long gradients are
    at most; longer ones are shrunk.

    >>> def loss(weights, rows):
    ...     return ((rows - weights) ** 2).sum(axis=1)
    >>> found = minimise(loss, [[0.2], [0.4]], start=[0.0], radius=1, lipschitz=2, bounds=(0, 1), epsilon=1, delta=1e-6)
    >>> len(found["weight"])
    1
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    cells = cells_of(features_of(source.variables))
    problem = _problem(loss, gradient, start, radius, lipschitz)
    exact, slip = parameters.budget(epsilon, delta)
    count = parameters.whole("rounds", rounds, least=1) if rounds is not None else _ROUNDS if slip else _PURE_ROUNDS
    size, r = len(problem.start), source.rows_per_unit
    parts = [
        Part(r, r * r, 1, _COUNT_SHARE),
        Part(r * LENGTH, (r * LENGTH) ** 2, size, 1 - _COUNT_SHARE, count),
    ]
    noises, price = calibrated(parts, exact, slip)
    middles, taxicab = cells.middles, isinstance(noises[1], Laplace)
    fingerprint = _tried(problem, middles)

    def compute(opened: Opened, bits: BitSource) -> Content:
        counts = cells.counts(opened)
        total = max(float(noises[0].release(int(counts.sum()), bits=bits)), 1.0)

        def slope(weights: Reals) -> Reals:
            whole = counts @ problem.gradients(weights, middles, taxicab)
            noisy = np.asarray(noises[1].release(whole, bits=bits), dtype=np.float64)
            return np.asarray(noisy / (LENGTH * total))  # in units of `lipschitz`, on which steps do not depend

        weights = descended(problem, slope, count)
        table = (column("place", list(range(size))), column("weight", weights))
        steps = ", ".join(f"{each.name} {many:,}" for each, many in zip(cells.features, cells.steps, strict=True))
        notes = (f"{count} rounds of noisy gradients.", f"Rows were counted in cells: {steps}.")
        return Content("Weights of least loss", table, notes, {"count": total})

    asked = {"study": "minimise", "loss": fingerprint, "start": problem.start.tolist(), "radius": problem.radius}
    asked |= {"lipschitz": problem.lipschitz, "rounds": count, "steps": list(cells.steps)}
    asked |= {"epsilon": str(exact), "delta": str(slip)}
    return source.release(asked, price, compute, analyst=analyst)


def descended(problem: Problem, slope: Callable[[Reals], Reals], rounds: int) -> Reals:
    """The average of the weights after the rounds of the second half."""
    weights, speed, squares = problem.start.copy(), np.zeros(len(problem.start)), 0.0
    met = []
    for _ in range(rounds):
        found = slope(weights)
        squares += float(found @ found)
        speed = _MOMENTUM * speed + (1 - _MOMENTUM) * found
        weights = problem.inside(weights - problem.radius / (2 * max(math.sqrt(squares), 1e-300)) * speed)
        met.append(weights)
    return np.asarray(np.mean(met[rounds // 2 :], axis=0))


def _problem(loss: Any, gradient: Any, start: Any, radius: Any, lipschitz: Any) -> Problem:
    for name, given in (("loss", loss), ("gradient", gradient)):
        if not callable(given) and not (name == "gradient" and given is None):
            raise parameters.refuse(name, "a function of (weights, rows)", type(given).__name__)
    allowed = f"a list of 1 to {_MOST_WEIGHTS:,} numbers, where the weights start"
    try:
        where = np.array([float(parameters.rational("start", each, allowed)) for each in start])
    except TypeError:
        raise parameters.refuse("start", allowed, start) from None
    if not 1 <= len(where) <= _MOST_WEIGHTS:
        raise parameters.refuse("start", allowed, f"{len(where)} of them")
    size, longest = (float(parameters.positive(n, g)) for n, g in (("radius", radius), ("lipschitz", lipschitz)))
    return Problem(loss, gradient, where, size, longest)


def _tried(problem: Problem, middles: Reals) -> str:
    """The loss is called before anything is paid, so that its errors are shown."""
    try:
        return problem.fingerprint(middles)
    except TacitError:
        raise
    except Exception as wrong:
        name = "loss" if problem.gradient is None else "gradient"
        raise parameters.refuse(name, "a function of (weights, rows)", wrong, "It was tried without rows.") from wrong


def _read(found: Any, shape: tuple[int, ...], name: str) -> Reals:
    array = np.asarray(found, dtype=np.float64)
    if array.shape != shape:
        raise parameters.refuse(name, f"an array of shape {shape}, a line for each row", f"the shape {array.shape}")
    return array
