"""The work of one unit: no unit's rows cause more than the plan says, and what is too much is refused with the figure.

The engine itself is asked how many rows each of its operators handled with one unit in the tables and with nobody, and
the difference is compared with what the plan stated beforehand.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan import Plan, make_plan
from tacit.plan.values.scope import quoted
from tacit.plan.work import MOST_ROWS, MOST_VALUES, Step, effort_of, longest_of, most_rows
from tacit.policy import Column, Policy
from tacit.question import read
from tests.effort import tried
from tests.plan.copies import clinic, public, table
from tests.plan.operators import handled
from tests.plan.test_neighbours import PHASES
from tests.plan.test_neighbours_wide import CASE, planned
from tests.plan.worlds import Rows, names_and_kinds

CASES = int(os.environ.get("TACIT_CASES", "18"))
PICKS = st.sampled_from(
    [
        "SELECT median(n) FROM visits",
        "SELECT min(charge), max(charge) FROM visits v JOIN people p ON p.who = v.who",
        "SELECT sex, quantile_disc(charge, 0.3), quantile_disc(charge, 0.6) FROM people p JOIN visits v USING (who) "
        "GROUP BY sex",
        "SELECT mode(p.sex) FROM people p LEFT JOIN visits v ON v.who = p.who",
        "SELECT max(a.charge + b.charge - c.charge) FROM visits a JOIN visits b ON a.who = b.who "
        "JOIN visits c ON c.who = a.who AND c.n < b.n",
        "SELECT count(*) FROM visits a JOIN visits b ON a.who = b.who JOIN visits c ON c.who = a.who AND c.n < b.n "
        "JOIN people p ON p.who = a.who WHERE p.sex = 'F' AND a.n + b.n + c.n > 1",
        "SELECT count(*) FROM (SELECT who, n FROM visits UNION ALL SELECT who, n FROM visits UNION ALL "
        "SELECT who, born FROM people) AS t JOIN visits v ON v.who = t.who AND v.n <> t.n",
    ]
)


class Alone:
    """A copy that holds the rows of one unit at a time."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("CREATE SCHEMA tacit_copy")

    def load(self, policy: Policy, rows: Mapping[str, Rows], unit: int | None) -> None:
        for name, each in policy.tables.items():
            kinds = names_and_kinds(each)
            listed = ", ".join(f'"{column}" {kind}' for column, kind in kinds.items())
            self.connection.execute(f'CREATE OR REPLACE TABLE tacit_copy."{name}" ({listed})')
            own = [row for row in rows[name] if each.public or row["tacit_unit"] == unit]
            if own:
                marks = ", ".join("(" + ", ".join("?" for _ in kinds) + ")" for _ in own)
                values = [row[column] for row in own for column in kinds]
                self.connection.execute(f'INSERT INTO tacit_copy."{name}" VALUES {marks}', values)

    def handled(self, plan: Plan, policy: Policy) -> int:
        shared = [name for name, each in policy.tables.items() if each.public]
        return sum(handled(self.connection, query.text(), shared) for query in plan.queries)


@pytest.fixture(scope="module")
def alone() -> Any:
    found = Alone()
    yield found
    found.connection.close()


@settings(
    max_examples=max(1, CASES // 3),
    phases=PHASES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(CASE[0], st.lists(CASE[1].map(lambda asked: asked[0]) | PICKS, min_size=3, max_size=3), CASE[2])
def test_no_unit_causes_more_rows_of_work_than_the_plan_states(
    alone: Alone, made: Any, asked: list[str], groups: int | None
) -> None:
    policy, rows = made
    plans = [plan for text in asked for plan in planned(text, policy, groups if "median" not in text else None) or ()]
    units = sorted({row["tacit_unit"] for name in ("people", "visits", "diagnoses") for row in rows[name]})
    alone.load(policy, rows, None)
    nobody = [alone.handled(plan, policy) for plan in plans]
    for unit in units:
        alone.load(policy, rows, unit)
        for plan, without in zip(plans, nobody, strict=True):
            note(plan.query.text())
            assert alone.handled(plan, policy) - without <= plan.work.rows


def _pairs(steps: Sequence[Step], matched: Sequence[dict[int, int]]) -> int:
    """The rows of the largest join of some sources, counted one by one; along a key each row meets one at most."""
    best = 0
    for count in range(1, len(steps) + 1):
        for chosen in itertools.combinations(range(len(steps)), count):
            rows = 0
            for picks in itertools.product(*(range(steps[place].rows) for place in chosen)):
                at = dict(zip(chosen, picks, strict=True))
                led = [
                    matched[place][at[parent]] == at[place]
                    for place in chosen
                    if (parent := steps[place].parent) is not None and parent in at
                ]
                rows += all(led)
            best = max(best, rows)
    return best


@settings(max_examples=tried(50))
@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_joins_in_any_order_hold_no_more_rows_than_counted(sizes: list[int], data: st.DataObject) -> None:
    steps = [Step(sizes[0])]
    matched: list[dict[int, int]] = [{}]
    for place, size in enumerate(sizes[1:], start=1):
        parent = data.draw(st.none() | st.integers(0, place - 1))
        steps.append(Step(size, parent=parent))
        other = 0 if parent is None else sizes[parent]
        matched.append({row: data.draw(st.integers(0, size - 1)) for row in range(other)})
    assert _pairs(steps, matched) <= most_rows(steps)
    if all(step.parent is None for step in steps):
        assert _pairs(steps, matched) == most_rows(steps)


@settings(max_examples=tried(200))
@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 6)), min_size=1, max_size=7), st.data())
def test_the_greatest_product_is_that_of_all_sets_of_sources(found: list[Any], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(found))))  # a source may be led to by one that stands behind it
    steps = [
        Step(rows, parent=None if parent is None or order[parent % len(found)] >= order[place] else parent % len(found))
        for place, (rows, parent) in enumerate(found)
    ]
    sets = [chosen for count in range(len(steps)) for chosen in itertools.combinations(range(len(steps)), count + 1)]
    assert most_rows(steps) == max(
        math.prod(1 if steps[place].parent in chosen else max(steps[place].rows, 1) for place in chosen)
        for chosen in sets
    )


def test_many_sources_along_keys_are_counted_at_once() -> None:
    assert most_rows([Step(3), *(Step(2, parent=place) for place in range(200))]) == 3 * 2**100


LETTERS = st.text("ab", max_size=4)
FUNCTIONS = ["replace", "concat", "upper", "substring", "right", "trim", "case"]


@settings(max_examples=tried(60))
@given(st.lists(st.tuples(st.sampled_from(FUNCTIONS), LETTERS, LETTERS), max_size=5))
def test_no_text_gets_longer_than_counted(steps: list[tuple[str, str, str]]) -> None:
    """Against what DuckDB makes of a column of four letters."""
    sql: exp.Expr = exp.column(quoted("x"), quoted("t"))
    for function, one, other in steps:
        word = exp.Literal.string
        if function == "replace":
            sql = exp.Replace(this=sql, expression=word(one or "a"), replacement=word(other))
        elif function == "concat":
            sql = exp.DPipe(this=sql, expression=word(one), safe=True)
        elif function == "upper":
            sql = exp.Upper(this=sql)
        elif function == "substring":
            sql = exp.Substring(this=sql, start=exp.Literal.number(1), length=exp.Literal.number(len(one)))
        elif function == "right":
            sql = exp.Right(this=sql, expression=exp.Literal.number(len(one)))
        elif function == "trim":
            sql = exp.Trim(this=sql, expression=word("a"))
        else:
            sql = exp.Case().when(exp.EQ(this=sql.copy(), expression=word(one)), word(other)).else_(sql)
    texts = ["".join(letters) for count in range(5) for letters in itertools.product("ab", repeat=count)]
    listed = ", ".join(f"('{text}')" for text in texts)
    query = f"SELECT max(length({sql.sql('duckdb')})) FROM (VALUES {listed}) AS t(x)"
    found = duckdb.execute(query).fetchall()[0]
    assert found[0] <= longest_of(sql, {("t", "x"): 4})
    assert effort_of([sql], {("t", "x"): 4}).values <= sum(1 for _ in sql.walk())


VISITS = table(
    "visits", [Column("n", "integer", 0, 9), Column("note", "text"), Column("free", "text")], unit="who", rows=10
)
MANY = table("many", [Column("n", "integer", 0, 9), Column("note", "text")], unit="who", rows=100_000)
SMALL = clinic(VISITS, MANY, public("wards", [Column("n", "integer", 0, 9)]))


def joined(count: int, name: str = "visits", rows: str = "") -> str:
    rest = "".join(f" JOIN {name}{rows} a{place} ON a{place}.who = a0.who" for place in range(1, count))
    return f"SELECT count(*) FROM {name}{rows} a0{rest}"


@pytest.mark.parametrize("count", [4, 6, 11])
def test_joins_beyond_the_limit_are_refused_with_the_figure_and_the_limit(count: int) -> None:
    with pytest.raises(QuestionError, match=f"{MOST_ROWS:,} are allowed") as refused:
        make_plan(read(joined(count)), SMALL, epsilon=1)
    found = int("".join(filter(str.isdigit, str(refused.value).split("become")[1].split("rows")[0])))
    assert found >= 10**count
    assert "tacit_rows_per_unit" in str(refused.value)


def test_fewer_rows_of_each_unit_make_a_question_possible() -> None:
    plan = make_plan(read(joined(6, rows="(tacit_rows_per_unit => 2)")), SMALL, epsilon=1)
    assert 2**6 <= plan.work.rows <= MOST_ROWS


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), avg(n), stddev(n) FROM many WHERE note LIKE 'a%'",
        "SELECT lower(note) AS k, count(*) FROM many GROUP BY k",
        "SELECT median(n), max(n), histogram(n) FROM many",
        "SELECT count(*) FROM (SELECT who, sum(n) AS s FROM many GROUP BY who) WHERE s > 3",
        "SELECT count(*) FROM (SELECT who, n FROM many UNION ALL SELECT who, n FROM many)",
        "SELECT count(*) FROM many WHERE who IN (SELECT who FROM visits WHERE n > 3)",
    ],
)
def test_a_table_of_many_rows_of_each_unit_can_be_asked_by_itself(sql: str) -> None:
    plan = make_plan(read(sql), SMALL, epsilon=1, delta="1e-6")
    assert plan.work.rows >= 100_000
    assert plan.work.rows == plan.work.plain  # nothing is multiplied


def test_what_multiplies_the_rows_of_a_large_table_is_refused() -> None:
    with pytest.raises(QuestionError, match="rows of work"):
        make_plan(read(joined(2, "many")), SMALL, epsilon=1)


def test_texts_and_expressions_beyond_the_limits_are_refused_with_the_figure() -> None:
    grown = f"replace(note, 'a', '{'b' * 500}')"
    with pytest.raises(QuestionError, match=r"15,0[\d,]+ characters of text for one unit, and 280,000 are"):
        make_plan(read(f"SELECT count(*) FROM visits WHERE {grown} = 'x'"), SMALL, epsilon=1)
    long = " AND ".join(f"a0.n + a1.n + a2.n <> {number}" for number in range(200))
    with pytest.raises(QuestionError, match=rf"values from the rows of one unit, and {MOST_VALUES:,} are allowed"):
        make_plan(read(f"{joined(3)} WHERE {long}"), SMALL, epsilon=1)


def test_a_longer_text_inside_counts_outside() -> None:
    inside = f"(SELECT who, replace(note, 'a', '{'b' * 5}') AS g FROM visits)"
    short = make_plan(read("SELECT sum(length(note)) FROM visits"), SMALL, epsilon=1).work.characters
    long = make_plan(read(f"SELECT sum(length(g)) FROM {inside}"), SMALL, epsilon=1).work.characters
    assert long >= short + 10 * 5_000


def test_explain_says_what_one_unit_can_cause() -> None:
    plan = make_plan(read(joined(2)), SMALL, epsilon=1)
    told = plan.sentences[-1]
    assert f"One unit can cause at most {plan.work.rows:,} rows of work" in told
    assert f"{MOST_ROWS:,} are allowed" in told


@pytest.mark.parametrize("sign", ["_", "a"])
def test_a_long_pattern_costs_as_much_as_it_can_look_at(sign: str) -> None:
    """At each of 1,000 places a piece of a pattern is compared as far as it agrees."""

    def characters(length: int) -> int:
        pattern = f"%{'a' * (length - 2)}{sign}b%"
        like = exp.Like(this=exp.column("t", "s"), expression=exp.Literal.string(pattern))
        return effort_of([like], {("s", "t"): 1_000}).characters

    assert characters(400) >= characters(16) + 1_000 * (400 - 16) // (1 if sign == "_" else 8) * 3 // 4
