"""What stands for a question or a study: its key in the ledger, its canonical text, and what it costs.

Promise: a key stands for everything that shapes an answer: the question, its price, its noise, the data and their
state. Two questions with one key get one answer. Keys are stored for ever, so how they are made stays.
Analysts see keys, so the state of the data is blinded in them (`Ledger.blinded`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.curator.till import Purchase
from tacit.loss.events import Composed, Event
from tacit.plan import Plan, Query
from tacit.question import canonical


@dataclass(frozen=True, slots=True)
class Price:
    """What a study costs: the exact event that is charged, and the price for people.

    >>> from tacit.loss import events
    >>> Price(events.Pure("0.1"), Fraction(1, 10)).delta
    Fraction(0, 1)
    """

    event: Event
    epsilon: Fraction
    delta: Fraction = Fraction(0)


def purchase_of(plan: Plan, data: list[str]) -> Purchase:
    """One question. `data` says which tables are meant, in which state."""
    key, text = key_of(plan, data)
    return Purchase(key, text, plan.event, _asked([plan]))


def purchase_of_all(plans: Sequence[Plan], data: list[str]) -> Purchase:
    """Several questions for one charge."""
    keyed = [key_of(plan, data) for plan in plans]
    key = _digest([each for each, _ in keyed])
    text = json.dumps({"is": "Questions", "questions": [json.loads(said) for _, said in keyed]})
    return Purchase(key, text, Composed(tuple(plan.event for plan in plans)), _asked(plans))


def purchase_of_study(asked: Mapping[str, Any], price: Price, data: list[str]) -> Purchase:
    """A study, in the words in which it says what it asks."""
    text = json.dumps({"is": "Study", **asked}, sort_keys=True)
    shaping = [text, price.event.to_json(), parameters.as_text(price.epsilon), parameters.as_text(price.delta), data]
    asked_for = {"epsilon": parameters.as_text(price.epsilon), "delta": parameters.as_text(price.delta)}
    return Purchase(_digest(shaping), text, price.event, asked_for)


def key_of(plan: Plan, data: list[str]) -> tuple[str, str]:
    """The key of one question, and its canonical text.

    Noise is in the key in addition to the event: equal events may have one price and yet be shared differently over the
    measures.
    """
    text = canonical(plan.question)
    noise = [[each.kind, str(each.centre), str(each.step), repr(each.mechanism)] for each in plan.measures]
    noise += [["together", repr(each)] for each in plan.bundles]
    noise += [["pick", repr(each.mechanism), str(each.low), str(each.stride)] for each in plan.picks]
    return _digest([text, plan.event.to_json(), noise, plan.rows_per_unit, data, parameters.as_text(plan.delta)]), text


def with_units(query: Query) -> Query:
    """The query, with units where the rule for unknown keys needs them."""
    if query.unit_column is None:
        return query
    return replace(query, measure_columns=(*query.measure_columns, query.unit_column))


def _asked(plans: Sequence[Plan]) -> dict[str, str | None]:
    """The total price of all plans."""
    epsilons = [plan.epsilon for plan in plans if plan.epsilon is not None]
    summed = parameters.as_text(sum(epsilons, Fraction(0))) if len(epsilons) == len(plans) else None
    return {"epsilon": summed, "delta": parameters.as_text(sum((plan.delta for plan in plans), Fraction(0)))}


def _digest(shaping: list[Any]) -> str:
    return hashlib.sha256(json.dumps(shaping).encode()).hexdigest()
