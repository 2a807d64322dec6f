"""Vectors, variances, answers in a known order, questions asked together, and what many reports of one person tell."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import local
from tacit.errors import ParameterError
from tacit.local import contents, crowd, laws
from tacit.local.checks import Refused, ratio
from tacit.local.client import direction, squared
from tests.local.laws_by_enumeration import law_of

NEAREST = {
    "kind": "nearest", "dimensions": 2, "words": 5, "near": 2, "seed": 3, "keep": 3, "other": 1,
}  # fmt: skip
MOMENTS = {"kind": "moments", "parts": [{"kind": "sign", "steps": 4, "keep": 3, "other": 1}] * 2}


def _largest_ratio(law: dict[str, Any], answers: list[Any]) -> Fraction:
    found = [law_of(law, each) for each in answers]
    assert all(sum(each.values()) == 1 for each in found)
    reports = set().union(*found)
    assert all(report in each for each in found for report in reports)
    return max(one[r] / other[r] for one in found for other in found for r in reports)


def test_a_vector_s_report_tells_exactly_its_ratio_whatever_the_vector_is() -> None:
    answers = [[1.0, 0.0], [0.0, -1.0], [0.6, 0.8], [0.0, 0.0], [math.nan, 1.0], [1e300, 1e300]]
    assert _largest_ratio(NEAREST, answers) == ratio(NEAREST) == 3


def test_a_number_or_its_square_tells_exactly_the_larger_ratio() -> None:
    assert _largest_ratio(MOMENTS, list(range(5))) == ratio(MOMENTS) == 3
    window = {"kind": "window", "steps": 4, "window": 2, "keep": 5, "other": 2}
    assert _largest_ratio({"kind": "moments", "parts": [window, window]}, list(range(5))) == Fraction(5, 2)


def test_squares_are_rounded_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.local import client

    for steps in (4, 7):
        for truth in range(steps + 1):
            found = []
            for drawn in range(steps):
                monkeypatch.setattr(client.secrets, "randbelow", lambda outcomes, drawn=drawn: drawn)
                found.append(squared(steps, truth))
            assert Fraction(sum(found), steps) == Fraction((2 * truth - steps) ** 2, steps)
            assert 0 <= min(found) <= max(found) <= steps


@pytest.mark.parametrize("bad", [{"near": 5}, {"near": 0}, {"dimensions": 1}, {"words": "5"}, {"keep": 0}])
def test_a_client_refuses_a_malformed_survey_of_vectors(bad: dict[str, Any]) -> None:
    description = local.Survey(local.Vector(2), epsilon=2).description
    with pytest.raises(Refused):
        local.Client({**description, "law": {**NEAREST, **bad}})


def test_directions_are_the_same_at_home_and_at_the_collector_s() -> None:
    law = laws.nearest(7, Fraction(1))
    many = crowd.directions(law, [5, 1 << 60], [3, 200])
    assert np.abs(many - [direction(law, 5, 3), direction(law, 1 << 60, 200)]).max() < 1e-12


def test_the_expected_sum_of_the_largest_scores_is_that_of_simulated_directions() -> None:
    """Normal numbers that know nothing of the formula; 6 standard errors: 2e-9 by chance, and seeded."""
    rng = np.random.default_rng(5)
    for words, near, dimensions in ((256, 55, 2), (256, 10, 8), (16, 1, 50)):
        points = rng.normal(size=(3_000, words, dimensions)) if dimensions < 10 else rng.normal(size=(900, words, 50))
        scores = np.sort(points[..., 0] / np.linalg.norm(points, axis=-1), axis=1)[:, -near:].sum(axis=1)
        off = abs(float(scores.mean()) - contents._largest(words, near, dimensions))
        assert off < 6 * scores.std() / math.sqrt(len(scores))


@pytest.mark.statistical
def test_the_mean_of_vectors_is_unbiased_and_its_intervals_cover() -> None:
    """2 x 20 runs of 4 coordinates: 160 intervals of which 152 are expected to cover; below 128 once in 1e9."""
    covered = 0
    for epsilon in ("0.5", "6"):
        survey = local.Survey(local.Vector(4, norm=2), epsilon=epsilon)
        truths = np.tile([[1.5, 0.0, -0.5, 0.1], [0.0, 0.0, 0.0, 0.0]], (40, 1))
        runs = [survey.collect(survey.simulate(truths)) for _ in range(20)]
        means = np.array([each["mean"] for each in runs])
        off = np.abs(means.mean(axis=0) - truths.mean(axis=0))
        assert np.all(off < 6 * means.std(axis=0) / math.sqrt(20))
        for each in runs:
            ends = each.intervals()["mean"]
            covered += sum(low <= t <= high for (low, high), t in zip(ends, truths.mean(axis=0), strict=True))
    assert covered >= 128


@pytest.mark.statistical
def test_reports_of_clients_are_read_as_those_of_a_crowd() -> None:
    """Six standard errors of 300 reports: 2e-9 by chance."""
    survey = local.Survey(local.Vector(3, norm=1), epsilon=6)
    finding = survey.collect([survey.client().answer([0.0, 3.0, 4.0]) for _ in range(300)])  # cut to length 1
    wide = [(high - low) / 1.96 / 2 for low, high in finding.intervals()["mean"]]
    assert np.all(np.abs(np.array(finding["mean"]) - [0, 0.6, 0.8]) < 6 * np.array(wide))


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_variances_are_unbiased_and_their_intervals_cover(epsilon: str) -> None:
    """200 runs: 190 are expected to cover, fewer than 170 once in 1e7; means within six standard errors."""
    survey = local.Survey(tacit.between(-5, 15), epsilon=epsilon, protocol="variance")
    truths = np.concatenate([np.linspace(0, 4, 3_000), np.full(1_000, 12.0)])
    runs = [survey.collect(survey.simulate(truths)) for _ in range(200)]
    for name, true in (("mean", truths.mean()), ("variance", truths.var())):
        found = np.array([each[name][0] for each in runs])
        if found.min() > 0:  # cut at 0, a variance is biased upwards
            assert abs(found.mean() - true) < 6 * found.std() / math.sqrt(200) + 1e-3
        assert sum(low <= true <= high for each in runs for low, high in each.intervals()[name]) >= 170


def test_a_variance_of_few_reports_has_no_interval() -> None:
    survey = local.Survey(tacit.between(0, 1), epsilon=1, protocol="variance")
    assert survey.collect([survey.client().answer(0.2) for _ in range(5)]).intervals() == {}


def test_answers_in_a_known_order_are_told_as_the_nearest_falling_distribution() -> None:
    survey = local.Survey(tacit.one_of(*"abcd"), epsilon=1, protocol="k-ary")
    finding = survey.collect(survey.simulate(np.repeat(np.arange(4), [40, 30, 20, 10])), falling=True)
    told = np.array(finding["consistent"])
    assert told.sum() == pytest.approx(1)
    assert np.all(np.diff(told) <= 1e-12)
    raw, rng = np.array(finding["share"]), np.random.default_rng(1)
    for _ in range(300):
        other = np.sort(rng.dirichlet(np.ones(4)))[::-1]
        assert np.sum((told - raw) ** 2) <= np.sum((other - raw) ** 2) + 1e-12
    ages = local.Survey(tacit.between(0, 1), epsilon=1)
    reports = ages.simulate(np.zeros(40))
    with pytest.raises(ParameterError, match="known order"):
        ages.collect(reports, falling=True)


def test_questions_asked_together_tell_each_question_s_own_shares() -> None:
    both = local.Survey({"sex": tacit.one_of("F", "M"), "colour": tacit.one_of("r", "g", "b")}, epsilon=8)
    finding = both.collect(both.simulate(np.repeat(np.arange(6), [3_000, 0, 0, 0, 2_000, 1_000])))
    assert finding["of sex"] == pytest.approx([0.5, 0.5], abs=0.05)
    assert finding["of colour"] == pytest.approx([0.5, 1 / 3, 1 / 6], abs=0.05)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_what_many_reports_of_kept_bits_tell_is_the_largest_ratio_of_all_sequences(times: int) -> None:
    survey = local.Survey(tacit.one_of("a", "b"), epsilon=1, protocol="rappor")
    (p, q), (one, zero) = (
        (Fraction(*survey.law["kept"][name]) for name in ("one", "zero")),
        (Fraction(*survey.law[name]) for name in ("one", "zero")),
    )

    def chance(reports: tuple[int, ...], ones: Fraction) -> Fraction:
        """Of these shown bits of one place, whose kept bit is 1 with this probability."""
        kept = [Fraction(1), Fraction(1)]
        for bit in reports:
            kept = [kept[0] * (zero if bit else 1 - zero), kept[1] * (one if bit else 1 - one)]
        return ones * kept[1] + (1 - ones) * kept[0]

    sequences = list(itertools.product((0, 1), repeat=times))
    worst = max(
        chance(first, p) * chance(second, q) / (chance(first, q) * chance(second, p))
        for first in sequences
        for second in sequences
    )
    assert survey.longitudinal(times) == pytest.approx(math.log(worst), rel=1e-9)
    assert survey.longitudinal(times) >= math.log(worst)
    assert survey.longitudinal(1) < survey.longitudinal(2) < survey.longitudinal(200) <= 1
    assert local.Survey(tacit.one_of("a", "b"), epsilon=1).longitudinal(50) == 1


@pytest.mark.parametrize("name", ["sign", "piecewise", "hybrid", "distribution", "vector"])
def test_made_up_reports_move_a_mean_by_no_more_than_is_stated_and_by_nearly_that(name: str) -> None:
    """Forged reports at either end of all that a report can tell, in place of the honest ones furthest from them."""
    if name == "vector":
        survey = local.Survey(local.Vector(3, norm=5), epsilon=1)
        batch = survey.simulate(np.zeros((200, 3))).reports
        told = crowd.directions(survey.law, *batch.T.tolist()) * 5 / contents.shrunk(survey.law)
        ends = [int(np.argmax(told[:, 0])), int(np.argmin(told[:, 0]))]
        enough = 0.9
    else:
        survey = local.Survey(tacit.between(0, 1), epsilon=1, protocol=name)
        batch = survey.simulate(np.full(4_000, 0.5)).reports
        told = contents.steps_told(survey.law, batch)
        ends, enough = [int(np.argmax(told)), int(np.argmin(told))], 0.85
    high, low = (np.concatenate([batch[:100], np.repeat(batch[at : at + 1], 50, axis=0)]) for at in ends)
    if name == "vector":
        means = [crowd.directions(survey.law, *each.T.tolist()).mean(axis=0) * 5 / contents.shrunk(survey.law)
                 for each in (high, low)]  # fmt: skip
        moved = float(np.linalg.norm(means[0] - means[1]))
    else:
        step = 1 / laws.STEPS
        moved = step * float(contents.steps_told(survey.law, high).mean() - contents.steps_told(survey.law, low).mean())
    stated = survey.influence(50, 150)
    assert enough * stated < moved <= stated


def test_the_influence_of_forged_shares_is_reached_and_not_passed() -> None:
    survey = local.Survey(tacit.one_of(*range(5)), epsilon=1, protocol="k-ary")
    base = np.zeros(300, dtype=np.int64)
    found = [
        np.array(survey.collect(local.Batch(survey.id, np.concatenate([base, np.full(100, each)])))["share"])
        for each in (0, 1)
    ]
    assert np.abs(found[0] - found[1]).max() == pytest.approx(survey.influence(100, 400), rel=1e-9)
    with pytest.raises(ParameterError, match="variance"):
        local.Survey(tacit.between(0, 1), epsilon=1, protocol="variance").influence(1, 10)


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        (local.Vector(1), {}, "at least 2|2 or more"),
        (local.Vector(20_000), {}, "10,000"),
        (local.Vector(3, norm=0), {}, "norm"),
        (local.Vector(3), {"protocol": "k-ary"}, "nearest"),
    ],
)
def test_a_wrong_survey_of_vectors_is_refused(question: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        local.Survey(question, **{"epsilon": 1, **options})


def test_a_wrong_vector_is_refused_and_nothing_is_sent() -> None:
    client = local.Survey(local.Vector(3), epsilon=1).client()
    for wrong in ([1, 2], [1, 2, math.nan], [1, 2, math.inf]):
        with pytest.raises(Refused, match="3 finite numbers"):
            client.answer(wrong)


def test_a_client_without_an_odometer_answers_once_too() -> None:
    client = local.Survey(tacit.one_of(*range(64)), epsilon=1).client()
    first = bytes(client.answer(3))
    assert {bytes(client.answer(each)) for each in range(20)} == {first}
