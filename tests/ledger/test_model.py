"""Any sequence of charges, answers, restarts and crashes, against a model that is a dictionary."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Ledger, disk
from tacit.loss import Budget
from tacit.loss.events import Pure
from tests.ledger.faults import fast_folder
from tests.ledger.homes import opened, settle

CAP = {"": Fraction(2), "ana": Fraction(1), "bo": Fraction(3, 2)}
KEYS = st.integers(0, 12).map(str)
ANALYSTS = st.sampled_from(["ana", "bo"])
AMOUNTS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 7), Fraction(9, 10), Fraction(0)])


@contextmanager
def head_cannot_be_written() -> Iterator[None]:
    def full(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "pwrite", full)
        yield


class LedgerMachine(RuleBasedStateMachine):
    """`charged` and `answers` are what an honest book-keeper would have written."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(dir=fast_folder())
        self.charged: dict[str, tuple[str, Fraction]] = {}
        self.answers: dict[str, bytes] = {}
        self.prepare(Path(self.place.name))
        self.ledger = self.opened()

    def prepare(self, folder: Path) -> None:
        """A ledger in a file needs nothing."""

    def opened(self) -> Ledger:
        analysts = {name: Budget(cap) for name, cap in CAP.items() if name}
        return opened(Path(self.place.name), budget=Budget(CAP[""]), analysts=analysts)

    def teardown(self) -> None:
        self.ledger.close()
        self.place.cleanup()

    def spent(self, analyst: str = "") -> Fraction:
        return sum((cost for who, cost in self.charged.values() if analyst in ("", who)), Fraction(0))

    def fits(self, analyst: str, amount: Fraction) -> bool:
        return all(self.spent(payer) + amount <= CAP[payer] for payer in ("", analyst))

    @rule(analyst=ANALYSTS, key=KEYS, amount=AMOUNTS)
    def charge(self, analyst: str, key: str, amount: Fraction) -> None:
        known = self.charged.get(key)
        if known is not None and known[1] != amount:
            with pytest.raises(LedgerError, match="another event"):
                self.ledger.charge(analyst, key, "q", Pure(amount))
        elif known is not None:
            assert self.ledger.charge(analyst, key, "q", Pure(amount)).repeated
        elif self.fits(analyst, amount):
            assert not self.ledger.charge(analyst, key, "q", Pure(amount)).repeated
            self.charged[key] = (analyst, amount)
        else:
            with pytest.raises(BudgetExceeded) as refusal:
                self.ledger.charge(analyst, key, "q", Pure(amount))
            assert refusal.value.asked == amount > refusal.value.remaining
            assert refusal.value.remaining in {CAP[payer] - self.spent(payer) for payer in ("", analyst)}

    @rule(analyst=ANALYSTS, key=KEYS, amount=AMOUNTS)
    def charge_without_a_head(self, analyst: str, key: str, amount: Fraction) -> None:
        """The crash between the two writes: committed, not sealed, not acknowledged; the budget stays spent."""
        if key not in self.charged and self.fits(analyst, amount):
            with head_cannot_be_written(), pytest.raises(LedgerError, match="No space left"):
                self.ledger.charge(analyst, key, "q", Pure(amount))
            self.charged[key] = (analyst, amount)

    @precondition(lambda self: self.charged)
    @rule(data=st.data(), payload=st.binary(max_size=4))
    def store(self, data: st.DataObject, payload: bytes) -> None:
        key = data.draw(st.sampled_from(sorted(self.charged)))
        analyst, amount = self.charged[key]
        receipt = self.ledger.charge(analyst, key, "q", Pure(amount))
        kept = self.ledger.store_answer(receipt, payload)
        assert kept == self.answers.setdefault(key, payload)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    @rule()
    def crash(self) -> None:
        """The process is gone without closing; another comes (the old connection stays open beside it)."""
        self.ledger = self.opened()

    @rule(key=KEYS)
    def replay(self, key: str) -> None:
        assert self.ledger.answer(key) == self.answers.get(key)

    @invariant()
    def sums_agree(self) -> None:
        assert self.ledger.spent().loss == self.spent()
        for analyst in ("ana", "bo"):
            assert self.ledger.spent(analyst).loss == self.spent(analyst)
            assert self.ledger.remaining(analyst).loss == CAP[analyst] - self.spent(analyst)

    @invariant()
    def entries_agree(self) -> None:
        entries = self.ledger.entries()
        assert {entry.key for entry in entries if entry.kind == "charged"} == set(self.charged)
        assert {entry.key for entry in entries if entry.kind == "answered"} == set(self.answers)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))


LedgerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestLedgerAgainstTheModel = LedgerMachine.TestCase


def test_a_ledger_in_postgres_against_the_model(database: str) -> None:
    class PostgresMachine(LedgerMachine):
        def prepare(self, folder: Path) -> None:
            settle(folder, database)

    run_state_machine_as_test(
        PostgresMachine, settings=settings(LedgerMachine.TestCase.settings, max_examples=10, stateful_step_count=15)
    )
