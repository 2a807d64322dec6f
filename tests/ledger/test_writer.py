"""One writer, many callers: what shares a commit, what fails together, and what a fork does."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Ledger, disk
from tacit.ledger.sqlite_store import SQLiteStore
from tacit.ledger.store import Store
from tacit.loss import Budget
from tacit.loss.events import Pure
from tacit.loss.filters import Spent
from tests.ledger import homes
from tests.ledger.faults import Faults, installed
from tests.ledger.stores import in_a_file

TENTH = Pure("1/10")


ROOT = Path(__file__).resolve().parents[2]


def opened(folder: Path, budget: object = 100) -> Ledger:
    return homes.opened(folder, budget=Budget(budget))  # type: ignore[arg-type]


class Gate:
    """Holds the first commit until it is told to go on, and counts commits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.commits = 0
        kind = type(ledger._writer._connected())
        real = kind.writing

        def writing(store: Store) -> object:
            self.commits += 1
            if self.commits == 1:
                self.reached.set()
                assert self.go_on.wait(300)
            return real(store)

        monkeypatch.setattr(kind, "writing", writing)


def charge_in_threads(
    ledger: Ledger, gate: Gate, keys: list[str], meanwhile: Callable[[], None] = lambda: None
) -> dict[str, object]:
    """The first key begins a commit; the others come, and `meanwhile` happens, before it goes on. What came of each."""
    outcomes: dict[str, object] = {}

    def charge(key: str) -> None:
        try:
            outcomes[key] = ledger.charge("ana", key, "q", TENTH)
        except (LedgerError, BudgetExceeded) as refusal:
            outcomes[key] = refusal

    threads = [threading.Thread(target=charge, args=(key,)) for key in keys]
    threads[0].start()
    assert gate.reached.wait(300)
    for thread in threads[1:]:
        thread.start()
    while len(ledger._writer._waiting) < len(keys) - 1:
        time.sleep(0.001)
    meanwhile()
    gate.go_on.set()
    for thread in threads:
        thread.join(300)
    return outcomes


def test_charges_that_come_during_a_commit_share_the_next_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(folder) as ledger:
        gate = Gate(monkeypatch, ledger)
        outcomes = charge_in_threads(ledger, gate, [f"{number}" for number in range(20)])
        assert gate.commits == 2
        receipts = [receipt.sequence for receipt in outcomes.values()]  # type: ignore[attr-defined]
        assert sorted(receipts) == list(range(2, 22))
        assert ledger.spent() == Spent(Fraction(2))
        assert ledger.verify().sound


def test_a_refusal_in_a_shared_commit_concerns_only_its_own_question(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder, "1/2") as ledger:
        outcomes = charge_in_threads(ledger, Gate(monkeypatch, ledger), [f"{number}" for number in range(20)])
        refused = [outcome for outcome in outcomes.values() if isinstance(outcome, BudgetExceeded)]
        assert len(refused) == 15
        assert len({id(refusal) for refusal in refused}) == 15
        assert ledger.remaining() == Spent(Fraction(0))


@in_a_file
def test_a_failure_of_the_disk_concerns_everyone_who_shared_the_commit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed(Faults("ENOSPC from then on", 1)) as faults, opened(folder) as ledger:
        with monkeypatch.context() as patch:
            outcomes = charge_in_threads(
                ledger, Gate(patch, ledger), ["0", "1", "2"], lambda: setattr(faults, "armed", True)
            )
        assert len(outcomes) == 3
        assert all(isinstance(outcome, LedgerError) for outcome in outcomes.values())
        faults.armed = False
        assert ledger._writer._store is None  # the next use opens, and checks, anew
        assert ledger.spent() == Spent(Fraction(0))
        assert not any(ledger.charge("ana", key, "q", TENTH).repeated for key in outcomes)


def test_nobody_is_told_of_a_charge_whose_head_could_not_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    with opened(folder) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(disk, "pwrite", full)
            outcomes = charge_in_threads(ledger, Gate(patch, ledger), ["0", "1", "2"])
        assert all(isinstance(outcome, LedgerError) for outcome in outcomes.values())
        assert all("No space left" in str(outcome) for outcome in outcomes.values())
        assert ledger.spent().loss in {Fraction(number, 10) for number in range(4)}  # wasted, perhaps; never hidden
        for key in outcomes:
            ledger.charge("ana", key, "q", TENTH)
        assert ledger.spent() == Spent(Fraction(3, 10))


def test_an_interrupted_charge_leaves_the_ledger_usable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    with opened(folder) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(disk, "sync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.charge("ana", "key", "q", TENTH)
        assert ledger.charge("ana", "key", "q", TENTH).repeated  # it was committed, and nobody was told
        assert ledger.spent() == Spent(Fraction(1, 10))


def test_an_entry_of_another_process_is_sealed_before_it_is_relied_upon(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as ledger, opened(folder) as other:
        receipt = other.charge("ana", "key", "q", TENTH)
        with monkeypatch.context() as patch:  # the other is killed between the commit and the head
            patch.setattr(other._vault.head, "advance", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                other.store_answer(receipt, b"answer")
        assert ledger._vault.head.read().sequence == 2
        assert ledger.answer("key") == b"answer"
        assert ledger._vault.head.read().sequence == 3


@in_a_file
def test_what_a_killed_process_wrote_is_flushed_before_the_head_speaks_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after writing the log and before flushing it: it can be read, but a loss of power may take it."""
    with monkeypatch.context() as patch:
        ledger = opened(folder)
        patch.setattr(ledger._vault.head, "advance", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr(
            SQLiteStore, "close", lambda store: None
        )  # a killed process does not carry its log over into the file
        with pytest.raises(KeyboardInterrupt):
            ledger.charge("ana", "key", "q", TENTH)
    order = flushes_and_head_writes(monkeypatch)
    with opened(folder) as again:
        assert again._vault.head.read().sequence == 2
    assert order == ["ledger-wal", "head"]


@in_a_file
def test_a_receipt_of_an_entry_that_another_process_did_not_seal_is_handed_out_sealed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as ledger, opened(folder) as other:
        ledger.spent()
        with monkeypatch.context() as patch:
            patch.setattr(other._vault.head, "advance", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                other.charge("ana", "key", "q", TENTH)
        order = flushes_and_head_writes(monkeypatch)
        assert ledger.charge("ana", "key", "q", TENTH).repeated
        assert order == ["ledger-wal", "head"]
        assert ledger._vault.head.read().sequence == 2


def flushes_and_head_writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The order of flushes of whole files and of writes to the head, from now on."""
    order: list[str] = []
    real_sync, real_write = disk.sync_file, disk.pwrite
    monkeypatch.setattr(disk, "sync_file", lambda path: (order.append(path.name), real_sync(path)))
    monkeypatch.setattr(disk, "pwrite", lambda *given: (order.append("head"), real_write(*given))[1])
    return order


FORKING = """
import os, sys
from pathlib import Path
from tacit.loss import Budget
from tacit.loss.events import Pure
from tests.ledger.homes import opened

folder = Path(sys.argv[1])
ledger = opened(folder, budget=Budget(1))
ledger.charge("ana", "before", "q", Pure("1/10"))
children = []
for number in range(3):
    child = os.fork()
    assert ledger._writer._store is None                 # no connection crosses a fork
    if child == 0:
        assert ledger.charge("ana", "before", "q", Pure("1/10")).repeated
        ledger.charge("ana", f"child {number}", "q", Pure("1/10"))
        sys.exit(0)                                      # with all the clearing up of an ordinary end
    children.append(child)
    ledger.charge("ana", f"parent {number}", "q", Pure("1/10"))
for child in children:
    assert os.waitpid(child, 0)[1] == 0
assert ledger.verify().sound
assert str(ledger.spent().loss) == "7/10", ledger.spent()
"""


def test_a_ledger_may_be_carried_through_a_fork(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKING, str(folder)], check=True, timeout=600, cwd=ROOT)


def test_threads_in_a_forking_process_are_not_disturbed(folder: Path) -> None:
    program = f"""
import os, sys, threading
from pathlib import Path
from tacit.loss import Budget
from tacit.loss.events import Pure
from tests.ledger.homes import opened
folder = Path({str(folder)!r})
ledger = opened(folder, budget=Budget(100))
def charge(name):
    for number in range(50):
        ledger.charge("ana", f"{{name}} {{number}}", "q", Pure("1/10"))
threads = [threading.Thread(target=charge, args=(name,)) for name in range(4)]
for thread in threads: thread.start()
children = []
for number in range(10):
    child = os.fork()
    if child == 0:
        ledger.charge("ana", f"child {{number}}", "q", Pure("1/10"))
        os._exit(0)
    children.append(child)
for thread in threads: thread.join()
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 10
assert ledger.verify().sound
assert len(ledger.entries()) == 211
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=600, cwd=ROOT)


@in_a_file
@pytest.mark.parametrize("call", range(1, 13))
def test_after_a_failed_flush_the_next_charge_stands_on_what_was_checked_and_written_again(
    folder: Path, call: int
) -> None:
    """Whichever call to the disk fails, once: the chain that the next charge joins is sound, sealed and in the file."""
    with installed(Faults("EIO once", call)) as faults, opened(folder) as ledger:
        ledger.charge("ana", "before", "q", TENTH)
        faults.calls, faults.armed = 0, True
        try:
            ledger.charge("ana", "failing", "q", TENTH)
        except LedgerError:
            assert ledger._writer._store is None  # dropped: the next batch opens, checks and writes again
        faults.armed = False
        receipt = ledger.charge("ana", "after", "q", TENTH)
        assert ledger.verify().sound
        assert ledger._vault.head.read().sequence == receipt.sequence
        keys = [entry.key for entry in ledger.entries() if entry.kind == "charged"]
        assert keys in (["before", "after"], ["before", "failing", "after"])
