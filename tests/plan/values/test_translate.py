"""The pushed-down query against plain DuckDB on the plain table: the same rows, the same numbers.

The plain table holds values as people see them (doubles, dates, times); the working copy holds whole numbers.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from tacit.errors import QuestionError
from tacit.plan import make_plan
from tacit.plan.columns import read_key
from tacit.question import read
from tests.plan.changes import measured
from tests.plan.copies import VISITS, clinic, copy_of, exact

PLAIN = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN"}


@pytest.fixture(scope="module")
def both() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the copy, and with the plain table `visits`."""
    chance = random.Random(7)
    rows = []
    for unit in range(60):
        row: dict[str, Any] = {"tacit_unit": unit, "tacit_rank": 1}
        for name, column in VISITS.columns.items():
            if column.nullable and chance.random() < 0.2:
                row[name] = None
            elif column.kind == "text":
                row[name] = chance.choice(column.values or ("a", "b", "Bx_1", "", "ä%"))
            elif column.grid_lower is None or column.grid_upper is None:
                row[name] = chance.randrange(-1000, 1000)
            elif column.values is not None:
                row[name] = chance.choice(column.values)
            else:
                low, high = column.grid_lower, column.grid_upper
                row[name] = chance.choice([low, high, low + 1, chance.randint(low, high)])
        rows.append(row)
    connection = copy_of(clinic(), {"visits": rows})
    kinds = {name: PLAIN.get(column.kind, "TIMESTAMP") for name, column in VISITS.columns.items()}
    connection.execute(f"CREATE TABLE visits ({', '.join(f'{name} {kind}' for name, kind in kinds.items())})")
    for row in rows:
        plain = [plain_value(column, row[name]) for name, column in VISITS.columns.items()]
        connection.execute(f"INSERT INTO visits VALUES ({', '.join('?' for _ in plain)})", plain)
    yield connection
    connection.close()


def plain_value(column: Any, grid: Any) -> Any:
    if grid is None or column.kind == "text":
        return grid
    value = column.from_grid(grid)
    if column.kind == "real":
        return float(value)
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


CONDITIONS = [
    "age = 55",
    "age <> 55",
    "age < 10.5",
    "age <= 10.5",
    "age > 10.5",
    "age >= 10.5",
    "age = 10.5",
    "age <> 10.5",
    "NOT (score = 0.5)",
    "10 < age",
    "age > 1000",
    "age >= -1000",
    "score < -49",
    "charge < 500",
    "charge >= 1000",
    "charge * 2 + 1 > age",
    "score BETWEEN -10 AND 10",
    "score IN (-50, 50, 0)",
    "score NOT IN (-50, 50)",
    "score IN (0.5, 50)",
    "sex = 'F'",
    "sex <> 'F' OR ward IS NULL",
    "ward LIKE '%x%'",
    "ward LIKE '_'",
    "ward ILIKE 'b%'",
    "ward IN ('a', '')",
    "ward > 'a'",
    "urgent",
    "NOT urgent",
    "urgent IS NOT NULL AND urgent = false",
    "urgent IS TRUE",
    "day > DATE '2024-01-01'",
    "day <= '2023-06-30'",
    "day BETWEEN '2023-02-01' AND '2023-02-28'",
    "seen < TIMESTAMP '1970-01-01 00:00:00'",
    "seen >= '1970-03-01 12:00:00'",
    "CAST(seen AS DATE) = DATE '1969-01-01'",
    "year(day) = 2023 AND month(day) > 6",
    "dayofweek(day) = 0",
    "isodow(day) = 7",
    "quarter(day) = 4",
    "dayofyear(day) = 1",
    "day(day) = 31",
    "hour(seen) >= 12",
    "minute(seen) = 0",
    "date_trunc('month', day) = DATE '2023-01-01'",
    "date_trunc('week', day) = DATE '2022-12-26'",
    "day - DATE '2023-01-01' < 100",
    "day + 1 > DATE '2024-12-31'",
    "abs(score) = 50",
    "sign(score) = -1",
    "floor(charge) = 0",
    "ceil(charge / 100) = 10",
    "floor(score / 7.0) = -8",
    "ceil(score / 7.0) = -7",
    "age % 7 = 3",
    "score % 7 = -1",
    "age // 7 = 3",
    "score // 7 = -7",
    "length(ward) > 1",
    "lower(ward) = 'bx_1'",
    "substring(ward, 1, 2) = 'Bx'",
    "coalesce(score, 7) = 7",
    "nullif(age, 0) IS NULL",
    "CASE WHEN score > 0 THEN 'up' WHEN score < 0 THEN 'down' END = 'up'",
    "CASE sex WHEN 'F' THEN age ELSE score END > 20",
    "if(urgent, age, score) > 20",
    "least(age, score) = 0",
    "greatest(age, score, 50) = 50",
    "least(score, 10) IS NULL",
    "-score > 10",
    "(age > 50) = urgent",
    "code > -1",
    "code IS NULL",
    "level = 5",
    "NOT (age > 50 AND score > 0) OR NULL",
    "score = NULL",
    "ward NOT LIKE '%x%'",
    "ward NOT ILIKE 'b%'",
    "score IS DISTINCT FROM 50",
    "score IS NOT DISTINCT FROM NULL",
    "ward IS DISTINCT FROM 'a'",
    "ward IS NOT DISTINCT FROM lower(ward)",
    "day + INTERVAL 7 DAY > DATE '2024-12-31'",
    "day - INTERVAL 2 WEEK < DATE '2023-01-01'",
    "day + INTERVAL 1 MONTH = DATE '2023-02-28'",
    "day - INTERVAL '3 months' <= DATE '2022-11-30'",
    "day + INTERVAL 1 YEAR >= DATE '2025-02-28'",
    "INTERVAL 1 QUARTER + day > DATE '2024-04-30'",
    "seen + INTERVAL 90 MINUTE < TIMESTAMP '1970-01-01 00:00:00'",
    "seen - INTERVAL 1 MONTH < TIMESTAMP '1969-02-28 12:00:00'",
    "day + INTERVAL 5 HOUR >= TIMESTAMP '2024-12-31 05:00:00'",
    "date_trunc('hour', seen) < TIMESTAMP '1969-12-31 23:00:00'",
    "date_trunc('minute', seen) = date_trunc('day', seen)",
    "date_trunc('second', seen) = seen",
    "week(day) = 1",
    "weekofyear(day) >= 52",
    "second(seen) = 0",
    "last_day(day) = DATE '2024-02-29'",
    "date_part('month', day) = 12",
    "epoch(seen) < -86400",
    "extract(epoch FROM day) > 1704067200",
    "strftime(day, '%Y-%m') = '2023-01'",
    "strftime(seen, '%d.%m.%Y %H:%M:%S') LIKE '01.01.1969 00:%'",
    "strftime(day, '100%% %j') = '100% 001'",
    "dayname(day) = 'Sunday'",
    "monthname(day) = 'December'",
    "ward || '-' || sex = 'a-F'",
    "concat(ward, sex) = 'F'",
    "sex || age = 'F110'",
    "CAST(age AS VARCHAR) = '0'",
    "CAST(urgent AS VARCHAR) = 'true'",
    "CAST(day AS VARCHAR) = '2023-01-01'",
    "trim(ward || '  ') = 'a'",
    "ltrim(' ' || ward) = 'b'",
    "rtrim(ward, '1') = 'Bx_'",
    "left(ward, 2) = 'Bx'",
    "right(ward, 1) = '1'",
    "right(ward, 0) = ''",
    "replace(ward, 'x_', 'y') = 'By1'",
    "replace(sex, 'F', 'female') = 'female'",
    "position('x' IN ward) = 2",
    "strpos(ward, '%') = 2",
    "sqrt(age) = 10",
    "ln(age) > 2",
    "log10(age + 900) = 3",
    "log2(age) >= 6",
    "exp(score / 10) < 1",
    "trunc(score / 7.0) = -7",
    "CAST(charge AS DECIMAL(8, 0)) = 1000",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_keeps_the_same_rows(both: duckdb.DuckDBPyConnection, condition: str) -> None:
    text = f"SELECT count(*) FROM visits WHERE {condition}"
    plan = make_plan(read(text), clinic())
    assert exact(both, plan)[()] == both.execute(text).fetchone()


@pytest.mark.parametrize(
    "expression",
    [
        "age",
        "score",
        "-score",
        "age * score",
        "age + 2 * score - 1",
        "abs(score)",
        "score * score * score",
        "CASE WHEN urgent THEN age ELSE 0 END",
        "coalesce(score, 100)",
        "nullif(score, 0)",
        "length(ward)",
        "year(day)",
        "day - DATE '2024-01-01'",
        "age // 10",
        "least(age, score)",
        "charge",
        "charge / 8",
        "floor(charge)",
        "age % 10",
        "CAST(urgent AS INT)",
        "date_diff('day', day, DATE '2024-02-29')",
        "date_diff('month', DATE '2023-12-31', day)",
        "date_diff('quarter', day, seen)",
        "date_diff('year', seen, day)",
        "date_diff('hour', seen, day)",
        "date_diff('minute', TIMESTAMP '1970-01-01 00:00:30', seen)",
        "week(seen)",
        "second(seen)",
        "epoch(day)",
        "last_day(day) - day",
        "strpos(ward, '1')",
        "length(right(ward, 3))",
        "length(replace(ward, 'B', 'long'))",
        "length(trim(ward))",
        "sqrt(age)",
        "ln(age + 1)",
        "log10(charge + 1)",
        "log2(age + 1)",
        "exp(score / 25)",
        "power(score, 3)",
        "trunc(charge / 3)",
    ],
)
def test_a_sum_is_the_same_sum(both: duckdb.DuckDBPyConnection, expression: str) -> None:
    plan = make_plan(read(f"SELECT sum({expression}), count({expression}) FROM visits"), clinic())
    total, count = both.execute(f"SELECT sum({expression}), count({expression}) FROM visits").fetchone() or (0, 0)
    numbers = measured(plan, exact(both, plan)[()])
    terms = plan.outputs[0].formula.terms  # type: ignore[attr-defined]
    # roots and logarithms of a row are rounded to multiples of 2**-24, or 2**-23 where they are large
    off = 60 * 2.0**-23 if any(word in expression for word in ("sqrt", "ln(", "log", "exp(")) else 0
    exactly = float(sum(numbers[place] * factor for place, factor in terms))
    assert exactly == pytest.approx(float(total), rel=1e-12, abs=off)
    assert numbers[plan.outputs[1].formula.terms[0][0]] == count  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "key",
    [
        "sex",
        "urgent",
        "level",
        "floor(age / 10) * 10",
        "score",
        "date_trunc('month', day)",
        "date_trunc('quarter', day)",
        "date_trunc('year', day)",
        "date_trunc('week', day)",
        "year(seen)",
        "ward",
        "upper(sex)",
        "age > 50",
        "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END",
        "code",
        "day + INTERVAL 1 MONTH",
        "day - INTERVAL 10 DAY",
        "last_day(day)",
        "date_trunc('hour', seen)",
        "week(day)",
        "strftime(day, '%Y-%m')",
        "strftime(seen, '%H')",
        "dayname(day)",
        "monthname(day)",
        "sex || '/' || level",
        "concat(sex, ward)",
        "right(sex, 1)",
        "replace(sex, 'F', 'W')",
        "trim(ward)",
        "left(ward, 1)",
        "trunc(charge / 100)",
    ],
)
def test_groups_are_the_same_groups(both: duckdb.DuckDBPyConnection, key: str) -> None:
    plan = make_plan(read(f"SELECT {key}, count(*) FROM visits GROUP BY 1"), clinic(), delta="1/1000000")
    cells = exact(both, plan)
    found = {read_key(plan.keys.columns[0], raw): numbers[0] for (raw,), numbers in cells.items()}
    dated = ("date_trunc" in key and "hour" not in key) or "INTERVAL" in key
    plain = f"CAST({key} AS DATE)" if dated else key  # DuckDB makes a time of it
    assert found == dict(both.execute(f"SELECT {plain}, count(*) FROM visits GROUP BY 1").fetchall())


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("sum(ward)", "needs a number, and a text"),
        ("sum(day)", "of a date"),
        ("avg(seen)", "of a date"),
        ("sum(code)", "needs a column with bounds"),
        ("sum(age + ward)", "needs a number, and a text"),
        ("sum(age / 0)", "divides by the constant 0"),
        ("sum(year(age))", "needs a date"),
        ("sum(year(code))", "needs a date"),
        ("sum(length(age))", "needs a text"),
        ("sum(hour(day))", "needs a time"),
        ("sum(substring(ward, age))", "constant whole number"),
        ("sum(round(charge, age))", "constant whole number"),
        ("sum(CASE WHEN age > 1 THEN ward ELSE 1 END)", "must all be numbers"),
        ("sum(CAST(ward AS INT))", "cannot be cast"),
        ("sum(charge * charge * charge * charge * charge)", "too large"),
        ("count(*) FILTER (WHERE age)", "A condition is needed"),
        ("count(*) FILTER (WHERE ward = 1)", "cannot be compared"),
        ("count(*) FILTER (WHERE day = 1)", "cannot be compared"),
        ("count(*) FILTER (WHERE age LIKE 'a')", "LIKE needs a text"),
        ("count(*) FILTER (WHERE day > 'soon')", "is no date"),
        ("sum(day + day)", "cannot be added"),
        ("sum(day + 3000000 - day)", "years 1 to 9999"),
        ("sum(day + INTERVAL 9000 YEAR - day)", "years 1 to 9999"),
        ("sum(age + INTERVAL 1 DAY)", "goes with a date or a time"),
        ("sum(INTERVAL 1 DAY)", "goes with a date"),
        ("sum(epoch(age))", "needs a date or a time"),
        ("sum(width_bucket(age, 10, 0, 5))", "low below high"),
        ("sum(width_bucket(age, 0, score, 5))", "needs constants"),
        ("sum(width_bucket(age, 0, 10, 0))", "whole number of buckets"),
        ("sum(exp(age))", "up to 34"),
        ("sum(sqrt(ward))", "needs a number"),
        ("sum(ln(day))", "cannot be taken of a date"),
        ("sum(strpos(ward, ''))", "a text to look for"),
        ("sum(strpos(ward, sex))", "needs a constant text"),
        ("sum(length(replace(ward, '', 'x')))", "a text to look for"),
        ("sum(length(trim(ward, 'ab')))", "one character"),
        ("sum(length(right(ward, 2000)))", "whole number from 0 to 1,000"),
        ("sum(length(ward || charge))", "a text or a whole number"),
        ("sum(length(strftime(day, '%b')))", "%b in a pattern"),
    ],
)
def test_kinds_that_do_not_go_together_are_refused(expression: str, message: str) -> None:
    with pytest.raises(QuestionError, match=message):
        make_plan(read(f"SELECT {expression} FROM visits"), clinic())


def test_nested_expressions_cannot_explode() -> None:
    nested = "age"
    for _ in range(20):
        nested = f"age / (score - {nested})"
    with pytest.raises(QuestionError, match="too large"):
        make_plan(read(f"SELECT sum({nested}) FROM visits"), clinic())
