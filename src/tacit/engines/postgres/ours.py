"""Is this schema a working copy that we built? Answered from the catalogue alone, before anything in it is read.

Promise: a schema that is not exactly as `postgres.copy` makes it is not touched. A user who may create schemas can
plant one: with a view or a rule over their own function, which would run with our rights when read, or with plain
tables of other rows, for which no bound holds. So a copy is recognised by its owner (we ourselves, a superuser, or a
role that owns every source and could change the rows anyway; no one can make another role the owner of what they
plant), by the kind of everything in it (plain logged tables; no rules, triggers, row security, children, defaults,
functions), by its columns, and by its rights: its owner's and those of the reading role, read from the access lists.

`close_off` takes away what default privileges gave, and the rest is then checked again.
"""

# names come from the catalogue and the policy, through `quoting`

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.postgres.connection import READER
from tacit.policy.policy import Policy
from tacit.policy.units import RowUnit

if TYPE_CHECKING:
    import psycopg

SECRET: Final = "tacit_secret"  # noqa: S105  # a table's name

_TEXT, _WHOLE = 'text pg_catalog."C"', "bigint -"

_TRUSTED: Final = """
SELECT oid::bigint FROM pg_roles WHERE rolname = session_user OR rolsuper OR oid = ALL (
    SELECT relowner FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE (nspname::text, relname::text) IN (SELECT * FROM unnest(%s::text[], %s::text[])))
"""

_THINGS: Final = """
SELECT relname::text, concat_ws(' ', relkind, relpersistence, relowner = nspowner, relrowsecurity, relforcerowsecurity,
    relispartition, relhasrules, relhastriggers, relhasindex, reloftype, am.amname,
    EXISTS (SELECT FROM pg_inherits WHERE pg_class.oid IN (inhparent, inhrelid)))
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace LEFT JOIN pg_am AS am ON am.oid = relam
WHERE nspname = %s
UNION ALL SELECT 'function ' || proname, '' FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE nspname = %s
UNION ALL SELECT 'operator ' || oprname, '' FROM pg_operator JOIN pg_namespace ON pg_namespace.oid = oprnamespace
WHERE nspname = %s
"""
_PLAIN: Final = "r p t f f f f f f 0 heap f"

_KEPT: Final = [("key", "bytea -")]

_COLUMNS: Final = """
SELECT relname::text, attname::text, CASE WHEN typ.typnamespace = 'pg_catalog'::regnamespace THEN
        format_type(atttypid, atttypmod) ELSE 'foreign' END || ' ' ||
    coalesce(quote_ident(space.nspname) || '.' || quote_ident(collname), '-')
    || CASE WHEN atthasdef OR attgenerated <> '' OR attidentity <> '' THEN ' made' ELSE '' END
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
JOIN pg_type AS typ ON typ.oid = atttypid
LEFT JOIN pg_collation ON pg_collation.oid = attcollation LEFT JOIN pg_namespace AS space ON space.oid = collnamespace
WHERE pg_namespace.nspname = %s AND attnum > 0 ORDER BY relname, attnum
"""

_RIGHTS: Final = """
SELECT '' AS name, grantee::bigint, privilege_type || CASE WHEN is_grantable THEN ' on' ELSE '' END
FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
WHERE nspname = %s AND grantee <> nspowner
UNION ALL SELECT relname::text, grantee::bigint, privilege_type || CASE WHEN is_grantable THEN ' on' ELSE '' END
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace,
    aclexplode(coalesce(relacl, acldefault('r', relowner)))
WHERE nspname = %s AND grantee <> relowner
UNION ALL SELECT relname::text, 0, 'column ' || attname
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = %s AND attacl IS NOT NULL
"""


def trusted(connection: psycopg.Connection[Any], sources: list[tuple[str, str]]) -> set[int]:
    """The roles whose schemas can be copies of these sources."""
    schemas, tables = [schema for schema, _ in sources], [table for _, table in sources]
    return {number for (number,) in connection.execute(_TRUSTED, (schemas, tables)).fetchall()}


def reader_of(connection: psycopg.Connection[Any]) -> int | None:
    """The number of the reading role, where there is one."""
    row = connection.execute("SELECT oid::bigint FROM pg_roles WHERE rolname = %s", (READER,)).fetchone()
    return None if row is None else int(row[0])


def wrong(connection: psycopg.Connection[Any], schema: str, policy: Policy) -> Iterator[str]:
    """What a schema of a trusted owner has too much, or lacks, compared with a copy of these tables; for the owner."""
    names = {*policy.tables, SECRET}
    things = dict(connection.execute(_THINGS, (schema,) * 3).fetchall())
    yield from (f"{name} is not a plain table of a copy" for name, kind in things.items() if kind != _PLAIN)
    yield from (f"{name} does not belong there" for name in sorted(set(things) - names))
    yield from (f"{name} is missing" for name in sorted(names - set(things)))
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in things}
    for table, column, described in connection.execute(_COLUMNS, (schema,)).fetchall():
        found.setdefault(table, []).append((column, described))
    for name in policy.tables:
        if found.get(name) not in _expected(policy, name):
            yield f"{name} has other columns"
    if found.get(SECRET) != _KEPT:
        yield f"{SECRET} has other columns"
    yield from wrong_rights(connection, schema, policy)


def wrong_secret(connection: psycopg.Connection[Any], schema: str) -> Iterator[str]:
    """What is wrong with the table of a copy's secret, whatever the other tables are like."""
    things = dict(connection.execute(_THINGS, (schema,) * 3).fetchall())
    columns = [each[1:] for each in connection.execute(_COLUMNS, (schema,)).fetchall() if each[0] == SECRET]
    if things.get(SECRET) != _PLAIN or columns != _KEPT:
        yield f"{SECRET} is not a plain table of a copy"


def _expected(policy: Policy, name: str) -> tuple[list[tuple[str, str]], ...]:
    """The columns of a table's copy; units that are not whole numbers are texts."""
    table = policy.tables[name]
    columns = [(each.name, _TEXT if each.kind == "text" else _WHOLE) for each in table.columns.values()]
    if table.public:
        return (columns,)
    units = (_WHOLE,) if isinstance(table.unit, RowUnit) else (_WHOLE, _TEXT)
    return tuple([("tacit_unit", unit), ("tacit_rank", "integer -"), *columns] for unit in units)


def wrong_rights(connection: psycopg.Connection[Any], schema: str, policy: Policy) -> Iterator[str]:
    """Rights that others than the owner have, except for those that the reading role needs."""
    reader = reader_of(connection)
    due = set() if reader is None else {("", reader, "USAGE"), *((name, reader, "SELECT") for name in policy.tables)}
    there = set(connection.execute(_RIGHTS, (schema,) * 3).fetchall())
    for name, _, right in sorted(there - due):
        yield f"somebody else has the right {right} on {name or 'the schema'}"
    yield from (f"the role {READER} lacks {right} on {name or 'the schema'}" for name, _, right in sorted(due - there))


def close_off(connection: psycopg.Connection[Any], schema: str, policy: Policy) -> None:
    """Leave only the owner's rights and those of the reading role, whatever default privileges gave."""
    there = connection.execute(_RIGHTS, (schema,) * 3).fetchall()
    named = {0: "PUBLIC"}
    for number, name in connection.execute("SELECT oid::bigint, rolname::text FROM pg_roles").fetchall():
        named[number] = quoting.identifier(name)
    for thing, grantee in sorted({(thing, grantee) for thing, grantee, _ in there}):
        where = f"TABLE {quoting.identifier(schema, thing)}" if thing else f"SCHEMA {quoting.identifier(schema)}"
        connection.execute(f"REVOKE ALL ON {where} FROM {named[grantee]} CASCADE")
    if reader_of(connection) is not None:
        connection.execute(f"GRANT USAGE ON SCHEMA {quoting.identifier(schema)} TO {READER}")
        for name in policy.tables:
            connection.execute(f"GRANT SELECT ON TABLE {quoting.identifier(schema, name)} TO {READER}")
