"""Registering anew while a curator is open: questions go on, on the new rows, and nobody else is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tacit
from tacit.errors import ParameterError
from tacit.statistics import Monitor

POLICY = """
name = "clinic"
working_copy = "{copy}"
ledger = "spent.ledger"
[budget]
epsilon = 1000
[questions]
largest_epsilon = 1000
{analysts}
[tables.visits]
source = "visits.csv"
unit = "patient"
rows_per_unit = 1
[tables.visits.columns]
age = {{ type = "integer", between = [0, 110] }}
"""
COUNT = "SELECT count(*) AS n FROM visits"


def clinic(folder: Path, copy: str, analysts: str = "") -> Path:
    (folder / "visits.csv").write_text("patient,age\n" + "".join(f"{who},{20 + who % 60}\n" for who in range(100)))
    path = folder / "clinic.toml"
    path.write_text(POLICY.format(copy=copy, analysts=analysts))
    return path


@pytest.fixture(autouse=True)
def _own_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("copy", ["memory", "visits.copy"])
def test_questions_go_on_after_a_refresh_on_the_rows_that_are_there_then(tmp_path: Path, copy: str) -> None:
    with tacit.open(clinic(tmp_path, copy)) as curator:
        assert curator.ask(COUNT, 900)["n"] == (100,)
        (tmp_path / "visits.csv").write_text("patient,age\n" + "".join(f"{who},30\n" for who in range(40)))
        curator.refresh()
        assert curator.ask(COUNT, 50)["n"] == (40,)
        assert curator.ask(COUNT, 50).repeated


def test_an_analyst_asks_and_pays_as_nobody_else(tmp_path: Path) -> None:
    path = clinic(tmp_path, "memory", "[analysts]\nana = { epsilon = 500 }\nbob = { epsilon = 500 }")
    with tacit.open(path, analyst="ana") as ana:
        for asked in (
            lambda: ana.ask(COUNT, 1, analyst="bob"),
            lambda: ana.ask_all([COUNT], 1, analyst="bob"),
            lambda: ana.publish([COUNT], 1, analyst="bob"),
            lambda: Monitor(ana, epsilon=1, threshold=5, fires=1, analyst="bob"),
        ):
            with pytest.raises(ParameterError, match="'ana', who is asking"):
                asked()
        assert ana.spent("bob").loss == 0
    with tacit.open(path) as owner:
        owner.ask(COUNT, 1, analyst="bob")
        assert owner.spent("bob").loss == 1


def test_a_registration_that_was_killed_leaves_no_rows_behind(tmp_path: Path) -> None:
    path = clinic(tmp_path, "visits.copy")
    program = textwrap.dedent(
        """
        import os, signal, sys
        from tacit.engines.duckdb import working_copy
        import tacit
        filled = working_copy._fill
        def killed(*given):
            filled(*given)
            os.kill(os.getpid(), signal.SIGKILL)
        working_copy._fill = killed
        tacit.open(sys.argv[1])
        """
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], env=dict(os.environ), capture_output=True)
    assert done.returncode == -9
    assert [each for each in tmp_path.iterdir() if each.name.startswith(".tacit-")]
    with tacit.open(path) as curator:
        assert curator.ask(COUNT, 900)["n"] == (100,)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".tacit-")]
