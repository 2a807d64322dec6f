"""Every trainer in one run of canaries, in short: what is measured stays below the claim, and a lie is noticed.

False alarms: a sound trainer passes its claim with probability at most 1e-3 by the theorem; the slack of 0.5 above the
claim makes it far less.
"""

from __future__ import annotations

import pytest

import _canaries_alone as alone
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


@pytest.mark.statistical
@pytest.mark.parametrize("name", alone.ATTACKS)
def test_canaries_with_something_for_themselves_measure_less_than_the_claim(name: str) -> None:
    """By the theorem the claim is passed with probability 1e-3 at most, and one and a half times it hardly ever."""
    assert alone.ATTACKS[name](1, 200).epsilon <= 1.5


@pytest.mark.statistical
@pytest.mark.parametrize("name", [name for name in alone.ATTACKS if name.startswith(("Dec", "Cat", "KBins"))])
def test_noise_that_is_four_times_too_small_is_noticed(name: str) -> None:
    """What is measured has a mean of 1.4 or more and a spread of about a tenth; the draws follow the test's name."""
    with alone.quieter(4):
        assert alone.ATTACKS[name](1, 800).epsilon > 1


@pytest.mark.statistical
def test_canaries_in_bins_of_boosting_notice_noise_that_is_ten_times_too_small() -> None:
    with alone.quieter(10):
        assert alone.ATTACKS["BoostedBinsClassifier, bins"](1, 400).epsilon > 1
