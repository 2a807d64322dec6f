"""Outward float arithmetic against arbitrary precision."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.loss.numbers import outward


def log1p_down(value: float) -> float:
    return outward.down(math.log1p(value), outward.ULPS)


ordinary = st.floats(-600, 600, allow_nan=False)
PAIRS = [
    (outward.exp_up, outward.exp_down, mpmath.exp, ordinary),
    (outward.expm1_up, outward.expm1_down, mpmath.expm1, ordinary),
    (outward.log_up, outward.log_down, mpmath.log, st.floats(1e-300, 1e300)),
    (outward.log1p_up, log1p_down, mpmath.log1p, st.floats(-0.999999, 1e300)),
]


@pytest.mark.parametrize("which", range(len(PAIRS)))
@given(data=st.data())
def test_elementary_functions_bracket_the_truth_closely(which: int, data: st.DataObject) -> None:
    higher, lower, exact, values = PAIRS[which]
    value = data.draw(values)
    with mpmath.workdps(400 if abs(value) < 1e-15 else 60):
        truth = exact(mpmath.mpf(value))
        assert lower(value) <= truth <= higher(value)
        assert higher(value) - lower(value) <= mpmath.mpf(2) ** -46 * abs(truth) + mpmath.mpf(10) ** -320


def test_what_overflows_is_infinite_above_and_finite_below() -> None:
    assert outward.exp_up(1000) == math.inf
    assert math.isfinite(outward.exp_down(1000))
    assert outward.expm1_up(1000) == math.inf
    assert math.isfinite(outward.expm1_down(1000))
    assert outward.exp_down(-1000) == 0.0
    assert outward.exp_up(-1000) > 0.0
    assert outward.expm1_down(-1000) == -1.0
    assert outward.log_up(0.0) == outward.log_down(0.0) == -math.inf
    assert outward.log1p_up(-1.0) == -math.inf


@given(st.lists(st.floats(0, 1e300), max_size=20))
def test_a_sum_is_never_below_the_exact_one(terms: list[float]) -> None:
    found = outward.sum_up(terms)
    if math.isfinite(found):
        assert found >= mpmath.fsum(terms)
    assert outward.sum_up([*terms, math.inf]) == math.inf


def test_nothing_costs_nothing() -> None:
    assert outward.sum_up([]) == 0.0
    assert outward.product_up(0.0, math.inf) == 0.0
    assert outward.product_up(math.inf, 0.0) == 0.0
    assert outward.product_up(0.1, 0.1) > 0.1 * 0.1
    assert outward.up(1.0, 2) == 1 + 2 * 2.0**-52
    assert outward.down(1.0) < 1.0
