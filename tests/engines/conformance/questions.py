"""The questions that every engine is asked, most of them with what they count in plain Python.

A question counts the rows on which `where` is true, or adds up `value` on them, by `key`. Python's None is SQL's NULL;
a condition on NULL is not true. Questions without a truth of their own are compared between engines only.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.policy.cells import cell_of
from tests.engines.conformance.tables import CLEAN, TABLES, Row

TIME = datetime.datetime


@dataclass(frozen=True)
class Question:
    """A question, and what it should give: `value` is 1 for counts; None on a row adds nothing."""

    sql: str
    where: Callable[[Row], Any] | None = None
    value: Callable[[Row], Any] = lambda _: 1
    key: Callable[[Row], Any] | None = None
    rows_per_unit: int | None = None

    def truth(self) -> dict[Any, Fraction]:
        """What the last measure is worth in each cell that has rows."""
        assert self.where is not None
        found: dict[Any, Fraction] = {}
        for row in CLEAN:
            if self.where(row):
                cell = () if self.key is None else (self.key(row),)
                value = self.value(row)
                found[cell] = found.get(cell, Fraction(0)) + (0 if value is None else Fraction(value))
        return found if self.key is not None else found or {(): Fraction(0)}


def cut(a: int, b: int) -> int | None:
    """a / b without its fraction."""
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rest(a: int, b: int) -> int | None:
    """What is left of a, with a's sign."""
    quotient = cut(a, b)
    return None if quotient is None else a - b * quotient


def count(condition: str, where: Callable[[Row], Any]) -> Question:
    return Question(f"SELECT count(*) FROM visits WHERE {condition}", where)


def total(expression: str, value: Callable[[Row], Any]) -> Question:
    return Question(f"SELECT sum({expression}) FROM visits", lambda _: True, value)


def by(expression: str, key: Callable[[Row], Any]) -> Question:
    return Question(f"SELECT {expression} AS k, count(*) FROM visits GROUP BY 1", lambda _: True, key=key)


def on(name: str, function: Callable[[Any], Any]) -> Callable[[Row], Any]:
    """The function of a column; NULL of NULL."""
    return lambda row: None if row[name] is None else function(row[name])


def day_number(row: Row) -> int | None:
    return None if row["day"] is None else row["day"].toordinal() - datetime.date(1970, 1, 1).toordinal()


FLOORS = {}
for _row in sorted(TABLES["wards"].rows, key=lambda row: (str(row["ward"]), row["floor"], row["wing"])):
    FLOORS.setdefault(_row["ward"], _row)
FLOORS.pop(None, None)  # NULL equals nothing


def floor_of(row: Row) -> int | None:
    there = FLOORS.get(row["ward"])
    return None if there is None else max(0, min(9, there["floor"]))


NUMBERS = [
    count("age < 18", lambda row: row["age"] < 18),
    count("18 <= age", lambda row: row["age"] >= 18),
    count("age <> 65 AND age <> 64.5", lambda row: row["age"] != 65),
    count("score = -7", on("score", lambda x: x == -7)),
    count("score < -49.5", on("score", lambda x: x < -49.5)),
    count("score BETWEEN -13 AND 7", on("score", lambda x: -13 <= x <= 7)),
    count("NOT (score > 0)", on("score", lambda x: x <= 0)),
    count("score > 0 OR urgent", lambda r: (r["score"] or 0) > 0 or r["urgent"]),
    count("score IS NULL", lambda row: row["score"] is None),
    count("score IN (-50, 0, 50, 1000)", on("score", lambda x: x in (-50, 0, 50))),
    count("charge >= 999.75", on("charge", lambda x: x >= Fraction("999.75"))),
    count("charge = 0", on("charge", lambda x: x == 0)),
    count("charge IS NULL", lambda row: row["charge"] is None),
    count("temp < 0", on("temp", lambda x: x < 0)),
    count("temp IS NULL", lambda row: row["temp"] is None),
    count("age > score", lambda r: r["score"] is not None and r["age"] > r["score"]),
    count("age * score < -100", lambda r: r["score"] is not None and r["age"] * r["score"] < -100),
    count("code = 9223372036854775807", on("code", lambda x: x == 2**63 - 1)),
    count("code < -9223372036854775807", on("code", lambda x: x == -(2**63))),
    count("code % 7 = -1", on("code", lambda x: rest(x, 7) == -1)),
    count("code // 12 = -1", on("code", lambda x: cut(x, 12) == -1)),
    count("abs(code) > 9223372036854775807", on("code", lambda x: x == -(2**63))),
    count("-code > 0", on("code", lambda x: x < 0)),
    count("code + code > 0", on("code", lambda x: x > 0)),
    count("code * score = -84", lambda r: None not in (r["code"], r["score"]) and r["code"] * r["score"] == -84),
    total("age", lambda row: row["age"]),
    total("score", lambda row: row["score"]),
    total("charge", lambda row: row["charge"]),
    total("temp", lambda row: row["temp"]),
    total("score + age", lambda r: None if r["score"] is None else r["score"] + r["age"]),
    total("2 * score - age", lambda r: None if r["score"] is None else 2 * r["score"] - r["age"]),
    total("score * score * score", on("score", lambda x: x**3)),
    total("score // 7", on("score", lambda x: cut(x, 7))),
    total("score // (-7)", on("score", lambda x: cut(x, -7))),
    total("age // score", lambda r: None if r["score"] is None else cut(r["age"], r["score"])),
    total("score % 7", on("score", lambda x: rest(x, 7))),
    total("score % -7", on("score", lambda x: rest(x, -7))),
    total("age % score", lambda r: None if r["score"] is None else rest(r["age"], r["score"])),
    total("(score - 60) % age", lambda r: None if r["score"] is None else rest(r["score"] - 60, r["age"])),
    total("score / 4", on("score", lambda x: Fraction(x, 4))),
    total("abs(score)", on("score", abs)),
    total("sign(score)", on("score", lambda x: (x > 0) - (x < 0))),
    count("sign(code) = -1", on("code", lambda x: x < 0)),
    total("magnitude(score)", on("score", cell_of)),
    count("magnitude(code) >= 100", on("code", lambda x: x >= 2**35)),
    count("magnitude(code) < -68", on("code", lambda x: x <= -16)),
    total("floor(charge)", on("charge", lambda x: x.__floor__())),
    total("floor(temp)", on("temp", lambda x: x.__floor__())),
    total("ceil(temp)", on("temp", lambda x: x.__ceil__())),
    total("round(temp)", on("temp", lambda x: (x + Fraction(1, 2)).__floor__())),
    total("CAST(temp AS INTEGER)", on("temp", lambda x: (x + Fraction(1, 2)).__floor__())),
    total("temp // 2", on("temp", lambda x: int(x / 2))),
    total("coalesce(score / (score - score), 7)", lambda r: 7),
    total("coalesce((age - age) / (age - age), 7)", lambda r: 7),
    total("round(charge, 1)", on("charge", lambda x: Fraction((x * 10 + Fraction(1, 2)).__floor__(), 10))),
    total("round(score, -1)", on("score", lambda x: (Fraction(x, 10) + Fraction(1, 2)).__floor__() * 10)),
    total("floor(score / 10) * 10", on("score", lambda x: x // 10 * 10)),
    total("least(score, 10)", lambda r: 10 if r["score"] is None else min(r["score"], 10)),
    total("greatest(score, -10, age)", lambda r: max([r["age"], -10] + ([] if r["score"] is None else [r["score"]]))),
    total("least(greatest(code, -100), 100)", lambda r: -100 if r["code"] is None else max(-100, min(100, r["code"]))),
    total("CAST(temp AS INTEGER)", on("temp", lambda x: (x + Fraction(1, 2)).__floor__())),
    total("CASE WHEN score < 0 THEN -1 WHEN score > 0 THEN 2 ELSE 0 END", lambda r: _sign(r["score"], -1, 2, 0)),
    total("CASE level WHEN 1 THEN age WHEN 2 THEN score END", lambda r: {1: r["age"], 2: r["score"]}.get(r["level"])),
    total("COALESCE(score, age, 0)", lambda r: r["age"] if r["score"] is None else r["score"]),
    total("NULLIF(age, 110)", lambda r: None if r["age"] == 110 else r["age"]),
    total("CASE WHEN urgent THEN 1 ELSE 0 END", lambda r: 1 if r["urgent"] else 0),
    Question("SELECT sum(age * age * charge * charge * charge) FROM visits"),
    Question("SELECT sum(big) FROM visits"),
    Question("SELECT sum(big * score) FROM visits"),
    Question("SELECT count(*) FROM visits WHERE big * score // 1000 % 77 = 3"),
]


def _sign(value: int | None, below: int, above: int, otherwise: int) -> int:
    return otherwise if not value else below if value < 0 else above


MOMENTS = [
    count("day < DATE '1970-01-01'", on("day", lambda x: x < datetime.date(1970, 1, 1))),
    count("day = '2024-02-29'", on("day", lambda x: x == datetime.date(2024, 2, 29))),
    count("day - DATE '1970-01-01' < -100", lambda r: day_number(r) is not None and day_number(r) < -100),
    count("day + 1 > DATE '1970-01-01'", lambda r: day_number(r) is not None and day_number(r) >= 0),
    count("seen < TIMESTAMP '1970-01-01 00:00:00'", on("seen", lambda x: x < TIME(1970, 1, 1))),
    count("seen >= '2023-12-31 23:30:00'", on("seen", lambda x: x >= TIME(2023, 12, 31, 23, 30))),
    count("day <= seen", lambda r: None not in (r["day"], r["seen"]) and TIME(*r["day"].timetuple()[:3]) <= r["seen"]),
    total(
        "day - DATE '2000-01-01'", lambda r: None if r["day"] is None else (r["day"] - datetime.date(2000, 1, 1)).days
    ),
    total("year(day)", on("day", lambda x: x.year)),
    total("month(seen)", on("seen", lambda x: x.month)),
    total("hour(seen)", on("seen", lambda x: x.hour)),
    total("minute(seen)", on("seen", lambda x: x.minute)),
    total("dayofyear(day)", on("day", lambda x: x.timetuple().tm_yday)),
    total("day(day)", on("day", lambda x: x.day)),
    by("quarter(day)", on("day", lambda x: (x.month - 1) // 3 + 1)),
    by("month(day)", on("day", lambda x: x.month)),
    by("dayofweek(day)", on("day", lambda x: x.isoweekday() % 7)),
    by("isodow(day)", on("day", lambda x: x.isoweekday())),
    by("EXTRACT(year FROM seen)", on("seen", lambda x: x.year)),
    by("hour(seen)", on("seen", lambda x: x.hour)),
    by("date_trunc('year', day)", on("day", lambda x: _days(x.replace(month=1, day=1)))),
    by("date_trunc('quarter', day)", on("day", lambda x: _days(x.replace(month=(x.month - 1) // 3 * 3 + 1, day=1)))),
    by("date_trunc('month', seen)", on("seen", lambda x: _days(x.date().replace(day=1)))),
    by("date_trunc('week', day)", on("day", lambda x: _days(x - datetime.timedelta(days=x.weekday())))),
    by("date_trunc('day', seen)", on("seen", lambda x: _days(x.date()))),
    by("CAST(seen AS DATE)", on("seen", lambda x: _days(x.date()))),
]


def _days(day: datetime.date) -> int:
    return day.toordinal() - datetime.date(1970, 1, 1).toordinal()


TEXTS = [
    count("ward = 'a'", on("ward", lambda x: x == "a")),
    count("ward <> 'a'", on("ward", lambda x: x != "a")),
    count("ward < 'a'", on("ward", lambda x: x < "a")),
    count("ward >= 'Ä'", on("ward", lambda x: x >= "Ä")),
    count("ward > 'Z' AND ward <= 'aa'", on("ward", lambda x: "Z" < x <= "aa")),
    count("ward IN ('O''Hara', 'ß', '日本', '')", on("ward", lambda x: x in ("O'Hara", "ß", "日本", ""))),
    count("ward = 'a\\b'", on("ward", lambda x: x == "a\\b")),
    count("ward LIKE 'a%'", on("ward", lambda x: x.startswith("a"))),
    count("ward LIKE '%'", on("ward", lambda _: True)),
    count("ward LIKE '_'", on("ward", lambda x: len(x) == 1)),
    count("ward LIKE 'a_b'", on("ward", lambda x: len(x) == 3 and x[0] == "a" and x[2] == "b")),
    count("note LIKE 'a\\%c'", on("note", lambda x: x.startswith("a\\") and x.endswith("c"))),
    count("note LIKE 'a\\_c'", on("note", lambda x: len(x) == 4 and x.startswith("a\\") and x.endswith("c"))),
    count("NOT (note LIKE '%c')", on("note", lambda x: not x.endswith("c"))),
    count("note LIKE '%i%b%'", on("note", lambda x: "i" in x and "b" in x[x.index("i") :])),
    count("note LIKE 'l%n%k'", on("note", lambda x: x == "line\nbreak")),
    count("note LIKE '%\\%c%'", on("note", lambda x: "\\" in x and "c" in x[x.index("\\") :])),
    count("note LIKE 'line%break'", on("note", lambda x: x == "line\nbreak")),
    count("note ILIKE 'abc'", on("note", lambda x: x.lower() == "abc")),
    count("note ILIKE 'ÄÖ%'", on("note", lambda x: x.lower().startswith("äö"))),
    count("note ILIKE 'ж_К'", on("note", lambda x: x.lower() == "жук")),
    count("lower(note) = 'äöü'", on("note", lambda x: x.lower() == "äöü")),
    count("upper(note) = 'ЖУК'", on("note", lambda x: x.upper() == "ЖУК")),
    count("upper(note) > 'ABC'", on("note", lambda x: x.upper() > "ABC")),
    count("lower('ABC') = 'abc'", lambda _: True),
    count("CASE WHEN age > 64 THEN 'b' ELSE 'A' END < 'a'", lambda row: row["age"] <= 64),
    count("least(ward, 'b') = 'b'", lambda row: row["ward"] is None or row["ward"] >= "b"),
    count(
        "greatest(ward, note) > 'z'", lambda r: max([t for t in (r["ward"], r["note"]) if t is not None] or [""]) > "z"
    ),
    count("substring(note, 2, 1) = 'b'", on("note", lambda x: x[1:2] == "b")),
    count("substring(note, 2) = 'öü'", on("note", lambda x: x[1:] == "öü")),
    count("note = ward", lambda row: row["note"] is not None and row["note"] == row["ward"]),
    total("length(note)", on("note", lambda x: min(len(x), 1000))),
    by("ward", lambda row: row["ward"]),
    by("lower(ward)", on("ward", lambda x: x.lower())),
    by("substring(note, 1, 2)", on("note", lambda x: x[:2])),
    by("sex", lambda row: row["sex"]),
    by("CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END", lambda r: _stage(r["age"])),
    by("COALESCE(sex, 'none')", lambda row: row["sex"] or "none"),
    by("NULLIF(ward, 'a')", lambda row: None if row["ward"] == "a" else row["ward"]),
]


def _stage(age: int) -> str:
    return "child" if age < 18 else "adult" if age < 65 else "old"


SHAPES = [
    Question("SELECT count(*) FROM visits", lambda _: True),
    Question("SELECT count(score) FROM visits", lambda row: row["score"] is not None),
    Question("SELECT count(DISTINCT pid) FROM visits", None),
    Question("SELECT count(DISTINCT pid) FROM visits WHERE score > 0", None),
    Question("SELECT sex, level, urgent, count(*), sum(age), avg(charge) FROM visits GROUP BY 1, 2, 3", None),
    Question("SELECT level, count(*) FROM visits GROUP BY level", lambda _: True, key=lambda row: row["level"]),
    Question(
        "SELECT urgent, sum(age) FROM visits GROUP BY 1", lambda _: True, lambda r: r["age"], lambda r: r["urgent"]
    ),
    Question("SELECT age > 64, count(*) FROM visits GROUP BY 1", lambda _: True, key=lambda row: row["age"] > 64),
    Question(
        "SELECT floor(age / 10) * 10, count(*) FROM visits GROUP BY 1", lambda _: True, key=lambda r: r["age"] // 10
    ),
    Question("SELECT avg(age), variance(charge), stddev(temp), var_pop(score) FROM visits", None),
    Question("SELECT ward, count(*), count(DISTINCT pid), sum(charge) FROM visits GROUP BY ward", None),
    Question("SELECT code, count(*) FROM visits GROUP BY code", lambda _: True, key=lambda row: row["code"]),
    Question("SELECT count(*) FROM visits", None, rows_per_unit=1),
    Question("SELECT count(*) FROM visits", None, rows_per_unit=2),
    Question("SELECT count(DISTINCT pid) FROM visits", None, rows_per_unit=2),
    Question("SELECT sum(score / age) FROM visits", None),
    Question("SELECT sum(charge / score) FROM visits WHERE score <> 0", None),
    Question("SELECT sum(age / charge) FROM visits", None),
    Question("SELECT sum(value), avg(value), count(*) FROM readings WHERE value < 0.5", None),
    Question("SELECT value > 0, count(*) FROM readings GROUP BY 1", None),
    Question("SELECT result, count(*), count(DISTINCT pid) FROM tests GROUP BY result", None),
]

JOINS = [
    Question("SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward", lambda row: row["ward"] in FLOORS),
    Question(
        "SELECT count(*) FROM visits LEFT JOIN wards w ON visits.ward = w.ward WHERE w.ward IS NULL",
        lambda row: row["ward"] not in FLOORS,
    ),
    Question("SELECT sum(w.floor) FROM visits LEFT JOIN wards w ON visits.ward = w.ward", lambda _: True, floor_of),
    Question(
        "SELECT w.wing, count(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY 1",
        lambda row: row["ward"] in FLOORS,
        key=lambda row: {"attic": None}.get(FLOORS[row["ward"]]["wing"], FLOORS[row["ward"]]["wing"]),
    ),
    Question("SELECT w.wing, avg(age) FROM visits LEFT JOIN wards w ON visits.ward = w.ward GROUP BY 1", None),
]


def high(row: Row) -> bool:
    return (floor_of(row) or 0) > 3


NESTED = [
    Question("SELECT count(*) FILTER (WHERE age > 5) FROM visits", lambda row: row["age"] > 5),
    Question("SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor > 3)", high),
    Question(
        "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND floor > 3)", high
    ),
    Question("SELECT count(*) FROM visits WHERE NOT (ward IN (SELECT ward FROM wards WHERE floor > 3))"),
    Question(
        "SELECT k, count(*) FROM (SELECT age // 10 AS k FROM visits WHERE score > 0) AS d GROUP BY k",
        on("score", lambda x: x > 0),
        key=lambda row: row["age"] // 10,
    ),
    Question(
        "WITH w AS (SELECT age, sex FROM visits) SELECT sex, count(*) FROM w GROUP BY sex",
        lambda _: True,
        key=lambda row: row["sex"],
    ),
    Question("SELECT count(*) FROM (SELECT age FROM visits UNION ALL SELECT score FROM visits) AS u WHERE age > 5"),
    Question("SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM visits GROUP BY pid) AS d"),
    Question("SELECT sum(s // 7) FROM (SELECT pid, sum(score) AS s FROM visits GROUP BY pid) AS d"),
    Question("SELECT count(*) FROM visits v JOIN tests t ON v.pid = t.pid"),
    Question("SELECT sum(v.age * w.score) FROM visits v JOIN visits w ON v.pid = w.pid"),
    Question("SELECT sex, level, count(*) FROM visits GROUP BY ROLLUP (sex, level)"),
    Question("SELECT sex, urgent, sum(score) FROM visits GROUP BY CUBE (sex, urgent)"),
    Question("SELECT count(DISTINCT ward) FROM visits"),
]

PICKS = [
    Question("SELECT median(age) FROM visits"),
    Question("SELECT sex, median(charge) FROM visits GROUP BY sex"),
    Question("SELECT quantile_cont(temp, 0.9), percentile_cont(0.25) WITHIN GROUP (ORDER BY score) FROM visits"),
    Question("SELECT min(score), max(temp) FROM visits WHERE urgent"),
    Question(
        "SELECT ward, score, quantile(charge, 0.1), quantile(charge, 0.3), quantile(charge, 0.8) FROM visits "
        "GROUP BY ward, score"
    ),
    Question("SELECT level, max(age) FROM visits GROUP BY level"),
    Question("SELECT mode(level) FROM visits"),
]

MORE = [
    total("second(seen)", on("seen", lambda x: x.second)),
    by("week(day)", on("day", lambda x: x.isocalendar().week)),
    by(
        "last_day(day)", on("day", lambda x: _days((x.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)) - 1)
    ),
    total("trunc(temp)", on("temp", lambda x: x.__trunc__())),
    by("right(note, 2)", on("note", lambda x: x[-2:])),
    by("trim(note)", on("note", lambda x: x[:1000].strip(" "))),
    by("ltrim(ward, 'a')", on("ward", lambda x: x.lstrip("a"))),
    by("rtrim(ward, 'b')", on("ward", lambda x: x.rstrip("b"))),
    by("replace(ward, 'a', 'xy')", on("ward", lambda x: x.replace("a", "xy"))),
    total("position('b' IN ward)", on("ward", lambda x: x.find("b") + 1)),
    by("strftime(day, '%Y-%m')", on("day", lambda x: f"{x.year:04}-{x.month:02}")),
    count("day + INTERVAL 7 DAY > DATE '1970-01-03'", lambda r: day_number(r) is not None and day_number(r) > -5),
    Question("SELECT date_trunc('hour', seen), count(*) FROM visits GROUP BY 1"),
    Question("SELECT sum(date_diff('month', day, DATE '2020-01-01')) FROM visits"),
    Question("SELECT sum(epoch(seen)) FROM visits"),
    Question("SELECT count(*) FROM visits WHERE day - INTERVAL 1 MONTH > DATE '1970-01-01'"),
    Question("SELECT width_bucket(age, 0, 110, 11), count(*) FROM visits GROUP BY 1"),
    Question("SELECT concat(ward, '-', sex), count(*) FROM visits GROUP BY 1"),
    Question("SELECT ward || note AS k, count(*) FROM visits GROUP BY 1"),
    Question("SELECT CAST(score AS VARCHAR) AS k, count(*) FROM visits GROUP BY 1"),
    Question("SELECT sum(sqrt(age)), sum(ln(age)), sum(log10(charge)), sum(log2(score)), sum(exp(temp)) FROM visits"),
    Question("SELECT sum(exp(-charge * charge)), sum(sqrt(big)) FROM visits"),
]

QUESTIONS = [*NUMBERS, *MOMENTS, *TEXTS, *SHAPES, *JOINS, *NESTED, *PICKS, *MORE]
