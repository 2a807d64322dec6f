"""Writing: a policy to start from, made of names and types, and of how a CSV file is written.

Promise: no value of any row is written, so the file gives nothing away. What only the owner can say (the unit, the
ranges, the budget) is left open and marked FILL IN; a file with a mark left in it is refused when it is read, because
a guess here would be a privacy mistake.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from tacit.policy.check import Schema
from tacit.policy.columns import Column, Kind
from tacit.policy.policy import Source
from tacit.policy.read import FILL_IN
from tacit.policy.reading import KEYS

_HEAD: Final = """\
# What you promise about this data. Lines marked {mark} need your word; no value of a row stands here.
name = {name}
working_copy = {copy}   # {about}
ledger = {ledger}   # what has been spent; keep it as long as the data

# How much may be learnt about one unit, over all questions and all analysts together.
[budget]
epsilon = 1.0   # {mark}: common choices lie between 0.1 and 10; smaller protects better
delta = 1e-6    # well below 1 / number of units

[questions]
default_epsilon = 0.1   # when a question names none
largest_epsilon = 0.5   # no single question may cost more

# Analysts may have budgets of their own, within the one above:
# [analysts.ana]
# epsilon = 0.5
# delta = 1e-7
"""

_IN_FILE: Final = 'a bounded copy, readable by you only; "memory" keeps it in memory'
_IN_DATABASE: Final = 'a bounded copy, in a schema of the database; "query" makes none, and each question takes longer'

_TABLE: Final = """
[tables.{key}]
source = {source}
{inside}{how}unit = {mark}   # whose row is it? One of these columns, "row", or {{ key = "visit_id", table = "visits" }}
rows_per_unit = 1   # {why}: rows beyond this many of one unit are left out; noise grows with it
# public = true   # instead of unit and rows_per_unit, for a table that says nothing about anyone

[tables.{key}.columns]   # a column that is not listed cannot be asked about
# For example:
#   age = {{ type = "integer", between = [0, 110] }}   # values outside are clamped
#   sex = {{ type = "text", one_of = ["F", "M"] }}     # other values count as missing
#   town = {{ type = "text" }}                         # any text; to name its groups a question needs a delta
# Bounds that you do not know can be bought: between = "auto", and later: tacit suggest POLICY TABLE.COLUMN
"""

_FACTS: Final[Mapping[Kind, str]] = {
    "integer": 'type = "integer", between = [0, 100]',
    "real": 'type = "real", between = [0.0, 100.0]',
    "text": 'type = "text", one_of = ["a", "b"]',
    "date": 'type = "date", between = [2000-01-01, 2030-12-31]',
    "timestamp": 'type = "timestamp", between = [2000-01-01T00:00:00, 2030-12-31T23:59:59]',
    "boolean": 'type = "boolean"',
}

_WHY: Final[Mapping[str, str]] = {
    "delimiter": "between two values",
    "quote": 'around values that hold a delimiter or a line break; "" for none',
    "escape": "before a quote inside quotes",
    "encoding": "utf-8, latin-1, windows-1252 or utf-16",
    "null": "texts that mean: no value",
    "decimal": "before the fraction of a number",
    "thousands": "between groups of digits",
    "comment": "lines that begin with it are left out",
    "header": "whether the first line names the columns; without one they are c0, c1, ...",
}


def write(name: str, sources: Mapping[str, Source], schema: Schema) -> str:
    """A commented policy for these tables."""
    database = any(source.format == "postgres" for source in sources.values())
    facts = {
        "name": _text(name),
        "copy": _text(f"{name}_copy" if database else f"{name}.copy"),
        "about": _IN_DATABASE if database else _IN_FILE,
        "ledger": _text(f"{name}.ledger"),
    }
    return "".join((_HEAD.format(**facts, mark=FILL_IN), *_tables(sources, schema)))


def _tables(sources: Mapping[str, Source], schema: Schema) -> Iterator[str]:
    for name, source in sources.items():
        inside = f"table = {_text(source.table)}\n" if source.table is not None else ""
        yield _TABLE.format(
            key=_key(name),
            source=_text(source.path),
            inside=inside,
            how="".join(_reading(source)),
            mark=_text(FILL_IN),
            why=FILL_IN,
        )
        for column, kind in schema[name].items():
            yield _line(column, kind, source)


def _reading(source: Source) -> Iterator[str]:
    """How a CSV file is read. Unusual settings were found in the file, and the owner may correct them."""
    if not source.is_csv:
        return
    stated = source.reading.stated()
    if stated:
        yield "# How the file is written, as far as could be told from it. Please check; nothing is guessed later.\n"
    for key, value in stated.items():
        yield f"{key} = {json.dumps(value, ensure_ascii=True)}   # {_WHY[key]}\n"
    usual = ", ".join(key for key in KEYS if key not in stated)
    yield f"# As usual: {usual}\n"


def _line(column: str, kind: Kind | None, source: Source) -> str:
    if kind is None:
        return f"# {_key(column)} has a type that no question can use\n"
    if kind == "boolean":
        return f"{_key(column)} = {{ {_FACTS[kind]} }}\n"
    if source.is_csv or source.format == "json":
        kind_of_file = "JSON lines have" if source.format == "json" else "CSV has"
        return f'# {_key(column)} = {{ type = "text" }}   # {FILL_IN}: {kind_of_file} no types; or integer, real, ...\n'
    return f"# {_key(column)} = {{ {_FACTS[kind]} }}   # {FILL_IN}: values outside are clamped or count as missing\n"


def fact_line(column: Column, lower: int | float, upper: int | float) -> str:
    """The line of a policy that states these bounds of a column, and the other facts that were stated about it."""
    facts = [f'type = "{column.kind}"', f"between = [{lower!r}, {upper!r}]"]
    facts += [] if column.outside == "clamp" else [f'outside = "{column.outside}"']
    facts += [] if column.nullable else ["nullable = false"]
    return f"{_key(column.name)} = {{ {', '.join(facts)} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
