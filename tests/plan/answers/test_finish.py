"""From noisy numbers to the answer: values, error bars, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from statistics import pvariance, stdev, variance
from typing import Any

import numpy as np
import pytest

from tacit.errors import QuestionError
from tacit.plan import Finished, Plan, finish, make_plan
from tacit.policy import Column
from tacit.question import canonical, read
from tests.plan.copies import clinic, copy_of, exact, table

AGES = [20, 30, 30, 80, 110]
ROWS = [{"tacit_unit": n, "tacit_rank": 1, "age": age, "sex": "FM"[n % 2], "level": 1} for n, age in enumerate(AGES)]


def answer(text: str, rows: list[dict[str, Any]] = ROWS) -> tuple[Plan, Finished]:
    """The answer without any noise."""
    plan = make_plan(read(text), clinic(), epsilon=1)
    cells = exact(copy_of(clinic(), {"visits": rows}), plan)
    empty = (0,) * len(plan.measures)
    keys = plan.keys.cells  # type: ignore[union-attr]
    columns = [np.array([int(cells.get(key, empty)[place]) for key in keys]) for place in range(len(plan.measures))]
    return plan, finish(plan, keys, columns)


def test_without_noise_every_aggregate_is_the_textbook_one() -> None:
    _, found = answer(
        "SELECT count(*), sum(age), avg(age), variance(age), var_pop(age), stddev(age), sum(age) / count(*) + 1, "
        "-count(*), round(avg(age) / 7, 1) FROM visits"
    )
    values = [column[0] for column in found.columns]
    mean = sum(AGES) / 5
    expected = [5, sum(AGES), mean, variance(AGES), pvariance(AGES), stdev(AGES), mean + 1, -5, round(mean / 7, 1)]
    assert values == pytest.approx(expected)
    assert [type(value) for value in values[:2]] == [int, int]


def test_empty_cells_are_shown_and_nothing_fails_on_them() -> None:
    _, found = answer(
        "SELECT sex, level, count(*), avg(age), stddev(age), 1 / count(*) FROM visits GROUP BY sex, level", []
    )
    assert next(zip(*found.columns, strict=True)) == ("F", 1, 0, 55.0, pytest.approx(0, abs=80), None)
    assert len(found.columns[0]) == 6


def test_having_order_and_limit_look_at_the_answer() -> None:
    text = "SELECT floor(age / 10) * 10 AS d, count(*) AS n FROM visits GROUP BY d HAVING n > 0 AND d <> 110"
    text += " ORDER BY n DESC, d"
    _, found = answer(text)
    assert list(zip(*found.columns, strict=True)) == [(30, 2), (20, 1), (80, 1)]
    assert answer(text + " LIMIT 1")[1].columns == ([30], [2])


def test_keys_read_as_people_write_them() -> None:
    rows = [{"tacit_unit": 1, "tacit_rank": 1, "day": 19_723, "urgent": 1}]
    _, found = answer("SELECT date_trunc('year', day) AS y, count(*) AS n FROM visits GROUP BY y HAVING n > 0", rows)
    assert found.columns[0] == [datetime.date(2024, 1, 1)]
    assert found.kinds == ("date", "integer")
    assert answer("SELECT urgent, count(*) AS n FROM visits GROUP BY 1 HAVING n > 0", rows)[1].columns[0] == [True]
    since = "SELECT date_trunc('year', day) AS y, count(*) FROM visits GROUP BY y HAVING y > '2023-05-01'"
    assert answer(since, rows)[1].columns[0] == [datetime.date(2024, 1, 1)]


def test_error_bars_follow_the_noise() -> None:
    """Noise is drawn 4,000 times; the spread of a mean with shared parts is within 10 % of what is claimed."""
    plan = make_plan(
        read("SELECT avg(age) AS a, sum(age) AS s, avg(age) - sum(age) / 2000 AS d FROM visits"), clinic(), epsilon=1
    )
    chance = np.random.default_rng(5)
    truth = {"count_rows": 140_000.0, "sum": 80_000.0}  # the sums of age and of 110 - age over 2,000 rows
    noise = math.sqrt(2) * plan.measures[0].mechanism.scale  # type: ignore[union-attr]
    draws = [truth[each.kind] + chance.normal(0, noise, 4000) for each in plan.measures]
    found = finish(plan, [()] * 4000, draws)
    for column, claimed in zip(found.columns, found.deviations, strict=True):
        assert claimed is not None
        assert np.std(np.array(column, dtype=float)) == pytest.approx(float(np.mean(claimed)), rel=0.1)


def test_a_mean_stays_within_its_bounds_whatever_the_noise() -> None:
    plan = make_plan(read("SELECT avg(age), stddev(age) FROM visits"), clinic(), epsilon=1)
    wild = [np.array([-5.0, 0.0, 1e18, 3.0]) * (place + 1) for place in range(len(plan.measures))]
    found = finish(plan, [()] * 4, wild)
    assert all(0 <= value <= 110 for value in found.columns[0])
    assert all(0 <= value <= 111 for value in found.columns[1])


def test_resolved_questions_have_one_canonical_text() -> None:
    one = make_plan(read("SELECT V.Sex, count(*) FROM Visits V GROUP BY v.sex"), clinic(), epsilon=1)
    other = make_plan(
        read("SELECT sex, count(*) FROM visits(tacit_rows_per_unit => 3) GROUP BY 1"), clinic(), epsilon=1
    )
    assert canonical(one.question) == canonical(other.question)


REFUSED = {
    f"SELECT avg(x{'y' * 70}) FROM (SELECT patient, age AS x{'y' * 70} FROM visits)": "over 63 bytes",
    "SELECT count(*) FROM 'file.csv'": "not in the policy",
    "SELECT count(*) FROM vists": "Did you mean 'visits'",
    "SELECT count(agee) FROM visits": "Did you mean 'age'",
    "SELECT count(x.age) FROM visits v": "No table is called 'x'",
    "SELECT patient, count(*) FROM visits GROUP BY patient": "whose row it is",
    "SELECT count(*) FROM visits WHERE patient = 7": "whose row it is",
    "SELECT sum(patient) FROM visits": "whose row it is",
    "SELECT count(tacit_unit) FROM visits": "is not in table",
    "SELECT count(*) FROM visits WHERE tacit_rank = 1": "is not in table",
    "SELECT count(*) FROM wards": "is public",
    "SELECT count(*) FROM visits JOIN readings r ON visits.age = r.value": "other units",
    "SELECT count(*) FROM visits v JOIN visits w ON v.age = w.age": "is private",
    "SELECT count(*) FROM visits v JOIN wards w ON v.ward <> w.ward": "on an equality",
    "SELECT count(*) FROM visits v JOIN wards w ON v.ward = 'a'": "on an equality",
    "SELECT count(*) FROM visits v JOIN wards w ON w.ward = 'a'": "on an equality",
    "SELECT count(*) FROM visits v JOIN wards v ON v.ward = v.ward": "Two tables",
    "SELECT count(*) FROM visits JOIN wards ON visits.ward = wards.ward WHERE ward = 'a'": "in several tables",
    "SELECT charge, count(*) FROM visits GROUP BY charge": "real number",
    "SELECT age + 1, count(*) FROM visits GROUP BY sex": "stands alone",
    "SELECT count(*) FROM visits(tacit_rows_per_unit => 4)": "from 1 to 3",
    "SELECT sex + 1, count(*) FROM visits GROUP BY sex": "number is needed",
    "SELECT sex, count(*) FROM visits GROUP BY sex HAVING sex > 1": "cannot be compared",
    "SELECT sex, count(*) FROM visits GROUP BY sex HAVING count(*)": "needs a condition",
    "SELECT sex, count(*) FROM visits GROUP BY sex ORDER BY age": "stands alone",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_policy_does_not_allow_is_refused(text: str) -> None:
    with pytest.raises(QuestionError, match=REFUSED[text]):
        make_plan(read(text), clinic(), epsilon=1)


SAFE = [
    "1 / (age - 86) > 0",
    "age / score > 1",
    "age % score = 1",
    "age // score = 1",
    "1000000000000 * age * age * age > 5",
    "year(day + 300000) > 1",
    "code * 1000 > 5",
    "-code > 0",
    "abs(code) > 0",
    "code + 1 > code",
    "code // -1 > 0",
    "code % -1 = 0",
    "code = 99999999999999999999999",
    "CAST(charge AS INT) = 3",
    "round(charge, -2) = 3",
    "substring(ward, 999) = ''",
    "length(ward) = 5",
    "ward LIKE '%''; DROP TABLE visits; --'",
]


@pytest.mark.parametrize("condition", SAFE)
def test_what_could_fail_on_one_row_does_not(condition: str) -> None:
    """A table of extremes and one of nothing give the same columns, and no error."""
    plan = make_plan(read(f"SELECT count(*) FROM visits WHERE {condition}"), clinic(), epsilon=1)
    extremes = [
        {
            "tacit_unit": n,
            "tacit_rank": 1,
            "age": 86,
            "score": 0,
            "code": code,
            "day": 19_000,
            "charge": 0,
            "ward": ward,
        }
        for n, (code, ward) in enumerate([(-(2**63), "x" * 5000), (2**63 - 1, "\\"), (None, None), (0, "")])
    ]
    for rows in (extremes, []):
        ((count,),) = exact(copy_of(clinic(), {"visits": rows}), plan).values()
        assert 0 <= count <= 4


def test_steps_of_fractions_stay_exact() -> None:
    plan, found = answer("SELECT sum(age / 3) FROM visits")
    assert found.columns[0][0] == pytest.approx(float(Fraction(sum(AGES), 3)))
    assert plan.measures[0].step == Fraction(1, 3)


def test_only_the_rows_that_were_asked_for_are_read() -> None:
    rows = [{"tacit_unit": unit, "tacit_rank": rank, "age": 1} for unit in range(4) for rank in (1, 2, 3)]
    for asked in (1, 2, 3):
        _, found = answer(f"SELECT count(*) FROM visits(tacit_rows_per_unit => {asked})", rows)
        assert found.columns[0] == [4 * asked]


WIDE = (1 - 2**62, -1, 2**53, 2**53 + 1, 2**53 + 2, 2**62 - 1)


def wide(text: str) -> list[Any]:
    """The first column of the answer about accounts whose numbers no float can tell apart."""
    accounts = table("accounts", [Column("number", "integer", values=WIDE, nullable=False)])
    plan = make_plan(read(text), clinic(accounts), epsilon=1)
    ones = [np.ones(len(plan.keys.cells))] * len(plan.measures)  # type: ignore[union-attr]
    return finish(plan, plan.keys.cells, ones).columns[0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", list(WIDE)),
        ("ORDER BY number DESC", sorted(WIDE, reverse=True)),
        (f"HAVING number = {2**53 + 1}", [2**53 + 1]),
        (f"HAVING number <> {2**53 + 1}", [each for each in WIDE if each != 2**53 + 1]),
        (f"HAVING number > {2**53} ORDER BY number", [2**53 + 1, 2**53 + 2, 2**62 - 1]),
        (f"HAVING number IN ({2**53 + 2}, {2**62 - 2})", [2**53 + 2]),
        (f"HAVING {2**53 + 1} >= number AND number > -1.5", [-1, 2**53, 2**53 + 1]),
    ],
)
def test_whole_keys_are_shown_sorted_and_compared_exactly(clauses: str, expected: list[int]) -> None:
    found = wide(f"SELECT number, count(*) FROM accounts GROUP BY number {clauses}")
    assert found == expected
    assert {type(each) for each in found} == {int}
