"""Ten CSV files as people have them: from `tacit init` to an answer, or to a sentence that says what to change.

Each goes through the real command line: init, the policy filled in as its owner would, check, ask. The answers are
asked at an epsilon of ten thousand, so that the noise is below one with a probability of all but e**-90, and are
compared with what was written into the file. The long file has three thousand rows here; in full, with its time:
TACIT_CSV_ROWS=3000000 pytest -k long --durations=1 tests/doors/test_csv_as_people_have_them.py
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tacit.doors.cli import app

PEOPLE = 40
MANY = int(os.environ.get("TACIT_CSV_ROWS", "3000"))
"""Rows of the long file."""
NAMES = ("Zoë", "Jürgen", "Ana", "Bob")


@dataclass(frozen=True)
class File:
    """A file, what its owner writes about the columns, and what a question about it must give."""

    content: Callable[[], bytes]
    columns: str = 'age = { type = "integer", between = [0, 110] }'
    sql: str = "SELECT sum(age) AS answer FROM people"
    answer: float = sum(range(PEOPLE))
    tolerance: float = 0.5


def lines(separator: str, *, header: str = "who,name,age", extra: str = "") -> str:
    rows = [separator.join([str(n), NAMES[n % 4], str(n)]) for n in range(PEOPLE)]
    return "\n".join([header.replace(",", separator), *rows]) + "\n" + extra


def decimal_comma() -> bytes:
    rows = [f"{n};{n},5" for n in range(PEOPLE)]
    return ("who;pay\n" + "\n".join(rows) + "\n").encode()


def quoted_newlines() -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["who", "note", "age"])
    writer.writerows([n, f'a "note"\nof two, lines {n}', n] for n in range(PEOPLE))
    return out.getvalue().encode()


def missing() -> bytes:
    rows = [f"{n},{'N/A' if n % 4 == 0 else n}" for n in range(PEOPLE)]
    return ("who,age\n" + "\n".join(rows) + "\n").encode()


def mixed_dates() -> bytes:
    days = ["2024-03-01", "01.03.2024", "3/1/2024", "1 March 2024"]
    rows = [f"{n},{days[n % 4]}" for n in range(PEOPLE)]
    return ("who,day\n" + "\n".join(rows) + "\n").encode()


def long() -> bytes:
    return ("who,age\n" + "\n".join(f"{n},{n % 100}" for n in range(MANY)) + "\n").encode()


FILES = {
    "semicolon": File(lambda: lines(";").encode()),
    "tab": File(lambda: lines("\t").encode()),
    "latin-1": File(
        lambda: lines(",").encode("latin-1"),
        columns='name = { type = "text", one_of = ["Zoë", "Jürgen", "Ana", "Bob"] }',
        sql="SELECT count(*) AS answer FROM people WHERE name = 'Zoë'",
        answer=PEOPLE / 4,
    ),
    "byte order mark": File(lambda: b"\xef\xbb\xbf" + lines(",").encode()),
    "decimal comma": File(
        decimal_comma,
        columns='pay = { type = "real", between = [0, 110] }',
        sql="SELECT sum(pay) AS answer FROM people",
        answer=sum(range(PEOPLE)) + PEOPLE / 2,
    ),
    "quoted newlines": File(quoted_newlines),
    "N/A": File(
        missing,
        sql="SELECT count(age) AS answer FROM people",
        answer=PEOPLE * 3 / 4,
    ),
    "mixed dates": File(
        mixed_dates,
        columns='day = { type = "date", between = [2024-01-01, 2024-12-31] }',
        sql="SELECT count(day) AS answer FROM people",
        answer=PEOPLE / 4,  # those written as dates are written; the check tells of the others
    ),
    "long": File(long, sql="SELECT count(*) AS answer FROM people", answer=MANY),
}


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill_in(folder: Path, columns: str) -> None:
    """As the owner does it: a unit, a budget, and a line for the column that is asked about."""
    path = folder / "people.toml"
    text = path.read_text(encoding="utf-8").replace('unit = "FILL IN"', 'unit = "who"')
    text = re.sub(r"(?m)^epsilon = 1\.0 .*$", "epsilon = 1000000", text)
    text = re.sub(r"(?m)^largest_epsilon = .*$", "largest_epsilon = 100000", text)
    text = re.sub(r"(?m)^(\[tables\.people\.columns\].*)$", lambda found: f"{found[1]}\n{columns}", text)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_people_have_it_goes_from_init_to_an_answer(folder: Path, name: str) -> None:
    file = FILES[name]
    (folder / "people.csv").write_bytes(file.content())
    begun = run("init", "people.csv")
    assert begun.exit_code == 0, begun.output
    fill_in(folder, file.columns)
    checked = run("check", "people.toml")
    assert checked.exit_code == 0, checked.output
    done = run("ask", "people.toml", file.sql, "--epsilon", "10000", "--format", "csv")
    assert done.exit_code == 0, done.output
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert abs(float(row["answer"]) - file.answer) <= file.tolerance
    assert set(row) == {"answer", "answer_low", "answer_high"}


def test_what_cannot_be_read_is_told_to_the_owner(folder: Path) -> None:
    """Three of four dates are written otherwise: nothing guesses, and the check of the data says so."""
    (folder / "people.csv").write_bytes(mixed_dates())
    run("init", "people.csv")
    fill_in(folder, FILES["mixed dates"].columns)
    told = " ".join(run("check", "people.toml", "--data").stdout.split())
    assert f"day: {PEOPLE * 3 // 4} of {PEOPLE} values cannot be read as its type" in told


@pytest.mark.parametrize("content", [b"", b"\n", b"who,age\n"], ids=["empty", "newline", "header"])
def test_a_file_with_nothing_in_it_gets_a_sentence_or_an_answer(folder: Path, content: bytes) -> None:
    (folder / "people.csv").write_bytes(content)
    begun = run("init", "people.csv")
    if content == b"who,age\n":  # a table that is still empty is a table
        assert begun.exit_code == 0, begun.output
        fill_in(folder, 'age = { type = "integer", between = [0, 110] }')
        done = run("ask", "people.toml", "SELECT count(*) AS n FROM people", "--epsilon", "10000", "--format", "csv")
        assert done.stdout.splitlines()[1].split(",")[0] == "0"
    else:
        assert begun.exit_code in (1, 2)
        assert "people.csv" in begun.stderr
        assert re.search("empty|no column|line 1|header|cannot be read", begun.stderr), begun.stderr


NOT_TEXT = {
    "parquet": (b"PAR1\x15\x04\x15", "Parquet"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(range(200)), "gzip"),
    "spreadsheet": (b"PK\x03\x04\x14\x00\x06\x00", "spreadsheet"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "not a text"),
    "zeros": (bytes(3000), "not a text"),
    "noise": (bytes((n * n * 31 + n // 3) % 256 for n in range(5000)), "not a text"),
}


@pytest.mark.parametrize("name", NOT_TEXT)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_that_is_no_text_is_refused_in_a_sentence(folder: Path, name: str, ending: str) -> None:
    content, word = NOT_TEXT[name]
    (folder / f"people.{ending}").write_bytes(content)
    begun = run("init", f"people.{ending}")
    assert begun.exit_code == 1
    assert word in begun.stderr
    assert "Please" in begun.stderr or "Save" in begun.stderr
    assert not (folder / "people.toml").exists()
