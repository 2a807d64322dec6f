"""CSV files: their header, and their records in the plain form that the engine reads.

Promise: nothing is detected. Compression follows from a file's name, everything else from the policy. Every record is
checked before the first is used; a file that is not well-formed is refused with its name, the line and the reason (for
the owner, who alone registers). A file that is in the plain form already is read where it lies; of any other a plain
copy is made in the folder given, which only the owner can enter and which is removed after registration.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import codecs
import gzip
import itertools
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tacit.engines import quoting
from tacit.engines.csv_records import LARGEST_RECORD, Grammar, Malformed, Run, is_plain, plain, runs, text_in_sql, texts
from tacit.errors import EngineError
from tacit.policy.reading import CsvReading

_BLOCK: Final = 2**20
_BOM: Final = codecs.BOM_UTF8
_LONGEST_LINE: Final = 2 * LARGEST_RECORD + _BLOCK
_FIXED: Final = (
    "auto_detect = false, header = {header}, delim = {delimiter}, quote = '', escape = '', comment = '', "
    "new_line = '\\n', nullstr = '\x1f', encoding = 'utf-8', compression = 'none', strict_mode = true, skip = 0, "
    "null_padding = false, ignore_errors = false, store_rejects = false, normalize_names = false, filename = false, "
    f"hive_partitioning = false, union_by_name = false, max_line_size = {_LONGEST_LINE}, "
    f"buffer_size = {2 * _LONGEST_LINE}"
)

_HOW: Final = " Mend the file, or state in the policy how it is written (delimiter, quote, escape, encoding, comment)."


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files in the plain form, and whether values in them are escaped."""

    paths: tuple[str, ...]
    escaped: bool


def header(paths: Sequence[str], reading: CsvReading) -> list[str]:
    """The names of the columns: what the first line says, which is the same in all files. Reads no other record."""
    found = []
    for path in paths:
        try:
            found.append(_first(path, reading))
        except Malformed as bad:
            raise EngineError(f"{path}, {bad}{_HOW}") from None
    for path, names in zip(paths, found, strict=True):
        if names != found[0] and reading.header:
            raise EngineError(
                f"All CSV files of a table have the same header. That of {paths[0]} is {', '.join(found[0])}; "
                f"that of {path} is {', '.join(names)}."
            )
    names = found[0] if reading.header else [""] * len(found[0])
    return [name or f"c{place}" for place, name in enumerate(names)]


def prepare(paths: Sequence[str], reading: CsvReading, columns: int, folder: Path) -> Prepared:
    """Every record of the files checked, and the files in the plain form."""
    grammar = Grammar.of(reading, columns)
    made = [_prepared(path, grammar, folder / f"plain-{place}.csv") for place, path in enumerate(paths)]
    return Prepared(tuple(path for path, _ in made), any(escaped for _, escaped in made))


def relation(prepared: Prepared, names: Sequence[str], reading: CsvReading) -> str:
    """The files as a relation of texts."""
    columns = [f"c{place}" for place in range(len(names))]
    files = ", ".join(quoting.text(literally(path)) for path in prepared.paths)
    types = ", ".join(f"{quoting.text(column)}: 'VARCHAR'" for column in columns)
    fixed = _FIXED.format(header=str(reading.header).lower(), delimiter=quoting.text(reading.delimiter))
    texts_of = ", ".join(
        f"{text_in_sql(f'tacit_plain.{column}', reading, escaped=prepared.escaped)} AS {quoting.identifier(name)}"
        for column, name in zip(columns, names, strict=True)
    )
    return f"(SELECT {texts_of} FROM read_csv([{files}], columns = {{{types}}}, {fixed}) AS tacit_plain)"


def find_line(paths: Sequence[str], reading: CsvReading, text: str) -> tuple[str, int]:
    """The first place of this line, for files of whole lines."""
    wanted = text.encode()
    for path in paths:
        lines = (line for run in _runs(path, Grammar.of(reading, 1)) for line in run.records.split(b"\n")[:-1])
        for number, line in enumerate(lines, 1):
            if line.removesuffix(b"\r") == wanted:
                return path, number
    return paths[0], 1


def literally(path: str) -> str:
    """A path in which DuckDB sees no wildcard."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


def _first(path: str, reading: CsvReading) -> list[str]:
    one, comment, buffer, line = Grammar.of(reading, None), reading.comment.encode(), b"", 1
    for block in itertools.chain(_blocks(path, reading), [b"\n"]):
        buffer += block
        while buffer and ((comment and buffer.startswith(comment)) or buffer.startswith((b"\n", b"\r\n"))):
            end = buffer.find(b"\n")
            if end < 0:
                break
            buffer, line = buffer[end + 1 :], line + 1
        found = one.whole.match(buffer)
        if found is not None:
            try:
                return texts(plain(one, found[0]), reading)
            except UnicodeDecodeError as bad:
                byte = bad.object[bad.start]
                raise Malformed(line, f"the byte 0x{byte:02x} is not {reading.encoding} here") from None
        if len(buffer) > LARGEST_RECORD:
            break
    if not buffer.strip():
        raise EngineError(f"{path} is empty. A CSV file begins with a line that names its columns, or has rows.")
    raise Malformed(line, one.reason(buffer))


def _prepared(path: str, grammar: Grammar, draft: Path) -> tuple[str, bool]:
    reading = grammar.reading
    may_stay = reading.encoding == "utf-8" and not reading.comment and not _is_packed(path) and not _is_marked(path)
    seen, escaped, copy = 0, False, None if may_stay else _begun(draft)
    try:
        for run in _runs(path, grammar):
            is_plainly = is_plain(run.records, reading)
            if copy is None and not is_plainly:
                copy = _begun(draft)
                _copy_head(path, seen, copy)
            if copy is not None:
                records = run.records if is_plainly else plain(grammar, run.records)
                escaped = escaped or b"\x1f" in records
                copy.write(records)
            seen += len(run.records)
    finally:
        if copy is not None:
            copy.close()
    return (path if copy is None else str(draft)), escaped


def _begun(draft: Path) -> IO[bytes]:
    """A file for the plain form. It begins with a mark, which readers drop, as its first value might look like one."""
    copy = os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
    copy.write(_BOM)
    return copy


def _copy_head(path: str, length: int, copy: IO[bytes]) -> None:
    """What was read so far; all of it is in the plain form."""
    with open(path, "rb") as file:
        while length and (block := file.read(min(length, _BLOCK))):
            copy.write(block)
            length -= len(block)


def _runs(path: str, grammar: Grammar) -> Iterator[Run]:
    """The records of a file, some at a time."""
    rest, line = b"", 1
    try:
        for block in _blocks(path, grammar.reading):
            found, rest, line = runs(grammar, rest + block, line, last=False)
            yield from found
        if rest:
            yield from runs(grammar, rest + b"\n" if not rest.endswith(b"\n") else rest, line, last=True)[0]
    except Malformed as bad:
        raise EngineError(f"{path}, {bad}{_HOW}") from None


def _blocks(path: str, reading: CsvReading) -> Iterator[bytes]:
    """The file's text in UTF-8, without the mark that may stand at its beginning."""
    decoder = None if reading.encoding == "utf-8" else codecs.getincrementaldecoder(reading.encoding)()
    first, line = True, 1
    try:
        with gzip.open(path, "rb") if _is_packed(path) else open(path, "rb") as file:
            while block := file.read(_BLOCK):
                if decoder is not None:
                    block = decoder.decode(block).encode("utf-8")
                if first:
                    first, block = False, block.removeprefix(_BOM)
                line += block.count(b"\n")
                yield block
        if decoder is not None:
            yield decoder.decode(b"", final=True).encode("utf-8")
    except UnicodeDecodeError as bad:
        line += bad.object.count(b"\n", 0, bad.start)
        raise Malformed(line, f"the byte 0x{bad.object[bad.start]:02x} is not {reading.encoding} here") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise EngineError(f"{path} ends in .gz and is not a whole gzip file.") from None
    except OSError as bad:
        raise EngineError(f"{path} cannot be read: {bad.strerror}.") from None


def _is_packed(path: str) -> bool:
    return path.lower().endswith(".gz")


def _is_marked(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_BOM)) == _BOM
    except OSError as bad:
        raise EngineError(f"{path} cannot be read: {bad.strerror}.") from None
