"""Totals over the rows of an answer, OFFSET, and counts of some units: as DuckDB has them where no noise is left."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.mechanisms import KeySelection
from tacit.plan import UnknownKeys, make_plan
from tacit.policy import Column
from tacit.question import read
from tests.curator.visits import ALL, in_plain_duckdb, policy_of

MOST_FOR_KEYS = 400  # unknown keys take no more; a count is off with probability below e**-60
GROUPS = "(SELECT ward, sex, count(*) AS n, avg(age) AS a, sum(age) AS s FROM visits GROUP BY ward, sex)"


def _visits() -> pa.Table:
    draw = random.Random(5)
    rows = [
        {"pid": row // 3, "ward": draw.choice("xyyz"), "sex": draw.choice("FM"), "age": draw.randrange(40)}
        for row in range(900)
    ]
    return pa.Table.from_pylist([{**row, "town": f"town {row['age'] // 7}"} for row in rows])


VISITS = _visits()
COLUMNS = [
    Column("ward", "text", values=("x", "y", "z"), nullable=False),
    Column("sex", "text", values=("F", "M"), nullable=False),
    Column("age", "integer", 0, 39, nullable=False),
    Column("town", "text", nullable=False),  # of which nobody knows the values
]
POLICY = policy_of(COLUMNS)


@pytest.fixture(scope="module")
def clinic() -> Iterator[Curator]:
    with Curator(POLICY, frames={"visits": VISITS}) as curator:
        yield curator


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with in_plain_duckdb(VISITS) as connection:
        yield connection


def same(clinic: Curator, database: duckdb.DuckDBPyConnection, sql: str) -> None:
    answer = clinic.ask(sql, ALL)
    expected = database.execute(sql).fetchall()
    assert len(answer) == len(expected)
    for row, wanted in zip(zip(*answer.columns, strict=True), expected, strict=True):
        assert [value if not isinstance(value, float) else pytest.approx(value, abs=1e-3) for value in row] == list(
            wanted
        )


TOTALS = (
    f"SELECT max(n), min(n), avg(n), count(*), sum(n) FROM {GROUPS}",
    f"SELECT max(n) - min(n) AS reach, sum(s) / sum(n) AS mean FROM {GROUPS}",
    f"SELECT ward, max(n), avg(a), count(n) FROM {GROUPS} GROUP BY ward ORDER BY ward DESC",
    f"SELECT ward, sum(n) AS total FROM {GROUPS} GROUP BY ward HAVING sum(n) > 200 ORDER BY total",
    f"SELECT sex, max(n) FROM {GROUPS} AS g WHERE g.n > 100 AND ward <> 'z' GROUP BY sex ORDER BY sex LIMIT 1",
    f"SELECT count(*) FILTER (WHERE n > 120), sum(CASE WHEN ward = 'x' THEN n ELSE 0 END) FROM {GROUPS}",
    f"SELECT count(*), sum(n), max(a) FROM {GROUPS} WHERE n > 10000",
    f"SELECT ward, count(*) FROM {GROUPS} WHERE n > 10000 GROUP BY ward",
    f"SELECT max(double) FROM (SELECT ward, 2 * n AS double FROM {GROUPS} WHERE n > 50)",
    f"SELECT max(n) FROM (SELECT * FROM {GROUPS} WHERE sex = 'F')",
    f"WITH g AS {GROUPS}, f AS (SELECT n FROM g WHERE ward = 'y') SELECT min(n), count(*) FROM f",
    "SELECT max(n) FROM (SELECT count(*) AS n FROM visits)",
    "SELECT count(*) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVING count(*) > 250)",
    "SELECT avg(r) FROM (SELECT ward, rank() OVER (ORDER BY count(*)) AS r FROM visits GROUP BY ward)",
    # the unit among the keys: not an answer, but private rows, one for each unit
    "SELECT sum(n) AS total, avg(n) AS mean FROM (SELECT pid, count(*) AS n FROM visits GROUP BY pid)",
)
OFFSETS = (
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1 OFFSET 1",
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ward OFFSET 2",
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ward OFFSET 7",
    "SELECT ward, n FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward) ORDER BY n LIMIT 5 OFFSET 1",
    f"SELECT ward, max(n) AS m FROM {GROUPS} GROUP BY ward ORDER BY m LIMIT 1 OFFSET 1",
)
SOME_UNITS = (
    "SELECT count(DISTINCT pid) FILTER (WHERE age > 30) AS c FROM visits",
    "SELECT count(DISTINCT CASE WHEN age > 30 THEN pid END) AS c, count(DISTINCT pid) AS d FROM visits",
    "SELECT ward, count(DISTINCT pid) FILTER (WHERE age > 30), count(*) FROM visits GROUP BY ward ORDER BY ward",
    "SELECT count(DISTINCT age) FILTER (WHERE sex = 'F' AND age < 20) AS c FROM visits",
    "SELECT approx_count_distinct(pid) FILTER (WHERE sex = 'F') AS c FROM visits",
    "SELECT count(DISTINCT pid) FILTER (WHERE age > 30) AS c FROM visits v WHERE EXISTS (SELECT 1 FROM visits w "
    "WHERE w.pid = v.pid AND w.ward = 'x')",
    "SELECT sum(old) AS c FROM (SELECT pid, count(DISTINCT pid) FILTER (WHERE age > 30) AS old FROM visits GROUP BY 1)",
)


@pytest.mark.parametrize("sql", [*TOTALS, *OFFSETS, *SOME_UNITS])
def test_it_is_what_duckdb_says(clinic: Curator, database: duckdb.DuckDBPyConnection, sql: str) -> None:
    if "approx" in sql:
        exact = sql.replace("approx_count_distinct(pid)", "count(DISTINCT pid)")
        assert list(clinic.ask(sql, ALL)["c"]) == [database.execute(exact).fetchall()[0][0]]
    else:
        same(clinic, database, sql)


def test_groups_of_one_unit_stay_private_rows(clinic: Curator) -> None:
    plan = clinic.estimate("SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM visits GROUP BY pid)", 1).plan
    assert plan.summary is None
    assert plan.rows_per_unit == 1


def planned(sql: str, **options: Any) -> Any:
    return make_plan(read(sql), POLICY, epsilon=1, **options)


def test_totals_cost_what_the_answer_costs_and_unused_columns_cost_nothing() -> None:
    answer = planned("SELECT ward, sex, count(*) AS n FROM visits GROUP BY ward, sex")
    summary = planned(f"SELECT max(n), sum(n) / count(*) AS mean FROM {GROUPS} WHERE n > 3")
    assert summary.event == answer.event
    assert summary.query.text() == answer.query.text()


# In deviations of one cell's count: noise in different cells is independent, and twice the same sum is off by twice.
EXPECTED = {
    "sum(n)": math.sqrt(6),
    "avg(n)": math.sqrt(6) / 6,
    "max(n)": 1.0,
    "min(n)": 1.0,
    "sum(n) + sum(n)": 2 * math.sqrt(6),
    "sum(n) - sum(n)": 0.0,
    "sum(n) + max(n)": math.sqrt(6) + 1,  # noise chose the greatest, so that nothing cancels
    "sum(CASE WHEN ward = 'x' THEN n END)": math.sqrt(2),
    "3 * sum(n) / count(*)": 3 * math.sqrt(6) / 6,
}


STEPS = {
    "avg(n)": 1 / 6,
    "sum(n) + sum(n)": 2.0,
    "sum(n) + max(n)": 1.0,
    "sum(CASE WHEN ward = 'x' THEN n END)": 1.0,
    "3 * sum(n) / count(*)": 0.5,
}
"""What one step of a row's noise moves: half of it is told as well, of what is no sum or difference of counts."""


@pytest.mark.parametrize("total", EXPECTED)
def test_the_noise_of_a_total_is_that_of_its_rows(clinic: Curator, total: str) -> None:
    groups = "(SELECT ward, sex, count(*) AS n FROM visits GROUP BY ward, sex)"
    (cell,) = {measure.deviation for measure in planned(f"SELECT max(n) FROM {groups}").measures}
    answer = clinic.ask(f"SELECT {total} AS t FROM {groups}", 1)
    half_a_step = 0.26 * STEPS.get(total, 0.0)
    assert answer.deviations[0] == pytest.approx((EXPECTED[total] * cell + half_a_step,), abs=1e-9)
    (promised,) = clinic.estimate(f"SELECT {total} AS t FROM {groups}", 1, rows=100).errors
    assert promised.deviation == pytest.approx(EXPECTED[total] * cell)


def test_a_count_of_rows_has_no_noise(clinic: Curator) -> None:
    assert clinic.ask(f"SELECT count(*) AS c FROM {GROUPS}", 1).deviations == (None,)


def test_unknown_keys_are_added_up_as_they_are_shown(clinic: Curator) -> None:
    groups = "(SELECT town, count(*) AS n FROM visits GROUP BY town)"
    assert isinstance(planned(f"SELECT sum(n) FROM {groups}", delta="1/1000000").keys, UnknownKeys)
    answer = clinic.ask(f"SELECT count(*) AS c, sum(n) AS s FROM {groups}", MOST_FOR_KEYS, delta="1e-6")
    assert (answer["c"][0], answer["s"][0]) == (6, 900)


REFUSED = {
    f"SELECT median(n) FROM {GROUPS}": "count, sum, avg, min and max",
    f"SELECT count(DISTINCT n) FROM {GROUPS}": "count, sum, avg, min and max",
    f"SELECT max(ward) FROM {GROUPS}": "needs a number",
    f"SELECT ward, max(n) FROM {GROUPS}": "GROUP BY this column",
    f"SELECT max(n) FROM {GROUPS} ORDER BY ward": "stand inside",
    f"SELECT max(m) FROM {GROUPS}": "'m' is not among",
    f"SELECT max(n) FROM {GROUPS} GROUP BY n": "keys of the answer",
    f"SELECT ward, max(n) FROM {GROUPS} GROUP BY ROLLUP (ward)": "ROLLUP",
    "SELECT max(n) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ROLLUP (ward))": "ROLLUP",
    f"SELECT ward, rank() OVER (ORDER BY sum(n)) FROM {GROUPS} GROUP BY ward": "window function",
    f"SELECT max(n) / (SELECT count(*) FROM visits) FROM {GROUPS}": "SELECT does not go",
    f"SELECT sum(n) FROM {GROUPS} HAVING sum(n) + 1": "HAVING needs a condition",
    f"SELECT sum(n) FROM {GROUPS} g JOIN visits v ON v.ward = g.ward": "GROUP BY",
    "SELECT count(*) FROM visits LIMIT 1 OFFSET -1": "OFFSET takes a whole number",
    "SELECT count(*) FROM visits OFFSET age": "OFFSET takes a whole number",
    "SELECT count(*) / (SELECT count(*) FROM visits OFFSET 1) FROM visits": "stands for a number",
    "SELECT count(*) FROM (SELECT pid FROM visits OFFSET 1)": "OFFSET is not understood in a SELECT inside",
    "SELECT ward, count(DISTINCT pid) FILTER (WHERE age > 3) FROM visits GROUP BY ROLLUP (ward)": "does not add up",
    "SELECT count(DISTINCT CASE WHEN age > 3 THEN pid ELSE 7 END) FROM visits": "says whose row",
    "SELECT count(DISTINCT pid) FILTER (WHERE pid > 3) FROM visits": "says whose row",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_understood_is_refused(clinic: Curator, sql: str) -> None:
    with pytest.raises(QuestionError) as refusal:
        clinic.estimate(sql, 1)
    assert REFUSED[sql] in str(refusal.value)


def test_a_unit_adds_one_to_a_count_of_some_units_whatever_rows_it_has() -> None:
    plan = planned("SELECT count(DISTINCT pid) FILTER (WHERE age > 3) FROM visits")
    assert (plan.measures[0].l1, plan.measures[0].linf) == (1, 1)
    grouped = planned("SELECT ward, count(DISTINCT pid) FILTER (WHERE age > 3) FROM visits GROUP BY ward")
    assert (grouped.measures[0].l1, grouped.measures[0].linf, grouped.measures[0].sensitivity.l0) == (3, 1, 3)


def test_a_count_of_some_units_is_not_the_count_that_shows_unknown_keys(clinic: Curator) -> None:
    """The rule for keys counts all units of a key; its noisy counts are another number than that of some of them."""
    counted = "count(DISTINCT pid) FILTER (WHERE sex = 'F')"
    sql = f"SELECT town, {counted} AS c FROM visits GROUP BY town ORDER BY town"
    for epsilon in (Fraction(1, 10), 1, 5):
        plan = make_plan(read(sql), POLICY, epsilon=epsilon, delta="1/1000000")
        assert isinstance(plan.keys, UnknownKeys)
        assert not isinstance(plan.measures[0].mechanism, KeySelection)
    answer = clinic.ask(sql, MOST_FOR_KEYS, delta="1e-6")
    with in_plain_duckdb(VISITS) as connection:
        assert list(answer["c"]) == [row[1] for row in connection.execute(sql).fetchall()]


def test_with_few_groups_a_unit_counts_where_it_has_such_a_row() -> None:
    rows = pa.table(
        {
            "pid": [1, 1, 1, 2, 2, 2],
            "ward": ["x", "x", "x", "y", "y", "z"],
            "sex": ["F"] * 6,
            "age": [9] * 6,
            "town": ["t"] * 6,
        }
    )
    with Curator(POLICY, frames={"visits": rows}) as curator:
        old, young = (f"count(DISTINCT pid) FILTER (WHERE age {sign} 30)" for sign in "><")
        sql = f"SELECT {old} AS old, {young} AS young FROM visits GROUP BY ward"
        answer = curator.ask(sql, ALL, groups_per_unit=1)
        assert list(answer["old"]) == [0, 0, 0]
        assert sum(answer["young"]) == 2


def test_questions_over_an_answer_go_together_with_others(clinic: Curator, database: duckdb.DuckDBPyConnection) -> None:
    asked = [
        f"SELECT sum(n) AS t FROM {GROUPS} WHERE ward = 'x'",
        f"SELECT sum(n) AS t FROM {GROUPS} WHERE ward = 'y'",
        f"SELECT sex, max(n) AS t FROM {GROUPS} GROUP BY sex ORDER BY sex OFFSET 1",
        "SELECT sex, count(*) AS t FROM visits GROUP BY sex ORDER BY sex LIMIT 1 OFFSET 1",
        "SELECT count(*) AS t FROM visits",
    ]
    for sql, answer in zip(asked, clinic.ask_all(asked, ALL), strict=True):
        assert list(answer["t"]) == [row[-1] for row in database.execute(sql).fetchall()]


EMPTY = "also those without rows, which plain SQL leaves out"


@pytest.mark.parametrize(
    ("outputs", "named"),
    [
        ("avg(n) AS t, sum(n) AS u", "t"),
        ("min(n) AS t", "t"),
        ("count(*) AS t", "t"),
        ("avg(n + 1) AS t", "t"),
        ("max(s) AS t", "t"),  # a sum below 0 is less than that of no rows
        ("sum(n) AS t, max(n) AS u, avg(a) AS v", ""),  # 0 changes none of them, and a mean of no rows is passed over
    ],
)
def test_a_total_that_counts_known_groups_without_rows_says_so(clinic: Curator, outputs: str, named: str) -> None:
    """Of three wards, one of them empty, avg(n) was a third too small, and only the docs said why."""
    answer = clinic.ask(f"SELECT {outputs} FROM {GROUPS}", ALL)
    said = [note for note in answer.notes if EMPTY in note]
    assert [note.split(", also")[0] for note in said] == ([f"All known groups count in {named}"] if named else [])
    assert EMPTY not in str(clinic.ask(f"SELECT {outputs} FROM {GROUPS} WHERE n > 1", ALL))  # noisy values choose them


def test_no_rows_at_all_make_an_average_over_known_groups_zero_and_the_answer_says_why() -> None:
    nothing = VISITS.slice(0, 0)
    with Curator(POLICY, frames={"visits": nothing}) as curator:
        answer = curator.ask(f"SELECT avg(n) AS t, count(*) AS k FROM {GROUPS}", ALL)
        assert list(answer.rows()) == [(0.0, 6)]
        assert any(EMPTY in note for note in answer.notes)


def test_what_noise_decides_without_an_interval_is_said_and_no_estimate_promises_it_exactly(clinic: Curator) -> None:
    """`estimate` said "+/- 0" of a yes or no, of a rank and of a text, and the answer said nothing."""
    for output in (
        "count(*) > 200",
        "rank() OVER (ORDER BY count(*) DESC)",
        "CASE WHEN count(*) > 200 THEN 'many' ELSE 'few' END",
    ):
        sql = f"SELECT ward, {output} AS t FROM visits GROUP BY ward"
        answer = clinic.ask(sql, "0.3")
        assert "t" not in answer.intervals()
        assert any(note.startswith("Noisy numbers decide t") for note in answer.notes)
        assert "+/- 0" not in str(clinic.estimate(sql, "0.3"))
        assert clinic.planned(sql, epsilon="0.3").errors_at(100) == ()
