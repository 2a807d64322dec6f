"""Intervals of shares and areas against simulation and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from tacit.learning.evaluation.residuals import GRID, Residuals
from tacit.learning.evaluation.shares import Area, CellNoise, Share

QUIET = CellNoise(True, 0.0)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("rows", [0, 100])
@pytest.mark.parametrize("is_laplace", [True, False])
def test_the_tail_is_the_one_that_draws_have(p: float, rows: int, is_laplace: bool) -> None:
    """100,000 draws: six deviations of a share of 1/2 are 0.0095."""
    rng = np.random.default_rng()
    cells = (2, 5)
    draw = rng.laplace if is_laplace else rng.normal
    noise = [draw(0, 3, (100_000, each)).sum(axis=1) for each in cells]
    statistic = (1 - p) * noise[0] - p * noise[1]
    if rows:
        statistic += rng.binomial(rows, p, 100_000) - rows * p
    share = Share(0, 0, *cells, CellNoise(is_laplace, 3.0))
    for x, sign in itertools.product((-9.3, 2.7, 14.1), (1, -1)):
        assert share._beyond(x, p, rows, sign) == pytest.approx(float(np.mean(sign * statistic >= x)), abs=0.0095)


@pytest.mark.parametrize(("hits", "misses"), [(8, 2), (0, 30), (50, 50), (99, 1)])
def test_without_noise_an_interval_is_that_of_clopper_and_pearson_or_a_little_wider(hits: int, misses: int) -> None:
    ends = Share(hits, misses, 1, 1, QUIET).of_new_rows(0.95)
    exact = stats.binomtest(hits, hits + misses).proportion_ci(0.95, "exact")
    assert ends is not None
    assert ends[0] <= exact.low <= ends[0] + 0.06
    assert ends[1] - 0.06 <= exact.high <= ends[1]


def test_more_noise_makes_wider_intervals_and_no_rows_make_none() -> None:
    widths = []
    for scale in (0.5, 2.0, 8.0):
        ends = Share(70, 30, 4, 4, CellNoise(True, scale)).among_these(0.95)
        assert ends is not None
        assert ends[0] <= 0.7 <= ends[1]
        widths.append(ends[1] - ends[0])
    assert widths == sorted(widths)
    lost = Share(-3, 2, 4, 4, CellNoise(True, 2.0))
    assert lost.value is None
    assert lost.among_these(0.95) is None
    assert lost.of_new_rows(0.95) is None


def test_an_interval_of_noise_alone_is_inside_the_one_that_counts_sampling_too() -> None:
    share = Share(70, 30, 4, 4, CellNoise(True, 2.0))
    near, far = share.among_these(0.95), share.of_new_rows(0.95)
    assert near is not None
    assert far is not None
    assert far[0] < near[0] < near[1] < far[1]
    assert far[1] - far[0] > 1.2 * (near[1] - near[0])


def test_the_area_is_that_of_scikit_learn_with_ties() -> None:
    rng = np.random.default_rng()
    scores, labels = rng.integers(0, 6, 400), rng.integers(0, 2, 400)
    counts = [np.bincount(scores[labels == each], minlength=6).astype(float) for each in (0, 1)]
    area = Area(counts[0], counts[1], QUIET)
    assert area.value == pytest.approx(roc_auc_score(labels, scores))
    ends = area.of_new_rows(0.95)
    assert ends is not None
    assert ends[0] < area.value < ends[1]


def test_an_area_of_a_class_that_is_lost_in_noise_is_not_told() -> None:
    counts = np.full(10, 3.0)
    assert Area(np.full(10, 500.0), counts, CellNoise(True, 10.0)).value is None
    assert Area(np.full(10, 500.0), counts, CellNoise(True, 10.0)).among_these(0.95) is None
    assert Area(np.full(10, 500.0), counts, CellNoise(True, 0.1)).value == pytest.approx(0.5)


@pytest.mark.statistical
def test_intervals_hold_what_they_are_said_to_hold() -> None:
    """150 runs at 95 %: below 125 held has a chance below 1e-7."""
    rng = np.random.default_rng()
    held = np.zeros(4, dtype=int)
    noise = CellNoise(True, 2.0)
    for _ in range(150):
        negatives, positives = (rng.multinomial(300, chances) for chances in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
        moved = [each + rng.laplace(0, 2, 3) for each in (negatives, positives)]
        hits = negatives[:1].sum() + positives[1:].sum()
        share = Share(moved[0][0] + moved[1][1:].sum(), moved[0][1:].sum() + moved[1][0], 3, 3, noise)
        area, still = Area(moved[0], moved[1], noise), Area(negatives.astype(float), positives.astype(float), QUIET)
        truths = (hits / 600, 0.65, still.value, 0.5 * 0.8 + 0.3 * 0.5 + 0.5 * (0.5 * 0.2 + 0.09 + 0.1))
        found = (share.among_these(0.95), share.of_new_rows(0.95), area.among_these(0.95), area.of_new_rows(0.95))
        for place, (truth, ends) in enumerate(zip(truths, found, strict=True)):
            assert ends is not None
            held[place] += ends[0] <= truth <= ends[1]
    assert held.min() >= 125


@pytest.mark.parametrize("wrong", range(12))
def test_a_mean_error_of_rows_that_are_wholly_wrong_or_right_reaches_as_far_as_the_exact_interval(wrong: int) -> None:
    """Clopper and Pearson's upper end is the truth for such rows; with none wrong among 100 it is at 3.6 of them."""
    rows, u = 100, np.linspace(-1, 1, 100)
    sums = GRID**2 * np.array([rows, u.sum(), (u * u).sum(), wrong, wrong], dtype=np.float64)
    told = Residuals(sums, 1, CellNoise(True, GRID**2 / 1_000), 1.0, 1.0).measured(0.95)[1]
    assert told[1] == pytest.approx(wrong / rows)
    assert told[3] is not None
    low, high = told[3]
    assert high >= stats.beta.ppf(0.975, wrong + 1, rows - wrong)
    assert low <= (stats.beta.ppf(0.025, wrong, rows - wrong + 1) if wrong else 0.0)
