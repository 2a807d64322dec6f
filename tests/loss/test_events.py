"""Events are facts: one canonical text for ever, exact numbers, and no bad fields."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import ParameterError
from tacit.loss import events
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


def test_every_kind_has_a_frozen_text() -> None:
    assert {event.kind for event in FROZEN.values()} == set(events.kinds())


@pytest.mark.parametrize("text", FROZEN)
def test_an_event_writes_its_frozen_text_and_reads_it_back(text: str) -> None:
    event = FROZEN[text]
    assert event.to_json() == text
    assert events.from_json(text) == event
    assert events.from_dict(event.to_dict()) == event
    assert hash(events.from_json(text)) == hash(event)


def test_different_events_are_unequal_and_fit_in_one_dictionary() -> None:
    assert len(dict.fromkeys(FROZEN.values())) == len(FROZEN)
    assert events.Laplace(1, 2) != events.Gaussian(1, 2)
    assert events.Laplace("0.1", 1) != events.Laplace(0.1, 1)  # a float is the binary rational it is


def test_events_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        events.Pure(1).epsilon = Fraction(2)  # type: ignore[misc]


def test_numbers_are_kept_exactly() -> None:
    assert events.Pure(0.1).epsilon == Fraction(0.1)
    assert events.from_json(events.Pure(0.1).to_json()) == events.Pure(0.1)


@pytest.mark.parametrize(
    "build",
    [
        lambda: events.Pure(-1),
        lambda: events.Pure(float("nan")),
        lambda: events.Pure(float("inf")),
        lambda: events.Approximate(1, 2),
        lambda: events.Approximate(1, -1),
        lambda: events.Concentrated(-1),
        lambda: events.Laplace(0, 1),
        lambda: events.Laplace(1, 0),
        lambda: events.DiscreteLaplace(0, 1),
        lambda: events.DiscreteLaplace(1.0, 1),
        lambda: events.DiscreteLaplace(1, -2),
        lambda: events.Gaussian(0, 1),
        lambda: events.Gaussian(1, 0),
        lambda: events.DiscreteGaussian(1, 1, 0),
        lambda: events.DiscreteGaussian(1, 0, 1),
        lambda: events.Exponential(0),
        lambda: events.RandomizedResponse(0, 2),
        lambda: events.RandomizedResponse(1, 1),
        lambda: events.KeySelection(1, 0, 1),
        lambda: events.KeySelection(1, 1, 1),
        lambda: events.KeySelection(1, "0.1", 0),
        lambda: events.PoissonSampled("no event", 1),
        lambda: events.PoissonSampled(events.Pure(1), 2),
        lambda: events.SampledWithoutReplacement(events.Pure(1), 11, 10),
        lambda: events.SampledWithoutReplacement(events.Pure(1), 0, 0),
        lambda: events.Shuffled(events.Pure(1), 0),
        lambda: events.Composed((events.Pure(1), 3)),
        lambda: events.Repeated(events.Pure(1), -1),
        lambda: events.Repeated(3, 1),
        lambda: events.Parallel((None,)),
        lambda: events.Group(events.Pure(1), 0),
    ],
)
def test_a_bad_field_is_refused(build: Any) -> None:
    with pytest.raises(ParameterError):
        build()


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        "3",
        "{}",
        '{"kind":"unknown"}',
        '{"kind":"pure"}',
        '{"kind":"pure","epsilon":"1","delta":"0"}',
        '{"kind":"pure","epsilon":"one"}',
        '{"kind":"pure","epsilon":null}',
        '{"kind":"group","size":2,"event":"pure"}',
        '{"kind":"group","size":2,"event":{"kind":"unknown"}}',
    ],
)
def test_a_text_that_no_event_wrote_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        events.from_json(text)


def test_the_text_does_not_depend_on_the_order_of_keys() -> None:
    shuffled = json.dumps({"sensitivity": "1", "scale": "10", "kind": "laplace"})
    assert events.from_json(shuffled).to_json() == '{"kind":"laplace","scale":"10","sensitivity":"1"}'
