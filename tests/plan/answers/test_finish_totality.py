"""Finishing is total: for any noisy numbers and constants that a plan admits it raises nothing and warns of nothing.

An answer that fails for some noises and not for others says which noise it was, and asked again it would be drawn anew.
"""

from __future__ import annotations

import datetime
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.answer import Answer
from tacit.answer.release import _bounded, _finite
from tacit.errors import ParameterError, QuestionError
from tacit.plan import KnownKeys, Plan, finish, make_plan
from tacit.plan.answers.floats import LARGEST, as_whole
from tacit.plan.columns import KeyColumn, read_key
from tacit.policy import Column
from tacit.question import read
from tests.effort import tried
from tests.plan.copies import VISITS, clinic

WILD = st.one_of(
    st.sampled_from([0, 1, -1, 2**53, 2**63, -(2**63), 2**1000, -(2**1000), 2**1023, 2**1024, 10**400, -(10**400)]),
    st.integers(-(10**6), 10**6),
    st.integers(-(2**1100), 2**1100),
)
HUGE = ["1e30", "-1e30", "1e-30", "0", "7", "0.5"]
AGGREGATES = ["count(*)", "sum(age)", "avg(age)", "variance(age)", "stddev(age)", "var_pop(age)", "count(DISTINCT sex)"]
AGGREGATES += ["corr(age, level)", "covar_pop(age, level)", "regr_slope(age, level)", "count(*) FILTER (age > 30)"]


def numbers() -> st.SearchStrategy[str]:
    """Arithmetic over aggregates, with constants as large as can be written."""
    leaf = st.one_of(st.sampled_from(AGGREGATES), st.sampled_from(HUGE))
    wraps = [
        "round({0})",
        "round({0}, 12)",
        "round({0}, -12)",
        "floor({0})",
        "ceil({0})",
        "abs({0})",
        "sign({0})",
        "sqrt({0})",
        "ln({0})",
        "exp({0})",
        "trunc({0})",
        "CAST({0} AS INTEGER)",
        "CAST({0} AS DOUBLE)",
        "-({0})",
        "nullif({0}, 0)",
    ]
    pairs = ["({0}) + ({1})", "({0}) - ({1})", "({0}) * ({1})", "({0}) / ({1})", "({0}) % ({1})", "({0}) // ({1})"]
    pairs += [
        "least({0}, {1})",
        "greatest({0}, {1})",
        "coalesce({0}, {1})",
        "CASE WHEN {0} > {1} THEN {0} ELSE {1} END",
    ]
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(str.format, st.sampled_from(wraps), inner),
            st.builds(str.format, st.sampled_from(pairs), inner, inner),
        ),
        max_leaves=6,
    )


WINDOWS = [
    "sum({0}) OVER (ORDER BY {1})",
    "avg({0}) OVER (PARTITION BY sex ORDER BY {1} DESC)",
    "min({0}) OVER (ORDER BY {1} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "max({0}) OVER ()",
    "rank() OVER (ORDER BY {1})",
    "percent_rank() OVER (ORDER BY {1})",
    "lag({0}, 1) OVER (ORDER BY {1})",
    "first_value({0}) OVER (ORDER BY {1} NULLS FIRST)",
    "count({0}) OVER (ORDER BY {1} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
]


@st.composite
def questions(draw: st.DrawFn) -> str:
    first, second = draw(numbers()), draw(numbers())
    shape = draw(st.sampled_from(["plain", "grouped", "window", "rollup", "summary", "histogram"]))
    if shape == "plain":
        return f"SELECT {first} AS a, {second} AS b FROM visits"
    if shape == "grouped":
        return (
            f"SELECT sex, {first} AS a FROM visits GROUP BY sex HAVING {second} > {draw(st.sampled_from(HUGE))} "
            "ORDER BY a DESC, sex LIMIT 2"
        )
    if shape == "window":
        made = draw(st.sampled_from(WINDOWS)).format(first, second)
        return f"SELECT sex, level, {made} AS a FROM visits GROUP BY sex, level ORDER BY a"
    if shape == "rollup":
        return f"SELECT sex, level, {first} AS a FROM visits GROUP BY ROLLUP (sex, level)"
    if shape == "summary":
        return (
            f"SELECT sex, max(n), avg(n), sum(n) * 1e30 FROM (SELECT sex, level, {first} AS n FROM visits "
            "GROUP BY sex, level) GROUP BY sex"
        )
    return "SELECT sex, histogram(level) AS h FROM visits GROUP BY sex"


def finished(plan: Plan, draw: Any) -> Answer:
    """The answer to wild numbers, through its bytes and back."""
    assert isinstance(plan.keys, KnownKeys)
    cells = list(plan.keys.cells)
    noisy = []
    for measure in plan.measures:
        size = len(cells) if measure.bins is None else len(cells) * len(measure.bins.values)
        if measure.levels is not None:
            size = sum(measure.levels.lengths)
        column = np.array([draw() for _ in range(size)] + [None], dtype=object)[:-1]
        noisy.append(column if measure.bins is None else column.reshape(len(cells), -1))
    table_ = finish(plan, cells, noisy)
    columns = tuple(tuple(_finite(value) for value in column) for column in table_.columns)
    deviations = tuple(None if each is None else tuple(map(_bounded, each)) for each in table_.deviations)
    made = Answer(table_.names, table_.kinds, columns, deviations, True, {"unit": "", "epsilon": "1", "delta": "0"})
    again = Answer.from_bytes(made.to_bytes())
    assert again.to_bytes() == made.to_bytes()
    return again


def planned(text: str) -> Plan | None:
    try:
        return make_plan(read(text), clinic(), epsilon=1)
    except (QuestionError, ParameterError):
        return None


@settings(max_examples=tried(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(text=questions(), data=st.data())
def test_no_noise_and_no_constants_make_finishing_fail_or_warn(text: str, data: st.DataObject) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = planned(text)
        if plan is None:
            return
        for output in plan.errors_at(10):
            assert not isinstance(output.deviation, complex)
        answer = finished(plan, lambda: data.draw(WILD))
        answer.to_arrow()


@pytest.mark.parametrize("noisy", [0, 1, 10**5, 10**9, -(10**9), 2**1000])
@pytest.mark.parametrize("cast", ["round({0})", "CAST({0} AS INTEGER)", "floor({0})", "{0}"])
def test_constants_chosen_so_that_only_some_noises_overflow_show_nothing_and_do_not_fail(cast: str, noisy: int) -> None:
    """count(*) times 1e300: finite up to about 1e8 rows, infinite above. round(inf) used to raise there."""
    plan = make_plan(read(f"SELECT {cast.format('count(*)' + ' * 1e30' * 10)} FROM visits"), clinic(), epsilon=1)
    ((value,),) = finished(plan, lambda: noisy).columns
    assert value is None or isinstance(value, (int, float))


@pytest.mark.parametrize(
    ("meaning", "kind"), [("date", datetime.date), ("timestamp", datetime.datetime), ("number", int), ("boolean", bool)]
)
@pytest.mark.parametrize("raw", [0, 2**62, -(2**62), 10**30, -(10**30)])
def test_a_key_beyond_the_calendar_reads_as_its_end(meaning: str, kind: type, raw: int) -> None:
    assert isinstance(read_key(KeyColumn("k", meaning, Fraction(1), None), raw), kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT avg(r) FROM visits",
        "SELECT stddev(r) FROM visits",
        "SELECT sum(r * r) FROM visits",
        "SELECT median(r) FROM visits",
        "SELECT median(r * r) FROM visits",
        "SELECT max(r) FROM visits",
        "SELECT corr(r, age) FROM visits",
        "SELECT regr_slope(r, age) FROM visits",
        "SELECT sex, sum(sum(r)) OVER () FROM visits GROUP BY sex",
        "SELECT avg(age * 1e30 * 1e30 * 1e30 * 1e30 * 1e30 * 1e30) FROM visits",
        "SELECT stddev(age * 1e30 * 1e30 * 1e30) FROM visits",
        "SELECT median(age * 1e30 * 1e30 * 1e30) FROM visits",
    ],
)
def test_what_floats_would_not_hold_is_refused_while_it_is_planned(text: str) -> None:
    wide = clinic(replace(VISITS, columns={**VISITS.columns, "r": Column("r", "real", Fraction(0), Fraction(10**250))}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((QuestionError, ParameterError), match=r"1e[12]00|too wide|larger|digits"):
            make_plan(read(text), wide, epsilon=1)


@pytest.mark.parametrize("value", [float("inf"), 1e308, 2.0**63, 10**400, Fraction(10**400, 3)])
def test_a_number_beyond_whole_ones_of_64_bits_is_the_last_of_them(value: Any) -> None:
    assert (as_whole(value), as_whole(-value)) == (2**63 - 1, -(2**63) + 1)
    assert as_whole(float("nan")) is None


def test_the_largest_constant_is_told() -> None:
    assert LARGEST == 10**100


def test_windows_over_many_rows_take_time_that_grows_with_them() -> None:
    """Ten times the rows, far less than a hundred times the work: before, each row looked at all others."""
    from tacit.plan.answers.formulas import Cells, Linear
    from tacit.plan.answers.windows import Sorting, Window

    count = Linear(((0, Fraction(1)),))
    for function in ("sum", "avg", "min", "max", "rank", "cume_dist", "count", "lag", "first_value"):
        window = Window(function, count, 1, (), (Sorting(count, descending=False, nulls_first=False),), None)
        spent = []
        for size in (1_000, 10_000):
            cells = Cells(size, [np.arange(size, dtype=np.float64) % 97])
            start = time.process_time()
            window.of(cells)
            spent.append(time.process_time() - start)
        assert spent[1] < 40 * spent[0] + 0.5, function
