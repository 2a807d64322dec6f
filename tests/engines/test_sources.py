"""Sources: names that cannot be mistaken, units that cannot merge or split, and changes that are noticed."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tacit.engines import sources
from tacit.engines.duckdb import working_copy
from tacit.errors import EngineError, PolicyError
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, Source, Table, Unit, anything, between, one_of
from tests.engines.raw_rows import SECRET, on_duckdb

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
FRAME = Source("frame", "t")


def policy_of(source: Source, *columns: Column, folder: Path | str = ".", unit: Unit | None = None) -> Policy:
    stated = {column.name: column for column in columns or (anything().column("u", "text"),)}
    return Policy(
        "p",
        {"t": Table("t", source, ColumnUnit("u") if unit is None else unit, 3, stated)},
        Budget(3, 1e-6),
        directory=str(folder),
    )


def of_frames(frames: Mapping[str, Any], units: Mapping[str, Unit]) -> Policy:
    tables = {name: Table(name, Source("frame", name), units[name], 3, {}) for name in frames}
    return Policy("p", tables, Budget(3, 1e-6))


def register_all(frames: Mapping[str, Any], units: Mapping[str, Unit], folder: Path) -> None:
    folder = folder / "w"
    folder.mkdir()
    with duckdb.connect() as connection:
        working_copy._fill(connection, of_frames(frames, units), SECRET, frames, folder, "", None)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["u", "U"]),
        pd.DataFrame([[1, 2]], columns=["u", "u"]),
        pd.DataFrame([[1, 2]], columns=["u", "u "]),
        pl.DataFrame({"u": [1], "U": [2]}),
        pl.DataFrame({"u": [1], "é": [2], "e\u0301": [3]}),
        pa.table([pa.array([1]), pa.array([2])], names=["u", "u"]),
        pa.table([pa.array([1]), pa.array([2])], names=["U", "u"]),
    ],
)
def test_frames_whose_columns_could_be_taken_for_one_another_are_refused(frame: Any, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="could be taken for one another"):
        on_duckdb(policy_of(FRAME), {"t": frame}, tmp_path)


def test_parquet_and_duckdb_columns_that_could_be_taken_for_one_another_are_refused(tmp_path: Path) -> None:
    nested = pa.array([{"u": 1, "U": 2}])
    pq.write_table(pa.table([nested, pa.array([1]), pa.array([2])], names=["s", "PID", "pid"]), tmp_path / "t.parquet")
    with pytest.raises(PolicyError, match="'PID' and 'pid'"):
        on_duckdb(policy_of(Source("parquet", "t.parquet"), folder=tmp_path), {}, tmp_path)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute('CREATE TABLE t ("u" INT, "u " INT)')
    with pytest.raises(PolicyError, match="'u' and 'u '"):
        sources.open_relation(duckdb.connect(), "t", Source("duckdb", "t.duckdb", "t"), str(tmp_path))


def test_names_inside_a_nested_column_are_no_columns(tmp_path: Path) -> None:
    nested = pa.array([{"u": 1, "x": {"u": [1]}}])
    pq.write_table(pa.table([nested, pa.array(["1"])], names=["s", "u"]), tmp_path / "t.parquet")
    assert on_duckdb(policy_of(Source("parquet", "t.parquet"), folder=tmp_path), {}, tmp_path).total() == 1


def test_units_stored_as_doubles_from_2_to_the_53_on_are_refused(tmp_path: Path) -> None:
    people = [2.0**53, None, 7.0]
    for number, frame in enumerate([pd.DataFrame({"u": people}), pl.DataFrame({"u": people}), pa.table({"u": people})]):
        with pytest.raises(PolicyError, match=r"two people could not be told apart.*Int64"):
            register_all({"t": frame}, {"t": ColumnUnit("u")}, tmp_path / _made(tmp_path, number))
    small = pd.DataFrame({"u": [2.0**53 - 1, None, float("inf")]})
    register_all({"t": small}, {"t": ColumnUnit("u")}, tmp_path / _made(tmp_path, 9))


def _made(folder: Path, number: int) -> str:
    (folder / str(number)).mkdir()
    return str(number)


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        ([1, 2], [1, None], None),  # pandas makes the second a column of doubles
        ([1, 2], ["1", "x"], None),
        ([1, 2], ["01", "x"], "whether 007 is 7"),
        ([1, 2], [" 1", "x"], "whether 007 is 7"),
        ([1, 2], ["1.0", "x"], "whether 007 is 7"),
        ([1.0, 2.5], ["1", "x"], "cannot be told"),
        ([True, False], [1, 0], "cannot be told"),
        ([datetime.date(2020, 1, 1)] * 2, ["2020-01-01", "x"], "object column"),
        (pd.to_datetime(["2020-01-01", None]), ["2020-01-01", "x"], "cannot be told"),
        (pd.to_timedelta([1, 2]), [1, 2], "cannot name a unit"),
    ],
)
@pytest.mark.parametrize("path", [False, True])
def test_units_of_two_types_are_refused_unless_they_surely_mean_the_same(
    one: Any, other: Any, refused: str | None, path: bool, tmp_path: Path
) -> None:
    frames = {"a": pd.DataFrame({"u": one, "who": ["x", "y"]}), "b": pd.DataFrame({"u": other})}
    units: dict[str, Unit] = {"a": ColumnUnit("u"), "b": ColumnUnit("u")}
    if path:
        units = {"a": ColumnUnit("who"), "b": PathUnit("u", "a", "u")}
    if refused is None:
        register_all(frames, units, tmp_path)
        return
    with pytest.raises(PolicyError, match=refused):
        register_all(frames, units, tmp_path)


@pytest.mark.parametrize("values", [[1, 1.0], [1, "1"], [True, 1], [1.5, 2.5], [b"1", "1"]])
def test_an_object_column_of_several_types_cannot_name_units(values: list[Any], tmp_path: Path) -> None:
    frame = pd.DataFrame({"u": pd.Series(values, dtype=object)})
    with pytest.raises(PolicyError, match=r"object column.*astype"):
        on_duckdb(policy_of(FRAME), {"t": frame}, tmp_path)


AGE = between(0, 100).column("age", "integer")


@pytest.mark.parametrize(
    "odd",
    [
        pd.DataFrame({"u": ["a"], "age": [5], "odd": pd.period_range("2020", periods=1)}),
        pd.DataFrame({"u": ["a"], "age": [5], "odd": [1j]}),
        pd.DataFrame({"u": ["a"], "age": [5], "odd": pd.Categorical([1])}),
        pl.DataFrame({"u": ["a"], "age": [5], "odd": pl.Series([2**100], dtype=pl.Int128)}),
        pl.DataFrame({"u": ["a"], "age": [5], "odd": pl.Series([object()], dtype=pl.Object)}),
        pa.table({"u": ["a"], "age": [5], "odd": pa.array([decimal.Decimal(1)], pa.decimal256(50, 2))}),
        pa.table({"u": ["a"], "age": [5], "odd": pa.array([datetime.timedelta(1)])}),
        pa.table({"u": ["a"], "age": [5], "odd": pa.array([[1]])}),
    ],
)
def test_a_type_that_cannot_be_read_is_named_and_does_not_stand_in_the_way(odd: Any, tmp_path: Path) -> None:
    who = anything().column("u", "text")
    assert list(on_duckdb(policy_of(FRAME, who, AGE), {"t": odd}, tmp_path)) == [("a", 5, 1)]
    with pytest.raises(PolicyError, match=r"columns\.odd: the source's type cannot be used"):
        working_copy.describe(policy_of(FRAME, between(0, 1).column("odd", "integer")), {"t": odd})


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_time_out_of_range_is_a_clear_word_with_its_column(unit: str, tmp_path: Path) -> None:
    table = pa.table({"u": ["a", "b"], "at": pa.array([0, 2**62], pa.timestamp(unit, "UTC"))})
    with pytest.raises(EngineError, match=r"'at' of table 't'.*outside the years"):
        on_duckdb(policy_of(FRAME, Column("at", "timestamp")), {"t": table}, tmp_path)


def test_parquet_files_of_one_table_have_the_same_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": ["a"], "age": [5]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"u": ["a"], "age": ["5"]}), tmp_path / "2.parquet")
    with pytest.raises(EngineError, match=r"'age' is BIGINT in .*1\.parquet and VARCHAR in .*2\.parquet"):
        on_duckdb(policy_of(Source("parquet", "*.parquet"), folder=tmp_path), {}, tmp_path)


def test_folders_called_key_and_value_are_no_columns(tmp_path: Path) -> None:
    (tmp_path / "d" / "year=2020").mkdir(parents=True)
    pq.write_table(pa.table({"u": ["a"]}), tmp_path / "d" / "year=2020" / "1.parquet")
    source = Source("parquet", "d")
    with duckdb.connect() as connection:
        assert list(sources.open_relation(connection, "t", source, str(tmp_path)).types) == ["u"]


@pytest.mark.parametrize("path", ["d", "d/*", "d/**", "d/**/*.csv", "*"])
def test_a_folder_as_a_source_sees_changed_files_inside(path: str, tmp_path: Path) -> None:
    inside = tmp_path / "d" / "e"
    inside.mkdir(parents=True)
    (inside / "1.csv").write_text("u\n1\n")
    policy = policy_of(Source("csv", path), folder=tmp_path)
    seen = [sources.fingerprint(policy)]
    assert sources.files_of(policy.tables["t"].source, str(tmp_path)) == [str(inside / "1.csv")]
    (inside / "2.csv").write_text("u\n2\n")
    seen.append(sources.fingerprint(policy))
    (inside / "2.csv").write_text("u\n23\n")
    seen.append(sources.fingerprint(policy))
    (inside / "1.csv").unlink()
    seen.append(sources.fingerprint(policy))
    assert len(set(seen)) == 4


def test_a_change_that_keeps_size_and_time_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("u\n1\n")
    policy = policy_of(Source("csv", "t.csv"), folder=tmp_path)
    for number in range(2, 9):
        sources.wait_for_the_clock(policy)
        before, stats = sources.fingerprint(policy), os.stat(file)
        file.write_text(f"u\n{number}\n")
        os.utime(file, ns=(stats.st_atime_ns, stats.st_mtime_ns))
        assert sources.fingerprint(policy) != before


def json_copy(folder: Path, *lines: str | bytes) -> list[tuple[Any, ...]]:
    written = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    (folder / "t.jsonl").write_bytes(written)
    policy = policy_of(Source("json", "t.jsonl"), anything().column("u", "text"), AGE, folder=folder)
    return sorted(on_duckdb(policy, {}, folder), key=repr)


def test_json_lines_are_read_by_the_names_of_the_policy(tmp_path: Path) -> None:
    rows = [{"u": "a", "age": 5, "more": [1]}, {"age": "7", "u": 2**70}, {"u": "c"}, {"u": "d", "age": None}]
    lines = [*map(json.dumps, rows), "", '{"u": "e", "age": 3}\r']
    expected = [("a", 5, 1), (str(2**70), 7, 1), ("c", None, 1), ("d", None, 1), ("e", 3, 1)]
    assert json_copy(tmp_path, *lines) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"u": "a"} {"u": "b"}', "no JSON object"),
        ('{"u": "a", "u": "b"}', "taken for one another"),
        ('{"u": "a", "U": "b"}', "taken for one another"),
        ('{"x": 1, "X": "b"}', "taken for one another"),
        ('{"U": "b"}', "only in case"),
        ('{"u": 1.5}', "number with a fraction"),
        ('{"u": 1e3}', "number with a fraction"),
        (b'{"u": "\xff"}', "0xff is not utf-8"),
        (b'{"u": "a\x01b"}', "2 values where 1"),
        ('{"u": "a", "age": 1,}', "a comma behind the last value"),
        ('{"u": "a", "more": [1, 2 , ]}', "a comma behind the last value"),
        ('{"u": "a", "age": NaN}', "NaN or Infinity"),
        ('{"u": "a", "age": [-Infinity]}', "NaN or Infinity"),
        ('{"u": "a\\"", "age": nan}', "NaN or Infinity"),
    ],
)
def test_a_malformed_line_of_json_is_refused_with_its_number(line: str | bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=rf"t\.jsonl, line 4: .*{reason}"):
        json_copy(tmp_path, '{"u": "x"}', "", '{"u": "y", "age": 1}', line, '{"u": "z"}')


def test_commas_and_names_inside_texts_are_no_faults_of_json(tmp_path: Path) -> None:
    odd = [",}", "NaN", ',]"', "\\", '\\",}', "Infinity", "info: nan"]
    assert len(json_copy(tmp_path, *(json.dumps({"u": name, name: "x,]"}) for name in odd))) == len(odd)


@pytest.mark.parametrize(("one", "other"), [(1, "1"), ("-7", -7), (True, "true")])
def test_a_json_unit_that_is_a_number_and_a_text_is_refused(one: Any, other: Any, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="whether they are the same unit cannot be told"):
        json_copy(tmp_path, *(json.dumps({"u": unit}) for unit in (one, "x", other)))


def test_json_units_of_two_types_that_nobody_can_mix_up_are_read(tmp_path: Path) -> None:
    found = json_copy(tmp_path, *(json.dumps({"u": unit}) for unit in (1, "01", "x", None, 2)))
    assert sorted(row[0] for row in found) == ["01", "1", "2", "x"]


@pytest.mark.parametrize("view", [False, True])
def test_a_unit_whose_collation_takes_texts_for_one_another_is_refused(view: bool, tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    collated = "" if view else "COLLATE NOCASE"
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (u VARCHAR {collated}, age INTEGER)")
        connection.execute("INSERT INTO t VALUES ('ana', 1), ('bo', 2)")
        connection.execute("CREATE VIEW v AS SELECT u COLLATE NOCASE AS u, age FROM t")
    policy = policy_of(Source("duckdb", "t.duckdb", "v" if view else "t"), AGE, folder=folder)
    assert on_duckdb(policy, {}, folder).total() == 2  # each is written in one way
    shutil.rmtree(folder / "workshop")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute("INSERT INTO t VALUES ('Ana', 3)")
    with pytest.raises(PolicyError, match="under a collation by which"):
        on_duckdb(policy, {}, folder)


def test_a_collation_of_a_source_does_not_reach_its_copy(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (u INTEGER, sex VARCHAR COLLATE NOCASE, note VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES (1, 'F', 'a'), (2, 'f', 'A')")
    columns = (one_of("F", "M").column("sex", "text"), anything().column("note", "text"))
    policy = policy_of(Source("duckdb", "t.duckdb", "t"), *columns, folder=tmp_path)
    assert sorted(on_duckdb(policy, {}, tmp_path), key=repr) == [("F", "a", 1), (None, "A", 1)]
    workshop = tmp_path / "w"
    workshop.mkdir()
    with duckdb.connect() as connection:
        working_copy._fill(connection, policy, SECRET, {}, workshop, "", None)
        assert connection.execute("SELECT count(DISTINCT note) FROM tacit_copy.t").fetchone() == (2,)
