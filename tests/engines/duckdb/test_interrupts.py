"""Ctrl-C during a registration: one clean interrupt, and nothing half-made that a later run could take for whole."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tacit.engines.duckdb.interrupts import as_keyboard_interrupts, execute

POLICY = """\
name = "endless"
{copy}
ledger = "spent.ledger"
[budget]
epsilon = 1
[tables.people]
source = "people.duckdb"
unit = "pid"
rows_per_unit = 2
[tables.people.columns]
age = {{ type = "integer", between = [0, 9] }}
"""
CHILD = """\
import sys
from pathlib import Path
from tacit.curator import open_policy
from tacit.engines.duckdb import working_copy

working_copy._MEMORY = Path("memory")
def tell(table, done, steps):
    print(table, done, steps, flush=True)
try:
    open_policy(Path("endless.toml").absolute(), progress=tell)
except KeyboardInterrupt:
    sys.exit(7)
"""


def folder(path: Path, rows: int, copy: str) -> None:
    """A policy over a table of so many rows that are made up while they are read."""
    (path / "memory").mkdir(exist_ok=True)
    (path / "endless.toml").write_text(POLICY.format(copy=copy))
    (path / "people.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(path / "people.duckdb")) as source:
        source.execute(f"CREATE VIEW people AS SELECT i AS pid, i % 10 AS age FROM range({rows}) AS made_up(i)")


@contextmanager
def started(command: list[str], path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program in this folder. It is gone afterwards, also when the test fails: left alone it would run for days."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=path, stdout=pipe, stderr=pipe, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("copy", ["", 'working_copy = "people.copy"'], ids=["in memory", "in a file"])
def test_an_interrupted_registration_leaves_no_copy_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copy: str
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    folder(tmp_path, 10**10, copy)  # takes far longer than the test waits
    command = [sys.executable, "-c", CHILD]
    with started(command, tmp_path) as registering:
        assert registering.stdout is not None
        for step in range(3):  # the third makes the table
            assert registering.stdout.readline() == f"people {step} 5\n"
        time.sleep(0.3)  # now the engine is at work
        registering.send_signal(signal.SIGINT)
        _, told = registering.communicate(timeout=300)
    assert (registering.returncode, told) == (7, "")
    assert list((tmp_path / "memory").iterdir()) == []
    left = {path.name for path in tmp_path.iterdir()} - {"endless.toml", "people.duckdb", "memory", "state"}
    assert left <= {"spent.ledger", "people.copy.secret"}
    folder(tmp_path, 10, copy)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(f"people {step} 5\n" for step in range(6))


def test_other_errors_of_the_engine_stay_what_they_are() -> None:
    for error in (RuntimeError("a bug"), ValueError("Query interrupted")):
        with pytest.raises(type(error), match=str(error)), as_keyboard_interrupts():
            raise error


def test_a_statement_that_fails_fails_where_it_was_asked_for() -> None:
    with duckdb.connect() as connection:
        with pytest.raises(duckdb.ParserException):
            execute(connection, "no such statement")
        execute(connection, "CREATE TABLE t AS SELECT 7 AS x")
        assert connection.execute("SELECT x FROM t").fetchall() == [(7,)]


def test_the_engines_own_report_of_an_interrupt_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), as_keyboard_interrupts():
        raise RuntimeError("Query interrupted")
