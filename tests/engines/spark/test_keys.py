"""Units on Spark are one where Spark says that they are equal, for every type it has; or the type is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tacit.engines import cleaning
from tacit.engines.secret import Secret
from tacit.engines.spark import describing
from tacit.engines.spark import keys as spark_keys
from tacit.engines.spark.cleaning import WORDS
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.errors import PolicyError, TacitError
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Table
from tests.engines.spark.test_engine import copied
from tests.engines.spark_session import MASTER
from tests.engines.spark_tables import command

SECRET = Secret(bytes(range(32)))

# For each type, values of which some are equal and written differently. Spark counts how many there are.
KEPT = {
    "TINYINT": "1Y, 1Y, 2Y",
    "INT": "7, 07, -7",
    "BIGINT": "7L, 9223372036854775807L, 9223372036854775806L, 9007199254740993L, 9007199254740992L",
    "DECIMAL(20,0)": "CAST('7' AS DECIMAL(20,0)), CAST('7.0' AS DECIMAL(20,0)), CAST('-0' AS DECIMAL(20,0)), "
    "CAST('0' AS DECIMAL(20,0)), CAST('12345678901234567890' AS DECIMAL(20,0))",
    "DOUBLE": "0D, -0D, 7.0D, 7D, 0.1D, 1e-1D, 9007199254740991D, -1.5D",
    "FLOAT": "CAST(0 AS FLOAT), CAST('-0.0' AS FLOAT), CAST(0.1 AS FLOAT), CAST(16777215 AS FLOAT), "
    "CAST('1E-1' AS FLOAT)",
    "STRING": "'a', 'A', 'a ', ' a', 'ä', 'a\\u0308', 'ß', 'ss', '', CAST(X'FF' AS STRING), CAST(X'FE' AS STRING)",
    "VARCHAR(9)": "'a', 'a ', 'A'",
    "CHAR(9)": "'a', 'a ', 'a   ', 'A', ' a', ''",
    "BOOLEAN": "true, false, CAST('t' AS BOOLEAN), CAST('no' AS BOOLEAN)",
    "BINARY": "X'00', X'FF', X'FE', X'', CAST('a' AS BINARY), X'61', X'EFBFBD'",
    "DATE": "DATE'2024-02-29', CAST('2024-2-29' AS DATE), DATE'0001-01-01', DATE'1582-10-10', DATE'-0005-01-01'",
    "TIMESTAMP": "TIMESTAMP'2024-01-01 12:00:00 UTC', TIMESTAMP'2024-01-01 14:00:00+02:00', "
    "TIMESTAMP'2024-01-01 12:00:00.000001 UTC', TIMESTAMP'0001-01-01 00:00:00 UTC'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2024-01-01 12:00:00', TIMESTAMP_NTZ'2024-01-01 12:00:00.000', "
    "TIMESTAMP_NTZ'2024-01-01 12:00:00.000001'",
}
REFUSED = {
    "STRING COLLATE UTF8_LCASE": ("'Ann', 'ann', 'ANN', 'bob'", "collate UTF8_LCASE.*written differently"),
    "STRING COLLATE UNICODE_CI": ("'Ann', 'ann'", "collate UNICODE_CI"),
    "STRING COLLATE UNICODE": ("'a', 'ä'", "collate UNICODE"),
    "STRING COLLATE UNICODE_CI_AI": ("'a', 'Ä'", "collate UNICODE_CI_AI"),
    "STRING COLLATE UTF8_BINARY_RTRIM": ("'a', 'a '", "collate UTF8_BINARY_RTRIM"),
    "STRING COLLATE de_CI": ("'a', 'A'", "collate de_CI"),
    "DECIMAL(10,2)": ("7.50, 7.5", "a number with a fraction"),
    "INTERVAL DAY TO SECOND": ("INTERVAL '1' DAY, INTERVAL '24' HOUR", "interval day to second"),
    "INTERVAL YEAR TO MONTH": ("INTERVAL '1' YEAR, INTERVAL '12' MONTH", "interval year to month"),
    "VARIANT": ("parse_json('1'), parse_json('1.0')", "variant"),
    "ARRAY<INT>": ("array(1), array(1)", "array<int>"),
    "STRUCT<a: INT>": ("named_struct('a', 1), named_struct('a', 1)", "struct<a:int>"),
    "MAP<INT, INT>": ("map(1, 2), map(1, 2)", "map<int,int>"),
    "TIME": ("TIME'10:00:00', TIME'10:00:00.000'", "UNSUPPORTED_TIME_TYPE"),
}


def made(session: Session, kind: str, values: str) -> str:
    """The name of a table of these values; one in a file where only a table has the type."""
    name = "units_" + "".join(sign for sign in kind.lower() if sign.isalnum())
    if "CHAR" not in kind:
        listed = " UNION ALL ".join(
            f"SELECT {value if kind == 'TIME' else f'CAST({value} AS {kind})'} AS who, {place} AS v"
            for place, value in enumerate(split(values))
        )
        command(session, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {listed}")
        return name
    command(session, f"DROP TABLE IF EXISTS {name}")
    command(session, f"CREATE TABLE {name} (who {kind}, v INT) USING parquet")
    listed = ", ".join(f"({value}, {place})" for place, value in enumerate(split(values)))
    command(session, f"INSERT INTO {name} VALUES {listed}")
    return name


def split(values: str) -> list[str]:
    """The values of a list, at its commas outside brackets and quotes."""
    found, depth, quoted = [""], 0, False
    for sign in values:
        quoted ^= sign == "'"
        depth += 0 if quoted else {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth and not quoted:
            found.append("")
        else:
            found[-1] += sign
    return [value.strip() for value in found]


def policy_of(name: str, folder: Path, *, rows: int = 100) -> Policy:
    table = Table(name, Source("spark", MASTER, name), ColumnUnit("who"), rows, {"v": Column("v", "integer", 0, 99)})
    return Policy("p", {name: table}, Budget(3, 1e-6), working_copy=str(folder / "copy"))


@pytest.mark.spark
def test_of_every_type_there_are_as_many_keys_as_spark_counts(spark: Session) -> None:
    """Spark's own groups are those of the keys: as many of them, and as many pairs of a value and its key."""
    kinds = {f"c{number}": kind for number, kind in enumerate(KEPT) if "CHAR" not in kind}
    longest = max(len(split(KEPT[kind])) for kind in kinds.values())
    cells = {name: split(KEPT[kind]) for name, kind in kinds.items()}
    rows = " UNION ALL ".join(
        "SELECT "
        + ", ".join(f"CAST({[*cells[n], *['NULL'] * longest][row]} AS {kind}) AS {n}" for n, kind in kinds.items())
        for row in range(longest)
    )
    command(spark, f"CREATE OR REPLACE TEMPORARY VIEW every_type AS {rows}")
    found = describing.look_at("t", Source("spark", MASTER, "every_type"), ".", spark.worker, "every_type_seen")
    keys = {name: cleaning.key(found.relation.types[name], name, False, WORDS) for name in kinds}
    pairs = ", ".join(f"count(DISTINCT {n}), count(DISTINCT {n}, {keys[n]}), count(DISTINCT {keys[n]})" for n in kinds)
    ((*counts,),) = command(spark, f"SELECT {pairs} FROM every_type_seen")
    for place, (name, kind) in enumerate(kinds.items()):
        theirs, both, ours = counts[3 * place : 3 * place + 3]
        assert theirs == both == ours, kind
        assert theirs < len(cells[name]) or kind in ("STRING", "BIGINT"), f"of {kind}, some values should be equal"


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["STRING", "DOUBLE", "CHAR(9)", "VARCHAR(9)"])
def test_there_are_as_many_units_as_spark_counts(spark: Session, tmp_path: Path, kind: str) -> None:
    name = made(spark, kind, KEPT[kind])
    groups = [n for (n,) in command(spark, f"SELECT count(*) FROM {name} GROUP BY who")]
    policy = policy_of(name, tmp_path)
    SparkEngine.register(policy, session=spark, secret=SECRET).close()
    kept = Counter(unit for unit, *_ in copied(policy, tmp_path / "copy", name))
    assert sorted(kept.values()) == sorted(groups)


@pytest.mark.spark
@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_that_spark_compares_in_a_way_of_its_own_names_no_unit(
    spark: Session, tmp_path: Path, kind: str
) -> None:
    values, words = REFUSED[kind]
    name = made(spark, kind, values)
    with pytest.raises(TacitError, match=words):
        SparkEngine.register(policy_of(name, tmp_path), session=spark, secret=SECRET)
    assert not list(tmp_path.glob("copy/build-*"))


@pytest.mark.spark
def test_a_path_leads_by_spark_s_equality_too(spark: Session, tmp_path: Path) -> None:
    """char(4) and char(6) are compared without what fills them up, and so are the units behind them."""
    command(spark, "DROP TABLE IF EXISTS people")
    command(spark, "DROP TABLE IF EXISTS visits")
    command(spark, "CREATE TABLE people (code CHAR(4), pid INT) USING parquet")
    command(spark, "INSERT INTO people VALUES ('a', 1), ('b', 2), ('c', 3)")
    command(spark, "CREATE TABLE visits (code CHAR(6), v INT) USING parquet")
    command(spark, "INSERT INTO visits VALUES ('a', 1), ('a ', 2), ('b', 3), ('B', 4)")
    theirs = command(spark, "SELECT pid, v FROM visits JOIN people ON visits.code = people.code")

    def policy(folder: str) -> Policy:
        tables = {
            "people": Table("people", Source("spark", MASTER, "people"), ColumnUnit("pid"), 1, {}),
            "visits": Table(
                "visits",
                Source("spark", MASTER, "visits"),
                PathUnit("code", "people", "code"),
                9,
                {"v": Column("v", "integer", 0, 9)},
            ),
        }
        return Policy("p", tables, Budget(3, 1e-6), working_copy=str(tmp_path / folder))

    SparkEngine.register(policy("one"), session=spark, secret=SECRET).close()
    ours = copied(policy("one"), tmp_path / "one", "visits")
    assert sorted((unit, v) for unit, _, v in ours) == sorted(map(tuple, theirs)) == [(1, 1), (1, 2), (2, 3)]
    for other in ("STRING", "INT", "STRING COLLATE UTF8_LCASE"):  # a temporary view is found before the table
        command(spark, f"CREATE OR REPLACE TEMPORARY VIEW visits AS SELECT CAST('1' AS {other}) AS code, 1 AS v")
        with pytest.raises(PolicyError, match="code"):
            SparkEngine.register(policy("two"), session=spark, secret=SECRET)


@pytest.mark.spark
@pytest.mark.parametrize(("kind", "limit"), [("DOUBLE", 2**53), ("FLOAT", 2**24)])
def test_a_float_names_nobody_where_it_cannot_tell_neighbours_apart(
    spark: Session, tmp_path: Path, kind: str, limit: int
) -> None:
    for number in (limit, -limit, limit + 1, 4 * limit):
        name = made(spark, kind, f"{number}L, 1")
        with pytest.raises(PolicyError, match="Store it as a BIGINT or as text"):
            SparkEngine.register(policy_of(name, tmp_path), session=spark, secret=SECRET)
    name = made(spark, kind, f"{limit - 1}L, 'NaN', '-Infinity'")
    policy = policy_of(name, tmp_path)
    SparkEngine.register(policy, session=spark, secret=SECRET).close()
    assert len(copied(policy, tmp_path / "copy", name)) == 1  # what is no number names nobody


@pytest.mark.spark
def test_a_column_with_a_collation_is_not_taken_for_plain_text(spark: Session, tmp_path: Path) -> None:
    view = "SELECT 1 AS who, 'F' COLLATE UNICODE_CI AS sex"
    command(spark, f"CREATE OR REPLACE TEMPORARY VIEW units AS {view}")
    policy = policy_of("units", tmp_path)
    for column in (Column("sex", "text"), Column("sex", "text", values=("F", "M")), Column("sex", "integer", 0, 1)):
        table = Table("units", Source("spark", MASTER, "units"), ColumnUnit("who"), 1, {"sex": column})
        with pytest.raises(TacitError, match=r"columns\.sex: .*written differently"):
            SparkEngine.register(Policy("p", {"units": table}, policy.budget), session=spark)


@pytest.mark.spark
def test_what_fills_up_a_char_is_no_part_of_a_value(spark: Session, tmp_path: Path) -> None:
    command(spark, "DROP TABLE IF EXISTS filled")
    command(spark, "CREATE TABLE filled (who INT, sex CHAR(5)) USING parquet")
    command(spark, "INSERT INTO filled VALUES (1, 'F'), (2, 'M'), (3, 'X')")
    column = Column("sex", "text", values=("F", "M"))
    table = Table("units", Source("spark", MASTER, "filled"), ColumnUnit("who"), 1, {"sex": column})
    policy = Policy("p", {"units": table}, Budget(3, 1e-6), working_copy=str(tmp_path / "copy"))
    SparkEngine.register(policy, session=spark, secret=SECRET).close()
    assert Counter(row[2] for row in copied(policy, tmp_path / "copy", "units")) == Counter(["F", "M", None])


def test_a_person_is_named_in_one_family_of_types() -> None:
    def problem(one: str, other: str) -> str | None:
        tables = {
            name: Table(name, Source("spark", MASTER, name), ColumnUnit("who"), 1, {"v": Column("v", "integer", 0, 9)})
            for name in ("a", "b")
        }
        try:
            spark_keys.check(Policy("p", tables, Budget(3, 1e-6)), {"a": {"who": one}, "b": {"WHO": other}})
        except PolicyError as refused:
            return str(refused)
        return None

    for one, other in (("int", "bigint"), ("int", "double"), ("decimal(9,0)", "tinyint"), ("string", "varchar(3)")):
        assert problem(one, other) is None
    for one, other in (("string", "int"), ("char(3)", "string"), ("date", "timestamp"), ("binary", "string")):
        assert "store both as the same type" in str(problem(one, other))
    assert "can name no unit" in str(problem("int", "interval day"))
