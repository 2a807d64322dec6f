"""Order statistics: right where noise is negligible, private where it is not, refused before anything is paid.

Statistical tests state their false-alarm rate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError, QuestionError, TacitError
from tacit.loss import compose, events
from tacit.mechanisms import Quantiles
from tacit.noise import SeededBitsForTestsOnly
from tacit.statistics.finding import Finding
from tacit.statistics.order.interquartile import interquartile_range, quartiles_of, stable_units
from tacit.statistics.order.methods import ByRank, BySmooth, ByTest, Frame, best, bits_for
from tacit.statistics.order.ranked import maximum, median, minimum, quantile, quantiles, quartiles
from tacit.statistics.order.smooth_choice import choose_smooth, evenly_spaced
from tacit.statistics.order.windows import Rank, Sorted, smooth_sensitivity

HUGE = 10**5
SHARES = (Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1))


def clinic(ages: Any, who: Any, rows_per_unit: int, epsilon: float = 100) -> tacit.Curator:
    return tacit.protect(
        pd.DataFrame({"who": who, "age": ages}),
        unit="who",
        rows_per_unit=rows_per_unit,
        columns={"age": tacit.between(0, 110)},
        budget=tacit.Budget(epsilon=epsilon, delta=1e-3),
    )


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("method", ["exponential", "smooth", "ptr"])
def test_with_hardly_any_noise_the_answer_is_numpys_quantile(method: str, neighbours: str) -> None:
    random = np.random.default_rng(3)
    options: dict[str, Any] = {"bound": 5, "delta": "0.001"} if method == "ptr" else {}
    for n in (101, 200, 333):
        rows = random.integers(0, 1000, n) * 4
        for q in (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(7, 9)):
            found = quantile(
                rows, bounds=(0, 4000), q=q, epsilon=HUGE, method=method, neighbours=neighbours, **options
            ).value
            if found is None:  # the proposed bound may rightly fail
                assert method == "ptr"
                continue
            truth = np.quantile(rows, float(q), method="inverted_cdf")
            after = np.sort(rows)[min(math.ceil(q * n), n - 1)]
            # a choice by rank may take any value between the two rows beside q n
            assert truth - 5 <= found <= (after if method == "exponential" and (q * n).denominator == 1 else truth) + 5


def test_a_very_fine_grid_is_made_coarser_for_a_choice_by_rank() -> None:
    frame = Frame(-5, 2**50, 1, False)
    plan = ByRank.of(frame, (Fraction(1, 2),), Fraction(100), Fraction(1, 2), Fraction(19, 20))
    rows = np.full(2000, 3 * 2**40 + 12345)
    ((value, low, high),) = plan.find(rows, SeededBitsForTestsOnly(1))  # type: ignore[misc]
    assert low is not None
    assert high is not None
    assert low <= rows[0] <= high
    assert frame.points <= 2**20 + 1
    assert [bits_for(Fraction(each)) for each in ("1/1000000", "1/10", "1", "50")] == [10, 16, 20, 20]
    assert abs(value - int(rows[0])) <= (2**50 + 5) / 2**19


def test_the_least_and_the_greatest_are_near_the_ends_of_the_rows() -> None:
    rows = np.arange(100, 1100)
    assert minimum(rows, bounds=(0, 2000), epsilon=HUGE).value == pytest.approx(100, abs=2)
    assert maximum(rows, bounds=(0, 2000), epsilon=HUGE).value == pytest.approx(1099, abs=2)
    # quartic noise of scale 9e-5 times 11, the largest move: off by more than 2 with probability 2e-11
    near: dict[str, Any] = {"bounds": (90, 1110), "epsilon": HUGE, "method": "smooth"}
    assert minimum(rows, **near).value == pytest.approx(100, abs=2)
    assert maximum(rows, **near).value == pytest.approx(1099, abs=2)
    found = quantiles(rows, q=[0, "0.5", 1], **near)
    assert found["value"] == pytest.approx([100, 599, 1099], abs=2)
    assert len(quantiles(rows, bounds=(0, 2000), q=["0.5"], epsilon=1)["value"]) == 1


@pytest.mark.parametrize("method", ["exponential", "smooth", "ptr"])
def test_dates_numbers_and_intervals_read_as_their_column_does(method: str) -> None:
    rows = np.repeat(np.arange(10.0, 20.0), 400)
    options: dict[str, Any] = {"bound": 1, "delta": 1e-6} if method == "ptr" else {}
    # row 2,000 is the last 14, so one row more moves the median by 1: quartic noise of scale 9e-5
    found = quartiles(rows, bounds=(0, 100), epsilon=HUGE, method=method, **options)
    assert found["quantile"] == (0.25, 0.5, 0.75)
    assert found["value"] == pytest.approx([12, 14, 17], abs=1.5)
    for (low, high), value in zip(found.intervals()["value"], found["value"], strict=True):  # type: ignore[misc]
        assert low <= value <= high
    frame = pd.DataFrame({"who": range(500), "day": pd.Timestamp("2024-05-01") + pd.to_timedelta(range(500), "D")})
    days = tacit.protect(
        frame, unit="who", columns={"day": tacit.between("2024-01-01", "2026-12-31")}, budget=tacit.Budget(epsilon=HUGE)
    )
    day = median(days, "data.day", epsilon=HUGE)
    assert abs(pd.Timestamp(day.value) - pd.Timestamp("2025-01-05")) < pd.Timedelta(days=10)
    ((low, high),) = day.intervals()["median"]  # type: ignore[misc]
    shown = day.to_pandas().iloc[0]
    assert shown["median_low"] == pd.Timestamp(low) <= shown["median"] <= shown["median_high"] == pd.Timestamp(high)


def test_a_curator_with_several_rows_of_a_unit_pays_once_for_them_all_and_repeats_free() -> None:
    ages, who = np.arange(300) % 100, np.arange(300) // 3
    curator = clinic(ages, who, 3, epsilon=HUGE)
    first = median(curator, "data.age", epsilon=HUGE // 2)
    spent = curator.spent()
    again = median(curator, "data.age", epsilon=HUGE // 2)
    assert again == first
    assert again.repeated
    assert curator.spent() == spent
    assert first.value == pytest.approx(49, abs=5)
    assert first.receipt["rows_per_unit"] == "3"
    other = median(curator, "data.age", epsilon=25, method="smooth")
    assert not other.repeated
    assert curator.spent() != spent


def test_every_row_of_a_unit_counts_in_the_plan() -> None:
    for rows, replaced, moved in ((1, False, 1), (3, False, 3), (1, True, 1)):
        frame = Frame(0, 100, rows, replaced)
        plan = ByRank.of(frame, (Fraction(1, 2),), Fraction(1), Fraction(0), Fraction(19, 20))
        assert plan.choice.sensitivity == moved
        assert isinstance(plan.choice, Quantiles)
        assert plan.choice.replaced == replaced
        ends = ByRank.of(frame, (Fraction(1, 4),), Fraction(1), Fraction(1, 2), Fraction(19, 20))
        assert ends.choice.epsilon == Fraction(1, 2)
        # p n - d B of q = p/d = 1/4 moves by 3 for each row, by 4 where one is replaced; epsilon / (2 sensitivity)
        steps = 4 if replaced else 3
        assert [each.choice.factor for each in ends.intervals] == [Fraction(1, 2) / (2 * steps * moved)]
        assert ends.event == events.Composed((events.Exponential(Fraction(1, 2)),) * 2)
        several = ByRank.of(frame, (Fraction(1, 4), Fraction(3, 4)), Fraction(1), Fraction(1, 2), Fraction(19, 20))
        assert [each.event for each in several.intervals] == [events.Exponential(Fraction(1, 4))] * 2
        extreme = ByRank.of(frame, (Fraction(1),), Fraction(1), Fraction(1, 2), Fraction(19, 20))
        assert extreme.choice.sensitivity == moved
        assert extreme.choice.epsilon == Fraction(1, 2)
        assert [each.choice.factor for each in extreme.intervals] == [Fraction(1, 2) / (2 * moved)]


def test_several_quantiles_share_epsilon_and_delta() -> None:
    frame, shares = Frame(0, 100, 2, False), (Fraction(1, 4), Fraction(3, 4))
    smooth = BySmooth.of(frame, shares, Fraction(1), Fraction(1, 10**6), Fraction(0), Fraction(19, 20))
    tested = ByTest.of(frame, shares, Fraction(1), Fraction(1, 10**6), 5, Fraction(19, 20))
    for plan in (smooth, tested):
        assert isinstance(plan.event, events.Repeated)
        assert plan.event.count == 2
    half = events.Approximate(Fraction(1, 2), Fraction(1, 2 * 10**6))
    assert tested.event == events.Repeated(half, 2)
    assert smooth.event in (events.Repeated(half, 2), events.Repeated(events.Pure(Fraction(1, 2)), 2))
    told = BySmooth.of(frame, shares, Fraction(1), Fraction(0), Fraction(1, 5), Fraction(19, 20)).event
    assert isinstance(told, events.Repeated)
    assert isinstance(told.event, events.Composed)
    assert told.event.events[0] == events.Pure(Fraction(4, 5) / 2)
    assert compose([told.event.events[1]]).epsilon(0) == pytest.approx(0.1, rel=1e-9)
    assert tested.delta == Fraction(1, 10**6)
    assert tested.test.answer is not None
    assert tested.test.answer.event.sensitivity == 5


def test_the_smooth_noise_is_calibrated_for_the_smoothness_that_was_computed() -> None:
    """The noise is drawn at the multiple of the smooth sensitivity of exactly the rows that were given."""
    codes = np.sort(np.random.default_rng(2).integers(0, 10**6, 50))
    plan = BySmooth.of(
        Frame(0, 10**6, 2, False), (Fraction(1, 2),), Fraction(2), Fraction(0), Fraction(0), Fraction(1, 2)
    )
    line = Sorted(codes, 0, 10**6, Rank(Fraction(1, 2)), 2)
    one, other = SeededBitsForTestsOnly(7), SeededBitsForTestsOnly(7)
    (found,) = plan.find(codes, one)
    noise = plan.each.noise
    noisy = noise.release(line.value, smooth_sensitivity(line, noise.smoothness), bits=other)
    assert found is not None
    assert found[0] == min(max(noisy, 0), 10**6)


@pytest.mark.statistical
def test_a_median_under_replacement_follows_the_exponential_law() -> None:
    """3,000 seeded draws on 3 points against the law computed here; a chi-square beyond 40 (2 degrees) has 2e-9."""
    rows, epsilon = np.array([0, 1, 1, 2, 2]), Fraction(3, 2)
    plan = ByRank.of(Frame(0, 2, 1, True), (Fraction(1, 2),), epsilon, Fraction(0), Fraction(19, 20))
    # 2 * (rows below, up to) minus the number of rows; a replacement moves that by 2
    scores = [-max(2 * int((rows < y).sum()) - 5, 5 - 2 * int((rows <= y).sum()), 0) for y in range(3)]
    weights = np.exp(np.array(scores) * float(epsilon) / (2 * 2))
    expected = 3000 * weights / weights.sum()
    bits = SeededBitsForTestsOnly(11)
    seen = np.bincount([plan.find(rows, bits)[0][0] for _ in range(3000)], minlength=3)  # type: ignore[index]
    assert float(((seen - expected) ** 2 / expected).sum()) < 40


@pytest.mark.statistical
def test_bought_intervals_enclose_the_quantile() -> None:
    """At 90 %, 200 times; fewer than 150 would happen with probability below 1e-9."""
    rows = np.sort(np.random.default_rng(8).normal(50, 10, 500))
    covered = 0
    for q in (Fraction(1, 4), Fraction(1, 2)):
        truth = rows[math.ceil(q * 500) - 1]
        for _ in range(100):
            found = quantile(rows, bounds=(0, 100), q=q, epsilon=1, interval_share="0.5", level="0.9")
            ((low, high),) = found.intervals()["quantile"]  # type: ignore[misc]
            covered += low <= truth <= high
            assert low <= found.value <= high
    assert covered >= 150


def test_a_bound_that_does_not_hold_is_refused_by_the_private_test() -> None:
    sparse = np.array([0.0, 100.0] * 10)
    for neighbours in ("add_remove", "replace"):
        found = median(sparse, bounds=(0, 100), epsilon=1, delta=1e-12, method="ptr", bound=1, neighbours=neighbours)
        assert found.value is None  # it passes with probability 1e-12
    dense = np.full(500, 40.0)
    sure = "0.999999999999"  # at the usual 0.95 the interval would miss once in twenty
    found = median(dense, bounds=(0, 100), epsilon=1, delta=1e-6, method="ptr", bound="0.001", level=sure)
    assert found.value == pytest.approx(40, abs=0.1)
    ((low, high),) = found.intervals()["median"]  # type: ignore[misc]
    assert low <= 40 <= high


def test_best_goes_by_public_parameters_and_expected_error_alone() -> None:
    half = [Fraction(1, 2)]
    assert best(half, 1, Fraction(1, 10), Fraction(0)) == "exponential"
    assert best(half, 1, Fraction(1), Fraction(1, 10**6)) == "exponential"
    assert best(half, 1, Fraction(50), Fraction(0)) == "smooth"
    assert best([Fraction(0)], 1, Fraction(50), Fraction(0)) == "exponential"
    assert evenly_spaced(0.25) == pytest.approx(max((k + 1) * math.exp(-k / 4) for k in range(50)))
    chosen = choose_smooth(Fraction(1), Fraction(0))
    assert chosen.noise().event == events.Pure(Fraction(1))
    assert choose_smooth(Fraction(10), Fraction(1, 100)).size <= choose_smooth(Fraction(10), Fraction(0)).size


@pytest.mark.parametrize("rows", [[], [5.0], [7.0] * 40, [math.nan] * 5, [-1e9, 1e9]])
def test_any_data_get_a_private_result(rows: list[float]) -> None:
    data = np.array(rows)
    for method, options in (("exponential", {}), ("smooth", {}), ("ptr", {"bound": 1, "delta": 1e-6})):
        for neighbours in ("add_remove", "replace"):
            found = median(data, bounds=(0, 10), epsilon=1, method=method, neighbours=neighbours, **options)  # type: ignore[arg-type]
            assert found.value is None or 0 <= found.value <= 10
            quartiles(data, bounds=(0, 10), epsilon=1, method=method, neighbours=neighbours, **options)  # type: ignore[arg-type]
    for study in (minimum, maximum):
        assert 0 <= study(data, bounds=(0, 10), epsilon=1).value <= 10
    for method in ("exponential", "smooth", "ptr"):
        found = interquartile_range(data, bounds=(0, 10), epsilon=1, delta=1e-6, method=method)
        assert found.value is None or 0 <= found.value <= 10


def test_a_missing_value_is_mid_way_where_the_number_of_rows_is_public() -> None:
    rows = np.array([math.nan] * 50 + [1.0] * 40)
    found = median(rows, bounds=(0, 10), epsilon=HUGE, neighbours="replace", method="smooth")
    assert found.value == pytest.approx(5, abs=0.01)
    assert "replaced" in found.card()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "method": "worst"}, "method"),
        ({"epsilon": 1, "method": "ptr", "delta": 0.1}, "bound"),
        ({"epsilon": 1, "method": "ptr", "bound": 1}, "delta"),
        ({"epsilon": 1, "method": "ptr", "bound": -1, "delta": 0.1}, "bound"),
        ({"epsilon": 1, "bound": 1}, "bound"),
        ({"epsilon": 1, "interval_share": 1}, "interval_share"),
        ({"epsilon": 1, "interval_share": -1, "method": "smooth"}, "interval_share"),
        ({"epsilon": 1, "neighbours": "twins"}, "neighbours"),
        ({"epsilon": 1, "level": 1}, "level"),
        ({"epsilon": 1, "bounds": (1, 0)}, "bounds"),
        ({"epsilon": 1, "bounds": (0, math.nan)}, "bounds"),
        ({"epsilon": 1, "bounds": None, "values": ["a"]}, "column"),
    ],
)
def test_public_mistakes_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        median(np.array(["a"]) if "values" in options else np.ones(3), **{"bounds": (0, 1), **options})


def test_public_mistakes_about_a_curator_cost_nothing() -> None:
    curator = clinic([1, 2, 3], [1, 2, 3], 1)
    before = curator.spent()
    for bad in (
        lambda: median(curator, "data.age", epsilon=1, neighbours="replace"),
        lambda: median(curator, "data.agee", epsilon=1),
        lambda: quantiles(curator, "data.age", q=[0.5, 0.25], epsilon=1),
        lambda: quantiles(curator, "data.age", q=[], epsilon=1),
        lambda: quantile(curator, "data.age", q=1.5, epsilon=1),
        lambda: quantiles(curator, "data.age", q=[0, 0.5], epsilon=1, method="exponential"),
        lambda: minimum(curator, "data.age", epsilon=1, interval_share="1.5"),
        lambda: interquartile_range(curator, "data.age", epsilon=1, method="ptr"),
        lambda: interquartile_range(curator, "data.age", epsilon=1, delta=1e-6, method="ptr", ratio=1),
        lambda: interquartile_range(curator, "data.age", epsilon=1, method="worst"),
    ):
        with pytest.raises((ParameterError, QuestionError)):
            bad()
    with pytest.raises(TacitError):
        median(curator, "data.age", epsilon=10**9)
    assert curator.spent() == before


# -- the interquartile range ---------------------------------------------------------------------------


def test_the_interquartile_range_is_scipys_where_noise_is_negligible() -> None:
    rows = np.random.default_rng(4).normal(500, 100, 4000)
    truth = np.subtract(*np.quantile(rows, [0.75, 0.25], method="inverted_cdf"))
    for method in ("exponential", "smooth"):
        found = interquartile_range(rows, bounds=(0, 1000), epsilon=HUGE, method=method)
        assert found.value == pytest.approx(truth, abs=0.5)
    binned = interquartile_range(rows, bounds=(0, 1000), epsilon=HUGE, delta=1e-3, method="ptr", ratio="1.5")
    ((low, high),) = binned.intervals()["interquartile_range"]  # type: ignore[misc]
    assert low <= truth < high
    assert high / low <= 1.5 * (1 + 1e-6)


def test_the_stability_of_a_bin_changes_by_one_between_neighbours_and_is_none_at_its_edge() -> None:
    random = np.random.default_rng(9)
    for _ in range(150):
        r = int(random.integers(1, 4))
        frame = Frame(0, 200, r, False)
        codes = np.sort(random.integers(0, 201, random.integers(0, 60)) // random.choice([1, 40]))
        more = np.sort(np.append(codes, random.integers(0, 201, random.integers(1, r + 1))))
        x, y = quartiles_of(frame, codes), quartiles_of(frame, more)
        ranges = [upper.value - lower.value for lower, upper in (x, y)]
        for first, stop in ((0, 1), (16, 32), (32, 64), (1, 200)):
            inside = [first <= each < stop for each in ranges]
            units = [stable_units(*each, first, stop) for each in (x, y)]
            if all(inside):
                assert abs(units[0] - units[1]) <= 1
            elif any(inside):
                assert units[inside.index(True)] == 0


def test_quartiles_move_no_further_than_said_within_a_distance() -> None:
    random = np.random.default_rng(10)
    for _ in range(400):
        codes = random.integers(0, 50, random.integers(0, 12))
        q = Fraction(int(random.integers(0, 5)), 4)
        line = Sorted(np.sort(codes), 0, 49, Rank(q))
        removed, added = int(random.integers(0, 4)), int(random.integers(0, 4))
        left = random.permutation(codes)[removed:]
        y = Sorted(np.sort(np.append(left, random.choice([0, 49, 25], added))), 0, 49, Rank(q))
        at = np.array([removed + added])
        assert line.lowest(at)[0] <= y.value <= line.highest(at)[0]


def test_findings_of_this_room_are_findings() -> None:
    assert isinstance(interquartile_range(np.arange(50), bounds=(0, 100), epsilon=1), Finding)


@pytest.mark.parametrize("method", ["smooth", "ptr", "exponential"])
def test_a_share_is_read_as_it_is_written_and_one_that_outgrows_a_word_is_refused(method: str) -> None:
    """0.9 as a float has a denominator of 2**52: times a thousand rows that is no word, and ranks would jump."""
    options: dict[str, Any] = {"bounds": (0, 100), "epsilon": 5, "delta": "1e-6" if method == "ptr" else 0}
    options |= {"bound": 1} if method == "ptr" else {}
    for rows in (1137, 1138, 3413, 3414):
        found = quantile(np.full(rows, 100.0), q=0.9, method=method, **options)
        assert found.receipt["event"] == quantile(np.full(5, 1.0), q="0.9", method=method, **options).receipt["event"]
        assert found.value is None or found.value > 50
    for q in (0.123456789, "0.1234567", "1/3000001"):
        with pytest.raises(ParameterError, match="six decimals"):
            quantile(np.zeros(5), q=q, method=method, **options)


@pytest.mark.parametrize("q", ["0.9", "0.3", "1/3"])
def test_ranks_are_exact_for_every_number_of_rows_and_never_jump(q: str) -> None:
    share = Fraction(q)
    rows = np.array([*range(2000), 10**6, 10**9, 2**40])
    assert Rank(share).of(rows).tolist() == [max(math.ceil(share * int(n)), 0) for n in rows]
    with pytest.raises(ParameterError, match="six decimals"):
        Rank(Fraction(0.9))


@pytest.mark.parametrize("smoothness", ["0.6", "0.65", "0.7", "5"])
def test_a_sensitivity_beyond_what_floats_divide_by_is_still_found(smoothness: str) -> None:
    """Nearly all of 1,137 rows are alike, so the bound is a range times exp(-680) or less: near the end of floats."""
    codes = np.full(1137, 2**40)
    codes[:50] = 0
    line = Sorted(codes, 0, 2**40, Rank(Fraction(9, 10)), 1)
    assert 0 <= smooth_sensitivity(line, Fraction(smoothness)) < 1e-100
