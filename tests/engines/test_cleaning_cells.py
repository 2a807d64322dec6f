"""Columns without bounds: the working copy holds the cell of each number, whatever the number is."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest

import tacit
from tacit.policy.cells import LAST, cell_of
from tests.engines.test_cleaning import clean
from tests.policy.test_cells import FLOATS

REAL = tacit.auto().column("x", "real")
WHOLE = tacit.auto().column("x", "integer")
INTEGERS = [sign * (2**power + more) for power in range(63) for more in (-1, 0, 1) for sign in (1, -1)]


def test_every_double_gets_its_cell() -> None:
    assert clean(REAL, "DOUBLE", FLOATS) == [cell_of(Fraction(value)) for value in FLOATS]
    assert clean(REAL, "DOUBLE", [0.0, -0.0, None, math.nan, math.inf, -math.inf]) == [0, 0, None, None, None, None]
    assert clean(REAL, "DOUBLE", [sys.float_info.max, -sys.float_info.max, 5e-324]) == [LAST, -LAST, 1]


@pytest.mark.parametrize("kind", ["BIGINT", "HUGEINT", "VARCHAR"])
def test_every_whole_number_gets_its_cell(kind: str) -> None:
    least = [-(2**63), 2**63 - 1]
    values = [*INTEGERS, *least]
    given = [str(value) for value in values] if kind == "VARCHAR" else values
    assert clean(WHOLE, kind, given) == [cell_of(value) for value in values]


def test_whole_numbers_beyond_the_cells_are_in_the_last_and_text_that_is_none_is_missing() -> None:
    far = [2**66, -(2**66), 2**100, -(2**127), 2**65 - 1, 2**65]
    assert clean(WHOLE, "HUGEINT", far) == [LAST, -LAST, LAST, -LAST, LAST - 1, LAST]
    assert clean(WHOLE, "VARCHAR", ["x", "", "1" * 60, None, "-3"]) == [None, None, None, None, cell_of(-3)]
    assert clean(WHOLE, "DOUBLE", [2.5, -2.5, 1e300, -1e300, math.nan]) == [66, -66, LAST, -LAST, None]
    assert clean(REAL, "VARCHAR", ["0.5", "x", "nan", "inf"]) == [64, None, None, None]


def test_only_cells_that_the_policy_lists_occur() -> None:
    assert set(clean(WHOLE, "BIGINT", [*INTEGERS, 0])) <= set(WHOLE.cells)
    assert set(clean(REAL, "DOUBLE", FLOATS)) | {0} == set(REAL.cells)
