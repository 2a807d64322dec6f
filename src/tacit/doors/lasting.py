"""The curator of a policy file, for doors that close again: what was spent must be recorded where it lasts.

A command, or a server that is started anew, would begin with the whole budget each time if the policy kept its ledger
in memory, and no one would notice. So such a policy is refused here; a program that opens it with `tacit.open` keeps
its ledger for as long as it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.curator import Curator, open_policy
from tacit.errors import PolicyError
from tacit.policy.read import read


def open_lasting(policy: Path, *, analyst: str = "owner", progress: Any = None) -> Curator:
    """The curator of a policy whose ledger outlives this process. The engine's worker lives in another folder."""
    must_last(policy)
    return open_policy(policy.absolute(), analyst=analyst, progress=progress)


def must_last(policy: Path) -> None:
    """Refuse a policy that forgets what was spent."""
    if read(policy).ledger is None:
        raise PolicyError(
            f"{policy.name} keeps its ledger in memory, which is forgotten when this command ends: every command would "
            f'begin with the whole budget. Name a file for it at the top: ledger = "{policy.stem}.ledger".'
        )
