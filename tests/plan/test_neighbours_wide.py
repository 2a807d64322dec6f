"""Neighbours under joins, SELECTs inside, UNION ALL and conditions on other tables: no unit moves more than planned.

One unit is taken out of every private table at once, which is what neighbours are. What numbers units have depends on
other units, so other numbers must give the same cells. `TACIT_CASES` sets how many random
databases are tried, each with three questions and every unit taken away in turn.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tacit.curator.united import plan_united
from tacit.errors import QuestionError
from tacit.plan import Plan, make_plan
from tacit.plan.asked import Asked
from tacit.policy import Column, PathUnit, Policy, Table
from tacit.question import United, read_asked
from tests.plan.changes import check_neighbours
from tests.plan.copies import FRAME, clinic, public, table
from tests.plan.test_neighbours import PHASES
from tests.plan.worlds import Rows, Store

CASES = int(os.environ.get("TACIT_CASES", "16"))


@st.composite
def databases(draw: st.DrawFn) -> tuple[Policy, dict[str, Rows]]:
    """Patients, their visits, the diagnoses of visits, and public wards that break every promise."""
    most_visits, most_diagnoses, most_people = (draw(st.integers(1, 3)) for _ in range(3))
    keyed = draw(st.booleans())
    people = table(
        "people",
        [Column("sex", "text", values=("F", "M")), Column("born", "integer", -3, 40, nullable=draw(st.booleans()))],
        unit="who",
        rows=most_people,
    )
    visits = table(
        "visits",
        [
            Column("visit", "integer"),
            Column("charge", "real", Fraction(-1), Fraction(2), nullable=draw(st.booleans())),
            Column("ward", "text"),
            Column("n", "integer", 0, 5, nullable=False),
        ],
        unit="who",
        rows=most_visits,
    )
    visits = replace(visits, key="visit" if keyed else None)
    facts = {"visit": Column("visit", "integer"), "code": Column("code", "text", values=("a", "b"))}
    diagnoses = Table("diagnoses", FRAME, PathUnit("visit", "visits", "visit"), most_diagnoses, facts)
    wards = replace(
        public("wards", [Column("ward", "text"), Column("floor", "integer", 0, 3)]), fan_out=draw(st.integers(1, 3))
    )
    rows: dict[str, Rows] = {"people": [], "visits": [], "diagnoses": [], "wards": []}
    numbers = st.sampled_from([1, 2, 3, None])
    for unit in range(draw(st.integers(1, 4))):
        for name, most in (("people", most_people), ("visits", most_visits), ("diagnoses", most_diagnoses)):
            for rank in range(1, draw(st.integers(0, most)) + 1):
                rows[name].append({"tacit_unit": unit, "tacit_rank": rank})
        for row in rows["people"]:
            row.setdefault("sex", draw(st.sampled_from(["F", "M", None])))
            row.setdefault("born", draw(st.integers(-3, 40)))
        seen: set[int | None] = set()
        for row in [row for row in rows["visits"] if row["tacit_unit"] == unit]:
            visit = draw(numbers)
            # a stated key holds within a unit, since registration makes it so; units may share a value all the same
            row["visit"] = None if keyed and visit in seen else visit
            seen.add(visit)
            row["charge"] = draw(st.integers(*_grid(visits, "charge")))
            row["ward"] = draw(st.sampled_from(["x", "y", None]))
            row["n"] = draw(st.integers(0, 5))
        for row in rows["diagnoses"]:
            row.setdefault("visit", draw(numbers))
            row.setdefault("code", draw(st.sampled_from(["a", "b", None])))
    for _ in range(draw(st.integers(0, 6))):
        rows["wards"].append({"ward": draw(st.sampled_from(["x", "y", None])), "floor": draw(st.integers(-2, 9))})
    return clinic(people, visits, diagnoses, wards), rows


def _grid(table: Table, name: str) -> tuple[int, int]:
    column = table.columns[name]
    assert column.grid_lower is not None
    assert column.grid_upper is not None
    return column.grid_lower, column.grid_upper


SIDES = st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
PER_UNIT = st.sampled_from(
    [
        "(SELECT who, sum(charge) AS total, count(*) AS times FROM visits GROUP BY who)",
        "(SELECT who, count(DISTINCT who) FILTER (WHERE n > 2) AS total, count(*) AS times FROM visits GROUP BY who)",
        "(SELECT who, avg(n) AS total, count(DISTINCT ward) AS times FROM visits GROUP BY who HAVING count(*) > 1)",
        "(SELECT who, ward, sum(n) * 2 + 1 AS total, count(charge) AS times FROM visits GROUP BY who, ward)",
        "(SELECT who, n AS total, visit AS times FROM visits WHERE charge > 0.5)",
        "(SELECT DISTINCT who, n AS total, ward IS NULL AS times FROM visits)",
        "(SELECT who, born AS total, 1 AS times FROM people UNION ALL SELECT who, n, 2 FROM visits)",
        "(SELECT v.who, sum(p.born) AS total, count(*) AS times FROM visits v JOIN people p USING (who) GROUP BY 1)",
        "(SELECT d.who, v.n AS total, 3 AS times FROM diagnoses d JOIN visits v ON d.visit = v.visit)",
    ]
)
CONDITIONS = st.sampled_from(
    [
        "",
        " WHERE t.who IN (SELECT who FROM visits WHERE n > 2)",
        " WHERE t.who NOT IN (SELECT who FROM people WHERE sex = 'F')",
        " WHERE EXISTS (SELECT 1 FROM diagnoses d WHERE d.who = t.who AND d.code = 'a')",
        " WHERE t.total > 1 OR NOT EXISTS (SELECT 1 FROM visits v WHERE v.who = t.who AND v.ward = 'x')",
    ]
)
AGGREGATES = st.lists(
    st.sampled_from(
        [
            "count(*)",
            "sum(t.total)",
            "avg(t.total)",
            "count(DISTINCT t.who)",
            "count(DISTINCT t.total)",
            "variance(t.total)",
            "count(t.total) FILTER (WHERE t.total > 0)",
            "count(DISTINCT t.who) FILTER (WHERE t.total > 1)",
            "count(DISTINCT CASE WHEN t.times = 1 OR t.total < 1 THEN t.who END)",
            "histogram(t.total, [-1, 0, 2.5, 100])",
            "histogram(t.total > 1)",
            "histogram(t.times, [2, 1]) FILTER (WHERE t.total > 0)",
        ]
    ),
    min_size=1,
    max_size=3,
    unique=True,
).map(", ".join)


@st.composite
def questions(draw: st.DrawFn) -> str:
    """A question about people, visits and diagnoses put together in some way."""
    shape = draw(st.integers(0, 7))
    if shape == 6:
        return draw(either_side())
    if shape == 7:
        return draw(united())
    if shape == 4:
        return draw(levels())
    if shape == 5:
        return draw(questions_with_others_inside())
    if shape == 0:
        keys = draw(st.sampled_from(["", " GROUP BY floor(t.total / 3)", " GROUP BY t.total > 0"]))
        return f"SELECT {draw(AGGREGATES)} FROM {draw(PER_UNIT)} AS t{draw(CONDITIONS)}{keys}"
    if shape == 1:
        keys = draw(st.sampled_from(["", " GROUP BY p.sex", " GROUP BY p.sex, t.total > 1"]))
        joined = f"{draw(PER_UNIT)} AS t {draw(SIDES)} people p ON p.who = t.who"
        unmatched = st.sampled_from([" WHERE p.who IS NULL", " WHERE t.who IS NOT NULL AND p.who IS NULL"])
        return f"SELECT {draw(AGGREGATES)} FROM {joined}{draw(CONDITIONS | unmatched)}{keys}"
    if shape == 2:
        joined = f"visits v {draw(SIDES)} diagnoses d ON d.visit = v.visit {draw(SIDES)} people p ON p.who = v.who"
        if draw(st.booleans()):
            joined = f"diagnoses d {draw(SIDES)} visits v ON v.visit = d.visit {draw(SIDES)} people p ON p.who = d.who"
        rows = draw(st.sampled_from(["", "(tacit_rows_per_unit => 1)"]))
        joined = joined.replace("visits v", f"visits{rows} v")
        keys = draw(st.sampled_from(["", " GROUP BY d.code", " GROUP BY p.sex, d.code", " GROUP BY v.ward"]))
        outputs = draw(st.sampled_from(["count(*), sum(v.n)", "avg(p.born), count(DISTINCT who)", "sum(v.charge)"]))
        return f"SELECT {outputs} FROM {joined}{keys}"
    on = draw(st.sampled_from(["v.ward = w.ward", "v.ward = w.ward AND w.floor > 1", "w.floor = v.n", "1 = 1"]))
    joined = f"visits v {draw(st.sampled_from(['JOIN', 'LEFT JOIN']))} wards w ON {on}"
    if draw(st.booleans()):
        joined = f"wards w JOIN visits v ON {on}"
    where = draw(
        st.sampled_from(["", " WHERE v.ward IN (SELECT ward FROM wards WHERE floor > 0)", " WHERE w.floor < 3"])
    )
    keys = draw(st.sampled_from(["", " GROUP BY w.floor", " GROUP BY v.ward"]))
    return f"SELECT count(*), sum(w.floor * v.n), sum(v.charge) FROM {joined}{where}{keys}"


@st.composite
def either_side(draw: st.DrawFn) -> str:
    """Two private sources of which either may be missing on a row, and conditions on the one that is."""
    on = draw(
        st.sampled_from(
            [
                "USING (who)",
                "ON p.who = t.who",
                "ON p.who = t.who AND p.sex = 'F'",
                "ON p.who = t.who AND p.born > t.total AND t.times = 1",
                "ON p.who = t.who AND p.born < -100",
            ]
        )
    )
    joined = f"{draw(PER_UNIT)} AS t {draw(st.sampled_from(['FULL', 'LEFT', 'RIGHT']))} JOIN people p {on}"
    if draw(st.booleans()):
        joined += f" {draw(SIDES)} diagnoses d ON d.who = {draw(st.sampled_from(['p', 't']))}.who"
        joined += draw(st.sampled_from(["", " AND d.code = 'a'"]))
    listed = draw(st.sampled_from(["visits WHERE n > 4", "people WHERE sex = 'F'", "diagnoses WHERE code = 'a'"]))
    side, other = draw(st.sampled_from(["p", "t"])), draw(st.sampled_from(["p", "t"]))
    where = draw(
        st.sampled_from(
            [
                "",
                f" WHERE {side}.who IS NULL",
                f" WHERE {side}.who NOT IN (SELECT who FROM {listed})",
                f" WHERE ({side}.who IN (SELECT who FROM {listed})) IS NULL",
                f" WHERE {other}.who IS NULL AND NOT EXISTS (SELECT 1 FROM {listed} AND people.who = {side}.who)"
                if listed.startswith("people")
                else f" WHERE {other}.who IS NULL OR {side}.who IN (SELECT who FROM {listed})",
            ]
        )
    )
    outputs = ["count(*)", "sum(p.born)", "count(t.total)", "histogram(p.sex)", "histogram(t.total, [0, 2])"]
    outputs += ["count(DISTINCT who)"] if on.startswith("USING") else []
    chosen = ", ".join(draw(st.lists(st.sampled_from(outputs), min_size=1, max_size=3, unique=True)))
    keys = draw(st.sampled_from(["", " GROUP BY p.sex", " GROUP BY p.sex, t.total > 1", " GROUP BY t.times"]))
    if on.startswith("USING") and draw(st.booleans()):
        return f"SELECT count(*), sum(a) FROM (SELECT who, count(p.born) AS a FROM {joined}{where} GROUP BY who)"
    return f"SELECT {chosen} FROM {joined}{where}{keys}"


PARTS = st.sampled_from(
    [
        "SELECT 'v' AS what, count(*) AS n FROM visits",
        "SELECT 'x', sum(n) FROM visits WHERE ward = 'x'",
        "SELECT 'y', sum(n) FROM visits WHERE ward = 'y'",
        "SELECT 'F', count(*) FROM people WHERE sex = 'F'",
        "SELECT 'M', count(*) FROM people WHERE sex = 'M'",
        "SELECT sex, count(*) FROM people GROUP BY sex",
        "SELECT sex, sum(born) FROM people GROUP BY sex",
        "SELECT 'p', count(DISTINCT who) FROM people",
        "SELECT ward, count(*) FROM visits GROUP BY ward",
        "SELECT code, avg(n) FROM diagnoses d JOIN visits v USING (who) GROUP BY code",
    ]
)


@st.composite
def united(draw: st.DrawFn) -> str:
    """Answers put together: what reads the same rows is planned as one."""
    parts = draw(st.lists(PARTS, min_size=2, max_size=4))
    whole = " UNION ALL ".join(parts)
    if draw(st.booleans()):
        whole = f"SELECT * FROM ({whole}) u WHERE n > 1" if parts[0].endswith("n FROM visits") else whole
    return whole + draw(st.sampled_from(["", " ORDER BY 2 DESC LIMIT 3"]))


SETS = st.sampled_from(
    [
        "ROLLUP (p.sex, d.code)",
        "CUBE (p.sex, d.code)",
        "CUBE (p.sex, d.code, v.n)",
        "p.sex, ROLLUP (v.n, d.code)",
        "ROLLUP (d.code), ROLLUP (p.sex)",
        "GROUPING SETS ((p.sex), (d.code), ())",
        "GROUPING SETS ((p.sex, d.code), (v.n > 2))",
        "GROUPING SETS (ROLLUP (p.sex, v.n), (d.code))",
        "GROUPING SETS (p.sex, d.code)",
    ]
)


@st.composite
def levels(draw: st.DrawFn) -> str:
    """Several sets of known keys at once: a unit is in a cell of every one."""
    if draw(st.booleans()):  # one table, of which a unit may well have as many rows as it can, all of them alike
        sets = draw(
            st.sampled_from(["ROLLUP (p.sex)", "CUBE (p.sex, p.born)", "GROUPING SETS ((p.sex), (p.born), ())"])
        )
        return (
            f"SELECT {draw(st.sampled_from(['count(*)', 'sum(p.born)', 'avg(p.born)']))} FROM people p GROUP BY {sets}"
        )
    joined = f"visits v {draw(SIDES)} diagnoses d ON d.visit = v.visit AND d.who = v.who"
    joined += f" {draw(SIDES)} people p ON p.who = v.who"
    outputs = draw(
        st.sampled_from(
            ["count(*), sum(v.n)", "avg(p.born), sum(v.charge)", "count(d.code)", "variance(v.n), count(*)"]
        )
    )
    where = draw(st.sampled_from(["", " WHERE v.n > 1", " WHERE v.who IN (SELECT who FROM people WHERE born > 3)"]))
    having = draw(st.sampled_from(["", " HAVING count(v.charge) > 1", " HAVING GROUPING(p.sex) = 0 OR sum(v.n) > 2"]))
    sets = draw(SETS)
    if "p.sex" not in sets:
        having = having.replace("GROUPING(p.sex) = 0 OR ", "")
    return f"SELECT {outputs} FROM {joined}{where} GROUP BY {sets}{having}"


INSIDE = st.sampled_from(
    [
        "(SELECT count(*) FROM visits)",
        "(SELECT sum(n) FROM visits(tacit_rows_per_unit => 1) WHERE n > 1)",
        "(SELECT avg(born) FROM people)",
        "(SELECT count(DISTINCT who) FROM diagnoses WHERE code = 'a')",
        "(SELECT sum(v.n) FROM visits v JOIN people p USING (who))",
        "(SELECT variance(total) FROM (SELECT who, sum(charge) AS total FROM visits GROUP BY who))",
        "(SELECT count(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward)",
    ]
)


@st.composite
def questions_with_others_inside(draw: st.DrawFn) -> str:
    """Private numbers of other questions stand beside a question's own: each is a release of its own."""
    inside = [draw(INSIDE) for _ in range(draw(st.integers(1, 2)))]
    own = draw(st.sampled_from(["count(*)", "sum(v.n)", "avg(v.charge)"]))
    outputs = ", ".join(f"{own} / {each}" for each in inside)
    keys = draw(st.sampled_from(["", " GROUP BY p.sex", " GROUP BY v.ward", " GROUP BY ROLLUP (p.sex, v.n)"]))
    having = draw(st.sampled_from(["", " HAVING count(*) > (SELECT 0.1 * count(*) FROM visits)"])) if keys else ""
    return f"SELECT {outputs} FROM visits v JOIN people p ON p.who = v.who{keys}{having}"


def planned(text: str, policy: Policy, groups: int | None) -> list[Plan] | None:
    """The plans of a question, or nothing where it is refused."""
    bounded = None if "GROUPING" in text or "ROLLUP" in text or "CUBE" in text else groups
    try:
        asked = read_asked(text)
        if isinstance(asked, United):
            return [plan for _, plan in plan_united(asked, policy, Asked.of(1, delta="1/1000000")).plans]
        return [make_plan(asked, policy, epsilon=1, delta="1/1000000", groups_per_unit=bounded)]
    except QuestionError:
        return None


def compare(store: Store, made: tuple[Policy, dict[str, Rows]], asked: list[str], groups: int | None) -> int:
    """Ask the questions with every unit taken away in turn; how many pairs of neighbours were compared."""
    policy, rows = made
    store.load(policy, rows)
    units = sorted({row["tacit_unit"] for name in ("people", "visits", "diagnoses") for row in rows[name]})
    pairs = 0
    for text in asked:
        plans = planned(text, policy, groups)
        if plans is None:
            continue
        note(text)
        for plan in plans:
            note(plan.query.text())
            pairs += check_neighbours(store, plan, units)
    return pairs


CASE = (databases(), st.lists(questions(), min_size=3, max_size=3), st.sampled_from([None, None, 1, 2]))


CASES_OF = {
    "levels": (CASE[0], st.lists(levels(), min_size=3, max_size=3), st.none()),
    "either": (CASE[0], st.lists(either_side(), min_size=3, max_size=3), CASE[2]),
    "united": (CASE[0], st.lists(united(), min_size=3, max_size=3), st.none()),
    "inside": (CASE[0], st.lists(questions_with_others_inside(), min_size=3, max_size=3), st.none()),
}
"""Of one shape of question alone."""


@settings(max_examples=CASES, phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(*CASE)
def test_no_unit_moves_a_wide_question_by_more_than_planned(
    views: Store, made: Any, asked: list[str], groups: int | None
) -> None:
    compare(views, made, asked, groups)


@settings(max_examples=max(1, CASES // 4), phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(*CASE)
def test_no_unit_moves_a_wide_question_on_postgresql_by_more(
    postgres_worlds: Store, made: Any, asked: list[str], groups: int | None
) -> None:
    compare(postgres_worlds, made, asked, groups)


@pytest.mark.spark
@settings(max_examples=max(1, CASES // 9), phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(*CASE)
def test_no_unit_moves_a_wide_question_on_spark_by_more(
    spark_worlds: Store, made: Any, asked: list[str], groups: int | None
) -> None:
    compare(spark_worlds, made, asked, groups)


def test_most_of_these_questions_are_planned() -> None:
    """Of the same questions in every run: the share among those that the tests above draw is 79 %, give or take 10."""
    found: Counter[bool] = Counter()

    @settings(
        max_examples=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(*CASE)
    def plan_all(made: tuple[Policy, dict[str, Rows]], asked: list[str], groups: int | None) -> None:
        found.update(planned(text, made[0], groups) is not None for text in asked)

    plan_all()
    assert found.total() >= 100
    assert found[True] > found[False]
