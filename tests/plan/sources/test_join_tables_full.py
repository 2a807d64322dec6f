"""FULL JOIN: bounds worked out by hand on small tables that reach them, and lists of units beside rows without one."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import QuestionError
from tacit.plan import Plan
from tests.plan.copies import copy_of, exact
from tests.plan.rules.test_bound_change import ALONE, FULL, POLICY, SPREAD, planned, rows, visit, without

Content = dict[str, list[dict[str, Any]]]

APART: Content = {
    "people": rows(1, [{"sex": "F", "born": 40}]) + rows(2, [{"sex": "F", "born": 1}]),
    "visits": rows(2, [visit(1)]),
    "diagnoses": rows(1, [{"visit": 1, "code": "a"}]) + rows(2, [{"visit": 1, "code": "b"}]),
}
"""The first unit has no visits."""
ONE = "(tacit_rows_per_unit => 1)"


def moved(plan: Plan, content: Content) -> int:
    """How far the first measure moves, over all cells, when the first unit goes."""
    one, other = (exact(copy_of(POLICY, each), plan) for each in (content, without(content)))
    return sum(abs(one.get(key, (0,))[0] - other.get(key, (0,))[0]) for key in {*one, *other})


@pytest.mark.parametrize(
    ("text", "content", "bound"),
    [
        # three visits and two people of the first unit: all pairs
        ("SELECT count(*) FROM visits v FULL JOIN people p ON v.who = p.who", FULL, 6),
        ("SELECT count(*) FROM visits v FULL JOIN people p USING (who)", FULL, 6),
        ("SELECT count(*) FROM visits v FULL JOIN people p ON v.who = p.who AND v.n > 0", FULL, 6),
        # one visit: both people meet it, or all three rows stay alone
        (f"SELECT count(*) FROM visits{ONE} v FULL JOIN people p ON v.who = p.who", FULL, 2),
        (f"SELECT count(*) FROM visits{ONE} v FULL JOIN people p ON v.who = p.who AND v.n < 0", FULL, 3),
        (f"SELECT count(*) FROM people p FULL JOIN visits{ONE} v ON v.who = p.who AND v.n < 0", FULL, 3),
        (f"SELECT count(*) FROM people{ONE} p FULL JOIN visits{ONE} v ON v.who = p.who AND v.n < 0", FULL, 2),
        # along a key: two diagnoses that belong to none of three visits
        ("SELECT count(*) FROM diagnoses d FULL JOIN visits v ON d.visit = v.visit", SPREAD, 5),
        (f"SELECT count(*) FROM diagnoses d FULL JOIN visits{ONE} v ON d.visit = v.visit", SPREAD, 3),
        # the third is compared with a side that is missing on the first unit's row
        (
            f"SELECT count(*) FROM visits{ONE} v FULL JOIN people{ONE} p ON v.who = p.who "
            f"FULL JOIN diagnoses{ONE} d ON d.who = v.who",
            APART,
            2,
        ),
        # whose row it is, whichever side it comes from
        ("SELECT count(DISTINCT who) FROM visits v FULL JOIN people p USING (who)", FULL, 1),
        ("SELECT count(DISTINCT who) FROM visits v FULL JOIN people p USING (who)", ALONE, 1),
        (f"SELECT count(*) FROM (SELECT who FROM visits{ONE} v FULL JOIN people p USING (who)) t", ALONE, 2),
        (
            "SELECT count(*) FROM (SELECT who, count(*) AS t FROM visits FULL JOIN people USING (who) GROUP BY who)",
            ALONE,
            1,
        ),
        # rows alone lie in cells of NULL
        (
            f"SELECT sex, count(*) FROM visits{ONE} v FULL JOIN people p ON v.who = p.who AND v.n < 0 GROUP BY sex",
            FULL,
            3,
        ),
    ],
)
def test_one_unit_moves_a_full_join_by_all_that_was_planned(text: str, content: Content, bound: int) -> None:
    plan = planned(text)
    assert plan.measures[0].l1 == bound
    assert moved(plan, content) == bound


def test_rows_alone_are_there_on_both_sides() -> None:
    plan = planned(
        "SELECT count(v.n), count(p.sex), count(*) FROM visits v FULL JOIN people p ON v.who = p.who AND v.n < 0"
    )
    # three people, five visits, and no pair
    (numbers,) = exact(copy_of(POLICY, FULL), plan).values()
    assert sorted(numbers) == [3, 5, 8]


def test_a_count_of_units_sees_those_of_either_side_once() -> None:
    plan = planned("SELECT count(DISTINCT who) FROM visits v FULL JOIN people p USING (who)")
    assert list(exact(copy_of(POLICY, ALONE), plan).values()) == [(2,)]
    assert list(exact(copy_of(POLICY, FULL), plan).values()) == [(2,)]


OUTER = [
    "people p LEFT JOIN visits v ON v.who = p.who AND v.n < 0",
    "visits v RIGHT JOIN people p ON v.who = p.who AND v.n < 0",
    "people p FULL JOIN visits v ON v.who = p.who AND v.n < 0",
]
CONDITIONS = [
    "v.who NOT IN (SELECT who FROM diagnoses WHERE code = 'a')",
    "(v.who IN (SELECT who FROM diagnoses WHERE code = 'a')) IS NULL",
    "NOT (v.who IN (SELECT who FROM diagnoses WHERE code = 'a') AND p.born < 100)",
    "CASE WHEN v.who NOT IN (SELECT who FROM diagnoses WHERE code = 'a') THEN p.born > 0 ELSE p.born < 0 END",
    "NOT EXISTS (SELECT 1 FROM diagnoses d WHERE d.who = v.who AND d.code = 'a')",
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("joined", OUTER)
def test_one_person_on_a_list_of_units_decides_about_nobody_else(joined: str, condition: str) -> None:
    # the first unit alone has this code: without it the list is empty, and SQL's NULL NOT IN () would become TRUE
    many = {
        "people": [row for unit in range(1, 40) for row in rows(unit, [{"sex": "F", "born": 1}])],
        "visits": rows(1, [visit(1)]),
        "diagnoses": rows(1, [{"visit": 1, "code": "a"}]),
    }
    plan = planned(f"SELECT count(*) FROM {joined} WHERE {condition}")
    assert moved(plan, many) <= plan.measures[0].l1 <= 6


@pytest.mark.parametrize("joined", OUTER)
def test_a_row_without_a_unit_is_neither_on_a_list_nor_off_it(joined: str) -> None:
    """NULL IN (...) and NULL NOT IN (...) are NULL: the 39 people without a visit are in neither count."""
    content = {
        "people": [row for unit in range(1, 40) for row in rows(unit, [{"sex": "F", "born": 1}])],
        "visits": rows(1, [visit(1)]),
        "diagnoses": rows(1, [{"visit": 1, "code": "a"}]),
    }
    for word, there in (("NOT IN", 0), ("IN", int("FULL" in joined))):
        listed = "(SELECT who FROM diagnoses WHERE code = 'a')"
        plan = planned(f"SELECT count(*) FROM {joined} WHERE v.who {word} {listed}")
        assert list(exact(copy_of(POLICY, content), plan).values()) == [(there,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT count(*) FROM visits v FULL JOIN halls h ON v.ward = h.ward", "belong to nobody"),
        ("SELECT count(*) FROM halls h FULL JOIN visits v ON v.ward = h.ward", "stands first"),
        ("SELECT count(*) FROM halls h FULL JOIN wards w ON w.ward = h.ward JOIN visits v ON v.ward = h.ward", "first"),
        ("SELECT count(*) FROM visits a FULL JOIN visits b ON a.n = b.n", "join it on the unit"),
        ("SELECT count(*) FROM visits v FULL JOIN readings r ON r.value = v.n", "other units"),
        ("SELECT count(*) FROM visits v FULL JOIN people p", "needs ON or USING"),
        ("SELECT count(DISTINCT p.who) FROM visits v FULL JOIN people p ON v.who = p.who", "outer join keeps"),
        ("SELECT count(DISTINCT who) FROM visits v FULL JOIN people p ON v.who = p.who", "several tables"),
        ("SELECT count(*) FROM visits v FULL JOIN people p USING (who) WHERE who IS NULL", "several tables"),
        ("SELECT count(*) FROM visits v FULL JOIN people p USING (who) JOIN diagnoses d USING (who)", "USING after"),
        ("SELECT count(*) FROM visits v, people p FULL JOIN diagnoses d ON d.who = p.who WHERE v.who = p.who", "WHERE"),
        (
            "SELECT count(DISTINCT who) FROM visits v FULL JOIN people p USING (who) "
            "FULL JOIN diagnoses d ON d.who = p.who",
            "several tables",
        ),
        ("SELECT count(*) FROM visits v FULL JOIN people p USING (who) GROUP BY who", "says whose row|several tables"),
    ],
)
def test_a_full_join_that_cannot_be_bounded_is_refused(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        planned(text)
