"""What all events promise, asserted for every kind: one that joins the room is held to it as well.

An event is a fact with one text for ever, and never changes. Whoever prices it, its price is never negative, falls as
delta grows, and no release makes what was released before cheaper; nothing at all is free.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import pickle
from typing import get_args

import numpy as np
import pytest

from tacit.loss import compose, events
from tacit.loss.accountants.basic import epsilon as _  # noqa: F401
from tacit.loss.accountants.event_curve import delta_curve
from tacit.loss.compose import AccountantName
from tacit.loss.events import Event

# These texts are in ledgers. A change here breaks every stored ledger, so none of them may ever change.
FROZEN: dict[str, Event] = {
    '{"epsilon":"1/2","kind":"pure"}': events.Pure("1/2"),
    '{"delta":"1/1000000","epsilon":"1/10","kind":"approximate"}': events.Approximate("0.1", "1e-6"),
    '{"kind":"concentrated","rho":"1/8"}': events.Concentrated("0.125"),
    '{"kind":"laplace","scale":"10","sensitivity":"1"}': events.Laplace(1, 10),
    '{"kind":"discrete-laplace","scale":"7/2","sensitivity":2}': events.DiscreteLaplace(2, 3.5),
    '{"kind":"gaussian","sensitivity":"1","sigma":"5/2"}': events.Gaussian(1, "2.5"),
    '{"dimensions":4,"kind":"discrete-gaussian","sensitivity":"1","sigma":"3"}': events.DiscreteGaussian(1, 3, 4),
    '{"kind":"exponential","range":"1/10"}': events.Exponential("0.1"),
    '{"epsilon":"1","kind":"randomized-response","options":2}': events.RandomizedResponse(1, 2),
    '{"delta":"1/1000000000","epsilon":"1","keys_per_unit":3,"kind":"key-selection"}': events.KeySelection(
        1, "1e-9", 3
    ),
    '{"event":{"kind":"gaussian","sensitivity":"1","sigma":"1"},"kind":"poisson-sampled","rate":"1/100"}': (
        events.PoissonSampled(events.Gaussian(1, 1), "0.01")
    ),
    '{"drawn":10,"event":{"epsilon":"1","kind":"pure"},"kind":"sampled-without-replacement","population":100}': (
        events.SampledWithoutReplacement(events.Pure(1), 10, 100)
    ),
    '{"event":{"epsilon":"1","kind":"pure"},"kind":"shuffled","population":1000}': (
        events.Shuffled(events.Pure(1), 1000)
    ),
    '{"events":[{"epsilon":"1","kind":"pure"},{"epsilon":"2","kind":"pure"}],"kind":"composed"}': (
        events.Composed((events.Pure(1), events.Pure(2)))
    ),
    '{"count":3,"event":{"epsilon":"1","kind":"pure"},"kind":"repeated"}': events.Repeated(events.Pure(1), 3),
    '{"kind":"parallel","parts":[{"epsilon":"1","kind":"pure"},{"epsilon":"2","kind":"pure"}]}': (
        events.Parallel((events.Pure(1), events.Pure(2)))
    ),
    '{"event":{"epsilon":"1","kind":"pure"},"kind":"group","size":5}': events.Group(events.Pure(1), 5),
}
TEXTS = pytest.mark.parametrize("text", FROZEN)
# a shuffle of a thousand takes "pld" twelve seconds, and one of three promises the same
PRICED = [event for event in FROZEN.values() if event.kind != "shuffled"] + [events.Shuffled(events.Pure(1), 3)]
EVENTS = pytest.mark.parametrize("event", PRICED, ids=lambda event: event.kind)
ACCOUNTANTS = pytest.mark.parametrize("name", get_args(AccountantName))
DELTAS, EPSILONS = (0.0, 1e-6, 0.3, 1.0), (0.5, 4.0)
ROUNDED = 1 + 1e-9  # bounds are rounded upwards, each by itself


def test_every_kind_is_here() -> None:
    assert {event.kind for event in FROZEN.values()} == set(events.kinds())
    assert len(dict.fromkeys(FROZEN.values())) == len(FROZEN)  # all different, as keys too


# -- facts ---------------------------------------------------------------------------------------------------


@TEXTS
def test_an_event_writes_its_frozen_text_and_reads_it_back(text: str) -> None:
    event = FROZEN[text]
    assert event.to_json() == text
    for again in (events.from_json(text), events.from_dict(event.to_dict()), pickle.loads(pickle.dumps(event))):
        assert again == event
        assert hash(again) == hash(event)
        assert again.to_json() == text


@EVENTS
def test_no_field_of_an_event_can_be_changed(event: Event) -> None:
    for field in dataclasses.fields(event):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, getattr(event, field.name))
    with pytest.raises((AttributeError, TypeError)):
        event.note = "mine"  # type: ignore[attr-defined]


# -- prices --------------------------------------------------------------------------------------------------


def falls(numbers: list[float]) -> bool:
    return all(later <= before * ROUNDED for before, later in itertools.pairwise(numbers))


@ACCOUNTANTS
@EVENTS
def test_a_price_is_never_negative_and_falls_as_more_is_allowed(event: Event, name: AccountantName) -> None:
    account = compose([event]).by(name)
    told = [account.epsilon(delta) for delta in DELTAS]
    assert min(told) >= 0
    assert told[-1] == 0
    assert falls(told)
    if name in ("advanced", "optimal"):  # they look for their deltas among their epsilons, for half a second each
        return
    risks = [account.delta(epsilon) for epsilon in EPSILONS]
    assert all(0 <= risk <= 1 for risk in risks)
    assert falls(risks)
    if math.isfinite(told[1]):
        assert account.delta(told[1]) <= 1.001e-6


@ACCOUNTANTS
@EVENTS
def test_another_release_makes_nothing_cheaper(event: Event, name: AccountantName) -> None:
    alone = compose([event]).by(name).epsilon(1e-6)
    for more in ([event, event], [event, events.Pure("1/10")], [events.Group(event, 2)]):
        together = compose(more).by(name)
        assert together.epsilon(1e-6) >= alone / ROUNDED


@EVENTS
def test_what_was_never_released_is_free(event: Event) -> None:
    for nothing in (events.Repeated(event, 0), events.Composed(()), events.Parallel(())):
        for name in get_args(AccountantName):
            assert compose([nothing]).by(name).epsilon(0) == 0
            assert compose([nothing]).by(name).delta(0) == 0
        assert compose([event, nothing]).epsilon(1e-6) == compose([event]).epsilon(1e-6)


@EVENTS
def test_the_tight_total_is_at_most_what_sums_and_renyi_orders_say(event: Event) -> None:
    total = compose([event] * 3)
    others = [total.by(name).epsilon(1e-6) for name in ("basic", "rdp")]
    assert total.epsilon(1e-6) <= min(others) * 1.001  # the best order is looked for on another grid


@EVENTS
def test_the_curve_of_an_event_falls_from_one_to_zero(event: Event) -> None:
    for side in ("remove", "add"):
        found = delta_curve(event, np.linspace(-50, 50, 41), side)
        assert ((found >= 0) & (found <= 1)).all()
        assert (np.diff(found) <= 1e-12).all()
