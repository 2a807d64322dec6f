"""Histograms, densities and sorted histograms: exact before the noise, charged what they say, repaired without harm."""

from __future__ import annotations

import datetime
import importlib
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import isotonic_regression

import tacit
from tacit.errors import ParameterError, QuestionError, TacitError
from tacit.mechanisms import Quantiles
from tacit.statistics.counts.density import best_bins, density
from tacit.statistics.counts.histogram import histogram
from tacit.statistics.counts.projection import pooled, repaired, simplex, whole_simplex
from tacit.statistics.counts.sorted_histogram import sorted_histogram
from tacit.statistics.finding import Finding
from tests import draws
from tests.statistics.counting import HUGE, clinic, event_of, sensitivity_of, with_and_without, worth

RNG = np.random.default_rng(7)
AGES = RNG.integers(0, 111, 400)
REALS = np.clip(RNG.normal(50, 20, 400), 0, 100)


# -- accuracy: at a huge epsilon the plain statistic comes out ------------------------------------------


def test_equal_bins_are_those_of_numpy_on_arrays_and_on_a_curator() -> None:
    frame = pd.DataFrame({"who": range(400), "age": AGES, "x": REALS})
    curator = clinic(frame, 1, {"age": tacit.between(0, 110), "x": tacit.between(0, 100)})
    for name, values, high in (("age", AGES, 110), ("x", REALS, 100)):
        truth, edges = np.histogram(values, bins=11, range=(0, high))
        on_arrays = histogram(values, bounds=(0, high), bins=11, epsilon=HUGE)
        on_rows = histogram(curator, f"data.{name}", bins=11, epsilon=HUGE)
        assert list(on_arrays["count"]) == list(on_rows["count"]) == truth.tolist()
        assert np.allclose(on_arrays["edges"], edges)
        assert list(on_rows["from"]) == pytest.approx(edges[:-1].tolist())
        assert list(on_rows["to"]) == pytest.approx(edges[1:].tolist())


def test_given_edges_drop_what_is_outside_and_close_the_last_bin() -> None:
    values = np.array([0.0, 0.1, 0.25, 0.3, 0.75, 0.8, 1.0])
    found = histogram(values, bounds=(0, 1), bins=[0.1, 0.3, 0.8], epsilon=HUGE)
    assert list(found["count"]) == np.histogram(values, [0.1, 0.3, 0.8])[0].tolist() == [2, 3]
    whole = histogram(np.array([0, 1, 2, 3, 4, 5]), bounds=(0, 9), bins=[0.5, 2.5, 4], epsilon=HUGE)
    assert list(whole["count"]) == np.histogram([0, 1, 2, 3, 4, 5], [0.5, 2.5, 4])[0].tolist()


def test_listed_values_numbers_dates_and_truths_have_a_cell_each() -> None:
    days = [datetime.datetime(2024, 1, day) for day in (1, 1, 2, 4)]
    frame = pd.DataFrame({"who": range(4), "k": [1, 5, 9, 9], "sex": ["F", "M", "F", "F"], "day": days})
    columns: dict[str, Any] = {"k": tacit.one_of(1, 5, 9), "sex": tacit.one_of("F", "M")}
    columns["day"] = tacit.between(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 5))
    curator = clinic(frame, 1, columns)
    assert list(histogram(curator, "data.k", epsilon=HUGE).rows()) == [(1, 1), (5, 1), (9, 2)]
    assert list(histogram(curator, "data.sex", epsilon=HUGE).rows()) == [("F", 3), ("M", 1)]
    old = histogram(curator.rows("SELECT k > 4 AS old FROM data"), epsilon=HUGE)
    assert list(old.rows()) == [(False, 1), (True, 3)]
    per_day = curator.rows("SELECT CAST(day AS DATE) AS day FROM data")
    halves = histogram(
        per_day, bins=[datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.date(2024, 1, 5)], epsilon=HUGE
    )
    assert list(halves["count"]) == [2, 2]
    assert halves["to"] == (datetime.date(2024, 1, 2), datetime.date(2024, 1, 5))
    assert histogram(["a", "b", None, "z"], values=["a", "b"], epsilon=HUGE)["count"] == (1, 1)


def test_private_bins_are_near_the_quantiles_and_hold_every_row() -> None:
    values = np.random.default_rng(3).normal(50, 10, 4000)
    found = histogram(values, bounds=(-1000, 1000), bins="private", parts=8, epsilon=HUGE)
    truth = np.quantile(values, np.arange(1, 8) / 8)
    assert np.abs(found["edges"][1:-1] - truth).max() < 0.2
    assert sum(found["count"]) == 4000
    assert list(found["count"]) == np.histogram(values, found["edges"])[0].tolist()
    tied = histogram(np.full(500, 7), bounds=(0, 100), bins="private", parts=8, epsilon=HUGE)
    assert sum(tied["count"]) == 500
    frame = pd.DataFrame({"who": range(4000), "x": values})
    curator = clinic(frame, 1, {"x": tacit.between(-1000, 1000)})
    assert sum(histogram(curator, "data.x", bins="private", epsilon=HUGE)["count"]) == 4000


def test_a_density_is_numpys_and_integrates_to_one() -> None:
    found = density(REALS, bounds=(0, 100), bins=20, epsilon=HUGE)
    assert np.allclose(found["density"], np.histogram(REALS, bins=20, range=(0, 100), density=True)[0])
    noisy = density(REALS, bounds=(0, 100), epsilon=0.5)
    width = 100 / len(noisy)
    assert sum(noisy["density"]) * width == pytest.approx(1)
    assert min(noisy["density"]) >= 0
    assert all(
        low <= value <= high for value, (low, high) in zip(noisy["density"], noisy.intervals()["density"], strict=True)
    )


def test_the_number_of_bins_is_rices_without_noise_and_fewer_with_it() -> None:
    for rows in (1000, 10**6):
        assert best_bins(rows, 0.0) == pytest.approx(2 * rows ** (1 / 3), abs=1)
    assert best_bins(1000, 2 / 0.01**2) < best_bins(1000, 2 / 0.1**2) < best_bins(1000, 0.0)
    assert best_bins(-5, 2.0) == best_bins(1, 2.0)
    assert len(density(np.full(10**5, 50.0), bounds=(0, 100), epsilon=HUGE)) == best_bins(10**5, 0.0)


def test_a_sorted_histogram_falls_and_equals_the_sorted_counts() -> None:
    found = sorted_histogram(AGES, bounds=(0, 110), epsilon=HUGE)
    truth = np.sort(np.bincount(AGES, minlength=111))[::-1]
    assert list(found["count"]) == truth.tolist()
    assert found["rank"] == tuple(range(1, 112))
    noisy = sorted_histogram(AGES, bounds=(0, 110), epsilon=0.5)
    assert np.all(np.diff(noisy["count"]) <= 1e-9)
    assert min(noisy["count"]) >= 0


# -- privacy: neighbours move no further than what was charged for -----------------------------------------


STUDIES: dict[str, Any] = {
    "listed": lambda *data: histogram(*data, epsilon=HUGE),
    "bins": lambda *data: histogram(*data, epsilon=HUGE, bins=3),
    "sorted": lambda *data: sorted_histogram(*data, epsilon=HUGE),
    "density": lambda *data: density(*data, epsilon=HUGE, bins=3),
}


@draws.once
def neighbours(seed: int, rows_per_unit: int) -> list[tacit.Curator]:
    frames = with_and_without(seed, 6, rows_per_unit, lambda rng, size: {"k": rng.integers(0, 5, size)})
    return [clinic(frame, rows_per_unit, {"k": tacit.between(0, 4)}) for frame in frames]


def counts_in(finding: Finding) -> Any:
    return np.asarray(finding["counts"] if "counts" in finding.arrays else finding["count"])


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_one_units_rows_move_the_counts_by_at_most_the_sensitivity(study: str, rows_per_unit: int) -> None:
    reached = 0
    for seed in range(2):
        found = [STUDIES[study](curator, "data.k") for curator in neighbours(seed, rows_per_unit)]
        moved = int(np.abs(counts_in(found[0]) - counts_in(found[1])).sum())
        assert moved <= sensitivity_of(found[0]) == rows_per_unit
        reached = max(reached, moved)
    assert reached == rows_per_unit


@pytest.mark.parametrize(
    "study",
    [
        lambda: histogram(AGES, bounds=(0, 110), epsilon="0.3"),
        lambda: histogram(AGES, bounds=(0, 110), bins="private", epsilon="0.3"),
        lambda: histogram(AGES, bounds=(0, 110), bins="private", edges_share="0.9", epsilon="0.3"),
        lambda: density(REALS, bounds=(0, 100), epsilon="0.3"),
        lambda: density(REALS, bounds=(0, 100), bins=4, epsilon="0.3"),
        lambda: sorted_histogram(AGES, bounds=(0, 110), epsilon="0.3"),
    ],
)
def test_what_is_charged_is_worth_the_epsilon_that_was_asked(study: Any) -> None:
    finding = study()
    assert finding.receipt["epsilon"] == "3/10"
    assert finding.receipt["delta"] == "0"
    assert worth(finding) == pytest.approx(0.3, rel=1e-6)


def test_private_bins_choose_with_the_rows_of_a_unit_and_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []

    def noted(points: int, shares: Any, sensitivity: int, epsilon: Any) -> Quantiles:
        chosen.append((points, sensitivity))
        return Quantiles(points, shares, sensitivity, epsilon)

    monkeypatch.setattr(importlib.import_module("tacit.statistics.counts.histogram"), "Quantiles", noted)
    frame, _ = with_and_without(1, 30, 3, lambda rng, size: {"k": rng.integers(0, 50, size)})
    curator = clinic(frame, 3, {"k": tacit.between(0, 49)})
    edges, counts = event_of(histogram(curator, "data.k", bins="private", parts=4, epsilon=1))["events"]
    # three quantiles are chosen on two levels, each with half of the edges' share
    assert edges == {"kind": "repeated", "count": 2, "event": {"kind": "exponential", "range": "1/8"}}
    assert counts == {"kind": "discrete-laplace", "sensitivity": 3, "scale": "4"}
    assert chosen == [(50, 3)]


@pytest.mark.statistical
@pytest.mark.parametrize("study", ["histogram", "private", "sorted", "density"])
def test_the_noise_has_the_variance_of_the_charged_event(study: str) -> None:
    """2,000 empty cells; the mean square of discrete Laplace noise has a relative deviation of sqrt(5/2000) = 0.05.

    Ten deviations on either side: a false alarm below 4e-13 (Chernoff; squares have heavy tails, 7 would be 2e-8).
    """
    empty = np.array([], dtype=np.int64)
    if study == "histogram":
        found = histogram(empty, bounds=(0, 1999), epsilon="0.25")
        noise = found["noisy"]
    elif study == "private":
        noise = np.array(
            [
                each
                for _ in range(125)
                for each in histogram(empty, bounds=(0, 10**6), bins="private", parts=16, edges_share="3/4", epsilon=1)[
                    "noisy"
                ]
            ]
        )
        found = histogram(empty, bounds=(0, 10**6), bins="private", edges_share="3/4", epsilon=1)
    elif study == "sorted":
        found = sorted_histogram(empty, bounds=(0, 1999), epsilon="0.25")
        noise = found["noisy"]
    else:
        found = density(empty.astype(float), bounds=(0, 1), bins=2000, epsilon="0.25")
        noise = found["counts"]
    charged = event_of(found)
    scale = float(
        tacit.parameters.rational("scale", (charged if "scale" in charged else charged["events"][1])["scale"])
    )
    assert scale == 4
    a = math.exp(-1 / scale)
    variance = 2 * a / (1 - a) ** 2
    assert abs(np.mean(noise.astype(float) ** 2) / variance - 1) < 0.5


# -- repair ----------------------------------------------------------------------------------------------


def test_the_simplex_projection_is_the_nearest_point() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        given = rng.normal(1, 3, size=rng.integers(1, 30))
        found = simplex(given)
        if given.sum() <= 0:
            assert not found.any()
            continue
        assert found.sum() == pytest.approx(given.sum())
        assert found.min() >= 0
        lowered = given - found  # equal on what is kept, and no larger elsewhere: the conditions of an optimum
        assert np.ptp(lowered[found > 0]) < 1e-9
        assert np.all(lowered[found == 0] <= lowered[found > 0].max() + 1e-9)


def test_repair_leaves_large_counts_as_they_came_and_small_ones_share_their_sum() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        noisy = np.concatenate([rng.integers(100, 200, size=3), rng.integers(-9, 10, size=20)])
        found = repaired(noisy, 20)
        assert found[:3].tolist() == noisy[:3].tolist()
        assert found[3:].sum() == max(noisy[3:].sum(), 0)
        assert found.min() >= 0


@pytest.mark.statistical
@pytest.mark.parametrize("full", [1, 2, 5, 30])
def test_repaired_counts_are_nearer_than_counts_that_are_merely_cut_at_zero(full: int) -> None:
    """All rows in one cell of 30 was 14 % worse than cutting, whose error is 10.1 there. Sampling error: 1 %."""
    values = np.tile(np.arange(full), 990 // full)
    truth = np.bincount(values, minlength=30)
    off, cut = [], []
    for _ in range(300):
        found = histogram(values, bounds=(0, 29), epsilon="0.1")
        off.append(np.array(found["count"]) - truth)
        cut.append(np.maximum(found["noisy"], 0) - truth)
    ratio = np.sqrt(np.mean(np.square(off)) / np.mean(np.square(cut)))
    assert ratio < (1.02 if full == 30 else 0.85)


def test_whole_repair_keeps_the_sum_and_moves_each_count_by_less_than_one() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        noisy = rng.integers(-5, 8, size=(4, 5))
        found = whole_simplex(noisy)
        assert found.sum() == max(noisy.sum(), 0)
        assert found.min() >= 0
        assert np.abs(found - simplex(noisy.astype(float))).max() < 1
    assert whole_simplex(np.array([3, 0, 2])).tolist() == [3, 0, 2]
    assert whole_simplex(np.zeros(0, dtype=np.int64)).size == 0


def test_pooling_is_isotonic_regression_and_never_further_from_a_falling_truth() -> None:
    rng = np.random.default_rng(8)
    for size in (1, 2, 7, 300):
        truth = np.sort(rng.integers(0, 30, size))[::-1].astype(float)
        noisy = truth + rng.integers(-9, 10, size)
        found = pooled(noisy)
        assert np.allclose(found, isotonic_regression(noisy, increasing=False).x)
        assert np.sum((found - truth) ** 2) <= np.sum((noisy - truth) ** 2) + 1e-9
    assert pooled(np.zeros(0)).size == 0


def test_repaired_counts_are_not_negative_and_lie_in_their_intervals() -> None:
    found = histogram(np.zeros(50, dtype=int), bounds=(0, 99), epsilon="0.2", non_negative=True)
    assert min(found["count"]) >= 0
    for count, ends in zip(found["count"], found.intervals()["count"], strict=True):
        assert ends is not None
        assert 0 <= ends[0] <= count <= ends[1]


def test_a_histogram_is_not_negative_unless_it_is_asked_for_as_it_came() -> None:
    """99 empty bins and noise of scale 5: about half of them come out below zero."""
    nothing = np.zeros(50, dtype=int)
    assert min(histogram(nothing, bounds=(0, 99), epsilon="0.2")["count"]) >= 0
    assert min(histogram(nothing, bounds=(0, 99), epsilon="0.2", non_negative=False)["count"]) < 0


# -- both sources, and what is refused -----------------------------------------------------------------------


def test_the_same_histogram_again_is_stored_and_another_is_not() -> None:
    frame = pd.DataFrame({"who": range(400), "age": AGES})
    curator = clinic(frame, 1, {"age": tacit.between(0, 110)}, epsilon=10)
    first = histogram(curator, "data.age", bins=5, epsilon=1)
    spent = curator.spent()
    again = histogram(curator, "data.age", bins=5, epsilon=1)
    assert again.repeated
    assert again["count"] == first["count"]
    assert curator.spent() == spent
    others = [
        histogram(curator, "data.age", bins=6, epsilon=1),
        histogram(curator, "data.age", bins=5, epsilon=1, non_negative=False),
        histogram(curator, "data.age", bins="private", epsilon=1),
        histogram(curator, "data.age", bins="private", parts=5, epsilon=1),
        density(curator, "data.age", bins=5, epsilon=1),
        sorted_histogram(curator, "data.age", bins=5, epsilon=1),
    ]
    assert not any(each.repeated for each in others)


@pytest.mark.parametrize("values", [[], [5.0], [5.0] * 40, [math.nan] * 5, [math.inf, -math.inf, 1e300]])
def test_any_data_give_a_private_result(values: list[float]) -> None:
    facts: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1}
    for found in (
        histogram(values, bins=4, **facts),
        histogram(values, bins="private", **facts),
        density(values, **facts),
        sorted_histogram(values, bins=4, **facts),
    ):
        assert len(found) >= 1
        assert found.chart_spec()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: histogram([1.5], bounds=(0, 1), epsilon=1), "bins"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=0, epsilon=1), "whole number of at least 1"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=2.5, epsilon=1), "whole number"),
        (lambda: histogram([1.5], bounds=(0, 1), bins="best", epsilon=1), "private"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=[0, 0], epsilon=1), "ascending"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=[1], epsilon=1), "two at least"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=object(), epsilon=1), "edges"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=3, epsilon=0), "above 0"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=3, epsilon=1, level=1), "between 0 and 1"),
        (lambda: histogram([1.5], bounds=(1, 0), bins=3, epsilon=1), "lower one first"),
        (lambda: histogram(["a"], values=["a"], bins=3, epsilon=1), "listed"),
        (lambda: histogram(["a"], values=["a"], bins="private", epsilon=1), "listed"),
        (lambda: histogram([1.5], bounds=(0, 1), bins="private", parts=1, epsilon=1), "parts"),
        (lambda: histogram([1.5], bounds=(0, 1), bins="private", edges_share=1, epsilon=1), "edges_share"),
        (lambda: histogram([1.5], bounds=(0, 1), bins=10**7, epsilon=1), "at most"),
        (lambda: density(np.array(["a"]), bounds=(0, 1), epsilon=1), "numbers"),
        (lambda: density([1.5], bounds=(0, 1), bins=0, epsilon=1), "at least 1"),
        (lambda: sorted_histogram([1.5], bounds=(0, 1), epsilon=1), "bins"),
    ],
)
def test_public_mistakes_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()


def test_mistakes_on_a_curator_cost_nothing() -> None:
    frame = pd.DataFrame({"who": range(3), "x": [1.0, 2.0, 3.0], "free": [1, 2, 3]})
    curator = clinic(frame, 1, {"x": tacit.between(0, 9)}, epsilon=1)
    before = curator.spent()
    for call in (
        lambda: histogram(curator, "data.x", epsilon=1),
        lambda: histogram(curator, "data.free", bins=3, epsilon=1),
        lambda: histogram(curator, ["data.x", "data.free"], bins=3, epsilon=1),
        lambda: histogram(curator, "data.x", bins=3, epsilon=2),
        lambda: histogram(curator, "data.x", bins=[5, 4], epsilon=1),
    ):
        with pytest.raises(TacitError):
            call()
    assert curator.spent() == before
    with pytest.raises(QuestionError, match="one column"):
        histogram(curator.rows("SELECT x, x AS y FROM data"), bins=3, epsilon=1)
