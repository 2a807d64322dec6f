"""Joins with anchors give the rows of the same joins without them, in every kind of join, on rows with every trap."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace

import duckdb
import pytest
from sqlglot import exp, parse_one

from tacit.plan.sources.anchors import Source, Tie, put_together

KINDS = (None, "LEFT", "RIGHT", "FULL")
# a unit that is 0 as the anchors' is, keys that are NULL, 0 and '' as the anchors' constants are
ROWS = [
    (unit, number, word)
    for unit, number, word in itertools.product((0, 1, 2**62), (0, 7, None), ("", "a", None))
    if (unit, number) != (1, 7)
]


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    """Three tables of the same columns, each with about half of the rows, and one with none."""
    draw = random.Random(11)
    connection = duckdb.connect()
    for name in "abcd":
        connection.execute(f"CREATE TABLE {name} (tacit_unit BIGINT, x BIGINT, w VARCHAR)")
        chosen = [row for row in ROWS if draw.random() < 0.5] if name != "d" else []
        if chosen:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", chosen)
    return connection


def expression(text: str) -> exp.Expr:
    return parse_one(text, read="duckdb")


def source(name: str, side: str | None, parts: list[str], near: str, optional: bool) -> Source:
    ties = tuple(Tie(expression(part), text=".w" in part) for part in parts)
    return Source(name, exp.to_table(name), side, ties, near, optional)


def ends(kinds: tuple[str | None, ...], names: str) -> dict[str, bool]:
    """Which of the sources an outer join can leave empty."""
    found: dict[str, bool] = {names[0]: False}
    for name, kind in zip(names[1:], kinds, strict=True):
        if kind in ("RIGHT", "FULL"):
            found = dict.fromkeys(found, True)
        found[name] = kind in ("LEFT", "FULL")
    return found


def both(
    tables: duckdb.DuckDBPyConnection, names: str, kinds: tuple[str | None, ...], on: list[list[str]], where: str | None
) -> tuple[Counter[object], Counter[object]]:
    shown = [f"{name}.{column}" for name in names for column in ("tacit_unit", "x", "w")]
    optional = ends(kinds, names)
    sources = [source(names[0], None, [], "", optional[names[0]])]
    for name, kind, parts in zip(names[1:], kinds, on, strict=True):
        sources.append(source(name, kind, parts, parts[0].split(".")[0], optional[name]))
    query = put_together(
        sources,
        [exp.alias_(expression(each), f"c{place}") for place, each in enumerate(shown)],
        None if where is None else expression(where),
    )
    joins = " ".join(
        f"{kind or ''} JOIN {name} ON {' AND '.join(parts)}"
        for name, kind, parts in zip(names[1:], kinds, on, strict=True)
    )
    plain = f"SELECT {', '.join(shown)} FROM {names[0]} {joins}" + (f" WHERE {where}" if where else "")
    found = Counter(tables.execute(query.sql(dialect="duckdb")).fetchall())
    return found, Counter(tables.execute(plain).fetchall())


UNITS = "a.tacit_unit = {0}.tacit_unit"
CONDITIONS = [
    [],
    ["a.x = {0}.x"],
    ["{0}.w = a.w", "a.x < {0}.x"],
    ["a.x + 1 = {0}.x", "{0}.x IS NULL"],
]
WHERES = [None, "a.x = 7", "a.x IS NULL", "b.x IS NULL AND a.w <> 'b'", "a.x + b.x > 3 OR b.w = 'a'", "b.w = 'none'"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", ["b", "d"])
def test_two_sources_give_the_same_rows_with_anchors(
    tables: duckdb.DuckDBPyConnection, kind: str | None, other: str
) -> None:
    for more, where in itertools.product(CONDITIONS, WHERES):
        on = [part.format(other) for part in (UNITS, *more)]
        condition = None if where is None else where.replace("b.", f"{other}.")
        found, plain = both(tables, f"a{other}", (kind,), [on], condition)
        assert found == plain, (kind, on, condition)


@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS)))
def test_three_sources_give_the_same_rows_with_anchors(
    tables: duckdb.DuckDBPyConnection, kinds: tuple[str | None, str | None]
) -> None:
    for more, where in itertools.product(CONDITIONS[1:3], WHERES[3:]):
        first = [part.format("b") for part in (UNITS, *more)]
        second = ["b.tacit_unit = c.tacit_unit", *(part.format("c") for part in more)]
        found, plain = both(tables, "abc", kinds, [first, second], where)
        assert found == plain, (kinds, more, where)


@pytest.mark.parametrize("listed", ["a", "d"])
@pytest.mark.parametrize("negated", ["", "NOT "])
def test_a_list_of_units_gives_the_same_rows_as_a_join(
    tables: duckdb.DuckDBPyConnection, listed: str, negated: str
) -> None:
    where = f"{negated}b.tacit_unit IN (SELECT tacit_unit FROM {listed} WHERE {listed}.x = 0) AND b.w = 'a'"
    query = put_together([source("b", None, [], "", False)], [expression("count(*)")], expression(where))
    assert not list(query.find_all(exp.In))
    plain = tables.execute(f"SELECT count(*) FROM b WHERE {where}").fetchall()
    assert tables.execute(query.sql(dialect="duckdb")).fetchall() == plain


def test_one_source_is_left_as_it_is(tables: duckdb.DuckDBPyConnection) -> None:
    query = put_together([source("a", None, [], "", False)], [expression("count(*)")], expression("a.x = 7"))
    assert query.sql() == "SELECT COUNT(*) FROM a WHERE a.x = 7"


def test_a_list_of_units_in_on_and_another_in_where_name_their_own_lists(tables: duckdb.DuckDBPyConnection) -> None:
    # what stands inside a SELECT has names of its own, which may be those of sources outside
    outside = "a.tacit_unit IN (SELECT tacit_unit FROM c WHERE c.x = 0)"
    inside = put_together(
        [source("b", None, [], "", False)],
        [expression("b.tacit_unit")],
        expression("b.tacit_unit IN (SELECT tacit_unit FROM a WHERE a.w = 'a') AND b.x = 0"),
    )
    tie = Tie(exp.In(this=expression("a.tacit_unit"), query=inside.subquery()))
    joined = replace(
        source("b", "LEFT", ["a.tacit_unit = b.tacit_unit"], "a", True),
        ties=(Tie(expression("a.tacit_unit = b.tacit_unit")), tie),
    )
    query = put_together([source("a", None, [], "", False), joined], [expression("count(b.x)")], expression(outside))
    plain = (
        "SELECT count(b.x) FROM a LEFT JOIN b ON a.tacit_unit = b.tacit_unit AND a.tacit_unit IN (SELECT b.tacit_unit "
        "FROM b WHERE b.x = 0 AND b.tacit_unit IN (SELECT tacit_unit FROM a WHERE a.w = 'a')) WHERE " + outside
    )
    assert tables.execute(query.sql(dialect="duckdb")).fetchall() == tables.execute(plain).fetchall()
