"""Writing: a policy to start from, made of names and types only.

Promise: no value of any row is looked at, so the file gives nothing away. What only the owner can say (the unit, the
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

_HEAD: Final = """\
# What you promise about this data. Lines marked {mark} need your word; nothing here was read from a row.
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
{inside}unit = {mark}   # whose row is it? One of these columns, "row", or {{ key = "visit_id", table = "visits" }}
rows_per_unit = 1   # {why}: rows beyond this many of one unit are left out; noise grows with it
# public = true   # instead of unit and rows_per_unit, for a table that says nothing about anyone

[tables.{key}.columns]   # a column that is not listed cannot be asked about
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
        yield _TABLE.format(key=_key(name), source=_text(source.path), inside=inside, mark=_text(FILL_IN), why=FILL_IN)
        for column, kind in schema[name].items():
            yield _line(column, kind, source)


def _line(column: str, kind: Kind | None, source: Source) -> str:
    if kind is None:
        return f"# {_key(column)} has a type that no question can use\n"
    if kind == "boolean":
        return f"{_key(column)} = {{ {_FACTS[kind]} }}\n"
    if source.is_csv:
        return f'# {_key(column)} = {{ type = "text" }}   # {FILL_IN}: CSV has no types; or integer, real, date, ...\n'
    return f"# {_key(column)} = {{ {_FACTS[kind]} }}   # {FILL_IN}: values outside are clamped or count as missing\n"


def fact_line(column: Column, lower: int | float, upper: int | float) -> str:
    """The line of a policy that states these bounds of a column, and what else was stated about it."""
    facts = [f'type = "{column.kind}"', f"between = [{lower!r}, {upper!r}]"]
    facts += [] if column.outside == "clamp" else [f'outside = "{column.outside}"']
    facts += [] if column.nullable else ["nullable = false"]
    return f"{_key(column.name)} = {{ {', '.join(facts)} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
