"""The demo: it runs without a terminal, and every stage of it is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.curator import check_policy
from tacit.doors import clinic, show
from tacit.doors.cli import app
from tacit.policy.read import parse


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the demo prints into a pipe that takes ASCII only; its temporary files go to a folder that is looked at."""
    folder = tmp_path_factory.mktemp("demo")
    home = {"TMPDIR": str(folder), "TACIT_STATE": str(folder / "state"), "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "tacit.demo"], capture_output=True, text=True, check=True, env={**os.environ, **home}
    )
    assert done.stderr == ""
    assert list(folder.iterdir()) == []  # nothing is left behind
    return done.stdout


def test_the_demo_is_plain_text_of_80_columns(printed: str) -> None:
    assert "\x1b" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_every_question_is_estimated_and_then_answered_with_errors(printed: str) -> None:
    parts = re.split(r"(?m)^\d\. ", printed)[1:]
    assert len(parts) == len(show.QUESTIONS) == 6
    for part in parts:
        assert part.index("Estimate, free: epsilon") < part.index("+/- covers noise")
        assert re.search(r"\d \+/- \d", part)


def test_the_answers_are_near_the_truth(printed: str) -> None:
    (patients,) = re.findall(r"(?m)^ *([\d,]+) \+/- 150$", printed)
    assert abs(int(patients.replace(",", "")) - clinic.PATIENTS) < 50 * 40  # scale 50: e^-40 is the chance of more


def test_there_is_a_chart_of_bars_with_error_lines(printed: str) -> None:
    # noise of scale 667 may leave the shortest one, of 7,801, without a block; not the longest, of 36,387
    bars = re.findall(r"(?m)^[A-Z]\d\d .* (#*-*\+-*) *$", printed)
    assert len(bars) == 6
    assert any(re.search(r"#-+\+", bar) for bar in bars)


def test_the_budget_runs_out_a_repetition_is_free_and_the_ledger_is_shown(printed: str) -> None:
    assert "nothing was charged" in printed
    assert "Rows themselves never leave" in printed
    assert "This question needs" in printed
    ledger = printed[printed.index("The ledger\n") :]
    assert len(re.findall(r"(?m)^ +\d+  \d{4}-\d\d-\d\d ", ledger)) >= 6 + 1
    assert "answers so far are worth epsilon" in " ".join(ledger.split())


def test_the_clinic_is_what_its_policy_says(tmp_path: Path) -> None:
    made = clinic.make(tmp_path, patients=500)
    policy = parse(clinic.POLICY)
    visits = [line.split(",") for line in (tmp_path / "visits.csv").read_text().splitlines()[1:]]
    assert len(visits) == made.rows["visits"]
    of_each: dict[str, int] = {}
    for _, patient, *_rest in visits:
        of_each[patient] = of_each.get(patient, 0) + 1
    assert len(of_each) == 500
    assert max(of_each.values()) <= policy.tables["visits"].rows_per_unit
    assert {row[2] for row in visits} <= set(clinic.DEPARTMENTS)
    assert all(0 <= float(row[4]) <= 1000 for row in visits)
    codes = [line.split(",")[1] for line in (tmp_path / "diagnoses.csv").read_text().splitlines()[1:]]
    assert made.diagnoses_by_code == {code: codes.count(code) for code in made.diagnoses_by_code}


def test_the_clinic_can_be_kept_in_a_new_folder_with_a_ledger_that_lasts(tmp_path: Path) -> None:
    folder = tmp_path / "clinic"
    kept = CliRunner().invoke(app, ["demo", "--to", str(folder)])
    assert kept.exit_code == 0, kept.output
    policy = check_policy(folder / "clinic.toml")
    assert (policy.ledger, policy.working_copy) == ("clinic.ledger", "clinic.copy")
    assert set(policy.tables) == {"patients", "visits", "diagnoses"}
    again = CliRunner().invoke(app, ["demo", "--to", str(folder)])
    assert again.exit_code == 2
    assert "exists already, and is left as it is" in again.output
    other = CliRunner().invoke(app, ["demo", "mechanisms", "--to", str(tmp_path / "other")])
    assert other.exit_code == 2
    assert not (tmp_path / "other").exists()
