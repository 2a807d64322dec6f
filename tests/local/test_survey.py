"""Surveys from the description to the finding. Statistical tests: false alarms below 1e-7 each, seeded besides."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import local
from tacit.errors import ParameterError
from tacit.local import contents, crowd, laws
from tacit.local.numbers import steps_told
from tacit.local.shares import consistent, falling, shares
from tacit.noise import secure
from tests.local.laws_by_enumeration import law_of
from tests.local.test_client import EITHER, RAPPOR, SMALL

LAWS = {**{name: law for name, (law, _) in SMALL.items()}, "either": EITHER, "rappor": RAPPOR}

PROTOCOLS = list(laws.FREQUENCIES)


@pytest.mark.statistical
@pytest.mark.parametrize("name", LAWS)
def test_many_people_at_once_follow_the_client_s_law(name: str) -> None:
    law = LAWS[name]
    exact = law_of(law, 1)
    people = 40_000
    drawn = crowd.encode(law, np.full(people, 1, dtype=np.int64), secure())
    reports = [tuple(np.atleast_1d(each).tolist()) for each in drawn]
    if law["kind"] in ("unary", "subset", "rappor"):
        reports = [(int.from_bytes(bytes(each), "little"),) for each in reports]
    found = dict.fromkeys(exact, 0)
    for report in reports:
        found[report] += 1  # what the client never sends is a KeyError
    chi = sum((found[r] - people * float(c)) ** 2 / (people * float(c)) for r, c in exact.items())
    many = len(exact) - 1
    assert chi < many + 8 * math.sqrt(2 * many) + 40  # beyond the 1e-8 quantile


@pytest.mark.statistical
@pytest.mark.parametrize(("options", "size"), [(3, 1), (5, 4), (9, 3), (66, 2)])
def test_sets_of_many_people_are_uniform_besides_the_truth(options: int, size: int) -> None:
    """Every set of others equally often: chi square below its 1e-8 quantile; for 66 options every pair of places."""
    law = {"kind": "subset", "options": options, "size": size, "keep": 3, "other": 1}
    truth = options - 1
    people = 60_000
    drawn = crowd.encode(law, np.full(people, truth, dtype=np.int64), secure())
    bits = np.unpackbits(drawn, axis=1, count=options, bitorder="little")
    assert (bits.sum(axis=1) == size).all()
    inside = bits[:, truth] == 1
    chance = 3 * size / (3 * size + options - size)
    assert abs(inside.mean() - chance) < 6 * math.sqrt(chance * (1 - chance) / people)
    for own, others in ((bits[inside, :truth], size - 1), (bits[~inside, :truth], size)):
        sets, counts = np.unique(own, axis=0, return_counts=True)
        many = math.comb(truth, others)
        expected = len(own) / many
        chi = float(((counts - expected) ** 2 / expected).sum() + (many - len(sets)) * expected)
        assert chi < many + 8 * math.sqrt(2 * many) + 40


@pytest.mark.parametrize("name", PROTOCOLS)
def test_supports_are_counted_as_their_definition_says(name: str) -> None:
    survey = local.Survey(tacit.one_of(*range(11)), epsilon=2, protocol=name)
    reports = [survey.client().answer(place % 11) for place in range(60)]
    read = survey._read(reports)
    expected = [0] * 11
    for report in reports:
        for option in range(11):
            expected[option] += _supports(survey.law, report.numbers, option)
    assert crowd.support(survey.law, read.reports).tolist() == expected


def _supports(law: dict[str, Any], numbers: tuple[int, ...], option: int) -> bool:
    from tacit.local.client import cell

    if law["kind"] == "hashing":
        return cell(law, numbers[0], numbers[1], option) == numbers[2]
    if law["kind"] == "hadamard":
        return (numbers[0] & (option + 1)).bit_count() % 2 == 0
    return numbers[0] == option if law["kind"] == "k-ary" else bool(numbers[0] >> option & 1)


@pytest.mark.statistical
@pytest.mark.parametrize("name", PROTOCOLS)
def test_estimates_have_the_stated_mean_and_variance(name: str) -> None:
    survey = local.Survey(tacit.one_of(*range(6)), epsilon=1, protocol=name)
    truths = np.repeat(np.arange(6), [100, 60, 20, 10, 6, 4])
    runs = np.array([survey.collect(survey.simulate(truths))["share"] for _ in range(400)])
    true = np.bincount(truths) / 200
    stated = np.array([laws.variance(survey.law, share, 200) for share in true])
    assert np.all(np.abs(runs.mean(axis=0) - true) < 6 * np.sqrt(stated / 400))
    assert np.all(np.abs(runs.var(axis=0) / stated - 1) < 6 * math.sqrt(2 / 400) + 0.05)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_bytes_and_json_carry_the_same_report(name: str) -> None:
    survey = local.Survey(tacit.one_of("a", "b", "c"), epsilon=1, protocol=name)
    report = survey.client().answer("b")
    assert bytes(report)[:8].hex() == survey.id
    for form in (report, bytes(report), report.json(), json.loads(report.json())):
        assert survey._read([form]).reports.tolist() == survey._read([report]).reports.tolist()
    assert local.Survey.from_json(survey.to_json()).id == survey.id


def test_hostile_reports_are_refused_counted_and_told() -> None:
    survey = local.Survey(tacit.one_of("a", "b", "c"), epsilon=1, protocol="k-ary")
    good = survey.client().answer("a")
    other = local.Survey(tacit.one_of("a", "b", "c"), epsilon=2, protocol="k-ary").client().answer("a")
    content = json.loads(good.json())
    hostile = [
        bytes(good),
        bytes(other),
        b"",
        bytes(good) + b"0",
        bytes(good)[:-1] + b"\xff",
        {**content, "report": [5]},
        {**content, "report": [True]},
        {**content, "report": [0, 0]},
        {**content, "ticket": "00"},
        "{" * 100_000,
        None,
        7,
    ]
    read = survey._read([good, *hostile])
    assert len(read.reports) == 1
    assert read.refused == {
        "came before": 1,
        "of another survey": 1,
        "of a wrong length": 2,
        "numbers out of range": 2,
        "malformed": 6,
    }
    assert "6 refused: malformed." in survey.collect([good, *hostile]).notes


@pytest.mark.parametrize("name", PROTOCOLS)
def test_made_up_reports_move_a_share_by_no_more_than_is_stated(name: str) -> None:
    survey = local.Survey(tacit.one_of(*range(5)), epsilon=1, protocol=name)
    honest = survey.simulate(np.zeros(300, dtype=np.int64)).reports
    forged = survey.simulate(np.ones(100, dtype=np.int64)).reports
    for place in range(1, 100):  # the worst of them, a hundred times over
        forged[place] = forged[0]
    whole = local.Batch(survey.id, np.concatenate([honest, forged]))
    replaced = local.Batch(survey.id, np.concatenate([honest, honest[:100]]))
    moved = np.abs(np.array(survey.collect(whole)["share"]) - np.array(survey.collect(replaced)["share"]))
    assert moved.max() <= survey.influence(100, 400)


def test_the_best_protocol_has_the_least_variance_of_those_with_short_reports() -> None:
    for options in (2, 5, 20, 128, 5_000):
        for epsilon in ("0.2", "1", "4"):
            survey = local.Survey(tacit.one_of(*range(options)), epsilon=epsilon)
            exact = survey.epsilon
            once = [n for n in PROTOCOLS if n != "rappor"]
            short = [n for n in once if options <= 4096 or n in ("k-ary", "hashing", "hadamard")]
            least = min(laws.variance(laws.FREQUENCIES[n](options, exact), min(0.1, 1 / options), 1) for n in short)
            assert laws.variance(survey.law, min(0.1, 1 / options), 1) <= 1.01 * least


def test_questions_asked_together_are_answered_together() -> None:
    both = local.Survey({"sex": tacit.one_of("F", "M"), "smoker": tacit.one_of("yes", "no")}, epsilon=1)
    finding = both.collect([both.client().answer(("F", "no")) for _ in range(50)])
    assert finding["answer"] == ("F / yes", "F / no", "M / yes", "M / no")


@pytest.mark.parametrize("name", ["sign", "piecewise", "hybrid", "fitted", "distribution"])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "5"])
def test_the_stated_variance_of_a_mean_is_that_of_the_enumerated_law(name: str, epsilon: str) -> None:
    made = laws.NUMBERS[name](6, Fraction(epsilon))
    rough = _rough(made)
    for truth in range(7):
        exact = law_of(rough, truth)
        told = {
            report: float(steps_told(rough, np.array([report if len(report) > 1 else report[0]]))[0])
            for report in exact
        }
        mean = sum(float(chance) * told[report] for report, chance in exact.items())
        spread = sum(float(chance) * (told[report] - mean) ** 2 for report, chance in exact.items())
        assert mean == pytest.approx(truth, abs=1e-9)
        assert laws.told_variance(rough, truth) == pytest.approx(spread, rel=1e-9)


def _rough(law: dict[str, Any]) -> dict[str, Any]:
    """The same law with weights of a few bits, so that every draw can be tried."""
    if law["kind"] == "either":
        return {**law, "chance": [2, 3], "parts": [_rough(part) for part in law["parts"]]}
    return {**law, "keep": max(2, min(round(law["keep"] / law["other"]), 9)), "other": 1}


def test_fitted_windows_are_the_best_and_best_is_never_worse_than_the_published_ones() -> None:
    """On average over answers spread evenly, against the formulas of the papers (bounds -1 and 1)."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        exact = Fraction(str(epsilon))
        even = laws.STEPS / 2, laws.STEPS * (2 * laws.STEPS + 1) / 6
        half, e = math.exp(epsilon / 2), math.exp(epsilon)
        duchi = ((e + 1) / (e - 1)) ** 2 - 1 / 3
        piecewise = 1 / 3 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        best = laws.NUMBERS[laws.best_for_means(laws.STEPS, exact)](laws.STEPS, exact)
        found = laws.told_variance(best, *even) * 4 / laws.STEPS**2
        assert found <= 1.003 * min(duchi, piecewise)  # the grid has 1,024 steps
        window = laws.fitted(laws.STEPS, exact)["window"]
        for other in (window - 20, window + 20):
            law = {**laws.fitted(laws.STEPS, exact), "window": max(other, 1)}
            assert laws.told_variance(law, *even) >= 0.9999 * laws.told_variance(laws.fitted(laws.STEPS, exact), *even)


@pytest.mark.statistical
def test_quantiles_of_a_distribution_are_found_again() -> None:
    """Seeded; 20,000 reports at epsilon 4 place a quartile within 0.02 of the bounds' width."""
    survey = local.Survey(tacit.between(0, 10), epsilon=4, protocol="distribution")
    truths = np.random.default_rng(4).beta(2, 5, 20_000) * 10
    finding = survey.collect(survey.simulate(truths), quantiles=("0.1", "0.5", "0.9"))
    assert np.abs(np.array(finding["quantiles"]) - np.quantile(truths, [0.1, 0.5, 0.9])).max() < 0.2


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["sign", "piecewise", "hybrid", "fitted", "distribution"])
@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_means_are_unbiased_and_their_intervals_cover(name: str, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The mean is that of the reports. The whole distribution, which takes hundreds of rounds, is not looked at here.
    monkeypatch.setattr(contents, "distribution", lambda law, counts: np.full(law["steps"] + 1, 1 / (law["steps"] + 1)))
    survey = local.Survey(tacit.between(10, 20), epsilon=epsilon, protocol=name)
    truths = np.linspace(11, 14, 500)
    findings = [survey.collect(survey.simulate(truths)) for _ in range(200)]
    covered = sum(low <= truths.mean() <= high for f in findings for low, high in [f.intervals()["mean"][0]])
    assert covered >= 170  # of an expected 190 or more
    means = np.array([f.value for f in findings])
    inside = (means > 10) & (means < 20)
    if inside.all():
        assert abs(means.mean() - truths.mean()) < 6 * means.std() / math.sqrt(200)


def test_few_reports_of_a_number_have_no_interval() -> None:
    survey = local.Survey(tacit.between(0, 1), epsilon=1)
    finding = survey.collect([survey.client().answer(0.5) for _ in range(5)])
    assert finding.intervals() == {}
    assert "Fewer than 30 reports: no interval." in finding.notes


@pytest.mark.statistical
def test_the_distribution_is_found_again() -> None:
    survey = local.Survey(tacit.between(0, 1), epsilon=3, protocol="distribution")
    rng = np.random.default_rng(1)
    truths = np.where(rng.random(50_000) < 0.3, rng.normal(0.2, 0.05, 50_000), rng.normal(0.7, 0.1, 50_000))
    found = np.asarray(survey.collect(survey.simulate(np.clip(truths, 0, 1)))["distribution"])
    cells = np.add.reduceat(found, np.arange(0, 1020, 51))
    true = np.histogram(np.clip(truths, 0, 1), bins=20, range=(0, 1))[0] / 50_000
    assert np.abs(cells - true).sum() / 2 < 0.1


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        (tacit.one_of("a"), {}, "2 to"),
        ("yes or no", {}, "one_of"),
        (tacit.one_of("a", "b"), {"protocol": "magic"}, "k-ary"),
        (tacit.one_of("a", "b"), {"epsilon": 31}, "at most|from"),
        (tacit.between(0, 1), {"protocol": "k-ary"}, "hybrid"),
        (tacit.between(1, 1), {}, "below the upper"),
        ({"a": tacit.between(0, 1)}, {}, "listed answers"),
    ],
)
def test_a_wrong_survey_is_refused_with_a_sentence(question: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        local.Survey(question, **{"epsilon": 1, **options})


def test_shuffled_reports_are_priced_by_the_accountant() -> None:
    from tacit.loss import compose

    survey = local.Survey(tacit.one_of("a", "b", "c"), epsilon=1, protocol="k-ary")
    assert 0 < compose([survey.shuffled(100_000)]).epsilon(1e-6) < 0.05


def test_consistent_shares_are_the_nearest_distribution() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        raw = rng.normal(0.2, 0.3, 5)
        found = consistent(raw)
        assert found.sum() == pytest.approx(1)
        assert found.min() >= 0
        for _ in range(100):
            other = rng.dirichlet(np.ones(5))
            assert np.sum((found - raw) ** 2) <= np.sum((other - raw) ** 2) + 1e-12


def test_falling_shares_do_not_grow() -> None:
    assert falling(np.array([0.5, 0.1, 0.3, -0.2])).tolist() == [0.5, 0.2, 0.2, 0.0]


@pytest.mark.statistical
@pytest.mark.parametrize("people", [10, 100, 2_000])
def test_intervals_of_shares_cover_what_they_say(people: int) -> None:
    for options, epsilon in ((3, "1"), (50, "2"), (20, "6")):
        survey = local.Survey(tacit.one_of(*range(options)), epsilon=epsilon)
        truths = np.sort(np.random.default_rng(3).integers(0, options, people) ** 2 % options)
        true = np.bincount(truths, minlength=options) / people
        covered = []
        for _ in range(150):
            counts = crowd.support(survey.law, survey.simulate(truths).reports)
            _, low, high = shares(survey.law, counts, people, 0.95)
            covered.append((low <= true) & (true <= high))
        assert np.mean(covered) >= 0.94
