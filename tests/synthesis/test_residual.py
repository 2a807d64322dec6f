"""Tables put together from residuals: least squares, local non-negativity, what is paid, and what comes of it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from tacit import synthesis
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.noise import secure
from tacit.statistics.source import source_of
from tacit.synthesis import scoring
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.model.residuals import Residuals
from tacit.synthesis.residual import measured_pairs, pair_score
from tests.synthesis.test_released import BOUNDS, VALUES, people

SIZES = (3, 2, 4)
SETS = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 2))


def noisy_tables(
    seed: int, deviation: float = 3.0
) -> tuple[np.ndarray, list[tuple[tuple[int, ...], np.ndarray, float]]]:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(200, rng.dirichlet(np.full(24, 0.3))).reshape(SIZES).astype(float)
    found = []
    for number, columns in enumerate(SETS):
        own = counts.sum(axis=tuple(axis for axis in range(3) if axis not in columns))
        sigma = deviation * (1 + number % 3)
        found.append((columns, own + rng.normal(0, sigma, own.shape), sigma))
    return counts, found


def design(columns: tuple[int, ...]) -> np.ndarray:
    """The matrix that takes a whole table to its marginal, column by column of identity."""
    size = math.prod(SIZES)
    gone = tuple(axis for axis in range(3) if axis not in columns)
    return np.stack([np.eye(size)[:, cell].reshape(SIZES).sum(axis=gone).reshape(-1) for cell in range(size)], axis=1)


def known_of(tables: list[tuple[tuple[int, ...], np.ndarray, float]]) -> Residuals:
    known = Residuals(SIZES)
    for columns, own, sigma in tables:
        known.add(columns, own, sigma**2)
    return known


@pytest.mark.parametrize("seed", range(5))
def test_residuals_are_the_least_squares_of_all_tables_together(seed: int) -> None:
    _, tables = noisy_tables(seed)
    known = known_of(tables)
    rows = np.concatenate([design(columns) / sigma for columns, _, sigma in tables])
    wanted = np.concatenate([own.reshape(-1) / sigma for _, own, sigma in tables])
    joint, *_ = np.linalg.lstsq(rows, wanted, rcond=None)  # any solution: its marginals are the same
    for pair in ((0, 1), (0, 2), (1, 2)):
        truth = (design(pair) @ joint).reshape([SIZES[place] for place in pair])
        a, b = pair
        found = (
            known.residual(pair)
            + known.residual((a,))[:, None] / SIZES[b]
            + known.residual((b,))[None, :] / SIZES[a]
            + known.sums[()] / known.weights[()] / (SIZES[a] * SIZES[b])
        )
        np.testing.assert_allclose(found, truth, atol=1e-8)


def test_tables_without_negative_cells_are_the_nearest_ones() -> None:
    _, tables = noisy_tables(3, deviation=2.0)
    known = known_of(tables)
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = known.together(pairs)
    singles = known.singles()
    centre = {pair: known.shrunk(pair, singles) for pair in pairs} | {
        (place,): own - own.mean() for place, own in enumerate(singles)
    }

    def parts(joint: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
        made = {}
        for part in centre:
            own = (design(part) @ joint).reshape([SIZES[place] for place in part])
            for axis in range(own.ndim):
                own = own - own.mean(axis=axis, keepdims=True)
            made[part] = own
        return made

    def loss(joint: np.ndarray) -> float:
        return sum(known.weights[part] * float(((own - centre[part]) ** 2).sum()) for part, own in parts(joint).items())

    # over whole tables with the right sum whose pairs are not negative: cells may be negative, as only pairs count
    every = np.concatenate([design(pair) for pair in pairs])
    held = [
        LinearConstraint(every, 0, np.inf),
        LinearConstraint(np.ones((1, every.shape[1])), known.total, known.total),
    ]
    best = minimize(loss, np.full(24, known.total / 24), method="SLSQP", constraints=held, options={"maxiter": 500})
    for pair in pairs:
        truth = (design(pair) @ best.x).reshape([SIZES[place] for place in pair])
        assert np.abs(found[pair] - truth).max() < 0.35, pair
        assert found[pair].min() >= 0
    np.testing.assert_allclose(found[(0, 1)].sum(axis=1), found[(0, 2)].sum(axis=1), atol=0.2)


def test_noise_alone_becomes_independence_and_a_signal_stays() -> None:
    rng = np.random.default_rng(0)
    flat, strong = Residuals((8, 8)), Residuals((8, 8))
    for known, table in ((flat, np.full((8, 8), 100.0)), (strong, np.diag(np.full(8, 800.0)))):
        for place in range(2):
            known.add((place,), table.sum(axis=1) + rng.normal(0, 5, 8), 25.0)
        known.add((0, 1), table + rng.normal(0, 5, (8, 8)), 25.0)
    apart = np.multiply.outer(*flat.singles()) / flat.total
    assert np.abs(flat.pair((0, 1), flat.singles()) - apart).mean() < 2.5  # the noise itself has 4
    assert np.diag(strong.pair((0, 1), strong.singles())).min() > 780


def test_a_row_moves_the_score_of_a_pair_no_further_than_stated() -> None:
    rng = np.random.default_rng(5)
    largest = 0
    for _ in range(300):
        counts = rng.integers(0, 6, (3, 4))
        estimate, fewer = rng.random((3, 4)) * 6, counts.copy()
        cell = tuple(rng.integers(0, each) for each in (3, 4))
        if fewer[cell] == 0:
            continue
        fewer[cell] -= 1
        moved = abs(pair_score(counts, estimate, 2.0) - pair_score(fewer, estimate, 2.0))
        assert moved <= scoring.sensitivity(1)
        largest = max(largest, moved)
    assert largest == scoring.sensitivity(1)


@pytest.mark.parametrize("total", [Fraction(1, 5_000), Fraction(1, 50), Fraction(10)])
def test_what_is_spent_is_never_more_than_was_bought_and_nearly_all_of_it(total: Fraction) -> None:
    source = source_of(people(300), bounds=BOUNDS, values=VALUES)
    layout = layout_of(source, {"weight": 5}, VALUES)
    release = measured_pairs(Tables(source.paid({}, None, None), layout), layout, total, 2, secure())  # type: ignore[arg-type]
    cost = sum(Fraction(2) ** 2 / Fraction(each.sigma) ** 2 for each in release.measured)
    assert 0.85 * total < cost <= total * (1 + Fraction(1, 10**9))
    assert 0.99 < release.facts["spent"] <= 1


def latent(count: int, columns: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Columns that all depend on each other, through a class that none of them shows."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, count)
    found = {}
    for place in range(columns):
        rising = np.cumsum(rng.dirichlet(np.full(5, 0.5), size=4), axis=1)
        found[f"c{place}"] = (rng.random(count)[:, None] > rising[hidden][:, :-1]).sum(axis=1)
    return found


def variation(twin: synthesis.Synthetic, data: dict[str, np.ndarray]) -> float:
    found = []
    for a, b in itertools.combinations(data, 2):
        table = np.zeros((5, 5))
        np.add.at(table, (data[a], data[b]), 1 / len(data[a]))
        found.append(np.abs(table - twin.probabilities(a, b)).sum() / 2)
    return float(np.mean(found))


def test_many_dependent_pairs_are_nearer_than_a_tree_has_them(tmp_path: Path) -> None:
    data = latent(20_000, 16)
    bounds = dict.fromkeys(data, (0, 4))
    twins = {
        method: getattr(synthesis, method)(data, epsilon=3, delta=1e-9, bounds=bounds)
        for method in ("independent", "mst", "residual")
    }
    errors = {method: variation(each, data) for method, each in twins.items()}
    assert errors["residual"] < errors["mst"] / 2 < errors["independent"] / 2
    twin = twins["residual"]
    assert compose([events.from_json(twin.receipt["event"])]).delta(3) <= Fraction("1e-9")
    twin.save(tmp_path / "twin.json")
    again = synthesis.load(tmp_path / "twin.json")
    np.testing.assert_allclose(twin.probabilities("c0", "c1"), again.probabilities("c0", "c1"), atol=1e-6)
    rows = twin.sample(20_000, seed=1)
    drawn = np.zeros((5, 5))
    np.add.at(drawn, (rows["c0"], rows["c1"]), 1 / 20_000)
    assert np.abs(drawn - twin.probabilities("c0", "c1")).sum() / 2 < 0.2
    measured = next(each for each in twin.measured if len(each) == 2)
    found = twin.ask(f"SELECT count(*) AS n FROM t WHERE {measured[0]} = 1 AND {measured[1]} = 1")
    low, high = found.intervals()["n"][0]
    assert low <= found["n"][0] <= high


def test_one_column_and_no_delta_are_refused_and_few_rows_are_not() -> None:
    data = latent(3, 3)
    bounds = dict.fromkeys(data, (0, 4))
    with pytest.raises(ParameterError, match="two or more"):
        synthesis.residual({"c0": data["c0"]}, epsilon=1, delta=1e-6, bounds={"c0": (0, 4)})
    with pytest.raises(ParameterError, match="above 0"):
        synthesis.residual(data, epsilon=1, delta=0, bounds=bounds)
    for count in (0, 3):
        few = {name: own[:count] for name, own in data.items()}
        assert len(synthesis.residual(few, epsilon=1, delta=1e-6, bounds=bounds).sample(7)) == 7
