"""Loss of power: what was written but not flushed may be gone, or be there in part.

A run is recorded: every write, truncation and flush of the file, its log and the head, and the moments at which a
charge or an answer was acknowledged. Then the disk is rebuilt as it could stand after a loss of power at any moment:
each file holds what was flushed, and of the writes since then none, all, or any of their sectors. (That a killed
process alone loses nothing is tested in `test_crashes`; there the cache survives, which hides a missing flush.)
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tacit.ledger import Ledger
from tacit.ledger.head import HeadFile
from tacit.loss import Budget
from tacit.loss.events import Pure
from tests.ledger.faults import Faults, installed
from tests.ledger.stores import in_a_file

pytestmark = in_a_file

SECTOR = 512
TENTH = Pure("1/10")


class Recording:
    """The files at the start, then (file, what, ...) for every call, and ("", "acknowledged", sequence)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log: list[tuple[Any, ...]] = []
        with Ledger.open(folder / "ledger", head=folder / "head", budget=Budget(100)) as ledger:
            ledger.charge("ana", "before", "q", TENTH)
        self.start = {name: (folder / name).read_bytes() for name in ("ledger", "head")}
        with installed(Faults()) as faults:
            faults.heard = lambda path, *call: self.log.append((Path(path).name, *call))
            with Ledger.open(folder / "ledger", head=folder / "head") as ledger:
                self._ask(ledger)

    def _ask(self, ledger: Ledger) -> None:
        store = ledger._writer._store
        assert store is not None
        store._connection.execute("PRAGMA wal_autocheckpoint = 6")  # so that the log is also emptied and begun anew
        for number in range(8):
            receipt = ledger.charge("ana", f"{number}", "SELECT 1" * 50 * number, TENTH)
            self.log.append(("", "acknowledged", receipt.sequence))
            ledger.store_answer(receipt, b"answer" * 100 * number)
            self.log.append(("", "acknowledged", receipt.sequence + 1))

    def acknowledged(self, moment: int) -> int:
        return max((call[2] for call in self.log[:moment] if call[1] == "acknowledged"), default=2)

    def disk_after(self, moment: int, luck: random.Random, share: float) -> dict[str, bytes]:
        """The files after a loss of power, when each sector that was not flushed was written with this chance."""
        files = {name: bytearray(content) for name, content in self.start.items()}
        for name in {call[0] for call in self.log if call[0]}:
            calls = [call[1:] for call in self.log[:moment] if call[0] == name]
            flushed = max((number for number, call in enumerate(calls) if call[0] == "sync"), default=-1)
            for number, call in enumerate(calls):
                chance = 1.0 if number < flushed else share
                content = files.setdefault(name, bytearray())
                if call[0] == "truncate" and luck.random() < chance:
                    del content[call[1] :]
                elif call[0] == "write":
                    _write(content, call[1], call[2], luck, chance)
        return {name: bytes(content) for name, content in files.items()}

    def put_back(self, files: dict[str, bytes]) -> None:
        for rest in ("ledger-wal", "ledger-shm"):
            (self.folder / rest).unlink(missing_ok=True)
        for name, content in files.items():
            (self.folder / name).write_bytes(content)


def _write(content: bytearray, data: bytes, offset: int, luck: random.Random, chance: float) -> None:
    position = 0
    while position < len(data):
        length = min(SECTOR - (offset + position) % SECTOR, len(data) - position)
        if luck.random() < chance:
            end = offset + position + length
            content.extend(bytes(max(0, end - len(content))))
            content[offset + position : end] = data[position : position + length]
        position += length


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_what_was_acknowledged_survives_a_loss_of_power_at_any_moment(folder: Path, share: float) -> None:
    recording = Recording(folder)
    assert sum(call[1] == "sync" for call in recording.log) > 40
    assert any(call[:2] == ("ledger", "write") for call in recording.log)  # the log was carried over into the file
    luck = random.Random(20)
    for moment in range(len(recording.log) + 1):
        recording.put_back(recording.disk_after(moment, luck, share))
        promised = recording.acknowledged(moment)
        assert HeadFile(folder / "head", 1.0).read().sequence >= promised, moment
        with Ledger.open(folder / "ledger", head=folder / "head") as ledger:  # which checks everything
            entries = ledger.entries()
            assert len(entries) >= promised, moment
            for entry in entries:
                if entry.kind == "answered":
                    assert ledger.answer(entry.key or "") is not None
