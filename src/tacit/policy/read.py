"""Reading: a TOML file becomes a policy, or a sentence that says where it is wrong.

Promise: what is read is what is written. Decimals are read exactly, unknown keys are refused rather than ignored (a
misspelt `rows_per_unit` must not silently fall back to anything), and every refusal names the file, the path of the
key, what was found, what is allowed, and the nearest known word.

    name = "clinic"                       source = "clinic.duckdb"      # for every table that names none itself
                                          source = "postgres:$CLINIC"   # a database: the variable holds its address
                                          source = "local[4]"           # or a cluster: a Spark session
    working_copy = "clinic.copy"          ledger = "clinic.ledger"      # "memory" keeps either in memory
                                          ledger = "postgres:$LEDGER"   # or in a database, shared by several hosts
    timing = "steps"                      # answers leave at public points in time; "open": as soon as they are there
    [budget]                              epsilon, delta
    [questions]                           default_epsilon, largest_epsilon
    [analysts.ana]                        epsilon, delta
    [tables.visits]                       source, format, table, public, rows_per_unit, key, fan_out
                                          delimiter, quote, escape, encoding, null, decimal, thousands, comment, header:
                                          how CSV is read, see `reading`
                                          unit = "patient_id" | "row" | { key = "visit_id", table = "visits" }
    [tables.visits.columns]               age = { type = "integer", between = [0, 110], outside = "clamp" }
                                          sex = { type = "text", one_of = ["F", "M"], nullable = false }
                                          charge = { type = "real", between = "auto" }   # to be bought
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath
from typing import Any, Final, NoReturn, TypeVar

from tacit import parameters
from tacit.errors import ParameterError, PolicyError
from tacit.loss.budget import Budget
from tacit.policy.check import did_you_mean
from tacit.policy.columns import KINDS, OUTSIDE, Column, Facts
from tacit.policy.policy import DATABASES, Policy, Source, Table
from tacit.policy.reading import KEYS as READING
from tacit.policy.reading import CsvReading
from tacit.policy.units import ColumnUnit, PathUnit, RowUnit, Unit

T = TypeVar("T")
MEMORY: Final = "memory"
AUTO: Final = "auto"
FILL_IN: Final = "FILL IN"
"""The mark in a written policy where only the owner knows what to say."""

_TOP: Final = ("name", "source", "working_copy", "ledger", "timing", "budget", "questions", "analysts", "tables")
_TABLE: Final = ("source", "format", "table", "unit", "rows_per_unit", "public", "columns", "key", "fan_out", *READING)
_COLUMN: Final = ("type", "between", "one_of", "nullable", "outside")
_FORMATS: Final = ("duckdb", "csv", "json", "parquet", "postgres", "spark")
_ENDINGS: Final = {
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".db": "duckdb",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which file we are."""

    file: str
    path: tuple[str, ...] = ()

    def at(self, key: str) -> Place:
        """The place one key further in."""
        return Place(self.file, (*self.path, key))

    def refuse(self, sentence: str) -> PolicyError:
        """The refusal, with its place in front."""
        where = ".".join(self.path)
        return PolicyError(f"{self.file}: {where + ': ' if where else ''}{sentence}")

    def wants(self, allowed: str, found: object, hint: str = "") -> NoReturn:
        """Refuse what was found here."""
        raise self.refuse(f"{allowed} is wanted. Got {_shown(found)} instead.{hint}")

    def make(self, build: Callable[[], T]) -> T:
        """What `build` makes; its refusals get this place."""
        try:
            return build()
        except (PolicyError, ParameterError) as bad:
            raise self.refuse(str(bad)) from None


def read(path: str | Path) -> Policy:
    """The policy in this file. Paths inside it are relative to the file's folder."""
    place = Place(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise place.refuse("there is no such file. `tacit init` writes a policy to start from.") from None
    except (OSError, UnicodeDecodeError):
        raise place.refuse("the file cannot be read as UTF-8 text.") from None
    return parse(text, file=str(path), directory=str(Path(path).parent))


def parse(text: str, *, file: str = "policy", directory: str = ".") -> Policy:
    """The policy in this TOML text."""
    place = Place(file)
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as bad:
        raise place.refuse(f"this is not TOML: {bad}.") from None
    _known(place, content, _TOP)
    budget = _budget(place.at("budget"), _needed(place, content, "budget"))
    questions = _section(place.at("questions"), content.get("questions", {}))
    _known(place.at("questions"), questions, ("default_epsilon", "largest_epsilon"))
    largest = _number(place.at("questions"), questions, "largest_epsilon", min(Fraction(1), budget.epsilon))
    default = _number(place.at("questions"), questions, "default_epsilon", min(Fraction(1, 10), largest))
    analysts = _section(place.at("analysts"), content.get("analysts", {}))
    tables = _section(place.at("tables"), _needed(place, content, "tables"))
    budgets = {name: _budget(place.at("analysts").at(name), part) for name, part in analysts.items()}
    found = {
        name: _table(place.at("tables").at(name), name, table, content.get("source")) for name, table in tables.items()
    }
    name = _text(place, content, "name", PurePath(file).stem)
    copy, ledger = _path(place, content, "working_copy"), _path(place, content, "ledger")
    timing: Any = _text(place, content, "timing", "open")
    return place.make(lambda: Policy(name, found, budget, budgets, default, largest, copy, ledger, directory, timing))


def format_of(path: str) -> str | None:
    """The format that a file's ending, or a database's address, stands for."""
    if path.startswith(("postgres:", "postgresql:")):
        return "postgres"
    if path.startswith(("sc://", "spark://")) or re.fullmatch(r"local(\[[\d*, ]+\])?", path):
        return "spark"
    name = path.lower().removesuffix(".gz")
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def _table(place: Place, name: str, content: Any, shared_source: Any) -> Table:
    table = _section(place, content)
    _known(place, table, _TABLE)
    public = _flag(place, table, "public", False)
    unit = None if public and "unit" not in table else _unit(place.at("unit"), table.get("unit"))
    rows = 1 if public or isinstance(unit, RowUnit) else _needed(place, table, "rows_per_unit")
    columns = _section(place.at("columns"), table.get("columns", {}))
    source = _source(place, name, table, shared_source)
    found = {key: _column(place.at("columns").at(key), key, facts) for key, facts in columns.items()}
    bound = table.get("rows_per_unit", rows)
    key = _text(place, table, "key", None) if "key" in table else None
    fan_out = table.get("fan_out")
    # A table's own refusals begin with its path already.
    return Place(place.file).make(lambda: Table(name, source, unit, bound, found, public, key, fan_out))


def _source(place: Place, name: str, table: Mapping[str, Any], shared: Any) -> Source:
    path = table.get("source", shared)
    if not isinstance(path, str) or not path:
        place.at("source").wants("a file (DuckDB, CSV, JSON lines, Parquet), a database or a Spark session", path)
    kind = table.get("format", format_of(path))
    if kind not in _FORMATS:
        place.at("format").wants(f"one of {', '.join(_FORMATS)}", kind, did_you_mean(str(kind), _FORMATS))
    if "table" in table and kind not in DATABASES:
        raise place.at("table").refuse("only a DuckDB file or a database has tables inside. Leave this key out.")
    inside = _text(place, table, "table", name) if kind in DATABASES else None
    reading = _reading(place, table)
    return place.at("source").make(lambda: Source(kind, path, inside, reading))


def _reading(place: Place, table: Mapping[str, Any]) -> CsvReading:
    stated = {key: table[key] for key in READING if key in table}
    if "null" in stated:
        null = stated["null"]
        stated["null"] = (null,) if isinstance(null, str) else tuple(null) if isinstance(null, list) else null
    return place.make(lambda: CsvReading(**stated))


def _unit(place: Place, content: Any) -> Unit:
    allowed = 'the name of a column, "row", or a path such as { key = "visit_id", table = "visits" }'
    if isinstance(content, str) and content and content != FILL_IN:
        return RowUnit() if content == "row" else ColumnUnit(content)
    if not isinstance(content, dict):
        place.wants(allowed, content)
    _known(place, content, ("key", "table", "their_key"))
    key = _text(place, content, "key", None)
    return PathUnit(key, _text(place, content, "table", None), _text(place, content, "their_key", key))


def _column(place: Place, name: str, content: Any) -> Column:
    facts = _section(place, content)
    _known(place, facts, _COLUMN)
    kind = _choice(place, facts, "type", KINDS, None)
    auto = facts.get("between") == AUTO
    lower, upper = _pair(place.at("between"), facts["between"]) if "between" in facts and not auto else (None, None)
    values = facts.get("one_of")
    if values is not None and not isinstance(values, list):
        place.at("one_of").wants("a list of values", values)
    stated = Facts(
        lower=lower,
        upper=upper,
        values=None if values is None else tuple(values),
        nullable=_flag(place, facts, "nullable", True),
        outside=_choice(place, facts, "outside", OUTSIDE, "clamp"),
        auto=auto,
    )
    return place.make(lambda: stated.column(name, kind))


def _pair(place: Place, content: Any) -> tuple[Any, Any]:
    if not isinstance(content, list) or len(content) != 2:
        place.wants('a list of two bounds, such as [0, 100], or "auto",', content)
    return content[0], content[1]


def _budget(place: Place, content: Any) -> Budget:
    section = _section(place, content)
    _known(place, section, ("epsilon", "delta"))
    epsilon = _number(place, section, "epsilon", None)
    delta = _number(place, section, "delta", Fraction(0))
    return place.make(lambda: Budget(epsilon, delta))


def _number(place: Place, section: Mapping[str, Any], key: str, default: Fraction | None) -> Fraction:
    if key not in section and default is not None:
        return default
    found = _needed(place, section, key)
    try:
        return parameters.non_negative(key, found)
    except ParameterError:
        place.at(key).wants("a finite number of at least 0", found)


def _text(place: Place, section: Mapping[str, Any], key: str, default: str | None) -> str:
    found = section.get(key, default) if default is not None else _needed(place, section, key)
    if not isinstance(found, str) or not found:
        place.at(key).wants("text", found)
    return found


def _path(place: Place, section: Mapping[str, Any], key: str) -> str | None:
    found = _text(place, section, key, MEMORY)
    return None if found == MEMORY else found


def _flag(place: Place, section: Mapping[str, Any], key: str, default: bool) -> bool:
    found = section.get(key, default)
    if not isinstance(found, bool):
        place.at(key).wants("true or false", found)
    return found


def _choice(place: Place, section: Mapping[str, Any], key: str, allowed: tuple[Any, ...], default: Any) -> Any:
    found = section.get(key, default) if default is not None else _needed(place, section, key)
    if found not in allowed:
        place.at(key).wants(f"one of {', '.join(allowed)}", found, did_you_mean(str(found), allowed))
    return found


def _section(place: Place, content: Any) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        place.wants(f"a section of keys, such as [{'.'.join(place.path)}],", content)
    return content


def _needed(place: Place, section: Mapping[str, Any], key: str) -> Any:
    if key not in section:
        raise place.at(key).refuse("this key is missing.")
    return section[key]


def _known(place: Place, section: Iterable[str], known: Collection[str]) -> None:
    for key in section:
        if key not in known:
            meant = _MEANT.get(key.lower())
            near = f" Did you mean {meant!r}?" if meant is not None and meant in known else did_you_mean(key, known)
            raise place.at(key).refuse(f"there is no such key. Keys: {', '.join(known)}.{near}")


_MEANT: Final = {
    "values": "one_of",
    "options": "one_of",
    "categories": "one_of",
    "enum": "one_of",
    "domain": "one_of",
    "range": "between",
    "bounds": "between",
    "min": "between",
    "max": "between",
    "lower": "between",
    "upper": "between",
    "kind": "type",
    "dtype": "type",
    "file": "source",
    "path": "source",
    "csv": "source",
    "separator": "delimiter",
    "sep": "delimiter",
    "na_values": "null",
    "user": "unit",
    "id": "unit",
    "privacy_unit": "unit",
    "max_rows_per_unit": "rows_per_unit",
    "eps": "epsilon",
    "max_epsilon": "largest_epsilon",
}
"""What other programs call it."""


def _shown(found: object) -> str:
    shown = "nothing" if found is None else str(found) if isinstance(found, Decimal) else repr(found)
    return shown if len(shown) <= 80 else shown[:77] + "..."
