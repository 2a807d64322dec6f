"""The classifier of `time_neighbours` and its bar: it finds what is there, and its chance is the binomial one."""

from __future__ import annotations

import random

from scipy import stats

from tests.doors.http.time_neighbours import chance, right


def test_the_bar_is_the_one_of_a_fair_coin() -> None:
    for count in (50, 200, 1000):
        least = chance(count)
        assert stats.binom.sf(least - 1, count, 0.5) < 0.01 <= stats.binom.sf(least - 2, count, 0.5)


def test_a_difference_is_found_in_either_direction_and_none_is_not() -> None:
    rng = random.Random(3)
    for shift in (0.02, -0.02):
        told, of = right([(rng.gauss(0.1, 0.01) + shift * (each % 2), each % 2) for each in range(400)])
        assert told >= chance(of)
    told, of = right([(rng.gauss(0.1, 0.01), each % 2) for each in range(2000)])
    assert told < chance(of)
