"""Entries: the hash covers everything, and can be computed without us."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from fractions import Fraction

import pytest

from tacit.ledger.entry import BEFORE_ALL, Entry, Kind, Receipt, canonical
from tacit.loss.events import Pure
from tacit.loss.filters import Spent

CONTENT = {
    "question": "SELECT 'é'",
    "event": Pure("1/10").to_dict(),
    "cost": {"dataset": {"loss": "1/10", "delta": "0"}, "analyst": None},
    "spent": {"dataset": {"loss": "1/5", "delta": "0"}, "analyst": None},
}


def example() -> Entry:
    first = Entry.after(None, Kind.REGISTERED, {"ledger": "x"})
    return Entry.after(first, Kind.CHARGED, CONTENT, "ana", "k")


def test_the_hash_is_the_sha256_of_the_fields_as_json() -> None:
    entry = example()
    text = json.dumps(
        [2, "charged", entry.when, "ana", "k", entry.content, entry.previous], separators=(",", ":"), ensure_ascii=True
    )
    assert entry.hash == hashlib.sha256(text.encode()).hexdigest()


def test_an_entry_follows_the_one_before() -> None:
    first = Entry.after(None, Kind.REGISTERED, {})
    second = Entry.after(first, Kind.CHARGED, {})
    assert (first.sequence, first.previous) == (1, BEFORE_ALL)
    assert (second.sequence, second.previous) == (2, first.hash)


@pytest.mark.parametrize("field", [field.name for field in fields(Entry) if field.name != "hash"])
def test_a_change_of_any_field_changes_the_hash(field: str) -> None:
    entry = example()
    changed = replace(entry, **{field: 7 if field == "sequence" else "other"})
    assert entry.true_hash() == entry.hash
    assert changed.true_hash() != entry.hash


def test_an_absent_analyst_is_not_an_empty_one() -> None:
    entry = example()
    assert replace(entry, analyst=None).true_hash() != replace(entry, analyst="").true_hash()


def test_a_charge_tells_its_question_event_and_cost() -> None:
    entry = example()
    assert entry.question == "SELECT 'é'"
    assert entry.event == Pure("1/10")
    assert entry.cost == Spent(Fraction(1, 10))


def test_other_kinds_have_no_question_event_or_cost() -> None:
    entry = Entry.after(None, Kind.REGISTERED, {"ledger": "x"})
    assert (entry.question, entry.event, entry.cost) == (None, None, None)
    with pytest.raises(ValueError, match="only a charge"):
        Receipt.of(entry, "epsilon", repeated=False)


def test_a_receipt_is_plain_json() -> None:
    receipt = Receipt.of(example(), "epsilon", repeated=True)
    content = json.loads(json.dumps(receipt.to_dict()))
    assert content["event"] == {"kind": "pure", "epsilon": "1/10"}
    assert content["cost"] == {"loss": "1/10", "delta": "0"}
    assert (content["sequence"], content["key"], content["unit"], content["repeated"]) == (2, "k", "epsilon", True)


def test_canonical_text_has_one_order_and_no_floats_that_are_not_numbers() -> None:
    assert canonical({"b": 1, "a": "é"}) == '{"a":"\\u00e9","b":1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("nan"))
