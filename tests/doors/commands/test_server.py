"""`tacit token` and `tacit serve` at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doors.shell import run
from tests.doors.test_cli import folder

__all__ = ["folder"]


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(folder: Path) -> None:
    text = run("token", "add", "visits.toml", "ana", "--days", "3").stdout.strip()
    assert text.startswith("tacit-")
    told = run("token", "list", "visits.toml", "--json").stdout
    assert text.split("-", 2)[2] not in told
    (listed,) = json.loads(told)["tokens"]
    assert (listed["name"], listed["role"]) == ("ana", "analyst")
    assert listed["id"] in run("token", "list", "visits.toml").stdout
    assert "Revoked" in run("token", "revoke", "visits.toml", listed["id"]).stderr
    assert json.loads(run("token", "list", "visits.toml", "--json").stdout)["tokens"] == []
    assert "there are: none" in run("token", "revoke", "visits.toml", listed["id"], code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ana", "--role", "king"), "one of owner, analyst, auditor"),
        (("owner",), "for the owner, and for nobody else"),
        (("ana", "--role", "owner"), "for the owner, and for nobody else"),
    ],
)
def test_a_token_for_a_wrong_role_or_name_is_refused(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in run("token", "add", "visits.toml", *arguments, code=2).stderr
    assert not (folder / "visits.tokens").exists()


def test_an_analyst_without_a_budget_gets_no_token(folder: Path) -> None:
    policy = folder / "visits.toml"
    policy.write_text(policy.read_text() + "\n[analysts.bob]\nepsilon = 0.1\n")
    assert "[analysts.ana]" in run("token", "add", "visits.toml", "ana", code=2).stderr
    run("token", "add", "visits.toml", "bob")
    run("token", "add", "visits.toml", "aud", "--role", "auditor")


def test_a_server_without_a_certificate_stays_on_this_machine(folder: Path) -> None:
    pytest.importorskip("fastapi", reason="an extra, which the tests' lock file holds")
    told = run("serve", "visits.toml", "--host", "0.0.0.0", code=2).stderr
    assert "this machine (127.0.0.1) where there is no certificate" in told
    assert "together with its key" in run("serve", "visits.toml", "--certificate", "c.pem", code=2).stderr
    assert "no such file" in run("serve", "nowhere.toml", code=1).stderr
