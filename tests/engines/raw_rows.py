"""One row more, from raw bytes up: what the copy holds of everyone else must stay what it was.

A `Form` is a way in which rows lie outside: it draws single records, and wilder ones for the one more, and puts a list
of them where a policy's source can find them. Many sources grow by one record after the other, and are registered as
the tables of one policy; `differs_in_one_unit` is the statement, and knows nothing of forms.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import functools
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from hypothesis import strategies as st

from tacit import PolicyError
from tacit.engines.duckdb import working_copy
from tacit.engines.secret import Secret
from tacit.errors import EngineError
from tacit.loss.budget import Budget
from tacit.policy import ColumnUnit, Policy, Source, Table, anything, between, date_between, one_of

SECRET = Secret(bytes(range(32)))
ROWS_PER_UNIT = 3
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # mkdtemp makes a private folder in it
Rows = Counter[tuple[Any, ...]]
Placed = tuple[Source, Mapping[str, Any]]


@dataclass(frozen=True)
class Form:
    """How rows lie outside. `place` takes the records and a number that may decide a layout, never what rows say."""

    name: str
    record: st.SearchStrategy[Any]
    more: st.SearchStrategy[Any]
    place: Callable[[Path, Sequence[Any], int], Placed]


def policy_of(sources: Mapping[str, Source], folder: Path) -> Policy:
    columns = [
        anything().column("u", "text"),
        between(-5, 110).column("age", "integer"),
        between(-1.5, 99.5).column("weight", "real"),
        one_of("F", "M", "a,b", "x\ny", '"').column("sex", "text"),
        date_between("1900-01-01", "2100-01-01").column("day", "date"),
        anything().column("note", "text"),
    ]
    by_name = {column.name: column for column in columns}
    tables = {name: Table(name, source, ColumnUnit("u"), ROWS_PER_UNIT, by_name) for name, source in sources.items()}
    return Policy("p", tables, Budget(3, 1e-6), directory=str(folder))


def on_duckdb(policy: Policy, frames: Mapping[str, Any], folder: Path) -> Rows:
    """The copy that DuckDB makes, on the one connection of all tests, which is left as empty as it was."""
    workshop = folder / "workshop"
    workshop.mkdir()
    connection = _connection()
    try:
        working_copy._fill(connection, policy, SECRET, frames, workshop, "", None)
        return _copied(connection, policy, "t")
    finally:
        _emptied(connection)


@functools.cache
def _connection() -> Any:
    return duckdb.connect(config={"threads": 1})  # which takes longer than to register a few rows


def _emptied(connection: Any) -> None:
    for schema in ("tacit_copy", "tacit_rows"):
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    for name in ("tacit_units", "tacit_about"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for (name,) in connection.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall():
        if name.startswith("tacit_source_"):
            connection.execute(f"DETACH {name}")
    for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
        connection.unregister(name)


def _copied(connection: Any, policy: Policy, name: str) -> Rows:
    names = ", ".join(f'"{column}"' for column in policy.tables[name].columns)
    return Counter(connection.execute(f'SELECT {names}, tacit_rank FROM tacit_copy."{name}"').fetchall())


Written = tuple[Sequence[Any], int]
"""The records of a source, and its layout."""


def many_on_duckdb(connection: Any, form: Form, many: Sequence[Written]) -> list[Rows | None]:
    """The copies of many sources, registered as the tables of one policy on one connection: 20 times as fast.

    A table keeps its name, and with it the order of its rows, however many others are refused.
    """
    wanted = {f"t{place}_": written for place, written in enumerate(many)}
    found: dict[str, Rows] = {}
    while wanted:
        folder = Path(tempfile.mkdtemp(prefix="tacit-raw-", dir=_MEMORY))
        try:
            found = _registered_at_once(connection, form, wanted, folder)
            break
        except (EngineError, PolicyError) as refused:
            said = [name for name in wanted if name in str(refused)]
            if not said:
                raise
            for name in said:
                del wanted[name]
        finally:
            shutil.rmtree(folder)
            _emptied(connection)
    return [found.get(f"t{place}_") for place in range(len(many))]


def _registered_at_once(connection: Any, form: Form, wanted: Mapping[str, Written], folder: Path) -> dict[str, Rows]:
    sources: dict[str, Source] = {}
    frames: dict[str, Any] = {}
    for name, (records, layout) in wanted.items():
        inside = folder / name
        inside.mkdir()
        source, given = form.place(inside, records, layout)
        path = name if given else f"{name}/{source.path}"
        sources[name] = dataclasses.replace(source, path=path)
        frames |= {name: frame} if (frame := next(iter(given.values()), None)) is not None else {}
    policy = policy_of(sources, folder)
    (workshop := folder / "workshop").mkdir()
    working_copy._fill(connection, policy, SECRET, frames, workshop, "", None)
    return {name: _copied(connection, policy, name) for name in policy.tables}


Growing = tuple[list[Any], list[tuple[Any, int, int]]]
"""Records, and one more after the other: each with its place and the layout of the source that it joins."""


def growing(form: Form) -> st.SearchStrategy[Growing]:
    places = st.integers(0, 20)
    more = st.lists(st.tuples(form.more, places, places), min_size=3, max_size=3)
    return st.tuples(st.lists(form.record, max_size=7), more)


def compare_many(connection: Any, form: Form, drawn: Sequence[Growing]) -> tuple[int, int]:
    """Every source against itself with one more record, then one more: how many could be compared, of how many."""
    now: list[list[Any]] = [list(records) for records, _ in drawn]
    before = many_on_duckdb(connection, form, [(records, 0) for records in now])
    compared = tried = 0
    for step in range(len(drawn[0][1])):
        lone: list[Written] = []
        for records, (_, more) in zip(now, drawn, strict=True):
            record, place, layout = more[step]
            lone.append(([*records[: (at := place % (len(records) + 1))], record, *records[at:]], layout))
        after = many_on_duckdb(connection, form, lone)
        for place, (without, beside) in enumerate(zip(before, after, strict=True)):
            tried += 1
            if without is not None and beside is not None:
                assert differs_in_one_unit(without, beside), (form.name, now[place], drawn[place][1][step])
                compared += 1
            if beside is not None:  # a source that was refused is left as it was
                now[place], before[place] = list(lone[place][0]), beside
    return compared, tried


def differs_in_one_unit(without: Rows, beside: Rows) -> bool:
    """Whether all rows that come or go are of one unit, and no more than it may have."""
    gone, came = without - beside, beside - without
    units = {row[0] for row in (gone + came)}
    return len(units) <= 1 and came.total() <= ROWS_PER_UNIT and gone.total() <= ROWS_PER_UNIT


# What people write into cells.
_WILD = st.text(st.characters(codec="utf-8"), max_size=6)
_MARKS = ["#", "# a", "\\", "x\ty", "\ufeff", "\x00", "\x1f", "\x1fd", "\r", "\n", "\r\n", '"', '""', "'", "a;b", "{}"]
_NUMBERS = ["7", "07", " 7", "7.0", "1e400", "nan", "-inf", "1,5", "9" * 40, "2020-02-30", "2020-01-01"]
_ODD = st.sampled_from(["", "NA", "é", "e\u0301", *_MARKS, *_NUMBERS])
_CELL = st.one_of(_ODD, _WILD, st.integers(-200, 200).map(str), st.sampled_from(["F", "M", "a,b", "x\ny"]))
_UNIT = st.sampled_from(["1", "2", "3", "a", "A", "#1", "01"])


# CSV: bytes that are one record by Python's own reader.
def _line(cells: Sequence[str], quoted: Sequence[bool]) -> bytes:
    def written(cell: str, quote: bool) -> str:
        return '"' + cell.replace('"', '""') + '"' if quote or any(mark in cell for mark in '",\r\n') else cell

    return ",".join(written(*pair) for pair in zip(cells, quoted, strict=True)).encode() + b"\n"


_ROW = st.tuples(_UNIT, *[_CELL] * 5)
_WELL_FORMED = st.builds(_line, _ROW, st.lists(st.booleans(), min_size=6, max_size=6))
_PIECES = st.sampled_from([b"1", b"a", b",", b",", b'"', b'""', b"\n", b"\r", b"#", b"\xff", b"\xc3\xa9", b"\\", b" "])


def _is_one_record(line: bytes) -> bool:
    text = line.decode("latin-1")
    try:
        return len([row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]) == 1
    except csv.Error:
        return text.count("\n") == 1 and "\r" not in text


_RAW = st.lists(_PIECES, min_size=1, max_size=16).map(lambda pieces: b"".join(pieces) + b"\n").filter(_is_one_record)


def _as_csv(folder: Path, records: Sequence[bytes], layout: int) -> Placed:
    header = b"u,age,weight,sex,day,note" + (b"\n", b"\r\n")[layout % 2]
    (folder / "t.csv").write_bytes(header + b"".join(records))
    return Source("csv", "t.csv"), {}


# JSON lines: any object, and any bytes that are one line.
_VALUE = st.one_of(
    _CELL, st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.lists(st.integers(), max_size=2)
)


def _object(unit: str, values: Mapping[str, Any]) -> bytes:
    return json.dumps({**values, "u": unit}).encode() + b"\n"


_KEYS = ["age", "weight", "sex", "day", "note", "u2", "more"]
_OBJECT = st.builds(_object, _UNIT, st.dictionaries(st.sampled_from(_KEYS), _VALUE, max_size=6))
_ODD_OBJECT = st.builds(_object, _UNIT, st.dictionaries(st.sampled_from([*_KEYS, "Age"]) | _WILD, _VALUE, max_size=6))
_JSON_PIECES = st.sampled_from([b"{", b"}", b'"u"', b":", b"1", b'"x"', b",", b"[", b"]", b"\\", b"\xff", b" ", b"\r"])


def _as_json(folder: Path, records: Sequence[bytes], layout: int) -> Placed:
    (folder / "t.jsonl").write_bytes(b"".join(records))
    return Source("json", "t.jsonl"), {}


# Typed columns: the same values for Arrow, Parquet and polars; objects of any type for pandas.
_DAYS = st.dates(datetime.date(1800, 1, 1), datetime.date(2200, 1, 1))
_TYPED = st.tuples(
    _UNIT,
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-10, 120),
    st.none() | st.floats(),
    st.none() | _CELL,
    st.none() | _DAYS,
    st.none() | _WILD,
)
_NAMES = ("u", "age", "weight", "sex", "day", "note")
_OBJECTS = st.one_of(_VALUE, _DAYS, st.binary(max_size=3), st.tuples(st.integers()), st.decimals(allow_nan=False))
_MIXED = st.tuples(_UNIT, *[_OBJECTS] * 5)


def _arrow(records: Sequence[tuple[Any, ...]], layout: int) -> Any:
    import pyarrow as pa

    types = [pa.string(), pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.string()]
    if layout % 3 == 1:
        types[3] = pa.dictionary(pa.int32(), pa.string())
    columns = list(zip(*records, strict=True)) or [()] * len(types)
    table = pa.table(
        {name: pa.array(list(column), kind) for name, column, kind in zip(_NAMES, columns, types, strict=True)}
    )
    half = layout % (len(records) + 1)
    return pa.concat_tables([table.slice(0, half), table.slice(half)])  # in two chunks


def _as_parquet(folder: Path, records: Sequence[tuple[Any, ...]], layout: int) -> Placed:
    import pyarrow.parquet as pq

    dictionary, groups = layout % 2 == 0, 1 + layout % 4
    pq.write_table(_arrow(records, 0), folder / "t.parquet", row_group_size=groups, use_dictionary=dictionary)
    return Source("parquet", "t.parquet"), {}


def _as_arrow(folder: Path, records: Sequence[tuple[Any, ...]], layout: int) -> Placed:
    return Source("frame", "t"), {"t": _arrow(records, layout)}


def _as_polars(folder: Path, records: Sequence[tuple[Any, ...]], layout: int) -> Placed:
    import polars as pl

    types = (pl.String, pl.Int64, pl.Float64, pl.String, pl.Date, pl.String)
    frame = pl.DataFrame(records, schema=dict(zip(_NAMES, types, strict=True)), orient="row")
    half = layout % (len(records) + 1)
    return Source("frame", "t"), {"t": pl.concat([frame.slice(0, half), frame.slice(half)], rechunk=layout % 2 == 0)}


def _as_pandas(folder: Path, records: Sequence[tuple[Any, ...]], layout: int) -> Placed:
    import numpy as np
    import pandas as pd

    columns: dict[str, Any] = {}
    for place, name in enumerate(_NAMES):
        cells = np.empty(len(records), dtype=object)
        for row, record in enumerate(records):
            cells[row] = record[place]
        columns[name] = pd.Series(cells, dtype=object)
    return Source("frame", "t"), {"t": pd.DataFrame(columns)}


_LINE = st.lists(_JSON_PIECES, max_size=8).map(lambda pieces: b"".join(pieces) + b"\n")

FORMS = {
    form.name: form
    for form in (
        Form("csv", _WELL_FORMED, _WELL_FORMED | _RAW, _as_csv),
        Form("json", _OBJECT, st.one_of(_OBJECT, _OBJECT, _ODD_OBJECT, _LINE), _as_json),
        Form("parquet", _TYPED, _TYPED, _as_parquet),
        Form("pandas", _MIXED, _MIXED, _as_pandas),
        Form("polars", _TYPED, _TYPED, _as_polars),
        Form("arrow", _TYPED, _TYPED, _as_arrow),
    )
}
