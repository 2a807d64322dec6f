"""What a curator holds open: the ledger, the engine, and a folder that is removed when it closes."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.curator.ledgers import head_of, ledger_of
from tacit.engines.copies import Progress, digest
from tacit.engines.engine import Engine, open_engine
from tacit.ledger import Ledger
from tacit.policy import Policy


@dataclass(frozen=True, slots=True)
class Held:
    """The ledger and the engine of a policy, and the folder of a ledger that is not kept."""

    ledger: Ledger
    engine: Engine
    scratch: str | None

    def close(self) -> None:
        """End the engine, close the ledger, remove the folder."""
        self.engine.close()
        self.ledger.close()
        _remove(self.scratch)


def hold(policy: Policy, frames: Mapping[str, Any] | None, progress: Progress | None) -> Held:
    """All of it, or nothing: what was opened before something failed is closed again."""
    with ExitStack() as opened:
        scratch = None if policy.ledger is not None else tempfile.mkdtemp(prefix="tacit-")
        opened.callback(_remove, scratch)
        where = Path(scratch) / "ledger" if scratch else ledger_of(policy)
        head = Path(scratch) / "head" if scratch else head_of(where)
        ledger = Ledger.open(where, head=head, budget=policy.budget, analysts=policy.analysts)
        opened.callback(ledger.close)
        held = Held(ledger, open_engine(policy, frames=frames, progress=progress), scratch)
        opened.pop_all()
    return held


def beside_ledger(policy: Policy, scratch: str | None, name: str) -> Path:
    """A place that lasts as long as the ledger; for a ledger in a database, next to its head on this host."""
    where = Path(scratch) / "ledger" if scratch else ledger_of(policy)
    if not isinstance(where, Path):
        where = head_of(where)
    return where.with_name(f"{where.name}.{name}")


def told_apart(policy: Policy) -> list[str]:
    """The part of every key that, with the state of the sources, says which tables are meant."""
    # A table in memory has no fingerprint: its answers are for this registration and are not replayed to another.
    frame = any(table.source.format == "frame" for table in policy.tables.values())
    # the question reads at most this many rows of public tables: the copy is the same, the answer is not
    most = [f"{name} {each.fan_out}" for name, each in policy.tables.items() if each.fan_out not in (None, 1)]
    return [digest(policy), secrets.token_hex(16) if frame else "", *most]


def _remove(scratch: str | None) -> None:
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
