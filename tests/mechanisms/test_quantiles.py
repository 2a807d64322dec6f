"""Quantiles against their definition, written out here row by row, and against every neighbour of small tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.errors import TacitError
from tacit.loss import events
from tacit.mechanisms import Extreme, Quantiles, quantiles
from tacit.mechanisms.rank_choice import Asking
from tests.mechanisms.laws import Draws, draws

__all__ = ["draws"]

HALF = [Fraction(1, 2)]
THREE = [Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)]
Law = dict[Any, float]


def listed(rows: Sequence[int]) -> tuple[list[int], list[int], list[int], int]:
    """Values, rows below, rows at, and rows in all."""
    counts = sorted(Counter(rows).items())
    below = [sum(row < value for row in rows) for value, _ in counts]
    return [value for value, _ in counts], below, [count for _, count in counts], len(rows)


def chosen(weights: dict[int, float]) -> list[tuple[int, float]]:
    total = math.fsum(weights.values())
    return [(candidate, weight / total) for candidate, weight in weights.items()]


class Definition:
    """The mechanism as its theorem states it, row by row and place by place, in exact fractions of a row."""

    def __init__(self, rows: Sequence[int], points: int, split: int, rows_per_unit: int, epsilon: Fraction) -> None:
        self.rows, self.points, self.split = rows, points, split
        self.rate = epsilon / rows_per_unit

    def mass(self, place: int) -> Fraction:
        """Rows left of a place; a row at x is spread over [x K, (x + 1) K)."""
        return sum(
            (Fraction(min(max(place - row * self.split, 0), self.split), self.split) for row in self.rows), Fraction(0)
        )

    def points_by(
        self, first: int, last: int, wanted: Fraction, steeper: Fraction, clamp: int
    ) -> list[tuple[int, float]]:
        weights = {}
        for x in range(first // self.split, min(last // self.split, self.points - 1) + 1):
            low = self.mass(max(first, x * self.split)) - self.mass(first)
            high = self.mass(min(last, (x + 1) * self.split)) - self.mass(first)
            distance = max(low - wanted, wanted - high, Fraction(0))
            weights[x] = math.exp(-self.rate * min(distance, clamp) / (2 * steeper))
        if not weights:  # a part that begins where the line ends
            weights[self.points - 1] = 1.0
        return chosen(weights)

    def places_by(
        self, first: int, last: int, wanted: Fraction, steeper: Fraction, clamp: int
    ) -> list[tuple[int, float]]:
        return chosen(
            {
                y: math.exp(-self.rate * min(abs(self.mass(y) - self.mass(first) - wanted), clamp) / (2 * steeper))
                for y in range(first, last + 1)
            }
        )

    def together(self, shares: Sequence[Fraction], clamp: int) -> Law:
        def visit(
            low: int, high: int, ends: tuple[int, int], at: tuple[Fraction, Fraction]
        ) -> Iterator[tuple[dict[int, int], float]]:
            if low == high:
                yield {}, 1.0
                return
            middle = (low + high) // 2
            share = (shares[middle] - at[0]) / (at[1] - at[0])
            wanted = share * (self.mass(ends[1]) - self.mass(ends[0]))
            steeper = max(share, 1 - share)
            if high - low == 1:
                for x, chance in self.points_by(*ends, wanted, steeper, clamp):
                    yield {middle: x}, chance
                return
            for y, chance in self.places_by(*ends, wanted, steeper, clamp):
                lower = list(visit(low, middle, (ends[0], y), (at[0], shares[middle])))
                upper = list(visit(middle + 1, high, (y, ends[1]), (shares[middle], at[1])))
                for (left, left_chance), (right, right_chance) in itertools.product(lower, upper):
                    own = {middle: min(y // self.split, self.points - 1)}
                    yield {**left, **own, **right}, chance * left_chance * right_chance

        found: Law = defaultdict(float)
        for values, chance in visit(0, len(shares), (0, self.points * self.split), (Fraction(0), Fraction(1))):
            found[tuple(values[place] for place in range(len(shares)))] += chance
        return dict(found)


def assert_same(law: Law, other: Law) -> None:
    assert set(law) == set(other)
    assert math.isclose(math.fsum(law.values()), 1.0, rel_tol=1e-9)
    for outcome, chance in law.items():
        assert math.isclose(chance, other[outcome], rel_tol=1e-9), outcome


@pytest.fixture(params=[1, 3, 1000], ids=["clamp 1", "clamp 3", "no clamp"])
def clamp(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A small clamp, so that it matters."""
    monkeypatch.setattr(quantiles, "_clamp", lambda *_: request.param)
    return int(request.param)


TABLES = [[], [2], [0, 0, 0, 4], [1, 1, 2, 3, 3, 3, 3], [4, 4, 4, 4, 4], [0, 1, 2, 3, 4, 4]]


@pytest.mark.parametrize("rows", TABLES, ids=str)
@pytest.mark.parametrize("share", ["1/2", "1/4", "9/10"])
def test_one_quantile_has_the_law_of_its_definition(draws: Draws, clamp: int, rows: list[int], share: str) -> None:
    q = Fraction(share)
    mechanism = Quantiles(5, [q], 3, Fraction(3, 2))
    law = draws.law(lambda: tuple(mechanism.choose(*listed(rows))))
    truth = Definition(rows, 5, 1, 3, Fraction(3, 2)).points_by(0, 5, q * len(rows), max(q, 1 - q), clamp)
    assert_same(law, {(x,): chance for x, chance in truth})


@pytest.mark.parametrize("rows", TABLES[:5], ids=str)
def test_three_quantiles_have_the_law_of_their_definition(
    draws: Draws, clamp: int, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantiles, "SPLIT", 3)
    mechanism = Quantiles(5, THREE, 2, Fraction(4))
    law = draws.law(lambda: tuple(mechanism.choose(*listed(rows))))
    assert_same(law, Definition(rows, 5, 3, 2, Fraction(4) / 2).together(THREE, clamp))


@pytest.mark.parametrize("greatest", [False, True], ids=["least", "greatest"])
@pytest.mark.parametrize("rows", TABLES, ids=str)
def test_an_extreme_has_the_law_of_its_definition(
    draws: Draws, clamp: int, rows: list[int], greatest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extreme, "rank", 2)
    mechanism = Extreme(5, greatest, 2, Fraction(1))
    near = min(Fraction(2), Fraction(len(rows), 2))
    wanted = len(rows) - near if greatest else near
    law = draws.law(lambda: tuple(mechanism.choose(*listed(rows))))
    truth = Definition(rows, 5, 1, 2, Fraction(1)).points_by(0, 5, wanted, Fraction(1), clamp)
    assert_same(law, {(x,): chance for x, chance in truth})


def tables(points: int, most: int) -> list[tuple[int, ...]]:
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(range(points), size)]


def loss_range(law: Law, other: Law) -> tuple[float, float]:
    losses = [math.log(law[outcome] / other[outcome]) for outcome in law]
    return min(losses), max(losses)


@pytest.mark.parametrize(
    ("shares", "split"),
    [(HALF, 1), ([Fraction(1, 5)], 1), ([Fraction(1, 4), Fraction(3, 4)], 1), (THREE, 2)],
    ids=["median", "a fifth", "two", "three together"],
)
def test_no_neighbour_of_a_small_table_is_told_apart_by_more_than_epsilon(
    draws: Draws, clamp: int, shares: list[Fraction], split: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tables of up to 3 rows on 3 points, all units of up to 2 rows, over two cells: losses of cells add up."""
    monkeypatch.setattr(quantiles, "SPLIT", split)
    epsilon, most = Fraction(1), 2
    mechanism = Quantiles(3, shares, most, epsilon)
    size = 3 if len(shares) < 3 else 2
    laws = {rows: draws.law(lambda rows=rows: tuple(mechanism.choose(*listed(rows)))) for rows in tables(3, size + 2)}
    by_size: dict[int, float] = defaultdict(float)
    spans: dict[int, float] = defaultdict(float)
    for rows in tables(3, size):
        for unit in tables(3, most):
            low, high = loss_range(laws[tuple(sorted((*rows, *unit)))], laws[rows])
            by_size[len(unit)] = max(by_size[len(unit)], -low, high)
            spans[len(unit)] = max(spans[len(unit)], high - low)
    assert by_size[0] == 0
    # one row here and one there, or both in one cell: each row may cost half of epsilon
    assert 2 * by_size[1] <= float(epsilon) * (1 + 1e-9)
    assert by_size[2] <= float(epsilon) * (1 + 1e-9)
    if len(shares) == 1:  # one choice is of bounded range, which its event says
        assert spans[2] <= float(epsilon) * (1 + 1e-9)
        assert mechanism.event == events.Exponential(epsilon)
        # and no more noise than is needed: the worst case is met, where the clamp does not hide it
        assert clamp == 1 or spans[2] > 0.6 * float(epsilon)


@pytest.mark.parametrize(
    ("shares", "split"),
    [(HALF, 1), ([Fraction(1, 5)], 1), ([Fraction(1, 4), Fraction(3, 4)], 1), (THREE, 2)],
    ids=["median", "a fifth", "two", "three together"],
)
def test_no_table_with_a_row_replaced_is_told_apart_by_more_than_epsilon(
    draws: Draws, clamp: int, shares: list[Fraction], split: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tables of up to 5 rows on 4 points (up to 3 rows on 3 for several quantiles), each row replaced by any."""
    monkeypatch.setattr(quantiles, "SPLIT", split)
    epsilon, (points, most) = Fraction(1), (4, 5) if len(shares) == 1 else (3, 3)
    mechanism = Quantiles(points, shares, 1, epsilon, replaced=True)
    laws = {rows: draws.law(lambda rows=rows: tuple(mechanism.choose(*listed(rows)))) for rows in tables(points, most)}
    worst = span = 0.0
    for rows in laws:
        for place, point in itertools.product(range(len(rows)), range(points)):
            other = tuple(sorted((*rows[:place], *rows[place + 1 :], point)))
            low, high = loss_range(laws[other], laws[rows])
            worst, span = max(worst, -low, high), max(span, high - low)
    assert worst <= float(epsilon) * (1 + 1e-9)
    if len(shares) == 1:
        assert span <= float(epsilon) * (1 + 1e-9)
        assert clamp == 1 or span > 0.6 * float(epsilon)  # no more noise than is needed


@pytest.mark.parametrize("greatest", [False, True], ids=["least", "greatest"])
def test_no_table_with_a_row_replaced_is_told_apart_by_an_extreme(
    draws: Draws, clamp: int, greatest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extreme, "rank", 1)
    mechanism = Extreme(4, greatest, 1, Fraction(1))
    laws = {rows: draws.law(lambda rows=rows: tuple(mechanism.choose(*listed(rows)))) for rows in tables(4, 4)}
    for rows in laws:
        for place, point in itertools.product(range(len(rows)), range(4)):
            low, high = loss_range(laws[tuple(sorted((*rows[:place], *rows[place + 1 :], point)))], laws[rows])
            assert high - low <= 1 + 1e-9


def test_replaced_rows_cost_less_noise_than_a_removal_and_an_addition() -> None:
    for share, gain in (("1/2", 1), ("1/4", Fraction(3, 2)), ("1/10", Fraction(9, 5)), ("1/100", Fraction(99, 50))):
        ((replaced, _),) = Quantiles(100, [share], 1, 1, replaced=True)._choices()
        ((apart, _),) = Quantiles(100, [share], 2, 1)._choices()
        assert replaced.factor == apart.factor * gain


@pytest.mark.parametrize("greatest", [False, True], ids=["least", "greatest"])
def test_no_neighbour_is_told_apart_by_an_extreme(
    draws: Draws, clamp: int, greatest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extreme, "rank", 1)
    mechanism = Extreme(3, greatest, 2, Fraction(1))
    laws = {rows: draws.law(lambda rows=rows: tuple(mechanism.choose(*listed(rows)))) for rows in tables(3, 5)}
    for rows in tables(3, 3):
        for unit in tables(3, 2):
            low, high = loss_range(laws[tuple(sorted((*rows, *unit)))], laws[rows])
            assert high - low <= len(unit) / 2 * (1 + 1e-9)


def test_the_event_of_several_quantiles_is_one_choice_a_level() -> None:
    shares = [Fraction(place, 10) for place in range(1, 10)]
    assert Quantiles(100, shares, 1, 1).event == events.Repeated(events.Exponential(Fraction(1, 4)), 4)
    assert Quantiles(100, shares[:2], 1, 1).event == events.Repeated(events.Exponential(Fraction(1, 2)), 2)
    assert [Quantiles.levels_of(count) for count in (1, 2, 3, 4, 7, 8, 15, 16)] == [1, 2, 2, 3, 3, 4, 4, 5]


def test_parts_of_a_level_share_no_row_however_the_cuts_fall(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five quantiles of tables with one or two values: cuts split values, and their losses keep the bound."""
    monkeypatch.setattr(quantiles, "SPLIT", 2)
    monkeypatch.setattr(quantiles, "_clamp", lambda *_: 100)
    mechanism = Quantiles(2, [Fraction(place, 6) for place in range(1, 6)], 1, Fraction(3))
    cuts: list[int] = []
    original = quantiles.choose_place

    def noted(*args: Any) -> Asking:
        place = yield from original(*args)
        cuts.append(place)
        return place

    monkeypatch.setattr(quantiles, "choose_place", noted)

    def law(rows: Sequence[int]) -> Law:
        def choose() -> Any:
            cuts.clear()
            values = mechanism.choose(*listed(rows))
            return tuple(values), tuple(cuts)

        return draws.law(choose)

    laws = {rows: law(rows) for rows in tables(2, 3)}
    for rows in tables(2, 2):
        for row in range(2):
            low, high = loss_range(laws[tuple(sorted((*rows, row)))], laws[rows])
            assert max(-low, high) <= 3 * (1 + 1e-9)


def test_the_clamp_holds_all_but_a_billionth_and_windows_half_of_it() -> None:
    clamp = quantiles._clamp(Fraction(1, 6), 10**9)
    scale = 2 * 3 * 0.5 / 0.5
    assert scale * (math.log(10**9) + 20) <= clamp <= scale * (math.log(10**9) + 20) + 1
    # at worst one row stands at the wanted rank, and all other points lie beyond
    assert 10**9 * math.exp(-clamp / scale) < math.exp(-19.9)
    mechanism = Quantiles(10**9, HALF, 3, Fraction(1, 2))
    ((share, reach),) = mechanism.windows()
    assert share == Fraction(1, 2)
    assert clamp / 2 < reach < clamp / 2 + 3
    assert mechanism.grain == int(2 * scale)


def test_errors_are_the_tail_of_the_exponential_mechanism() -> None:
    (error,) = Quantiles(1000, HALF, 2, 1).errors("0.95")
    assert error == math.ceil(2 * 2 * 0.5 * math.log(1000 / 0.05))
    nine = Quantiles(1000, [Fraction(place, 10) for place in range(1, 10)], 2, 1).errors("0.95")
    assert all(each > error for each in nine)
    extreme = Extreme(1000, True, 2, 1)
    assert extreme.rank == math.ceil(2 * 2 * math.log(20 * 1000))
    assert extreme.errors("0.95") == (extreme.rank,)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["smooth", "lumpy", "heavy"])
def test_nine_quantiles_of_a_million_rows_are_within_a_thousandth(kind: str) -> None:
    """False alarms: a rank error of 1,000 rows is 4 levels of (2/epsilon) exp(-125): none in any run."""
    generator = np.random.default_rng(5)
    size = 10**6
    rows = {
        "smooth": lambda: generator.integers(0, 10**6, size),
        "lumpy": lambda: generator.integers(0, 37, size) * 20_000,
        "heavy": lambda: np.minimum(np.exp(generator.normal(6, 2, size)), 10**6 - 1).astype(np.int64),
    }[kind]()
    values, counts = np.unique(rows, return_counts=True)
    below = np.cumsum(counts) - counts
    shares = [Fraction(place, 10) for place in range(1, 10)]
    mechanism = Quantiles(10**6, shares, 1, 1)
    found = mechanism.choose(values, below, counts, size)
    assert found == sorted(found)
    for share, value in zip(shares, found, strict=True):
        low, high = int((rows < value).sum()), int((rows <= value).sum())
        assert low - 1000 <= share * size <= high + 1000


@pytest.mark.parametrize(
    "build",
    [
        lambda: Quantiles(0, HALF, 1, 1),
        lambda: Quantiles(1 << 41, HALF, 1, 1),
        lambda: Quantiles(10, [], 1, 1),
        lambda: Quantiles(10, [Fraction(1, 2), Fraction(1, 4)], 1, 1),
        lambda: Quantiles(10, [0], 1, 1),
        lambda: Quantiles(10, [1], 1, 1),
        lambda: Quantiles(10, HALF, 0, 1),
        lambda: Quantiles(10, HALF, 1, 0),
        lambda: Quantiles(10, [Fraction(1, 10**7)], 1, 1),
        lambda: Quantiles(10, HALF, 1, Fraction(1, 10**20)),
        lambda: Extreme(10, True, 1, 0),
    ],
    ids=["points", "many points", "none", "order", "zero", "one", "rows", "epsilon", "decimals", "tiny", "extreme"],
)
def test_what_cannot_be_honoured_is_refused(build: Any) -> None:
    with pytest.raises(TacitError):
        build()
