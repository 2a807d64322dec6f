"""What all federated computations promise, asserted for every one: one that joins the room is held to it as well.

What was asked is what all rounds together tell, in whichever way it is written; what nobody means is refused in a
sentence before anybody is called; a description is one text; and a client tells once, whoever asks again.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import Budget, federated
from tacit.errors import BudgetExceeded, ParameterError
from tacit.federated import fitting
from tacit.federated.distributed import studies
from tacit.federated.refusals import Refused
from tacit.loss import compose, events
from tacit.loss.events import Event
from tacit.loss.filters import choose_filter
from tacit.loss.spent import Spent

KEY = bytes(range(32))
DELTA = Fraction(1, 10**6)
DESCRIBED: Mapping[str, Callable[..., Any]] = {
    "Collection": lambda **price: federated.Collection("steps", federated.Histogram(5), key=KEY, **price),
    "HeavyHitters": lambda **price: federated.HeavyHitters("places", 4, key=KEY, **price),
}
SUMS: Mapping[str, Callable[..., Any]] = {
    "PrivateSum": lambda **price: federated.PrivateSum(federated.Tally(("a", "b")), 5, **price),
    "count": lambda **price: federated.count([True] * 5, **price),
    "fit": lambda **price: federated.fit(_model(), [([[0.5]], [1])] * 5, rounds=2, **price),
    "frequent_texts": lambda **price: federated.frequent_texts(["a"] * 5, "ab", 2, **price),
    "histogram": lambda **price: federated.histogram(["a"] * 5, ("a", "b"), **price),
    "mean": lambda **price: federated.mean([1] * 5, 0, 9, **price),
    "quantile": lambda **price: federated.quantile([1] * 5, 0.5, 0, 9, halvings=2, **price),
}
ALL = {**DESCRIBED, **SUMS}
BAD: tuple[Any, ...] = (0, -1, "0", float("nan"), float("inf"), "many", True, None, [1])


class Reached(Exception):  # nothing is wrong
    """Clients would be called now."""


def _model() -> Any:
    pytest.importorskip("sklearn", reason="an extra, which the tests' lock file holds")
    from tacit import learning

    return learning.LogisticRegression(bounds={0: (0, 1)}, classes=[0, 1])


@pytest.fixture(autouse=True)
def _nobody_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(asked: federated.PrivateSum, *given: Any, **said: Any) -> Any:
        raise Reached(asked)

    for module in (studies, fitting):
        monkeypatch.setattr(module, "opened", reached)


def asked_for(name: str, **price: Any) -> Any:
    """What clients would be asked."""
    try:
        return ALL[name](**price)
    except Reached as reached:
        return reached.args[0]


def event_of(asked: Any) -> Event:
    """What all rounds tell."""
    rounds = getattr(asked, "rounds", 1)
    found: Event = asked.event
    return found if rounds == 1 else events.Repeated(found, rounds)


def test_every_computation_is_here() -> None:
    offered = {name: getattr(federated, name) for name in federated.__all__ if name not in ("Ended", "Refused")}
    assert {name for name, each in offered.items() if "epsilon" in inspect.signature(each).parameters} == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_what_was_asked_is_what_all_rounds_tell_however_it_is_written(name: str) -> None:
    half = event_of(asked_for(name, epsilon="0.5", delta=DELTA))
    total = compose([half])  # what any accountant says is an upper bound
    least = min(account.delta(Fraction(1, 2)) for account in (total, total.by("basic")))
    assert least <= DELTA * (1 + Fraction(1, 10**8))  # rounded up
    for same in (0.5, "1/2", Decimal("0.5"), Fraction(1, 2), np.float64(0.5)):
        assert event_of(asked_for(name, epsilon=same, delta=DELTA)) == half
    assert events.from_json(half.to_json()) == half


def test_ten_collections_at_a_tenth_fit_in_one_and_the_eleventh_does_not() -> None:
    """The others have a delta: `compose` prices them tightly together."""
    rule = choose_filter(Budget(1))
    cost = rule.price(DESCRIBED["Collection"](epsilon=0.1).event)
    assert cost is not None
    assert Spent(10 * cost.loss, cost.delta).within(rule.limit)
    assert not Spent(11 * cost.loss, cost.delta).within(rule.limit)


@pytest.mark.parametrize("name", ALL)
def test_a_bad_epsilon_is_refused_in_a_sentence(name: str) -> None:
    for bad in BAD:
        with pytest.raises(ParameterError, match=r"'epsilon' .* must be .* Got .* instead\."):
            ALL[name](epsilon=bad, delta=DELTA)


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_is_one_text_and_a_client_tells_once(name: str, tmp_path: Path) -> None:
    pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")
    made = DESCRIBED[name](epsilon="0.5", delta=DELTA)
    read = type(made).from_json(made.to_json())
    assert (read.id, read.event, read.to_json()) == (made.id, made.event, made.to_json())
    odometer = federated.Odometer(tmp_path / "told.json", Budget("0.6", DELTA * 2))
    first = read.client(odometer).report(3)
    assert made.client(odometer).report(1) == first  # whatever the answer is now
    assert odometer.rounds == (made.id,)
    other = type(made).from_json(made.to_json().replace(made.name, "another"))
    with pytest.raises(BudgetExceeded):
        other.client(odometer).report(3)


def test_a_client_enters_a_round_once(tmp_path: Path) -> None:
    asked = SUMS["PrivateSum"](epsilon="0.5", delta=DELTA)
    odometer = federated.Odometer(tmp_path / "told.json", Budget(9, DELTA * 9))
    asked.vector("a", odometer=odometer, name="one")
    with pytest.raises(Refused, match="Nothing was sent"):
        asked.vector("a", odometer=odometer, name="one")
    assert odometer.rounds == ("one",)


def test_values_are_frozen() -> None:
    offered = [getattr(federated, name) for name in federated.__all__]
    values = [each for each in offered if dataclasses.is_dataclass(each)]
    assert len(values) > 5
    assert all(each.__dataclass_params__.frozen for each in values)  # type: ignore[union-attr]
