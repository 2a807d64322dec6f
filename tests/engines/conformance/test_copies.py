"""The working copy itself, on every engine: units are cut to their bound, and one unit's rows decide about it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import sqlglot
from scipy import stats

from tacit.engines.secret import Secret
from tacit.plan import make_plan
from tacit.policy import Source
from tacit.question import read
from tests.engines.conformance.engines import Opened, content, on_duckdb, on_postgres
from tests.engines.conformance.tables import PEOPLE, TABLES, VISITS, Row, Rows, policy
from tests.postgres_server import Server

SECRET = Secret(bytes(range(32)))
Copies = Callable[..., Any]


@dataclass(frozen=True)
class Query:
    """A query over the copy, written by hand."""

    ast: Any
    key_columns: tuple[str, ...]
    measure_columns: tuple[str, ...] = ("m",)
    few: bool = False


def asking(sql: str, *keys: str) -> Query:
    return Query(sqlglot.parse_one(sql, dialect="duckdb"), keys)


ALL = asking(
    'SELECT t.tacit_unit AS u, t.tacit_rank AS r, t."age" AS age, t."ward" AS ward, t."score" AS score, '
    'count(*) AS m FROM tacit_copy."visits" AS t GROUP BY 1, 2, 3, 4, 5',
    *("u", "r", "age", "ward", "score"),
)


@pytest.fixture(params=["duckdb", "postgres", "postgres without a copy"])
def copy_of(request: pytest.FixtureRequest) -> Copies:
    """What an engine's copy of these visits holds: (unit, rank, age, ward, score), counted."""
    where: Callable[..., Any] = on_duckdb
    working_copy = None
    if request.param != "duckdb":
        server: Server = request.getfixturevalue("postgres")
        name = f"copies_{abs(hash(request.node.name)):x}"
        server.drop(name)
        where = partial(on_postgres, server.database(name))
        working_copy = "query" if "without" in request.param else "copied"

    def copied(rows: Sequence[Row], kept: int, secret: Secret = SECRET, key: str | None = None) -> Counter[Any]:
        tables = {"visits": Rows(TABLES["visits"].types, rows)}

        def stated(source: Callable[[str], Source]) -> Any:
            made = policy(source, "visits", kept=kept, working_copy=working_copy)
            return replace(made, tables={"visits": replace(made.tables["visits"], key=key)})

        with where(tables, stated, secret) as (engine, _):
            return Counter({cell: numbers[0] for cell, numbers in content(engine, ALL).items()})

    return copied


def rows_of(units: range, each: int) -> list[Row]:
    """That many different rows of every unit, and every third of them twice."""
    base = next(row for row in VISITS if row["level"] == 1)
    return [
        {**base, "pid": unit, "age": 1 + place, "ward": f"ward {place % 2}"}
        for unit in units
        for place in range(each)
        for _ in range(1 + (place % 3 == 0))
    ]


def test_exactly_rows_per_unit_rows_of_each_unit_are_kept_with_ranks_from_one(copy_of: Copies) -> None:
    rows = rows_of(range(20), 4) + rows_of(range(20, 25), 1)  # six rows each, and two
    found = copy_of(rows, 3)
    ranks: dict[int, list[int]] = {}
    for unit, rank, *_ in found.elements():
        ranks.setdefault(unit, []).append(rank)
    assert {unit: sorted(each) for unit, each in ranks.items()} == {
        unit: [1, 2, 3] if unit < 20 else [1, 2] for unit in range(25)
    }
    there = Counter((row["pid"], row["age"], row["ward"]) for row in rows)
    assert all(count <= there[cell] for cell, count in Counter((r[0], r[2], r[3]) for r in found.elements()).items())


def test_without_one_unit_every_other_units_rows_and_ranks_stay(copy_of: Copies) -> None:
    rows = rows_of(range(30), 5)
    before = copy_of(rows, 2)
    for gone in (0, 7, 29):
        after = copy_of([row for row in reversed(rows) if row["pid"] != gone], 2)
        assert after == Counter({row: count for row, count in before.items() if row[0] != gone})


def test_of_the_rows_of_a_unit_that_share_the_tables_key_one_is_kept(copy_of: Copies) -> None:
    rows = rows_of(range(20), 4)  # ages 1 and 4 twice, 2 and 3 once; wards "ward 0" and "ward 1"
    found = copy_of(rows, 9, key="ward")
    assert Counter((row[0], row[3]) for row in found.elements()) == Counter(
        {(unit, ward): 1 for unit in range(20) for ward in ("ward 0", "ward 1")}
    )
    assert {row[1] for row in found} == {1, 2}
    gone = copy_of([row for row in rows if row["pid"] != 3], 9, key="ward")
    assert gone == Counter({row: count for row, count in found.items() if row[0] != 3})


def test_what_is_kept_follows_the_secret(copy_of: Copies) -> None:
    rows = rows_of(range(40), 5)
    assert copy_of(rows, 1) == copy_of(rows, 1)
    # The same choice among eight rows for all of 40 units has a chance below (1/4)**40.
    assert copy_of(rows, 1) != copy_of(rows, 1, Secret(bytes(32)))


@pytest.mark.statistical
def test_every_order_of_a_units_rows_is_equally_likely_on_postgresql(postgres: Server) -> None:
    """Chi-square of 6 orders over 6,000 units, refused at 1e-9: that is the false-alarm rate."""
    base = next(row for row in VISITS if row["level"] == 1)
    rows = [{**base, "pid": unit, "age": age} for unit in range(6_000) for age in (1, 2, 3)]
    tables = {"visits": Rows(TABLES["visits"].types, rows)}
    address = postgres.database("orders")
    query = asking(
        'SELECT t.tacit_rank AS r, t."age" AS a, u."age" AS b, count(*) AS m FROM tacit_copy."visits" AS t '
        'JOIN tacit_copy."visits" AS u ON u.tacit_unit = t.tacit_unit AND u.tacit_rank = t.tacit_rank + 1 '
        "WHERE t.tacit_rank = 1 GROUP BY 1, 2, 3",
        *("r", "a", "b"),
    )
    with on_postgres(address, tables, lambda source: policy(source, "visits", working_copy="copied")) as (engine, _):
        counts = [numbers[0] for numbers in content(engine, query).values()]
    assert len(counts) == 6
    assert sum(counts) == 6_000
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < stats.chi2.isf(1e-9, 5)


def test_a_question_for_fewer_rows_reads_that_many_of_each_unit(opened: Opened) -> None:
    engine, stated = opened
    people = Counter(row["pid"] for row in VISITS if row["pid"] is not None and row["level"] in (1, 2, 5))
    assert len(people) > PEOPLE / 2
    for most in (1, 2, 3):
        plan = make_plan(read("SELECT count(*) FROM visits"), stated, epsilon=1, rows_per_unit=most)
        assert content(engine, plan.query) == {(): (sum(min(count, most) for count in people.values()),)}


def test_sums_are_exact_beyond_64_bits(opened: Opened) -> None:
    engine, _ = opened
    kept = [row["big"] for row in VISITS if row["pid"] is not None and row["level"] in (1, 2, 5) and row["big"]]
    narrow = asking(
        'SELECT coalesce(sum(t."big"), CAST(0 AS INT128)) AS m FROM tacit_copy."visits" AS t WHERE t."big" > 0'
    )
    assert content(engine, narrow) == {(): (sum(x for x in kept if x > 0),)}
    assert sum(x for x in kept if x > 0) > 2**64
    wide = asking('SELECT sum(CAST(t."big" AS INT128) * CAST(1000003 AS INT128)) AS m FROM tacit_copy."visits" AS t')
    assert content(engine, wide) == {(): (sum(kept) * 1_000_003,)}


def test_wide_numbers_are_divided_towards_zero(opened: Opened) -> None:
    engine, _ = opened
    kept = [row["big"] for row in VISITS if row["pid"] is not None and row["level"] in (1, 2, 5) and row["big"]]
    for divisor in (7, -7, 2**40 + 1):
        sql = f'SELECT sum((CAST(t."big" AS INT128) * 1000) // {divisor}) AS m FROM tacit_copy."visits" AS t'
        truth = sum(abs(x * 1000) // abs(divisor) * (1 if (x < 0) == (divisor < 0) else -1) for x in kept)
        assert content(engine, asking(sql)) == {(): (truth,)}
        rest = sql.replace("//", "%")
        assert content(engine, asking(rest)) == {(): (sum(x * 1000 for x in kept) - truth * divisor,)}


def test_sums_of_units_are_divided_as_the_wide_numbers_they_are(opened: Opened) -> None:
    engine, _ = opened
    totals: Counter[int] = Counter()
    for row in VISITS:
        if row["pid"] is not None and row["level"] in (1, 2, 5):
            totals[row["pid"]] += row["big"] or 0
    inner = 'SELECT t.tacit_unit AS u, coalesce(sum(t."big"), CAST(0 AS INT128)) AS s FROM tacit_copy."visits" AS t'
    query = asking(f"SELECT sum(CAST(d.s AS INT128) // 7) AS m, sum(d.s % 7) AS r FROM ({inner} GROUP BY 1) AS d")
    truth = sum(abs(total) // 7 * (1 if total > 0 else -1) for total in totals.values())
    assert content(engine, query) == {(): (truth,)}
    plain = asking(f"SELECT sum(d.s // 7) AS m FROM ({inner} GROUP BY 1) AS d")
    assert content(engine, plain) == {(): (truth,)}


@pytest.mark.parametrize("name", ["duckdb", "postgres", "postgres without a copy"])
def test_units_named_by_text_are_bounded_like_others(name: str, request: pytest.FixtureRequest) -> None:
    where: Callable[..., Any] = on_duckdb
    if name != "duckdb":
        server: Server = request.getfixturevalue("postgres")
        where = partial(on_postgres, server.database("text_units_" + name.replace(" ", "_")))
    working_copy = {"duckdb": None, "postgres": "people_copy"}.get(name, "query")
    people = Counter(row["name"] for row in TABLES["people"].rows if row["name"] is not None)
    for kept in (1, 2):

        def stated(source: Callable[[str], Source], kept: int = kept) -> Any:
            return policy(source, "people", kept=kept, working_copy=working_copy)

        with where({"people": TABLES["people"]}, stated) as (engine, made):
            plan = make_plan(read("SELECT count(*), count(DISTINCT name) FROM people"), made, epsilon=1)
            rows = sum(min(count, kept) for count in people.values())
            (found,) = content(engine, plan.query).values()
            assert set(found) == {rows, len(people)}
