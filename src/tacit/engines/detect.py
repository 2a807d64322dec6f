"""Detecting, once and for the owner: how is this CSV file written, and which keys do these JSON lines have?

For `tacit init` only. Registration detects nothing: what is found here is written into the policy, where the owner sees
and corrects it. No value of a row is written down, but for the fixed words in `_NULLS` where they occur.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tacit.engines.csv_records import Grammar, plain, texts
from tacit.engines.not_text import refuse_what_is_not_text
from tacit.errors import EngineError
from tacit.policy.reading import CsvReading, Encoding

_LOOKED_AT: Final = 2**20
_LINES: Final = 10_000
_NULLS: Final = ("NA", "N/A", "NULL", "null", "NaN", "nan", "None", "\\N")
_NUMBER: Final = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
_COMMA: Final = re.compile(r"[+-]?\d+,\d+")
_POINT: Final = re.compile(r"[+-]?\d+\.\d+")
_GROUPED: Final = {
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+|,\d{3})"),
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+|\.\d{3})"),
}


def csv_reading(path: str) -> CsvReading:
    """How this file seems to be written."""
    encoding = _encoding(path)
    beginning = _beginning(path, _LOOKED_AT)
    refuse_what_is_not_text(path, beginning, encoding)
    text = beginning.decode(encoding, "replace").removeprefix("\ufeff")
    sample = (text[: text.rfind("\n") + 1] or text + "\n").encode()
    comment = "#" if _has_comments(sample.decode()) else ""
    lines = re.sub(rb"(?m)^#.*\n", b"", sample) if comment else sample
    best, rows = CsvReading(encoding=encoding, comment=comment), list[list[str]]()
    for delimiter in (",", ";", "\t", "|"):
        for quote, escape in (('"', ""), ('"', "\\"), ("'", ""), ("", "")):
            if quote == "'" and b"'" not in lines:
                continue
            reading = CsvReading(delimiter, quote, escape, encoding, comment=comment)
            found = _rows(lines, reading)
            if found and len(found[0]) > max(1, len(rows[0]) if rows else 1):
                best, rows = reading, found
            if found:
                break
    rows = rows or _rows(lines, best)
    header = bool(rows) and _is_header(rows[0])
    cells = [cell for row in rows[header:] for cell in row]
    commas = sum(1 for cell in cells if _COMMA.fullmatch(cell) or _GROUPED[","].fullmatch(cell))
    points = sum(1 for cell in cells if _POINT.fullmatch(cell) or _GROUPED["."].fullmatch(cell))
    decimal = "," if commas > points and best.delimiter != "," else "."
    grouped = any(_GROUPED[decimal].fullmatch(cell) for cell in cells)
    return CsvReading(
        delimiter=best.delimiter,
        quote=best.quote,
        escape=best.escape,
        encoding=encoding,
        null=("", *(word for word in _NULLS if word in set(cells))),
        decimal=decimal,
        thousands="" if not grouped else "," if decimal == "." else ".",
        comment=comment,
        header=header or not rows,
    )


def json_keys(paths: Sequence[str]) -> list[str]:
    """The keys of the first lines, in the order in which they come up. A usable name has no quotes."""
    found: dict[str, None] = {}
    for path in paths:
        refuse_what_is_not_text(path, _beginning(path, _LOOKED_AT), "utf-8")
        for line in islice(_lines(path), _LINES):
            try:
                value = json.loads(line)
            except ValueError:
                continue  # registration reports the line
            if isinstance(value, dict):
                found |= dict.fromkeys(key for key in value if key.isprintable() and key and '"' not in key)
    return list(found)


def _rows(sample: bytes, reading: CsvReading) -> list[list[str]]:
    """The records of the sample, if it is well-formed in this reading; otherwise none."""
    first = Grammar.of(reading, None).whole.match(sample.lstrip(b"\r\n"))
    if first is None:
        return []
    try:
        columns = len(texts(plain(Grammar.of(reading, None), first[0]), reading))
        grammar = Grammar.of(reading, columns)
        whole = grammar.whole.match(sample)
        # The end of the sample may lie inside a quoted value; everything before it must be well-formed.
        if whole is None or len(sample) - whole.end() > _LOOKED_AT // 16 or not whole[0].strip():
            return []
        rest = sample[whole.end() :]
        if rest and (not reading.quote or "never closed" not in grammar.reason(rest)):
            return []
        plainly = plain(grammar, whole[0])
        return [texts(line, reading) for line in plainly.split(b"\n")[:-1]]
    except UnicodeDecodeError:
        return []


def _is_header(row: Sequence[str]) -> bool:
    folded = [cell.strip().casefold() for cell in row]
    return len(set(folded)) == len(folded) and not any(_NUMBER.fullmatch(cell) for cell in folded) and any(folded)


def _has_comments(text: str) -> bool:
    """Whether the file begins with lines of `#` that are no header: the line after them is divided otherwise."""
    lines = [line for line in text.splitlines() if line][:1000]
    after = next((line for line in lines if not line.startswith("#")), None)
    if not lines or not lines[0].startswith("#") or after is None:
        return False
    return all(lines[0].count(mark) != after.count(mark) or not after.count(mark) for mark in ",;\t|")


def _encoding(path: str) -> Encoding:
    if _beginning(path, 2) in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    possible: list[Encoding] = ["utf-8", "windows-1252"]
    decoders = {encoding: codecs.getincrementaldecoder(encoding)() for encoding in possible}
    for block in _blocks(path):
        for encoding in list(possible):
            try:
                decoders[encoding].decode(block, final=not block)
            except UnicodeDecodeError:
                possible.remove(encoding)
    return possible[0] if possible else "latin-1"


def _beginning(path: str, length: int) -> bytes:
    found = b""
    for block in _blocks(path):
        found += block
        if len(found) >= length:
            break
    return found[:length]


def _blocks(path: str) -> Iterator[bytes]:
    """The bytes of the file, and nothing at the end."""
    try:
        with gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb") as file:
            while block := file.read(_LOOKED_AT):
                yield block
            yield b""
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise EngineError(f"{path} ends in .gz and is not a whole gzip file.") from None
    except OSError as bad:
        raise EngineError(f"{path} cannot be read: {bad.strerror}.") from None


def _lines(path: str) -> Iterator[bytes]:
    yield from _beginning(path, 8 * _LOOKED_AT).splitlines()
