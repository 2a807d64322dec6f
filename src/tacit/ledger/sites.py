"""Which kind of site an address stands for: a path is a SQLite file, "postgresql://..." a database."""

from __future__ import annotations

import os
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger.head import HeadFile
from tacit.ledger.sqlite_store import FileSite
from tacit.ledger.store import Site
from tacit.ledger.vault import Vault
from tacit.parameters import refuse

SCHEMES = ("postgresql://", "postgres://")


def vault_at(address: str | os.PathLike[str], head: str | os.PathLike[str], patience: float) -> Vault:
    """The ledger at this address with its head at that path."""
    head_path = Path(os.path.realpath(head))
    site: Site
    if isinstance(address, str) and address.startswith(SCHEMES):
        site = _database(address, patience)
    else:
        site = FileSite(address, patience)
        if head_path == site.path:
            raise refuse("head", "another file than the ledger itself", os.fspath(head))
    return Vault(site, HeadFile(head_path, patience))


def _database(address: str, patience: float) -> Site:
    try:
        from tacit.ledger.postgres_site import DatabaseSite  # psycopg is only needed where it is used
    except ImportError:
        raise LedgerError(
            'A ledger in PostgreSQL needs psycopg, which is not installed. Run: pip install "tacit[postgres]".'
        ) from None
    return DatabaseSite(address, patience)
