"""A journal keeps what it promised, whatever ends its process."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tacit.errors import LedgerError, ParameterError
from tacit.mechanisms.continual import RunningTotals, one_user
from tacit.streaming import Journal
from tests.streaming.kills import kill_often

TOTALS = RunningTotals(100, epsilon=1, delta=1e-6)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_killed_processes_neither_lose_a_step_nor_send_it_twice(delta: float) -> None:
    steps, _ = kill_often(15, seed=1, delta=delta)
    assert steps > 5


def test_a_step_that_is_over_is_not_drawn_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "s", TOTALS) as journal:
        first = journal.step(1, [3])
        assert journal.step(1, [1000]) == first
        several = journal.extend(1, [[0], [1], [2]])
        assert several[0] == first
        assert journal.time == 3
    with Journal(tmp_path / "s", TOTALS) as journal:
        assert [journal.sent(step) for step in (1, 2, 3)] == several
        assert journal.step(4, 5) == journal.sent(4)
        with pytest.raises(ParameterError, match="at most the next one, 5"):
            journal.step(9, 1)
        with pytest.raises(ParameterError, match="1 to 4"):
            journal.sent(5)


def test_a_journal_goes_on_as_one_that_was_never_closed(tmp_path: Path) -> None:
    truth = 0
    for step in range(1, 61):
        with Journal(tmp_path / "s", TOTALS) as journal:
            truth += step
            assert abs(journal.step(step, step)[0] - truth) < 12 * TOTALS.deviation(step)


def test_a_full_disk_sends_nothing_and_the_journal_goes_on_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "s", TOTALS)
    journal.step(1, 1)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(journal, "_keep", full)
    with pytest.raises(sqlite3.OperationalError):
        journal.step(2, 1)
    with pytest.raises(LedgerError, match="is closed"):
        journal.step(2, 1)
    with Journal(tmp_path / "s", TOTALS) as again:
        assert again.time == 1


def test_one_process_at_a_time_holds_a_journal_and_a_fork_does_not(tmp_path: Path) -> None:
    with Journal(tmp_path / "s", TOTALS) as journal:
        with pytest.raises(LedgerError, match="Another process holds"):
            Journal(tmp_path / "s", TOTALS)
        child = os.fork()
        if child == 0:
            try:
                journal.step(1, 1)
            except LedgerError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert journal.time == 0


def test_a_file_of_another_stream_is_refused_and_files_are_for_the_owner(tmp_path: Path) -> None:
    Journal(tmp_path / "s", TOTALS).close()
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
    for other in (
        RunningTotals(101, epsilon=1, delta=1e-6),
        RunningTotals(100, epsilon=2, delta=1e-6),
        RunningTotals(100, epsilon=1, delta=1e-6, protects=one_user(2)),
        RunningTotals(100, epsilon=1, delta=1e-6, largest=5),
        RunningTotals(100, epsilon=1, delta=1e-6, width=2),
    ):
        with pytest.raises(ParameterError, match="another stream"):
            Journal(tmp_path / "s", other)
    Journal(tmp_path / "s", TOTALS).close()
