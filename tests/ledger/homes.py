"""Where the ledgers of these tests live: each in a folder of its own, with its head.

A ledger in PostgreSQL has a schema of its own in one database; its folder holds the head and, in the file `address`,
where the rest is. Programs that a test starts need to know nothing but the folder.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from tacit.ledger import Ledger

ADDRESS = "address"


def settle(folder: Path, database: str) -> None:
    """From now on the ledger of this folder lives in a new schema of that database."""
    import psycopg

    schema = f"home_{secrets.token_hex(8)}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    (folder / ADDRESS).write_text(f"{database.partition('&options=')[0]}&options=-csearch_path%3D{schema}")


def beside(folder: Path, name: str) -> Path:
    """A folder for another ledger, which lives in the same kind of place."""
    (folder / name).mkdir()
    if (folder / ADDRESS).exists():
        settle(folder / name, (folder / ADDRESS).read_text())
    return folder / name


def address(folder: Path) -> str | Path:
    """Where the ledger of this folder is."""
    return (folder / ADDRESS).read_text() if (folder / ADDRESS).exists() else folder / "ledger"


def opened(folder: Path, **given: object) -> Ledger:
    """The ledger of this folder."""
    return Ledger.open(address(folder), head=folder / "head", **given)  # type: ignore[arg-type]
