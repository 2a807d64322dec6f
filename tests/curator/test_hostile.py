"""Hostile and ordinary questions on a table and on its neighbour: nothing that anyone can see tells them apart.

The neighbour lacks one person, whose three rows hold infinities, absurd ages, dates out of range, codes that are no
numbers, escape sequences and towns of their own. Compared: answered or refused, the error's text, the columns, their
kinds, the charge, and with known keys the number of rows and the keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tacit.curator import Curator
from tacit.errors import QuestionError, TacitError
from tests.curator.tables import curated, people, without_one

DEEP = 5_000
LONG = "x" * 1_000_000
COUNT = "SELECT count(*) FROM people"


REFUSED = [
    # not a question at all
    "", " ", ";", "--", "/*", "\x00", "SELECT", "sel ect", "🦆", "SELECT count(*", "'", '"', "$$", "{}", "NULL",
    # other statements, and several
    "DROP TABLE people", "DELETE FROM people", "INSERT INTO people VALUES (1)", "UPDATE people SET age = 1",
    "ATTACH 'x.db'", "DETACH x", "PRAGMA database_list", "SET memory_limit = '1TB'", "COPY people TO '/tmp/out.csv'",
    "INSTALL httpfs", "LOAD httpfs", "CALL pragma_version()", "EXPORT DATABASE 'x'", "EXPLAIN " + COUNT,
    "CREATE TABLE t AS " + COUNT, "CHECKPOINT", COUNT + "; DROP TABLE people", COUNT + "; " + COUNT,
    COUNT + " WHERE sex = ''; ATTACH 'x' --'", COUNT + " UNION ALL " + COUNT,
    "WITH a AS (SELECT 1) SELECT count(*) FROM a",
    # files, the environment, the engine's own tables and functions
    "SELECT count(*) FROM read_csv('/etc/passwd')", "SELECT count(*) FROM '/etc/passwd'",
    "SELECT count(*) FROM glob('/*')", "SELECT count(*) FROM read_text('/etc/hostname')",
    "SELECT count(*) FROM duckdb_tables()", "SELECT count(*) FROM information_schema.tables",
    "SELECT count(*) FROM tacit_copy.people", "SELECT count(*) FROM range(10)", "SELECT count(*) FROM tacit_about",
    COUNT + " WHERE getenv('HOME') = 'x'", COUNT + " WHERE current_setting('threads') = '1'",
    COUNT + " WHERE version() = 'x'", COUNT + " WHERE random() < 0.5", COUNT + " WHERE error('x') = 1",
    COUNT + " WHERE nextval('s') = 1", COUNT + " WHERE now() > day", COUNT + " WHERE sleep_ms(1000) = 1",
    "SELECT sum(getvariable('x')) FROM people", COUNT + " WHERE query('SELECT 1') = 1",
    # rows themselves, and the person behind them
    "SELECT * FROM people", "SELECT people.* FROM people", "SELECT age FROM people", "SELECT pid FROM people",
    "SELECT pid, count(*) FROM people GROUP BY pid", COUNT + " WHERE pid = 1000000", COUNT + " WHERE pid IN (1000000)",
    "SELECT sum(pid) FROM people", "SELECT avg(pid) FROM people", "SELECT min(age) FROM people",
    "SELECT max(pay) FROM people", "SELECT count(*) FROM people GROUP BY pid % 2", "SELECT first(age) FROM people",
    "SELECT list(age) FROM people", "SELECT string_agg(town, ',') FROM people", "SELECT arg_max(town, age) FROM people",
    "SELECT any_value(town) FROM people", "SELECT row_number() OVER () FROM people",
    "SELECT DISTINCT ON (sex) age FROM people",
    "SELECT count(*) OVER (PARTITION BY sex) FROM people", "SELECT age, count(*) FROM people",
    "SELECT count(*) FROM people ORDER BY age", "SELECT tacit_unit FROM people", COUNT + " WHERE tacit_rank = 1",
    "SELECT rowid FROM people", COUNT + " WHERE rowid = 0", COUNT + " TABLESAMPLE 1 ROWS", COUNT + " OFFSET 1",
    "SELECT count(DISTINCT (town, sex)) FROM people",
    # one person picked by a query inside
    COUNT + " WHERE age = (SELECT max(age) FROM people)", COUNT + " WHERE EXISTS (SELECT 1 FROM people)",
    COUNT + " WHERE age IN (SELECT age FROM people)", "SELECT count(*) FROM (SELECT * FROM people LIMIT 1)",
    "SELECT count(*) FROM people a, people b", "SELECT count(*) FROM people a JOIN people b ON a.age = b.age",
    # names that are not there
    "SELECT count(agee) FROM people", "SELECT count(*) FROM peeple", "SELECT avg(town) FROM people",
    # size
    COUNT + " WHERE " + "(" * DEEP + "age > 1" + ")" * DEEP, COUNT + " WHERE " + "NOT " * DEEP + "member",
    COUNT + " WHERE " + " AND ".join(["age > 1"] * DEEP), "SELECT " + "-" * 9_000 + "1 FROM people",
    COUNT + f" WHERE sex = '{LONG}'", LONG, "SELECT " + "count(*)," * 50_000 + "1 FROM people",
    "SELECT sum(age" + "+1" * 6_000 + ") FROM people", COUNT + " WHERE age > " + "9" * 5_000,
    COUNT + " WHERE age > 1e999999999",
    # always NULL
    "SELECT sum(age / 0) FROM people", "SELECT sum(NULL) FROM people",
    # unknown keys without a delta
    "SELECT town, count(*) FROM people GROUP BY town", "SELECT code, sum(age) FROM people GROUP BY code",
]  # fmt: skip

ANSWERED = [
    COUNT + ";", COUNT + " WHERE age < 98 -- DROP TABLE people", COUNT + " WHERE age < 97 /* ' */",
    "sElEcT CoUnT(*) fRoM PEOPLE wHeRe AGE < 96",
    'SELECT count(*) FROM "people" WHERE "age" < 95', "SELECT count(age), count(pay), count(day) FROM people",
    "SELECT sum(age) FROM people", "SELECT sum(pay), avg(pay), stddev(pay), var_pop(pay) FROM people",
    "SELECT count(DISTINCT pid) FROM people", "SELECT avg(age) FROM people WHERE pay > 100",
    "SELECT sex, count(*) FROM people GROUP BY sex", "SELECT sex, avg(pay) FROM people GROUP BY sex ORDER BY 2 DESC",
    "SELECT member, sum(age) FROM people GROUP BY member", "SELECT age, count(*) FROM people GROUP BY age",
    "SELECT floor(age / 10) * 10 AS b, count(*) FROM people GROUP BY b",
    "SELECT date_trunc('month', day) AS m, count(*) FROM people GROUP BY m",
    "SELECT extract(year FROM day) AS y, avg(pay) FROM people GROUP BY y",
    "SELECT sex, member, count(*) FROM people GROUP BY sex, member LIMIT 4",
    "SELECT sex FROM people GROUP BY sex", "SELECT count(*) * 2 + 1, avg(age) / count(*) FROM people",
    # what fails on one person's row, or would in the engine
    "SELECT sum(1 / (age - 99)) FROM people", "SELECT sum(100 % age) FROM people",
    COUNT + " WHERE 1 / (age - 99) > 0", COUNT + " WHERE age / (pay - 1000) > 1",
    "SELECT avg(CASE WHEN pay > 0 THEN age / pay ELSE 0 END) FROM people",
    "SELECT sum(age * age * age * age) FROM people", "SELECT avg(pay * pay * 1000000) FROM people",
    COUNT + " WHERE pay IS NULL", COUNT + " WHERE NOT (pay > 0)", COUNT + " WHERE pay = pay",
    COUNT + " WHERE day IS NULL",
    COUNT + " WHERE day < DATE '2024-03-01'", COUNT + " WHERE seen >= TIMESTAMP '2024-01-02 00:00:00'",
    COUNT + " WHERE extract(month FROM day) = 2", COUNT + " WHERE age > 99999999999", COUNT + " WHERE age = -1",
    "SELECT sum(coalesce(pay, 0)) FROM people", "SELECT sum(abs(pay - 500)) FROM people",
    COUNT + " WHERE code = '999999999999999999999999'", COUNT + " WHERE code LIKE '%x'",
    COUNT + " WHERE code ILIKE '%\\_%'", COUNT + " WHERE town LIKE '%%%%%%%%%%%%%%%%a'",
    # one person's own values
    COUNT + " WHERE town = 'nowhere0'", COUNT + " WHERE town LIKE 'nowhere%'",
    COUNT + " WHERE sex IS NULL AND age = 99",
    "SELECT sum(pay) FROM people WHERE town = 'nowhere0'",
    "SELECT sex, avg(age) FROM people WHERE town = 'nowhere1' GROUP BY sex",
    "SELECT count(DISTINCT pid) FROM people WHERE town = 'nowhere2'",
    # text that looks like code
    COUNT + " WHERE town = 'O''Hara'", COUNT + " WHERE town = 'Zürich'",
    COUNT + " WHERE town = '''; DROP TABLE people; --'",
    COUNT + " WHERE town = 'Q\"t'", COUNT + " WHERE town = '$1 {x} %s \\x00'",
    COUNT + " WHERE town = '\U0001f986\u202e'",
    COUNT + " WHERE sex = 'F' OR 1 = 1", COUNT + " WHERE " + "(" * 20 + "age > 1" + ")" * 20,
    COUNT + " WHERE age IN (" + ",".join(map(str, range(500))) + ")",
    # after the noise
    "SELECT sex, count(*) FROM people GROUP BY sex ORDER BY count(*) DESC, sex",
    "SELECT count(*) / 0 FROM people", "SELECT sum(age) / (count(*) - count(*)) FROM people",
    "SELECT count(*) FROM people LIMIT 0", COUNT + " WHERE 1 = 0", COUNT + " WHERE NULL",
]  # fmt: skip

WITH_DELTA = [
    "SELECT town, count(*) FROM people GROUP BY town",
    "SELECT code, sum(age) FROM people GROUP BY code",
    "SELECT town FROM people WHERE town LIKE 'nowhere%' GROUP BY town",
    "SELECT sex, town, count(*) FROM people GROUP BY sex, town ORDER BY 3 LIMIT 2",
]

ENGINE_WORDS = ("duckdb", "Binder", "Catalog Error", "Conversion", "Out of Range", "INT128", "sqlglot", "Traceback")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Curator, Curator]]:
    table = people()
    with curated(table) as one, curated(without_one(table)) as other:
        yield one, other


def outcome(curator: Curator, sql: str, **options: Any) -> tuple[Any, ...]:
    """All that can be seen of one question, its noisy numbers apart."""
    before = curator.spent()
    try:
        answer = curator.ask(sql, **options)
    except TacitError as refused:
        return type(refused), str(refused), refused.__cause__, curator.spent() - before
    keys = [
        column
        for column, spread in zip(answer.columns, answer.deviations, strict=True)
        if spread is None and "ORDER" not in sql
    ]
    shown = None if "delta" in options else (len(answer), keys)
    about = {name: value for name, value in answer.facts.items() if name != "entry"}
    return answer.names, answer.kinds, answer.heavy_tailed, about, shown, curator.spent() - before


def shortened(sql: str) -> str:
    return sql[:60] + ("..." if len(sql) > 60 else "")


def test_there_are_enough_questions() -> None:
    assert len(set(REFUSED)) + len(set(ANSWERED)) + len(set(WITH_DELTA)) >= 170


@pytest.mark.parametrize("sql", REFUSED, ids=shortened)
def test_it_is_refused_alike_free_of_charge_and_in_our_words(pair: tuple[Curator, Curator], sql: str) -> None:
    first, second = (outcome(curator, sql, epsilon=1) for curator in pair)
    assert first == second
    kind, text, cause, charge = first
    assert issubclass(kind, QuestionError)
    assert cause is None
    assert (charge.loss, charge.delta) == (0, 0)
    assert 10 < len(text) < 600
    assert not any(word in text for word in ENGINE_WORDS if word not in sql)
    assert text.isprintable()


@pytest.mark.parametrize("sql", ANSWERED, ids=shortened)
def test_it_is_answered_alike_with_and_without_one_person(pair: tuple[Curator, Curator], sql: str) -> None:
    first, second = (outcome(curator, sql, epsilon=1) for curator in pair)
    assert first == second
    assert isinstance(first[0], tuple)  # the names: it was answered
    assert first[-1].loss > 0 or "count" not in sql


@pytest.mark.parametrize("sql", WITH_DELTA, ids=shortened)
def test_unknown_keys_cost_and_look_alike_too(pair: tuple[Curator, Curator], sql: str) -> None:
    first, second = (outcome(curator, sql, epsilon=1, delta="1e-6") for curator in pair)
    assert first == second
    assert first[-1].delta > 0


def test_one_persons_own_town_is_not_named(pair: tuple[Curator, Curator]) -> None:
    """Shown with probability below 1e-9, by the rule on unknown keys."""
    answer = pair[0].ask("SELECT town, count(*) AS n FROM people GROUP BY town", epsilon=3, delta="1e-9")
    assert not any(str(town).startswith("nowhere") for town in answer["town"])
