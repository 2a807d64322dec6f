"""What stands for a study in the ledger tells apart all that may differ, and its event is worth what was asked."""

from __future__ import annotations

import functools
import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import noise
from tacit import statistics as st
from tacit.errors import QuestionError
from tacit.loss import compose, events
from tacit.mechanisms import PermuteAndFlip
from tacit.statistics.prepaid import price_of
from tacit.statistics.source import ArraySource, Source, source_of

NUMBERS = source_of({"x": np.zeros(3)}, bounds=(0, 10))
PAIRS = source_of({"x": np.zeros(3), "y": np.zeros(3)}, bounds=(0, 10))
THREE = source_of({"x": np.zeros(3), "y": np.zeros(3), "z": np.zeros(3)}, bounds=(0, 10))
TEXTS = source_of({"a": np.array(["p"]), "b": np.array(["u"])}, values={"a": ["p", "q", "r"], "b": ["u", "v"]})
TEXT = source_of({"a": np.array(["p"])}, values={"a": ["p", "q", "r"]})
COIN = source_of({"a": np.array(["u"])}, values={"a": ["u", "v"]})
MIXED = source_of({"x": np.zeros(1), "a": np.array(["p"])}, bounds={"x": (0, 10)}, values={"a": ["p", "q", "r"]})


def likes(decision: int, value: float) -> float:
    return abs(decision - value)


def dislikes(decision: int, value: float) -> float:
    return -abs(decision - value)


def first_run(candidate: Any, rows: Any, epsilon: Any) -> float:
    return 1.0


def other_run(candidate: Any, rows: Any, epsilon: Any) -> float:
    return 2.0


def of(study: Any, **options: Any) -> Any:
    return functools.partial(study, **options)


smooth = {"method": "smooth", "delta": "0.001"}
ptr = {"method": "ptr", "delta": "0.001"}

ALIKE: list[tuple[Source, list[Any]]] = [
    (NUMBERS, [of(st.mean), of(st.variance), of(st.mean_interval)]),
    (NUMBERS, [of(st.median), of(st.median, method="smooth"), of(st.median, **smooth), of(st.quartiles)]),
    (NUMBERS, [of(st.median, bound=1, **ptr), of(st.median, bound=2, **ptr)]),
    (NUMBERS, [of(st.median, interval_share=share) for share in ("0.1", "0.2", "0.5", 0)]),
    (NUMBERS, [of(st.interquartile_range, interval_share=share) for share in ("0.1", "0.2", 0)]),
    (NUMBERS, [of(st.trimmed_mean, interval_share=share) for share in ("0.1", "0.2", 0)]),
    (PAIRS, [of(st.robust_regression, interval_share=share) for share in ("0.1", "0.2", 0)]),
    (NUMBERS, [of(st.quantile, q=q) for q in ("0.5", "0.6")] + [of(st.minimum), of(st.maximum)]),
    (NUMBERS, [of(st.quantiles, q=q) for q in (["0.5"], ["0.6"], ["0.1", "0.2", "0.3"], ["0.1", "0.2", "0.4"])]),
    (NUMBERS, [of(each, trim=t) for each in (st.trimmed_mean, st.winsorised_mean) for t in ("0.1", "0.2")]),
    (NUMBERS, [of(st.interquartile_range, ratio=ratio, **ptr) for ratio in (2, 3)]),
    (NUMBERS, [of(st.interquartile_range, method=method) for method in ("exponential", "smooth")]),
    (NUMBERS, [of(st.histogram, bins=bins) for bins in (4, 5, [0, 1, 10], [0, 2, 10])]),
    (NUMBERS, [of(st.histogram, bins=4, non_negative=False), of(st.histogram, bins=4), of(st.density, bins=4)]),
    (NUMBERS, [of(st.histogram, bins="private", parts=parts) for parts in (3, 4)]),
    (NUMBERS, [of(st.histogram, bins="private", edges_share=share) for share in ("0.2", "0.3")]),
    (NUMBERS, [of(st.density), of(st.density, bins=4), of(st.density, bins=5), of(st.sorted_histogram, bins=4)]),
    (NUMBERS, [of(st.best_price, prices=p) for p in ([1, 2], [1, 3])] + [of(st.digital_goods_auction, prices=[1, 2])]),
    (NUMBERS, [of(st.t_test, mean=mean) for mean in (3, 4)]),
    (NUMBERS, [of(st.decide, decisions=[1, 2], loss=each, bins={"x": 4}) for each in (likes, dislikes)]),
    (
        NUMBERS,
        [of(st.decide, decisions=d, loss=likes, bins={"x": n}) for d, n in (([1, 2], 5), ([1, 3], 5), ([1, 2], 6))],
    ),
    (PAIRS, [of(st.covariance), of(st.correlation), of(st.pca), of(st.pca, components=1)]),
    (PAIRS, [of(st.covariance, norm=norm, radius=radius) for norm in ("l1", "l2") for radius in ("0.5", "0.6")]),
    (PAIRS, [of(st.linear_regression, target=target) for target in ("x", "y")]),
    (PAIRS, [of(st.robust_regression), of(st.robust_regression, matchings=2), of(st.meeting_date)]),
    (PAIRS, [of(st.table, bins={"x": x, "y": y}) for x, y in ((2, 3), (3, 2), (2, [0, 1, 2, 10]))]),
    (TEXT, [of(st.mode), of(st.top_k, k=1), of(st.top_k, k=2), of(st.top_k, k=2, method="gumbel")]),
    (TEXT, [of(st.top_k, k=2, method="gumbel"), of(st.top_k, k=2, method="peeling"), of(st.histogram)]),
    (TEXT, [of(st.proportion, value=value) for value in ("p", "q")]),
    (TEXT, [of(st.chi_square, probabilities=p) for p in (["0.5", "0.25", "0.25"], ["0.25", "0.5", "0.25"])]),
    (COIN, [of(st.bernoulli_parameter, between=ends) for ends in (("0.1", "0.9"), ("0.1", "0.8"))]),
    (TEXTS, [of(st.ab_test, by="b", value=value) for value in ("p", "q")] + [of(st.chi_square), of(st.table)]),
    (TEXTS, [of(st.ab_test, by="a", value="u", groups=groups) for groups in (("p", "q"), ("q", "p"), ("p", "r"))]),
    (MIXED, [of(each, by="a", groups=g) for each in (st.compare, st.t_test) for g in (("p", "q"), ("q", "p"))]),
    (
        NUMBERS,
        [
            of(st.choose_hyperparameters, candidates=candidates, run=run, law=law, name=name, trials=trials)
            for candidates, run, law, name, trials in (
                ([1, 2], first_run, "logarithmic", "run", 10),
                ([1, 3], first_run, "logarithmic", "run", 10),
                ([1, 2], other_run, "logarithmic", "run", 10),
                ([1, 2], first_run, "geometric", "run", 10),
                ([1, 2], first_run, "logarithmic", "another", 10),
                ([1, 2], first_run, "logarithmic", "run", 11),
            )
        ],
    ),
]


def key(source: Source, study: Any, **more: Any) -> str:
    asked, price = price_of(source, None, lambda data: study(data, **{"epsilon": 1, **more}))
    return json.dumps([asked, price.event.to_json(), str(price.epsilon), str(price.delta)], sort_keys=True)


@pytest.mark.parametrize(("source", "studies"), ALIKE, ids=[str(place) for place in range(len(ALIKE))])
def test_an_option_that_shapes_a_result_is_part_of_its_key(source: Source, studies: list[Any]) -> None:
    keys = [key(source, study) for study in studies]
    assert len(set(keys)) == len(keys)
    assert key(source, studies[0]) == keys[0]
    assert key(source, studies[0], epsilon="0.5") not in keys
    assert key(source, studies[0], level="0.9") not in keys


@pytest.mark.parametrize(("source", "studies"), ALIKE, ids=[str(place) for place in range(len(ALIKE))])
def test_the_event_of_a_study_is_worth_its_price(source: Source, studies: list[Any]) -> None:
    """Not more; and not less, as it would be with a draw that was forgotten."""
    for study in studies:
        _, price = price_of(source, None, functools.partial(study, epsilon=1))
        assert price.epsilon == 1
        # a hair more delta, as floats are used to work it out
        worth = float(compose([price.event]).epsilon(price.delta * Fraction(1_000_000_001, 1_000_000_000)))
        assert 0.9 <= worth <= 1 + 1e-9


def test_every_count_of_a_density_is_private_for_all_rows_of_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArraySource, "rows_per_unit", property(lambda source: 3))
    _, price = price_of(NUMBERS, None, lambda data: st.density(data, epsilon=1))
    assert isinstance(price.event, events.Composed)
    assert [getattr(each, "sensitivity", None) for each in price.event.events] == [3, 3]


@pytest.mark.parametrize(
    ("source", "study"),
    [
        (NUMBERS, of(st.mean_interval)),
        (NUMBERS, of(st.t_test, mean=3)),
        (NUMBERS, of(st.digital_goods_auction, prices=[1, 2])),
        (MIXED, of(st.t_test, by="a", groups=("p", "q"))),
        (MIXED, of(st.compare, by="a", groups=("p", "q"))),
        (TEXTS, of(st.ab_test, by="b", value="p")),
        (TEXTS, of(st.chi_square)),
        (TEXT, of(st.proportion, value="p")),
        (COIN, of(st.bernoulli_parameter)),
    ],
)
def test_a_theorem_about_single_rows_refuses_several_of_a_unit(
    monkeypatch: pytest.MonkeyPatch, source: Source, study: Any
) -> None:
    price_of(source, None, functools.partial(study, epsilon=1))
    monkeypatch.setattr(ArraySource, "rows_per_unit", property(lambda source: 2))
    with pytest.raises(QuestionError, match="one row of each unit"):
        study(source, epsilon=1)


@pytest.mark.parametrize(
    ("source", "study"),
    [
        (NUMBERS, of(st.best_price, prices=[1, 2])),
        (NUMBERS, of(st.decide, decisions=[1, 2], loss=likes, bins={"x": 4})),
        (PAIRS, of(st.meeting_date)),
        (TEXT, of(st.mode)),
    ],
)
def test_a_choice_by_score_is_private_for_all_rows_of_a_unit(
    monkeypatch: pytest.MonkeyPatch, source: Source, study: Any
) -> None:
    """A unit moves the scores by so many times what a row does, and one point of score weighs so much less."""
    seen: list[Fraction] = []

    def choose(choice: PermuteAndFlip, candidates: Any, **facts: Any) -> Any:
        seen.append(choice.factor)
        return candidates[0]

    monkeypatch.setattr(PermuteAndFlip, "choose", choose)
    for rows in (1, 3):
        monkeypatch.setattr(ArraySource, "rows_per_unit", rows)
        study(source, epsilon=1)
    assert seen[0] == 3 * seen[1]


@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_one_choice_after_the_other_is_private_for_all_rows_of_a_unit(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    seen: list[Fraction] = []

    def race(scores: Any, factor: Fraction, bits: Any) -> int:
        seen.append(factor)
        return 0

    for name in ("exponential_race", "one_sided_race"):
        monkeypatch.setattr(noise, name, race)
    monkeypatch.setattr(ArraySource, "rows_per_unit", property(lambda source: 3))
    st.top_k(TEXT, k=2, method=method, epsilon=1)
    assert seen == [Fraction(1, 6)] * 2


def test_columns_and_their_order_are_part_of_the_key() -> None:
    chosen = list(itertools.permutations(["x", "y", "z"], 2))
    keys = {
        json.dumps(price_of(THREE, each, lambda data: st.robust_regression(data, epsilon=1))[0], sort_keys=True)
        for each in chosen
    }
    assert len(keys) == len(chosen)


def test_sets_of_tables_and_how_they_are_measured_are_part_of_the_key() -> None:
    asked: list[tuple[Any, str]] = [
        ([("a", "b")], "asked"),
        ([("a",), ("b",)], "asked"),
        ([("a",), ("b",)], "joint"),
        ([("a",)], "asked"),
    ]
    keys = [key(TEXTS, functools.partial(st.tables, sets=sets, measure=measure)) for sets, measure in asked]
    assert len(set(keys)) == len(keys)


def test_what_is_asked_of_a_graph_is_part_of_the_key() -> None:
    def graph_key(nodes: int, study: Any) -> str:
        rows = source_of({"from": np.zeros(1, dtype=int), "to": np.ones(1, dtype=int)}, bounds=(0, nodes - 1))
        return key(rows, study)

    studies = [
        of(st.triangles),
        of(st.triangles, delta="0.01"),
        of(st.k_stars, k=2),
        of(st.k_stars, k=3),
        of(st.degree_histogram),
        of(st.edge_count),
        of(st.minimum_cut),
        of(st.minimum_cut, contractions=100),
    ]
    keys = [graph_key(30, study) for study in studies] + [graph_key(31, study) for study in studies]
    assert len(set(keys)) == len(keys)
