"""The working copy as a schema of the PostgreSQL database: built apart, put in place at once, in one transaction.

Promise: the copy is complete or not there, and all its tables are of one moment. The schema says of what it is a copy
(`tacit_about`: the policy's name, a digest of its tables, the sources' fingerprint, and a build number by which a
running engine knows its own copy again). A schema that is not a copy, or the copy of another policy, is never replaced.
Nobody but its owner and the role `tacit_reader`, where there is one, can read it.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import postgres_cleaning, quoting
from tacit.engines.postgres_connection import READER, library
from tacit.engines.postgres_sources import fingerprint, relations_of, schema_of
from tacit.engines.registration import SCHEMA, copy_of
from tacit.engines.secret import LENGTH, Secret
from tacit.engines.working_copy import Progress, digest
from tacit.errors import EngineError, PolicyError
from tacit.policy.check import Schema, check
from tacit.policy.columns import Column
from tacit.policy.policy import Policy

if TYPE_CHECKING:
    import psycopg

ABOUT: Final = "tacit_about"
SECRET: Final = "tacit_secret"  # noqa: S105  # a table's name
KEY: Final = "tacit.rank_key"
"""The setting that holds the key of the ranks while SQL uses it: it stands in no statement, so in no log of them."""

_LONGEST_NAME: Final = 63
_BUILD: Final = {"work_mem": "256MB", "maintenance_work_mem": "256MB", "statement_timeout": "0"}


@dataclass(frozen=True, slots=True)
class PostgresFlavour:
    """PostgreSQL's words for a registration."""

    def read(self, column: Column, engine_type: str, expression: str) -> str:
        """Looked at before it is cast."""
        return postgres_cleaning.read(column, engine_type, expression)

    def bound(self, column: Column, value: str) -> str:
        """Clamped or dropped, and rounded."""
        return postgres_cleaning.bound(column, value)

    def key(self, engine_type: str, expression: str, whole: bool) -> str:
        """Whole numbers as they are; others as text."""
        return postgres_cleaning.key(engine_type, expression, whole)

    def digest(self, values: str) -> str:
        """64 bits; whole numbers and text have the same hash on every server."""
        return f"hash_record_extended(ROW({values}), 0)"

    def order(self, table: str) -> str:
        """A SHA-256, which is compared as bytes."""
        key = f"(SELECT current_setting({quoting.text(KEY)}))"
        label = quoting.text(f":{table}:")
        return f"sha256(convert_to({key} || {label} || tacit_digest || ':' || tacit_twin, 'UTF8'))"

    def number(self) -> str:
        """1, 2, 3, ..."""
        return "row_number() OVER ()"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that is there: its schema's name, and its build."""

    schema: str
    build: str


def schema_name(policy: Policy) -> str:
    """The schema of this policy's copy."""
    name = SCHEMA if policy.working_copy is None else policy.working_copy
    for word in (name, *policy.tables, *(column for table in policy.tables.values() for column in table.columns)):
        if len(word.encode()) > _LONGEST_NAME:
            raise PolicyError(
                f"PostgreSQL cuts names off after {_LONGEST_NAME} bytes. Use a shorter one than {word!r}."
            )
    return name


def current(connection: psycopg.Connection[Any], policy: Policy) -> Copy | None:
    """The finished copy of these tables as they are now, if there is one."""
    psycopg = library()
    name = schema_name(policy)
    try:
        rows = connection.execute(
            f"SELECT build, policy, digest, fingerprint FROM {quoting.identifier(name, ABOUT)}"
        ).fetchall()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName, psycopg.errors.InsufficientPrivilege):
        return None
    if [row[1:] for row in rows] != [(policy.name, digest(policy), fingerprint(connection, policy))]:
        return None
    return Copy(name, str(rows[0][0]))


def build(
    connection: psycopg.Connection[Any], policy: Policy, secret: Secret | None, progress: Progress | None
) -> tuple[Copy, Schema]:
    """Build the copy anew, in place of what was there."""
    psycopg = library()
    name = schema_name(policy)
    relations = relations_of(connection, policy)
    schema = schema_of(relations)
    check(policy, schema)
    before = fingerprint(connection, policy)  # taken first: what changes from here on makes the copy stale
    fresh = Copy(name, secrets.token_hex(16))
    draft = f"tacit_draft_{fresh.build[:16]}"
    flavour = PostgresFlavour()
    steps = list(policy.tables)
    table = steps[0]
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for setting, value in _BUILD.items():
                connection.execute("SELECT set_config(%s, %s, true)", (setting, value))
            secret = _secret(connection, name, policy, secret)
            connection.execute("SELECT set_config(%s, %s, true)", (KEY, secret.key_for("ranks")))
            connection.execute(f"CREATE SCHEMA {quoting.identifier(draft)}")
            for done, table in enumerate(steps):
                if progress is not None:
                    progress(table, done, len(steps))
                there = quoting.identifier(draft, table)
                connection.execute(f"CREATE TABLE {there} AS {copy_of(policy, table, relations, flavour, dense=False)}")
                connection.execute(f"ANALYZE {there}")
            _describe(connection, draft, fresh, policy, before, secret)
            _grant(connection, draft)
            _put_in_place(connection, draft, name)
    except psycopg.Error:
        raise EngineError(
            f"The working copy of table {table!r} could not be built. The tables must be readable, this user must be "
            f"allowed to create a schema ({name}), and there must be room for the copy. To ask without a copy, say "
            'working_copy = "query".'
        ) from None
    if progress is not None:
        progress(steps[-1], len(steps), len(steps))
    return fresh, schema


def _secret(connection: psycopg.Connection[Any], name: str, policy: Policy, given: Secret | None) -> Secret:
    """The secret of the copy that is there, so that ranks stay when it is built again; or a fresh one.

    Refuses a schema that is not this policy's copy.
    """
    (there,) = _one(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = %s", name)
    if not there:
        return given or Secret.in_memory()
    about = "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename = %s"
    if _one(connection, about, name, ABOUT) == (0,):
        raise EngineError(
            f"The schema {name!r} is in the database and is no working copy. Name another: working_copy = ..."
        )
    rows = connection.execute(f"SELECT policy FROM {quoting.identifier(name, ABOUT)}").fetchall()
    if rows and rows[0][0] != policy.name:
        raise EngineError(
            f"The schema {name!r} holds the working copy of policy {rows[0][0]!r}. Name another: working_copy = ..."
        )
    kept = connection.execute(f"SELECT key FROM {quoting.identifier(name, SECRET)}").fetchall()
    return given or (Secret(bytes(kept[0][0])) if kept and len(kept[0][0]) == LENGTH else Secret.in_memory())


def _describe(
    connection: psycopg.Connection[Any], draft: str, copy: Copy, policy: Policy, before: str, secret: Secret
) -> None:
    about, hidden = quoting.identifier(draft, ABOUT), quoting.identifier(draft, SECRET)
    connection.execute(f"CREATE TABLE {about} (build TEXT, policy TEXT, digest TEXT, fingerprint TEXT)")
    connection.execute(
        f"INSERT INTO {about} VALUES (%s, %s, %s, %s)", (copy.build, policy.name, digest(policy), before)
    )
    connection.execute(f"CREATE TABLE {hidden} (key BYTEA)")
    connection.execute(f"INSERT INTO {hidden} VALUES (%s)", (secret.reveal(),))


def _grant(connection: psycopg.Connection[Any], draft: str) -> None:
    schema, hidden = quoting.identifier(draft), quoting.identifier(draft, SECRET)
    connection.execute(f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC")
    connection.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC")
    if _one(connection, "SELECT count(*) FROM pg_roles WHERE rolname = %s", READER) == (1,):
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {READER}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER}")
        connection.execute(f"REVOKE ALL ON TABLE {hidden} FROM {READER}")


def _put_in_place(connection: psycopg.Connection[Any], draft: str, name: str) -> None:
    if _one(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = %s", name) != (0,):
        # A question holds this lock from its first statement on, so it sees either the old copy or none of it.
        connection.execute(f"LOCK TABLE {quoting.identifier(name, ABOUT)} IN ACCESS EXCLUSIVE MODE")
        connection.execute(f"DROP SCHEMA {quoting.identifier(name)} CASCADE")
    connection.execute(f"ALTER SCHEMA {quoting.identifier(draft)} RENAME TO {quoting.identifier(name)}")


def _one(connection: psycopg.Connection[Any], sql: str, *parameters: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(sql, parameters).fetchone()
    assert row is not None
    return row
