"""Bins whose edges are bought: at quantiles, for a part of the one charge, and never from the data unpaid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.loss.accountants import zcdp
from tacit.noise import secure
from tacit.statistics.source import source_of
from tacit.synthesis.bought import PARTS, edges_by_epsilon, edges_by_rho, public_and_bought, with_bought
from tacit.synthesis.cells import layout_of
from tacit.synthesis.mst import plan_mst


def skewed(count: int = 20_000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    income = np.minimum(rng.lognormal(3, 1, count), 100_000.0)
    return {"income": income, "rich": (income > np.median(income)).astype(np.int64)}


BOUNDS = {"income": (0.0, 100_000.0), "rich": (0, 1)}


def parts(data: dict[str, np.ndarray], rho: Fraction = Fraction(1)):  # type: ignore[no-untyped-def]
    source = source_of(data, bounds=BOUNDS)
    public, bought = public_and_bought(source, {"income": "private"})
    layout = with_bought(layout_of(source, public), bought)
    return source, layout, edges_by_rho(source, layout, rho)


def test_bins_hold_about_equally_many_rows() -> None:
    data = skewed()
    source, layout, (edges, _) = parts(data)
    settled = edges.settled(source.paid({}, None, None), layout, secure())
    field = settled.fields[0]
    counts, _ = np.histogram(data["income"], [float(field.value(each)) for each in field.edges])
    assert field.size == PARTS
    assert counts.min() > len(data["income"]) / PARTS * 0.8
    assert counts.max() < len(data["income"]) / PARTS * 1.2
    equal, _ = np.histogram(data["income"], np.linspace(0, 100_000, PARTS + 1))
    assert equal.max() > 0.99 * len(data["income"])


def test_the_price_of_edges_is_part_of_the_one_charge() -> None:
    rho = Fraction(3, 100)
    _, _, (edges, left) = parts(skewed(10), rho)
    assert edges.rho + left == rho
    assert 0.0999 < float(edges.rho / rho) <= 0.1
    told = sum(zcdp.cost(each)[0] * 1 for each in (events.Composed(edges.events),))
    assert told == pytest.approx(float(edges.rho), rel=1e-9)
    twin = synthesis.mst(skewed(500), epsilon=1, delta=1e-6, bounds=BOUNDS, bins={"income": "private"})
    charged = events.from_json(twin.receipt["event"])
    assert isinstance(charged, events.Composed)
    assert isinstance(charged.events[0], events.Repeated)
    assert isinstance(charged.events[0].event, events.Exponential)
    assert synthesis.aim(skewed(500), epsilon=1, delta=1e-6, bounds=BOUNDS, bins="private").receipt["epsilon"] == "1"


def test_mst_with_edges_stays_within_its_budget_and_its_noise_pays_for_them() -> None:
    source, layout, _ = parts(skewed(10))
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    with_edges = plan_mst(2, 1, epsilon, delta, lambda rho: edges_by_rho(source, layout, rho))
    without = plan_mst(2, 1, epsilon, delta)
    assert compose([with_edges.event]).delta(epsilon) <= delta
    assert with_edges.single.scale > without.single.scale * 1.03


def test_independent_splits_epsilon_between_edges_and_counts() -> None:
    source, layout, _ = parts(skewed(10))
    edges, left = edges_by_epsilon(source, layout, Fraction(1))
    assert sum(each.epsilon for _, _, each in edges.choosers) + left == 1
    assert len(edges.events) == 1
    twin = synthesis.independent(skewed(2_000), epsilon=4, bounds=BOUNDS, bins="private")
    charged = events.from_json(twin.receipt["event"])
    assert compose([charged]).epsilon(0) == pytest.approx(4, rel=1e-9)


def test_quantile_bins_are_nearer_to_a_skewed_column_than_equal_ones() -> None:
    data = skewed()
    twins = [synthesis.mst(data, epsilon=1, delta=1e-6, bounds=BOUNDS, bins=each) for each in ("private", 16)]
    medians = [abs(np.median(each.sample(20_000, seed=1)["income"]) - np.median(data["income"])) for each in twins]
    assert medians[0] < 2
    assert medians[1] > 100


def test_no_row_and_few_rows_still_give_bins() -> None:
    for count in (0, 1, 3):
        data = {name: own[:count] for name, own in skewed(5).items()}
        twin = synthesis.mst(data, epsilon=1, delta=1e-6, bounds=BOUNDS, bins={"income": "private"})
        assert len(twin.sample(10)) == 10


def test_bins_of_whole_numbers_dates_and_missing_values_are_bought_on_a_curator() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": range(3_000), "spent": rng.geometric(0.01, 3_000).clip(0, 100_000).astype(float)})
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.geometric(0.02, 3_000).clip(0, 3_000), unit="D")
    frame.loc[rng.random(3_000) < 0.3, "spent"] = np.nan
    clinic = tacit.protect(
        frame,
        unit="who",
        columns={"spent": tacit.between(0, 100_000), "day": tacit.date_between("2020-01-01", "2029-12-31")},
        budget=tacit.Budget(epsilon=30, delta=1e-4),
    )
    twin = synthesis.aim(
        clinic.rows("SELECT spent, day FROM data"), epsilon=10, delta=1e-5, bins="private", nulls=["spent"]
    )
    drawn = twin.sample(3_000, seed=1).to_pandas()
    assert drawn["spent"].isna().mean() == pytest.approx(0.3, abs=0.05)
    assert abs(drawn["spent"].median() - frame["spent"].median()) < 15
    assert abs((drawn["day"].median() - frame["day"].median()).days) < 10


@pytest.mark.parametrize("method", [synthesis.mwem])
def test_methods_over_the_whole_domain_refuse_private_bins(method) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match="private"):
        method(skewed(10), epsilon=1, delta=0, bounds=BOUNDS, bins={"income": "private"})


def test_private_bins_are_refused_where_they_cannot_be() -> None:
    data = {"ward": np.array(["a", "b"], dtype=object), "age": np.array([1, 2])}
    facts = {"bounds": {"age": (0, 1_000)}, "values": {"ward": ["a", "b"]}}
    with pytest.raises(ParameterError, match="its values are listed"):
        synthesis.mst(data, epsilon=1, delta=1e-6, bins={"ward": "private"}, **facts)
    with pytest.raises(ParameterError, match="constraints or a prior"):
        synthesis.mst(data, epsilon=1, delta=1e-6, bins="private", constraints=["age > 3"], **facts)
    with pytest.raises(ParameterError, match="private"):
        synthesis.mst(data, epsilon=1, delta=1e-6, bins="quantiles", **facts)


def test_edges_of_several_rows_of_a_unit_have_their_sensitivity() -> None:
    frame = pd.DataFrame({"who": np.repeat(range(10), 3), "income": np.arange(30.0)})
    clinic = tacit.protect(frame, unit="who", columns={"income": tacit.between(0.0, 100.0)}, budget=9, rows_per_unit=3)
    source = source_of(clinic.rows("SELECT income FROM data"))
    layout = with_bought(layout_of(source, None), frozenset({"income"}))
    edges, _ = edges_by_epsilon(source, layout, Fraction(1))
    assert [chooser.sensitivity for _, _, chooser in edges.choosers] == [3]
