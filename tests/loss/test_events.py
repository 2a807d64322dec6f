"""Events are facts: exact numbers, no bad fields, and no text but their own. What all share: `test_common`."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import ParameterError
from tacit.loss import events


def test_different_events_are_unequal() -> None:
    assert events.Laplace(1, 2) != events.Gaussian(1, 2)
    assert events.Laplace("0.1", 1) != events.Laplace(0.1, 1)  # a float is the binary rational it is


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
