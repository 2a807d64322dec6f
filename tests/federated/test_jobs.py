"""Jobs: what a client adds is bounded whatever it holds, states are plain JSON, and results are what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import learning, noise
from tacit.errors import TacitError
from tacit.federated.distributed.private_sum import Finding
from tacit.federated.jobs.counts import Counts, Mean
from tacit.federated.jobs.described import KINDS, job_of
from tacit.federated.jobs.job import Job
from tacit.federated.jobs.models import Descent, Logistic
from tacit.federated.jobs.searches import FrequentTexts, Quantile

FEATURES = {"age": (0.0, 100.0), "sex": ("F", "M"), "bmi": (10.0, 50.0)}
JOBS: list[Job] = [
    Counts("drink", ("tea", "coffee")),
    Mean("age", 0, 100),
    Quantile("age", 0.25, 0, 100, halvings=8),
    FrequentTexts("word", "abc", longest=3, keep=4),
    Logistic(FEATURES, "ill", ("no", "yes"), Descent(2), among=10),
]


def ideal(job: Job, owns: Sequence[Any], deviation: float = 0.001) -> dict[str, Any]:
    """The result if sums were opened without noise."""
    state, bits = job.begin(), noise.secure()
    for _ in range(job.rounds):
        state = json.loads(json.dumps(state))  # what is sent and kept is plain
        total = sum(job.task.encoded(job.value(state, own), bits) for own in owns)
        state = job.after(state, Finding(job.task.decoded(np.asarray(total), len(owns)), deviation, len(owns)))
    return job.result(json.loads(json.dumps(state)))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.kind)
def test_every_kind_of_job_is_described_and_read_again(job: Job) -> None:
    text = json.dumps(job.to_dict())
    assert job_of(json.loads(text)).to_dict() == json.loads(text)
    assert {each.kind for each in JOBS} == set(KINDS)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.kind)
@given(data=st.data())
def test_nothing_that_a_client_holds_makes_an_error_or_a_longer_vector(job: Job, data: Any) -> None:
    """A client's silence would tell something of its rows; a longer vector would tell more than is paid for."""
    texts = st.lists(st.one_of(st.text(max_size=5), st.sampled_from(["tea", "50", "1e400", "nan", "F", "yes", "ab"])))
    names = st.sampled_from(["drink", "age", "word", "sex", "bmi", "ill", "x"])
    columns = data.draw(st.dictionaries(names, texts))
    own, state = job.read(columns), job.begin()
    for _ in range(min(job.rounds, 2)):
        vector = job.task.encoded(job.value(state, own), noise.secure())
        assert len(vector) == job.task.size
        assert int(vector @ vector) <= job.task.norm_squared
        state = job.after(state, Finding(job.task.decoded(vector, 1), 0.1, 1))


def test_a_client_with_several_rows_counts_once() -> None:
    assert Counts("d", ("tea", "coffee")).read({"d": ["coffee", "coffee", "tea", "milk"]}) == "coffee"
    assert Counts("d", ("tea", "coffee")).read({"d": ["milk"]}) is None
    assert Mean("a", 0, 10).read({"a": ["1", "3", "x", "1000"]}) == pytest.approx((1 + 3 + 10) / 3)
    assert Mean("a", 0, 10).read({}) is None


@pytest.mark.parametrize("rank", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_a_quantile_is_found_by_halving(rank: float) -> None:
    ages = [float(each) for each in np.random.default_rng(3).uniform(0, 100, 401)]
    found = ideal(Quantile("age", rank, 0, 100, halvings=20), [*ages, None, None])  # who has no number counts nowhere
    exact = float(np.quantile(ages, rank, method="inverted_cdf")) if rank else 0.0
    assert found["quantile"] == pytest.approx(exact, abs=0.01)
    low, high = found["between"]
    assert high - low == pytest.approx(100 / 2**20)


@pytest.mark.statistical
def test_the_rank_of_a_noisy_quantile_is_off_by_no_more_than_told() -> None:
    """400 runs at 95 %: fewer than 360 covered has a chance below 1e-6 (binomial, p = .95)."""
    drawn, job = np.random.default_rng(5), Quantile("age", 0.3, 0, 100, halvings=7)
    ages, covered = np.sort(drawn.uniform(0, 100, 300)), 0
    for _ in range(400):
        state = job.begin()
        for _ in range(job.rounds):
            middle = state["low"] + (state["high"] - state["low"]) / 2
            below = int((ages <= middle).sum())
            noisy = {True: below + drawn.normal(0, 9), False: 300 - below + drawn.normal(0, 9)}
            state = job.after(state, Finding(noisy, 9.0, 300))
        found = job.result(state)
        low, high = found["between"]
        at_low = int((ages <= low).sum()) if low > 0 else -math.inf
        at_high = int((ages <= high).sum()) if high < 100 else math.inf
        covered += at_low <= 90 + found["rank_off_by"] and at_high >= 90 - found["rank_off_by"]
    assert covered >= 360


def test_frequent_texts_are_found_letter_by_letter() -> None:
    words = ["ab"] * 30 + ["abc"] * 20 + ["c"] * 25 + ["x"] * 9 + ["bbbb"] * 12 + [None] * 4
    found = ideal(FrequentTexts("word", "abc", longest=3, keep=4), words)
    assert {text: round(many) for text, many in found["texts"].items()} == {"ab": 30, "c": 25, "abc": 20}
    rare = ideal(FrequentTexts("word", "abc", longest=3, keep=4), words, deviation=6.0)  # the line is at 24
    assert set(rare["texts"]) == {"ab", "c"}


def test_a_model_is_fitted_and_saved_from_files(tmp_path: Path) -> None:
    job, drawn = JOBS[-1], np.random.default_rng(1)
    assert isinstance(job, Logistic)
    owns = []
    for _ in range(10):
        ages = drawn.uniform(0, 100, 40)
        columns = {"age": [f"{each}" for each in ages], "sex": ["F", "M"] * 20, "bmi": ["20"] * 39 + ["?"]}
        owns.append(job.read({**columns, "ill": ["yes" if each > 50 else "no" for each in ages]}))
    assert [len(each[0]) for each in owns] == [39] * 10  # the row that cannot be read is left out, alone
    model = job.model(ideal(job, owns), {"epsilon": "1"})
    assert list(model.predict(np.array([[90.0, "F", 20.0], [5.0, "M", 20.0]], dtype=object))) == ["yes", "no"]
    assert list(learning.load(model.save(tmp_path / "m.json")).classes_) == ["no", "yes"]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"kind": "sum"},
        {"kind": "mean", "column": "a", "low": 1, "high": 0},
        {"kind": "mean", "column": "a"},
        {"kind": "histogram", "column": "a", "options": []},
        {"kind": "histogram", "column": "a", "options": [1]},
        {"kind": "quantile", "column": "a", "rank": 2, "low": 0, "high": 1},
        {"kind": "quantile", "column": "a", "rank": 0.5, "low": 0, "high": 1, "halvings": 99},
        {"kind": "frequent texts", "column": "a", "alphabet": "aa", "longest": 2},
        {"kind": "frequent texts", "column": "a", "alphabet": "ab", "longest": 2, "keep": 10**6},
        {
            "kind": "logistic regression",
            "features": [["a", [0, 1]]],
            "target": "a",
            "classes": ["x", "y"],
            "descent": {},
        },
        {"kind": "logistic regression", "features": [], "target": "a", "classes": ["x", "y"], "descent": {"rounds": 1}},
        {
            "kind": "logistic regression",
            "features": [["b", [1]]],
            "target": "a",
            "classes": ["x"],
            "descent": {"rounds": 1},
        },
    ],
)
def test_a_wrong_description_of_a_job_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(TacitError):
        job_of(content)
