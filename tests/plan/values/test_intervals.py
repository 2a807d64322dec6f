"""Interval arithmetic against every pair of values in small intervals."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tacit.plan.values.intervals import Interval, common_step, truncate

SMALL = st.tuples(st.integers(-9, 9), st.integers(0, 6)).map(lambda pair: Interval(pair[0], pair[0] + pair[1]))


def members(interval: Interval) -> range:
    return range(interval.low, interval.high + 1)


def hull(values: list[int]) -> Interval:
    return Interval(min(values), max(values))


@given(SMALL, SMALL)
def test_two_sided_operations_are_exactly_the_hull_of_all_values(a: Interval, b: Interval) -> None:
    pairs = [(x, y) for x in members(a) for y in members(b)]
    assert a + b == hull([x + y for x, y in pairs])
    assert a - b == hull([x - y for x, y in pairs])
    assert a * b == hull([x * y for x, y in pairs])
    assert a.smaller(b) == hull([min(x, y) for x, y in pairs])
    assert a.larger(b) == hull([max(x, y) for x, y in pairs])
    assert a.hull(b) == hull([*members(a), *members(b)])


@given(SMALL, SMALL)
def test_quotients_and_remainders_hold_all_values(a: Interval, b: Interval) -> None:
    for x in members(a):
        for y in members(b):
            if y:
                quotient = math.trunc(Fraction(x, y))
                assert truncate(x, y) == quotient
                assert a.truncated_quotient(b).contains(quotient)
                assert a.remainder(b).contains(x - y * quotient)


@given(SMALL, st.integers(1, 7))
def test_one_sided_operations_are_exactly_the_hull(a: Interval, divisor: int) -> None:
    assert -a == hull([-x for x in members(a)])
    assert a.square() == hull([x * x for x in members(a)])
    assert a.absolute() == hull([abs(x) for x in members(a)])
    assert a.size == max(abs(x) for x in members(a))
    assert a.floor_quotient(divisor) == hull([math.floor(Fraction(x, divisor)) for x in members(a)])
    assert a.contains(a.middle)
    assert max(a.high - a.middle, a.middle - a.low) == (a.high - a.low + 1) // 2


STEPS = st.fractions("1/50", 99, max_denominator=50)


@given(STEPS, STEPS)
def test_a_common_step_divides_both_and_none_larger_does(left: Fraction, right: Fraction) -> None:
    step = common_step(left, right)
    assert (left / step).denominator == (right / step).denominator == 1
    assert math.gcd(int(left / step), int(right / step)) == 1
