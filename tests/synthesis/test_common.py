"""What all methods of synthesis promise, asserted for every one of them: one that joins the room is held to it as well.

Priced in whichever way a number is written, and refused in a sentence where nobody means it; charged once, before a
row is read, for an event that is worth no more than was asked; stored, and free when asked again. Whatever is done
with the model afterwards is free.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tacit
from tacit import synthesis
from tacit.curator import Curator
from tacit.curator.till import Purchase, Till
from tacit.errors import BudgetExceeded, ParameterError
from tacit.loss import compose, events
from tacit.loss.filters import choose_filter
from tacit.loss.spent import Spent
from tests.statistics.test_common import charges, watched
from tests.synthesis.test_linked import made_up, opened

ROWS = "SELECT age, sex FROM people"
DELTA = Fraction(1, 10**6)
PURE: Mapping[str, Callable[..., Any]] = {
    "best": lambda at, **price: synthesis.best(at.rows(ROWS), **price),
    "independent": lambda at, **price: synthesis.independent(at.rows(ROWS), **price),
    "small_database": lambda at, **price: synthesis.small_database(at.rows("SELECT sex FROM people"), size=2, **price),
}
WITH_DELTA: Mapping[str, Callable[..., Any]] = {
    "aim": lambda at, **price: synthesis.aim(at.rows(ROWS), delta=DELTA, **price),
    "linked": lambda at, **price: synthesis.linked(
        at, "people", "visits", columns={"people": ["sex"], "visits": ["ward"]}, delta=DELTA, **price
    ),
    "mst": lambda at, **price: synthesis.mst(at.rows(ROWS), delta=DELTA, **price),
    "mwem": lambda at, **price: synthesis.mwem(at.rows(ROWS), rounds=2, delta=DELTA, **price),
    "residual": lambda at, **price: synthesis.residual(at.rows(ROWS), delta=DELTA, **price),
}
MODELS = {**PURE, **WITH_DELTA}
NOBODY_MEANS: tuple[Any, ...] = (0, -1, "ten", "", float("inf"), float("nan"), "1e400", 1e-320, 10**400, None, [1])


class Reached(Exception):  # nothing is wrong
    """It would be charged now."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    with opened(tmp_path_factory.mktemp("common"), *made_up(60)) as curator:
        yield curator


@pytest.fixture(scope="module")
def buying(clinic: Curator) -> Mapping[str, Callable[..., Any]]:
    """Everything that takes a price: the models, and what holds one against rows."""
    twin = synthesis.independent(clinic.rows(ROWS), epsilon="0.3")
    return {**MODELS, "evaluate": lambda at, **price: synthesis.evaluate(twin, at.rows(ROWS), **price)}


def event_of(buy: Callable[..., Any], clinic: Curator, epsilon: Any) -> events.Event:
    """What would be charged; it is stopped where it would be."""
    reached: list[Purchase] = []

    def stop(till: Till, purchase: Purchase, *given: Any) -> Any:
        reached.append(purchase)
        raise Reached

    with patch.object(Till, "buy", stop), pytest.raises(Reached):
        buy(clinic, epsilon=epsilon)
    return reached[0].event


def test_every_method_is_here(buying: Mapping[str, Any]) -> None:
    offered = {name: getattr(synthesis, name) for name in synthesis.__all__}
    assert {name for name, each in offered.items() if "epsilon" in inspect.signature(each).parameters} == set(buying)


@pytest.mark.parametrize("name", [*MODELS, "evaluate"])
def test_every_way_to_write_a_tenth_is_the_same_price(clinic: Curator, buying: Any, name: str) -> None:
    tenth = event_of(buying[name], clinic, 0.1)
    for same in ("0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)):
        assert event_of(buying[name], clinic, same) == tenth


@pytest.mark.parametrize("name", [*PURE, "evaluate"])
def test_ten_times_a_tenth_fit_in_one_and_the_eleventh_does_not(clinic: Curator, buying: Any, name: str) -> None:
    rule = choose_filter(tacit.Budget(1))
    cost = rule.price(event_of(buying[name], clinic, "0.1"))
    assert cost is not None
    assert Spent(10 * cost.loss, cost.delta).within(rule.limit)
    assert not Spent(11 * cost.loss, cost.delta).within(rule.limit)


@pytest.mark.parametrize("name", [*MODELS, "evaluate"])
def test_a_price_that_nobody_means_is_refused_in_a_sentence(clinic: Curator, buying: Any, name: str) -> None:
    before = len(clinic.ledger())
    for epsilon in NOBODY_MEANS:
        with pytest.raises((ParameterError, BudgetExceeded), match="epsilon"):
            buying[name](clinic, epsilon=epsilon)
    assert len(clinic.ledger()) == before


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_charged_once_and_free_when_asked_again_or_used(clinic: Curator, name: str) -> None:
    before, price = charges(clinic), Fraction(1, 2 + list(MODELS).index(name))  # `best` is one of the others
    with watched(clinic) as seen:
        first = MODELS[name](clinic, epsilon=price)
    assert min(seen) == charges(clinic) == before + 1
    delta = DELTA if name in WITH_DELTA else 0
    assert (first.receipt["epsilon"], Fraction(first.receipt["delta"])) == (str(price), delta)
    event = events.from_json(first.receipt["event"])
    if delta:
        assert compose([event]).delta(price) <= delta
    else:
        cost = choose_filter(tacit.Budget(price)).price(event)
        assert cost is not None
        assert (cost.loss, cost.delta) == (price, 0)
    again = MODELS[name](clinic, epsilon=price)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.receipt == first.receipt
    assert str(again.sample(5, seed=1)) == str(first.sample(5, seed=1))
    assert charges(clinic) == before + 1
