"""Raw rows on Spark: what of a file of bytes the registration reads, row by row, and rows that try to be more.

    python tests/engines/spark_rows.py 200 1            200 random lines in random places, seeds from 1 on; .venv-spark

A case is a file, and the same file with one line more, of any bytes but a line feed. Then the second file is refused,
or its cleaned rows are those of the first and at most one more.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tacit.engines import cleaning
from tacit.engines.quoting import identifier
from tacit.engines.registration import plain_number
from tacit.engines.spark import describing
from tacit.engines.spark.cleaning import WORDS
from tacit.engines.spark.engine import Session
from tacit.engines.spark.registration import in_backticks
from tacit.errors import EngineError
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, CsvReading, Policy, Source, Table
from tests.engines.spark_session import MASTER, running

COLUMNS = (Column("n", "integer", 0, 100), Column("t", "text"), Column("d", "date"))
READINGS = (
    CsvReading(),
    CsvReading(delimiter=";", comment="#", null=("", "NA"), decimal=",", thousands="."),
    CsvReading(delimiter="\t", quote="", encoding="latin-1"),
    CsvReading(quote="'", escape="\\", comment="%"),
)
NASTY = (
    b"#,1,2,3",
    b"# no row",
    b'"',
    b'7,"open,1,x',
    b'7,5,"a""b",2024-01-01',
    b"7",
    b"",
    b"\r",
    b"7,1,a\rb,c",
    b"7,1,\xff\xfe,x",
    b"7,1,\x00,x",
    b"who,n,t,d",
    b"1,2,3,4,5,6,7,8,9",
    b"7,1e400,x,0000-00-00",
    b"\xef\xbb\xbf7,1,x,2024-01-01",
    b"7," + b"9" * 400 + b"," + b"x" * 100_000 + b",now",
    b"7,1,\\,\\",
    b"7;1.000;NA;2024-01-01",
    b"7\t1\t\xe4\t2024-01-01",
)


def written(reading: CsvReading, cells: Sequence[str]) -> bytes:
    """A line in this way of writing; the cells hold nothing that needs quotes."""
    return reading.delimiter.join(cells).encode("latin-1" if reading.encoding == "latin-1" else "utf-8")


def plain_file(reading: CsvReading, count: int = 12) -> list[bytes]:
    """A header and ordinary rows."""
    rows = [["who", "n", "t", "d"]]
    rows += [[f"p{row}", str(7 * row), "ab#c"[row % 4 :], f"2024-01-{1 + row:02d}"] for row in range(count)]
    return [written(reading, row) for row in rows]


def cleaned(session: Session, path: Path, reading: CsvReading) -> Counter[tuple[Any, ...]]:
    """The unit's key and the cleaned codes of every row of a file."""
    source = Source("spark", MASTER, str(path), reading)
    table = Table("t", source, ColumnUnit("who"), 9, {column.name: column for column in COLUMNS})
    policy = Policy("p", {"t": table}, Budget(3, 1e-6))
    found = describing.describe(policy, session.worker)
    describing.check_values(policy, found, session.worker)
    relation = found["t"].relation
    codes = [cleaning.key(relation.types["who"], identifier("who"), False, WORDS)]
    for column in COLUMNS:
        name = identifier(column.name)
        value = plain_number(reading, name) if column.kind == "integer" else name
        typed = cleaning.read(column, relation.types[column.name], value, WORDS)
        codes.append(cleaning.bound(column, typed, WORDS))
    listed = ", ".join(f"{code} AS k{place}" for place, code in enumerate(codes))
    sql = in_backticks(f"SELECT {listed} FROM {relation.sql}")
    return Counter(map(tuple, session.worker.ask({"task": "look", "sql": sql, "most": 10_000}, 600.0)["rows"]))


def compare(session: Session, folder: Path, reading: CsvReading, line: bytes, place: int) -> str:
    """What came of one more line: "refused", "left out" or "a row". Anything else is a violation."""
    path = folder / "t.csv"
    rows = plain_file(reading)
    path.write_bytes(b"\n".join(rows) + b"\n")
    before = cleaned(session, path, reading)
    assert sum(before.values()) == len(rows) - 1
    rows.insert(1 + place % len(rows), line)
    path.write_bytes(b"\n".join(rows) + b"\n")
    said = None
    try:
        after = cleaned(session, path, reading)
    except EngineError as refused:
        said = str(refused)
    if said is not None:
        # registration tells the owner where: the line that cannot be read is the one that was put in
        assert f"line {1 + rows.index(line)} of" in said, (said, line)
        return "refused"
    assert before <= after, f"a line changed how others are read: {line!r}"
    assert sum((after - before).values()) <= 1, f"a line became several rows: {line!r}"
    return "a row" if after != before else "left out"


def random_line(draw: random.Random, reading: CsvReading) -> bytes:
    """A line of signs that mean something to some reader."""
    signs = [reading.delimiter, reading.quote, reading.escape, reading.comment, "\\", '"', "'", ",", "\r", "\0", " "]
    parts = [*(sign.encode() for sign in signs if sign), b"7", b"p1", b"x", b"\xff", b"\xc3\xa4", b"2024-01-01", b"1e9"]
    if draw.random() < 0.5:
        return b"".join(draw.choice(parts) for _ in range(draw.randrange(12)))
    cells = [b"".join(draw.choice(parts[len(signs) - 4 :]) for _ in range(draw.randrange(3))) for _ in range(4)]
    return reading.delimiter.encode().join(cells)


def main(wanted: int, first: int) -> None:
    with tempfile.TemporaryDirectory() as folder, running() as session:
        outcomes: Counter[str] = Counter()
        for number in range(first, first + wanted):
            draw = random.Random(number)
            reading = READINGS[number % len(READINGS)]
            line = random_line(draw, reading)
            outcomes[compare(session, Path(folder), reading, line, draw.randrange(13))] += 1
            if number % 20 == 0:
                sys.stdout.write(f"seed {number}: {dict(outcomes)}\n")
                sys.stdout.flush()
    sys.stdout.write(f"raw rows on Spark: {wanted} cases without a violation: {dict(outcomes)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
