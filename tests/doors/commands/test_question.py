"""`tacit estimate | explain | ask | suggest`: one reading of the policy, one of the text, and one plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tacit.doors import lasting
from tests.doors.commands import test_question_suggest
from tests.doors.shell import run
from tests.doors.test_cli import COUNT, registered
from tests.walks import ONCE, counted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return registered(tmp_path, monkeypatch)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    found, read = counted(monkeypatch), lasting.read

    def counting(path: Path) -> object:
        found["policy"] += 1
        return read(path)

    monkeypatch.setattr(lasting, "read", counting)
    return found


@pytest.mark.parametrize("command", ["estimate", "explain", "ask"])
@pytest.mark.parametrize("price", [["--epsilon", "0.1"], ["--epsilon", "0.1", "--delta", "1e-6"], ["--within", "400"]])
def test_a_question_is_read_and_planned_once(
    folder: Path, counts: Counter[str], command: str, price: list[str]
) -> None:
    run(command, "visits.toml", COUNT, *price)
    assert counts == {**ONCE, "policy": 1}


def test_why_is_told_with_the_plan_that_is_explained(folder: Path, counts: Counter[str]) -> None:
    shown = run("explain", "visits.toml", COUNT, "--epsilon", "0.1", "--why").stdout
    assert "rows_per_unit=1" in shown
    assert counts == {"policy": 1, "read": 1, "prepared": 2, "finished": 3}  # as asked, and two changes


def test_bounds_are_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: Counter[str]) -> None:
    (tmp_path / "visits.csv").write_text("patient_id,sex,age,charge,score\n1,F,30,5,5\n")
    (tmp_path / "visits.toml").write_text(test_question_suggest.AUTO)
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    run("suggest", "visits.toml", "visits.charge", "--epsilon", "0.1")
    assert counts == {**ONCE, "policy": 1}


def test_a_policy_is_found_from_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "inside").mkdir()
    monkeypatch.chdir(folder / "inside")
    first = run("ask", "../visits.toml", COUNT, "--epsilon", "0.1", "--json").stdout
    monkeypatch.chdir(folder)
    again = run("ask", "visits.toml", COUNT, "--epsilon", "0.1", "--json").stdout
    assert again == first.replace('"repeated": false', '"repeated": true')
