"""Texts that nobody listed. Statistical: false alarms below 1e-6, and seeded besides."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import local
from tacit.errors import ParameterError
from tacit.local.checks import Refused


@pytest.mark.statistical
def test_texts_that_many_share_are_found_and_their_shares_covered() -> None:
    survey = local.TextSurvey(longest=3, epsilon=4)
    texts = np.repeat(["tea", "ale", "gin"], [6_000, 4_000, 2_000]).tolist()
    found = survey.collect(survey.simulate(texts))
    assert list(found["text"]) == ["tea", "ale", "gin"]
    for share, (low, high) in zip((1 / 2, 1 / 3, 1 / 6), found.intervals()["share"], strict=True):
        assert low <= share <= high


@pytest.mark.statistical
def test_where_everyone_has_another_text_hardly_any_is_shown() -> None:
    survey = local.TextSurvey(longest=2, epsilon=2)
    rng = np.random.default_rng(5)
    texts = ["".join(chr(33 + int(each)) for each in rng.integers(0, 90, 2)) for _ in range(3_000)]
    assert len(survey.collect(survey.simulate(texts))) <= 3


def test_a_client_reports_a_text_in_a_few_bytes() -> None:
    survey = local.TextSurvey(longest=8, epsilon=1)
    assert len(bytes(survey.client().answer("coffee"))) <= 16 + 18
    with pytest.raises(Refused, match="asks for a text"):
        survey.client().answer(7)


def test_reports_of_clients_and_simulated_ones_are_read_alike() -> None:
    survey = local.TextSurvey(longest=1, epsilon=8)
    # a client for each: one that is asked again tells the same report again
    assert survey.collect([bytes(survey.client().answer("x")) for _ in range(300)])["text"][0] == "x"
    assert survey.collect(survey.simulate(["x"] * 300))["text"][0] == "x"


@pytest.mark.statistical
def test_a_text_that_nobody_has_is_shown_as_rarely_as_stated() -> None:
    survey = local.TextSurvey(longest=1, epsilon=4)
    shown = [len(survey.collect(survey.simulate(["x"] * 150))) > 1 for _ in range(300)]
    assert sum(shown) <= 15  # at most 3 expected at the stated hundredth


def test_a_survey_of_texts_that_are_too_long_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most 64 bytes"):
        local.TextSurvey(longest=65, epsilon=1)
