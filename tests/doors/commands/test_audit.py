"""`tacit audit`: a policy tried on made-up rows, and its signed report checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.audit import sandbox
from tests.doors.shell import run
from tests.doors.test_cli import folder

__all__ = ["folder"]


@pytest.mark.statistical
def test_a_policy_is_audited_without_rows_and_its_report_is_signed_and_checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 1 - 1e-9 for the whole report."""
    monkeypatch.setattr(sandbox, "_MOST_WORLDS", 100)
    (folder / "visits.csv").unlink()  # nothing is read
    path = folder / "visits.toml"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("age")))
    options = ["--samples", "400", "--confidence", "0.999999999", "--key", "auditor.pem", "--output", "audit.json"]
    done = run("audit", "visits.toml", *options)
    assert "0 violated" in done.stdout
    assert "tacit audit check audit.json" in done.stderr
    assert not (folder / "visits.ledger").exists()
    signed = json.loads((folder / "audit.json").read_text())
    checked = run("audit", "check", "audit.json", "--public-key", signed["public_key"], "--json")
    report = json.loads(checked.stdout)
    assert report["samples"] == 400
    assert {each["outcome"] for each in report["tried"]} <= {"consistent", "inconclusive"}
    assert "the signature holds" in run("audit", "check", "audit.json").stderr


def test_a_report_that_was_changed_or_is_not_there_is_refused(folder: Path) -> None:
    assert "cannot be read" in run("audit", "check", "missing.json", code=2).stderr
    (folder / "audit.json").write_text("{}")
    assert "no signed audit report" in run("audit", "check", "audit.json", code=1).stderr


def test_the_help_shows_examples() -> None:
    shown = run("audit", "--help").stdout
    assert "tacit audit check audit.json" in " ".join(shown.split())
