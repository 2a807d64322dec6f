"""What is shown while tables are registered: a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

import io
import signal
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import tacit
from tacit.curator import open_policy, protect
from tacit.doors.commands.registering import registering
from tests.curator.tables import people
from tests.engines.duckdb.test_interrupts import folder, started


def test_a_terminal_shows_the_table_and_the_steps_and_then_nothing() -> None:
    seen = io.StringIO()
    with registering(Console(file=seen, force_terminal=True, width=100)) as told:
        assert told is not None
        assert "Registering" not in seen.getvalue()  # nothing to register yet
        told("visits\x1b[2J[bold]", 1, 4)
        patience = time.monotonic() + 60
        while "1/4" not in (shown := seen.getvalue()) and time.monotonic() < patience:
            time.sleep(0.02)  # a thread draws the bar ten times a second, when it gets its turn
    assert "Registering visits\\x1b[2J[bold]" in shown
    assert "1/4" in shown
    assert seen.getvalue().endswith("\x1b[2K")  # the line is wiped


def test_a_pipe_sees_nothing() -> None:
    seen = io.StringIO()
    with registering(Console(file=seen)) as told:
        assert told is None
    assert seen.getvalue() == ""


def test_a_curator_tells_its_steps_and_a_current_copy_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    steps: list[tuple[str, int, int]] = []

    def told(table: str, done: int, of: int) -> None:
        steps.append((table, done, of))

    columns = {"age": tacit.between(0, 99)}
    protect(people(9), unit="pid", columns=columns, budget=tacit.Budget(1), table="t", progress=told).close()
    assert steps == [("t", step, 5) for step in range(6)]
    steps.clear()
    folder(tmp_path, 10, 'working_copy = "people.copy"')
    for expected in (6, 0):
        open_policy(tmp_path / "endless.toml", progress=told).close()
        assert len(steps) == expected
        steps.clear()


def test_an_interrupt_while_registering_is_one_line_and_code_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    folder(tmp_path, 10**10, 'working_copy = "people.copy"')
    command = [sys.executable, "-m", "tacit.doors.cli", "ask", "endless.toml", "SELECT count(*) FROM people"]
    with started(command, tmp_path) as asking:
        while not list(tmp_path.glob(".tacit-*/draft.duckdb")):
            assert asking.poll() is None
            time.sleep(0.02)
        time.sleep(0.5)
        asking.send_signal(signal.SIGINT)
        out, told = asking.communicate(timeout=300)
    assert (asking.returncode, out) == (130, "")
    assert told.startswith("Interrupted.")
    assert told.count("\n") == 1
    assert not list(tmp_path.glob(".tacit-*"))
    assert not (tmp_path / "people.copy").exists()
