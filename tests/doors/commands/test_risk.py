"""`tacit risk`: the table, the report, JSON, and what is said after a mistake."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from typer.testing import Result

from tests.doors.shell import run as typed

WARNING = "NOT FOR RELEASE"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with visits.csv: zip and age together are unique for two of six people."""
    (tmp_path / "visits.csv").write_text(
        "zip,age,disease\n1,30,flu\n1,30,flu\n2,30,flu\n2,30,cold\n1,40,flu\n2,50,cold\n"
    )
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    return typed("risk", *arguments, code=code)


def test_help_shows_an_example() -> None:
    shown = " ".join(run("--help").stdout.split())
    assert "tacit risk visits.csv --columns zip,birth,sex" in shown
    assert WARNING in shown


def test_the_table_warns_first_and_last_and_lists_every_set(folder: Path) -> None:
    shown = run("visits.csv", "--columns", "zip, age", "--sensitive", "disease").stdout
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    assert lines[0].startswith(WARNING)
    assert lines[-1].startswith(WARNING)
    assert "33.3%" in shown
    assert "zip, age" in shown
    assert "l = 1" in shown


def test_json_carries_the_warning_and_the_figures(folder: Path) -> None:
    done = run("visits.csv", "--columns", "zip,age", "--json")
    found = json.loads(done.stdout)
    assert found["warning"].startswith(WARNING)
    assert WARNING in done.stderr
    assert found["whole"]["unique"] == 2
    assert found["harm"][0]["column"] == "age"
    assert [each["size"] for each in found["smallest"]] == [1, 1, 2, 2]


def test_the_report_is_written_for_the_owner_alone_and_over_nothing(folder: Path) -> None:
    run("visits.csv", "--columns", "zip,age", "--html", "risk.html")
    report = folder / "risk.html"
    assert WARNING in report.read_text()
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert "exists already" in run("visits.csv", "--columns", "zip", "--html", "risk.html", code=2).stderr
    assert "cannot be written" in run("visits.csv", "--columns", "zip", "--html", "no/risk.html", code=2).stderr


def test_a_misspelt_column_is_a_sentence_with_the_nearest_one(folder: Path) -> None:
    assert "Did you mean 'zip'?" in run("visits.csv", "--columns", "zpi", code=2).stderr
    assert "Did you mean 'age'?" in run("visits.csv", "--columns", "zip", "--person", "agee", code=2).stderr
    assert "a file that exists" in run("visit.csv", "--columns", "zip", code=2).stderr
