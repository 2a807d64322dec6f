"""The Spark engine in earnest: registration, exact numbers, failures. Needs pyspark and Java."""

from __future__ import annotations

import datetime
import json
import math
import random
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from tacit.engines import cleaning
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.engines.engine import STALE
from tacit.engines.process import FAILED
from tacit.engines.secret import Secret
from tacit.engines.spark.cleaning import WORDS
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.errors import EngineError, PolicyError
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, RowUnit, Source, Table, Unit, auto
from tacit.policy.cells import cell_of
from tests.engines import spark_tables
from tests.engines.spark_session import MASTER

pytestmark = pytest.mark.spark
SECRET = Secret(bytes(range(32)))
Copy = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Query:
    """A query as an engine wants it."""

    ast: exp.Expr
    key_columns: tuple[str, ...] = ()
    measure_columns: tuple[str, ...] = ("m0",)


def asked(engine: SparkEngine, sql: str, **names: tuple[str, ...]) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """The result of a query in DuckDB's words: key -> measures."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    exact = engine.run(Query(tree, **names))
    return exact.open_for(
        lambda keys, columns: {
            key: tuple(int(column[row]) for column in columns.values()) for row, key in enumerate(keys)
        }
    )


def private(name: str, folder: Path, unit: Unit, kept: int, *columns: Column, ending: str = "parquet") -> Table:
    source = Source("spark", MASTER, str(folder / f"{name}.{ending}"))
    return Table(name, source, unit, kept, {column.name: column for column in columns})


def policy_of(*tables: Table, working_copy: str | None = None) -> Policy:
    return Policy("p", {table.name: table for table in tables}, Budget(3, 1e-6), working_copy=working_copy)


def write(folder: Path, name: str, columns: Mapping[str, Iterable[Any]]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(dict(columns)), folder / f"{name}.parquet")


def copied(policy: Policy, path: Path, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table of a Spark copy."""
    number = list(policy.tables).index(name)
    build = path / json.loads((path / "about.json").read_text())["build"]
    return duckdb.sql(f"SELECT * FROM read_parquet('{build / f'{number}.parquet'}/*.parquet')").fetchall()


# -- bounding ----------------------------------------------------------------------------------------

KEPT = 3


def visits(seed: int) -> list[tuple[int | None, int | None, str | None]]:
    """Units with one row to a dozen, twins among them, and rows of nobody."""
    draw = random.Random(seed)
    rows = [
        (unit, draw.choice([None, 1, 2, 500, -3]), draw.choice(["x", "y", None]))
        for unit in range(40)
        for _ in range(1 + unit % 12)
    ]
    rows += [(None, 5, "x")] * 7
    draw.shuffle(rows)
    return rows


@dataclass(frozen=True)
class Registered:
    """The copies of one folder's three tables, by table and unit; units as the source names them."""

    rows: dict[str, dict[Any, list[tuple[Any, ...]]]] = field(default_factory=dict)


def registered(session: Session, folder: Path, rows: list[tuple[Any, ...]]) -> Registered:
    write(
        folder,
        "visits",
        {
            "who": pa.array([row[0] for row in rows], pa.int64()),
            "name": [None if row[0] is None else f"Ä{row[0]}" for row in rows],
            "n": pa.array([row[1] for row in rows], pa.int32()),
            "t": [row[2] for row in rows],
        },
    )
    tests = [(row[0], place % 4) for place, row in enumerate(sorted(rows, key=str)) if row[0] is not None]
    write(folder, "tests", {"who": [float(row[0]) for row in tests], "r": [row[1] for row in tests]})
    columns = Column("n", "integer", 0, 100), Column("t", "text", values=("x", "y"))
    found = Registered()
    whole = policy_of(
        private("visits", folder, ColumnUnit("who"), KEPT, *columns),
        private("tests", folder, PathUnit("who", "visits", "who"), 2, Column("r", "integer", 0, 3)),
        working_copy=str(folder / "whole"),
    )
    named = policy_of(private("visits", folder, ColumnUnit("name"), KEPT, *columns), working_copy=str(folder / "named"))
    for policy, name, tables in ((whole, "whole", ("visits", "tests")), (named, "named", ("visits",))):
        SparkEngine.register(policy, session=session, secret=SECRET).close()
        for table in tables:
            by_unit: dict[Any, list[tuple[Any, ...]]] = {}
            for unit, *rest in copied(policy, folder / name, table):
                by_unit.setdefault(unit, []).append(tuple(rest))
            found.rows[f"{name} {table}"] = {unit: sorted(rows, key=str) for unit, rows in by_unit.items()}
    return found


@pytest.fixture(scope="module")
def all_rows(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Registered:
    return registered(spark, tmp_path_factory.mktemp("all") / "data", visits(1))


@pytest.mark.parametrize("table", ["whole visits", "named visits"])
def test_of_every_unit_exactly_the_promised_number_of_rows_is_kept(all_rows: Registered, table: str) -> None:
    sizes = Counter(row[0] for row in visits(1) if row[0] is not None)
    kept = all_rows.rows[table]
    assert Counter(len(rows) for rows in kept.values()) == Counter(min(size, KEPT) for size in sizes.values())
    for rows in kept.values():
        assert sorted(rank for rank, *_ in rows) == list(range(1, len(rows) + 1))


def test_what_is_kept_are_rows_of_the_unit_itself_clamped_to_the_grid(all_rows: Registered) -> None:
    source: dict[int, Copy] = {}
    for unit, n, t in visits(1):
        if unit is not None:
            clamped = None if n is None else max(0, min(100, n))
            source.setdefault(unit, Counter())[clamped, t] += 1
    for unit, rows in all_rows.rows["whole visits"].items():
        assert Counter((n, t) for _, n, t in rows) <= source[unit]
    assert set(all_rows.rows["whole visits"]) == set(source)


def test_a_path_gives_rows_to_the_unit_it_leads_to(all_rows: Registered) -> None:
    """The key of `tests` is a double and that of `visits` a whole number: 7.0 is 7."""
    sizes = Counter(row[0] for row in visits(1) if row[0] is not None)
    assert {unit: len(rows) for unit, rows in all_rows.rows["whole tests"].items()} == {
        unit: min(size, 2) for unit, size in sizes.items()
    }


def test_what_is_kept_of_a_unit_depends_on_that_units_rows_alone(
    spark: Session, all_rows: Registered, tmp_path: Path
) -> None:
    gone = {3, 11, 23, 35}
    fewer = registered(spark, tmp_path / "data", [row for row in reversed(visits(1)) if row[0] not in gone])
    before = {unit: rows for unit, rows in all_rows.rows["whole visits"].items() if unit not in gone}
    assert fewer.rows["whole visits"] == before
    # names of units are arbitrary numbers: what each holds is compared
    dropped = Counter(str(rows) for unit, rows in all_rows.rows["whole visits"].items() if unit in gone)
    assert len(fewer.rows["named visits"]) == len(all_rows.rows["named visits"]) - len(gone)
    more = Counter(str(rows) for rows in all_rows.rows["named visits"].values())
    less = Counter(str(rows) for rows in fewer.rows["named visits"].values())
    assert less <= more
    assert sum((more - less).values()) == sum(dropped.values())


def test_another_secret_keeps_other_rows(spark: Session, tmp_path: Path) -> None:
    write(tmp_path, "visits", {"who": [1] * 200 + [2] * 200, "n": list(range(200)) * 2})
    kept = []
    for secret in (SECRET, SECRET, Secret(bytes(32))):
        policy = policy_of(
            private("visits", tmp_path, ColumnUnit("who"), 5, Column("n", "integer", 0, 199)),
            working_copy=str(tmp_path / f"copy{len(kept)}"),
        )
        SparkEngine.register(policy, session=spark, secret=secret).close()
        kept.append(Counter(copied(policy, tmp_path / f"copy{len(kept)}", "visits")))
    assert kept[0] == kept[1]
    assert kept[0] != kept[2]  # by chance the same with probability below 1e-18


# -- cleaning ----------------------------------------------------------------------------------------

DAY = datetime.date
TIME = datetime.datetime
SOURCES: dict[str, pa.Array] = {
    "double": pa.array(
        [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e18, 9.3e18, -1e300, math.nan, math.inf, None]
    ),
    "float": pa.array([0.5, -1.5, 2.5, math.nan, -math.inf, None], pa.float32()),
    "bigint": pa.array([0, 1, -1, 2**62, -(2**63), 2**63 - 1, 2**53 + 1, None]),
    "tiny": pa.array([0, 1, -128, 127, None], pa.int8()),
    "decimal": pa.array([Decimal("0.50"), Decimal("-1.25"), Decimal("99.99"), None], pa.decimal128(10, 2)),
    "number text": pa.array(["12", "-7", " 5 ", "1.5", "-1.5", "1e3", "99999999999999999999", "x", "", None]),
    "real text": pa.array(["0.25", "-1e-3", "nan", "inf", "-Infinity", "1e400", "1,5", "", None]),
    "truth": pa.array([True, False, None]),
    "truth text": pa.array(["true", "false", "T", "f", "1", "0", "maybe", "", None]),
    "date": pa.array([DAY(1, 1, 1), DAY(1500, 3, 1), DAY(1582, 10, 10), DAY(1970, 1, 1), DAY(9999, 12, 31), None]),
    "time": pa.array(
        [
            TIME(1, 1, 1),
            TIME(1582, 10, 10, 1, 2, 3, 4),
            TIME(1969, 12, 31, 23, 59, 59, 999999),
            TIME(9999, 12, 31),
            None,
        ],
        pa.timestamp("us"),
    ),
    "zoned": pa.array(
        [TIME(1, 1, 1), TIME(1900, 1, 1, 0, 0, 0, 1), TIME(2024, 3, 31, 1, 30), None], pa.timestamp("us", "UTC")
    ),
    "date text": pa.array(["2024-02-29", "2023-02-29", "0001-01-01", "1582-10-10", "no", "", None]),
    "time text": pa.array(
        ["2024-02-29 12:30:00", "2024-02-29T12:30:00+02:00", "1582-10-10 00:00:00", "25:00", "", None]
    ),
    "text": pa.array(["a", "O'Hara", "a\\b", "${x}", "日本", "", "\x00", None]),
}
CASES = [
    *((source, Column("v", "integer", -100, 100)) for source in ("double", "bigint", "tiny", "number text", "truth")),
    *((source, Column("v", "integer", outside="drop")) for source in ("double", "bigint", "number text")),
    ("float", Column("v", "integer", -1, 1, outside="drop")),
    ("bigint", Column("v", "integer", values=(1, -1, 2**53 + 1))),
    *(
        (source, Column("v", "real", Fraction(-2), Fraction(100)))
        for source in ("double", "float", "bigint", "decimal")
    ),
    ("real text", Column("v", "real", Fraction(-2), Fraction("0.3"), outside="drop")),
    *((source, Column("v", "boolean")) for source in ("truth", "truth text", "bigint", "double")),
    *((source, Column("v", "date")) for source in ("date", "time", "zoned", "date text")),
    ("date", Column("v", "date", DAY(1582, 1, 1), DAY(2000, 1, 1))),
    *((source, Column("v", "timestamp")) for source in ("date", "time", "zoned", "time text")),
    ("text", Column("v", "text")),
    ("text", Column("v", "text", values=("O'Hara", "a\\b", "${x}", ""))),
    ("bigint", Column("v", "text")),
    ("date", Column("v", "text")),
]


def test_columns_are_cleaned_as_duckdb_cleans_them(spark: Session, tmp_path: Path) -> None:
    """Every kind of source, read as every kind that a policy can state, by both engines from one file."""
    longest = max(map(len, SOURCES.values()))
    padded = {
        name: pa.concat_arrays([each, pa.nulls(longest - len(each), each.type)]) for name, each in SOURCES.items()
    }
    held = {f"c{place}": padded[source] for place, (source, _) in enumerate(CASES)}
    write(tmp_path, "t", {"who": list(range(longest)), **held})
    columns = {f"c{place}": replace(column, name=f"c{place}") for place, (_, column) in enumerate(CASES)}
    path = str(tmp_path / "t.parquet")
    ours, theirs = (
        policy_of(
            Table("t", source, ColumnUnit("who"), 1, columns), working_copy=str(tmp_path / f"copy {source.format}")
        )
        for source in (Source("spark", MASTER, path), Source("parquet", path))
    )
    SparkEngine.register(ours, session=spark, secret=SECRET).close()
    DuckDBEngine.register(theirs, secret=SECRET).close()
    with duckdb.connect(str(tmp_path / "copy parquet"), read_only=True) as connection:
        expected = sorted(connection.execute('SELECT * FROM tacit_copy."t"').fetchall())
    found = sorted(copied(ours, tmp_path / "copy spark", "t"))
    assert len(found) == len(expected) == longest
    differing = {
        f"{source} as {column.kind}, {SOURCES[source][row]}": (mine[2 + place], other[2 + place])
        for row, (mine, other) in enumerate(zip(found, expected, strict=True))
        for place, (source, column) in enumerate(CASES)
        if mine[2 + place] != other[2 + place]
    }
    assert differing == {}


@pytest.mark.parametrize(
    ("column", "source", "values"),
    [
        (
            auto().column("v", "real"),
            "DOUBLE",
            [0.0, 5e-324, -(2.0**-64), 2.0**-63, -0.75, 1.0, 2.0**65, -(2.0**66), 1e300, math.nan, math.inf],
        ),
        (auto().column("v", "integer"), "BIGINT", [0, 1, -1, 2**52 - 1, 2**52, -(2**62), 2**63 - 1, -(2**63)]),
        (auto().column("v", "integer"), "VARCHAR", [0, -1, 2**63, -(2**64), 2**65 - 1, 2**66, 10**30]),
    ],
)
def test_without_bounds_a_number_is_held_as_its_power_of_two(
    spark: Session, column: Column, source: str, values: list[Any]
) -> None:
    """As on every engine; a policy cannot ask for it on Spark."""
    kind = "STRING" if source == "VARCHAR" else source
    constants = [*(f"CAST('{value!r}' AS {kind})" for value in values), f"CAST(NULL AS {kind})"]
    rows = ", ".join(f"({place}, {each})" for place, each in enumerate(constants))
    typed = cleaning.read(column, source, "v", WORDS)
    bounded = cleaning.bound(column, "v", WORDS)
    sql = f"SELECT {bounded} FROM (SELECT i, {typed} AS v FROM VALUES {rows} AS t(i, v)) ORDER BY i"
    found = [value for (value,) in spark_tables.command(spark, sql)]
    assert found == [*(cell_of(Fraction(value)) if math.isfinite(value) else None for value in values), None]


def test_bytes_that_are_no_text_do_not_fail_on_their_way_out(spark: Session, tmp_path: Path) -> None:
    broken = pa.array([b"ok", b"\xff\xfe", b"\xc3"], pa.binary()).cast(pa.string(), safe=False)
    write(tmp_path, "t", {"v": broken})
    policy = policy_of(private("t", tmp_path, RowUnit(), 1, Column("v", "text")))
    with SparkEngine.register(policy, session=spark) as engine:
        sql = 'SELECT "t"."v" AS k0, count(*) AS m0 FROM tacit_copy."t" AS "t" GROUP BY 1'
        found = asked(engine, sql, key_columns=("k0",))
    assert found[("ok",)] == (1,)
    assert sum(count for (count,) in found.values()) == 3


def test_csv_is_text_throughout_and_a_quoted_delimiter_divides_nothing(spark: Session, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('who,v\n1,"a,2,b"\n3,"say ""hi"""\n007,\n', encoding="utf-8")
    policy = policy_of(
        private("t", tmp_path, ColumnUnit("who"), 1, Column("v", "text"), ending="csv"),
        working_copy=str(tmp_path / "c"),
    )
    with SparkEngine.register(policy, session=spark) as engine:
        assert engine.schema() == {"t": {"who": "text", "v": "text"}}
    assert Counter(row[2] for row in copied(policy, tmp_path / "c", "t")) == Counter(["a,2,b", 'say "hi"', None])


# -- exact numbers -----------------------------------------------------------------------------------

LARGE = [2**62, -(2**62), 2**62 - 1, 2**61 + 12345, 3, 0, -1, 2**53 + 1]


@pytest.fixture(scope="module")
def numbers(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterable[SparkEngine]:
    folder = tmp_path_factory.mktemp("numbers")
    write(folder, "t", {"who": list(range(len(LARGE))), "a": LARGE, "b": [7, -7, 1000, -3, 1, 5, 2, 2**40]})
    columns = Column("a", "integer", -(2**62), 2**62), Column("b", "integer", -(2**62), 2**62)
    policy = policy_of(private("t", folder, ColumnUnit("who"), 1, *columns))
    with SparkEngine.register(policy, session=spark) as engine:
        yield engine


def test_sums_beyond_64_bits_are_exact(numbers: SparkEngine) -> None:
    sql = 'SELECT sum("t"."a") AS m0, sum(CAST("t"."a" AS INT128) * "t"."b") AS m1 FROM tacit_copy."t" AS "t"'
    others = [7, -7, 1000, -3, 1, 5, 2, 2**40]
    products = sum(a * b for a, b in zip(LARGE, others, strict=True))
    assert asked(numbers, sql, measure_columns=("m0", "m1")) == {(): (sum(LARGE), products)}


@pytest.mark.parametrize("divisor", [1, 3, -7, 10, 2**40 + 1, 2**62])
def test_division_and_remainder_below_two_to_the_hundred_are_exact(numbers: SparkEngine, divisor: int) -> None:
    """a << 37 is below 2**100 in size; both cut towards zero."""
    wide = f'(CAST("t"."a" AS INT128) * {2**37})'
    by = f"CAST({divisor} AS BIGINT)"
    sql = (
        f'SELECT "t"."b" AS k0, sum({wide} // {by}) AS m0, sum({wide} % {by}) AS m1, sum("t"."a" // {by}) AS m2, '
        f'sum({wide} // {by} // 5) AS m3 FROM tacit_copy."t" AS "t" GROUP BY 1'
    )
    found = asked(numbers, sql, key_columns=("k0",), measure_columns=("m0", "m1", "m2", "m3"))

    def cut(a: int, b: int) -> int:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    for a, b in zip(LARGE, [7, -7, 1000, -3, 1, 5, 2, 2**40], strict=True):
        x = a << 37
        quotient = cut(x, divisor)
        assert found[(b,)] == (quotient, x - quotient * divisor, cut(a, divisor), cut(quotient, 5))


def test_no_row_means_zero(numbers: SparkEngine) -> None:
    sql = 'SELECT sum("t"."a") AS m0, count(*) AS m1 FROM tacit_copy."t" AS "t" WHERE "t"."b" = 12345'
    assert asked(numbers, sql, measure_columns=("m0", "m1")) == {(): (0, 0)}


def test_nothing_raises_on_a_row(numbers: SparkEngine) -> None:
    """With ANSI mode these would fail: a division by zero, a cast that overflows, a sum that wraps."""
    sql = (
        'SELECT sum("t"."a" // ("t"."b" - "t"."b")) AS m0, count(CAST("t"."a" AS SMALLINT)) AS m1, '
        'count("t"."a" + "t"."a" + "t"."a") AS m2 FROM tacit_copy."t" AS "t"'
    )
    assert set(asked(numbers, sql, measure_columns=("m0", "m1", "m2"))) == {()}


# -- failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT no_such_function("t"."a") AS m0 FROM tacit_copy."t" AS "t"',
        'SELECT raise_error("t"."a") AS m0 FROM tacit_copy."t" AS "t"',
        'SELECT "t"."a" / 2 AS m0 FROM tacit_copy."t" AS "t"',
        'SELECT count(*) AS m1 FROM tacit_copy."t" AS "t"',
    ],
)
def test_every_failure_has_the_one_fixed_text(
    numbers: SparkEngine, sql: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EngineError) as failed:
        asked(numbers, sql)
    assert str(failed.value) == FAILED
    assert failed.value.__cause__ is None
    shown = capfd.readouterr()
    assert shown.out + shown.err == ""
    assert asked(numbers, 'SELECT count(*) AS m0 FROM tacit_copy."t" AS "t"') == {(): (len(LARGE),)}


def test_a_command_is_not_run(numbers: SparkEngine) -> None:
    for command in ("DROP VIEW x", "SET spark.sql.ansi.enabled = true"):
        with pytest.raises(EngineError, match="could not answer"):
            numbers.run(Query(exp.Command(this=command)))


def test_a_query_beyond_its_time_is_cancelled_and_the_next_one_finds_a_fresh_session(
    spark: Session, numbers: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = spark.worker.pid
    monkeypatch.setattr(spark, "limits", replace(spark.limits, seconds=3.0))
    table = 'tacit_copy."t" AS '
    endless = f'SELECT count(*) AS m0 FROM {table}"a"' + "".join(f' CROSS JOIN {table}"a{n}"' for n in range(14))
    with pytest.raises(EngineError) as failed:
        asked(numbers, endless + ' WHERE "a"."a" + "a1"."a" + "a13"."a" <> 7')
    assert str(failed.value) == FAILED
    monkeypatch.undo()
    assert asked(numbers, 'SELECT count(*) AS m0 FROM tacit_copy."t" AS "t"') == {(): (len(LARGE),)}
    assert spark.worker.pid != process


# -- the copy ----------------------------------------------------------------------------------------


def test_the_copy_is_the_owners_alone_is_used_again_and_made_again_when_a_source_changes(
    spark: Session, tmp_path: Path
) -> None:
    write(tmp_path, "t", {"who": [1, 1, 2], "v": [1, 2, 3]})
    path = tmp_path / "copy"
    policy = policy_of(
        private("t", tmp_path, ColumnUnit("who"), 2, Column("v", "integer", 0, 9)), working_copy=str(path)
    )
    steps: list[tuple[str, int, int]] = []
    with SparkEngine.register(policy, session=spark, progress=lambda *step: steps.append(step)) as engine:
        assert steps == [("t", 0, 1), ("t", 1, 1)]
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.with_name("copy.secret").stat().st_mode) == 0o600
        about = json.loads((path / "about.json").read_text())
        assert set(about) == {"version", "digest", "fingerprint", "schema", "files", "refreshed", "build"}
        assert {each.name for each in path.iterdir()} == {"about.json", about["build"]}
        assert {each.name for each in tmp_path.iterdir()} == {"t.parquet", "copy", "copy.lock", "copy.secret"}
        before = engine.fingerprint()
        SparkEngine.register(policy, session=spark, progress=lambda *step: steps.append(step)).close()
        assert len(steps) == 2
        write(tmp_path, "t", {"who": [1, 1, 2], "v": [1, 2, 4]})
        assert engine.is_stale()
        assert engine.fingerprint() != before
        with pytest.raises(EngineError, match=STALE.split(".")[0]):
            asked(engine, 'SELECT count(*) AS m0 FROM tacit_copy."t" AS "t"')
    with SparkEngine.register(policy, session=spark) as engine:
        assert asked(engine, 'SELECT sum("t"."v") AS m0 FROM tacit_copy."t" AS "t"') == {(): (7,)}
    path.chmod(0o755)
    with pytest.raises(EngineError, match="chmod 700"):
        SparkEngine.register(policy, session=spark)


def test_a_folder_that_is_no_copy_is_never_replaced(spark: Session, tmp_path: Path) -> None:
    write(tmp_path, "t", {"who": [1], "v": [1]})
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("irreplaceable")
    policy = policy_of(
        private("t", tmp_path, ColumnUnit("who"), 1, Column("v", "integer", 0, 9)), working_copy=str(mine)
    )
    with pytest.raises(PolicyError, match="is no working copy"):
        SparkEngine.register(policy, session=spark)
    assert (mine / "thesis.txt").read_text() == "irreplaceable"


def test_a_copy_in_memory_goes_with_its_engine_and_a_missing_source_is_said_in_words(
    spark: Session, tmp_path: Path
) -> None:
    write(tmp_path, "t", {"who": [1], "v": [1]})
    policy = policy_of(private("t", tmp_path, ColumnUnit("who"), 1, Column("v", "integer", 0, 9)))
    engine = SparkEngine.register(policy, session=spark)
    folder = Path(next(iter(engine._folders.values()))[0]).parent
    assert folder.exists()
    engine.close()
    assert not folder.exists()
    (tmp_path / "t.parquet").unlink()
    with pytest.raises(EngineError, match="The source of table 't' cannot be read"):
        SparkEngine.register(policy, session=spark)
