"""What somebody with an editor, or with the rights of a superuser, can do to a ledger's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from tacit.ledger import Ledger
from tacit.ledger.entry import Entry
from tacit.loss.events import Pure
from tests.ledger import homes

TENTH = Pure("1/10")
TRIGGERS = ("entries_follow_each_other", "entries_are_never_changed", "entries_are_never_removed")
COLUMNS = 'sequence, kind, "when", analyst, key, content, previous, hash'


def opened(folder: Path) -> Ledger:
    return homes.opened(folder)


def edit(folder: Path, *statements: str) -> None:
    """Change rows: the triggers are taken away and put back."""
    address = homes.address(folder)
    if isinstance(address, str):
        triggers = "ALTER TABLE tacit_entries {} TRIGGER USER"
        run(folder, triggers.format("DISABLE"), *statements, triggers.format("ENABLE"))
        return
    connection = apsw.Connection(str(address))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    definitions = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    with connection:
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for (sql,) in definitions:
            connection.execute(sql)
    connection.close()


def run(folder: Path, *statements: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run statements as they are, in one transaction; what the last gives. They are written as for SQLite."""
    address = homes.address(folder)
    if isinstance(address, Path):
        connection = apsw.Connection(str(address))
        with connection:
            for statement in statements:
                found = connection.execute(statement, values).fetchall()
        connection.close()
        return found
    import psycopg

    rows: list[tuple[Any, ...]] = []
    with psycopg.connect(address) as database:
        for statement in statements:
            done = database.execute(_for_postgres(statement), values or None)
            rows = done.fetchall() if done.description else []
    return rows


def _for_postgres(statement: str) -> str:
    renamed = statement.replace(" entries", " tacit_entries").replace("?", "%s")
    return renamed.replace(" x'", " '\\x")


def entry_at(folder: Path, sequence: int) -> Entry:
    """An entry as it stands in the table."""
    return Entry(*run(folder, f"SELECT {COLUMNS} FROM entries WHERE sequence = {sequence}")[0])


def insert(folder: Path, entry: Entry) -> None:
    """Put a forged entry behind the last; the triggers allow it if it follows."""
    values = (entry.sequence, str(entry.kind), entry.when, entry.analyst, entry.key, entry.content, entry.previous)
    run(folder, "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", values=(*values, entry.hash))
