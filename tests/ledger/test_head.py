"""The head: two slots, never back, never torn."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.ledger import disk
from tacit.ledger.head import SLOT, Head, HeadFile, Place
from tests.ledger.stores import in_a_file

pytestmark = in_a_file

FIRST = Head("identity", 0, "0" * 64, "/somewhere/ledger", 42)


@pytest.fixture
def file(folder: Path) -> HeadFile:
    head = HeadFile(folder / "head", 0.05)
    with head.locked():
        head.create(FIRST)
    return head


def test_a_head_is_read_as_it_was_written(file: HeadFile) -> None:
    assert file.read() == FIRST
    file.advance(3, "abc")
    assert file.read() == replace(FIRST, sequence=3, hash="abc")


def test_the_head_never_goes_back(file: HeadFile) -> None:
    file.advance(5, "five")
    file.advance(4, "four")
    file.advance(5, "another five")
    assert (file.read().sequence, file.read().hash) == (5, "five")


@pytest.mark.parametrize("sequence", range(1, 6))
def test_a_torn_write_leaves_the_head_before(file: HeadFile, sequence: int) -> None:
    for number in range(1, sequence + 1):
        file.advance(number, f"hash {number}")
    content = file.path.read_bytes()
    newest = sequence % 2 * SLOT
    for length in (0, 1, 64, 65, 100):
        torn = content[: newest + length] + bytes(SLOT - length) + content[newest + SLOT :]
        file.path.write_bytes(torn)
        assert file.read().sequence == sequence - 1


def test_after_a_torn_write_the_spoiled_slot_is_used_next(file: HeadFile) -> None:
    file.advance(1, "one")
    file.path.write_bytes(file.path.read_bytes()[:SLOT] + bytes(SLOT))
    file.advance(2, "two")
    assert file.read().sequence == 2
    assert file.path.read_bytes()[:SLOT].count(b'"sequence":0') == 1  # the good slot was not touched


def test_a_head_with_both_slots_spoiled_is_refused(file: HeadFile) -> None:
    file.path.write_bytes(bytes(2 * SLOT))
    with pytest.raises(LedgerError, match="damaged"):
        file.read()


def test_a_missing_head_is_refused(folder: Path) -> None:
    with pytest.raises(LedgerError, match="could not be read"):
        HeadFile(folder / "none", 0.05).read()


def test_a_lock_that_stays_taken_is_a_refusal(file: HeadFile) -> None:
    other = os.open(file.path.with_name("head.lock"), os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(LedgerError, match=r"locked for 0\.05 seconds"):
        file.advance(1, "one")
    os.close(other)
    file.advance(1, "one")
    assert file.read().sequence == 1


def test_a_head_that_others_have_flushed_is_not_flushed_again(file: HeadFile, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes: list[int] = []
    real = disk.sync
    monkeypatch.setattr(disk, "sync", lambda descriptor: (flushes.append(descriptor), real(descriptor)))
    file.advance(5, "five")
    assert len(flushes) == 1
    file.advance(4, "four")
    assert len(flushes) == 1


def test_a_head_whose_writer_was_killed_before_its_flush_is_flushed(
    file: HeadFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(descriptor: int) -> None:
        raise KeyboardInterrupt

    flushes: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(disk, "sync", killed)
        with pytest.raises(KeyboardInterrupt):
            file.advance(5, "five")
    assert file.read().sequence == 5  # in the cache of the machine; perhaps not on its disk
    monkeypatch.setattr(disk, "sync", flushes.append)
    file.advance(5, "five")
    assert len(flushes) == 1


def test_an_old_note_does_not_hide_that_the_head_lags(file: HeadFile) -> None:
    before = file.path.read_bytes()
    file.advance(5, "five")
    file.path.write_bytes(before)
    file.advance(4, "four")
    assert file.read().sequence == 4


def test_a_new_head_forgets_the_notes_of_an_older_one(file: HeadFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.advance(9, "nine")
    file.path.unlink()
    with file.locked():
        file.create(replace(FIRST, sequence=7))
    flushes: list[int] = []
    monkeypatch.setattr(disk, "sync", flushes.append)
    file.advance(7, "seven")
    assert len(flushes) == 1


def test_only_the_owner_can_read_a_head(file: HeadFile) -> None:
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_path_too_long_for_the_head_is_refused(file: HeadFile) -> None:
    with file.locked(), pytest.raises(LedgerError, match="too long"):
        file.write(replace(FIRST, file="é" * SLOT))


def test_a_short_write_is_completed_and_a_stuck_one_is_an_error(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    descriptor = os.open(folder / "file", os.O_RDWR | os.O_CREAT)
    monkeypatch.setattr(disk, "pwrite", lambda fd, data, offset: os.pwrite(fd, data[:3], offset))
    disk.write(descriptor, b"0123456789", 0)
    assert os.pread(descriptor, 100, 0) == b"0123456789"
    monkeypatch.setattr(disk, "pwrite", lambda fd, data, offset: 0)
    with pytest.raises(OSError, match="nothing was written"):
        disk.write(descriptor, b"0123456789", 0)
    os.close(descriptor)


def test_a_place_is_a_path_and_an_inode(folder: Path) -> None:
    (folder / "file").write_text("x")
    (folder / "link").symlink_to(folder / "file")
    (folder / "copy").write_text("x")
    assert Place.of(folder / "link") == Place.of(folder / "file")
    assert Place.of(folder / "copy").inode != Place.of(folder / "file").inode
