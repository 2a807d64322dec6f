"""CSV records: which bytes make one, and a plain form of them that no reader can mistake.

Promise: what a record says depends on its own bytes and on the policy's `CsvReading`, and on nothing else. The grammar
is RFC 4180's, with the policy's characters:

    record = value (delimiter value)* line-end          as many values as the header names
    value  = quote (any byte but the quote, or the quote doubled)* quote  |  (no quote, delimiter, CR or LF)*
    line-end = LF | CR LF

An empty line is no record, and where the policy states a comment, neither is a line that begins with it. Bytes that do
not fit are refused, with the number of the line and the reason: a reader that repairs them would have to look at lines
around them, and then one person's row would decide how others are read.

The plain form has no quotes at all: between two line breaks is a record, between two delimiters a value. Where a value
itself holds one of them, it is written as the byte 0x1F and a letter (`escaped` says whether there are any), and SQL
undoes that. So the engine that reads the plain form has nothing left to find out, and may read it in parallel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.engines import quoting
from tacit.policy.reading import CsvReading

LARGEST_RECORD: Final = 8 * 2**20
"""Bytes. The plain form may need twice as many."""

_MARK: Final = 0x1F
_MARKED: Final = bytes([_MARK])
_LF, _CR = 0x0A, 0x0D


@dataclass(frozen=True, slots=True)
class Grammar:
    """The records of one file, as patterns: `whole` matches as many of them as there are in a row."""

    reading: CsvReading
    columns: int | None
    whole: re.Pattern[bytes]
    quoted: re.Pattern[bytes]
    bare: re.Pattern[bytes]

    @classmethod
    def of(cls, reading: CsvReading, columns: int | None) -> Grammar:
        """The grammar of records with this many values; None for any number, and then of one record."""
        delimiter, quote = re.escape(reading.delimiter.encode()), re.escape(reading.quote.encode())
        escape = re.escape(reading.escape.encode())
        if reading.doubled:
            within = rb"%s(?:[^%s]++|%s%s)*+%s" % (quote, quote, quote, quote, quote)
        else:
            within = rb"%s(?:[^%s%s]++|%s[\x00-\xff])*+%s" % (quote, quote, escape, escape, quote)
        marks = delimiter + quote + (b"" if reading.doubled else escape)
        bare = rb"[^%s\r\n]*+" % marks
        value = bare if not reading.quote else rb"(?:%s|%s)" % (within, bare)
        times = rb"*+" if columns is None else rb"{%d}" % (columns - 1)
        start = rb"(?!%s)" % re.escape(reading.comment.encode()) if reading.comment else b""
        record = rb"%s%s(?:%s%s)%s\r?\n" % (start, value, delimiter, value, times)
        whole = record if columns is None else rb"(?:%s|\r?\n)*+" % record
        quoted = re.compile(within if reading.quote else b"(?!)")
        return cls(reading, columns, re.compile(whole), quoted, re.compile(bare))

    def reason(self, rest: bytes) -> str:
        """The reason why no record begins here."""
        at, values = 0, 0
        while True:
            values += 1
            if self.reading.quote and rest.startswith(self.reading.quote.encode(), at):
                found = self.quoted.match(rest, at)
                if found is None:
                    return f"value {values} begins with a quote that is never closed"
                at = found.end()
                problem = "text follows the closing quote of value"
            else:
                found = self.bare.match(rest, at)
                at = found.end() if found else at
                problem = "there is a quote, or an escape, inside the unquoted value"
            after = rest[at : at + 1]
            if after in (b"", b"\n") or rest.startswith(b"\r\n", at):
                break
            if after == b"\r":
                return f"a carriage return without a line feed follows value {values}"
            if after != self.reading.delimiter.encode():
                hint = ' (for a file without quotes, state quote = "")' if "unquoted" in problem else ""
                return f"{problem} {values}{hint}"
            at += 1
        if at > LARGEST_RECORD:
            return f"the record is longer than {LARGEST_RECORD:,} bytes"
        return f"{_counted(values)} where {_counted(self.columns or 1)} {'is' if self.columns == 1 else 'are'} wanted"


def _counted(values: int) -> str:
    return f"{values} value" + ("" if values == 1 else "s")


@dataclass(frozen=True, slots=True)
class Run:
    """Whole records, one after the other, without comments, and the number of the line where they begin."""

    records: bytes
    line: int


def runs(grammar: Grammar, buffer: bytes, line: int, *, last: bool) -> tuple[list[Run], bytes, int]:
    """The whole records at the beginning of the buffer; the rest, and its line. Refuses bytes that can be no record."""
    found: list[Run] = []
    at = 0
    comment = grammar.reading.comment.encode()
    while at < len(buffer):
        start = at
        match = grammar.whole.match(buffer, at)
        at = match.end() if match else at
        if at > start:
            found.append(Run(buffer[start:at], line))
            _check(grammar, found[-1])
            line += buffer.count(b"\n", start, at)
        if at < len(buffer) and comment and buffer.startswith(comment, at):
            end = buffer.find(b"\n", at)
            if end < 0:
                break
            at, line = end + 1, line + 1
        elif at == start or not comment:
            break
    rest = buffer[at:]
    if rest and (last or len(rest) > LARGEST_RECORD):
        raise Malformed(line, grammar.reason(rest))
    return found, rest, line


class Malformed(Exception):  # it never leaves `csv_files`, which adds the file and refuses
    """Bytes that are no record, with their line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line:,}: {reason}.")
        self.line = line


def _check(grammar: Grammar, run: Run) -> None:
    """UTF-8, and no record beyond the limit."""
    try:
        run.records.decode("utf-8")
    except UnicodeDecodeError as bad:
        line = run.line + run.records.count(b"\n", 0, bad.start)
        byte = run.records[bad.start]
        raise Malformed(line, f"the byte 0x{byte:02x} is not {grammar.reading.encoding} here") from None
    if len(run.records) > LARGEST_RECORD:
        one = Grammar.of(grammar.reading, grammar.columns).whole.pattern.removesuffix(b"*+")
        line = run.line
        for record in re.finditer(one, run.records):
            if record.end() - record.start() > LARGEST_RECORD:
                raise Malformed(line, f"the record is longer than {LARGEST_RECORD:,} bytes")
            line += record[0].count(b"\n")


def is_plain(records: bytes, reading: CsvReading) -> bool:
    """Whether these records are in the plain form as they stand."""
    quoted = reading.quote != "" and reading.quote.encode() in records
    odd = b"\r" in records or _MARKED in records
    return not (quoted or odd or records.startswith(b"\n") or b"\n\n" in records)


def plain(grammar: Grammar, records: bytes) -> bytes:
    """The same records in the plain form."""
    reading = grammar.reading
    if reading.quote and not reading.doubled and reading.quote.encode() in records:
        records = _doubled(grammar, records)
    if reading.quote and reading.quote.encode() in records:
        records = _unquoted(records, ord(reading.delimiter), ord(reading.quote))
    else:
        records = re.sub(rb"(?m)^\n", b"", records.replace(b"\r\n", b"\n")).replace(_MARKED, _MARKED + b"u")
    # Blank lines are gone, so a remaining one is a value: the empty text, in a table of one column.
    return re.sub(rb"(?m)^\n", _MARKED + b"e\n", records)


def texts(records: bytes, reading: CsvReading) -> list[str]:
    """The values of one record in the plain form."""
    return [_text_of(value, reading) for value in records.removesuffix(b"\n").decode("utf-8").split(reading.delimiter)]


def text_in_sql(value: str, reading: CsvReading, *, escaped: bool) -> str:
    """The text that a value of the plain form stands for, or NULL for one of the policy's `null`."""
    if escaped:
        found = value
        for letter, character in _letters(reading).items():
            found = f"replace({found}, chr({_MARK}) || '{letter}', {quoting.text(character)})"
        value = f"CASE WHEN contains({value}, chr({_MARK})) THEN {found} ELSE {value} END"
    if not reading.null:
        return value
    nulls = ", ".join(quoting.text(each) for each in reading.null)
    return f"CASE WHEN {value} IN ({nulls}) THEN NULL ELSE {value} END"


def _letters(reading: CsvReading) -> dict[str, str]:
    """What each letter after the mark stands for. The mark itself comes last, so that it cannot begin another pair."""
    return {"e": "", "d": reading.delimiter, "n": "\n", "r": "\r", "u": chr(_MARK)}


def _text_of(value: str, reading: CsvReading) -> str:
    for letter, character in _letters(reading).items():
        value = value.replace(chr(_MARK) + letter, character)
    return value


def _doubled(grammar: Grammar, records: bytes) -> bytes:
    """The same records, with quotes inside quotes doubled, and without any other escapes."""
    quote, escape = grammar.reading.quote.encode(), re.escape(grammar.reading.escape.encode())
    pairs = re.compile(rb"(?s)%s(.)" % escape)

    def value(found: re.Match[bytes]) -> bytes:
        return quote + pairs.sub(lambda pair: quote + quote if pair[1] == quote else pair[1], found[0][1:-1]) + quote

    return grammar.quoted.sub(value, records)


def _unquoted(records: bytes, delimiter: int, quote: int) -> bytes:
    """Well-formed records without their quotes, and without blank lines; special characters are marked.

    Quotes stand in pairs, so a byte is inside of one when the number of quotes up to it is odd. A quote that opens
    right after one that closes is the second of two that stand for one.
    """
    data = np.frombuffer(records, np.uint8)
    marks = data == quote
    inside = (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)
    if b"\r" in records:
        kept = inside | (data != _CR)
        data, marks, inside = data[kept], marks[kept], inside[kept]
    ends = (data == _LF) & ~inside
    blank = ends.copy()
    blank[1:] &= ends[:-1]
    doubled = marks & inside
    doubled[0] = False
    doubled[1:] &= marks[:-1]
    kept = ~blank & (~marks | doubled)
    data, within = data[kept], (inside & ~marks)[kept]
    special = (within & ((data == delimiter) | (data == _LF) | (data == _CR))) | (data == _MARK)
    if not special.any():
        return bytes(data.tobytes())
    places = np.flatnonzero(special)
    letters = np.zeros(256, np.uint8)
    for character, letter in ((delimiter, "d"), (_LF, "n"), (_CR, "r"), (_MARK, "u")):
        letters[character] = ord(letter)
    written = data.copy()
    written[places] = letters[data[places]]
    return bytes(np.insert(written, places, np.uint8(_MARK)).tobytes())
