"""What an opening must find out, because after the charge it is too late: the role, letters, whether rows can be read.

Promise: what is certain to fail is refused here, in words for the owner, with what to do.
"""

# ruff: noqa: S608  # names come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.postgres.connection import READER, library
from tacit.engines.postgres.copy import Copy
from tacit.errors import EngineError
from tacit.policy.policy import Policy

if TYPE_CHECKING:
    import psycopg

_LETTERS: Final = ("pg_c_utf8", "C.utf8", "C.UTF-8", "und-x-icu")


def role_of(connection: psycopg.Connection[Any]) -> str | None:
    """The reading role, where it exists. Refuses to go on with more rights than the owner meant questions to have."""
    row = connection.execute(
        "SELECT pg_has_role(session_user, oid, 'MEMBER'), session_user::text FROM pg_roles WHERE rolname = %s",
        (READER,),
    ).fetchone()
    if row is None:
        return None
    if not row[0]:
        raise EngineError(
            f"The role {READER} exists, so questions are run as this role, and {row[1]} may not take it. "
            f"Somebody who may has to run: GRANT {READER} TO {quoting.identifier(row[1])}."
        )
    return READER


def letters_of(connection: psycopg.Connection[Any]) -> str:
    """A collation of the server's own that knows the letters of all alphabets, and works; "C" knows those of ASCII."""
    psycopg = library()
    rows = connection.execute(
        "SELECT collname::text FROM pg_collation WHERE collnamespace = 'pg_catalog'::regnamespace "
        "AND collname = ANY(%s) AND collencoding IN (-1, 6)",
        (list(_LETTERS),),
    ).fetchall()
    there = {name for (name,) in rows}
    for name in _LETTERS:
        if name in there:
            try:  # the operating system may have lost it since the server was set up
                connection.execute(f"SELECT upper('a' COLLATE pg_catalog.{quoting.identifier(name)})")
            except psycopg.Error:
                continue
            return name
    return "C"


def readable(connection: psycopg.Connection[Any], policy: Policy, copy: Copy | None, probes: Mapping[str, str]) -> bool:
    """Read every table as questions will, and as their role; without a copy one row, by `probes`.

    False where the copy is gone.
    """
    psycopg = library()
    for name in policy.tables:
        query = probes[name] if copy is None else f"SELECT * FROM {quoting.identifier(copy.schema, name)} LIMIT 1"
        try:
            connection.execute(query)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            return False
        except psycopg.errors.InsufficientPrivilege:
            raise EngineError(_no_right(connection, policy, name, copy)) from None
        except psycopg.errors.QueryCanceled:
            raise EngineError(
                f"Table {name!r} cannot be read within the time of a question, so no question about it would be "
                "answered. Let a working copy be made: working_copy = ..."
            ) from None
        except psycopg.errors.OperationalError:
            raise
        except psycopg.Error as failure:
            raise EngineError(
                f"Table {name!r} cannot be read, so every question about it would fail. The server says: "
                f"{failure.diag.message_primary or 'nothing'}"
            ) from None
    return True


def _no_right(connection: psycopg.Connection[Any], policy: Policy, name: str, copy: Copy | None) -> str:
    (who,) = connection.execute("SELECT current_user::text").fetchone() or ("this user",)
    if copy is not None:
        return f"The role {who} may not read the working copy of table {name!r} in schema {copy.schema}."
    source = policy.tables[name].source.table
    return (
        f"The role {who}, as which questions are run, may not read {source}, or its schema. Without a working copy it "
        f"needs: GRANT SELECT ON {source} TO {who}, and GRANT USAGE ON its schema."
    )
