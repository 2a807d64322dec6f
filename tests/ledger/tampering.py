"""What somebody with an editor can do to a ledger's file."""

from __future__ import annotations

from pathlib import Path

import apsw

from tacit.ledger import Ledger
from tacit.loss.events import Pure

TENTH = Pure("1/10")
TRIGGERS = ("entries_follow_each_other", "entries_are_never_changed", "entries_are_never_removed")


def opened(folder: Path) -> Ledger:
    return Ledger.open(folder / "ledger", head=folder / "head")


def edit(folder: Path, *statements: str) -> None:
    """Change rows as somebody with an editor could: the triggers are taken away and put back."""
    connection = apsw.Connection(str(folder / "ledger"))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    triggers = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    with connection:
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for (sql,) in triggers:
            connection.execute(sql)
    connection.close()
