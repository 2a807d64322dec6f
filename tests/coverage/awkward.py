"""Answers compared with plain DuckDB on the same awkward rows, at so large an epsilon that noise does not show.

    python -m tests.coverage.awkward            the list, then 400 questions put together at random
    python -m tests.coverage.awkward 5000 7     so many at random, from that seed

Promise: an answer says what plain SQL says, or the question is refused, or docs/questions.md names the difference:
halves are rounded upwards, `//` leaves out the fraction of reals, dividing by zero is NULL. For those the plain
question is written with the words of the documentation, so that they are held to it too. Sums of no rows are 0 here and
NULL in DuckDB: whether there are rows is private.
"""

from __future__ import annotations

import datetime
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tacit.curator import Curator
from tacit.errors import QuestionError
from tests.coverage.awkward_tables import opened, tables
from tests.coverage.outcomes import TOLERANCE, agrees, in_plain_duckdb, keys_of
from tests.coverage.questions import Asked

LIST = Path(__file__).parent / "awkward.sql"
EPSILON = 10**8
_ONE = Asked("", "SELECT count(*) FROM t", "", 1, refused=False)


class Words(NamedTuple):
    """The same in our words and in DuckDB's."""

    ours: str
    plain: str


def _same(*texts: str) -> list[Words]:
    return [Words(each, each) for each in texts]


def listed() -> list[Asked]:
    """The questions of the list: `theme` lines open a theme, `==>` says what DuckDB is asked instead."""
    found, theme = [], ""
    for block in LIST.read_text(encoding="utf-8").split(";\n"):
        lines = block.strip().splitlines()
        themes = [line for line in lines if line.startswith("-- ")]
        theme = themes[-1].removeprefix("-- ") if themes else theme
        ours, _, plain = " ".join(line for line in lines if not line.startswith("--")).partition("==>")
        sql = " ".join(ours.split())
        if sql:
            refused = plain.strip() == "refused"
            found.append(Asked(theme, sql, "" if refused else " ".join(plain.split()) or sql, EPSILON, refused))
    return found


# -- questions put together at random --------------------------------------------------------------------------------

NUMBERS = {
    "people": [
        *_same("x", "k", "abs(x)", "-k", "x * 2 - k", "coalesce(x, 1.5)", "nullif(k, 0)", "k * k", "least(x, k)"),
        *_same("greatest(k, 2)", "CASE WHEN ok THEN x ELSE k END", "year(born) - 1950", "power(k, 2)"),
        *_same(
            "floor(x)",
            "ceil(x)",
            "trunc(x)",
            "sign(x)",
            "k % 3",
            "power(k, 2)",
            "CASE k WHEN 0 THEN 5 WHEN 1 THEN 6 END",
        ),
        Words("round(x)", "floor(x + 0.5)"),
        Words("round(x * 2)", "floor(x * 2 + 0.5)"),
        Words("x / k", "x / nullif(k, 0)"),
        Words("k / k", "k / nullif(k, 0)"),
        Words("x // 2", "trunc(x / 2)"),
        Words("k // 2", "k // 2"),
        Words("CAST(x AS INTEGER)", "floor(x + 0.5)"),
    ],
    "stays": [
        *_same("cost", "nights", "cost * nights", "coalesce(nights, -1)", "cost - 50", "least(cost, 20)", "month(day)"),
        *_same("date_diff('day', DATE '2024-01-01', day)", "hour(seen)", "CASE WHEN nights IS NULL THEN 1 ELSE 0 END"),
        *_same("IF(nights > 1, cost, 0)", "nights % 2", "sqrt(nights)", "abs(cost - 40)"),
        Words("round(cost)", "floor(cost + 0.5)"),
        Words("cost / nights", "cost / nullif(nights, 0)"),
        Words("nights / nights", "nights / nullif(nights, 0)"),
        Words("cost // 10", "trunc(cost / 10)"),
    ],
}
PREDICATES = {
    "people": _same(
        *("x > 0", "x >= 0.5", "k = 0", "k <> 0", "k IN (1, 2)", "k NOT IN (1, 2)", "ward = 'a'", "ward <> 'a'"),
        *(
            "ward IS NULL",
            "ward IS NOT NULL",
            "NOT ok",
            "ok IS NOT TRUE",
            "x BETWEEN -1 AND 1",
        ),
        *(
            "x NOT BETWEEN -1 AND 1",
            "x IS DISTINCT FROM k",
            "k > 0 OR x > 0",
            "NOT (k > 0 AND x > 0)",
            "ward IN ('a', 'c')",
        ),
        *(
            "ward LIKE '%'",
            "born >= DATE '1970-01-01'",
            "month(born) = 2",
            "coalesce(ok, FALSE)",
            "x + k > 1",
            "k % 2 = 1",
            "k = x",
        ),
        *("who IN (SELECT who FROM stays WHERE nights > 1)", "who NOT IN (SELECT who FROM stays)"),
        "EXISTS (SELECT 1 FROM stays s WHERE s.who = t.who AND s.cost > 50)",
        "NOT EXISTS (SELECT 1 FROM stays s WHERE s.who = t.who AND s.ward = 'b')",
        "ward IN (SELECT ward FROM wards WHERE beds > 5)",
        "EXISTS (SELECT 1 FROM wards w WHERE w.ward = t.ward AND w.floor_no = 2)",
    ),
    "stays": _same(
        *("cost > 50", "cost <= 12.5", "nights = 0", "nights > 1 OR cost > 80", "ward = 'b'", "ward IS NULL"),
        *(
            "NOT (nights = 2)",
            "day >= DATE '2024-07-01'",
            "day BETWEEN '2024-02-01' AND '2024-02-29'",
            "hour(seen) < 12",
        ),
        *("extract(dow FROM day) IN (0, 6)", "date_trunc('month', day) = DATE '2024-03-01'", "cost * nights > 60"),
        *("nights IS NOT DISTINCT FROM NULL", "coalesce(nights, 9) > 2", "ward NOT IN ('a')", "year(day) = 2024"),
        "seen + INTERVAL 12 HOUR > TIMESTAMP '2024-06-01 00:00:00'",
        "who IN (SELECT who FROM people WHERE x < 0)",
    ),
}
KEYS = {
    "people": [
        *_same("ward", "ok", "k", "coalesce(ward, 'none')", "upper(ward)", "k % 2", "year(born) // 10", "x > 0"),
        *_same("CASE WHEN k > 2 THEN 'many' WHEN k >= 0 THEN 'few' END", "sign(k)", "floor(x)"),
        Words("round(x)", "floor(x + 0.5)"),
    ],
    "stays": _same(
        *("ward", "nights", "year(day)", "month(day)", "extract(dow FROM day)", "cost > 50", "coalesce(nights, -1)"),
        *("date_trunc('month', day)", "strftime(day, '%Y-%m')", "CASE WHEN ward = 'a' THEN 'A' ELSE 'other' END"),
    ),
}
AGGREGATES = (
    *_same("count(*)", "count({0})", "avg({0})", "count(*) FILTER (WHERE {p})", "avg(CASE WHEN {p} THEN {0} END)"),
    *_same("count(DISTINCT who)", "count(DISTINCT who) FILTER (WHERE {p})", "count({0}) + count({1})"),
    *_same("var_pop({0} * 1.5 + {1})", "stddev({0} - {1})", "covar_pop({0} + {1}, {1})"),
    Words("sum({0})", "coalesce(sum({0}), 0)"),
    Words("count_if({p})", "coalesce(count_if({p}), 0)"),
    Words("sum({0}) FILTER (WHERE {p})", "coalesce(sum({0}) FILTER (WHERE {p}), 0)"),
    Words("sum({0}) - sum({1})", "coalesce(sum({0}), 0) - coalesce(sum({1}), 0)"),
    Words("sum({0}) / count(*)", "coalesce(sum({0}), 0) / nullif(count(*), 0)"),
)


def _question(chance: random.Random) -> tuple[str, str]:
    """One question, in our words and in DuckDB's."""
    table = chance.choice(("people", "stays"))
    numbers, tests = NUMBERS[table], PREDICATES[table]
    outputs = []
    for place in range(chance.randint(1, 3)):
        form = chance.choice(AGGREGATES)
        one, other, held = chance.choice(numbers), chance.choice(numbers), chance.choice(tests)
        if "{p}" in form.ours:  # a SELECT inside has a place in WHERE alone
            held = chance.choice([each for each in tests if "SELECT" not in each.ours])
        outputs.append(
            Words(
                form.ours.format(one.ours, other.ours, p=held.ours) + f" AS o{place}",
                form.plain.format(one.plain, other.plain, p=held.plain) + f" AS o{place}",
            )
        )
    source = f"{table} t"
    conditions = [chance.choice(tests) for _ in range(chance.choice((0, 1, 1, 2)))]
    keys = chance.sample(KEYS[table], chance.choice((0, 1, 1, 2)))
    texts = []
    for side in range(2):
        select = [*(f"{key[side]} AS key{n}" for n, key in enumerate(keys)), *(each[side] for each in outputs)]
        where = " WHERE " + chance_join(conditions, side) if conditions else ""
        group = " GROUP BY " + ", ".join(f"key{n}" for n in range(len(keys))) if keys else ""
        texts.append(f"SELECT {', '.join(select)} FROM {source}{where}{group}")
    return texts[0], texts[1]


def chance_join(conditions: list[Words], side: int) -> str:
    """Conditions that all must hold."""
    return " AND ".join(f"({each[side]})" for each in conditions)


def at_random(number: int, seed: int) -> Iterator[Asked]:
    """So many questions from a seed."""
    chance = random.Random(seed)
    for _ in range(number):
        ours, plain = _question(chance)
        yield Asked("at random", ours, plain, EPSILON, False)


def plain() -> duckdb.DuckDBPyConnection:
    """The same tables for plain SQL; a test belongs to whoever had the stay."""
    connection = in_plain_duckdb(tables())
    connection.execute("ALTER TABLE tests ADD COLUMN who BIGINT")
    connection.execute("UPDATE tests SET who = s.who FROM stays s WHERE s.stay = tests.stay")
    return connection


def compare(curator: Curator, connection: duckdb.DuckDBPyConnection, question: Asked) -> tuple[str, str | None]:
    """How a question ended, and what is wrong with it."""
    try:
        answer = curator.ask(question.sql, question.epsilon, delta="1/1000000")
    except QuestionError as refused:
        return "refused", None if question.refused else f"it is refused: {refused}"
    if question.refused:
        return "answered", "it is answered"
    expected = connection.execute(question.plain).fetchall()
    found = list(answer.rows())
    keys = keys_of(question)
    if not _by_key(expected, keys) or not _by_key(found, keys):  # totals beside their parts, answers put together
        good = agrees(question, found, expected)
        return "answered", None if good else f"it says {sorted(found, key=str)}, plain SQL {sorted(expected, key=str)}"
    rows, reaches = _by_key(found, keys), list(answer.reaches(0.95))
    told = {key: place for place, key in enumerate(rows)}
    for key, row in _by_key(expected, keys).items():
        if key not in rows:
            return "answered", f"it has no row {key}: {row}"
        for place, (one, other) in enumerate(zip(rows[key], row, strict=True)):
            far = reaches[place]
            allowed = TOLERANCE + (0.0 if far is None else 2 * far[told[key]])
            if place not in keys and not _near(one, other, allowed):
                return "answered", f"for {key} it says {one!r} in column {place + 1}, plain SQL {other!r}"
    return "answered", None


def _by_key(rows: Sequence[tuple[Any, ...]], keys: list[int]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Rows by their keys; nothing where two have the same."""
    found = {tuple(_plain_key(row[place]) for place in keys): row for row in rows}
    return found if len(found) == len(rows) else {}


def _plain_key(key: Any) -> Any:
    return key.date() if isinstance(key, datetime.datetime) and key.time() == datetime.time() else key


def _near(one: Any, other: Any, allowed: float) -> bool:
    numbers = (int, float, Decimal)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return abs(float(one) - float(other)) <= allowed
    return agrees(_ONE, [(one,)], [(other,)])


def main(number: int, seed: int) -> int:
    """Ask them all, and say what differs."""
    ends: Counter[str] = Counter()
    differ = 0
    with opened() as curator, plain() as connection:
        for question in (*listed(), *at_random(number, seed)):
            end, problem = compare(curator, connection, question)
            ends[end] += 1
            by_chance = question.theme == "at random" and end == "refused"
            if problem is not None and not by_chance:
                differ += 1
            if problem is not None:
                sys.stdout.write(f"[{question.theme}] {question.sql}\n    {problem}\n")
    sys.stdout.write(f"{ends['answered']:,} answered, {ends['refused']:,} refused, {differ:,} not as expected\n")
    return 1 if differ else 0


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(given[0] if given else 400, given[1] if len(given) > 1 else 1))
