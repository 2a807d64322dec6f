"""Histograms: bounds that are reached, exact counts against counting in Python, bins that nobody's rows decide."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import QuestionError
from tacit.loss import compose
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import Plan, make_plan
from tacit.question import read
from tests.plan.copies import clinic, copy_of
from tests.plan.rules.test_bound_change import FULL, POLICY, SPREAD, planned, without

Content = dict[str, list[dict[str, Any]]]


def counted(plan: Plan, content: Content) -> Counter[tuple[Any, ...]]:
    """The exact number of rows of every (cell, bin)."""
    (bins,) = (measure.bins for measure in plan.measures if measure.bins is not None)
    found = copy_of(POLICY, content).execute(bins.query.text()).fetchall()
    return Counter({tuple(row[:-1]): row[-1] for row in found})


@pytest.mark.parametrize(
    ("text", "content", "bound", "places"),
    [
        ("SELECT histogram(n) FROM visits", FULL, 3, 1),
        ("SELECT histogram(n) FROM visits", SPREAD, 3, 3),
        ("SELECT histogram(n, [1, 4]) FROM visits", SPREAD, 3, 3),
        ("SELECT ward, histogram(n) FROM visits GROUP BY ward", SPREAD, 3, 3),
        ("SELECT sex, histogram(n) FROM visits JOIN people USING (who) GROUP BY sex", FULL, 6, 2),
        ("SELECT histogram(n) FROM visits(tacit_rows_per_unit => 2)", FULL, 2, 1),
        ("SELECT histogram(sex) FROM people", FULL, 2, 2),
        ("SELECT histogram(t) FROM (SELECT who, count(*) AS t FROM visits GROUP BY who)", FULL, 1, 1),
    ],
)
def test_one_unit_moves_a_histogram_by_all_that_was_planned(
    text: str, content: Content, bound: int, places: int
) -> None:
    plan = planned(text)
    (measure,) = (each for each in plan.measures if each.bins is not None)
    one, other = counted(plan, content), counted(plan, without(content))
    moved = [abs(one[key] - other[key]) for key in {*one, *other} if one[key] != other[key]]
    assert sum(moved) == bound == measure.l1
    assert len(moved) == places <= measure.sensitivity.l0
    assert max(moved) <= measure.linf
    assert sum(each**2 for each in moved) <= measure.l2**2


def test_l2_and_the_largest_change_are_those_of_rows_that_all_lie_in_one_bin() -> None:
    (measure,) = planned("SELECT histogram(n) FROM visits").measures
    assert (measure.l1, measure.l2, measure.linf) == (3, 3, 3)


@pytest.mark.parametrize("seed", range(5))
def test_bins_hold_their_upper_ends_and_the_last_one_ends_at_the_bound(seed: int) -> None:
    draw = random.Random(seed)
    ends = sorted(draw.sample(range(-6, 12), draw.randrange(1, 6)))
    values = [draw.choice([None, *range(-4, 9)]) for _ in range(60)]
    rows = [
        {"tacit_unit": unit, "tacit_rank": 1, "visit": 1, "ward": "x", "n": 0, "charge": value, "weight": 2, "big": 0}
        for unit, value in enumerate(values)
    ]
    shuffled = ", ".join(map(str, draw.sample(ends, len(ends))))
    plan = planned(f"SELECT histogram(charge, [{shuffled}]) AS h FROM visits")
    (output,) = plan.outputs
    labels = output.formula.labels  # type: ignore[attr-defined]
    assert labels == tuple(ends if ends[-1] >= 8 else [*ends, 8])  # charge lies between -4 and 8
    assert output.kind == "map(integer, integer)"
    truth = Counter(bisect_left(ends, value) for value in values if value is not None)
    assert counted(plan, {"visits": rows}) == {(place,): number for place, number in truth.items()}
    assert plan.measures[0].bins is not None
    assert set(truth) <= set(plan.measures[0].bins.values) == set(range(len(labels)))


def test_every_known_value_is_a_bin_and_null_is_none() -> None:
    plan = planned("SELECT histogram(code) FROM diagnoses")
    assert plan.measures[0].bins is not None
    assert plan.measures[0].bins.values == ("a", "b")
    nothing = [{"tacit_unit": unit, "tacit_rank": 1, "visit": 1, "code": None} for unit in range(4)]
    assert not counted(plan, {"diagnoses": nothing})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT histogram(urgent) FROM visits", (0, 1)),
        ("SELECT histogram(level) FROM visits", (1, 2, 5)),
        ("SELECT histogram(age // 10) FROM visits", tuple(range(12))),
        ("SELECT histogram(month(day)) FROM visits", tuple(range(1, 13))),
    ],
)
def test_bins_come_from_the_policy(text: str, values: tuple[int, ...]) -> None:
    (measure,) = make_plan(read(text), clinic(), epsilon=1).measures
    assert measure.bins is not None
    assert measure.bins.values == values


def test_a_histogram_has_a_share_of_epsilon_like_any_measure() -> None:
    plan = planned("SELECT histogram(n), count(*), sum(charge) FROM visits")
    laplace = [each.mechanism for each in plan.measures]
    assert all(isinstance(each, Laplace) for each in laplace)
    assert compose([plan.event]).epsilon(0) == pytest.approx(1, rel=1e-9)
    (bins,) = (each for each in plan.measures if each.bins is not None)
    assert bins.mechanism == Laplace(3, epsilon=Fraction(1, 3))


def test_gaussian_noise_is_planned_for_all_bins_of_all_cells() -> None:
    plan = make_plan(
        read("SELECT sex, histogram(age // 10) FROM visits GROUP BY sex"), clinic(), rho="1/2", delta="1e-6"
    )
    (measure,) = plan.measures
    assert measure.mechanism == Gaussian(3, rho=Fraction(1, 2), size=2 * 12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT histogram(ward) FROM visits", "must be known"),
        ("SELECT histogram(charge) FROM visits", "must be known"),
        ("SELECT histogram(code) FROM visits", "must be known"),
        ("SELECT histogram(code, [1, 2]) FROM visits", "needs a column with bounds"),
        ("SELECT histogram(charge, 10) FROM visits", "taken from the data"),
        ("SELECT histogram(charge, [age]) FROM visits", "no end of a bin"),
        ("SELECT histogram(charge, []) FROM visits", "from 1 to"),
        ("SELECT histogram(charge, [1, DATE '2024-01-01']) FROM visits", "of one kind"),
        ("SELECT histogram(day, [1, 2]) FROM visits", "date|compared"),
        ("SELECT histogram(charge, [1], 2) FROM visits", "taken from the data"),
        ("SELECT histogram(DISTINCT sex) FROM visits", "not understood|Distinct"),
        ("SELECT histogram(count(*)) FROM visits", "inside an aggregate"),
        ("SELECT sum(histogram(sex)) FROM visits", "inside an aggregate"),
        ("SELECT histogram(sex) + 1 FROM visits", "by itself"),
        ("SELECT round(histogram(sex)) FROM visits", "by itself"),
        ("SELECT count(*) FROM visits HAVING histogram(sex) > 1", "by itself"),
        ("SELECT sex, histogram(urgent) AS h FROM visits GROUP BY sex ORDER BY h", "by itself"),
        ("SELECT count(*) FROM visits WHERE histogram(sex) > 1", "cannot hold"),
        ("SELECT count(*) FROM visits GROUP BY histogram(sex)", "cannot hold"),
        ("SELECT sex, histogram(urgent) FROM visits GROUP BY ROLLUP (sex)", "ROLLUP"),
        ("SELECT (SELECT histogram(sex) FROM visits) FROM visits", "no list or histogram"),
        ("SELECT count(*) / (SELECT histogram(sex) FROM visits) FROM visits", "no list or histogram"),
        ("SELECT max(h) FROM (SELECT sex, histogram(urgent) AS h FROM visits GROUP BY sex)", "by itself"),
        ("SELECT avg(h) FROM (SELECT patient, histogram(sex) AS h FROM visits GROUP BY patient)", "not understood"),
        ("SELECT histogram(patient) FROM visits", "whose row"),
        ("SELECT histogram(sex) OVER () FROM visits", "OVER|indow"),
    ],
)
def test_what_is_no_histogram_of_public_bins_is_refused(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        make_plan(read(text), clinic(), epsilon=1)


def test_groups_per_unit_does_not_go_with_a_histogram() -> None:
    with pytest.raises(QuestionError, match="groups_per_unit goes with"):
        planned("SELECT ward, histogram(n) FROM visits GROUP BY ward", groups_per_unit=1)


def test_too_many_bins_are_refused() -> None:
    with pytest.raises(QuestionError, match="bins"):
        make_plan(read("SELECT histogram(age * 10 + level) FROM visits"), clinic(), epsilon=1)
    keys = ", ".join(f"(age + {number}) % 10" for number in range(4))
    with pytest.raises(QuestionError, match="bins in each"):
        make_plan(read(f"SELECT {keys}, histogram(age // 10) FROM visits GROUP BY {keys}"), clinic(), epsilon=1)


def test_two_histograms_have_queries_of_their_own() -> None:
    plan = planned(
        "SELECT histogram(n), histogram(weight, [3, 5]), count(*), (SELECT count(*) FROM people) FROM visits"
    )
    assert len(plan.counted) == 4
    for query, measure in itertools.product(plan.counted, plan.measures):
        assert (measure.name in query.measure_columns) == (plan.counted.index(query) == measure.block)
