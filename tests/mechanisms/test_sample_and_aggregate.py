"""Sample and aggregate, checked by enumerating all blocks of a few units and all answers.

Statistical test: false-alarm rate below 1e-9 a run.
"""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit import noise
from tacit.errors import ParameterError
from tacit.loss.events import DiscreteLaplace, Exponential
from tacit.mechanisms import sample_and_aggregate
from tacit.mechanisms.sample_and_aggregate import SampleAndAggregate, _Median
from tacit.noise import SeededBitsForTestsOnly
from tests.noise.doubles import chance_at_most

MP = mpmath.mp.clone()
MP.dps = 30


def points_of(mechanism: SampleAndAggregate, function: Any, rows: list[float], homes: tuple[int, ...]) -> Any:
    blocks = [[row for row, home in zip(rows, homes, strict=True) if home == b] for b in range(mechanism.blocks)]
    return np.array([mechanism._run(function, block) for block in blocks])


def law(mechanism: SampleAndAggregate, function: Any, rows: list[float], shrink: float = 1.0) -> dict[int, Any]:
    """The exact law of the released point (median) or noisy sum (mean), over all blocks of these rows."""
    total: dict[int, Any] = {}
    ways = list(itertools.product(range(mechanism.blocks), repeat=len(rows)))
    for homes in ways:
        points = points_of(mechanism, function, rows, homes)
        if isinstance(mechanism.aggregator, _Median):
            factor = MP.mpf(float(mechanism.aggregator.choice.factor)) / shrink
            weights = {y: MP.exp(factor * int(s)) for y, s in enumerate(mechanism.aggregator.scores(points))}
            norm = MP.fsum(weights.values())
        else:
            rate = 1 / (MP.mpf(float(mechanism.aggregator.noise.event.scale)) * shrink)
            weights = {y: MP.exp(-rate * abs(y - int(points.sum()))) for y in range(-60, 90)}
            norm = (1 + MP.exp(-rate)) / (1 - MP.exp(-rate))  # over all whole numbers
        for y, weight in weights.items():
            total[y] = total.get(y, MP.mpf(0)) + weight / norm / len(ways)
    return total


def largest_loss(one: dict[int, Any], other: dict[int, Any]) -> float:
    return float(max(abs(MP.log(one[y] / other[y])) for y in one))


def average(block: list[float]) -> float:
    return sum(block) / len(block)  # fails on an empty block, which then counts as the default


@pytest.mark.parametrize("aggregator", ["mean", "median"])
def test_adding_removing_or_replacing_a_unit_is_within_epsilon(aggregator: str) -> None:
    epsilon = 1.5
    mechanism = SampleAndAggregate(epsilon, 3, (0, 10), aggregator, steps=10)
    rows = [0.0, 10.0, 3.0]
    base = law(mechanism, average, rows)
    for neighbour in ([0.0, 10.0], [10.0, 3.0], [0.0, 10.0, 3.0, 10.0], [0.0, 10.0, 10.0], [10.0, 10.0, 3.0]):
        assert largest_loss(base, law(mechanism, average, neighbour)) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("aggregator", ["mean", "median"])
def test_one_block_that_jumps_meets_epsilon_so_less_noise_would_not_do(aggregator: str) -> None:
    epsilon = 1.5
    mechanism = SampleAndAggregate(epsilon, 1, (0, 10), aggregator, steps=10)

    def width(shrink: float) -> float:
        """Twice the largest loss for the mean, its range for the median: both are what the event bounds."""
        one, other = law(mechanism, average, [0.0], shrink), law(mechanism, average, [10.0], shrink)
        losses = [float(MP.log(one[y] / other[y])) for y in one]
        return 2 * max(losses) if aggregator == "mean" else max(losses) - min(losses)

    bound = 2 * epsilon if aggregator == "mean" else epsilon
    assert width(1.0) == pytest.approx(bound, rel=1e-12)
    assert width(0.9) > bound * 1.1


def test_the_rank_score_moves_by_at_most_one_when_one_result_moves() -> None:
    steps, blocks = 4, 3
    aggregator = _Median.of(Fraction(1), blocks, steps)
    scores = {
        points: aggregator.scores(np.array(points)) for points in itertools.product(range(steps + 1), repeat=blocks)
    }
    largest = 0
    for points, place, moved in itertools.product(scores, range(blocks), range(steps + 1)):
        other = (*points[:place], moved, *points[place + 1 :])
        largest = max(largest, int(np.abs(scores[points] - scores[other]).max()))
    assert largest == 1
    # and both directions occur at once, so the factor 2 is needed
    moves = scores[(0, 0, 4)] - scores[(0, 4, 4)]
    assert (moves.min(), moves.max()) == (-1, 1)


def test_the_median_score_is_best_at_the_medians() -> None:
    aggregator = _Median.of(Fraction(1), 5, 10)
    scores = aggregator.scores(np.array([1, 3, 3, 7, 9]))
    assert int(np.argmax(scores)) == 3
    assert scores.tolist() == [-5, -4, -4, -2, -3, -3, -3, -3, -4, -4, -5]


def test_events_state_the_sensitivity_of_one_block() -> None:
    assert SampleAndAggregate(2, 7, (0, 1), "mean", steps=100).event == DiscreteLaplace(100, Fraction(50))
    assert SampleAndAggregate(2, 7, (0, 1)).event == Exponential(Fraction(2))
    # (high - low) / blocks / epsilon
    assert SampleAndAggregate(2, 5, (0, 10), "mean").scale == 1


def test_the_mean_is_the_noisy_sum_of_points_over_the_public_number_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, bits: 7)
    mechanism = SampleAndAggregate(1, 4, (0, 100), "mean", steps=100)
    # empty blocks fail and count as the middle, 50
    assert mechanism.release(lambda block: 10.2 if block else 1 / 0, []) == (4 * 50 + 7) / 4
    assert mechanism.release(lambda block: 10.2, [1, 2, 3]) == (4 * 10 + 7) / 4
    assert mechanism.release(lambda block: 1e9, [1, 2, 3]) == 100


def test_a_unit_stands_in_one_block_with_all_its_rows() -> None:
    mechanism = SampleAndAggregate(1, 5, (0, 1))
    units = ["a", "b", "a", "c", "b", "a"] * 20
    homes = mechanism.blocks_of(len(units), units, SeededBitsForTestsOnly(1))
    assert {len({home for home, unit in zip(homes, units, strict=True) if unit == name}) for name in "abc"} == {1}
    assert homes.min() >= 0
    assert homes.max() <= 4


def test_blocks_partition_the_rows_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    mechanism = SampleAndAggregate(1, 4, (0, 1))
    for rows in (list(range(50)), np.arange(50)):
        seen.clear()
        mechanism.release(lambda block: seen.append(list(block)), rows)
        assert len(seen) == 4
        assert sorted(itertools.chain.from_iterable(seen)) == list(range(50))
        assert all(block == sorted(block) for block in seen)


def test_without_one_unit_all_other_blocks_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = SampleAndAggregate(1, 4, (0, 1))
    homes = np.array([0, 1, 2, 3, 0, 1, 2, 3])

    def blocks(rows: list[int], chosen: Any) -> list[list[int]]:
        seen: list[list[int]] = []
        monkeypatch.setattr(sample_and_aggregate, "uniform_below", lambda n, size, bits: chosen[:size])
        mechanism.release(lambda block: seen.append(list(block)), rows)
        return seen

    full = blocks(list(range(8)), homes)
    for missing in range(8):
        rows = [row for row in range(8) if row != missing]
        less = blocks(rows, np.delete(homes, missing))
        assert sum(one != other for one, other in zip(full, less, strict=True)) == 1


class Vicious:
    def __float__(self) -> float:
        raise RuntimeError("row 17 says hello")


@pytest.mark.parametrize(
    "result",
    [float("nan"), math.inf, -math.inf, None, "1/0", "nonsense", [1], Vicious(), True, 1j, np.array([1.0, 2.0])],
)
def test_what_is_no_number_counts_as_the_public_default(result: Any) -> None:
    mechanism = SampleAndAggregate(1, 3, (0, 10), default=2, steps=10)
    assert mechanism._run(lambda block: result, [1]) == 2
    assert SampleAndAggregate(1, 3, (0, 10), steps=10)._run(lambda block: result, [1]) == 5


@pytest.mark.parametrize(
    "raised", [ValueError("row 17"), SystemExit(3), RecursionError(), MemoryError(), AssertionError()]
)
def test_what_a_function_raises_stays_inside(raised: BaseException) -> None:
    def fails(block: Any) -> float:
        raise raised

    assert 0 <= SampleAndAggregate(1, 3, (0, 10)).release(fails, [1, 2, 3]) <= 10


def test_what_a_function_warns_stays_inside() -> None:
    def noisy(block: Any) -> float:
        warnings.warn("row 17 is odd", stacklevel=1)
        return float(np.log(np.array([-1.0]))[0])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SampleAndAggregate(1, 3, (0, 10)).release(noisy, [1, 2, 3])
    assert caught == []


@pytest.mark.parametrize(
    ("value", "point"), [(-5, 0), (0, 0), (0.49, 0), (0.5, 1), (9.5, 10), (10, 10), (1e300, 10), (Fraction(7, 3), 2)]
)
def test_results_are_clamped_and_rounded_exactly(value: Any, point: int) -> None:
    assert SampleAndAggregate(1, 3, (0, 10), steps=10)._run(lambda block: value, []) == point


def test_the_error_of_the_mean_is_the_laplace_quantile_over_the_blocks() -> None:
    mechanism = SampleAndAggregate(1, 10, (0, 100), "mean", steps=1000)
    # P(|X| > t) = 2 a**(t + 1)/(1 + a) <= 0.05, a = exp(-1/1000)
    t = math.ceil(1000 * math.log(40 / (1 + math.exp(-1 / 1000)))) - 1
    assert mechanism.error("0.95") == pytest.approx((t / 10 + 0.5) * 0.1)


def test_the_median_is_within_the_stated_ranks() -> None:
    mechanism = SampleAndAggregate(2, 41, (0, 40), steps=40)
    assert isinstance(mechanism.aggregator, _Median)
    scores = mechanism.aggregator.scores(np.arange(41))
    ranks = mechanism.error("0.9")
    weights = [MP.exp(int(score)) for score in scores]  # epsilon/2 = 1
    far = MP.fsum(w for w, s in zip(weights, scores, strict=True) if s <= scores.max() - ranks) / MP.fsum(weights)
    assert far <= 0.1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("epsilon", {"epsilon": 0}),
        ("blocks", {"blocks": 0}),
        ("bounds", {"bounds": (1, 1)}),
        ("bounds", {"bounds": (0, math.inf)}),
        ("aggregator", {"aggregator": "mode"}),
        ("default", {"default": math.nan}),
        ("steps", {"steps": 0}),
        ("steps", {"steps": 2**30}),
    ],
)
def test_wrong_parameters_are_refused(name: str, wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"epsilon": 1, "blocks": 3, "bounds": (0, 1), **wrong}
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        SampleAndAggregate(**arguments)


def test_units_of_another_length_are_refused() -> None:
    with pytest.raises(ParameterError, match="units"):
        SampleAndAggregate(1, 3, (0, 1)).release(len, [1, 2, 3], units=["a"])


def test_the_median_of_many_blocks_is_near_the_truth() -> None:
    rows = np.random.default_rng(1).normal(4, 1, 20_000)
    mechanism = SampleAndAggregate(2, 100, (0, 10))
    # 100 block means within 0.071 of 4 each; leaving [3.5, 4.5] needs a rank error of 50: below 4097 exp(-48)
    assert abs(mechanism.release(np.mean, rows, bits=SeededBitsForTestsOnly(5)) - 4) < 0.5


@pytest.mark.statistical
def test_every_block_is_as_likely() -> None:
    homes = SampleAndAggregate(1, 7, (0, 1)).blocks_of(70_000, None, SeededBitsForTestsOnly(2))
    assert chance_at_most(np.bincount(homes, minlength=7), [1 / 7] * 7) > 1e-10


def test_not_even_a_base_exception_carries_private_text_out() -> None:
    class Boo(BaseException):
        pass

    def telling(block: object) -> float:
        raise Boo("row 42 is here")

    def interrupted(block: object) -> float:
        raise KeyboardInterrupt("row 42 is here")

    mechanism = SampleAndAggregate(1, 5, (0, 10))
    mechanism.release(telling, list(range(20)))
    with pytest.raises(KeyboardInterrupt) as caught:
        mechanism.release(interrupted, list(range(20)))
    assert caught.value.args == ()
