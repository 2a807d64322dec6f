"""Scores of `aim` on neighbours, with weights, penalties and the model as they are used; and the noise paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.noise import secure
from tacit.synthesis import scoring
from tacit.synthesis.aim import _estimates, _noises, _scores, adaptive, noise_of
from tacit.synthesis.model.fitting import Measured, alone
from tacit.synthesis.model.tables import Columns
from tacit.synthesis.model.trees import neighbours_of
from tacit.synthesis.purse import TableNoise
from tacit.synthesis.workloads import candidates_of
from tests.synthesis.test_released import LAYOUT, exact_of, people

LAYOUT_FACTS = (LAYOUT.names, LAYOUT.sizes)


def test_a_row_moves_no_weighted_score_further_than_the_heaviest_weight_allows() -> None:
    generator = np.random.default_rng(5)
    data = people(60)
    weights = candidates_of({("age", "sex"): 3, ("sex", "ward"): 1, ("age", "ward", "sex"): 2}, *LAYOUT_FACTS)
    assert len(set(weights.values())) > 1
    allowed = scoring.sensitivity(1, max(weights.values()))
    singles = [Measured((place,), generator.random(size) + 0.5, 1.0) for place, size in enumerate(LAYOUT.sizes)]
    joined = neighbours_of([], len(LAYOUT.sizes))
    most = 0
    for _ in range(30):
        gone = int(generator.integers(0, 60))
        fewer = {name: np.delete(own, gone) for name, own in data.items()}
        model = alone(singles, float(generator.uniform(1, 100)))
        found: list[dict[Columns, int]] = []
        noises_before: dict[Columns, TableNoise] = {}
        for rows in (data, fewer):
            exact = exact_of(rows)
            counts = {columns: exact.table(columns) for columns in weights}
            estimates = _estimates(counts, model, model.cliques(), joined, 1e9)
            noises = _noises(estimates, Fraction(1, 9), 1)
            assert not noises_before or noises == noises_before  # nor is how much noise there will be
            noises_before = noises
            found.append(_scores(counts, weights, estimates, noises))
        assert found[0].keys() == found[1].keys() == weights.keys()  # which are candidates is not the rows' to say
        most = max(most, *(abs(own - found[1][columns]) for columns, own in found[0].items()))
        assert most <= allowed
    assert most > 0.9 * allowed


def test_all_tables_together_have_the_noise_that_was_paid_for() -> None:
    for total in (Fraction(1, 50), Fraction(1)):
        candidates = candidates_of(None, *LAYOUT_FACTS)
        release = adaptive(exact_of(people(300)), LAYOUT, candidates, total, 1, 4096, secure())
        spent = sum(1 / each.sigma**2 for each in release.measured)
        assert 0.8 * total <= spent <= total  # the rest went to choices


def test_noise_does_no_more_to_a_cell_than_the_cell_is_large() -> None:
    sigma, factor = 10.0, (2 / np.pi) ** 0.5
    assert noise_of(np.full((5, 4), 1e6), sigma) == pytest.approx(20 * factor * sigma)  # the mean of |normal noise|
    assert noise_of(np.zeros((5, 4)), sigma) == 0
    assert noise_of(np.array([1e6, 3.0, 0.0]), sigma) == pytest.approx(factor * 13)
