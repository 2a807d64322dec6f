"""Tables of a PostgreSQL database as sources: their columns, and the signs that they changed.

Promise: only the catalogue and the server's counters are read here, never a row. These changes are noticed: rows
inserted, updated or deleted (the server counts them, up to a minute late, and rolled back ones too), a table that was
truncated or rewritten, and columns that came, went or changed their type. These are not: changes behind a view or a
foreign table, and all changes while the server's setting track_counts is off; see `is_watched`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.postgres.connection import address_of, connect, resolved
from tacit.engines.postgres.units import Found, distinct_names, refuse_units
from tacit.engines.sources import LARGEST_WHOLE, Relation, kind_of, named_columns
from tacit.errors import EngineError, PolicyError
from tacit.policy.check import Schema
from tacit.policy.policy import Policy, Source

if TYPE_CHECKING:
    import psycopg

_TYPES: Final = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "numeric": "DECIMAL",
    "bool": "BOOLEAN",
    "text": "VARCHAR",
    "varchar": "VARCHAR",
    "bpchar": "VARCHAR",
    "uuid": "UUID",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
"""The server's types by the names that `sources.kind_of` knows; others cannot be used."""

_COLUMNS: Final = """
WITH RECURSIVE plain AS (
    SELECT oid AS given, oid, typbasetype, typname, typtype, typnamespace FROM pg_type
    UNION ALL SELECT given, base.oid, base.typbasetype, base.typname, base.typtype, base.typnamespace
    FROM plain JOIN pg_type AS base ON base.oid = plain.typbasetype
)
SELECT attname::text, plain.typname::text, plain.typtype::text,
    plain.typnamespace = 'pg_catalog'::regnamespace, coalesce(collisdeterministic, true)
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid
JOIN pg_namespace ON pg_namespace.oid = relnamespace
JOIN plain ON plain.given = atttypid AND plain.typbasetype = 0
LEFT JOIN pg_collation ON pg_collation.oid = attcollation
WHERE nspname = %s AND relname = %s AND relkind IN ('r', 'p', 'm', 'v', 'f') AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""

_TABLES: Final = """
SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p', 'm', 'v', 'f') AND NOT relispartition AND nspname <> 'information_schema'
    AND nspname NOT LIKE 'pg|_%' ESCAPE '|' AND has_table_privilege(pg_class.oid, 'SELECT')
    AND obj_description(pg_namespace.oid, 'pg_namespace') NOT LIKE '{"tacit copy"%' IS NOT FALSE
    AND obj_description(pg_class.oid, 'pg_class') NOT LIKE 'tacit ledger%' IS NOT FALSE
ORDER BY 1, 2
"""

_DATABASE: Final = "SELECT oid::bigint, datname::text FROM pg_database WHERE datname = current_database()"

_PARTS: Final = """
WITH RECURSIVE parts AS (
    SELECT pg_class.oid FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %s AND relname = %s
    UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = parts.oid
)
"""
_STATE: Final = f"""{_PARTS}
SELECT pg_class.oid::bigint, pg_relation_filenode(pg_class.oid)::bigint, n_tup_ins, n_tup_upd, n_tup_del,
    (SELECT array_agg(ARRAY[attname::text, atttypid::text, attisdropped::text] ORDER BY attnum)
     FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0),
    CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(pg_class.oid) END
FROM parts JOIN pg_class ON pg_class.oid = parts.oid
LEFT JOIN pg_stat_all_tables ON relid = pg_class.oid
ORDER BY 1
"""  # noqa: S608
_UNWATCHED: Final = f"""{_PARTS}
SELECT count(*) FROM parts JOIN pg_class ON pg_class.oid = parts.oid
WHERE relkind IN ('v', 'f') OR current_setting('track_counts') <> 'on'
"""  # noqa: S608


def describe(policy: Policy) -> Schema:
    """The names and kinds of the columns behind each table of the policy."""
    with connect(address_of(policy)) as connection:
        return schema_of(relations_of(connection, policy))


def discover(path: str) -> tuple[dict[str, Source], Schema]:
    """The tables of a database, by name, and their columns."""
    found: dict[str, Source] = {}
    with connect(resolved(path)) as connection:
        for schema, table in connection.execute(_TABLES).fetchall():
            name = str(table) if schema == "public" else f"{schema}_{table}"
            if name in found:
                raise EngineError(
                    f"Two tables would both be called {name!r}: {found[name].table} and {schema}.{table}."
                )
            found[name] = Source("postgres", path, f"{schema}.{table}")
        relations = {name: _relation(_columns(connection, name, source), source) for name, source in found.items()}
    return found, schema_of(relations)


def relations_of(connection: psycopg.Connection[Any], policy: Policy) -> dict[str, Relation]:
    """Each table's source, as the server can read it. Refuses columns, or units, that cannot be told apart."""
    found = {name: _columns(connection, name, table.source) for name, table in policy.tables.items()}
    for name, columns in found.items():
        distinct_names(name, [column.name for column in columns])
    refuse_units(policy, found)
    return {name: _relation(found[name], table.source) for name, table in policy.tables.items()}


def refuse_far_floats(connection: psycopg.Connection[Any], policy: Policy, relations: dict[str, Relation]) -> None:
    """Refuse units and keys that are floating point numbers so large that two people could have the same."""
    for name, relation in relations.items():
        for column in named_columns(policy, name)[1]:
            found = relation.type_of(column)
            limit = LARGEST_WHOLE.get(found or "")
            if limit is None:
                continue
            number = f"CAST({quoting.identifier(relation.name_of(column))} AS DOUBLE PRECISION)"
            far = f"abs({number}) >= {limit} AND abs({number}) < CAST('Infinity' AS DOUBLE PRECISION)"
            if connection.execute(f"SELECT 1 FROM {relation.sql} WHERE {far} LIMIT 1").fetchone() is not None:  # noqa: S608
                raise PolicyError(
                    f"tables.{name}.unit: {column!r} is stored as {found}, and holds values of {limit:,} and beyond, "
                    "where several whole numbers become one: two people could not be told apart. Store it as a whole "
                    "number or as text (converting it now is too late)."
                )


def named_sources(policy: Policy) -> list[tuple[str, str]]:
    """The schema and the name of each table's source."""
    return [_parts(table.source) for table in policy.tables.values()]


def is_watched(connection: psycopg.Connection[Any], policy: Policy) -> bool:
    """Whether a change of every source would be noticed; changes behind a view or a foreign table are not counted."""
    return all(connection.execute(_UNWATCHED, each).fetchone() == (0,) for each in named_sources(policy))


def schema_of(relations: dict[str, Relation]) -> Schema:
    """What a policy is checked against."""
    return {
        name: {column: kind_of(engine_type) for column, engine_type in relation.types.items()}
        for name, relation in relations.items()
    }


def fingerprint(connection: psycopg.Connection[Any], policy: Policy) -> str:
    """A digest that changes when the server has noticed a change of a table."""
    # the database by its own numbers, which are the same for every user and every way to connect
    seen: dict[str, Any] = {"database": connection.execute(_DATABASE).fetchall()}
    for name, table in policy.tables.items():
        seen[f"table {name}"] = connection.execute(_STATE, _parts(table.source)).fetchall()
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def structure(connection: psycopg.Connection[Any], policy: Policy) -> str:
    """A digest of the tables' columns alone."""
    relations = relations_of(connection, policy)
    seen = {name: [relation.sql, list(relation.types.items())] for name, relation in relations.items()}
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def _columns(connection: psycopg.Connection[Any], name: str, source: Source) -> list[Found]:
    schema, table = _parts(source)
    rows = connection.execute(_COLUMNS, (schema, table)).fetchall()
    if not rows:
        raise EngineError(
            f"The source of table {name!r} is not in the database: there is no table {schema}.{table} there, "
            "or this user may not see it."
        )
    return [Found(column, base, form, builtin, deterministic) for column, base, form, builtin, deterministic in rows]


def _relation(columns: list[Found], source: Source) -> Relation:
    return Relation(quoting.identifier(*_parts(source)), {column.name: _type(column) for column in columns})


def _type(column: Found) -> str:
    if column.form == "e":
        return "ENUM"
    return _TYPES.get(column.base, column.base) if column.builtin else f"another {column.base}"


def _parts(source: Source) -> tuple[str, str]:
    """The schema, and the table in it; a schema that is not named is public."""
    schema, _, table = str(source.table).rpartition(".")
    return schema or "public", table
