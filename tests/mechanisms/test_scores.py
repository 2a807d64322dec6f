from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.scores import read_scores
from tests.mechanisms.exact import refused

HALF = Fraction(1, 2)
numbers = st.one_of(st.floats(), st.integers(-(2**70), 2**70))


def read(values: Any, factor: Fraction = HALF) -> Any:
    return read_scores(values, None, len(values), factor)


@pytest.mark.parametrize("kind", ["i1", "i8", "u4", "u8", "f2", "f4", "f8", "O"])
def test_every_numeric_type_is_read(kind: str) -> None:
    values = np.array([3, 1, 2]).astype(kind)
    assert read(values).tolist() == [3, 1, 2]
    assert read(values).dtype == (np.float64 if kind[0] == "f" else np.int64)


@given(st.lists(numbers, min_size=1, max_size=6), st.sampled_from([Fraction(1, 10**200), HALF, Fraction(10**200)]))
def test_no_content_raises_and_no_log_weight_overflows(values: list[Any], factor: Fraction) -> None:
    for name in ("scores", "losses"):
        found = read_scores(**{"scores": None, "losses": None, name: values}, count=len(values), factor=factor)
        assert np.isfinite(found.astype(float)).all()
        spread = Fraction(found.max().item()) - Fraction(found.min().item())
        assert float(spread * factor) < math.inf


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6))
def test_reading_moves_no_two_scores_apart(pairs: list[tuple[Any, Any]]) -> None:
    known = [pair for pair in pairs if not any(isinstance(v, float) and not math.isfinite(v) for v in pair)]
    known = [(a, b) for a, b in known if isinstance(a, int) == isinstance(b, int)]
    if not known:
        return
    left, right = read([a for a, _ in known]), read([b for _, b in known])
    for (a, b), x, y in zip(known, left.tolist(), right.tolist(), strict=True):
        assert abs(Fraction(x) - Fraction(y)) <= abs(Fraction(a) - Fraction(b))


def test_an_unknown_score_or_loss_is_the_worst_one() -> None:
    scores = read(np.array([math.nan, -math.inf, 1.0, math.inf]))
    assert scores[0] == scores[1] == scores.min() < 1 < scores[3] == scores.max()
    losses = read_scores(None, np.array([math.nan, math.inf, 1.0, -math.inf]), 4, HALF)
    assert losses[0] == losses[1] == losses.min() < -1 < losses[3] == losses.max()


def test_losses_are_scores_with_the_sign_turned() -> None:
    assert read_scores(None, [3, -1], 2, HALF).tolist() == [-3, 1]
    assert read_scores(None, np.array([-(2**63), 2**63 - 1]), 2, HALF).tolist() == [2**63 - 1, -(2**63 - 1)]


def test_the_callers_array_is_left_alone() -> None:
    for mine in (np.array([1.0, math.nan]), np.array([1, 2])):
        kept = mine.copy()
        read_scores(mine, None, 2, HALF)
        read_scores(None, mine, 2, HALF)
        assert np.array_equal(mine, kept, equal_nan=mine.dtype == float)


@pytest.mark.parametrize("scores", [[1], [1, 2, 3], [[1, 2]], [], np.array(1), np.zeros((2, 1))])
def test_a_wrong_length_is_refused(scores: Any) -> None:
    refused(lambda: read_scores(scores, None, 2, HALF), "scores")


@pytest.mark.parametrize("scores", [["a", "b"], [None, 1], [True, 1], [1j, 1], [Fraction(1, 3), 1]])
def test_a_wrong_type_is_refused_in_lists(scores: Any) -> None:
    refused(lambda: read_scores(scores, None, 2, HALF), "scores")


@pytest.mark.parametrize("kind", [bool, complex, np.longdouble, "U1", "datetime64[s]"])
def test_a_wrong_type_is_refused_in_arrays(kind: Any) -> None:
    refused(lambda: read_scores(np.zeros(2).astype(kind), None, 2, HALF), "scores")


def test_scores_and_losses_exclude_each_other() -> None:
    refused(lambda: read_scores(np.zeros(2), np.zeros(2), 2, HALF), "scores or losses")
    refused(lambda: read_scores(None, None, 2, HALF), "scores or losses")
