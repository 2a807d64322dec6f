"""`tacit ledger adopt`: the owner's word about a ledger that was moved or lost its head, loud and recorded."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tests.doors.shell import run
from tests.doors.test_cli import COUNT, POLICY, folder

__all__ = ["folder"]


def kinds(policy: str = "visits.toml") -> list[str]:
    return [entry["kind"] for entry in json.loads(run("ledger", policy, "--json").stdout)["entries"]]


def test_a_lost_head_stops_everything_until_the_owner_vouches(folder: Path) -> None:
    first = run("ask", "visits.toml", COUNT, "--epsilon", "0.5", "--csv").stdout
    (head,) = (folder / "state").glob("*.head")
    head.unlink()
    for arguments in (("ask", "visits.toml", COUNT, "--epsilon", "0.5"), ("ledger", "visits.toml")):
        assert "tacit ledger adopt POLICY --head-lost" in run(*arguments, code=1).stderr
    assert "could not be read" in run("ledger", "adopt", "visits.toml", "--yes", code=1).stderr
    run("ledger", "adopt", "visits.toml", "--head-lost", code=1)  # nobody is there to confirm it
    assert not head.exists()
    told = run("ledger", "adopt", "visits.toml", "--head-lost", "--yes").stderr
    assert "older copy" in told
    assert "Recorded as entry 4 (vouched)" in told
    assert kinds() == ["registered", "charged", "answered", "vouched"]
    assert run("ask", "visits.toml", COUNT, "--epsilon", "0.5", "--csv").stdout == first  # what was spent stays spent
    run("ask", "visits.toml", COUNT, "--epsilon", "0.75", code=3)
    assert "4 entries" in run("ledger", "verify", "visits.toml").stdout
    assert "nothing was lost" in run("ledger", "adopt", "visits.toml", "--head-lost", "--yes", code=1).stderr


def test_a_damaged_ledger_cannot_be_vouched_for(folder: Path) -> None:
    run("ask", "visits.toml", COUNT)
    (head,) = (folder / "state").glob("*.head")
    head.unlink()
    path = folder / "visits.ledger"
    content = path.read_bytes()
    at = content.index(b"count_rows")
    path.write_bytes(content[:at] + b"COUNT" + content[at + 5 :])
    assert "edited" in run("ledger", "adopt", "visits.toml", "--head-lost", "--yes", code=1).stderr
    assert not head.exists()
    path.unlink()
    assert "no ledger" in run("ledger", "adopt", "visits.toml", "--head-lost", "--yes", code=1).stderr


def test_a_moved_ledger_takes_its_head_along_and_the_old_place_is_refused(folder: Path) -> None:
    run("ask", "visits.toml", COUNT, "--epsilon", "0.5")
    shutil.copy(folder / "visits.ledger", folder / "old.copy")
    (folder / "kept").mkdir()
    os.replace(folder / "visits.ledger", folder / "kept" / "spent")
    (folder / "moved.toml").write_text(POLICY.replace('"visits.ledger"', '"kept/spent"'))
    assert "no head" in run("ask", "moved.toml", COUNT, "--epsilon", "0.5", code=1).stderr
    refused = run("ledger", "adopt", "moved.toml", "--moved-from", "nowhere", "--yes", code=1).stderr
    assert "should be at" in refused
    told = run("ledger", "adopt", "moved.toml", "--moved-from", "visits.ledger", "--yes").stderr
    assert "spent twice" in told
    assert "(moved)" in told
    assert kinds("moved.toml") == ["registered", "charged", "answered", "moved"]
    run("ask", "moved.toml", COUNT, "--epsilon", "0.75", code=3)
    os.replace(folder / "old.copy", folder / "visits.ledger")
    run("ask", "visits.toml", COUNT, "--epsilon", "0.5", code=1)  # the copy has no head any more


def test_a_move_that_is_refused_leaves_the_head_where_it_was(folder: Path) -> None:
    run("ask", "visits.toml", COUNT, "--epsilon", "0.25")
    shutil.copy(folder / "visits.ledger", folder / "older")
    run("ask", "visits.toml", COUNT, "--epsilon", "0.5")
    (folder / "moved.toml").write_text(POLICY.replace('"visits.ledger"', '"older"'))
    told = run("ledger", "adopt", "moved.toml", "--moved-from", "visits.ledger", "--yes", code=1).stderr
    assert "older copy" in told
    assert run("ledger", "verify", "visits.toml").exit_code == 0
    clash = ("ledger", "adopt", "moved.toml", "--moved-from", "visits.ledger", "--head-lost", "--yes")
    assert "moved_from" in run(*clash, code=2).stderr


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_the_owner_is_asked_to_confirm(folder: Path, answer: str) -> None:
    run("ask", "visits.toml", COUNT)
    (head,) = (folder / "state").glob("*.head")
    head.unlink()
    done = CliRunner().invoke(app, ["ledger", "adopt", "visits.toml", "--head-lost"], input=answer)
    assert (done.exit_code, head.exists()) == ((0, True) if answer == "y\n" else (1, False))
