"""The ledger's promises, one by one, on a disk that works."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import BudgetExceeded, LedgerError, ParameterError
from tacit.ledger import Ledger, Receipt, verify
from tacit.loss import Budget, events
from tacit.loss.filters import AnyFilter, BasicFilter, ConcentratedFilter, Spent
from tests.ledger.homes import address, beside, opened

TENTH = events.Pure("1/10")


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return opened(folder, budget=Budget(1))


# -- spending ------------------------------------------------------------------------------------------


def test_ten_charges_of_a_tenth_are_exactly_one_and_then_nothing_is_left(ledger: Ledger) -> None:
    for number in range(10):
        receipt = ledger.charge("ana", f"key {number}", "SELECT 1", TENTH)
        assert not receipt.repeated
        assert receipt.cost == Spent(Fraction(1, 10))
    assert ledger.spent() == Spent(Fraction(1))
    assert ledger.remaining() == Spent(Fraction(0))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("ana", "key 10", "SELECT 1", events.Pure("1/1000000"))
    assert (refusal.value.asked, refusal.value.remaining) == (Fraction(1, 10**6), 0)
    assert ledger.spent() == Spent(Fraction(1))


def test_a_refused_charge_leaves_no_entry(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        ledger.charge("ana", "key", "SELECT 1", events.Pure("11/10"))
    assert [entry.kind for entry in ledger.entries()] == ["registered"]


def test_a_charge_is_there_after_opening_again(folder: Path, ledger: Ledger) -> None:
    receipt = ledger.charge("ana", "key", "SELECT 1", TENTH)
    ledger.close()
    with opened(folder) as again:
        entry = again.entries()[-1]
        assert (entry.sequence, entry.hash) == (receipt.sequence, receipt.hash)
        assert (entry.analyst, entry.key, entry.question, entry.event) == ("ana", "key", "SELECT 1", TENTH)
        assert entry.when.endswith("+00:00")
        assert again.spent() == Spent(Fraction(1, 10))


def test_a_repeated_question_costs_nothing_even_when_nothing_is_left(ledger: Ledger) -> None:
    first = ledger.charge("ana", "key", "SELECT 1", events.Pure(1))
    again = ledger.charge("bo", "key", "SELECT 1", events.Pure(1))
    assert again.repeated
    assert (again.sequence, again.hash, again.cost) == (first.sequence, first.hash, first.cost)
    assert ledger.spent() == Spent(Fraction(1))
    assert len(ledger.entries()) == 2


def test_a_key_that_paid_for_one_event_does_not_pay_for_another(ledger: Ledger) -> None:
    ledger.charge("ana", "key", "SELECT 1", TENTH)
    with pytest.raises(LedgerError, match="charged for another event"):
        ledger.charge("ana", "key", "SELECT 1", events.Pure("1/5"))
    assert ledger.spent() == Spent(Fraction(1, 10))


def test_the_first_answer_stays_and_every_later_caller_gets_it(folder: Path, ledger: Ledger) -> None:
    receipt = ledger.charge("ana", "key", "SELECT 1", TENTH)
    assert ledger.answer("key") is None
    assert ledger.store_answer(receipt, b"first") == b"first"
    assert ledger.store_answer(receipt, b"second") == b"first"
    assert ledger.answer("key") == b"first"
    ledger.close()
    with opened(folder) as again:
        repeated = again.charge("ana", "key", "SELECT 1", TENTH)
        assert again.store_answer(repeated, b"third") == b"first"
        assert again.answer("key") == b"first"
        assert again.answer("other") is None
        assert [entry.kind for entry in again.entries()] == ["registered", "charged", "answered"]


def test_an_answer_may_be_stored_on_the_old_receipt_after_a_crash(folder: Path, ledger: Ledger) -> None:
    ledger.charge("ana", "key", "SELECT 1", TENTH)
    ledger.close()
    with opened(folder) as again:
        receipt = again.charge("ana", "key", "SELECT 1", TENTH)
        assert receipt.repeated
        assert again.store_answer(receipt, b"late") == b"late"
        assert again.spent() == Spent(Fraction(1, 10))


def test_an_answer_needs_a_receipt_of_this_ledger(folder: Path, ledger: Ledger) -> None:
    with opened(beside(folder, "other"), budget=Budget(1)) as other:
        foreign = other.charge("ana", "key", "SELECT 1", TENTH)
    invented = Receipt(2, "key", TENTH, Spent(), "epsilon", "0" * 64)
    for receipt in (foreign, invented):
        with pytest.raises(LedgerError, match="not from this ledger"):
            ledger.store_answer(receipt, b"answer")
    ledger.charge("ana", "key", "SELECT 1", TENTH)
    for receipt in (foreign, invented):
        with pytest.raises(LedgerError, match="not from this ledger"):
            ledger.store_answer(receipt, b"answer")
    assert ledger.answer("key") is None


@pytest.mark.parametrize(
    ("analyst", "key", "question", "event", "named"),
    [
        ("", "k", "q", TENTH, "analyst"),
        ("a\nb", "k", "q", TENTH, "analyst"),
        ("a", "", "q", TENTH, "key"),
        ("a", "k" * 257, "q", TENTH, "key"),
        ("a", 7, "q", TENTH, "key"),
        ("a", "k\ud800", "q", TENTH, "key"),
        ("a", "k", b"q", TENTH, "question"),
        ("a", "k", "q" * (2**20 + 1), TENTH, "question"),
        ("a", "k", "q", "pure", "event"),
        ("a", "k", "q", events.Pure(Fraction(1, 10**5000)), "event"),
        ("a", "k", "q", events.Composed((TENTH,) * 40_000), "event"),
    ],
)
def test_what_is_not_a_charge_is_refused(
    ledger: Ledger, analyst: str, key: str, question: str, event: events.Event, named: str
) -> None:
    with pytest.raises(ParameterError, match=f"'{named}' parameter"):
        ledger.charge(analyst, key, question, event)
    assert len(ledger.entries()) == 1


def test_a_question_may_be_any_text(ledger: Ledger) -> None:
    question = "SELECT '\ud800\x00é' -- \"; DROP TABLE entries"
    ledger.charge("ana", "key", question, TENTH)
    assert ledger.entries()[-1].question == question
    assert ledger.verify().sound


def test_an_answer_is_bytes(ledger: Ledger) -> None:
    receipt = ledger.charge("ana", "key", "q", TENTH)
    with pytest.raises(ParameterError, match="'payload' parameter must be bytes"):
        ledger.store_answer(receipt, "text")  # type: ignore[arg-type]
    assert ledger.store_answer(receipt, b"") == b""
    assert ledger.answer("key") == b""


# -- budgets -------------------------------------------------------------------------------------------


def test_the_dataset_and_the_analyst_must_both_admit_a_charge(folder: Path) -> None:
    ledger = opened(folder, budget=Budget(1), analysts={"ana": Budget("3/10"), "bo": Budget(1)})
    ledger.charge("ana", "1", "q", events.Pure("3/10"))
    with pytest.raises(BudgetExceeded, match=r"0 is left of epsilon 0\.3 for analyst 'ana'") as refusal:
        ledger.charge("ana", "2", "q", TENTH)
    assert refusal.value.remaining == 0
    ledger.charge("bo", "3", "q", events.Pure("7/10"))
    with pytest.raises(BudgetExceeded, match="for the dataset"):
        ledger.charge("bo", "4", "q", TENTH)
    assert ledger.spent("ana") == Spent(Fraction(3, 10))
    assert ledger.remaining("bo") == Spent(Fraction(3, 10))
    assert ledger.spent() == Spent(Fraction(1))


def test_each_rule_prices_in_its_own_unit(folder: Path) -> None:
    whole = ConcentratedFilter(Budget(3, "1/1000000"))
    ledger = opened(folder, budget=whole, analysts={"ana": Budget(1, "1/1000000")})
    event = events.DiscreteGaussian(1, 10, 1)
    receipt = ledger.charge("ana", "1", "q", event)
    assert receipt.unit == "rho"
    assert receipt.cost == whole.price(event)
    assert ledger.filter() == whole
    own = ledger.filter("ana")
    assert isinstance(own, AnyFilter)
    assert ledger.spent("ana") == own.price(event)
    assert [each is not None for each in ledger.spent("ana").each] == [True, False]  # addition cannot count it
    assert ledger.verify().sound


def test_only_enrolled_analysts_may_ask_once_there_are_some(folder: Path) -> None:
    ledger = opened(folder, budget=Budget(1), analysts={"ana": Budget(1)})
    with pytest.raises(ParameterError, match="'analyst' parameter") as refusal:
        ledger.charge("bo", "1", "q", TENTH)
    assert not re.search(r"\bana\b", str(refusal.value))
    with pytest.raises(ParameterError, match="'analyst' parameter"):
        ledger.remaining("bo")


def test_a_later_analyst_is_enrolled_and_recorded(folder: Path) -> None:
    opened(folder, budget=Budget(1), analysts={"ana": Budget(1)}).close()
    ledger = opened(folder, budget=Budget(1), analysts={"ana": Budget(1), "bo": Budget("1/10")})
    ledger.charge("bo", "1", "q", TENTH)
    assert [entry.kind for entry in ledger.entries()] == ["registered", "enrolled", "enrolled", "charged"]
    ledger.close()
    with opened(folder) as again, pytest.raises(BudgetExceeded, match="for analyst 'bo'"):
        again.charge("bo", "2", "q", TENTH)


def test_a_process_that_knew_of_no_analysts_cannot_ask_past_them(folder: Path, ledger: Ledger) -> None:
    ledger.charge("bo", "1", "q", TENTH)
    with opened(folder, analysts={"ana": Budget(1)}):
        pass
    with pytest.raises(LedgerError, match="enrolled meanwhile"):
        ledger.charge("bo", "2", "q", TENTH)
    assert ledger.charge("bo", "1", "q", TENTH).repeated


@pytest.mark.parametrize("budget", [Budget(2), Budget("1/2"), Budget(1, "1/10"), BasicFilter(Budget(2))])
def test_another_budget_than_the_committed_one_is_refused(folder: Path, ledger: Ledger, budget: Budget) -> None:
    with pytest.raises(LedgerError, match="committed as epsilon 1 at"):
        opened(folder, budget=budget)
    opened(folder, analysts={"ana": Budget(1)}).close()
    with pytest.raises(LedgerError, match="of analyst 'ana' was committed"):
        opened(folder, analysts={"ana": Budget(2)})
    with opened(folder) as same:
        assert same.filter() == BasicFilter(Budget(1))


def test_the_committed_rule_stays_whatever_would_be_chosen_today(folder: Path) -> None:
    budget = Budget(3, "1/1000000")
    opened(folder, budget=ConcentratedFilter(budget)).close()
    with opened(folder, budget=budget) as again:
        assert again.filter() == ConcentratedFilter(budget)


def test_a_ledger_that_is_not_there_needs_a_budget(folder: Path) -> None:
    with pytest.raises(LedgerError, match="There is no ledger"):
        opened(folder)
    assert {path.name for path in folder.iterdir()} - {"address"} == {"head.lock"}


# -- looking -------------------------------------------------------------------------------------------


def test_the_owner_sees_all_and_an_analyst_only_their_own(folder: Path) -> None:
    ledger = opened(folder, budget=Budget(1), analysts={"ana": Budget(1), "bo": Budget(1)})
    for number, analyst in enumerate(["ana", "bo", "ana"]):
        receipt = ledger.charge(analyst, f"{number}", f"question {number}", TENTH)
        ledger.store_answer(receipt, b"x")
    assert len(ledger.entries()) == 9
    assert [entry.key for entry in ledger.entries("ana")] == ["0", "0", "2", "2"]
    assert "question 1" not in ledger.export("json", "ana")
    assert "question 1" in ledger.export("json")
    assert ledger.entries("nobody") == ()


def test_the_chain_can_be_checked_from_the_exported_json_alone(ledger: Ledger) -> None:
    for number in range(3):
        ledger.store_answer(ledger.charge("ana", f"{number}", "é", TENTH), b"x")
    previous = "0" * 64
    for line in json.loads(ledger.export("json")):
        content = json.dumps(line["content"], sort_keys=True, separators=(",", ":"))
        fields = [line["sequence"], line["kind"], line["when"], line["analyst"], line["key"], content, previous]
        assert line["previous"] == previous
        previous = hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
        assert line["hash"] == previous


def test_the_exported_table_is_read_back_and_runs_no_formula(ledger: Ledger) -> None:
    ledger.charge("=cmd()", "key", '=HYPERLINK("x")\n,"', TENTH)
    header, registered, charged = csv.reader(io.StringIO(ledger.export("csv")))
    row = dict(zip(header, charged, strict=True))
    assert dict(zip(header, registered, strict=True))["kind"] == "registered"
    assert row["question"] == '\'=HYPERLINK("x")\n,"'
    assert row["analyst"] == "'=cmd()"
    assert json.loads(row["event"]) == {"kind": "pure", "epsilon": "1/10"}
    assert json.loads(row["cost"]) == {"loss": "1/10", "delta": "0"}
    with pytest.raises(ParameterError, match="one of csv, json"):
        ledger.export("xml")


def test_a_sound_ledger_says_so(folder: Path, ledger: Ledger) -> None:
    ledger.charge("ana", "key", "q", TENTH)
    report = ledger.verify()
    assert (report.sound, report.entries, report.sealed) == (True, 2, 2)
    ledger.close()
    assert verify(address(folder), head=folder / "head") == report


# -- coming and going ------------------------------------------------------------------------------------


def test_a_closed_ledger_refuses(ledger: Ledger) -> None:
    with ledger as same:
        assert same is ledger
    for act in (lambda: ledger.charge("ana", "key", "q", TENTH), ledger.entries, ledger.spent):
        with pytest.raises(LedgerError, match="closed"):
            act()
