"""The working copy as a schema of the PostgreSQL database: built in one transaction, under a random name.

Promise: the copy is complete or not there, and all its tables are of one moment. Each build is a schema of its own: the
policy's `working_copy` and a random part, so that an attacker cannot plant one in its place, processes that build at
the same time do not meet, and a plan never reads another copy than the one it was registered with. What it is a copy of
(the policy's name, a digest of its tables, the sources' fingerprint, when it was taken) stands in the schema's comment:
a copy is found in the catalogue, and is read only if it is exactly ours (`postgres.ours`).

Copies that are no longer current are removed when the policy is opened, even if they are in use: people may have been
erased since. Where sources cannot be watched, every opening takes a copy; one that another process still works with
stays until that process ends, or until `refresh`.

The secret of the ranks is made on the server and stays there: it is in no statement, parameter or result.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.cleaning import Words
from tacit.engines.duckdb.working_copy import Progress, digest
from tacit.engines.postgres import cleaning as postgres_cleaning
from tacit.engines.postgres import older as postgres_older
from tacit.engines.postgres import ours as postgres_ours
from tacit.engines.postgres.connection import library
from tacit.engines.postgres.ours import SECRET
from tacit.engines.postgres.sources import (
    fingerprint,
    is_watched,
    named_sources,
    refuse_far_floats,
    relations_of,
    schema_of,
)
from tacit.engines.registration import copy_of
from tacit.engines.secret import Secret
from tacit.errors import EngineError, PolicyError
from tacit.plan.sources.scope import COPY
from tacit.policy.check import Schema, check
from tacit.policy.policy import Policy

if TYPE_CHECKING:
    import psycopg

KEY: Final = "tacit.rank_key"
"""The setting that holds the key of the ranks where there is no copy; it is made on the server."""

FRESH: Final = "sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))"
"""A new secret of 244 random bits, made where it is kept."""

MARK: Final = "tacit copy"
_FORMAT: Final = 2
_LONGEST_NAME: Final = 63
_RANDOM: Final = 8  # bytes of a copy's name
_PATIENCE: Final = 0.05
_SHORT, _LONG = "5s", "150s"
_BUILD: Final = {"work_mem": "256MB", "maintenance_work_mem": "256MB", "statement_timeout": "0"}

_COPIES: Final = """
SELECT nspname::text, nspowner::bigint, obj_description(oid, 'pg_namespace'),
    nspowner = (SELECT oid FROM pg_roles WHERE rolname = session_user)
FROM pg_namespace WHERE starts_with(nspname::text, %s)
"""
_BUILDERS: Final = """
SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname =
    current_database()) AND (classid::bigint << 32 | objid::bigint) = %s AND objsubid = 1 AND usename = session_user
"""


@dataclass(frozen=True, slots=True)
class PostgresFlavour:
    """PostgreSQL's words for a registration. `secret` is an expression for the bytes of the ranks' key.

    Keys are `short`, unless they are only hashed.
    """

    secret: str
    short: bool = True

    @property
    def words(self) -> Words:
        """Words that check a value before they cast it."""
        return postgres_cleaning.WORDS if self.short else postgres_cleaning.WITH_LONG_KEYS

    def digest(self, values: str) -> str:
        """64 bits; whole numbers and text have the same hash on every server."""
        return f"hash_record_extended(ROW({values}), 0)"

    @staticmethod
    def hashed(unit: str, whole: bool) -> str:
        """64 bits of a unit, a whole number or a text; equal units have equal ones."""
        return f"hashint8extended({unit}, 0)" if whole else f"hashtextextended({unit}, 0)"

    def order(self, table: str) -> str:
        """A SHA-256, which is compared as bytes."""
        label = quoting.text(f":{table}:")
        return f"sha256((SELECT {self.secret}) || convert_to({label} || tacit_digest || ':' || tacit_twin, 'UTF8'))"

    def number(self) -> str:
        """1, 2, 3, ..."""
        return "row_number() OVER ()"


@dataclass(frozen=True, slots=True)
class Copy:
    """An existing copy, by the name of its schema, which no other copy ever has."""

    schema: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A schema that is marked as this policy's copy, and whose owner is trusted."""

    schema: str
    ours: bool
    digest: str
    fingerprint: str
    taken: float


def prefix(policy: Policy) -> str:
    """How the schemas of this policy's copies begin."""
    name = COPY if policy.working_copy is None else policy.working_copy
    room = _LONGEST_NAME - 1 - 2 * _RANDOM
    words = [column for table in policy.tables.values() for column in table.columns]
    for word, most in ((name, room), *((word, _LONGEST_NAME) for word in (*policy.tables, *words))):
        if len(word.encode()) > most:
            raise PolicyError(
                f"PostgreSQL cuts names off after {_LONGEST_NAME} bytes. {word!r} is longer than the {most} that are "
                "left for it: use a shorter name."
            )
    if SECRET in policy.tables:
        raise PolicyError(f"tables.{SECRET}: PostgreSQL's copies have a table of this name. Call it otherwise.")
    return name


def now(connection: psycopg.Connection[Any]) -> float:
    """The server's clock."""
    return float(_one(connection, "SELECT extract(epoch FROM clock_timestamp())::float8")[0])


def is_current(connection: psycopg.Connection[Any], policy: Policy, copy: Copy) -> bool:
    """Whether this copy is still there, and the sources have not changed as far as the server has noticed."""
    about = (digest(policy), fingerprint(connection, policy))
    return any(
        each.schema == copy.schema and (each.digest, each.fingerprint) == about for each in _all(connection, policy)
    )


def current(connection: psycopg.Connection[Any], policy: Policy, since: float) -> Copy | None:
    """The newest finished copy of these tables as they are now; if they cannot be watched, one taken `since`."""
    about = (digest(policy), fingerprint(connection, policy))
    watched = is_watched(connection, policy)
    for each in _all(connection, policy):
        fits = (each.digest, each.fingerprint) == about and (watched or each.taken >= since)
        if fits and not any(postgres_ours.wrong(connection, each.schema, policy)):
            copy = Copy(each.schema)
            use(connection, copy)
            if is_current(connection, policy, copy):  # and was not removed in between
                return copy
    return None


def build(
    connection: psycopg.Connection[Any],
    policy: Policy,
    secret: Secret | None,
    progress: Progress | None,
    since: float,
    *,
    anew: bool = False,
) -> tuple[Copy, Schema]:
    """The copy that another process built meanwhile, or a new one; those that are out of date are removed."""
    relations = relations_of(connection, policy)
    schema = schema_of(relations)
    check(policy, schema)
    refuse_far_floats(connection, policy, relations)
    with _turn(connection, policy):
        copy = None if anew else current(connection, policy, since)
        if copy is None:
            copy = _built(connection, policy, secret, progress)
        remove_others(connection, policy, copy, also_used=anew)
    return copy, schema


def _built(
    connection: psycopg.Connection[Any], policy: Policy, secret: Secret | None, progress: Progress | None
) -> Copy:
    psycopg = library()
    relations = relations_of(connection, policy)
    before = fingerprint(connection, policy)  # taken first: what changes from here on makes the copy stale
    fresh = Copy(f"{prefix(policy)}_{secrets.token_hex(_RANDOM)}")
    hidden = quoting.identifier(fresh.schema, SECRET)
    flavour = PostgresFlavour(f"key FROM {hidden}")
    steps = list(policy.tables)
    table, problem = steps[0], None
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for setting, value in _BUILD.items():
                connection.execute("SELECT set_config(%s, %s, true)", (setting, value))
            connection.execute(f"CREATE SCHEMA {quoting.identifier(fresh.schema)}")
            connection.execute(f"CREATE TABLE {hidden} (key BYTEA)")
            _fill_secret(connection, policy, hidden, secret)
            for done, table in enumerate(steps):
                if progress is not None:
                    progress(table, done, len(steps))
                there = quoting.identifier(fresh.schema, table)
                connection.execute(f"CREATE TABLE {there} AS {copy_of(policy, table, relations, flavour, dense=False)}")
                connection.execute(f"ANALYZE {there}")
            taken = _one(connection, "SELECT extract(epoch FROM transaction_timestamp())::float8")[0]
            about = {MARK: _FORMAT, "policy": policy.name, "digest": digest(policy), "fingerprint": before}
            written = quoting.text(json.dumps({**about, "taken": taken}))
            connection.execute(f"COMMENT ON SCHEMA {quoting.identifier(fresh.schema)} IS {written}")
            postgres_ours.close_off(connection, fresh.schema, policy)
            use(connection, fresh)  # before others can see it
            problem = next(postgres_ours.wrong(connection, fresh.schema, policy), None)
            if problem is not None:
                raise psycopg.Rollback
    except psycopg.Error:
        raise EngineError(
            f"The working copy of table {table!r} could not be built. The tables must be readable, this user must be "
            f"allowed to create a schema ({fresh.schema}), and there must be room for the copy. To ask without a "
            'copy, say working_copy = "query".'
        ) from None
    if problem is not None:
        raise EngineError(
            f"The working copy was not kept, because the server made it otherwise than it was told: {problem}. "
            "Look for event triggers and default settings that change new tables or their rights."
        )
    if progress is not None:
        progress(steps[-1], len(steps), len(steps))
    return fresh


def _fill_secret(connection: psycopg.Connection[Any], policy: Policy, hidden: str, given: Secret | None) -> None:
    """The secret of the last copy, so that ranks stay when it is rebuilt; or a fresh one. `given` is for tests."""
    if given is not None:
        connection.execute(f"INSERT INTO {hidden} VALUES (%s)", (given.reveal(),))
        return
    for each in _all(connection, policy):
        # only from our own schemas: a superuser's copy can be opened, but its secret is not ours to read
        if each.ours and not any(postgres_ours.wrong_secret(connection, each.schema)):
            with suppress(library().Error), connection.transaction():
                kept = f"SELECT key FROM {quoting.identifier(each.schema, SECRET)} WHERE octet_length(key) = 32 LIMIT 1"
                if connection.execute(f"INSERT INTO {hidden} {kept}").rowcount == 1:
                    return
    connection.execute(f"INSERT INTO {hidden} SELECT {FRESH}")


def _all(connection: psycopg.Connection[Any], policy: Policy) -> list[_Found]:
    """The schemas that are copies of this policy by their comment and their owner, the newest first."""
    begins = f"{prefix(policy)}_"
    rows = connection.execute(_COPIES, (begins,)).fetchall()
    if not rows:
        return []
    owners = postgres_ours.trusted(connection, named_sources(policy))
    found = []
    for name, owner, comment, ours in rows:
        with suppress(ValueError, TypeError, KeyError):
            about = json.loads(comment)
            if owner in owners and about[MARK] == _FORMAT and about["policy"] == policy.name:
                found.append(_Found(name, ours, about["digest"], about["fingerprint"], float(about["taken"])))
    return sorted(found, key=lambda each: (each.taken, each.schema), reverse=True)


def remove_others(connection: psycopg.Connection[Any], policy: Policy, kept: Copy, *, also_used: bool) -> None:
    """Drop the copies of this policy that are ours and not `kept`.

    Copies that may still be of the same tables stay while another process uses them, unless `also_used`.
    """
    postgres_older.remove(connection, prefix(policy), policy.name, _SHORT)
    about = (digest(policy), fingerprint(connection, policy))
    for each in _all(connection, policy):
        if not each.ours or each.schema == kept.schema:
            continue
        alike = (each.digest, each.fingerprint) == about
        with suppress(library().Error), connection.transaction():
            if alike and not also_used and _is_used(connection, each.schema):
                continue
            patience = _LONG if also_used else _SHORT  # anything left now is removed at the next opening
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (patience,))
            # Questions take these locks in this order too, and hold them to their end.
            there = connection.execute(
                "SELECT relname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
                "WHERE nspname = %s AND relkind = 'r' ORDER BY relname COLLATE \"C\"",
                (each.schema,),
            ).fetchall()
            names = ", ".join(quoting.identifier(each.schema, name) for (name,) in there)
            if names:
                connection.execute(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
            connection.execute(f"DROP SCHEMA {quoting.identifier(each.schema)} CASCADE")
    if also_used and any(each.ours and each.schema != kept.schema for each in _all(connection, policy)):
        raise EngineError("A new working copy was built, but an older one could not be removed. Try again.")


def use(connection: psycopg.Connection[Any], copy: Copy) -> None:
    """Mark the copy as in use for as long as this connection lives."""
    connection.execute("SELECT pg_try_advisory_lock_shared(%s)", (_in_use(copy.schema),))


def _is_used(connection: psycopg.Connection[Any], schema: str) -> bool:
    return not _one(connection, "SELECT pg_try_advisory_xact_lock(%s)", _in_use(schema))[0]


def _in_use(schema: str) -> int:
    return _number(f"tacit uses {schema}")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


@contextmanager
def _turn(connection: psycopg.Connection[Any], policy: Policy) -> Iterator[None]:
    """One build at a time, to save work. Anyone can hold such a lock, so only our own builds are waited for."""
    number = _number(f"tacit builds {prefix(policy)} {policy.name}")
    while not (held := _one(connection, "SELECT pg_try_advisory_lock(%s)", number)[0]):
        if _one(connection, _BUILDERS, number) == (0,):
            break
        time.sleep(_PATIENCE)
    try:
        yield
    finally:
        if held:
            with suppress(library().Error):
                connection.execute("SELECT pg_advisory_unlock(%s)", (number,))


def _one(connection: psycopg.Connection[Any], sql: str, *parameters: object) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(sql, parameters).fetchone()
    assert row is not None
    return row
