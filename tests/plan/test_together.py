"""Counts and sums released together: what the parts of a row add up to, how precise that is, and what is said of it.

The truth is worked out beside: sums in Python's own integers, the errors of the studies by their closed forms, coverage
by drawing the noise. Draws are seeded; with fresh ones the coverage tests fail about once in 10,000 runs each.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.curator.keys import key_of
from tacit.loss import compose
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import Plan, finish, make_plan
from tacit.policy import Column
from tacit.question import read
from tests.effort import tried
from tests.plan.changes import measured
from tests.plan.copies import clinic, copy_of, exact, fill, table

LEVEL = 2.1184  # deviations that an answer's interval reaches at 95 %


def plan_of(outputs: str, *columns: Column, rows: int = 1, **options: Any) -> Plan:
    policy = clinic(table("t", columns, rows=rows))
    options.setdefault("epsilon", 1)
    return make_plan(read(f"SELECT {outputs} FROM t"), policy, **options)


def whole(low: int, high: int, *, nullable: bool = False, name: str = "x") -> Column:
    return Column(name, "integer", low, high, nullable=nullable)


BOUNDS = [(0, 1), (0, 100), (-50, 50), (-3, 4), (10**12, 10**12 + 100), (-(2**61), 2**61), (5, 2**33)]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("outputs", ["count(x), avg(x)", "count(x), sum(x)", "avg(x), var_pop(x)", "stddev(x)"])
def test_the_parts_of_every_row_are_not_negative_and_add_up_to_the_same(outputs: str, bounds: tuple[int, int]) -> None:
    low, high = bounds
    chance = random.Random(f"{outputs} {bounds}")
    plan = plan_of(outputs, whole(low, high, nullable=True))
    if not plan.bundles:  # the grid of so wide a sum is coarser than that of what is counted
        assert (outputs, bounds) == ("count(x), sum(x)", BOUNDS[5])
        return
    (bundle,) = plan.bundles
    values = [low, low + 1, high - 1, high, (low + high) // 2, *(chance.randint(low, high) for _ in range(tried(12)))]
    policy = clinic(table("t", [whole(low, high, nullable=True)], rows=1))
    connection = copy_of(policy, {})
    for value in values:
        fill(connection, policy.tables["t"], [{"tacit_unit": 1, "tacit_rank": 1, "x": value}])
        columns = exact(connection, plan)[()]
        assert all(columns[place] >= 0 for place in bundle.places)
        assert sum(columns[place] for place in bundle.places) == bundle.size
        count, total, *squares = (measured(plan, columns)[place] for place in bundle.places)
        middle, width = Fraction(low + high, 2), high - low
        assert count == 1
        step = plan.measures[bundle.places[1]].step
        assert abs(total * step - (value - middle)) <= Fraction(width, 2**31)
        for each in squares:
            scaled = each * plan.measures[bundle.places[2]].step
            assert abs(scaled - ((value - middle) ** 2 - Fraction(17 * width**2, 150))) <= Fraction(width**2, 2**31)


@pytest.mark.parametrize("outputs", ["avg(x)", "var_pop(x)", "count(x), sum(x)"])
def test_a_row_without_a_value_moves_nothing(outputs: str) -> None:
    plan = plan_of(outputs, whole(3, 9, nullable=True))
    rows = [{"tacit_unit": 1, "tacit_rank": 1, "x": None}]
    columns = exact(copy_of(clinic(table("t", [whole(3, 9, nullable=True)], rows=1)), {"t": rows}), plan)[()]
    assert set(columns) == {0}


def test_a_count_of_all_rows_is_not_the_count_of_a_column_with_gaps() -> None:
    plan = plan_of("count(*), avg(x)", whole(0, 10, nullable=True))
    (bundle,) = plan.bundles
    (alone,) = (each for place, each in enumerate(plan.measures) if place not in bundle.places)
    assert (alone.kind, alone.l1) == ("count_rows", 1)
    rows = [{"tacit_unit": unit, "tacit_rank": 1, "x": x} for unit, x in enumerate([1, None, 10, None, None])]
    copy = copy_of(clinic(table("t", [whole(0, 10, nullable=True)], rows=1)), {"t": rows})
    found = measured(plan, exact(copy, plan)[()])
    assert [found[place] for place in bundle.places] == [2, 11 - 2 * 5]
    assert found[plan.measures.index(alone)] == 5


def test_what_is_released_together_is_one_event_for_all_of_epsilon() -> None:
    plan = plan_of("count(*), avg(x), sum(x)", whole(20, 80), rows=3, epsilon="1/2")
    (event,) = plan.event.events  # type: ignore[attr-defined]
    assert (event.sensitivity, event.scale) == (3 * 60, 3 * 60 / Fraction(1, 2))
    assert compose([plan.event]).by("basic").epsilon(0) == pytest.approx(0.5, rel=1e-12)
    assert {each.mechanism.event for each in plan.measures} == {event}  # type: ignore[union-attr]


# -- as precise as the studies -------------------------------------------------------------------------------


def cell(plan: Plan, values: Sequence[int], low: int, high: int) -> list[int]:
    """The columns of the plan's query over these values, in Python's integers."""
    a, b = [x - low for x in values], [high - x for x in values]
    if len(plan.measures) == 2:
        return [sum(a), sum(b)]
    width = high - low
    near, far = sum((10 * x - width) ** 2 for x in a), sum((10 * y - width) ** 2 for y in b)
    return [near, 82 * width**2 * len(values) - near - far, far]


def said(plan: Plan, columns: Sequence[int]) -> list[float]:
    """The deviation that an answer states of each output where noise happens to be nothing."""
    found = finish(plan, [()], [np.array([float(each)]) for each in columns])
    return [each[0] for each in found.deviations if each is not None]


REGIMES = {
    "at the middle": [50] * 1000,
    "at a bound": [97] * 900 + [98] * 100,
    "narrow": [20, 21] * 500,
    "even": [n % 101 for n in range(1010)],
    "skewed": [min(100, int(n**2 / 10_000)) for n in range(1000)],
    "two ends": [0] * 300 + [100] * 700,
}


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("rows", [1, 4])
def test_a_mean_and_a_variance_are_as_precise_as_those_of_the_studies(regime: str, rows: int) -> None:
    """The studies' closed forms: sqrt(2 (m**2 + (1-m)**2)) r W/(epsilon n), and the Bernstein form of the variance."""
    values, epsilon = REGIMES[regime], 0.5
    n = len(values)
    m = sum(values) / n / 100
    v = sum((x / 100 - m) ** 2 for x in values) / n
    mean = math.sqrt(2 * (m**2 + (1 - m) ** 2)) * rows * 100 / (epsilon * n)
    weights = ((1 - m) ** 2 - v, -m * (1 - m) - v, m**2 - v)
    variance = math.sqrt(2 * sum(w * w for w in weights)) * rows * 100**2 / (epsilon * n)
    for output, theirs in (("avg(x)", mean), ("var_pop(x)", variance)):
        plan = plan_of(output, whole(0, 100), rows=rows, epsilon=str(epsilon))
        assert len(plan.bundles) == 1  # `cell` is about parts; read as measures they would say anything
        assert said(plan, cell(plan, values, 0, 100))[0] <= 1.05 * theirs


def everywhere() -> list[tuple[float, float]]:
    """Means and variances that values within -1 and 1 can have."""
    means = [place / 40 for place in range(-40, 41)]
    return [(mean, (1 - mean * mean) * share / 20) for mean in means for share in range(21)]


def test_a_variance_is_nowhere_noisier_than_with_a_share_for_each_measure() -> None:
    """A third of epsilon each: u and 1 of sensitivity 1, u**2 - 1/2 of sensitivity 1/2. In sizes of one Laplace law."""
    plan = plan_of("var_pop(x)", whole(-(10**6), 10**6))
    (bundle,) = plan.bundles
    count, total, squares = (np.array([float(f) for f in row]) * bundle.size for row in bundle.matrix)
    total, squares = total / 10**6, squares / 10**12
    at_bound = 0.0
    for mean, variance in everywhere():
        # n' (variance' - variance) to first order: T - 2 m S + (m**2 - v + q) n, T around q
        apart = 3 * math.sqrt(1 / 4 + 4 * mean**2 + (mean**2 - variance + 1 / 2) ** 2)
        joint = squares - 2 * mean * total + (mean**2 - variance + 34 / 75) * count
        bernstein = np.array([(1 - mean) ** 2 - variance, mean**2 - 1 - variance, (1 + mean) ** 2 - variance])
        ratio = float(np.linalg.norm(joint))
        assert ratio < 0.9 * apart
        assert ratio < 1.017 * float(np.linalg.norm(bernstein))
        at_bound = max(at_bound, ratio / float(np.linalg.norm(bernstein)))
    at_even = float(np.linalg.norm(squares + (34 / 75 - 1 / 3) * count)) / math.sqrt(24 / 9)
    assert at_bound > 1.016  # what the module says of both
    assert at_even == pytest.approx(0.83, abs=0.005)


def test_sums_and_counts_beside_a_mean_are_no_noisier_than_with_a_share_each() -> None:
    together = plan_of("count(*) AS n, avg(x) AS a, sum(x) AS s", whole(0, 100)).errors_at(1000)
    half = math.sqrt(2) * 2  # the deviation of Laplace noise of sensitivity 1 at half of epsilon
    apart = [half, 50 * half / 1000, math.hypot(50, 50) * half]
    for one, other in zip(together, apart, strict=True):
        assert one.deviation == pytest.approx(other / math.sqrt(2), rel=1e-3)


def test_several_columns_share_one_count_and_none_is_noisier() -> None:
    """One count goes with one column; k columns weigh k - 1 + 7/5 instead of k + 1."""
    columns = [whole(0, 10, name=f"c{place}") for place in range(6)]
    outputs = ", ".join(f"avg(c{place}) AS a{place}" for place in range(6))
    plan = plan_of(outputs, *columns)
    assert len(plan.bundles) == 1
    for each in plan.errors_at(1000):
        assert each.deviation <= 5 * math.sqrt(2) * 7 / 1000


def test_gaussian_noise_keeps_a_share_for_each() -> None:
    columns = [whole(0, 10, name=f"c{place}") for place in range(10)]
    outputs = ", ".join(f"avg(c{place}) AS a{place}" for place in range(10))
    plan = plan_of(outputs, *columns, delta="1e-5")
    assert all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    few = plan_of("avg(c0)", *columns, delta="1e-5")
    assert all(isinstance(each.mechanism, Laplace) for each in few.measures)
    assert few.bundles


def test_different_weights_of_what_could_be_together_keep_it_apart() -> None:
    assert plan_of("avg(x) AS a", whole(0, 9), weights={"a": 5}).bundles
    assert plan_of("avg(x) AS a, count(*) AS n", whole(0, 9), weights={"a": 1, "n": 1}).bundles
    uneven = plan_of("count(*) AS n, sum(x) AS s", whole(0, 9), weights={"n": 3, "s": 1})
    assert not uneven.bundles
    count, total = uneven.errors_at(100)
    assert count.deviation * 2 < total.deviation


def test_the_count_that_chooses_unknown_keys_is_not_bought_twice() -> None:
    policy = clinic(table("t", [whole(0, 9), Column("w", "text", nullable=False)], rows=1))
    plan = make_plan(read("SELECT w, avg(x) FROM t GROUP BY w"), policy, epsilon=1, delta="1e-6")
    assert not plan.bundles
    keys, total = plan.event.events  # type: ignore[attr-defined]
    assert keys.event.epsilon + total.sensitivity / total.scale == 1


def test_levels_are_shared_by_what_is_released_together() -> None:
    policy = clinic(table("t", [whole(0, 9), Column("g", "text", values=("a", "b"), nullable=False)], rows=2))
    plan = make_plan(read("SELECT g, avg(x), count(*) FROM t GROUP BY ROLLUP (g)"), policy, epsilon=1)
    (bundle,) = plan.bundles
    assert len({plan.measures[place].levels for place in bundle.places}) == 1
    assert plan.measures[0].l1 == 2 * 2 * 9


def test_stored_answers_of_other_parts_have_other_keys() -> None:
    plan = plan_of("avg(x)", whole(0, 100))
    (bundle,) = plan.bundles
    turned = replace(bundle, matrix=bundle.matrix[::-1])
    other = replace(plan, measures=tuple(replace(each, together=turned) for each in plan.measures))
    assert key_of(plan, []) != key_of(other, [])


# -- intervals and estimates against draws -----------------------------------------------------------------------

DRAWS = 4000


def drawn(plan: Plan, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The first output's values and deviations, over cells that are all alike but for their noise."""
    noisy = [
        each.mechanism.release(np.full(DRAWS, column, dtype=np.int64))  # type: ignore[union-attr]
        for each, column in zip(plan.measures, columns, strict=True)
    ]
    found = finish(plan, [()] * DRAWS, noisy)
    assert found.deviations[0] is not None
    return np.array(found.columns[0], dtype=float), np.array(found.deviations[0])


@pytest.mark.statistical
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("output", ["avg(x)", "var_pop(x)", "sum(x) / count(*)", "count(*) + 0 * avg(x)"])
def test_intervals_cover_what_they_say(output: str, regime: str) -> None:
    values = REGIMES[regime]
    plan = plan_of(output, whole(0, 100))
    columns = cell(plan, values, 0, 100)
    mean = sum(values) / len(values)
    truth = {
        "avg(x)": mean,
        "sum(x) / count(*)": mean,
        "var_pop(x)": sum((x - mean) ** 2 for x in values) / len(values),
        "count(*) + 0 * avg(x)": float(len(values)),
    }[output]
    found, deviations = drawn(plan, columns)
    covered = float(np.mean(np.abs(found - truth) <= LEVEL * deviations + 1e-9))
    assert covered >= 0.95 - 0.02


@pytest.mark.statistical
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("output", ["avg(x)", "var_pop(x)", "stddev_pop(x)"])
def test_an_estimate_is_right_for_even_values_and_an_upper_bound_for_all(output: str, regime: str) -> None:
    values = REGIMES[regime]
    plan = plan_of(output, whole(0, 100))
    (expected,) = plan.errors_at(len(values))
    mean = sum(values) / len(values)
    variance = sum((x - mean) ** 2 for x in values) / len(values)
    truth = {"avg(x)": mean, "var_pop(x)": variance, "stddev_pop(x)": math.sqrt(variance)}[output]
    errors = np.abs(drawn(plan, cell(plan, values, 0, 100))[0] - truth)
    assert expected.at_most_95 is not None
    assert float(np.mean(errors <= expected.at_most_95)) >= 0.94
    if regime == "even":
        assert math.sqrt(float(np.mean(errors**2))) == pytest.approx(expected.deviation, rel=0.06)
        assert float(np.mean(errors <= expected.within_95)) >= 0.93


def test_an_estimate_says_for_which_values_it_is() -> None:
    """The study of an off-centre mean is 1.4 times as far off as one at the middle: an estimate says so."""
    (mean,) = plan_of("avg(x)", whole(0, 100)).errors_at(1000)
    assert mean.at_most_95 == pytest.approx(math.sqrt(2) * mean.within_95, rel=1e-3)


# -- far from zero -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_numbers_far_from_zero_keep_the_resolution_of_their_bounds(kind: str) -> None:
    """between(10**12, 10**12 + 100): the mean was 10**12 and the variance 0."""
    chance = random.Random(kind)
    number = (lambda: chance.randint(20, 60)) if kind == "integer" else (lambda: round(chance.uniform(20, 60), 2))
    values = [10**12 + number() for _ in range(4000)]
    away = [float(x) - 10**12 for x in values]
    mean = sum(away) / len(away)
    variance = sum((x - mean) ** 2 for x in away) / len(away)
    frame = pa.table({"id": list(range(len(values))), "x": values})
    facts = {"x": tacit.between(10**12, 10**12 + 100)}
    with tacit.protect(frame, table="t", unit="id", columns=facts, budget=tacit.Budget(100), largest_epsilon=20) as one:
        answer = one.ask("SELECT avg(x) - 1000000000000 AS a, var_pop(x) AS v FROM t", 20)
    assert answer["a"][0] == pytest.approx(mean, abs=0.02)
    assert answer["v"][0] == pytest.approx(variance, rel=0.05)
