"""CSV on Spark: every line is a row and is read by itself, as the policy says, or the file is refused.

Promise: what a line means depends on the policy and on that line alone. Spark's own reader of CSV looks at the first
file for the columns of all, lets an open quote swallow what follows, ends lines at a stray carriage return, repairs
bytes, and drops or pads values that do not fit. Here a file is read as lines of text, ended by a line feed; `survey`
finds the first line of each kind that cannot be read, and registration is refused with its number. A line that is equal
to the header does not count as a row. A value that holds a line break cannot be read on Spark: Parquet can hold it.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `spark.quoting`

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from tacit.engines import quoting as names_quoting
from tacit.engines.spark import quoting
from tacit.errors import EngineError, PolicyError
from tacit.policy.policy import Source
from tacit.policy.reading import CsvReading

LINE: Final = "tacit_line"
_CR: Final = "CAST(X'0D' AS STRING)"
_NUL: Final = "CAST(X'00' AS STRING)"
_BOM: Final = quoting.text("\ufeff")
_CORRUPT: Final = "tacit_corrupt"
_MOST_VALUES: Final = 100_000
PROBLEMS: Final[Mapping[str, str]] = {
    "bytes": "has bytes that are no text in the policy's encoding. State another encoding, or mend the file.",
    "nul": "has a NUL character. Mend the file.",
    "return": "has a carriage return that ends no line. Mend the file.",
    "quotes": "has a quote that is not closed. A value with a line break in it cannot be read from CSV on Spark: use "
    "Parquet, or state the file's quote and escape.",
    "values": "has not as many values as the header. Mend the file, or state its delimiter, quote or comment.",
    "header": "is the first line of its file and not the header that the other files have.",
}


def check(table: str, source: Source) -> None:
    """Refuse a reading that Spark cannot do in this way."""
    if source.reading.encoding not in ("utf-8", "latin-1"):
        raise PolicyError(
            f"tables.{table}.encoding: Spark reads CSV in utf-8 or latin-1. Got {source.reading.encoding!r} instead: "
            "write the file in one of these, or as Parquet."
        )


def first_line(view: str, reading: CsvReading) -> str:
    """The query of the first line of a file that says something."""
    return f"SELECT {LINE} FROM ({_lines(view, reading)}) AS tacit_lines WHERE block = 0 AND {_says(reading)}"


def names_of(table: str, line: str, reading: CsvReading) -> list[str]:
    """The names of the columns, from the first line."""
    mode: Literal[0, 3] = csv.QUOTE_MINIMAL if reading.quote else csv.QUOTE_NONE
    own_escape = None if reading.doubled or not reading.quote else reading.escape
    try:
        found = next(
            csv.reader(
                [line],
                delimiter=reading.delimiter,
                quotechar=reading.quote or None,
                escapechar=own_escape,
                doublequote=own_escape is None,
                quoting=mode,
                strict=True,
            )
        )
    except (csv.Error, StopIteration):
        raise EngineError(
            f"The first line of table {table!r} cannot be read as CSV: is its quote not closed?"
        ) from None
    names = found if reading.header else [f"c{number}" for number in range(len(found))]
    if "" in names:
        raise EngineError(f"The first line of table {table!r} names no column at place {names.index('') + 1}.")
    return names


def rows(view: str, reading: CsvReading, names: Sequence[str], header: str) -> str:
    """The rows of a file of lines as a relation: every column is text. Names as `in_backticks` wants them."""
    missing = ", ".join(quoting.text(each) for each in reading.null)
    columns = []
    for number, name in enumerate(names):
        value = f"coalesce(tacit_values.c{number}, '')"
        told = f"CASE WHEN {value} IN ({missing}) THEN NULL ELSE {value} END" if missing else value
        columns.append(f"{told} AS {names_quoting.identifier(name)}")
    says = _says(reading) + (f" AND {LINE} <> {quoting.text(header)}" if reading.header else "")
    lines = f"({_lines(view, reading)}) AS tacit_lines WHERE {says}"
    parsed = f"SELECT {_parsed(reading, len(names))} AS tacit_values FROM {lines}"
    return f"(SELECT {', '.join(columns)} FROM ({parsed}) AS tacit_parsed)"


def survey(view: str, reading: CsvReading, names: Sequence[str], header: str) -> str:
    """For each block of each file: its lines, its first line's number, and that of the first line of each problem."""
    said = _says(reading)
    tests = {
        "bytes": f"NOT is_valid_utf8({LINE})",
        "nul": f"instr({LINE}, {_NUL}) > 0",
        "return": f"instr({LINE}, {_CR}) > 0",
        "quotes": _open_quote(reading),
        "values": f"{said} AND ({_parsed(reading, len(names))}).{_CORRUPT} IS NOT NULL",
    }
    found = [f"min(CASE WHEN {test} THEN tacit_number END) AS {name}" for name, test in tests.items()]
    begins = (
        f"CASE WHEN block = 0 AND min_by({LINE}, tacit_number) FILTER (WHERE {said}) <> {quoting.text(header)} "
        f"THEN min(tacit_number) FILTER (WHERE {said}) END"
        if reading.header
        else "CAST(NULL AS BIGINT)"
    )
    return (
        f"SELECT file, block, count(*) AS lines, min(tacit_number) AS first, {', '.join(found)}, "
        f"{begins} AS header FROM ({_lines(view, reading)}) AS tacit_lines GROUP BY file, block"
    )


def refuse_problems(table: str, blocks: Iterable[Mapping[str, Any]]) -> None:
    """Refuse the file if the survey found a line that cannot be read."""
    before, file = 0, None
    for block in sorted(blocks, key=lambda each: (each["file"], each["block"])):
        before = before if block["file"] == file else 0
        file = block["file"]
        bad = sorted((block[name], words) for name, words in PROBLEMS.items() if block[name] is not None)
        if bad:
            line = before + bad[0][0] - block["first"] + 1
            raise EngineError(f"The source of table {table!r} cannot be read: line {line} of {file} {bad[0][1]}")
        before += block["lines"]


def _lines(view: str, reading: CsvReading) -> str:
    """Every line as text, without its line end, with its number and its place."""
    decoded = "value" if reading.encoding == "utf-8" else "decode(CAST(value AS BINARY), 'ISO-8859-1')"
    ended = f"CASE WHEN endswith({decoded}, {_CR}) THEN left({decoded}, length({decoded}) - 1) ELSE {decoded} END"
    line = f"CASE WHEN startswith({ended}, {_BOM}) THEN substr({ended}, 2) ELSE {ended} END"
    return f"SELECT {line} AS {LINE}, monotonically_increasing_id() AS tacit_number, file, block FROM {view}"


def _says(reading: CsvReading) -> str:
    comment = f" AND NOT startswith({LINE}, {quoting.text(reading.comment)})" if reading.comment else ""
    return f"({LINE} <> ''{comment})"


def _open_quote(reading: CsvReading) -> str:
    """Whether a line has a quote that is not closed: in a whole line quotes open and close equally often."""
    if not reading.quote:
        return "false"
    line, quote = LINE, quoting.text(reading.quote)
    if not reading.doubled:
        # A character after the escape is not a quote; two escapes are one.
        escape = quoting.text(reading.escape)
        line = f"replace(replace({line}, concat({escape}, {escape}), ''), concat({escape}, {quote}), '')"
    return f"({_says(reading)} AND (length({line}) - length(replace({line}, {quote}, ''))) % 2 = 1)"


def _parsed(reading: CsvReading, count: int) -> str:
    schema = ", ".join([*(f"c{number} STRING" for number in range(count)), f"{_CORRUPT} STRING"])
    options = {
        "sep": reading.delimiter,
        "quote": reading.quote or "\0",
        "escape": reading.escape or "\0",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
        "maxColumns": str(_MOST_VALUES),
        "maxCharsPerColumn": "-1",
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        "nullValue": "",
        "emptyValue": "",
        "unescapedQuoteHandling": "STOP_AT_DELIMITER",
        "locale": "en-US",
    }
    listed = ", ".join(quoting.text(part) for pair in options.items() for part in pair)
    return f"from_csv({LINE}, {quoting.text(schema)}, map({listed}))"
