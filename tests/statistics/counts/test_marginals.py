"""The algebra of sets of tables against plain linear algebra: errors, estimates, consistency, whole numbers."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.statistics.counts import measuring
from tacit.statistics.counts.counting_noise import least_noise, variance_of
from tacit.statistics.counts.covers import cover, covers
from tacit.statistics.counts.marginals import Columns, Lattice, cells, centred, marginal, subsets
from tacit.statistics.counts.projection import TOLERANCE, possible
from tacit.statistics.counts.whole_tables import MOST_JOINT, family, largest_inside, whole_tables

ONE = Fraction(1)
MILLIONTH = Fraction(1, 10**6)
CASES: list[tuple[tuple[Columns, ...], tuple[int, ...]]] = [
    (((0, 1), (1, 2)), (2, 3, 4)),
    (((0, 1), (1, 2), (0, 2)), (3, 2, 2)),
    (((0,), (1, 2), (2,)), (3, 2, 4)),
    (((0, 1, 2), (1, 2, 3)), (2, 2, 3, 2)),
    (((0, 1), (2,)), (1, 3, 2)),
]


def all_strategies(lattice: Lattice, rows: int = 1) -> list[measuring.Strategy]:
    made = [measuring.asked_tables, measuring.joint_table, measuring.residual_tables, measuring.best]
    return [make(lattice, rows, ONE, delta) for make in made for delta in (Fraction(0), MILLIONTH)]


def joint_rows(strategy: measuring.Strategy) -> Any:
    """What the strategy measures, as a matrix on the joint table of all columns: one column for each kind of row."""
    sizes = strategy.lattice.sizes
    columns = []
    for place in range(math.prod(sizes)):
        joint = np.zeros(math.prod(sizes), dtype=np.int64)
        joint[place] = 1
        columns.append(strategy.vector(functools.partial(marginal, joint.reshape(sizes), tuple(range(len(sizes))))))
    return np.array(columns, dtype=np.float64).T


def workload(lattice: Lattice) -> Any:
    """All asked cells as a matrix on the joint table."""
    whole = tuple(range(len(lattice.sizes)))
    columns = []
    for place in range(math.prod(lattice.sizes)):
        joint = np.zeros(math.prod(lattice.sizes))
        joint[place] = 1
        columns.append(
            np.concatenate([marginal(joint.reshape(lattice.sizes), whole, each).reshape(-1) for each in lattice.asked])
        )
    return np.array(columns).T


@pytest.mark.parametrize(("asked", "sizes"), CASES)
def test_the_expected_error_and_each_cells_variance_are_those_of_least_squares(
    asked: tuple[Columns, ...], sizes: tuple[int, ...]
) -> None:
    lattice = Lattice(asked, sizes)
    wanted = workload(lattice)
    for strategy in all_strategies(lattice):
        measured = joint_rows(strategy)
        covariance = variance_of(strategy.noise) * wanted @ np.linalg.pinv(measured.T @ measured) @ wanted.T
        assert strategy.expected() == pytest.approx(np.trace(covariance), rel=1e-6)
        variances = np.concatenate([np.full(cells(each, sizes), strategy.cell_variance(each)) for each in asked])
        assert np.allclose(variances, np.diag(covariance), rtol=1e-6)


@pytest.mark.parametrize(("asked", "sizes"), CASES)
def test_the_estimate_is_the_one_of_least_squares(asked: tuple[Columns, ...], sizes: tuple[int, ...]) -> None:
    lattice = Lattice(asked, sizes)
    rng = np.random.default_rng(1)
    for strategy in all_strategies(lattice):
        measured = joint_rows(strategy)
        noisy = (measured @ rng.integers(0, 50, measured.shape[1])).astype(np.int64) + rng.integers(
            -99, 99, len(measured)
        )
        found = measuring.tables_of(strategy, noisy)
        solved = workload(lattice) @ np.linalg.lstsq(measured, noisy.astype(float), rcond=None)[0]
        assert np.allclose(np.concatenate([found[each].reshape(-1) for each in asked]), solved, atol=1e-6)


@pytest.mark.parametrize(("asked", "sizes"), CASES)
@pytest.mark.parametrize("rows", [1, 3])
def test_rows_of_one_unit_move_the_measured_vector_by_at_most_the_sensitivity(
    asked: tuple[Columns, ...], sizes: tuple[int, ...], rows: int
) -> None:
    lattice = Lattice(asked, sizes)
    for strategy in all_strategies(lattice, rows):
        moved = np.abs(joint_rows(strategy))
        gaussian = strategy.noise.event.kind == "discrete-gaussian"
        norms = np.sqrt((moved**2).sum(axis=0)) if gaussian else moved.sum(axis=0)
        stated = float(strategy.noise.event.sensitivity)
        assert rows * norms.max() <= stated * (1 + 1e-12)
        assert rows * norms.max() == pytest.approx(stated)  # all rows of the unit alike


def test_a_change_of_the_residuals_weights_does_not_help() -> None:
    lattice = Lattice(tuple(itertools.combinations(range(5), 2)), (2, 3, 4, 2, 5))
    best = measuring.residual_tables(lattice, 1, ONE, MILLIONTH)
    rng = np.random.default_rng(2)
    for _ in range(50):
        parts = [
            measuring.Part(p.columns, True, max(1, round(p.weight * math.exp(rng.normal(0, 0.3))))) for p in best.parts
        ]
        other = measuring._strategy("other", lattice, parts, 1, ONE, MILLIONTH)
        assert other.expected() > best.expected() * 0.999


def test_the_best_strategy_is_no_worse_than_any_and_far_better_where_tables_are_many() -> None:
    lattice = Lattice(tuple(itertools.combinations(range(12), 2)), (2,) * 12)
    for delta, least in ((Fraction(0), 0.2), (MILLIONTH, 0.65)):
        best = measuring.best(lattice, 1, ONE, delta).expected()
        asked = measuring.asked_tables(lattice, 1, ONE, delta).expected()
        assert best < least * asked
        assert best <= measuring.joint_table(lattice, 1, ONE, delta).expected()
    alone = Lattice(((0, 1),), (3, 4))
    single = measuring.best(alone, 1, ONE, MILLIONTH)
    assert [(part.columns, part.weight) for part in single.parts] == [((0, 1), 1)]
    assert single.expected() == pytest.approx(12 * variance_of(single.noise))


def test_large_counts_do_not_wrap() -> None:
    strategy = measuring.residual_tables(Lattice(((0, 1),), (50, 60)), 1, ONE, MILLIONTH)
    huge = np.zeros((50, 60), dtype=np.int64)
    huge[0, 0] = 1 << 58
    vector = strategy.vector(lambda part: marginal(huge, (0, 1), part))
    assert vector.max() == 1 << 62
    assert vector.min() >= -(1 << 62)


def test_gaussian_noise_is_taken_only_where_it_is_smaller() -> None:
    assert least_noise(1, 1, 10, ONE, MILLIONTH).event.kind == "discrete-laplace"
    assert least_noise(60, 60, 10**4, ONE, MILLIONTH).event.kind == "discrete-gaussian"
    assert least_noise(60, 60, 10**4, ONE, Fraction(0)).event.kind == "discrete-laplace"


# -- the lattice and covers ---------------------------------------------------------------------------------


def test_a_table_is_put_together_from_its_residuals() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(2, 3, 4))
    lattice = Lattice(((0, 1, 2),), (2, 3, 4))
    parts = {part: centred(marginal(table, (0, 1, 2), part)) for part in subsets((0, 1, 2))}
    assert np.allclose(lattice.assembled(parts, (0, 1, 2)), table)


def test_a_cover_holds_every_asked_set_within_the_limit() -> None:
    asked = tuple(itertools.combinations(range(8), 2))
    sizes = (2, 3, 4, 5, 2, 3, 4, 5)
    found = list(covers(asked, sizes))
    assert len(found[-1]) == 1
    for blocks in found:
        assert all(any(set(each) <= set(block) for block in blocks) for each in asked)
    for limit in (25, 100, 1000):
        assert all(cells(block, sizes) <= limit for block in cover(asked, sizes, limit))
    assert cover([(0, 3)], sizes, 2) == [(0, 3)]


# -- consistency, and whole numbers --------------------------------------------------------------------------


def random_tables(lattice: Lattice, seed: int, noise: float = 6.0) -> tuple[dict[Columns, Any], dict[Columns, Any]]:
    """True tables of sparse data, and a consistent noisy estimate of them."""
    rng = np.random.default_rng(seed)
    joint = rng.poisson(2 * rng.gamma(0.3, 1.0, size=lattice.sizes))
    whole = tuple(range(len(lattice.sizes)))
    truth = {each: marginal(joint, whole, each) for each in lattice.asked}
    strategy = measuring.asked_tables(lattice, 1, ONE, Fraction(0))
    vector = strategy.vector(lambda part: truth[part])
    return truth, dict(
        measuring.tables_of(strategy, vector + np.rint(rng.laplace(0, noise, vector.size)).astype(np.int64))
    )


def agree(tables: dict[Columns, Any], *, exactly: bool) -> bool:
    same = np.array_equal if exactly else np.allclose
    return all(
        same(marginal(tables[one], one, shared), marginal(tables[other], other, shared))
        for one, other in itertools.combinations(tables, 2)
        for shared in [tuple(sorted(set(one) & set(other)))]
    )


SETS = [
    tuple(itertools.combinations(range(4), 2)),
    ((0, 1), (1, 2), (2, 3)),
    ((0, 1, 2), (1, 2, 3)),
    ((0, 1, 2), (0, 3)),
    ((0,), (1,), (2, 3), (0, 1)),
    ((0, 1), (2, 3)),
    ((0, 1, 2, 3),),
    ((0, 1, 2), (0, 2, 3), (0,)),
    tuple(itertools.combinations(range(4), 3)),
]


@pytest.mark.parametrize("asked", SETS)
def test_released_tables_are_whole_not_negative_and_agree_on_all_margins(asked: tuple[Columns, ...]) -> None:
    lattice = Lattice(asked, (3, 2, 4, 3))
    for seed in range(4):
        _, noisy = random_tables(lattice, seed)
        real = possible(lattice, noisy)
        assert agree(real, exactly=False)
        assert min(table.min() for table in real.values()) >= -TOLERANCE
        found = whole_tables(lattice, real)
        assert found is not None
        assert agree(found, exactly=True)
        assert min(table.min() for table in found.values()) >= 0
        assert {table.dtype.kind for table in found.values()} == {"i"}
        total = max(round(float(next(iter(noisy.values())).sum())), 0)
        assert {int(table.sum()) for table in found.values()} == {total}
        if len(asked) < 4 or len(asked[0]) < 3:  # not through the joint table, which may be further away
            assert max(np.abs(found[each] - real[each]).max() for each in asked) < 3


def test_whole_tables_are_returned_as_they_are() -> None:
    for asked in SETS:
        lattice = Lattice(asked, (3, 2, 4, 3))
        truth, _ = random_tables(lattice, 11)
        found = whole_tables(lattice, {each: table.astype(float) for each, table in truth.items()})
        assert found is not None
        if len(largest_inside(asked[0], family(asked))) < 3:
            assert all(np.array_equal(found[each], truth[each]) for each in asked)
        assert agree(found, exactly=True)


def test_where_whole_tables_need_not_exist_and_the_joint_is_large_there_are_none() -> None:
    asked = tuple(itertools.combinations(range(4), 3))
    sizes = (9, 9, 9, 9)
    assert math.prod(sizes) > MOST_JOINT
    _, noisy = random_tables(Lattice(asked, sizes), 1)
    assert whole_tables(Lattice(asked, sizes), noisy) is None


@pytest.mark.parametrize("asked", SETS)
def test_as_shares_of_the_total_tables_only_come_nearer_to_the_truth(asked: tuple[Columns, ...]) -> None:
    lattice = Lattice(asked, (3, 2, 4, 3))
    for seed in range(4):
        truth, noisy = random_tables(lattice, seed)
        total, noisy_total = (float(next(iter(each.values())).sum()) for each in (truth, noisy))
        found = possible(lattice, noisy)

        def far(
            tables: dict[Columns, Any], share: float = noisy_total, whole: float = total, exact: Any = truth
        ) -> float:
            return sum(float(np.sum((tables[each] / share - exact[each] / whole) ** 2)) for each in tables)

        assert far(found) <= far(noisy) * (1 + 1e-9)


def test_the_nearest_consistent_tables_are_the_nearest() -> None:
    lattice = Lattice(((0, 1), (1, 2), (0, 2)), (3, 2, 4))
    rng = np.random.default_rng(4)
    given = {each: rng.normal(size=tuple(lattice.sizes[place] for place in each)) for each in lattice.asked}
    wanted = workload(lattice)
    flat = np.concatenate([given[each].reshape(-1) for each in lattice.asked])
    # with a given total: the joint tables of the total 5 are one of them plus those of the total 0
    start = np.full(wanted.shape[1], 5 / wanted.shape[1])
    free = wanted @ (np.eye(wanted.shape[1]) - 1 / wanted.shape[1])
    solved = wanted @ start + free @ np.linalg.lstsq(free, flat - wanted @ start, rcond=None)[0]
    found = lattice.nearest_consistent(given, 5.0)
    assert np.allclose(np.concatenate([found[each].reshape(-1) for each in lattice.asked]), solved)


def test_a_total_that_is_not_above_zero_gives_empty_tables() -> None:
    lattice = Lattice(((0, 1), (1, 2)), (2, 2, 2))
    below = {each: np.full((2, 2), -1.0) for each in lattice.asked}
    found = whole_tables(lattice, possible(lattice, below))
    assert found is not None
    assert all(not table.any() for table in found.values())
