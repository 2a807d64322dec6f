"""On Spark a row is read by itself: one more row, of whatever bytes, changes nothing of the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.engines.secret import Secret
from tacit.engines.spark import csv as spark_csv
from tacit.engines.spark import sources
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.errors import EngineError, PolicyError, TacitError
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, CsvReading, Policy, Source, Table
from tests.engines.spark.test_engine import copied
from tests.engines.spark_rows import NASTY, READINGS, compare
from tests.engines.spark_session import MASTER
from tests.engines.spark_tables import command

SECRET = Secret(bytes(range(32)))


def policy_of(place: str, folder: Path, unit: str = "who", reading: CsvReading = READINGS[0]) -> Policy:
    columns = {"v": Column("v", "integer", 0, 99)}
    table = Table("t", Source("spark", MASTER, place, reading), ColumnUnit(unit), 9, columns)
    return Policy("p", {"t": table}, Budget(3, 1e-6), working_copy=str(folder / "copy"))


@pytest.mark.spark
@pytest.mark.parametrize("line", NASTY, ids=range(len(NASTY)))
def test_one_more_line_changes_nothing_of_the_others(spark: Session, tmp_path: Path, line: bytes) -> None:
    number = NASTY.index(line)
    compare(spark, tmp_path, READINGS[number % 2 if b"\t" not in line else 2], line, 5 * number)


@pytest.mark.spark
def test_a_file_is_refused_with_the_number_of_the_line_and_the_reason(spark: Session, tmp_path: Path) -> None:
    lines = [b"who,v", *(b"p%d,%d" % (row, row) for row in range(20))]
    path = tmp_path / "t.csv"
    for bad, words in (
        (b'p,"a', "a quote that is not closed"),
        (b"p,\xff", "bytes that are no text"),
        (b"p,1,2", "not as many values as the header"),
        (b"p\r,1", "a carriage return"),
    ):
        path.write_bytes(b"\r\n".join([*lines[:15], bad, *lines[15:]]) + b"\r\n")
        with pytest.raises(EngineError, match=rf"line 16 of .*t\.csv has .*{words}"):
            SparkEngine.register(policy_of(str(path), tmp_path), session=spark, secret=SECRET)
    assert not list(tmp_path.glob("copy/build-*"))


@pytest.mark.spark
def test_every_file_of_a_folder_has_the_same_header(spark: Session, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,v\np1,1\n")
    (tmp_path / "b.csv").write_text("v,who\n2,p2\n")
    with pytest.raises(EngineError, match=r"line 1 of .*\.csv is the first line of its file and not the header"):
        SparkEngine.register(policy_of(str(tmp_path / "*.csv"), tmp_path), session=spark, secret=SECRET)
    (tmp_path / "b.csv").write_text("\ufeffwho,v\r\np2,2\r\n")
    policy = policy_of(str(tmp_path / "*.csv"), tmp_path)
    SparkEngine.register(policy, session=spark, secret=SECRET).close()
    assert Counter(row[2] for row in copied(policy, tmp_path / "copy", "t")) == Counter([1, 2])


@pytest.mark.spark
def test_names_that_could_be_taken_for_one_another_are_refused(spark: Session, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("PID,pid,v\n1,2,3\n")
    columns = {"PID": pa.array([1]), "pid": pa.array([2]), "v": pa.array([3])}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    pq.write_table(pa.table({"pid": pa.array([1]), "pid ": pa.array([2]), "v": pa.array([3])}), tmp_path / "s.parquet")
    command(spark, "CREATE OR REPLACE TEMPORARY VIEW spaced AS SELECT 1 AS `pid`, 2 AS `pid `, 3 AS v")
    for place in (tmp_path / "t.csv", tmp_path / "t.parquet", tmp_path / "s.parquet", "spaced"):
        with pytest.raises(TacitError, match="rename one of them in the source"):
            SparkEngine.register(policy_of(str(place), tmp_path, "pid"), session=spark, secret=SECRET)


@pytest.mark.spark
def test_one_file_of_parquet_does_not_decide_how_the_others_are_read(spark: Session, tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    for name, who in (("a", pa.array([1, 2], pa.int64())), ("b", pa.array([3, 4], pa.int32()))):
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table({"who": who, "v": pa.array([1, 2])}), folder / name / "x.parquet")
    with pytest.raises(EngineError, match="do not agree on the type of a column"):
        SparkEngine.register(policy_of(f"{folder}/*", tmp_path), session=spark, secret=SECRET)
    # a folder's name is text, whatever the names of the others are
    for value in ("7", "abc"):
        (tmp_path / "parts" / f"who={value}").mkdir(parents=True)
        pq.write_table(pa.table({"v": [1]}), tmp_path / "parts" / f"who={value}" / "x.parquet")
        policy = policy_of(f"{tmp_path}/parts/", tmp_path)
        with SparkEngine.register(policy, session=spark, secret=SECRET) as engine:
            assert engine.schema()["t"]["who"] == "text"
    pq.write_table(pa.table({"who": ["x"], "v": [1]}), tmp_path / "parts" / "who=7" / "x.parquet")
    with pytest.raises(EngineError, match="name a column that the files have as well"):
        SparkEngine.register(policy, session=spark, secret=SECRET)


@pytest.mark.spark
def test_tables_and_views_that_read_rows_otherwise_than_one_by_one_are_refused(spark: Session, tmp_path: Path) -> None:
    command(spark, "CREATE TABLE IF NOT EXISTS in_csv (who STRING, v INT) USING csv OPTIONS (mode 'DROPMALFORMED')")
    command(spark, "CREATE TABLE IF NOT EXISTS in_json (who STRING, v INT) USING json")
    command(spark, "CREATE OR REPLACE VIEW over_csv AS SELECT * FROM in_csv")
    plain = "SELECT 'a' AS who, 1 AS v UNION ALL SELECT 'b', 2"
    command(spark, f"CREATE OR REPLACE TEMPORARY VIEW credit_limit AS SELECT who, v, v AS sample FROM ({plain})")
    command(spark, f"CREATE OR REPLACE TEMPORARY VIEW limited AS SELECT * FROM ({plain}) LIMIT 1")
    command(spark, f"CREATE OR REPLACE TEMPORARY VIEW chosen AS SELECT * FROM ({plain}) WHERE rand() < 0.5")
    for name, words in (
        ("in_csv", "stored as csv"),
        ("in_json", "stored as json"),
        ("over_csv", "stored as csv"),
        ("limited", "by chance or by number"),
        ("chosen", "by chance or by number"),
        ("nowhere", "there is no such table"),
        (str(tmp_path / "nowhere.parquet"), "there is no such file"),
    ):
        with pytest.raises(EngineError, match=words):
            SparkEngine.register(policy_of(name, tmp_path), session=spark, secret=SECRET)
    SparkEngine.register(policy_of("credit_limit", tmp_path), session=spark, secret=SECRET).close()


# -- without Spark -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place", ["data/visits.json", "visits.jsonl", "a/b.orc", "s3a://b/x.avro", "x.duckdb", "a.txt"]
)
def test_other_formats_are_refused_by_their_names(place: str) -> None:
    with pytest.raises(PolicyError, match="Parquet, CSV or a table of its catalog"):
        sources.place_of(Source("spark", MASTER, place), ".")


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_encodings_that_spark_does_not_read_in_lines_are_refused(encoding: str) -> None:
    with pytest.raises(PolicyError, match="utf-8 or latin-1"):
        spark_csv.check("t", Source("spark", MASTER, "t.csv", CsvReading(encoding=encoding)))  # type: ignore[arg-type]


def test_a_folder_sees_every_file_below_it_change(tmp_path: Path) -> None:
    inside = tmp_path / "a [b]" / "visits" / "deep"
    inside.mkdir(parents=True)
    (inside / "x.parquet").write_bytes(b"1")
    for place in ("visits/", "visits/*/", "visits/deep/x.parquet", "vis?ts/deep/"):
        table = Table("t", Source("spark", MASTER, place), ColumnUnit("who"), 1, {})
        policy = Policy("p", {"t": table}, Budget(3, 1e-6), directory=str(tmp_path / "a [b]"))
        seen = [sources.fingerprint(policy)]
        (inside / "x.parquet").write_bytes(b"22" * len(seen) + place.encode())
        seen.append(sources.fingerprint(policy))
        if "x.parquet" not in place:
            (inside / f"new {len(place)}.parquet").write_bytes(b"3")
            seen.append(sources.fingerprint(policy))
        assert None not in seen
        assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    "place", ["visits/{a,b}.parquet", "visits/[^a].parquet", "nowhere/*.parquet", "s3a://b/x.parquet"]
)
def test_what_python_cannot_watch_as_spark_reads_it_has_no_fingerprint(tmp_path: Path, place: str) -> None:
    (tmp_path / "visits").mkdir()
    (tmp_path / "visits" / "a.parquet").write_bytes(b"1")
    table = Table("t", Source("spark", MASTER, place), ColumnUnit("who"), 1, {})
    assert sources.fingerprint(Policy("p", {"t": table}, Budget(3, 1e-6), directory=str(tmp_path))) is None
