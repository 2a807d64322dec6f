"""Every trainer in one run of canaries, in short: what is measured stays below the claim, and a lie is noticed.

False alarms: a sound trainer passes its claim with probability at most 1e-3 by the theorem; the slack of 0.5 above the
claim makes it far less.
"""

from __future__ import annotations

import pytest

import trainers

MODELS = trainers.names()


@pytest.mark.statistical
@pytest.mark.parametrize("name", MODELS)
def test_what_canaries_measure_is_below_the_claim(name: str) -> None:
    assert trainers.audited(name, 1, 24).epsilon <= 1.5


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["SecondMoments", "PCA", "StandardScaler"])
def test_noise_that_is_far_too_small_is_noticed(name: str) -> None:
    """All guesses right: of 50 at a claim of 1 the chance is 2e-7."""
    assert trainers.audited(name, 1_000_000, 100).epsilon > 1


def test_every_model_is_audited_or_needs_another_model() -> None:
    from tacit import learning

    left = {name for name in learning.__all__ if hasattr(getattr(learning, name), "fit")} - set(MODELS)
    assert left <= {"Search"}
