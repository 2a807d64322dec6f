"""Write docs/coverage.md: every question of the list, and what becomes of it on every engine that this machine has.

    python -m tests.coverage.write                    all engines there are
    python -m tests.coverage.write DuckDB Spark       these alone

The columns of engines that were not asked keep what the page says. An answer that plain SQL contradicts stops it, and
so does an engine that counts otherwise than DuckDB.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.coverage.engines import available, on_duckdb
from tests.coverage.everywhere import differs, of_every_kind
from tests.coverage.outcomes import plain, wrong
from tests.coverage.questions import QUESTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"
ENGINES = ("DuckDB", "PostgreSQL", "Spark")
_ROW = re.compile(r"^\| `(?P<sql>.+)` \| (?P<cells>.+) \|$")
_ANSWERED, _OPEN = "answered", "not run yet"
Outcomes = Mapping[tuple[str, str], str]


def run(names: Sequence[str]) -> dict[tuple[str, str], str]:
    """The outcome of each question on each of these engines."""
    found = {}
    connection = plain()
    with on_duckdb() as reference:
        some = set(of_every_kind(reference))
        for name in names:
            with available()[name]() as curator:
                for question in QUESTIONS:
                    whole = name == "DuckDB" or question in some
                    outcome, problem = wrong(curator, question, connection) if whole else ("", None)
                    if name != "DuckDB" and problem is None:
                        outcome, problem = differs(curator, question, reference)
                    if problem is not None:
                        raise SystemExit(f"{name}: {question.sql}\n  {problem}")
                    found[name, question.sql] = outcome if isinstance(outcome, str) else _ANSWERED
    return found


def kept() -> dict[tuple[str, str], str]:
    """The outcomes that the page holds already."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else ():
        row = _ROW.match(line)
        if row is not None:
            cells = re.split(r" (?<!\\)\| ", row["cells"])
            found.update({(name, _read(row["sql"])): _read(cell) for name, cell in zip(ENGINES, cells, strict=True)})
    return found


def page(outcomes: Outcomes) -> str:
    """The page's text."""
    lines = [
        _HEAD.format(count=len(QUESTIONS)),
        "",
        "| engine | answered | refused | share answered |",
        "|---|---|---|---|",
    ]
    for name in ENGINES:
        seen = [outcomes.get((name, question.sql), _OPEN) for question in QUESTIONS]
        if _OPEN in seen:
            lines.append(f"| {name} | {_OPEN} | | |")
        else:
            answered = [outcome == _ANSWERED for outcome in seen]
            lines.append(
                f"| {name} | {sum(answered)} | {len(seen) - sum(answered)} | {100 * sum(answered) // len(seen)} % |"
            )
    for theme, questions in itertools.groupby(QUESTIONS, key=lambda question: question.theme):
        lines += ["", f"## {theme}", "", f"| question | {' | '.join(ENGINES)} |", "|---|---|---|---|"]
        for question in questions:
            cells = [_shown(outcomes.get((name, question.sql), _OPEN)) for name in ENGINES]
            lines.append(f"| `{_shown(question.sql)}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    return text.replace("|", "\\|")


def _read(text: str) -> str:
    return text.replace("\\|", "|")


_HEAD = """\
# What may be asked

{count} questions as analysts write them, over a made-up clinic: patients, their visits, the diagnoses of visits, and
public tables of departments and codes. Each was asked on DuckDB, at so large an epsilon that noise does not show, and
what was answered was compared with a plain query on the same rows. (min and max are quantiles near the ends, and are
not compared.) The other engines must give the same exact numbers to every question, before noise, and refuse the same;
one question of every kind is asked on them from end to end as well.

This page is written by `python -m tests.coverage.write` from `tests/coverage/questions.toml`; the tests ask the whole
list again."""


if __name__ == "__main__":
    asked_for = sys.argv[1:] or list(available())
    PAGE.write_text(page({**kept(), **run(asked_for)}), encoding="utf-8")
