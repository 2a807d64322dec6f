"""`tacit suggest`: the line to paste goes to standard output, the rest beside it; the second time is free."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.doors.shell import run
from tests.doors.test_cli import POLICY

AUTO = POLICY + 'charge = { type = "real", between = "auto", outside = "drop" }\nscore = { type = "integer" }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two thousand charges from 100 to 119.5, and scores of 5."""
    lines = ["patient_id,sex,age,charge,score"]
    lines += [f"{row // 2},{'FM'[row % 2]},{20 + row % 50},{100 + row % 40 / 2},5" for row in range(2_000)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "visits.toml").write_text(AUTO)
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.statistical
def test_the_line_is_printed_can_be_pasted_and_is_charged_once(folder: Path) -> None:
    # the 2,000 rows of one cell are seen unless noise of scale 4 hides them: below 1e-100. An empty cell is seen with
    # probability 1 % / 261 at most; then the line would differ, so the true one is looked for within the bounds
    first = run("suggest", "visits.toml", "visits.charge", "--epsilon", "0.5", "--json")
    found = json.loads(first.stdout)
    assert found["lower"] <= 64 <= 128 <= found["upper"]
    assert (found["epsilon"], found["repeated"]) == ("1/2", False)
    again = run("suggest", "visits.toml", "visits.charge", "--epsilon", "0.5")
    assert again.stdout == found["line"] + "\n"
    assert "nothing was charged" in again.stderr
    entries = csv.DictReader(io.StringIO(run("ledger", "export", "visits.toml", "--format", "csv").stdout))
    assert len([entry for entry in entries if entry["cost"]]) == 1
    assert 'outside = "drop"' in found["line"]
    lines = [found["line"] if line.startswith("charge") else line for line in AUTO.splitlines()]
    (folder / "visits.toml").write_text("\n".join(lines) + "\n")
    assert "is in order" in run("check", "visits.toml").stdout
    run("estimate", "visits.toml", "SELECT sum(charge) FROM visits")


def test_mistakes_are_told_before_anything_is_opened(folder: Path) -> None:
    for column, words in (
        ("visits.charges", "Did you mean 'visits.charge'?"),
        ("charge", "written table.column"),
        ("visits.sex", "is a text"),
    ):
        assert words in " ".join(run("suggest", "visits.toml", column, code=1).stderr.split())
    run("suggest", "visits.toml", "visits.charge", "--epsilon", "7", code=2)
    assert not (folder / "visits.ledger").exists()
    assert not (folder / "visits.copy").exists()
