"""Mechanisms: a sampler, the event it stands for, and the error to expect. One file each, opening with its theorem.

    Laplace(sensitivity=1, epsilon=0.1).release(42)                                   # noise on numbers
    Exponential(sensitivity=1, epsilon=0.1).choose(["dark", "brown"], scores=[500, 400])  # a choice

Public parameters are refused when they are wrong, before anything is released; private values never raise.
"""

from __future__ import annotations

from tacit.mechanisms.above_threshold import AboveThreshold
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.bernoulli_parameter import BernoulliParameter, LaplaceProportion
from tacit.mechanisms.candidates import declared_public
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.key_selection import KeySelection
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mode import Mode
from tacit.mechanisms.noisy_max import NoisyMax
from tacit.mechanisms.permute_and_flip import PermuteAndFlip
from tacit.mechanisms.posterior_sampling import PosteriorSampling
from tacit.mechanisms.propose_test_release import ProposeTestRelease, Refused
from tacit.mechanisms.quantiles import Extreme, Quantiles
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.sample_and_aggregate import SampleAndAggregate
from tacit.mechanisms.smooth import Smooth
from tacit.mechanisms.staircase import Staircase

__all__ = [
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


def __dir__() -> list[str]:
    return __all__
