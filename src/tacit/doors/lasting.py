"""The curator of a policy file, for doors that close again: what was spent must be recorded where it lasts.

A command, or a server that is started anew, would begin with the whole budget each time if the policy kept its ledger
in memory, and no one would notice. So such a policy is refused here; a program that opens it with `tacit.open` keeps
its ledger for as long as it runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.curator import Curator
from tacit.errors import PolicyError
from tacit.policy import Policy
from tacit.policy.read import read


def open_lasting(path: Path, *, policy: Policy | None = None, analyst: str = "owner", progress: Any = None) -> Curator:
    """The curator of a policy file whose ledger outlives this process. `policy` is what `read_placed` made of it."""
    found = read_placed(path) if policy is None else policy
    must_last(found, path)
    return Curator(found, analyst=analyst, progress=progress)


def read_placed(path: Path) -> Policy:
    """The policy of a file, with its folder in full: the engine's worker, which opens the tables, lives in another."""
    return replace(read(path), directory=str(path.absolute().parent))


def must_last(policy: Policy, path: Path) -> None:
    """Refuse a policy that forgets what was spent."""
    if policy.ledger is None:
        raise PolicyError(
            f"{path.name} keeps its ledger in memory, which is forgotten when this command ends: every command would "
            f'begin with the whole budget. Name a file for it at the top: ledger = "{path.stem}.ledger".'
        )
