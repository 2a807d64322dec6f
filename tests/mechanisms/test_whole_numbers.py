from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.mechanisms.whole_numbers import LARGEST, LEAST, WholeNumbers, integers, saturating_sum
from tests.mechanisms.exact import refused


def plus(amount: int) -> Any:
    """Noise that is always `amount`."""
    return lambda size: amount if size is None else np.full(size, amount, dtype=np.int64)


@given(st.integers(), st.integers())
def test_one_integer_is_exact_at_any_size(value: int, noise: int) -> None:
    released = WholeNumbers().release(value, lambda size: noise)
    assert type(released) is int
    assert released == value + noise


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_a_numpy_integer_becomes_a_python_integer(kind: Any) -> None:
    released = WholeNumbers().release(kind(100), plus(-1))
    assert type(released) is int
    assert released == 99


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "O"])
def test_an_array_of_any_integer_type_becomes_int64_of_the_same_shape(kind: str) -> None:
    values = np.arange(12).reshape(3, 2, 2).astype(kind)
    released = WholeNumbers().release(values, plus(1000))
    assert released.dtype == np.int64
    assert released.shape == (3, 2, 2)
    assert (released == np.arange(12).reshape(3, 2, 2) + 1000).all()


@pytest.mark.parametrize("values", [[1, 2, 3], (1, 2, 3), [[1, 2], [3, 4]], np.zeros((0, 3), dtype=int), np.array(7)])
def test_lists_tuples_empty_and_zero_dimensional_arrays_keep_their_shape(values: Any) -> None:
    released = WholeNumbers().release(values, plus(5))
    assert released.shape == np.shape(values)
    assert (released == np.asarray(values) + 5).all()


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=8), st.integers(LEAST, LARGEST))
def test_a_sum_beyond_int64_stops_at_its_end(values: list[int], noise: int) -> None:
    read = integers(values)
    expected = [min(max(min(max(v, LEAST), LARGEST) + noise, LEAST), LARGEST) for v in values]
    assert saturating_sum(read, np.full(len(values), noise, dtype=np.int64)).tolist() == expected
    assert saturating_sum(read, np.array([noise] * len(values), dtype=object)).tolist() == expected


def test_noise_beyond_int64_does_not_change_the_type_of_the_answer() -> None:
    released = WholeNumbers().release([0, 0], lambda size: np.array([2**80, -(2**80)], dtype=object))
    assert released.dtype == np.int64
    assert released.tolist() == [LARGEST, LEAST]


@given(st.lists(st.tuples(st.integers(-(2**66), 2**66), st.integers(-(2**66), 2**66)), min_size=1))
def test_reading_moves_no_two_integers_apart(pairs: list[tuple[int, int]]) -> None:
    left, right = integers([a for a, _ in pairs]), integers([b for _, b in pairs])
    for (a, b), x, y in zip(pairs, left.tolist(), right.tolist(), strict=True):
        assert abs(x - y) <= abs(a - b)


def test_unsigned_values_beyond_int64_are_clamped_and_not_wrapped() -> None:
    assert integers(np.array([2**64 - 1, 5], dtype=np.uint64)).tolist() == [LARGEST, 5]


@pytest.mark.parametrize(
    "value", [True, 1.0, 1.5, float("nan"), "1", None, 1j, [1.5], [True], [None, 1], ["a"], [[1], [2, 3]]]
)
def test_what_is_not_an_integer_is_refused_and_not_quoted(value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        WholeNumbers().release(value, plus(1))
    assert "nan" not in str(caught.value)
    assert "1.5" not in str(caught.value)


def test_a_huge_value_in_a_list_is_not_guessed_to_be_a_float() -> None:
    # numpy alone reads this list as float64, and 2**63 + 1 loses its last digit
    assert integers([2**63, -1, 2**53 + 1]).tolist() == [LARGEST, -1, 2**53 + 1]


def test_more_values_than_declared_are_refused() -> None:
    assert WholeNumbers(2).release([1, 2], plus(1)).tolist() == [2, 3]
    refused(lambda: WholeNumbers(2).release([1, 2, 3], plus(1)), "values")


def test_sensitivities_below_one_make_no_sense_for_whole_numbers() -> None:
    assert WholeNumbers().taxicab(Fraction(3)) == 3
    assert WholeNumbers().euclidean(Fraction(3, 2)) == Fraction(3, 2)
    refused(lambda: WholeNumbers().taxicab(Fraction(3, 2)), "sensitivity")
    refused(lambda: WholeNumbers().taxicab(Fraction(0)), "sensitivity")
    refused(lambda: WholeNumbers().euclidean(Fraction(1, 2)), "sensitivity")


def test_for_gaussian_noise_the_size_binds_only_below_the_squared_sensitivity() -> None:
    assert WholeNumbers().for_euclidean(Fraction(1), 1).most is None
    assert WholeNumbers().for_euclidean(Fraction(2), 3).most == 3
    assert WholeNumbers().for_euclidean(Fraction(2), 4).most is None
    assert WholeNumbers().for_euclidean(Fraction(3, 2), 1).most == 1


def test_a_sequence_of_any_kind_is_read_by_its_items_and_not_by_a_guess() -> None:
    from collections import deque

    assert integers(deque([2**63, 1])).tolist() == [2**63 - 1, 1]
    assert integers(deque([2, 1])).tolist() == [2, 1]
