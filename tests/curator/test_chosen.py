"""Intervals of what noise chose cover as often as they say; and notes that say what noise decided.

Each statistical test fails by chance, where all is right, in fewer than one of 10**9 new seeds.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.curator.chosen_forms import FORMS, REGIMES, answered, missed_keys, misses, planned, size_of

RUNS, MOST = 60, 17  # of 60 answers whose intervals miss with probability 0.05, more than 17 do with 5e-10


@pytest.mark.statistical
@pytest.mark.parametrize("name", FORMS)
def test_the_interval_of_what_noise_chose_covers_as_often_as_it_says(name: str) -> None:
    form = FORMS[name]
    for regime in ("ties", "near the border"):
        assert misses(form, REGIMES[regime](size_of(form)), RUNS) <= MOST


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["first of a sorted answer", "having", "last three"])
def test_without_being_widened_they_would_miss_most_of_the_time(name: str) -> None:
    # of 40 equal counts the greatest noise is above the 95 % bound of one with probability 1 - 0.975**40 = 0.64
    form = FORMS[name]
    counts = [110] * size_of(form)
    plan = planned(form.sql)
    missed = 0
    for _ in range(RUNS):
        answer = replace(answered(plan, counts), among=())
        missed += any(not low <= 110 <= high for low, high in answer.intervals()[form.column])
    assert missed > MOST


@pytest.mark.statistical
@pytest.mark.parametrize("level", ["0.8", "0.95", "0.99"])
@pytest.mark.parametrize("units", [6, 8, 10, 14])
def test_a_key_that_was_shown_by_its_noise_may_have_any_fewer_units(units: int, level: str) -> None:
    shown = missed = 0
    while shown < 2000:
        more, bad = missed_keys([units] * 4000, 1, level)
        shown, missed = shown + more, missed + bad
    expected = shown * (1 - float(level))
    assert missed <= expected + 7 * expected**0.5 + 10  # by Bernstein's bound rarer than 1e-9


def test_keys_alone_or_all_rows_are_not_widened() -> None:
    for sql in (
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC",
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ward LIMIT 3",
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVING ward > 3",
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 40",
        "SELECT sum(n) AS n FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward)",
    ):
        plan = planned(sql)
        assert set(answered(plan, [50] * 40).among) == {1}
        (expected,) = plan.errors_at(100)
        assert expected.within_95 <= 2.2 * expected.deviation


def test_an_estimate_knows_what_noise_will_choose() -> None:
    (plain,) = planned("SELECT ward, count(*) AS n FROM visits GROUP BY ward").errors
    (first,) = planned(FORMS["first of a sorted answer"].sql).errors
    greatest = planned(FORMS["max of an answer"].sql).errors_at(100)[0]
    # Laplace noise of scale 5: the first of 40, one noise below or 40 above, is off by more than 5 ln(41/2/0.05) with
    # probability 0.05 at most; 21 is half of 41, rounded up
    assert first.within_95 == pytest.approx(5 * 6.040, rel=0.01)
    assert greatest.within_95 == pytest.approx(5 * 6.040, rel=0.01)
    assert first.deviation == plain.deviation
    assert first.within_95 > 2 * plain.within_95


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (FORMS["first of a sorted answer"].sql, "Noisy values decide which rows are shown"),
        (FORMS["having"].sql, "Noisy values decide which rows are shown"),
        (FORMS["qualify"].sql, "Noisy values decide which rows are shown"),
        (FORMS["max of an answer"].sql, "Noise decides which value is shown as t"),
        (FORMS["greatest window"].sql, "Noise decides which value is shown as t"),
        (FORMS["greatest of one cell's"].sql, "Noise decides which value is shown as t"),
        ("SELECT ward, median(x) AS t FROM visits GROUP BY ward ORDER BY t LIMIT 1", "named beforehand"),
        ("SELECT max(t) AS t FROM (SELECT ward, median(x) AS t FROM visits GROUP BY ward)", "named beforehand"),
        (
            "SELECT sum(n) AS t FROM (SELECT town, count(*) AS n FROM visits GROUP BY town)",
            # delta (exp(n epsilon) - 1) / (exp(epsilon) - 1) is one half at n = 35.05
            "of up to about 36 units each, are no part of it, and how many there are is not known",
        ),
        ("SELECT town, count(*) AS n FROM visits GROUP BY town", "may be any smaller one"),
    ],
)
def test_what_noise_decided_is_said(sql: str, words: str) -> None:
    plan = planned(sql, delta="1e-4")
    assert len(plan.notes) == 1
    assert words in plan.notes[0]


def test_what_noise_did_not_decide_needs_no_word() -> None:
    for sql in (
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC",
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ward LIMIT 3",
        "SELECT sum(n) AS n FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward)",
        "SELECT ward, median(x) FROM visits GROUP BY ward",
    ):
        assert planned(sql).notes == ()
