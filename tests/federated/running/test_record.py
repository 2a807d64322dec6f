"""A record keeps what was flushed, whatever is cut off after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.federated.refusals import Refused
from tacit.federated.running.record import Record


def test_what_was_flushed_is_there_and_a_torn_end_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with Record(path, b"me") as record:
        record.add(b"A", b"one")
        record.add(b"B", b"")
        record.flush()
        whole = path.read_bytes()
        record.add(b"C", b"three")
        record.flush()
    longer = path.read_bytes()
    for cut in range(len(whole), len(longer)):
        path.write_bytes(longer[:cut])
        with Record(path, b"me") as record:
            assert record.entries == ((b"A", b"one"), (b"B", b""))
            assert path.read_bytes() == whole
    with Record(path, b"me") as record:
        record.add(b"D", b"after a crash")
        record.flush()
    with Record(path, b"me") as record:
        assert record.entries[-1] == (b"D", b"after a crash")


def test_another_owner_and_a_changed_beginning_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with Record(path, b"me") as record:
        record.add(b"A", b"one")
        record.flush()
        with pytest.raises(Refused, match="Another process"):
            Record(path, b"me")
    with pytest.raises(Refused, match="something else"):
        Record(path, b"you")
    assert path.stat().st_mode & 0o077 == 0
