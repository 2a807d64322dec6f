"""Killed, starved and raced: short runs of `soak.py`, which does its work in a process that may fork and kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.effort import tried
from tests.ledger.faults import KINDS
from tests.postgres_server import BINARIES, MISSING

SOAK = Path(__file__).with_name("soak.py")
IN_POSTGRES = ("--store", "postgres")
needs_postgres = pytest.mark.skipif(BINARIES is None, reason=MISSING)


def soak(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SOAK), *arguments], capture_output=True, text=True, timeout=900)
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["problems"] == [], result
    assert done.returncode == 0
    return result


def test_sixteen_processes_spend_exactly_the_cap_and_charge_a_shared_key_once() -> None:
    """`soak.py processes 16 500` is the long run."""
    result = soak("processes", "16", "100")
    assert result["charged"] == result["cap"] == 1170
    assert result["charged"] + result["repeated"] + result["refused"] == 16 * 100
    assert result["refused"] >= 16 * 80 + 20 - 1170


def test_no_acknowledged_charge_is_lost_when_processes_are_killed_at_random_moments() -> None:
    """`soak.py kills 2000` is the long run. Charges that one kill in ten loses are seen in 30 with 96 of 100."""
    kills = tried(75)
    result = soak("kills", str(kills))
    assert result["killed"] == kills
    assert result["acknowledged"] > kills // 2


@needs_postgres
def test_hosts_that_share_a_database_spend_exactly_the_cap_and_charge_a_shared_key_once() -> None:
    """Each of the sixteen has a head of its own. `soak.py processes 16 500 --store postgres` is the long run."""
    result = soak("processes", "16", "25", *IN_POSTGRES)
    assert result["charged"] == result["cap"] == 293
    assert result["charged"] + result["repeated"] + result["refused"] == 16 * 25


@needs_postgres
def test_no_acknowledged_charge_is_lost_when_clients_of_a_database_are_killed() -> None:
    kills = tried(30)
    result = soak("kills", str(kills), *IN_POSTGRES)
    assert result["killed"] == kills
    assert result["acknowledged"] > kills // 2


@needs_postgres
def test_no_acknowledged_charge_is_lost_when_the_server_is_stopped_without_flushing() -> None:
    result = soak("crashes", "3", *IN_POSTGRES)
    assert result["acknowledged"] > 10
    assert result["refused"] > 0


FAULTS = {
    "charge": 5 * 15,
    "answer": 5 * 15,
    "register:kill": 60,
    "register:ENOSPC from then on": 60,
    "open, charge, answer, close:kill": 40,
    "open, charge, answer, close:EIO once": 40,
}
"""Which calls are made to fail, and how many there are at least."""


def test_a_fault_at_any_call_refuses_or_wastes_but_never_hides() -> None:
    """All of them in one process: starting it costs as much as many faults."""
    calls = soak("faults", *FAULTS)["calls"]
    for chosen, fewest in FAULTS.items():
        stage, _, kind = chosen.partition(":")
        assert sum(calls[f"{stage}, {each}"] for each in ([kind] if kind else KINDS)) >= fewest, chosen
