"""The copies that earlier versions made in PostgreSQL: one schema under the policy's own name, found and removed.

Such a copy holds people's rows and is never read again, so people who were erased since would stay in it. It is
recognised by the catalogue alone: the schema and everything in it belong to this user, everything in it is an ordinary
table, and `tacit_about` and `tacit_secret` have exactly the columns that those versions gave them. Anything else of
that name is left alone. Only then is the name of the policy read from it, which runs no one's code.
"""

# ruff: noqa: S608  # names come from the catalogue, through `quoting`

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.postgres.connection import library

if TYPE_CHECKING:
    import psycopg

_SCHEMA: Final = """
SELECT oid FROM pg_namespace
WHERE nspname = %s AND nspowner = (SELECT oid FROM pg_roles WHERE rolname = session_user)
"""
_INSIDE: Final = """
SELECT relname::text,
    relkind = 'r' AND NOT relrowsecurity AND NOT relhasrules AND NOT relhastriggers
        AND relowner = (SELECT oid FROM pg_roles WHERE rolname = session_user),
    (SELECT array_agg(attname::text || ' ' || atttypid::regtype::text ORDER BY attnum)
     FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped)
FROM pg_class WHERE relnamespace = %s AND relkind NOT IN ('i', 'I', 't') ORDER BY relname COLLATE "C"
"""
_TOLD: Final = {
    "tacit_about": ["build text", "policy text", "digest text", "fingerprint text"],
    "tacit_secret": ["key bytea"],
}


def remove(connection: psycopg.Connection[Any], schema: str, policy: str, patience: str) -> None:
    """Remove the copy of this policy that an earlier version left under this name, if there is one."""
    with suppress(library().Error), connection.transaction():  # if this fails now, it may succeed at the next opening
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (patience,))
        there = connection.execute(_SCHEMA, (schema,)).fetchone()
        if there is None:
            return
        inside = connection.execute(_INSIDE, there).fetchall()
        columns = {name: found for name, _, found in inside if name in _TOLD}
        if not all(plain for _, plain, _ in inside) or columns != _TOLD:
            return
        about = f"SELECT policy FROM {quoting.identifier(schema, 'tacit_about')}"
        if connection.execute(about).fetchall() != [(policy,)]:
            return
        listed = ", ".join(quoting.identifier(schema, name) for name, _, _ in inside)
        connection.execute(f"DROP TABLE {listed}")
        connection.execute(f"DROP SCHEMA {quoting.identifier(schema)}")  # this fails if the schema holds anything else
