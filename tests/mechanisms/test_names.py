from __future__ import annotations

import pytest

from tacit import mechanisms
from tacit.mechanisms import Gaussian, Laplace, Staircase
from tacit.mechanisms.base import Mechanism


def test_the_names_of_the_room_are_frozen() -> None:
    assert mechanisms.__all__ == [
        "AboveThreshold",
        "BernoulliParameter",
        "Exponential",
        "Extreme",
        "Gaussian",
        "KeySelection",
        "Laplace",
        "LaplaceProportion",
        "Mechanism",
        "Mode",
        "NoisyMax",
        "PermuteAndFlip",
        "PosteriorSampling",
        "ProposeTestRelease",
        "Quantiles",
        "RandomizedResponse",
        "Refused",
        "SampleAndAggregate",
        "Smooth",
        "Staircase",
        "declared_public",
    ]
    for name in mechanisms.__all__:
        assert getattr(mechanisms, name).__doc__


@pytest.mark.parametrize("mechanism", [Laplace(1, 1), Laplace(1.0, 1), Gaussian(1, 1, 1e-6), Staircase(3, 1)])
def test_noise_on_numbers_keeps_the_common_contract(mechanism: Mechanism) -> None:
    assert mechanism.scale > 0
    assert mechanism.error(0.95) >= 0
    assert isinstance(mechanism.release(7), (int, float))
    assert mechanism.event.to_json()
