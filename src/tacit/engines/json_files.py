"""JSON lines: files in which every line is one JSON object.

Promise: the columns are those that the policy names, all of them text, and what a line says about them depends on that
line alone: a key that it does not have is NULL there. Lines are split as CSV lines are, and one parser both checks and
reads them. A line that is no JSON object (of the standard: no comma behind the last value, no NaN), that has two keys
that could be mistaken for each other, or that names a unit by a number with a fraction (which has no exact text) is
refused with its file and number, for the owner; and so are units that are a number in one line and the same number as
text in another.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tacit.engines import csv_files, quoting
from tacit.engines.csv_files import Prepared
from tacit.errors import EngineError
from tacit.policy.reading import CsvReading

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LINES: Final = CsvReading(delimiter="\x01", quote="", null=(), header=False)
"""A line is one value: JSON has no control characters, so that no line is split."""
_LINE: Final = "line"
_TEXTS: Final = r'"(?:[^"\\]|\\.)*"'


def prepare(paths: Sequence[str], folder: Path) -> Prepared:
    """The files' lines in the plain form."""
    return csv_files.prepare(paths, LINES, 1, folder)


def relation(prepared: Prepared, names: Sequence[str]) -> str:
    """The lines as a relation of texts, one for each key that the policy names."""
    texts = ", ".join(f"{_text(name)} AS {quoting.identifier(name)}" for name in names)
    return f"(SELECT {texts} FROM {_lines(prepared)} AS tacit_lines)"


def check(
    connection: DuckDBPyConnection, paths: Sequence[str], prepared: Prepared, names: Sequence[str], units: Sequence[str]
) -> None:
    """Refuse the first line found that is not one object with distinguishable keys."""
    # NULL where it is not JSON: a JSON function would fail on it, whatever condition comes before.
    sound = f"(CASE WHEN json_valid({_LINE}) THEN {_LINE} END)"
    keys = f"list_transform(json_keys({sound}), lambda k: lower(trim(nfc_normalize(k))))"
    meant = ", ".join(quoting.text(name) for name in names)
    folded = ", ".join(f"lower({quoting.text(name)})" for name in names)
    others = f"list_filter(json_keys({sound}), lambda k: lower(k) IN ({folded}) AND k NOT IN ({meant}))"
    faults = [
        ("it is no JSON object", f"coalesce(json_type({sound}), '') <> 'OBJECT'"),
        ("it has a comma behind the last value, NaN or Infinity, which JSON does not know", _lenient()),
        ("two of its keys could be taken for one another", f"len(list_distinct({keys})) < len({keys})"),
    ]
    if names:
        faults.append(("a key of it differs from a column of the policy only in case", f"len({others}) > 0"))
    faults += [
        (
            f"its {name!r} is a number with a fraction, which cannot name a unit. Write it as text, in quotes",
            f"json_type({sound}, {_path(name)}) = 'DOUBLE' AND NOT regexp_full_match({_text(name, sound)}, '-?[0-9]+')",
        )
        for name in units
    ]
    # One pass: the number of the first fault of each line that has any.
    cases = " ".join(f"WHEN {sql} THEN {place}" for place, (_, sql) in enumerate(faults))
    judged = f"SELECT CASE {cases} END AS fault, {_LINE} FROM {_lines(prepared)} AS tacit_lines"
    found = connection.execute(
        f"SELECT fault, {_LINE} FROM ({judged}) AS tacit_judged WHERE fault IS NOT NULL LIMIT 1"
    ).fetchone()
    if found is not None:
        path, line = csv_files.find_line(paths, LINES, str(found[1]))
        raise EngineError(f"{path}, line {line:,}: {faults[int(found[0])][0]}.")
    for name in units:
        _check_written_alike(connection, prepared, name)


def _check_written_alike(connection: DuckDBPyConnection, prepared: Prepared, name: str) -> None:
    """Refuse 1 next to "1": whether they are one person or two cannot be guessed."""
    kind = f"json_type({_LINE}, {_path(name)})"
    kind = f"CASE {kind} WHEN 'VARCHAR' THEN 'text' WHEN 'BOOLEAN' THEN 'truth' ELSE 'number' END"
    units = f"SELECT {_text(name)} AS unit, {kind} AS kind FROM {_lines(prepared)} AS tacit_lines"
    written = f"FROM ({units}) AS tacit_units WHERE unit IS NOT NULL"
    if connection.execute(f"SELECT min(kind) = max(kind) {written}").fetchone() in ((True,), (None,)):
        return
    twice = f"SELECT unit {written} GROUP BY unit HAVING min(kind) <> max(kind) ORDER BY unit LIMIT 1"
    found = connection.execute(twice).fetchone()
    if found is not None:
        raise EngineError(
            f'its {name!r} is {found[0]} in one line and "{found[0]}", a text, in another: whether they are the same '
            "unit cannot be told. Write all of them in quotes, or none."
        )


def _lenient() -> str:
    """Whether a line that the engine's parser accepts is not JSON by the standard.

    Its parser is known to take these two liberties. They are looked for outside texts: texts are cut out first, but
    only in lines that have such signs at all.
    """
    signs = quoting.text(r",\s*[\]}]|(?i:nan|inf)")
    outside = f"regexp_replace({_LINE}, {quoting.text(_TEXTS)}, '0', 'g')"
    return f"CASE WHEN regexp_matches({_LINE}, {signs}) THEN regexp_matches({outside}, {signs}) ELSE false END"


def _lines(prepared: Prepared) -> str:
    return csv_files.relation(prepared, [_LINE], LINES)


def _text(name: str, line: str = _LINE) -> str:
    return f"json_extract_string({line}, {_path(name)})"


def _path(name: str) -> str:
    return quoting.text(f'$."{name}"')
