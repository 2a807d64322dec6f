"""CSV: read by the policy's words alone, against Python's own reader; what is malformed is refused with its line."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tacit.engines import csv_files
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import EngineError, PolicyError
from tacit.loss.budget import Budget
from tacit.policy import ColumnUnit, CsvReading, Policy, RowUnit, Source, Table, anything, between
from tests.effort import tried
from tests.engines.raw_rows import on_duckdb

CONNECTION = duckdb.connect(config={"threads": 2})


Texts = list[tuple[str | None, ...]]


def read(folder: Path, data: bytes, reading: CsvReading | None = None, name: str = "x.csv") -> Texts:
    """What the engine sees of this file, sorted."""
    reading = CsvReading() if reading is None else reading
    (folder / name).write_bytes(data)
    for left in folder.glob("plain-*"):
        left.unlink()
    paths = [str(folder / name)]
    names = csv_files.header(paths, reading)
    prepared = csv_files.prepare(paths, reading, len(names), folder)
    rows = CONNECTION.execute(f"SELECT * FROM {csv_files.relation(prepared, names, reading)}").fetchall()
    return sorted(rows, key=repr)


CELLS = st.text(st.sampled_from("ab7,;|\t\"'\\#\r\n \x1fdnu\x00é\ufeff"), max_size=5)


@settings(max_examples=tried(150), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=2, max_size=6)),
    st.sampled_from([",", ";", "\t", "|", "\x01"]),
    st.sampled_from(['"', "'"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["", "\\"]),
    st.booleans(),
)
def test_what_python_writes_and_reads_is_what_the_engine_reads(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    delimiter: str,
    quote: str,
    end: str,
    quoting: int,
    escape: str,
    header: bool,
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if escape else quoting  # Python would escape outside quotes too, which is no CSV of ours
    writer = csv.writer(
        text,
        delimiter=delimiter,
        quotechar=quote,
        lineterminator=end,
        quoting=quoting,
        doublequote=not escape,
        escapechar=escape or None,
    )
    writer.writerows(rows)
    back = list(
        csv.reader(
            io.StringIO(text.getvalue(), newline=""),
            delimiter=delimiter,
            quotechar=quote,
            doublequote=not escape,
            escapechar=escape or None,
            strict=True,
        )
    )
    assume(back == rows)  # Python 3.11 leaves a lone carriage return without quotes
    reading = CsvReading(delimiter=delimiter, quote=quote, escape=escape, null=(), header=header)
    data = text.getvalue().encode()
    if data.startswith(b"\xef\xbb\xbf"):
        data = b"\xef\xbb\xbf" + data  # a mark at the beginning belongs to the file
    found = read(folder, data, reading)
    assert found == sorted((tuple(row) for row in (rows[1:] if header else rows)), key=repr)


@settings(max_examples=tried(200), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    st.lists(
        st.sampled_from([b"a,7\n", b'"a",7\r\n', b'"', b'a,"', b'"\n', b'""', b",", b"\n", b"\r", b"\xff", b"#,\n"]),
        max_size=9,
    )
)
def test_any_bytes_are_refused_or_read_as_python_reads_them(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    data = b"x,y\n" + b"".join(pieces)
    try:
        found = read(tmp_path_factory.mktemp("csv"), data, CsvReading(null=()))
    except EngineError:
        return  # with line and reason: see below
    expected = [row for row in csv.reader(io.StringIO(data.decode(), newline=""), strict=True) if row][1:]
    assert found == sorted(map(tuple, expected), key=repr)


@pytest.mark.parametrize(
    ("data", "reading", "expected"),
    [
        (b"a;b\n1;2,5\n", CsvReading(delimiter=";"), [("1", "2,5")]),
        (b"a\tb\n1\t2\n", CsvReading(delimiter="\t"), [("1", "2")]),
        ("a,b\né,ß\n".encode("latin-1"), CsvReading(encoding="latin-1"), [("é", "ß")]),
        ("a,b\n€,ß\n".encode("cp1252"), CsvReading(encoding="windows-1252"), [("€", "ß")]),
        ("a,b\né,ß\n".encode("utf-16"), CsvReading(encoding="utf-16"), [("é", "ß")]),
        (b'a,b\n1,"x\ny"\n', CsvReading(), [("1", "x\ny")]),
        (b"a,b\r\n1,2\n3,4\r\n", CsvReading(), [("1", "2"), ("3", "4")]),
        (b"\xef\xbb\xbfa,b\n1,2", CsvReading(), [("1", "2")]),
        (b"a,b\n1,NA\n,-\n", CsvReading(null=("NA", "-")), [("", None), ("1", None)]),
        (b'a,b\n1,"NA"\n"",2\n', CsvReading(null=("", "NA")), [("1", None), (None, "2")]),
        (b'# "x\na,b\n#1,2\n3,#4\n"#5",6\n', CsvReading(comment="#"), [("#5", "6"), ("3", "#4")]),
        (b"1,2\n", CsvReading(header=False), [("1", "2")]),
        (b'a,b\n5" pipe,x\n', CsvReading(quote=""), [('5" pipe', "x")]),
        (b'a\n""\n\nx\n', CsvReading(null=()), [("",), ("x",)]),
    ],
)
def test_every_key_of_the_policy_is_obeyed(
    tmp_path: Path, data: bytes, reading: CsvReading, expected: list[tuple[str | None, ...]]
) -> None:
    assert read(tmp_path, data, reading) == expected


@pytest.mark.parametrize(
    ("data", "reading", "parts"),
    [
        (b"a,b\n1,2\n3\n", CsvReading(), ["line 3", "1 value where 2 values are wanted"]),
        (b"a,b\n1,2,3\n", CsvReading(), ["line 2", "3 values where 2"]),
        (b'a,b\n1,2\n3,"4\n5,6\n', CsvReading(), ["line 3", "value 2 begins with a quote that is never closed"]),
        (b'a,b\n1,"2"x\n', CsvReading(), ["line 2", "text follows the closing quote of value 2"]),
        (b'a,b\n"x\ny",1\n1,2"x\n', CsvReading(), ["line 4", "inside the unquoted value 2", 'quote = ""']),
        (b"a,b\n1,2\r3,4\n", CsvReading(), ["line 2", "carriage return"]),
        (b"a,b\n1,2\n3,\xe9\n", CsvReading(), ["line 3", "0xe9", "utf-8", "encoding"]),
        (b"a,b\n3,\x81\n", CsvReading(encoding="windows-1252"), ["line 2", "0x81", "windows-1252"]),
        (b"a,b\n1,2\n3," + b"x" * (9 * 2**20) + b"\n", CsvReading(), ["line 3", "longer than 8,388,608 bytes"]),
        (b"", CsvReading(), ["is empty"]),
        (b"\n\n", CsvReading(header=False), ["is empty"]),
    ],
)
def test_malformed_bytes_are_refused_with_their_line_and_the_reason(
    tmp_path: Path, data: bytes, reading: CsvReading, parts: list[str]
) -> None:
    with pytest.raises(EngineError) as refusal:
        read(tmp_path, data, reading)
    for part in ("x.csv", *parts):
        assert part in str(refusal.value)


def test_compression_follows_from_the_name_and_not_from_the_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b\n1,2\n")
    assert read(tmp_path, packed, name="x.csv.gz") == [("1", "2")]
    with pytest.raises(EngineError, match="not a whole gzip file"):
        read(tmp_path, b"a,b\n1,2\n", name="y.csv.gz")
    with pytest.raises(EngineError, match="not a whole gzip file"):
        read(tmp_path, packed[:-9], name="z.csv.gz")
    with pytest.raises(EngineError, match="line 1"):
        read(tmp_path, packed, name="x.csv")


def test_records_of_every_size_are_read_whole_wherever_blocks_end(tmp_path: Path) -> None:
    draw = random.Random(5)
    sizes = [draw.choice([0, 3, 1_000, 70_000, 1_100_000]) for _ in range(40)] + [3_000_000]
    cells = [str(place) + draw.choice(["x", '"', "\n", ","]) * size for place, size in enumerate(sizes)]
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    data = ("a,b\n" + "".join(f"{place},{cell}\n" for place, cell in enumerate(quoted))).encode()
    assert read(tmp_path, data) == sorted(((str(place), cell) for place, cell in enumerate(cells)), key=repr)


def policy_of(folder: Path, source: Source, unit: ColumnUnit | RowUnit | None = None) -> Policy:
    columns = {
        "u": anything().column("u", "text"),
        "age": between(0, 10_000).column("age", "integer"),
        "weight": between(0, 10_000).column("weight", "real"),
    }
    table = Table("t", source, ColumnUnit("u") if unit is None else unit, 1, columns)
    return Policy("p", {"t": table}, Budget(3, 1e-6), directory=str(folder))


def test_a_ragged_row_does_not_decide_what_is_a_comment_for_everyone(tmp_path: Path) -> None:
    """One more row used to move the exact count by 101: the engine guessed the dialect from all of them."""
    rows = "".join(f"#{number},{number},1\n" for number in range(100)) + "1,2,3\n"
    (tmp_path / "t.csv").write_text("u,age,weight\n" + rows)
    assert on_duckdb(policy_of(tmp_path, Source("csv", "t.csv")), {}, tmp_path).total() == 101
    (tmp_path / "t.csv").write_text("u,age,weight\n" + rows + "x,1\n")
    with pytest.raises(EngineError, match="line 103: 2 values where 3"):
        DuckDBEngine.register(policy_of(tmp_path, Source("csv", "t.csv")))


@pytest.mark.parametrize(
    ("reading", "age", "weight", "expected"),
    [
        (CsvReading(delimiter=";", decimal=","), "7", "1,5", (7, 1.5)),
        (CsvReading(delimiter=";", decimal=","), "7", "1.5", (7, None)),
        (CsvReading(delimiter=";", decimal=",", thousands="."), "1.234", "1.234,5", (1234, 1234.5)),
        (CsvReading(delimiter=";", thousands=","), "1,234", "1,234.5", (1234, 1234.5)),
        (CsvReading(delimiter=";"), "1,234", "1,5", (None, None)),
    ],
)
def test_numbers_are_written_as_the_policy_says(
    tmp_path: Path, reading: CsvReading, age: str, weight: str, expected: tuple[int | None, float | None]
) -> None:
    (tmp_path / "t.csv").write_text(f"u;age;weight\n{age};{age};{weight}\n")
    policy = policy_of(tmp_path, Source("csv", "t.csv", None, reading))
    ((unit, whole, real, _),) = on_duckdb(policy, {}, tmp_path)
    step = float(policy.tables["t"].columns["weight"].step)
    assert (unit, whole, None if real is None else real * step) == (age, *expected)


def test_files_of_one_table_have_one_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,age,weight\n1,2,3\n")
    (tmp_path / "b.csv").write_text("age,u,weight\n1,2,3\n")
    with pytest.raises(EngineError, match=r"same header.*a\.csv is u, age, weight.*b\.csv is age, u, weight"):
        on_duckdb(policy_of(tmp_path, Source("csv", "*.csv")), {}, tmp_path)


def test_names_with_wildcards_in_them_are_files_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").write_text("u,age,weight\n1,2,3\n")
    (tmp_path / "a1.csv").write_text("u,age,weight\n2,2,3\n")
    assert [row[0] for row in on_duckdb(policy_of(tmp_path, Source("csv", "a[1].csv")), {}, tmp_path)] == ["1"]


@pytest.mark.parametrize("header", ["pid,PID,u", "u,u,x", "u, u,x", "é,e\u0301,u", "u,\ufeffu,x"])
def test_columns_that_could_be_taken_for_one_another_are_refused(tmp_path: Path, header: str) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\n1,2,3\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="could be taken for one another"):
        DuckDBEngine.register(policy_of(tmp_path, Source("csv", "t.csv")))
