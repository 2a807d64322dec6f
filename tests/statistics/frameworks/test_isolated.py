"""Anyone's function: nothing of what it does leaves but its numbers, and what leaves is private."""

from __future__ import annotations

import functools
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError, QuestionError
from tacit.loss import events
from tacit.noise import SeededBitsForTestsOnly
from tacit.statistics.frameworks import examples, isolated
from tacit.statistics.frameworks.by_sensitivity import (
    DistanceToProperty,
    ProposeTestRelease,
    SmoothSensitivity,
    smooth_bound,
)
from tacit.statistics.frameworks.isolated import Isolated
from tacit.statistics.frameworks.own_functions import outputs
from tacit.statistics.frameworks.sample_and_aggregate import SampleAndAggregate, points_of
from tacit.statistics.order.windows import Rank, Sorted
from tests.statistics import own_functions as own

SAMPLE = SampleAndAggregate
ROWS = np.linspace(20, 60, 400)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the public end, so blocks can have more time than the slowest machine needs.

    For tests of numbers: a block that ran out of time would count as the default.
    """
    monkeypatch.setattr(Isolated, "slot", property(lambda plan: 0.0))


def results(function: Any, blocks: list[Any], expected: int = 1, seconds: float = 60.0) -> list[Any]:
    with Isolated(function, expected, seconds, 2).ready(len(blocks)) as runner:
        return [runner._places[0].run(block) for block in blocks]


def test_every_block_has_a_process_that_has_seen_no_other() -> None:
    assert results(own.remembers, [0, 0, 0]) == [[1.0], [1.0], [1.0]]


def test_a_function_gives_its_numbers_and_a_failing_one_gives_none() -> None:
    block = np.array([[1.0], [3.0]])
    assert results(own.mean, [block, block + 1]) == [[2.0], [3.0]]
    assert results(own.both_means, [np.hstack([block, block])], 2) == [[2.0, 2.0]]
    for function in (own.raises, own.leaves, own.wrong_shape, own.no_number):
        assert results(function, [block]) == [None]
    assert results(own.hangs, [block], seconds=0.3) == [None]


def test_a_process_that_is_ended_from_inside_is_replaced() -> None:
    with Isolated(own.ends_its_parent, 1, 60.0, 1).ready(2) as runner:
        place = runner._places[0]
        assert place.run(0) is None
        place._plan = Isolated(own.mean, 1, 60.0, 1)
        assert place.run(np.ones((2, 1))) == [1.0]


def test_nothing_is_printed_or_written(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_TEST_FILE", str(tmp_path / "leak"))
    assert results(own.talks, [0]) == [[90.0]]
    assert results(own.writes, [0]) == [None]
    assert not (tmp_path / "leak").exists() or (tmp_path / "leak").read_bytes() == b""
    said = capfd.readouterr()
    assert "secret" not in said.out + said.err


def test_a_run_ends_at_its_public_time_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Isolated(own.mean, 1, 0.4, 2)
    assert plan.public_seconds(3) == pytest.approx(2 * (0.4 + isolated.ALLOWANCE))
    with plan.ready(3, progress=False) as runner:
        start = time.monotonic()
        found = runner.run([np.ones((2, 1))] * 3)
        assert all(each in ([1.0], None) for each in found)  # on a busy machine a block may run out of its time
        assert len(found) == 3
        assert time.monotonic() - start >= plan.public_seconds(3)


@pytest.mark.parametrize("function", [lambda rows: 1.0, functools.partial(own.mean, bad=lambda: 0), "mean", None])
def test_what_cannot_be_sent_to_a_process_is_refused_at_once(function: Any) -> None:
    with pytest.raises(ParameterError, match="function"):
        SAMPLE(function, blocks=2, output_bounds=(0, 1))
    with pytest.raises(ParameterError, match="function"):
        DistanceToProperty(function)


def test_a_function_that_no_other_process_can_import_is_refused_before_the_charge() -> None:
    namespace: dict[str, Any] = {"__name__": "tests.statistics.own_functions"}
    exec("def vanishing(rows): return 1.0", namespace)
    own.vanishing = namespace["vanishing"]  # type: ignore[attr-defined]
    curator = tacit.protect(
        pd.DataFrame({"who": range(5), "x": [1.0, 2, 3, 4, 5]}),
        unit="who",
        columns={"x": tacit.between(0, 10)},
        budget=tacit.Budget(epsilon=3),
    )
    before = curator.spent()
    with pytest.raises(ParameterError, match="import"):
        SAMPLE(namespace["vanishing"], blocks=2, output_bounds=(0, 1)).release(curator, "data.x", epsilon=1)
    assert curator.spent() == before


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("aggregator", ["mean", "median", "smooth"])
def test_the_aggregate_of_the_blocks_is_near_the_functions_value(aggregator: str) -> None:
    study = SAMPLE(own.mean, blocks=12, output_bounds=(0, 100), aggregator=aggregator, seconds=60)
    found = study.release(ROWS, bounds=(0, 100), epsilon=2000)
    assert found.value == pytest.approx(40, abs=6)
    ((low, high),) = found.intervals()["value"]  # type: ignore[misc]
    assert 0 <= low <= found.value <= high <= 100
    off = study.release(ROWS, bounds=(0, 100), epsilon=2000, interval_share=0)
    assert bool(off.intervals()) == (aggregator == "mean")


def test_a_block_that_fails_counts_as_the_default() -> None:
    study = SAMPLE(own.raises, blocks=2, output_bounds=(0, 100), aggregator="mean", default=30, seconds=0.3)
    assert study.release(ROWS, bounds=(0, 100), epsilon=10**6).value == pytest.approx(30, abs=0.1)
    study = SAMPLE(own.not_a_number, blocks=2, output_bounds=(0, 100), aggregator="mean", seconds=0.3)
    assert study.release(ROWS, bounds=(0, 100), epsilon=10**6).value == pytest.approx(50, abs=0.1)


@pytest.mark.usefixtures("unhurried")
def test_cluster_centres_of_a_curators_rows_are_found_paid_for_and_stored() -> None:
    random = np.random.default_rng(2)
    values = np.append(random.normal(20, 2, 600), random.normal(80, 2, 600))
    curator = tacit.protect(
        pd.DataFrame({"who": range(1200), "x": values}),
        unit="who",
        columns={"x": tacit.between(0, 100)},
        budget=tacit.Budget(epsilon=1000),
    )
    study = SAMPLE(own.centres, blocks=20, output_bounds=[(0, 100), (0, 100)], aggregator="median", seconds=60)
    found = study.release(curator, "data.x", epsilon=60)
    assert found["value"] == pytest.approx([20, 80], abs=3)
    assert study.release(curator, "data.x", epsilon=60).repeated
    two = events.Composed((events.Exponential(Fraction(24)), events.Exponential(Fraction(6))))
    assert found.receipt["event"] == events.Composed((two, two)).to_json()


@pytest.mark.usefixtures("unhurried")
def test_rows_reach_the_function_sorted_and_all_of_them() -> None:
    study = SAMPLE(own.rows_given, blocks=1, output_bounds=(0, 1000), aggregator="mean", seconds=60)
    shuffled = np.random.default_rng(0).permutation(ROWS)
    assert study.release(shuffled, bounds=(0, 100), epsilon=10**6).value == pytest.approx(400, abs=1)
    empty = study.release(np.array([]), bounds=(0, 100), epsilon=10**6)
    assert empty.value == pytest.approx(0, abs=1)


def test_a_result_moves_a_combined_one_by_its_share_at_most() -> None:
    (output,) = outputs((0, 10))
    mean = SAMPLE(own.mean, blocks=4, output_bounds=(0, 10), aggregator="mean")._combiner(
        output, Fraction(1), Fraction(0), Fraction(0), Fraction(19, 20)
    )
    low, high = points_of([Fraction(0)] * 4, output, 4096), points_of([Fraction(0)] * 3 + [Fraction(10)], output, 4096)
    assert int(high.sum() - low.sum()) == mean.core.aggregator.noise.event.sensitivity  # type: ignore[union-attr]
    smooth = SAMPLE(own.mean, blocks=4, output_bounds=(0, 10), aggregator="smooth")._combiner(
        output, Fraction(1), Fraction(1, 10**6), Fraction(0), Fraction(19, 20)
    )
    assert smooth.event in (events.Pure(Fraction(1)), events.Approximate(Fraction(1), Fraction(1, 10**6)))
    median = SAMPLE(own.mean, blocks=4, output_bounds=(0, 10))._combiner(
        output, Fraction(1), Fraction(0), Fraction(1, 5), Fraction(19, 20)
    )
    assert median.event == events.Composed((events.Exponential(Fraction(4, 5)), events.Exponential(Fraction(1, 5))))
    # twice the results up to a point, less their number, moves by 2 where one is replaced
    assert median.interval.choice.factor == Fraction(1, 5) / (2 * 2)  # type: ignore[attr-defined]
    many = [Fraction(n, 100) for n in range(1001)]
    value, low, high = median.combine(many, SeededBitsForTestsOnly(5))
    assert 0 <= low <= value <= high <= 10
    assert low <= 5 <= high
    # two far results of four: replacing one moves the median across, so the noise is that of the whole range
    spread = [Fraction(0), Fraction(0), Fraction(10), Fraction(10)]
    draws = [float(smooth.combine(spread, SeededBitsForTestsOnly(seed))[0]) for seed in range(40)]
    assert np.median(np.abs(draws)) > 1


def test_a_smooth_bound_is_the_discounted_maximum_with_the_width_beyond() -> None:
    smooth = SmoothSensitivity(own.total, own.at_most_ten, (0, 100), 3, 1.0)
    value, moves = smooth._read([500.0, 1.0, 0.5, 400.0, 2.0])
    assert value == 100
    assert moves == [1.0, 1.0, 100.0, 100.0]
    assert smooth._read(None) == (50, [100.0] * 4)
    assert smooth._read([1.0, float("nan"), 1.0, 1.0, 1.0]) == (50, [100.0] * 4)
    assert smooth_bound([1.0, 2.0], 100.0, 0.5) == pytest.approx(100 * np.exp(-1.0))
    assert smooth_bound([1.0, 2.0], 100.0, 5.0) == 1.0


@pytest.mark.usefixtures("unhurried")
def test_functions_with_a_local_sensitivity_get_the_noise_for_it() -> None:
    rows = np.full(50, 4.0)
    smooth = SmoothSensitivity(own.total, own.at_most_ten, (0, 10**6), farthest=90, seconds=60.0)
    # quartic noise of scale 3e-4: off by more than 1 with probability below 1e-11
    found = smooth.release(rows, bounds=(0, 10), epsilon=10**5)
    assert found.value == pytest.approx(200, abs=1)
    ((low, high),) = found.intervals()["value"]  # type: ignore[misc]
    assert low <= found.value <= high
    off = smooth.release(rows, bounds=(0, 10), epsilon=100, interval_share=0)
    assert off.intervals() == {}
    assert off.receipt["event"] == events.Pure(Fraction(100)).to_json()
    tested = ProposeTestRelease(own.total, own.at_most_ten, 10, (0, 10**6), farthest=90, seconds=60.0)
    found = tested.release(rows, bounds=(0, 10), epsilon=20, delta="0.001")
    assert found.value == pytest.approx(200, abs=60)
    ((low, high),) = found.intervals()["value"]  # type: ignore[misc]
    assert low <= found.value <= high
    refused = ProposeTestRelease(own.total, own.at_most_ten, 9, (0, 10**6), farthest=90, seconds=60.0)
    assert refused.release(rows, bounds=(0, 10), epsilon=20, delta=1e-12).value is None
    grown = ProposeTestRelease(own.total, own.growing, 40, (0, 10**6), farthest=90, seconds=60.0)
    assert grown.release(rows, bounds=(0, 10), epsilon=20, delta="0.001").value is not None


@pytest.mark.usefixtures("unhurried")
def test_a_distance_has_noise_of_scale_one_over_epsilon() -> None:
    study = DistanceToProperty(own.rows_above_five, most=1000, seconds=60)
    found = study.release(np.arange(10.0), bounds=(0, 10), epsilon=30)
    assert found.value == pytest.approx(4, abs=2)
    assert found.receipt["event"] == events.DiscreteLaplace(1, Fraction(1, 30)).to_json()
    failed = DistanceToProperty(own.raises, most=1000, seconds=60).release(np.arange(9.0), bounds=(0, 10), epsilon=30)
    assert failed.value <= 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SAMPLE(own.mean, blocks=0, output_bounds=(0, 1)), "blocks"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=(1, 0)), "output_bounds"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=5), "output_bounds"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=[]), "output_bounds"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=(0, 1), aggregator="max"), "aggregator"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=(0, 1), default=[1, 2]), "default"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=(0, 1), seconds=0), "seconds"),
        (lambda: SAMPLE(own.mean, blocks=2, output_bounds=(0, 1), workers=0), "workers"),
        (lambda: SmoothSensitivity(own.total, 5, (0, 1)), "local_sensitivity"),  # type: ignore[arg-type]
        (lambda: SmoothSensitivity(own.total, own.growing, (0, 1), farthest=5000), "farthest"),
        (lambda: SmoothSensitivity(own.total, own.growing, [(0, 1), (0, 1)]), "output_bounds"),
        (lambda: ProposeTestRelease(own.total, own.growing, 0, (0, 1)), "bound"),
        (lambda: DistanceToProperty(own.mean, most=0), "most"),
    ],
)
def test_public_mistakes_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_several_rows_of_a_unit_and_a_hopeless_test_are_refused() -> None:
    curator = tacit.protect(
        pd.DataFrame({"who": [1, 1, 2], "x": [1.0, 2, 3]}),
        unit="who",
        rows_per_unit=2,
        columns={"x": tacit.between(0, 10)},
        budget=tacit.Budget(epsilon=3),
    )
    with pytest.raises(QuestionError, match="one row of each unit"):
        SAMPLE(own.mean, blocks=2, output_bounds=(0, 1)).release(curator, "data.x", epsilon=1)
    with pytest.raises(ParameterError, match="farthest"):
        ProposeTestRelease(own.total, own.growing, 1, (0, 1), farthest=3).release(
            np.ones(3), bounds=(0, 1), epsilon=1, delta=1e-6
        )


def test_the_example_of_a_local_sensitivity_keeps_its_promise() -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        rows = random.choice([0.0, 1, 30, 31, 99, 100], random.integers(0, 12))[:, None]
        more = np.append(rows, random.choice([0.0, 50, 100], (1, 1)), axis=0)
        line = Sorted(np.sort(rows[:, 0]).astype(np.int64), 0, 100, Rank(Fraction(1, 2)))
        assert examples.middle_row(rows) == line.value
        for k in range(6):
            assert examples.largest_gap_at(rows, k) >= line.moves_within(k)
            assert examples.largest_gap_at(rows, k) <= examples.largest_gap_at(more, k + 1)
            assert examples.largest_gap_at(more, k) <= examples.largest_gap_at(rows, k + 1)
    assert examples.rows_missing_to_a_thousand(np.zeros((7, 1))) == 993
