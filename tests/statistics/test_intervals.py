"""Intervals that a share of epsilon buys: what is told is told privately, and they hold as often as they say.

Statistical tests state their false-alarm rate.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from tacit import statistics as st
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.mechanisms import Laplace, Smooth
from tacit.mechanisms.smooth_calibration import ROUNDING_SLACK
from tacit.noise import SeededBitsForTestsOnly
from tacit.statistics.frameworks.own_functions import outputs
from tacit.statistics.frameworks.sample_and_aggregate import SampleAndAggregate, _Median
from tacit.statistics.graphs.smooth_count import SmoothCount
from tacit.statistics.order.methods import ByRank, BySmooth, Frame, best
from tacit.statistics.order.rank_interval import RankInterval, widths_of
from tacit.statistics.order.trimmed import trimmed_bound, winsorised_bound
from tacit.statistics.smooth_interval import SmoothInterval

LEVEL = Fraction(19, 20)
ROWS = np.sort(np.random.default_rng(8).normal(50, 10, 200))
KITE = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]
ROADS = [(i, i + 1, 1.5) for i in range(9)] + [(i, (i * 7) % 10, 2.5) for i in range(10)]

Tables = dict[tuple[int, ...], int]


def tables(values: int, most: int) -> list[tuple[int, ...]]:
    """How many rows have each value, for all data sets of at most so many rows."""
    return [each for each in itertools.product(range(most + 1), repeat=values) if sum(each) <= most]


def neighbours(table: tuple[int, ...], rows: int) -> Iterator[tuple[int, ...]]:
    for more in itertools.product(range(rows + 1), repeat=len(table)):
        if 1 <= sum(more) <= rows:
            yield tuple(a + b for a, b in zip(table, more, strict=True))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], tuple[int, events.DiscreteLaplace]]:
    """What a release gives to the Laplace mechanism, on its grid, and the event that it is charged as."""
    seen: list[tuple[int, events.DiscreteLaplace]] = []

    def release(mechanism: Laplace, values: Any, *, bits: Any = None) -> Any:
        seen.append((int(mechanism.lattice.points(np.array([values]))[0]), mechanism.event))  # type: ignore[union-attr]
        return values

    monkeypatch.setattr(Laplace, "release", release)

    def of(run: Callable[[], Any]) -> tuple[int, events.DiscreteLaplace]:
        seen.clear()
        run()
        ((point, event),) = seen
        return point, event

    return of


def by_smooth(rows: int, replaced: bool) -> Callable[[Any], Any]:
    frame = Frame(0, 9, rows, replaced)
    plans = [
        BySmooth.of(frame, (share,), Fraction(1), Fraction(0), Fraction(1, 5), LEVEL)
        for share in (Fraction(1, 2), Fraction(1, 4))
    ]
    return lambda codes: [functools.partial(plan.find, codes, SeededBitsForTestsOnly(1)) for plan in plans]


def by_bound(rows: int, bound: Any) -> Callable[[Any], Any]:
    frame, trim = Frame(0, 9, rows, False), Fraction(1, 10)
    smooth = SmoothInterval.of(Smooth(Fraction(4, 5), kind="quartic", grid=2.0**-36), Fraction(1, 5), LEVEL)

    def runs(codes: Any) -> Any:
        bounds = [bound(frame, codes, trim, each) for each in smooth.smoothnesses]
        return [functools.partial(smooth.release, 4, bounds, SeededBitsForTestsOnly(1))]

    return runs


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        functools.partial(by_smooth, replaced=False),
        functools.partial(by_bound, bound=trimmed_bound),
        functools.partial(by_bound, bound=winsorised_bound),
    ],
)
def test_what_is_told_of_the_noise_moves_by_its_sensitivity_at_most(told: Any, make: Any, rows: int) -> None:
    """All data sets of up to 7 rows on three values: the number that gets Laplace noise, in steps of its grid."""
    known: dict[tuple[int, ...], list[tuple[int, events.DiscreteLaplace]]] = {}
    plan = make(rows)
    for table in tables(3, 7):
        known[table] = [told(run) for run in plan(np.repeat(np.array([0, 1, 9]), table))]
    worst = [0] * len(known[0, 0, 0])
    for table, own in known.items():
        for other in neighbours(table, rows):
            for place, (one, two) in enumerate(zip(own, known.get(other, own), strict=True)):
                assert one[1] == two[1]
                assert abs(one[0] - two[0]) <= one[1].sensitivity
                worst[place] = max(worst[place], abs(one[0] - two[0]))
    for place, moved in enumerate(worst):  # and by so much for some: less noise would be too little
        assert moved >= 0.99 * float(known[0, 0, 0][place][1].sensitivity)


def test_what_is_told_of_the_noise_of_a_replaced_row_moves_by_its_sensitivity_at_most(told: Any) -> None:
    plan = by_smooth(1, replaced=True)
    known = {table: [told(run) for run in plan(np.repeat(np.array([0, 1, 9]), table))] for table in tables(3, 7)}
    worst = 0
    for table, own in known.items():
        for source, goal in itertools.permutations(range(3), 2):
            other = tuple(n - (place == source) + (place == goal) for place, n in enumerate(table))
            for one, two in zip(own, known.get(other, own), strict=True):
                assert abs(one[0] - two[0]) <= one[1].sensitivity
                worst = max(worst, abs(one[0] - two[0]))
    assert worst >= 0.99 * known[0, 0, 0][0][1].sensitivity


def test_what_is_told_of_the_noise_of_a_graph_moves_by_its_sensitivity_at_most(told: Any) -> None:
    """All graphs of four nodes, and every one of their edges."""
    pairs = list(itertools.combinations(range(4), 2))
    studies = (
        lambda edges: st.triangles(edges, nodes=4, epsilon=1, interval_share="0.5"),
        lambda edges: st.k_stars(edges, nodes=4, k=2, epsilon=1, interval_share="0.5"),
        lambda edges: st.spanning_tree_cost(
            [(*edge, 1) for edge in edges], nodes=4, bounds=(0, 9), epsilon=1, interval_share="0.5"
        ),
    )
    for study in studies:
        known = {}
        for chosen in range(1 << len(pairs)):
            edges = [pair for place, pair in enumerate(pairs) if chosen >> place & 1]
            known[chosen] = told(lambda study=study, edges=edges: study(edges))
        moved = [abs(own[0] - known[chosen ^ 1 << place][0]) for chosen, own in known.items() for place in range(6)]
        assert 0 < max(moved) <= known[0][1].sensitivity


def survival(kind: str, z: float) -> float:
    """P(|Z| > z), by other means than ours."""
    if kind == "student":
        return 2 * float(stats.t.sf(z, 3))
    if kind == "laplace":
        return math.exp(-z)
    return 2 * float(integrate.quad(lambda x: math.sqrt(2) / math.pi / (1 + x**4), z, math.inf, epsabs=1e-13)[0])


@pytest.mark.parametrize("level", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("kind", ["quartic", "student", "laplace"])
def test_the_width_makes_up_for_the_noise_in_what_is_told(kind: str, level: str) -> None:
    """P(|Z| > c exp(X)) by numerical integration: at most what is left of the level, and not much less."""
    given: dict[str, Any] = {"delta": 1e-6} if kind == "laplace" else {"degrees": 3} if kind == "student" else {}
    smooth = SmoothInterval.of(Smooth(Fraction(4, 5), kind=kind, **given), Fraction(1, 5), Fraction(level))
    assert smooth.size is not None
    scale, missing = smooth.size.scale, 1 - float(Fraction(level))
    far = Fraction(10) ** 12  # so that whole steps do not matter
    c = smooth.noise.error(smooth.confidence, far) / float(far * smooth.noise.multiple)
    miss = integrate.quad(
        lambda x: survival(kind, c * math.exp(x)) * math.exp(-abs(x) / scale) / (2 * scale),
        -12 * scale,
        12 * scale,
        points=[0.0],
        limit=200,
    )[0]
    assert 0.85 * missing <= miss <= missing


def test_a_bound_that_is_told_is_never_of_a_rougher_kind_than_the_noise_itself() -> None:
    for epsilon, delta in (("0.01", 0), (1, 0), (1, 1e-9), (50, "0.01")):
        for share in ("0.01", "0.5", "0.99"):
            smooth = SmoothCount.at(epsilon, delta, share, "0.95").smooth
            assert smooth.size is not None
            assert smooth.gentle <= smooth.noise.smoothness
            told = smooth.size.event.sensitivity * smooth.size.lattice.unit
            assert told >= smooth.gentle + ROUNDING_SLACK
            assert smooth.size.event.sensitivity / smooth.size.event.scale == Fraction(share) * Fraction(epsilon)


# -- by rank -------------------------------------------------------------------------------------------

ONE_AND_SEVERAL = [
    (Fraction(0),),
    (Fraction(1, 10),),
    (Fraction(1, 2),),
    (Fraction(3, 4),),
    (Fraction(1),),
    (Fraction(1, 3), Fraction(3, 4)),  # the second is further from one half
]


@functools.lru_cache(maxsize=10_000)  # the same whatever epsilon is
def room_by_hand(
    points: int, shares: tuple[Fraction, ...], chosen: tuple[int, ...], lists: tuple[tuple[int, ...], ...]
) -> list[int]:
    """By how many rows, times the common denominator, each width but the last holds all the quantiles."""
    d = math.lcm(*(share.denominator for share in shares))
    room = []
    for width in widths_of(points).tolist()[:-1]:
        sides = []
        for share, point, rows in zip(shares, chosen, lists, strict=True):
            p, n = int(d * share), len(rows)
            sides += [p * n - d * sum(row < point - width for row in rows)] if share != 0 else []
            sides += [d * sum(row <= point + width for row in rows) - p * n] if share != 1 else []
        room.append(min(sides))
    return room


def losses_by_hand(interval: RankInterval, chosen: list[int], lists: list[list[int]]) -> list[int]:
    """From the definition, row by row."""
    room = room_by_hand(interval.points, interval.shares, tuple(chosen), tuple(map(tuple, lists)))
    stretches = itertools.pairwise([-math.inf, *room, math.inf])
    return [int(max(low + 1 - interval.target, interval.target - high, 0)) for low, high in stretches]


def tally(rows: list[int]) -> Any:
    return np.unique(np.array(rows, dtype=np.int64), return_counts=True)


@pytest.mark.parametrize("shares", ONE_AND_SEVERAL)
def test_intervals_by_rank_hold_the_quantiles_of_every_small_data_set(shares: tuple[Fraction, ...]) -> None:
    """The exact law of the choice, over all data sets of one to five rows on six points, and released points."""
    sets = [[v for v, n in enumerate(table) for _ in range(n)] for table in tables(6, 5) if sum(table)]
    widths, count = widths_of(6), len(shares)
    for epsilon in (Fraction(1), Fraction(8), Fraction(60)):
        interval = RankInterval.of(6, shares, 1, epsilon, Fraction(4, 5))
        for rows in sets:
            truths = [rows[max(math.ceil(share * len(rows)), 1) - 1] for share in shares]
            for chosen in ([0, 5], [2, 2], [5, 3]):
                losses = interval._losses(chosen[:count], [tally(rows)] * count, widths)
                assert losses.tolist() == losses_by_hand(interval, chosen[:count], [rows] * count)
                weights = np.exp(-float(interval.choice.factor) * losses)
                held = np.ones(widths.size, dtype=bool)
                for share, point, truth in zip(shares, chosen, truths, strict=False):
                    held &= (share == 0) | (point - widths <= truth)
                    held &= (share == 1) | (point + widths >= truth)
                assert weights[held].sum() / weights.sum() >= 0.8


@pytest.mark.parametrize("shares", ONE_AND_SEVERAL)
@pytest.mark.parametrize("rows", [1, 2])
def test_losses_of_widths_move_by_their_sensitivity_at_most(shares: tuple[Fraction, ...], rows: int) -> None:
    epsilon, count = Fraction(30), len(shares)
    interval = RankInterval.of(6, shares, rows, epsilon, LEVEL)
    sensitivity = epsilon / (2 * interval.choice.factor)
    widths, worst = widths_of(6), 0
    for table in tables(3, 5):
        for other in neighbours(table, rows):
            one, two = (tally(np.repeat(np.array([0, 2, 5]), each).tolist()) for each in (table, other))
            for chosen in ([0, 5], [2, 2], [5, 3]):
                first, second = (interval._losses(chosen[:count], [each] * count, widths) for each in (one, two))
                worst = max(worst, int(np.abs(first - second).max()))
    assert worst == sensitivity


@pytest.mark.parametrize("shares", ONE_AND_SEVERAL)
def test_losses_of_widths_move_by_their_sensitivity_at_most_when_a_row_is_replaced(
    shares: tuple[Fraction, ...],
) -> None:
    """All tables of up to five rows on three of six points, with one row moved; the sensitivity is attained."""
    epsilon, count = Fraction(30), len(shares)
    interval = RankInterval.of(6, shares, 1, epsilon, LEVEL, replaced=True)
    sensitivity = epsilon / (2 * interval.choice.factor)
    widths, worst = widths_of(6), 0
    for table in tables(3, 5):
        for one, two in itertools.permutations(range(3), 2):
            if not table[one]:
                continue
            other = list(table)
            other[one], other[two] = other[one] - 1, other[two] + 1
            lists = [tally(np.repeat(np.array([0, 2, 5]), each).tolist()) for each in (table, other)]
            for chosen in ([0, 5], [2, 2], [5, 3]):
                first, second = (interval._losses(chosen[:count], [each] * count, widths) for each in lists)
                worst = max(worst, int(np.abs(first - second).max()))
    assert worst == sensitivity


def test_widths_grow_by_a_quarter_of_a_doubling_up_to_the_whole_grid() -> None:
    for points in (1, 2, 5, 1000, 2**20 + 1):
        widths = widths_of(points)
        assert widths[0] == 0
        assert widths[-1] == points
        assert len(widths) <= 4 * math.log2(points + 1) + 3
        grown = widths[widths >= 20]
        assert np.all(grown[1:] / grown[:-1] < 1.3)


def test_the_ends_of_an_extreme_are_those_of_the_grid() -> None:
    bits = SeededBitsForTestsOnly(3)
    rows = [tally([3, 4, 5])]
    assert RankInterval.of(10, [Fraction(0)], 1, Fraction(100), LEVEL).around([3], rows, bits) == [(0, 3)]
    assert RankInterval.of(10, [Fraction(1)], 1, Fraction(100), LEVEL).around([5], rows, bits) == [(5, 9)]
    assert RankInterval.of(10, [Fraction(1, 2)], 1, Fraction(100), LEVEL).around([4], rows, bits) == [(4, 4)]


def test_an_epsilon_whose_losses_do_not_fit_a_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        RankInterval.of(2**20, [Fraction(1, 2)], 1, Fraction(1, 10**20), LEVEL)


# -- studies -------------------------------------------------------------------------------------------

BOTH = {"x": np.linspace(1, 9, 60), "y": np.linspace(2, 5, 60)}
STUDIES: dict[str, Callable[..., Any]] = {
    "median": lambda **more: st.median(ROWS, bounds=(0, 100), **more),
    "smooth median": lambda **more: st.median(ROWS, bounds=(0, 100), method="smooth", **more),
    "replaced": lambda **more: st.median(ROWS, bounds=(0, 100), method="smooth", neighbours="replace", **more),
    "quartiles": lambda **more: st.quartiles(ROWS, bounds=(0, 100), **more),
    "quantiles": lambda **more: st.quantiles(ROWS, bounds=(0, 100), q=["0.1", "0.2"], method="smooth", **more),
    "minimum": lambda **more: st.minimum(ROWS, bounds=(0, 100), **more),
    "maximum": lambda **more: st.maximum(ROWS, bounds=(0, 100), **more),
    "interquartile": lambda **more: st.interquartile_range(ROWS, bounds=(0, 100), **more),
    "smooth interquartile": lambda **more: st.interquartile_range(ROWS, bounds=(0, 100), method="smooth", **more),
    "trimmed": lambda **more: st.trimmed_mean(ROWS, bounds=(0, 100), **more),
    "winsorised": lambda **more: st.winsorised_mean(ROWS, bounds=(0, 100), **more),
    "robust": lambda **more: st.robust_regression(BOTH, bounds=(0, 10), **more),
    "triangles": lambda **more: st.triangles(KITE, nodes=8, **more),
    "stars": lambda **more: st.k_stars(KITE, nodes=8, k=2, **more),
    "tree": lambda **more: st.spanning_tree_cost(ROADS, nodes=10, bounds=(0, 5), **more),
}


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_intervals_unless_they_are_switched_off_and_costs_what_it_says(name: str) -> None:
    study = STUDIES[name]
    for found, share in ((study(epsilon=2), "0.2"), (study(epsilon=2, interval_share="0.5"), "0.5")):
        ((column, ends),) = found.intervals().items()
        assert len(ends) == len(found[column])
        for (low, high), value in zip(ends, found[column], strict=True):
            assert low <= value <= high
        assert any(word in " ".join(found.notes) for word in ("ncloses", "nclose ", "overs"))
        event = events.from_json(found.receipt["event"])
        assert compose([event]).epsilon(0) == pytest.approx(2, rel=1e-9)
        spent = [compose([each]).epsilon(0) for each in widths_in(event)]
        assert sum(spent) == pytest.approx(2 * float(Fraction(share)), rel=1e-9)
    off = study(epsilon=2, interval_share=0)
    assert off.intervals() == {}
    assert "interval_share=0" in " ".join(off.notes)
    event = events.from_json(off.receipt["event"])
    assert compose([event]).epsilon(0) == pytest.approx(2, rel=1e-9)
    for bad in (1, -0.1, "x"):
        with pytest.raises(ParameterError, match="interval_share"):
            study(epsilon=2, interval_share=bad)


def widths_in(event: events.Event) -> list[events.Event]:
    """What was paid for intervals: all but the first part of a composition, each time that it is made."""
    if isinstance(event, events.Repeated):
        return widths_in(event.event) * event.count
    assert isinstance(event, events.Composed)
    return list(event.events[1:])


def test_best_judges_by_what_remains_of_epsilon() -> None:
    """At an epsilon where all of it is enough for smooth noise, and four fifths of it are not."""
    half, rows = (Fraction(1, 2),), np.arange(50.0)
    edge = next(
        e
        for e in (Fraction(n, 10) for n in range(10, 400))
        if best(half, 1, e, Fraction(0)) == "smooth" and best(half, 1, e * 4 / 5, Fraction(0)) == "exponential"
    )
    kinds = []
    for share in (0, "0.2"):
        event = events.from_json(st.median(rows, bounds=(0, 100), epsilon=edge, interval_share=share).receipt["event"])
        kinds.append(event.events[0] if isinstance(event, events.Composed) else event)
    assert kinds == [events.Pure(edge), events.Exponential(edge * 4 / 5)]


def truth_of_the_tree() -> float:
    from scipy.sparse.csgraph import minimum_spanning_tree

    weights = np.full((10, 10), 5.0)
    for a, b, weight in ROADS:
        if a != b:
            weights[min(a, b), max(a, b)] = min(weights[min(a, b), max(a, b)], weight)
    return float(minimum_spanning_tree(np.triu(weights, 1)).sum())


QUARTILES = np.quantile(ROWS, [0.25, 0.5, 0.75], method="inverted_cdf").tolist()
TRUTHS = {
    "median": QUARTILES[1],
    "smooth median": QUARTILES[1],
    "replaced": QUARTILES[1],
    "minimum": ROWS[0],
    "maximum": ROWS[-1],
    "interquartile": QUARTILES[2] - QUARTILES[0],
    "smooth interquartile": QUARTILES[2] - QUARTILES[0],
    "trimmed": stats.trim_mean(ROWS, 0.1),
    "winsorised": np.asarray(stats.mstats.winsorize(ROWS, (0.1, 0.1))).mean(),
    "triangles": 1,
    "stars": 6,
    "tree": truth_of_the_tree(),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", TRUTHS)
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(name: str) -> None:
    """60 runs at 95 %: were each held just as often as said, more misses have a chance of 1e-11, 2e-10 for all."""
    runs = 60
    allowed = int(stats.binom.isf(1e-11, runs, 0.05)) + 1
    missed = 0
    for _ in range(runs):
        ((((low, high),),),) = (STUDIES[name](epsilon=2).intervals().values(),)
        missed += not low - 1e-9 <= TRUTHS[name] <= high + 1e-9
    assert missed <= allowed


@pytest.mark.statistical
def test_a_smooth_median_whose_noise_is_seen_in_full_is_held_as_often_as_it_says() -> None:
    """2,000 seeded releases far from any bound, at 90 %: beyond 5.9 standard deviations, 2e-9, if just held.

    And at most 99 % are held: the interval is no wider than it need be.
    """
    smooth = SmoothInterval.of(Smooth(Fraction(4, 5), kind="quartic"), Fraction(1, 5), Fraction(9, 10))
    bits = SeededBitsForTestsOnly(21)
    held = 0
    for _ in range(2000):
        _, low, high = smooth.release(0, [1000.0, 1000.0], bits)
        assert low is not None
        assert high is not None
        held += low <= 0 <= high
    assert 2000 * 0.9 - 5.9 * math.sqrt(2000 * 0.09) <= held <= 1980


def test_quantiles_of_several_rows_of_a_unit_make_room_for_all_of_them() -> None:
    one, three = (
        ByRank.of(Frame(0, 10**6, rows, False), (Fraction(1, 2),), Fraction(1), Fraction(1, 5), LEVEL).intervals[0]
        for rows in (1, 3)
    )
    assert three.target >= 3 * one.target - 2


def test_one_block_that_says_something_else_moves_the_losses_of_widths_by_their_sensitivity_at_most() -> None:
    """All pairs of three results on a small grid that differ in one block; the sensitivity is reached."""
    study = SampleAndAggregate(len, blocks=3, output_bounds=(0, 1))
    (output,) = outputs((0, 1))
    combiner = study._combiner(output, Fraction(2), Fraction(0), Fraction(1, 2), Fraction(19, 20))
    assert isinstance(combiner, _Median)
    interval = combiner.interval
    assert interval is not None
    widths, places = widths_of(interval.points), (0, 1, 2048, 4096)

    def losses(results: tuple[int, ...], chosen: int) -> Any:
        return interval._losses([chosen], [np.unique(np.array(results), return_counts=True)], widths)

    most = 0
    for results in itertools.product(places, repeat=3):
        for other, chosen in itertools.product(places, places):
            moved = np.abs(losses(results, chosen) - losses((other, *results[1:]), chosen))
            most = max(most, int(moved.max()))
    assert most == Fraction(1) / (2 * interval.choice.factor)  # the interval has an epsilon of 1
