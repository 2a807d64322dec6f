"""Numbers at the ends of what fits: nothing wraps, and nothing about a row's size is heard but through noise."""

from __future__ import annotations

import warnings
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.mechanisms import Exponential, PosteriorSampling
from tacit.mechanisms.scores import read_scores
from tacit.statistics import DistanceToProperty, mean
from tacit.statistics.arrays import array_source
from tacit.statistics.selection.prices import Offers

SIGNALLING = np.frombuffer(np.uint64(0x7FF0000000000001).tobytes(), dtype=np.float64)[0:1]


@pytest.mark.parametrize("rows", range(1, 12))
def test_a_signalling_nan_reads_as_the_worst_wherever_it_stands(rows: int) -> None:
    scores = np.concatenate([SIGNALLING] * rows)
    assert np.isnan(scores).all()
    for name in ("scores", "losses"):
        read = read_scores(
            scores if name == "scores" else None, scores if name == "losses" else None, rows, Fraction(1)
        )
        assert np.isfinite(read).all()
        assert len(set(read.tolist())) == 1
    assert Exponential(1, 1).choose(range(rows), scores=scores) in range(rows)


@pytest.mark.parametrize("rows", range(1, 9))
def test_a_row_that_is_no_number_moves_a_posterior_by_its_sensitivity_at_most(rows: int) -> None:
    mechanism = PosteriorSampling(["a", "b"], bounds=(-100, -99), epsilon=1)
    fine = np.full((rows, 2), -99.5)
    strange = np.concatenate([fine, np.repeat(SIGNALLING, 2).reshape(1, 2)])
    moved = np.abs(mechanism.totals(strange) - mechanism.totals(fine))
    whole = mechanism.totals(np.full((1, 2), -99.0))
    assert (moved <= whole).all()


def test_numbers_beyond_all_floats_raise_nothing_and_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism = PosteriorSampling(["a", "b"], bounds=(-10, 0), epsilon=1)
        assert mechanism.choose([[10**400, 1], [-(10**400), 0]]) in ("a", "b")
        small = np.frombuffer(np.uint32(0x7F800001).tobytes(), dtype=np.float32)
        assert mean(np.append(small, np.float32(1)), bounds=(0, 1), epsilon=1).value is not None
        assert mean(np.array([np.longdouble("1e4000"), 1]), bounds=(0, 1), epsilon=1).value is not None


@pytest.mark.parametrize("bounds", [(0, 1e-315), (0, 1e-300), (-1.7e308, 1.7e308)])
def test_bounds_whose_steps_are_no_floats_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="apart"):
        array_source(np.array([0.0, 1e-316]), None, bounds, None)


def test_many_buyers_of_a_dear_thing_are_multiplied_exactly() -> None:
    offers: Any = object.__new__(Offers)
    buyers = 2**32 + 3
    for name, value in {"prices": (Fraction(1), Fraction(2)), "whole": (1, 2**31 - 1), "cut": None}.items():
        object.__setattr__(offers, name, value)
    opened: Any = SimpleNamespace(counts=lambda *_, shape: np.array([0, 0, buyers]))
    assert list(offers.revenues(opened)) == [buyers, (2**31 - 1) * buyers]


def test_distances_that_floats_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(ParameterError, match="travel as floats"):
        DistanceToProperty(len, most=2**53 + 1)
