"""Studies that choose: their exact laws on neighbours, their choices without noise, and what they refuse."""

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
from tacit.mechanisms import Laplace
from tacit.statistics.domains import domain_of
from tacit.statistics.selection.bernoulli import bernoulli_comparison, bernoulli_parameter
from tacit.statistics.selection.decisions import decide, meeting_date, whole_losses
from tacit.statistics.selection.most_frequent import METHODS, mode, share_of, top_k
from tacit.statistics.selection.prices import best_price, digital_goods_auction
from tacit.statistics.source import source_of
from tests.statistics.selection_laws import Watched, exponential, in_order, permute_and_flip, worst

SITES = ["a", "b", "c", "d"]
HUGE = 10_000


def visits(rows: list[tuple[int, str, float]], rows_per_unit: int = 1, epsilon: float = 50) -> tacit.Curator:
    frame = pd.DataFrame(rows, columns=["who", "site", "bid"])
    return tacit.protect(
        frame,
        unit="who",
        rows_per_unit=rows_per_unit,
        columns={"site": tacit.one_of(*SITES), "bid": tacit.between(0, 10)},
        budget=tacit.Budget(epsilon=epsilon, delta=1e-6),
    )


BASE = [(place, site, bid) for place, (site, bid) in enumerate([("a", 3.0), ("a", 5.0), ("b", 3.0), ("c", 9.0)])]


@pytest.mark.parametrize("added", [["a"] * 3, ["b"] * 3, ["a", "b", "c"], ["d", "d"], []])
def test_the_mode_on_a_curator_is_private_for_all_rows_of_a_unit(
    added: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch)
    more = BASE + [(99, site, 1.0) for site in added]
    one = watched.of(lambda: mode(visits(BASE, 3), "data.site", epsilon=1))
    other = watched.of(lambda: mode(visits(more, 3), "data.site", epsilon=1))
    assert one[0] == other[0] == Fraction(1, 3)  # one point of score adds epsilon/r to a log-weight
    assert [b - a for a, b in zip(one[1], other[1], strict=True)] == [added.count(site) for site in SITES]
    assert worst(permute_and_flip(*one), permute_and_flip(*other)) <= 1 + 1e-9


@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_the_k_most_frequent_in_order_are_private_as_a_whole(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    law = exponential if method == "gumbel" else permute_and_flip
    data = ["a", "a", "b"]
    laws = []
    for extra in ([], ["b"]):
        factor, scores = watched.of(
            lambda extra=extra: top_k(data + extra, k=2, values=SITES, epsilon=1, method=method)
        )
        laws.append(in_order(law, factor, scores, 2))
    losses = [abs(math.log(laws[0][each] / laws[1][each])) for each in laws[0]]
    assert sum(laws[0].values()) == pytest.approx(1)
    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.3  # and the check would see a third of it


def test_counts_shown_in_one_shot_move_by_the_rows_of_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, np.ndarray]] = []

    def release(mechanism: Laplace, values: Any, *, bits: Any = None) -> Any:
        seen.append((mechanism.event, np.array(values)))
        return np.array(values)

    monkeypatch.setattr(Laplace, "release", release)
    for rows in (BASE, [*BASE, (99, "b", 1.0), (99, "d", 2.0)]):
        top_k(visits(rows, 2), "data.site", k=2, epsilon="1/2")
    assert np.abs(seen[0][1] - seen[1][1]).sum() == 2
    assert [event for event, _ in seen] == [events.DiscreteLaplace(2, Fraction(4))] * 2


def test_shares_of_choices_compose_to_what_was_asked() -> None:
    def event(share: Fraction) -> events.Event:
        return events.Exponential(share)

    assert share_of(Fraction(1), Fraction(0), 20, event) == Fraction(1, 20)
    share = share_of(Fraction(1), Fraction(1, 10**6), 20, event)
    assert share > Fraction(1, 20)
    assert compose([event(share)] * 20).epsilon(1e-6) <= 1
    assert compose([event(share * Fraction(102, 100))] * 20).epsilon(1e-6) > 1


def test_choices_without_noise_are_the_plain_ones() -> None:
    rng = np.random.default_rng(5)
    sites = rng.choice(SITES, 300, p=[0.2, 0.45, 0.3, 0.05]).tolist()
    ranked = sorted(SITES, key=lambda site: -sites.count(site))
    assert mode(sites, values=SITES, epsilon=HUGE).value == ranked[0]
    for method in METHODS:
        found = top_k(sites, k=3, values=SITES, epsilon=HUGE, method=method)
        assert list(found["x"]) == ranked[:3]
    assert list(top_k(sites, k=3, values=SITES, epsilon=HUGE)["rows"]) == [sites.count(site) for site in ranked[:3]]
    bids = rng.integers(0, 100, 200) / 10
    prices = [1, 2.5, "4.2", 6, 7.7, 9.9]
    revenue = {float(price): float(price) * np.count_nonzero(bids >= float(price)) for price in prices}
    best = max(revenue, key=lambda price: revenue[price])
    assert best_price(bids, prices=prices, bounds=(0, 10), epsilon=HUGE).value == best
    assert digital_goods_auction(bids, prices=prices, bounds=(0, 10), epsilon=HUGE).value == best
    ages = rng.integers(0, 80, 50)
    loss = {guess: np.abs(ages - guess).sum() for guess in range(0, 80, 7)}
    chosen = decide(ages, decisions=range(0, 80, 7), loss=lambda d, x: abs(d - x), bounds=(0, 80), epsilon=HUGE)
    assert chosen.value == min(loss, key=lambda guess: loss[guess])
    welcome = rng.random((30, 4)) < [0.2, 0.8, 0.5, 0.4]
    assert meeting_date(welcome, ["mon", "tue", "wed", "thu"], epsilon=HUGE).value == "tue"
    flips = rng.random(5_000) < 0.37
    assert bernoulli_parameter(flips, bounds=(0, 1), epsilon=HUGE).value == pytest.approx(flips.mean(), abs=0.005)


def test_a_price_a_cent_too_high_earns_nothing_and_is_not_chosen() -> None:
    found = best_price([3.01] * 40, prices=[1.0, 3.00, 3.01, 3.02], bounds=(0, 10), epsilon=HUGE)
    assert found.value == 3.01


@pytest.mark.parametrize("study", [best_price, digital_goods_auction])
@pytest.mark.parametrize(("before", "after"), [(None, 10.0), (None, 2.0), (0.0, 10.0), (2.0, 10.0), (1.0, 2.0)])
def test_prices_are_private_for_a_bid_more_and_for_another_bid(
    study: Any, before: float | None, after: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch)
    bids = [1.0, 2.0, 2.0, 10.0]
    laws, scores = [], []
    for bid in (before, after):
        given = bids if bid is None else [*bids, bid]
        factor, revenue = watched.of(
            lambda given=given: study(given, prices=[1, 2, 7, 10], bounds=(0, 10), epsilon="1/2")
        )
        assert factor == Fraction(1, 20)
        scores.append(revenue)
        laws.append(permute_and_flip(factor, revenue))
    change = [b - a for a, b in zip(*scores, strict=True)]
    assert min(change) >= 0  # all in one direction, also for a bid in place of another
    assert max(change) <= 10
    assert worst(*laws) <= 0.5 + 1e-9


def test_nobody_gains_more_from_a_lie_than_the_auction_states(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    prices, value = [1, 2, 7, 10], 7.0

    def gain(bid: float) -> float:
        factor, revenue = watched.of(
            lambda: digital_goods_auction([1.0, 8.0, 8.0, bid], prices=prices, bounds=(0, 10), epsilon=1)
        )
        law = permute_and_flip(factor, revenue)
        return sum(mass * (value - price) for mass, price in zip(law, prices, strict=True) if bid >= price)

    truth = gain(value)
    gains = [gain(bid) for bid in (0.0, 1.0, 1.5, 2.0, 5.0, 7.0, 10.0)]
    assert max(gains) > truth  # there is something to be gained ...
    assert max(gains) <= math.e * truth  # ... and this is all


def test_decisions_are_private_for_any_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    calls: list[Any] = []
    table = {("x", "a"): 5.0, ("x", "b"): -3.0, ("y", "a"): 7.5, ("y", "b"): -2.0, ("z", "a"): 5.5, ("z", "b"): -7.0}

    def loss(decision: str, site: str) -> float:
        calls.append((decision, site))
        return table.get((decision, site), 100.0)

    laws = []
    for extra in ([], ["b"]):
        factor, scores = watched.of(
            lambda extra=extra: decide(
                ["a", "a", "b", *extra], decisions=["x", "y", "z"], loss=loss, values=["a", "b"], epsilon=1
            )
        )
        laws.append(permute_and_flip(factor, scores))
        moved = scores
    # the widest cell is b, from -7 to -2: that difference is the sensitivity, not the largest loss
    assert float(1 / factor) == pytest.approx(1 << 20)
    assert worst(*laws) <= 1 + 1e-9
    assert sorted(set(calls)) == sorted(table)  # every public cell, and no row
    assert len(calls) == 2 * len(table)  # in two studies
    assert moved
    _, step = whole_losses(["x", "y", "z"], [domain_of(source_of([], values=["a", "b"]).only)], loss)
    assert step == Fraction(5, 1 << 20)


def test_losses_of_bins_are_taken_at_their_middle() -> None:
    seen: list[float] = []

    def loss(decision: float, x: float) -> float:
        seen.append(x)
        return abs(decision - x)

    found = decide(
        np.array([1.2, 8.7, 9.1]), decisions=[1, 9], loss=loss, bins={"x": [0, 5, 10]}, bounds=(0, 10), epsilon=HUGE
    )
    assert sorted(set(seen)) == [2.5, 7.5]
    assert found.value == 9


def test_a_date_is_private_for_someone_who_is_free_on_every_day(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    laws = []
    for extra in ([], [[1, 0]]):
        rows = np.array([[1, 1], [0, 1], *extra])
        factor, scores = watched.of(lambda rows=rows: meeting_date(rows, ["mon", "tue"], epsilon=1))
        laws.append(permute_and_flip(factor, scores))
    assert factor == 1
    assert scores == [2, 2]
    assert worst(*laws) <= 1 + 1e-9
    rated = watched.of(lambda: meeting_date(np.array([[5, 1], [0, 2]]), ["mon", "tue"], bounds=(0, 5), epsilon=1))
    assert rated == (Fraction(1, 5), [5, 3])


def test_who_says_nothing_of_one_date_counts_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    asked = {"mon": [1.0, float("nan"), 1.0], "tue": [1.0, 1.0, 0.0]}
    _, scores = watched.of(lambda: meeting_date(asked, epsilon=1))
    assert scores[0] == scores[1] > 0


def test_the_tempered_likelihood_has_the_power_of_an_added_flip(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.mechanisms import BernoulliParameter

    seen: list[Any] = []

    def release(mechanism: BernoulliParameter, heads: int, tails: int, *, bits: Any = None) -> float:
        seen.append((mechanism.power, heads, tails))
        return 0.5

    monkeypatch.setattr(BernoulliParameter, "release", release)
    bernoulli_parameter(np.array([True, True, False]), bounds=(0, 1), epsilon="0.1")
    power, heads, tails = seen[0]
    assert (heads, tails) == (2, 1)
    assert float(power) == pytest.approx(0.1 / math.log(10), rel=1e-9)


def test_the_comparison_shows_one_over_n_and_one_over_its_root() -> None:
    found = bernoulli_comparison(epsilon=1, flips=(1_000, 100_000))
    drawn, counted = found["exponential"], found["laplace"]
    assert counted[0] / counted[1] == pytest.approx(100)
    assert drawn[0] / drawn[1] == pytest.approx(10, rel=0.05)
    assert found.chart_spec()["layer"][1]["mark"] == "line"
    assert "no data" in found.card()
    # O(1/n) of the variance: theta (1 - theta)/(power n), power = epsilon/(2 ln 10) for a flip that is replaced
    assert drawn[1] == pytest.approx(math.sqrt(0.21 * 2 * math.log(10) / 100_000), rel=0.05)


def test_empty_and_strange_data_give_a_private_result() -> None:
    nothing = {"values": SITES, "epsilon": 1}
    assert mode([], **nothing).value in SITES
    assert len(top_k([None, "q", float("nan")], k=4, **nothing)) == 4
    for bids in ([], [float("nan")], [-5.0, 1e300], [2.0]):
        assert best_price(bids, prices=[1, 2], bounds=(0, 10), epsilon=1).value in (1, 2)
    assert meeting_date(np.zeros((0, 2)), ["mon", "tue"], epsilon=1).value in ("mon", "tue")
    assert 0.1 < bernoulli_parameter(np.zeros(0), values=[0, 1], epsilon=1).value < 0.9


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (lambda: mode(["a"], epsilon=1), "exactly one"),
        (lambda: mode(["a"], values=SITES, epsilon=0), "above 0"),
        (lambda: mode([1.5], bounds=(0, 2), epsilon=1), "bins"),
        (lambda: top_k(["a"], k=5, values=SITES, epsilon=1), "at most 4"),
        (lambda: top_k(["a"], k=1, values=SITES, epsilon=1, method="best"), "one of"),
        (lambda: top_k(["a"], k=1, values=SITES, epsilon=1, delta=1e-6), "no use"),
        (lambda: best_price([1.0], prices=[], bounds=(0, 1), epsilon=1), "at least one"),
        (lambda: best_price([1.0], prices=[0, 1], bounds=(0, 1), epsilon=1), "above 0"),
        (lambda: best_price([1.0], prices=np.array([1.0]), bounds=(0, 1), epsilon=1), "declared_public"),
        (lambda: best_price([1.0], prices=[math.pi], bounds=(0, 9), epsilon=1), "fewer digits"),
        (lambda: best_price([1.0], prices=[1], bounds=(9, 0), epsilon=1), "lower one first"),
        (lambda: best_price(["a"], prices=[1], epsilon=1), "exactly one"),
        (lambda: decide(["a"], decisions=[1, 2], loss=lambda d, s: 0, values=SITES, epsilon=1), "apart"),
        (lambda: decide(["a"], decisions=[1, 2], loss=lambda d, s: d / 0, values=SITES, epsilon=1), "division"),
        (lambda: decide(["a"], decisions=[1, 2], loss=lambda d, s: math.nan, values=SITES, epsilon=1), "finite"),
        (lambda: meeting_date(np.zeros((3, 2)), ["mon", "tue"], bounds=(-1, 1), epsilon=1), "from 0 up"),
        (lambda: bernoulli_parameter(["a"], values=SITES, epsilon=1), "two values"),
        (
            lambda: bernoulli_parameter(np.array([True]), bounds=(0, 1), between=(0.9, 0.1), epsilon=1),
            "lower one first",
        ),
        (lambda: bernoulli_comparison(epsilon=1, flips=()), "at least one"),
        (lambda: mode(["a"], values=SITES, epsilon=1, level=1), "strictly between"),
    ],
)
def test_public_mistakes_are_refused(study: Any, words: str) -> None:
    with pytest.raises((TacitError, ZeroDivisionError), match=words):
        study()


def test_several_rows_of_a_unit_are_refused_where_the_theorem_is_about_one() -> None:
    several = visits(BASE, 2)
    with pytest.raises(QuestionError, match="one row of each unit"):
        digital_goods_auction(several, "data.bid", prices=[1], epsilon=1)
    with pytest.raises(QuestionError, match="one row of each unit"):
        bernoulli_parameter(several.rows("SELECT bid > 3 AS high FROM data"), epsilon=1)
    assert several.spent().loss == 0
    with pytest.raises(ParameterError, match="policy states"):
        mode(several, "data.site", values=SITES, epsilon=1)
