"""What intervals of `learning.LinearRegression` are held against: a population's least-squares line, in many regimes.

The truth is worked out from four million rows of the population, values clamped to their public bounds and nothing
else; a run draws its own rows. Regimes are those in which rows could be shrunk (targets that fill their bounds, or lie
beyond them), in which the noise nearly hides the line, and in which textbooks' intervals are delicate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from _coverage_cases import Tally
from tacit import learning

Reals = NDArray[np.float64]
Rows = tuple[Reals, Reals]
_PARTS, _PART = 8, 500_000


@dataclass(frozen=True)
class Population:
    """How rows are drawn, how many, and what is public."""

    draw: Callable[[np.random.Generator, int], Rows]
    rows: int
    epsilon: float
    bounds: tuple[float, float] = (-1.0, 1.0)
    target_bounds: tuple[float, float] = (-3.0, 3.0)
    delta: float = 1e-6


def _line(
    columns: int = 2, spread: float = 0.3, mean: float = 0.2, noise: float = 0.3
) -> Callable[[np.random.Generator, int], Rows]:
    slopes = np.resize([0.5, -1.0, 0.25, 0.0], columns)

    def draw(rng: np.random.Generator, rows: int) -> Rows:
        features = rng.normal(mean, spread, (rows, columns))
        return features, features @ slopes + 0.1 + rng.normal(0, noise, rows)

    return draw


def _uniform(rng: np.random.Generator, rows: int) -> Rows:
    features = rng.uniform(-1, 1, (rows, 2))
    return features, features @ [0.5, -0.4] + rng.uniform(-0.1, 0.1, rows)


def _heavy(rng: np.random.Generator, rows: int) -> Rows:
    features = rng.uniform(-1, 1, (rows, 2))
    return features, features @ [0.5, -0.4] + 0.2 * rng.standard_t(3, rows)


def _skewed(rng: np.random.Generator, rows: int) -> Rows:
    features = rng.lognormal(0, 0.8, (rows, 2))
    return features, features @ [0.5, -0.3] + rng.exponential(1.0, rows)


def _collinear(rng: np.random.Generator, rows: int) -> Rows:
    features = rng.normal(0, 0.3, (rows, 3))
    features[:, 2] = 0.9 * features[:, 1] + 0.4 * features[:, 2]
    return features, features @ [0.5, -1.0, 0.3] + rng.normal(0, 0.3, rows)


def _constant(rng: np.random.Generator, rows: int) -> Rows:
    features = rng.normal(0, 0.3, (rows, 2))
    features[:, 1] = 0.5
    return features, features @ [0.5, -1.0] + rng.normal(0, 0.3, rows)


POPULATIONS: dict[str, Population] = {
    "targets fill their bounds": Population(_line(), 5_000, 1.0, target_bounds=(-1.2, 1.2)),
    "rows fill their bounds": Population(_uniform, 5_000, 1.0, target_bounds=(-1.0, 1.0)),
    "targets beyond their bounds": Population(_line(), 5_000, 1.0, target_bounds=(-0.5, 0.5)),
    "targets beyond, many rows": Population(_line(), 50_000, 0.5, target_bounds=(-0.5, 0.5)),
    "50,000 rows, epsilon .5": Population(_line(), 50_000, 0.5),
    "50,000 rows, epsilon .2, Laplace": Population(_line(), 50_000, 0.2, delta=0),
    "200,000 rows, epsilon 5": Population(_line(), 200_000, 5.0, target_bounds=(-2.0, 2.0)),
    "1,000 rows, epsilon 5": Population(_line(), 1_000, 5.0, target_bounds=(-1.5, 1.5)),
    "200 rows, epsilon 5": Population(_line(), 200, 5.0, target_bounds=(-1.5, 1.5)),
    "200 rows, epsilon 30": Population(_line(), 200, 30.0, target_bounds=(-1.5, 1.5)),
    "1,000 rows, epsilon 3, Laplace": Population(_line(), 1_000, 3.0, target_bounds=(-1.5, 1.5), delta=0),
    "one column": Population(_line(1), 1_000, 2.0, target_bounds=(-2.0, 2.0)),
    "wide bounds, small spread": Population(_line(spread=0.05, noise=0.05), 50_000, 5.0),
    "far from the middle": Population(_line(spread=0.1, mean=0.8, noise=0.1), 50_000, 2.0),
    "bounds far too wide": Population(_line(), 50_000, 1.0, (-10.0, 10.0), (-10.0, 10.0)),
    "12 columns": Population(_line(12, 0.5, 0.0), 20_000, 5.0),
    "30 columns": Population(_line(30, 0.5, 0.0), 50_000, 5.0, target_bounds=(-5.0, 5.0)),
    "collinear": Population(_collinear, 50_000, 5.0),
    "constant column": Population(_constant, 20_000, 5.0),
    "skew": Population(_skewed, 10_000, 1.0, (0.0, 10.0), (-5.0, 10.0)),
    "skew, cut by the bounds": Population(_skewed, 10_000, 3.0, (0.0, 5.0), (-2.0, 4.0)),
    "heavy tails": Population(_heavy, 20_000, 3.0),
}


@cache
def truth(name: str) -> Reals:
    """The intercept and the slopes of the population's clamped rows."""
    of, rng = POPULATIONS[name], np.random.default_rng(77)
    products, crossed = 0.0, 0.0
    for _ in range(_PARTS):
        features, target = of.draw(rng, _PART)
        rows = np.column_stack([np.ones(_PART), features.clip(*of.bounds)])
        products, crossed = products + rows.T @ rows, crossed + rows.T @ target.clip(*of.target_bounds)
    return np.asarray(np.linalg.lstsq(products, crossed, rcond=1e-9)[0])


def sweep(name: str, runs: int, seed: int = 0) -> Tally:
    """How often the intervals of intercept and slopes held it, place by place."""
    of, line, rng = POPULATIONS[name], truth(name), np.random.default_rng([seed, len(name)])
    held, shown = (np.zeros(len(line), dtype=np.int64) for _ in range(2))
    for _ in range(runs):
        facts = {"bounds": of.bounds, "target_bounds": of.target_bounds}
        model = learning.LinearRegression(epsilon=of.epsilon, delta=of.delta, **facts).fit(*of.draw(rng, of.rows))
        if model.coef_interval_ is not None:
            low, high = np.vstack([model.intercept_interval_, model.coef_interval_]).T
            held, shown = held + ((low <= line) & (line <= high)), shown + 1
    return Tally(held, shown, runs)
