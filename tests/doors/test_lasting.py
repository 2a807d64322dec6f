"""A command begins where the last one ended: doors that spend refuse a policy that forgets what was spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.doors.http.datasets import Dataset
from tacit.errors import PolicyError

POLICY = """
[budget]
epsilon = 1
[tables.t]
source = "t.csv"
unit = "who"
rows_per_unit = 1
[tables.t.columns]
x = { type = "integer", between = [0, 9], nullable = false }
y = { type = "integer", between = "auto", nullable = false }
"""
SPENDING = (
    ["ask", "p.toml", "SELECT count(*) FROM t"],
    ["suggest", "p.toml", "t.y"],
    ["train", "p.toml", "SELECT x FROM t WHERE x > 1", "--model", "PCA", "--delta", "1e-9", "--to", "m.json"],
    ["synthesise", "p.toml", "t", "--epsilon", "1", "--output", "s.csv"],
)


@pytest.fixture(params=["left out", "memory"])
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("who,x,y\n1,2,3\n2,3,4\n")
    stated = 'ledger = "memory"\n' if request.param == "memory" else ""
    (tmp_path / "p.toml").write_text(stated + POLICY)
    return tmp_path / "p.toml"


@pytest.mark.parametrize("command", SPENDING, ids=lambda each: each[0])
def test_a_command_that_spends_refuses_a_ledger_in_memory(forgetful: Path, command: list[str]) -> None:
    found = CliRunner().invoke(app, command)
    assert found.exit_code != 0
    assert "keeps its ledger in memory" in found.output
    assert 'ledger = "p.ledger"' in found.output


def test_a_server_refuses_it_too(forgetful: Path) -> None:
    with pytest.raises(PolicyError, match="keeps its ledger in memory"):
        Dataset.open(forgetful)


def test_check_says_so_and_an_estimate_is_free(forgetful: Path) -> None:
    assert 'Add at the top: ledger = "p.ledger"' in " ".join(
        CliRunner().invoke(app, ["check", "p.toml"]).output.split()
    )
    assert CliRunner().invoke(app, ["estimate", "p.toml", "SELECT count(*) FROM t"]).exit_code == 0
