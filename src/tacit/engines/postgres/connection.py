"""A connection to PostgreSQL that behaves the same however the server was set up.

Promise: every setting that the meaning of a query depends on is pinned (zone, date style, string quotes, search path),
so no default of the server, the database or the role can change an answer. The server's own messages never leave: a
failed connection is one sentence for the owner, who opens it, and a failed query is the engine's one fixed sentence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tacit.errors import EngineError, PolicyError
from tacit.policy.policy import Policy

if TYPE_CHECKING:
    import psycopg

OLDEST: Final = 140_000
"""PostgreSQL 14: before it, the seconds of a time were floating point, and rows could not be hashed."""

READER: Final = "tacit_reader"
"""The role that questions are run as, where the owner made it. It can read working copies, and without them the
sources that it was granted; nothing else."""

_SETTINGS: Final[Mapping[str, str]] = {
    "search_path": "pg_catalog, pg_temp",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "extra_float_digits": "1",
    "default_table_access_method": "heap",
    "default_transaction_isolation": "read committed",
    "idle_session_timeout": "0",
    "statement_timeout": "0",
    "jit": "off",
    "row_security": "on",
    "lock_timeout": "0",
}

_TRIES: Final = 50
"""How often a statement is sent again after a time limit stopped it."""


def address_of(policy: Policy) -> str:
    """The connection string of the database that a policy's tables are in."""
    return resolved(next(iter(policy.tables.values())).source.path)


def resolved(path: str) -> str:
    """The connection string that a source's path stands for."""
    if not path.startswith("postgres:$"):
        return path
    name = path.removeprefix("postgres:$")
    address = os.environ.get(name)
    if not address:
        raise PolicyError(
            f"The source is {path!r}, and the environment variable {name} is not set. "
            "It holds a connection string such as postgresql://user:password@host/database."
        )
    return address


def connect(address: str, settings: Mapping[str, str] | None = None) -> psycopg.Connection[Any]:
    """A connection with everything pinned."""
    psycopg_library = library()
    try:
        connection: psycopg.Connection[Any] = psycopg_library.connect(
            address,
            autocommit=True,
            connect_timeout=10,
            client_encoding="utf8",
            application_name="tacit",
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            prepare_threshold=None,
        )
    except psycopg_library.Error:
        raise EngineError(
            "The PostgreSQL database of the policy cannot be reached. Check the connection string, and that the "
            "server is up and lets this user in."
        ) from None
    try:
        _lift_time_limit(connection)
        _check_server(connection)
        newer = {"transaction_timeout": "0"} if connection.info.server_version >= 170_000 else {}
        for name, value in {**_SETTINGS, **newer, **(settings or {})}.items():
            connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
    except psycopg_library.Error:
        connection.close()
        raise EngineError("The PostgreSQL server refuses a setting that is needed.") from None
    except BaseException:
        connection.close()
        raise
    return connection


def _lift_time_limit(connection: psycopg.Connection[Any]) -> None:
    """Take away a limit on the time of statements that the role or the database sets.

    The limit also holds for the statement that lifts it, so with a limit of a millisecond a busy machine may need a few
    tries.
    """
    for left in reversed(range(_TRIES)):
        try:
            connection.execute("SELECT pg_catalog.set_config('statement_timeout', '0', false)")
            return
        except library().errors.QueryCanceled:
            if not left:
                raise


def library() -> Any:
    """psycopg, which is an extra."""
    try:
        import psycopg
    except ImportError:
        raise EngineError("PostgreSQL needs psycopg: pip install 'tacit[postgres]'.") from None
    return psycopg


def _check_server(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < OLDEST:
        raise EngineError(
            f"PostgreSQL 14 or later is wanted. The server says {connection.info.server_version // 10_000}."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise EngineError(f"A database with the encoding UTF8 is wanted. Got {encoding} instead.")
