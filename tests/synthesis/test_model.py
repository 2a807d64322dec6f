"""Junction trees, message passing, fitting and drawing against enumeration of every cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tacit.synthesis.model.beliefs import beliefs
from tacit.synthesis.model.drawing import drawn_rows
from tacit.synthesis.model.fitting import Fitted, Measured, alone, fit, nearest, potentials_of, total_of
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.tables import beside, shape_of, summed
from tacit.synthesis.model.trees import cells_with, neighbours_of, tree_of

SIZES = (2, 3, 2, 4, 2)
EVERY = (0, 1, 2, 3, 4)
GRAPHS = [
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1), (1, 2), (0, 2), (3, 4)],
    [(0,), (1,), (2, 3)],
    [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)],  # a loop, which elimination must fill
    [(0, 2, 4), (1, 4)],
]


def joint(tree, potentials):
    whole = np.zeros(SIZES)
    for clique, own in zip(tree.cliques, potentials, strict=True):
        whole = whole + beside(own, clique, EVERY)
    whole = np.exp(whole)
    return whole / whole.sum()


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_table_of_a_model_is_that_of_the_joint_table(graph) -> None:
    generator = np.random.default_rng(1)
    tree = tree_of(graph, SIZES)
    potentials = [3 * generator.normal(size=shape_of(clique, SIZES)) for clique in tree.cliques]
    whole, tables = joint(tree, potentials), beliefs(tree, potentials)
    for count in range(1, 6):
        for columns in itertools.combinations(EVERY, count):
            assert np.allclose(marginal(tree, tables, columns), summed(whole, EVERY, columns), atol=1e-12)


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_tree_holds_every_set_and_its_columns_hang_together(graph) -> None:
    tree = tree_of(graph, SIZES)
    assert all(tree.holder(columns) is not None for columns in graph)
    assert {each for clique in tree.cliques for each in clique} == set(EVERY)
    for place, (parent, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
        before = {each for clique in tree.cliques[:place] for each in clique}
        assert set(separator) == set(tree.cliques[place]) & before
        assert parent < 0 or set(separator) <= set(tree.cliques[parent])
    assert cells_with(neighbours_of(graph, 5), graph[0], SIZES) == tree.cells


def test_huge_and_impossible_potentials_give_probabilities() -> None:
    tree = tree_of([(0, 1), (1, 2), (3,), (4,)], SIZES)
    potentials = [np.zeros(shape_of(clique, SIZES)) for clique in tree.cliques]
    place = tree.cliques.index((0, 1))
    potentials[place][0] = 5000.0
    potentials[place][1] = -np.inf
    for table in beliefs(tree, potentials):
        assert np.isfinite(table).all()
        assert table.sum() == pytest.approx(1)
    assert marginal(tree, beliefs(tree, potentials), (0,)).tolist() == [1.0, 0.0]


def test_exact_tables_are_fitted_exactly() -> None:
    generator = np.random.default_rng(2)
    truth = generator.dirichlet(np.ones(96)).reshape(SIZES) * 1000
    sets = [(0, 1), (1, 2), (2, 3), (3, 4)]
    known = [Measured(columns, summed(truth, EVERY, columns), 1.0) for columns in sets]
    tree = tree_of(sets, SIZES)
    fitted = fit(tree, known, total_of(known), steps=3000, until=0.0)
    tables = fitted.cliques()
    for each in known:
        assert np.abs(marginal(tree, tables, each.columns) * fitted.total - each.noisy).sum() < 1.0


def test_the_nearest_counts_are_those_of_a_projection() -> None:
    noisy = np.array([5.0, -3.0, 8.0, 0.5])
    found = nearest(noisy, 10.0, 0.0)
    assert found.sum() == pytest.approx(10)
    # Karush, Kuhn, Tucker: one shift for all that stay above 0, and the others are below it
    shift = noisy[found > 1e-9] - found[found > 1e-9]
    assert np.allclose(shift, shift[0])
    assert (noisy[found <= 1e-9] <= shift[0] + 1e-9).all()


def test_a_warm_start_on_another_tree_keeps_the_model() -> None:
    generator = np.random.default_rng(3)
    old = tree_of([(0, 1), (1, 2), (2, 3), (3, 0), (4,)], SIZES)
    before = Fitted(old, tuple(generator.normal(size=shape_of(clique, SIZES)) for clique in old.cliques), 100.0)
    tree = tree_of([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (1, 4)], SIZES)
    found = fit(tree, [Measured((4,), np.array([50.0, 50.0]), 1.0)], 100.0, before=before, steps=0)
    assert np.allclose(marginal(tree, found.cliques(), (1, 3)), marginal(old, before.cliques(), (1, 3)), atol=1e-6)


def test_independent_columns_multiply() -> None:
    known = [Measured((0,), np.array([3.0, 1.0]), 1.0), Measured((1,), np.array([2.0, 2.0]), 1.0)]
    model = alone(known, 4.0)
    assert np.allclose(marginal(model.tree, model.cliques(), (0, 1)), [[0.375, 0.375], [0.125, 0.125]])


def test_rows_are_drawn_as_evenly_as_whole_numbers_allow() -> None:
    generator = np.random.default_rng(4)
    tree = tree_of([(0, 1), (1, 2), (2, 3), (4,)], SIZES)
    tables = beliefs(tree, [generator.normal(size=shape_of(clique, SIZES)) for clique in tree.cliques])
    rows = drawn_rows(tree, tables, 10_000, generator)
    root = tree.cliques[0]
    counts = np.zeros(shape_of(root, SIZES))
    np.add.at(counts, tuple(rows[:, place] for place in root), 1)
    assert np.abs(counts - 10_000 * tables[0]).max() < 1
    for columns in itertools.combinations(EVERY, 2):
        found = np.zeros(shape_of(columns, SIZES))
        np.add.at(found, tuple(rows[:, place] for place in columns), 1)
        assert np.abs(found / 10_000 - marginal(tree, tables, columns)).max() < 0.02


def test_what_cannot_occur_is_never_drawn() -> None:
    tree = tree_of([(0, 1), (2,), (3,), (4,)], SIZES)
    potentials = [np.zeros(shape_of(clique, SIZES)) for clique in tree.cliques]
    potentials[tree.cliques.index((0, 1))][1, 1:] = -np.inf
    rows = drawn_rows(tree, beliefs(tree, potentials), 5000, np.random.default_rng(5))
    assert not ((rows[:, 0] == 1) & (rows[:, 1] >= 1)).any()


def test_potentials_of_tables_give_the_tables_back() -> None:
    generator = np.random.default_rng(6)
    tree = tree_of([(0, 1), (1, 2), (2, 3), (3, 4)], SIZES)
    tables = beliefs(tree, [generator.normal(size=shape_of(clique, SIZES)) for clique in tree.cliques])
    again = beliefs(tree, potentials_of(tree, tables))
    assert all(np.allclose(one, other) for one, other in zip(tables, again, strict=True))
