"""Small tables on which one unit moves a measure by exactly the planned bound: no smaller bound would do.

One unit, the first, is taken out of every private table at once. Bounds were worked out by hand from the tables.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pytest

from tacit.errors import QuestionError
from tacit.loss import compose
from tacit.plan import KnownKeys, Measure, Plan, make_plan
from tacit.policy import Column, PathUnit, Policy, Table
from tacit.question import canonical, read
from tests.plan.copies import FRAME, clinic, copy_of, exact, public, table

Rows = list[dict[str, Any]]
BIG = 2**40

PEOPLE = table(
    "people",
    [Column("sex", "text", values=("F", "M"), nullable=False), Column("born", "integer", -3, 40)],
    unit="who",
    rows=2,
)
VISITS = replace(
    table(
        "visits",
        [
            Column("visit", "integer"),
            Column("ward", "text"),
            Column("n", "integer", 0, 5, nullable=False),
            Column("charge", "integer", -4, 8),
            Column("weight", "integer", 2, 6, nullable=False),
            Column("big", "integer", -BIG, BIG, nullable=False),
        ],
        unit="who",
        rows=3,
    ),
    key="visit",
)
DIAGNOSES = Table(
    "diagnoses",
    FRAME,
    PathUnit("visit", "visits", "visit"),
    2,
    {"visit": Column("visit", "integer"), "code": Column("code", "text", values=("a", "b"))},
)
WARDS = replace(public("wards", [Column("ward", "text"), Column("floor", "integer", 0, 3)]), fan_out=2)
HALLS = public("halls", [Column("ward", "text"), Column("floor", "integer", 0, 3)])
READINGS = table("readings", [Column("value", "integer", 0, 9, nullable=False)], unit=None, rows=1)
POLICY = clinic(PEOPLE, VISITS, DIAGNOSES, WARDS, HALLS, READINGS)


def rows(unit: int, each: Rows) -> Rows:
    return [{"tacit_unit": unit, "tacit_rank": rank, **row} for rank, row in enumerate(each, start=1)]


def visit(number: int | None, **other: Any) -> dict[str, Any]:
    return {"visit": number, "ward": "x", "n": 5, "charge": 8, "weight": 6, "big": BIG, **other}


PUBLIC: dict[str, Rows] = {
    # more rows for a ward than fan_out says, and numbers out of bounds
    "wards": [{"ward": ward, "floor": floor} for ward in ("x", "y") for floor in (1, 2, 99)],
    "halls": [{"ward": ward, "floor": floor} for ward in ("x", "y", "z") for floor in (5, 98, 99)],
}
FULL: dict[str, Rows] = {
    "people": rows(1, [{"sex": "F", "born": 40}, {"sex": "M", "born": 40}]) + rows(2, [{"sex": "F", "born": 1}]),
    "visits": rows(1, [visit(1), visit(2), visit(3)]) + rows(2, [visit(1, n=1), visit(2, n=0)]),
    "diagnoses": rows(1, [{"visit": 1, "code": "a"}, {"visit": 1, "code": "a"}])
    + [row for unit in range(2, 30) for row in rows(unit, [{"visit": 1, "code": "b"}])],
    **PUBLIC,
}
SPREAD: dict[str, Rows] = {
    **FULL,
    "visits": rows(
        1,
        [
            visit(4, ward="x", n=0, charge=-4, weight=2, big=-BIG),
            visit(5, ward="y", n=5, charge=8, weight=6, big=BIG),
            visit(6, ward="z", n=3, charge=2, weight=4, big=0),
        ],
    )
    + rows(2, [visit(1, n=1), visit(2, n=0)]),
}
SINGLE: dict[str, Rows] = {
    "people": rows(1, [{"sex": "F", "born": -3}, {"sex": "F", "born": -3}]),
    "visits": rows(1, [visit(1, n=0, charge=-4, weight=2, big=-BIG)]),
    **PUBLIC,
}
ALONE: dict[str, Rows] = {"people": FULL["people"], "visits": rows(2, [visit(1)]), **PUBLIC}
"""The first unit is in one table only."""


def without(content: dict[str, Rows]) -> dict[str, Rows]:
    return {name: [row for row in listed if row.get("tacit_unit") != 1] for name, listed in content.items()}


def planned(text: str, policy: Policy = POLICY, **levers: Any) -> Plan:
    return make_plan(read(text), policy, epsilon=1, delta="1/1000000", **levers)


CONTENTS = (FULL, SPREAD, SINGLE, ALONE)


@cache
def connected(place: int, *, whole: bool) -> duckdb.DuckDBPyConnection:
    """The working copy of one of the contents, with the first unit or without."""
    content = CONTENTS[place]
    return copy_of(POLICY, content if whole else without(content))


def neighbours(plan: Plan, content: dict[str, Rows]) -> list[dict[tuple[Any, ...], tuple[int, ...]]]:
    place = next(place for place, each in enumerate(CONTENTS) if each is content)
    return [exact(connected(place, whole=whole), plan) for whole in (True, False)]


def changes(plan: Plan, content: dict[str, Rows]) -> list[list[int]]:
    """How far the cells of each measure move when the first unit goes; the last is the number of units behind."""
    one, other = neighbours(plan, content)
    keys = sorted({*one, *other}, key=repr)
    width = len(plan.measures) + (plan.query.unit_column is not None)
    nothing = (0,) * width
    return [[one.get(key, nothing)[at] - other.get(key, nothing)[at] for key in keys] for at in range(width)]


def change(plan: Plan, content: dict[str, Rows], place: int = 0) -> list[int]:
    """How far a measure moves; of measures that are released together, all of their parts."""
    moved = changes(plan, content)
    bundle = plan.measures[place].together if place < len(plan.measures) else None
    return [each for at in ((place,) if bundle is None else bundle.places) for each in moved[at]]


def check_attained(measure: Measure, moved: list[int]) -> None:
    assert sum(map(abs, moved)) == measure.l1
    if measure.together is not None and len(measure.together.places) == 3:  # Laplace noise only: L1 is what counts
        assert sum(each**2 for each in moved) <= measure.l2**2
        return
    assert sum(each**2 for each in moved) <= measure.l2**2 < sum(each**2 for each in moved) + Fraction(1, 1000)
    assert max(map(abs, moved)) == measure.linf


TOTALS = "(SELECT who, {} AS t FROM visits GROUP BY who)"


@pytest.mark.parametrize(
    ("text", "content", "place", "bound"),
    [
        # rows of tables, and of joins
        ("SELECT count(*) FROM visits", FULL, 0, 3),
        ("SELECT count(*) FROM visits(tacit_rows_per_unit => 2)", FULL, 0, 2),
        ("SELECT count(*) FROM visits v JOIN people p ON v.who = p.who", FULL, 0, 6),
        ("SELECT count(*) FROM visits JOIN people USING (who)", FULL, 0, 6),
        ("SELECT count(*) FROM visits v, people p WHERE p.who = v.who", FULL, 0, 6),
        ("SELECT count(*) FROM visits a JOIN visits b ON a.who = b.who", FULL, 0, 9),
        ("SELECT count(*) FROM visits v LEFT JOIN people p ON v.who = p.who", FULL, 0, 6),
        ("SELECT count(*) FROM visits v RIGHT JOIN people p ON v.who = p.who", FULL, 0, 6),
        ("SELECT count(*) FROM visits v RIGHT JOIN people p ON v.who = p.who WHERE v.n IS NULL", ALONE, 0, None),
        ("SELECT count(DISTINCT p.who) FROM visits v RIGHT JOIN people p ON v.who = p.who", ALONE, 0, 1),
        ("SELECT count(*) FROM (SELECT p.who FROM visits v RIGHT JOIN people p ON v.who = p.who) t", FULL, 0, 6),
        # along a key a row meets one row, and RIGHT JOIN keeps the others
        ("SELECT count(*) FROM diagnoses d JOIN visits v ON d.visit = v.visit", FULL, 0, 2),
        ("SELECT count(*) FROM diagnoses d LEFT JOIN visits v ON d.visit = v.visit", FULL, 0, 2),
        ("SELECT count(*) FROM visits(tacit_rows_per_unit => 1) v JOIN diagnoses d ON d.visit = v.visit", FULL, 0, 2),
        ("SELECT count(*) FROM diagnoses d RIGHT JOIN visits v ON d.visit = v.visit", FULL, 0, 4),
        ("SELECT count(*) FROM diagnoses(tacit_rows_per_unit => 1) d RIGHT JOIN visits v USING (visit)", FULL, 0, 3),
        # public tables that hold more than they promise
        ("SELECT count(*) FROM visits v JOIN wards w ON v.ward = w.ward", FULL, 0, 6),
        ("SELECT count(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward", FULL, 0, 6),
        ("SELECT count(*) FROM visits v JOIN wards w ON 1 = 1", FULL, 0, 6),
        ("SELECT count(*) FROM visits v JOIN halls h ON v.ward = h.ward", FULL, 0, 3),
        ("SELECT count(*) FROM halls h JOIN visits v ON v.ward = h.ward", FULL, 0, 3),
        ("SELECT count(*) FROM visits v JOIN halls h ON h.floor = least(v.n, 3)", FULL, 0, 3),
        ("SELECT sum(h.floor) FROM visits v JOIN halls h ON v.ward = h.ward", FULL, 0, 9),
        ("SELECT count(*) FROM visits v JOIN (SELECT ward, floor FROM wards) w ON v.ward = w.ward", FULL, 0, 3),
        # UNION ALL
        ("SELECT count(*) FROM (SELECT who, n FROM visits UNION ALL SELECT who, born FROM people) t", FULL, 0, 5),
        ("SELECT count(*) FROM (SELECT n FROM visits UNION ALL SELECT n FROM visits) t", FULL, 0, 6),
        ("SELECT sum(n) FROM (SELECT who, n FROM visits UNION ALL SELECT who, born FROM people) t", FULL, 0, None),
        # one row for each unit, or for each of its groups
        (f"SELECT count(*) FROM {TOTALS.format('sum(charge)')} t", FULL, 0, 1),
        ("SELECT count(*) FROM (SELECT who, ward, count(*) AS t FROM visits GROUP BY who, ward) t", SPREAD, 0, 3),
        ("SELECT count(*) FROM (SELECT DISTINCT who, n FROM visits) t", SPREAD, 0, 3),
        (f"SELECT sum(t) FROM {TOTALS.format('sum(charge)')} t", FULL, 0, 24),
        (f"SELECT avg(t) FROM {TOTALS.format('sum(charge)')} t", FULL, 1, 36),
        (f"SELECT avg(t) FROM {TOTALS.format('sum(weight)')} t", FULL, 1, 16),
        (f"SELECT avg(t) FROM {TOTALS.format('sum(weight)')} t", SINGLE, 1, 16),
        (f"SELECT avg(t) FROM {TOTALS.format('sum(-weight)')} t", SINGLE, 1, 16),
        (f"SELECT avg(t) FROM {TOTALS.format('sum(-weight)')} t", FULL, 1, 16),
        (f"SELECT sum(t) FROM {TOTALS.format('count(*)')} t", FULL, 0, 3),
        (f"SELECT avg(t) FROM {TOTALS.format('count(*)')} t", SINGLE, 1, 2),
        (f"SELECT sum(t) FROM {TOTALS.format('count(charge)')} t", FULL, 0, 3),
        (f"SELECT sum(t) FROM {TOTALS.format('count(DISTINCT visit)')} t", FULL, 0, 3),
        (f"SELECT sum(t) FROM {TOTALS.format('max(n)')} t", FULL, 0, 5),
        (f"SELECT sum(t) FROM {TOTALS.format('min(charge)')} t", FULL, 0, 8),
        # measures
        ("SELECT sum(charge) FROM visits", FULL, 0, 24),
        ("SELECT avg(charge) FROM visits", FULL, 1, 36),
        ("SELECT sum(born) FROM people", FULL, 0, 80),
        ("SELECT count(charge) FROM visits", FULL, 0, 3),
        ("SELECT count(DISTINCT visit) FROM visits WHERE visit > 2 OR visit IS NULL", SPREAD, 0, 3),
        ("SELECT count(DISTINCT visit) FROM visits GROUP BY n > 0", SPREAD, 0, 3),
        ("SELECT sum(big) FROM visits", FULL, 0, 3 * 2**31),
        ("SELECT covar_pop(n, weight) FROM visits", FULL, 3, None),
        ("SELECT variance(n) FROM visits", FULL, 2, None),
        ("SELECT bool_or(n > 4) FROM visits", FULL, 0, 3),
    ],
)
def test_one_unit_moves_a_measure_by_all_that_was_planned(
    text: str, content: dict[str, Rows], place: int, bound: int | None
) -> None:
    plan = planned(text)
    moved = change(plan, content, place)
    measure = plan.measures[place]
    assert sum(map(abs, moved)) <= measure.l1
    assert sum(each**2 for each in moved) <= measure.l2**2
    if bound is not None:
        assert measure.l1 == bound
        assert sum(map(abs, moved)) == bound


@pytest.mark.parametrize("content", [FULL, SPREAD, SINGLE])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT variance(n), avg(n) FROM visits",
        "SELECT variance(charge) FROM visits",
        "SELECT covar_pop(n, charge), corr(weight, n) FROM visits",
        "SELECT avg(big), variance(big) FROM visits",
        "SELECT regr_slope(born, n) FROM visits JOIN people USING (who)",
        f"SELECT avg(t), variance(t) FROM {TOTALS.format('avg(charge)')} t",
        f"SELECT avg(t), variance(t) FROM {TOTALS.format('sum(charge)')} t",
        f"SELECT sum(t), avg(t) FROM {TOTALS.format('max(weight)')} t",
        "SELECT avg(t) FROM (SELECT who, n AS t FROM visits UNION ALL SELECT who, born FROM people) t",
        "SELECT avg(h.floor), variance(h.floor) FROM visits v JOIN halls h ON v.ward = h.ward",
        "SELECT avg(w.floor * n) FROM visits v JOIN wards w ON v.ward = w.ward",
        "SELECT count(*), avg(v.n) FROM visits v JOIN diagnoses d ON d.visit = v.visit",
        "SELECT count(*) FROM visits v JOIN diagnoses d ON d.visit = v.visit WHERE d.code = 'b'",
        "SELECT count(*) FROM diagnoses d JOIN visits v ON d.visit = v.visit JOIN people p ON p.who = d.who",
        "SELECT count(*) FROM people p WHERE p.who IN (SELECT who FROM visits WHERE n > 4)",
        "SELECT count(*) FROM people p WHERE p.who NOT IN (SELECT who FROM visits WHERE n > 4)",
        "SELECT count(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.who = p.who AND v.n > 4)",
    ],
)
def test_no_measure_moves_by_more_than_planned(text: str, content: dict[str, Rows]) -> None:
    plan = planned(text)
    for measure, moved in zip(plan.measures, changes(plan, content), strict=True):
        assert sum(map(abs, moved)) <= measure.l1
        assert sum(each**2 for each in moved) <= measure.l2**2


@pytest.mark.parametrize(
    ("text", "place", "content"),
    [
        # the squares of n and of 5 - n, and twice their product, add up to 25 a row
        ("SELECT variance(n) FROM visits", 2, FULL),
        # (n - 2.5)(weight - 4) lies in -5..5
        ("SELECT covar_pop(n, weight) FROM visits", 3, FULL),
        (f"SELECT sum(t) FROM {TOTALS.format('avg(n)')} t", 0, FULL),
    ],
)
def test_sums_of_products_and_means_reach_their_bound(text: str, place: int, content: dict[str, Rows]) -> None:
    plan = planned(text)
    check_attained(plan.measures[place], change(plan, content, place))


def test_the_bounds_of_products_and_means_are_those_worked_out_by_hand() -> None:
    assert planned("SELECT variance(n) FROM visits").measures[2].l1 == 3 * 82 * 25
    product = planned("SELECT covar_pop(n, weight) FROM visits").measures[3]
    assert product.l1 * product.step == 3 * 5
    mean = planned(f"SELECT sum(t) FROM {TOTALS.format('avg(n)')} t").measures[0]
    assert mean.l1 * mean.step == 5


# -- counts of units, and their cells ----------------------------------------------------------------------


def test_a_count_of_units_moves_by_one_in_each_cell_that_is_reached() -> None:
    plan = planned("SELECT ward, count(DISTINCT who), count(*) FROM visits GROUP BY ward")
    measure = next(each for each in plan.measures if each.kind == "count_units")
    moved = change(plan, SPREAD, plan.measures.index(measure))
    assert moved == [1, 1, 1]
    assert (measure.l1, measure.linf, measure.sensitivity.l0) == (3, 1, 3)
    assert 3 <= measure.l2**2 < Fraction(3001, 1000)
    assert change(plan, SPREAD, len(plan.measures)) == [1, 1, 1]


def test_known_cells_bound_what_a_unit_reaches() -> None:
    plan = planned("SELECT n > 2, count(DISTINCT who) FROM visits GROUP BY n > 2")
    check_attained(plan.measures[0], change(plan, SPREAD))
    assert plan.measures[0].l1 == 2


def test_unknown_keys_are_bought_for_as_many_keys_as_a_unit_has() -> None:
    plan = planned("SELECT ward, sum(n) FROM visits GROUP BY ward")
    assert sum(change(plan, SPREAD, 1)) == 3 == plan.keys.selection.keys_per_unit  # type: ignore[union-attr]


@pytest.mark.parametrize("groups", [1, 2])
def test_groups_per_unit_bounds_counts_of_units_and_the_keys_that_are_bought(groups: int) -> None:
    plan = planned("SELECT ward, sum(n), count(DISTINCT who) FROM visits GROUP BY ward", groups_per_unit=groups)
    units = next(each for each in plan.measures if each.kind == "count_units")
    check_attained(units, [each for each in change(plan, SPREAD, plan.measures.index(units)) if each])
    assert units.l1 == groups
    assert sum(change(plan, SPREAD, len(plan.measures))) == groups
    assert plan.keys.selection.keys_per_unit == groups  # type: ignore[union-attr]


def test_which_groups_are_kept_does_not_depend_on_the_number_that_a_unit_has() -> None:
    # with one unit less, those after it in a list of names have other numbers
    plans = [
        planned("SELECT ward, count(DISTINCT who) FROM visits GROUP BY ward", groups_per_unit=1),
        planned(
            "SELECT ward, count(DISTINCT who) FROM (SELECT who, ward FROM visits) t GROUP BY ward", groups_per_unit=1
        ),
    ]
    people = [
        [visit(None, ward=ward) for ward in ("x", "y", "z")[first:] + ("x", "y", "z")[:first]]
        for first in (0, 1, 2, 0, 2, 1, 1, 0)
    ]
    for plan in plans:
        found = []
        for shift in range(4):
            content = [row for unit, each in enumerate(people) for row in rows(unit + shift, each)]
            found.append(exact(copy_of(POLICY, {"visits": content}), plan))
        assert all(each == found[0] for each in found)


def test_cells_with_keys_that_read_alike_have_an_order_of_their_own() -> None:
    text = "SELECT ward, n, count(DISTINCT who) FROM (SELECT who, ward, 1 AS n FROM visits) t GROUP BY ward, n"
    plan = planned(text, groups_per_unit=1)
    wards = ["NULL", None, "x", "x:1"]
    kept = []
    for order in (wards[:2], wards[1::-1]):
        content = {"visits": rows(1, [visit(None, ward=ward) for ward in order])}
        kept.append(set(exact(copy_of(POLICY, content), plan)))
    assert kept[0] == kept[1]


# -- levels ------------------------------------------------------------------------------------------------


def level_change(plan: Plan, content: dict[str, Rows], place: int) -> list[int]:
    """The change on all levels of a measure, as a release sums them."""
    assert isinstance(plan.keys, KnownKeys)
    measure = plan.measures[place]
    assert measure.levels is not None
    finest = list(itertools.product(*(column.values or () for column in plan.keys.columns)))
    found = []
    for cells in neighbours(plan, content):
        numbers = np.array([int(cells.get(key, (0,) * 9)[place]) for key in finest], dtype=object)
        found.append(measure.levels.sums(numbers))
    return [int(each) for each in found[0] - found[1]]


@pytest.mark.parametrize(("sets", "count"), [("ROLLUP (n, weight)", 3), ("CUBE (n, weight)", 4), ("ROLLUP (n)", 2)])
def test_all_rows_in_one_cell_move_every_level_by_all_of_it(sets: str, count: int) -> None:
    plan = planned(f"SELECT n, count(*), sum(charge) FROM visits GROUP BY {sets}")
    for place, each in enumerate((3, 24)):
        measure = plan.measures[place]
        moved = level_change(plan, FULL, place)
        assert sum(map(abs, moved)) == measure.l1 == count * each
        assert count * each**2 <= measure.l2**2 < count * each**2 + Fraction(1, 100)
        assert max(moved) == measure.linf == each
        assert len([one for one in moved if one]) == count <= measure.sensitivity.l0


def test_rows_in_different_cells_reach_as_many_cells_of_each_level() -> None:
    plan = planned("SELECT n, count(*) FROM visits GROUP BY ROLLUP (n)")
    assert sum(each != 0 for each in level_change(plan, SPREAD, 0)) == 4 == plan.measures[0].sensitivity.l0


def test_measures_on_levels_share_epsilon_by_their_levels() -> None:
    plan = planned("SELECT n, count(*), sum(charge) FROM visits GROUP BY ROLLUP (n)")
    assert compose([plan.event]).epsilon(0) == pytest.approx(1, rel=1e-9)


# -- questions inside, and what all of it costs ------------------------------------------------------------


def test_a_question_inside_has_the_bounds_of_its_own_rows_and_is_paid_for() -> None:
    plan = planned("SELECT count(*) / (SELECT sum(charge) FROM visits) FROM people")
    assert [each.l1 for each in plan.measures] == [2, 24]
    (inner,) = plan.inner
    one, other = (copy_of(POLICY, content).execute(inner.text()).fetchall()[0][0] for content in (FULL, without(FULL)))
    assert one - other == 24
    assert compose([plan.event]).epsilon(0) == pytest.approx(1, rel=1e-9)
    assert len(plan.event.to_json()) > len(planned("SELECT count(*) FROM people").event.to_json())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*), sum(n), avg(charge) FROM visits",
        "SELECT sex, count(*), avg(v.n) FROM visits v JOIN people USING (who) GROUP BY sex",
        "SELECT count(*) / (SELECT count(*) FROM people) FROM visits",
        "SELECT n, count(*), sum(charge) FROM visits GROUP BY CUBE (n, weight)",
    ],
)
def test_everything_together_costs_what_was_asked(text: str) -> None:
    plan = make_plan(read(text), POLICY, epsilon=Fraction(1, 2))
    assert compose([plan.event]).epsilon(0) == pytest.approx(0.5, rel=1e-9)
    for measure in plan.measures:
        mechanism = measure.mechanism
        assert mechanism.event.to_json() in plan.event.to_json()


# -- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT count(*) FROM readings r JOIN visits v ON r.value = v.n", "other units"),
        ("SELECT count(*) FROM (SELECT value FROM readings UNION ALL SELECT n FROM visits) t", "same kind of unit"),
        ("SELECT count(*) / (SELECT count(*) FROM readings) FROM visits", "same kind of unit"),
        ("SELECT count(*) FROM visits a JOIN visits b ON a.n = b.n", "join it on the unit"),
        ("SELECT count(*) FROM visits v JOIN halls h ON v.n > h.floor", "equality"),
        ("SELECT count(*) FROM people WHERE born IN (SELECT n FROM visits)", "unit's column only"),
        ("SELECT count(*) FROM (SELECT DISTINCT n FROM visits) t", "must name the unit"),
        ("SELECT n, count(DISTINCT who) FROM visits GROUP BY ROLLUP (n)", "add up"),
        ("SELECT n, count(DISTINCT ward) FROM visits GROUP BY n", "which add up over units"),
        # what would be read otherwise than it was meant
        ("SELECT count(DISTINCT v.who) FROM people p LEFT JOIN visits v ON v.who = p.who", "outer join"),
        ("SELECT count(*) FROM (SELECT v.who FROM people p LEFT JOIN visits v ON v.who = p.who) t", "outer join"),
        ("SELECT count(*) FROM (SELECT v.who, count(*) AS n FROM people p LEFT JOIN visits v ON v.who = p.who "
         "GROUP BY 1) t", "outer join"),
        ("SELECT count(*) FROM (SELECT who, n FROM visits UNION ALL SELECT born, who FROM people) t", "same place"),
        ("SELECT count(*) FROM halls h JOIN wards w ON h.floor = w.floor "
         "RIGHT JOIN visits v ON v.ward = h.ward", "RIGHT"),
        ("SELECT count(*) FROM people p CROSS JOIN visits v RIGHT JOIN diagnoses d ON d.visit = v.visit "
         "WHERE p.who = v.who", "RIGHT JOIN"),
        ("SELECT count(*) FROM (SELECT who, ward, count(*) AS n FROM visits GROUP BY who, ward "
         "HAVING ward IN (SELECT ward FROM wards)) t", "WHERE"),
        ("SELECT count(*) / (SELECT count(*) FROM visits QUALIFY count(*) > 9) FROM people", "one output"),
        ("SELECT count(*) / (SELECT n FROM (SELECT count(*) AS n FROM visits) WHERE n > 9) FROM people", "one output"),
        ("SELECT sex, count(*) / (SELECT sum(count(*)) OVER () FROM visits) FROM people GROUP BY sex", "window"),
        ("SELECT count(*) FROM visits v LEFT JOIN wards w", "needs ON"),
        ("SELECT count(*) FROM visits v WHERE EXISTS (SELECT count(*) FROM people p WHERE p.who = v.who)", "EXISTS"),
    ],
)  # fmt: skip
def test_what_has_no_bound_or_no_one_meaning_is_refused(text: str, words: str) -> None:
    groups = 1 if "count(DISTINCT ward) FROM visits" in text else None
    with pytest.raises(QuestionError, match=words.replace("(", r"\(")):
        planned(text, groups_per_unit=groups)


# -- names and values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        (
            "SELECT count(v.n), count(*) FROM people p LEFT JOIN visits v ON p.who = v.who",
            "SELECT count(v.n), count(*) FROM tacit_copy.people p LEFT JOIN tacit_copy.visits v USING (tacit_unit)",
        ),
        (
            "SELECT sum(v.n) FROM people p LEFT JOIN visits v ON p.who = v.who",
            "SELECT sum(v.n) FROM tacit_copy.people p LEFT JOIN tacit_copy.visits v USING (tacit_unit)",
        ),
        (
            "SELECT count(v.n), count(*) FROM visits v RIGHT JOIN people p ON p.who = v.who",
            "SELECT count(v.n), count(*) FROM tacit_copy.visits v RIGHT JOIN tacit_copy.people p USING (tacit_unit)",
        ),
        (
            "SELECT count(*), count(v.n) FROM visits v RIGHT JOIN people p USING (who) JOIN people q USING (who)",
            "SELECT count(*), count(v.n) FROM tacit_copy.visits v RIGHT JOIN tacit_copy.people p USING (tacit_unit) "
            "JOIN tacit_copy.people q USING (tacit_unit)",
        ),
        (
            "SELECT count(*) FROM people p LEFT JOIN visits v USING (who) "
            "JOIN people q ON q.who = v.who AND q.who = p.who",
            "SELECT count(*) FROM tacit_copy.people p LEFT JOIN tacit_copy.visits v USING (tacit_unit) "
            "JOIN tacit_copy.people q ON q.tacit_unit = v.tacit_unit AND q.tacit_unit = p.tacit_unit",
        ),
        (
            "SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM halls h WHERE h.ward = v.ward)",
            "SELECT count(*) FROM tacit_copy.visits v "
            "WHERE NOT EXISTS (SELECT 1 FROM tacit_copy.halls h WHERE h.ward = v.ward)",
        ),
        (
            "WITH a AS (SELECT who, born AS x FROM people) "
            "SELECT count(*) FROM (WITH a AS (SELECT who, n AS x FROM visits) SELECT who, x FROM a) t",
            "SELECT count(*) FROM tacit_copy.visits",
        ),
        (
            "WITH visits AS (SELECT * FROM visits WHERE n > 1) SELECT count(*) FROM visits",
            "SELECT count(*) FROM tacit_copy.visits WHERE n > 1",
        ),
    ],
)
def test_joins_and_names_mean_what_they_mean_in_sql(ours: str, plain: str) -> None:
    content = {**ALONE, "visits": rows(2, [visit(1), visit(2, ward=None)]), "halls": [*PUBLIC["halls"], {"ward": None}]}
    connection = copy_of(POLICY, content)
    assert exact(connection, planned(ours))[()] == connection.execute(plain).fetchall()[0]


def test_one_row_for_each_unit_and_all_of_its_rows_are_different_questions() -> None:
    grouped, plain = "SELECT who FROM visits GROUP BY who", "SELECT who FROM visits"
    asked = [
        canonical(planned(f"SELECT count(*) FROM ({one} UNION ALL {other}) t").question)
        for one, other in ((grouped, plain), (plain, grouped))
    ]
    assert asked[0] != asked[1]


def test_a_table_may_be_called_like_an_alias() -> None:
    second = replace(PEOPLE, name="people#2")
    policy = clinic(PEOPLE, second)
    content: dict[str, Rows] = {"people": FULL["people"], "people#2": rows(1, [{"sex": "F", "born": 7}])}
    text = 'SELECT sum(c.born) FROM people a JOIN people b ON a.who = b.who JOIN "people#2" c ON c.who = b.who'
    found = exact(copy_of(policy, content), planned(text, policy))
    assert found == {(): (4 * 7,)}


def test_a_column_of_a_table_behind_a_path_is_not_taken_for_the_unit() -> None:
    facts = {**DIAGNOSES.columns, "who": Column("who", "integer", 0, 9)}
    policy = clinic(PEOPLE, VISITS, replace(DIAGNOSES, columns=facts))
    plan = planned("SELECT sum(d.who) FROM diagnoses d", policy)
    assert plan.measures[0].l1 == 2 * 9


def test_window_functions_outside_see_what_the_condition_before_them_leaves() -> None:
    counts = "(SELECT sex, count(*) AS n FROM people GROUP BY sex)"
    question = read(f"SELECT sex, rank() OVER (ORDER BY n) AS r FROM {counts} WHERE n > 1")
    assert question.having is not None
    assert question.qualify is None
    inside = "SELECT sex FROM (SELECT sex, rank() OVER (ORDER BY count(*)) AS r FROM people GROUP BY sex) WHERE r < 2"
    assert read(inside).qualify is not None
