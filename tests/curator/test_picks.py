"""Quantiles, least, greatest and most frequent values, from the text of a question to the answer.

With an epsilon so large that choices are the best ones (false alarms below exp(-100)), answers are compared with the
rows themselves.
"""

from __future__ import annotations

import datetime
from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tacit
from tacit.curator import Curator, protect
from tacit.errors import QuestionError
from tacit.loss import compose, events
from tacit.policy import anything, between, date_between, one_of

START = datetime.date(2024, 1, 1)
SEXES = ("F", "M", "X")


def rows() -> list[dict[str, Any]]:
    found = []
    for row in range(400):
        found.append(
            {
                "pid": row // 2,
                "sex": "FM"[row * 7 % 5 < 2],
                "age": None if row % 11 == 0 else (row * row) % 97,
                "pay": ((row * 7919) % 10_007) / 16,
                "flat": 3,
                "day": START + datetime.timedelta(days=(row * 31) % 300),
                "seen": datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=(row * 7919) % 100_000),
                "town": ("Ayr", "Bern", "Cork")[(row * row) % 7 % 3],
                "member": row % 3 == 0,
            }
        )
    return found


ROWS = rows()


@pytest.fixture(scope="module")
def clinic() -> Any:
    curator = protect(
        pa.Table.from_pylist(ROWS),
        unit="pid",
        rows_per_unit=2,
        columns={
            "sex": one_of(*SEXES),
            "age": between(0, 110),
            "pay": between(0, 1000),
            "flat": between(-5, 5),
            "day": date_between(datetime.date(2023, 1, 1), datetime.date(2025, 1, 1)),
            "seen": date_between(datetime.date(2023, 1, 1), datetime.date(2025, 1, 1)),
            "town": anything(),
            "member": one_of(True, False),
        },
        budget=tacit.Budget(epsilon=10**9, delta=Fraction(1, 10**5)),
        largest_epsilon=10**8,
        table="people",
    )
    with curator:
        yield curator


def values(column: str, sex: str | None = None) -> list[Any]:
    return sorted(row[column] for row in ROWS if row[column] is not None and sex in (None, row["sex"]))


def hits(answer: Any, column: list[Any], share: Fraction) -> bool:
    """Whether the wanted rank lies in the interval of ranks of the answer."""
    wanted = share * len(column)
    return sum(each < answer for each in column) <= wanted <= sum(each <= answer for each in column)


@pytest.mark.statistical
@pytest.mark.parametrize("column", ["age", "pay", "flat", "day", "seen"])
@pytest.mark.parametrize("share", ["0.5", "0.1", "0.999"])
def test_a_quantile_is_the_value_with_that_rank(clinic: Curator, column: str, share: str) -> None:
    answer = clinic.ask(f"SELECT quantile({column}, {share}) AS q FROM people", 10**5)
    # the grid of two years of microseconds is made coarser: its points are 64 of them apart
    found = answer["q"][0]
    near = [found + datetime.timedelta(microseconds=each) for each in (-32, 32)] if column == "seen" else [found]
    assert any(hits(each, values(column), Fraction(share)) for each in near)
    assert answer.deviations == (None,)


@pytest.mark.statistical
def test_many_quantiles_by_group_come_in_order_beside_measures(clinic: Curator) -> None:
    shares = [f"0.{place}" for place in (9, 1, 2, 3, 4, 5, 6, 7, 8)]
    asked = ", ".join(f"quantile(pay, {share}) AS q{place}" for place, share in enumerate(shares))
    answer = clinic.ask(f"SELECT sex, {asked}, count(*) AS n, avg(pay) AS m FROM people GROUP BY sex", 10**6)
    found = {row[0]: row[1:] for row in answer.rows()}
    for sex in "FM":
        column = values("pay", sex)
        assert found[sex][9] == len(column)
        # the grid is finer than the values, so a choice may fall between two of them: one rank is allowed
        for value, share in zip(found[sex], shares, strict=False):
            wanted = Fraction(share) * len(column)
            assert sum(each < value for each in column) - 1 <= wanted <= sum(each <= value for each in column) + 1
    assert answer.deviations[1] is None
    assert answer.deviations[10] is not None


@pytest.mark.statistical
def test_least_and_greatest_are_the_values_that_k_rows_lie_beyond(clinic: Curator) -> None:
    question = "SELECT min(day) AS low, max(day) AS high, min(age) AS young, max(age) AS old FROM people"
    answer = clinic.ask(question, 10**5)
    ranks = [pick.mechanism.rank for pick in clinic.plan(question, 10**5).picks]  # type: ignore[union-attr]
    assert ranks == [1, 1, 1, 1]
    days, ages = values("day"), values("age")
    assert answer["low"][0] in (days[0], days[1])
    assert days[-2] <= answer["high"][0] <= days[-1]
    assert answer["young"][0] in (ages[0], ages[1])
    assert answer["old"][0] in (ages[-1], ages[-2])


@pytest.mark.statistical
def test_the_mode_is_the_most_frequent_known_value(clinic: Curator) -> None:
    answer = clinic.ask("SELECT sex, mode(age) AS a, mode(member) AS m FROM people GROUP BY sex", 10**5)
    for sex, age, member in answer.rows():
        if sex in ("F", "M"):
            counts = Counter(values("age", sex))
            assert counts[age] == max(counts.values())
            assert member is False
    with pytest.raises(QuestionError, match="known values"):
        clinic.plan("SELECT mode(town) FROM people", 1)
    with pytest.raises(QuestionError, match="known values"):
        clinic.plan("SELECT mode(pay) FROM people", 1)


@pytest.mark.statistical
def test_filters_conditions_and_arithmetic_go_with_picks(clinic: Curator) -> None:
    answer = clinic.ask(
        "SELECT sex, median(age) FILTER (WHERE member) AS a, median(age) - 1 AS b, avg(age) - median(age) AS d "
        "FROM people WHERE pay < 500 GROUP BY sex HAVING median(age) >= 0 ORDER BY median(age)",
        10**6,
    )
    for sex, a, b, _ in answer.rows():
        kept = [row for row in ROWS if row["sex"] == sex and row["pay"] < 500 and row["age"] is not None]
        if kept:
            assert hits(a, [row["age"] for row in kept if row["member"]], Fraction(1, 2))
            assert hits(b + 1, [row["age"] for row in kept], Fraction(1, 2))
    # the noise of a measure is not that of a value computed from it and from a pick
    assert answer.deviations == (None, None, None, None)


@pytest.mark.statistical
def test_keys_that_are_not_known_are_chosen_first(clinic: Curator) -> None:
    answer = clinic.ask("SELECT town, median(pay) AS q FROM people GROUP BY town", 300, delta=Fraction(1, 10**6))
    assert set(answer["town"]) == {"Ayr", "Bern", "Cork"}
    for town, value in answer.rows():
        column = [row["pay"] for row in ROWS if row["town"] == town]
        assert abs(sum(each < value for each in column) - len(column) / 2) <= 3


def test_an_empty_cell_has_a_value_within_the_bounds(clinic: Curator) -> None:
    answer = clinic.ask("SELECT sex, median(age), quantile(pay, 0.2), max(day), mode(age) FROM people GROUP BY 1", 1)
    empty = next(row for row in answer.rows() if row[0] == "X")
    assert 0 <= empty[1] <= 110
    assert 0 <= empty[2] <= 1000
    assert datetime.date(2023, 1, 1) <= empty[3] <= datetime.date(2025, 1, 1)
    assert 0 <= empty[4] <= 110


@pytest.mark.parametrize(
    "text",
    [
        "median(age)",
        "quantile(age, 0.5)",
        "quantile_cont(age, 0.5)",
        "quantile_disc(age, 0.5)",
        "approx_quantile(age, 0.5)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY age)",
        "percentile_disc(0.5) WITHIN GROUP (ORDER BY age DESC)",
    ],
)
def test_all_spellings_of_a_median_are_one_question(clinic: Curator, text: str) -> None:
    first = clinic.ask("SELECT median(age) AS q FROM people", Fraction(1, 3))
    again = clinic.ask(f"SELECT {text} AS q FROM people", Fraction(1, 3))
    assert again.repeated
    assert again["q"] == first["q"]


def test_a_percentile_of_a_descending_order_counts_from_the_top(clinic: Curator) -> None:
    plan = clinic.plan("SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY age DESC) FROM people", 1)
    assert plan.picks[0].mechanism.shares == (Fraction(1, 10),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quantile(age, 1)", "min and max"),
        ("quantile(age, 0)", "min and max"),
        ("quantile(age, age)", "constant"),
        ("quantile(age, 0.12345678)", "six decimals"),
        ("approx_top_k(age, 0)", "constant from 1"),
        ("approx_top_k(age, age)", "constant from 1"),
        ("max(age, 3)", "not understood"),
        ("min(DISTINCT age)", "DISTINCT"),
        ("median(avg(age))", "inside an aggregate"),
        ("percentile_cont(0.5)", "WITHIN GROUP"),
        ("mode()", "column"),
        ("min(town)", "number"),
        ("median(pid)", "whose row"),
    ],
)
def test_what_is_not_understood_is_refused_in_words(clinic: Curator, text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        clinic.plan(f"SELECT {text} FROM people", 1)


def test_all_that_is_picked_and_measured_costs_what_was_asked(clinic: Curator) -> None:
    question = (
        "SELECT sex, count(*), avg(age), median(age), quantile(pay, 0.1), quantile(pay, 0.5), quantile(pay, 0.9), "
        "max(day), mode(member) FROM people GROUP BY sex"
    )
    plan = clinic.plan(question, 2)
    assert compose([plan.event]).epsilon(0) == pytest.approx(2, rel=1e-9)
    # a count and a sum together, three picks of one choice each, and one of two: shares of 1.4, 1, 1, 1 and 2, and
    # of 1 for the count of all rows, age having gaps
    shares = 1.4 + 3 + 2 + 1
    assert sorted(float(pick.mechanism.epsilon) for pick in plan.picks) == pytest.approx(
        [2 / shares] * 3 + [4 / shares]
    )
    kinds = [type(pick.mechanism.event) for pick in plan.picks]
    assert kinds == [events.Exponential, events.Repeated, events.Exponential, events.Laplace]
    delta = Fraction(1, 10**6)
    for options in ({"epsilon": Fraction(1, 10), "delta": delta}, {"rho": Fraction(1, 100), "delta": delta}):
        mixed = clinic.plan(question, **options)  # type: ignore[arg-type]
        most = options.get("epsilon") or Fraction(1, 100) + 2 * Fraction(38, 100)
        assert compose([mixed.event]).epsilon(delta) <= most * Fraction(10**6 + 1, 10**6)


def test_weights_move_what_is_spent_towards_a_pick(clinic: Curator) -> None:
    question = "SELECT count(*) AS n, median(age) AS m FROM people"
    plan = clinic.plan(question, 1, weights={"m": 3})
    assert plan.picks[0].mechanism.epsilon == Fraction(3, 4)
    assert compose([plan.event]).epsilon(0) == pytest.approx(1, rel=1e-9)


def test_the_words_say_how_many_ranks_a_pick_may_be_off(clinic: Curator) -> None:
    question = "SELECT median(age), min(pay), mode(member) FROM people"
    (error,) = clinic.plan(question, 1).picks[0].mechanism.errors("0.95")
    assert f"within {error} rows" in str(clinic.estimate(question, 1))
    text = clinic.explain(question, 1)
    assert f"within {error} rows" in text
    assert "rows lie below" in text
    assert "WITH r0 AS" in text
    with pytest.raises(QuestionError, match="explain"):
        clinic.plan(question, within=5)


def test_a_unit_with_more_rows_needs_more_noise(clinic: Curator) -> None:
    one, two = (
        clinic.plan("SELECT median(age), max(age), mode(age) FROM people", 1, rows_per_unit=rows).picks
        for rows in (1, 2)
    )
    for fewer, more in zip(one, two, strict=True):
        assert (fewer.mechanism.sensitivity, more.mechanism.sensitivity) == (1, 2)
        assert fewer.mechanism.errors("0.95") < more.mechanism.errors("0.95")


def test_the_most_frequent_values_come_in_order(clinic: Curator) -> None:
    counts = Counter(row["sex"] for row in ROWS)
    (listed,) = clinic.ask("SELECT approx_top_k(sex, 2) AS top FROM people", 10_000)["top"]
    assert listed.split(", ") == [sex for sex, _ in counts.most_common(2)]
    with pytest.raises(QuestionError, match="known ones"):
        clinic.plan("SELECT approx_top_k(sex, 9) FROM people", 1)


def test_what_was_chosen_by_rank_says_how_far_it_may_be_off() -> None:
    frame = pd.DataFrame({"who": range(50), "age": range(50), "sex": ["F", "M"] * 25})
    facts = {"age": tacit.between(0, 99), "sex": tacit.one_of("F", "M")}
    with tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=3)) as people:
        answer = people.ask("SELECT median(age) AS m, mode(sex) AS s, count(*) AS n FROM data", epsilon=3)
        (said,) = answer.notes
        picks = people.plan("SELECT median(age) AS m, mode(sex) AS s, count(*) AS n FROM data", epsilon=3).picks
    for pick in picks:
        assert f"within {max(pick.mechanism.errors('0.95')):,} rows" in said or "rows fewer" in said
    assert len(picks) == 2
    assert said in str(answer)
    assert said in answer.card()
    assert said in answer._repr_html_()
