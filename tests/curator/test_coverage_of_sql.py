"""Intervals of SQL's aggregates hold the truth: the short form of `python3 go.py bench coverage` for questions.

A new aggregate is in the sweep, or says why it shows no interval. What is short here sees gross faults.
"""

from __future__ import annotations

import pytest
import sqlglot
from scipy import stats
from sqlglot import exp

import _coverage_cases as studies
import _coverage_sql as sweep
from tacit.question import aggregates, picks
from tacit.question.aggregates import NAMED_AGGREGATES

MANY, FEW = 2_000, 60  # runs that are finished at once, and one by one
LOW = {
    # (question, regime): all of them missed more often than one time in ten before intervals followed the curve
    "2 * count(*) + 1": ["tiny n"],
    "stddev_pop(x)": ["narrow"],
    "regr_r2(y, x)": ["small epsilon"],
    "avg(x)": ["ties"],
    "first, avg": ["skew"],
    "max, variance": ["ties"],
    # rounded numbers, and what is divided by what it moves with
    "round(avg(x))": ["many columns"],
    "count(*) // 10": ["plain"],
    "count(*) % 7": ["narrow"],
    "stddev_pop(x) / avg(x)": ["narrow"],
    # what noise may have decided otherwise: held in 52, 70 and 5 of 100 runs; and a curve within its noise, in 85
    "greatest(count(*), 998)": ["small epsilon"],
    "CASE WHEN count(*) > 999 THEN sum(x) ELSE 0 END": ["narrow"],
    "coalesce(avg(x) FILTER (WHERE x > 1000000), -1000000)": ["tiny n"],
    "exp(avg(x) / 5)": ["tiny n"],
}


def test_every_aggregate_is_swept_or_shows_no_interval() -> None:
    asked = {
        type(node).__name__
        for form in sweep.FORMS.values()
        for node in sqlglot.parse_one(form.sql, read="duckdb").walk()
        if isinstance(node, (exp.AggFunc, exp.Filter))
    }
    understood = {each.__name__ for each in (*aggregates.READERS, *picks.READERS)}
    # the parser has two names for each of these, and one reader
    asked |= {"Stddev"} if "StddevSamp" in asked else set()
    assert understood - asked == set(sweep.UNSHOWN) - asked
    assert any("histogram" in form.sql for form in sweep.FORMS.values())
    assert {"HISTOGRAM", "PERCENTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE"} == NAMED_AGGREGATES


@pytest.mark.statistical
@pytest.mark.parametrize("name", LOW)
def test_intervals_of_answers_hold_as_often_as_they_say(name: str) -> None:
    """False alarm below 1e-9 each, were an interval held in 94 of 100 runs: 2,000 see one that is held in 90."""
    runs = MANY if "(" in name and not sweep.FORMS[name].alone else FEW
    for regime in LOW[name]:
        for law, tally in sweep.sweep(name, regime, runs).items():
            shown = int(tally.shown.sum())
            missed = shown - int(tally.held.sum())
            assert missed <= stats.binom.isf(1e-9, runs, 0.06) * max(shown / runs, 1), law
    sweep.opened.close()


def test_no_question_has_the_name_of_a_study() -> None:
    """One table has both."""
    assert set(sweep.FORMS).isdisjoint(studies.CASES)
