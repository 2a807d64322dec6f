"""The ledger's table in PostgreSQL: its layout, and the check that it still has it.

Text is compared by its bytes (COLLATE "C"): an index then never depends on a library of the operating system whose
order of words may change with an upgrade, which would hide entries. The table must be a plain one that is logged (an
unlogged one is emptied by a crash), with no row security, rules, partitions or children by which rows could be hidden
or added. Functions and triggers are compared with their text.
"""

from __future__ import annotations

from collections.abc import Iterator

TABLE = "tacit_entries"
MARK = "tacit ledger, format 1"
_SCHEMA = "{schema}"

_FOLLOWS = """
BEGIN
    IF NEW.sequence IS DISTINCT FROM (SELECT coalesce(max(sequence), 0) + 1 FROM {schema}.tacit_entries)
       OR (NEW.sequence > 1 AND NEW.previous IS DISTINCT FROM
           (SELECT hash FROM {schema}.tacit_entries WHERE sequence = NEW.sequence - 1)) THEN
        RAISE EXCEPTION 'an entry follows the last one';
    END IF;
    RETURN NEW;
END
"""
_STAYS = """
BEGIN
    RAISE EXCEPTION 'an entry is never changed or removed';
END
"""

CREATE = (
    f"""CREATE TABLE {_SCHEMA}.tacit_entries (
    sequence bigint PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    "when" text COLLATE "C" NOT NULL,
    analyst text COLLATE "C",
    key text COLLATE "C",
    content text COLLATE "C" NOT NULL,
    previous text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    payload bytea
)""",
    f"COMMENT ON TABLE {_SCHEMA}.tacit_entries IS '{MARK}'",
    f"CREATE UNIQUE INDEX tacit_one_of_each_kind_per_key ON {_SCHEMA}.tacit_entries (kind, key) WHERE key IS NOT NULL",
    f"""CREATE INDEX tacit_charges_of_analyst ON {_SCHEMA}.tacit_entries (analyst, kind, sequence)
    WHERE analyst IS NOT NULL""",
    f"""CREATE FUNCTION {_SCHEMA}.tacit_entry_follows() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $${_FOLLOWS}$$""",
    f"""CREATE FUNCTION {_SCHEMA}.tacit_entry_stays() RETURNS trigger LANGUAGE plpgsql AS $${_STAYS}$$""",
    f"""CREATE TRIGGER tacit_entries_follow BEFORE INSERT ON {_SCHEMA}.tacit_entries
    FOR EACH ROW EXECUTE FUNCTION {_SCHEMA}.tacit_entry_follows()""",
    f"""CREATE TRIGGER tacit_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {_SCHEMA}.tacit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION {_SCHEMA}.tacit_entry_stays()""",
)
"""What an owner runs where the role that charges may not create tables; `{schema}` stands for the schema's name."""

DESCRIBE = """
WITH ledger AS (SELECT ?::oid AS oid)
SELECT 'table', concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity, relispartition,
           relhasrules, EXISTS (SELECT FROM pg_inherits WHERE l.oid IN (inhparent, inhrelid)))
  FROM pg_class c, ledger l WHERE c.oid = l.oid
UNION ALL
SELECT 'column', concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, coalesce(collname, '-'),
           atthasdef, attgenerated, attidentity)
  FROM pg_attribute LEFT JOIN pg_collation k ON k.oid = attcollation, ledger l
 WHERE attrelid = l.oid AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT 'index', concat_ws(' ', CASE WHEN indisprimary THEN 'primary' ELSE relname END, amname, indisunique,
           indisvalid AND indisready AND indislive,
           (SELECT string_agg(pg_get_indexdef(indexrelid, n, true), ',' ORDER BY n)
              FROM generate_series(1, indnatts) n),
           coalesce(pg_get_expr(indpred, indrelid), '-'))
  FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam, ledger l WHERE indrelid = l.oid
UNION ALL
SELECT 'constraint', concat_ws(' ', contype, coalesce(pg_get_constraintdef(c.oid), '-'))
  FROM pg_constraint c, ledger l WHERE conrelid = l.oid AND contype <> 'n'
UNION ALL
SELECT 'trigger', concat_ws(' ', tgname, tgtype, tgenabled, tgnargs, tgqual IS NULL, tgattr::text, proname, lanname,
           prosrc)
  FROM pg_trigger JOIN pg_proc p ON p.oid = tgfoid JOIN pg_language g ON g.oid = prolang, ledger l
 WHERE tgrelid = l.oid AND NOT tgisinternal
"""
PLANTED = """
WITH ledger AS (SELECT c.*, ?::boolean AS named FROM pg_class c WHERE c.oid = ?::oid),
trusted AS (
    SELECT oid FROM pg_roles WHERE rolname = session_user OR rolsuper OR rolname = 'pg_database_owner'
    UNION SELECT datdba FROM pg_database WHERE datname = current_database()
    UNION SELECT nspowner FROM pg_namespace n JOIN ledger l ON l.relnamespace = n.oid WHERE l.named
)
SELECT format('%%I.%%I is no plain table.', relnamespace::regnamespace, relname) FROM ledger WHERE relkind <> 'r'
UNION ALL
SELECT format('Its table belongs to %%s, who is neither you, a superuser nor the owner of the database.',
              relowner::regrole)
  FROM ledger WHERE relowner NOT IN (SELECT oid FROM trusted)
UNION ALL
SELECT format('The function %%s of its triggers belongs to %%s.', p.oid::regproc, proowner::regrole)
  FROM pg_trigger JOIN ledger l ON tgrelid = l.oid JOIN pg_proc p ON p.oid = tgfoid
 WHERE NOT tgisinternal AND proowner NOT IN (SELECT oid FROM trusted)
UNION ALL
SELECT format('%%s has the right %%s on its table, beyond SELECT and INSERT for a role: REVOKE it.',
              CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, privilege_type)
  FROM ledger, aclexplode(coalesce(relacl, acldefault('r', relowner)))
 WHERE grantee NOT IN (SELECT oid FROM trusted)
   AND (grantee = 0 OR is_grantable OR privilege_type NOT IN ('SELECT', 'INSERT'))
UNION ALL
SELECT format('Its column %%I has rights of its own.', attname)
  FROM pg_attribute JOIN ledger l ON attrelid = l.oid WHERE attacl IS NOT NULL
"""
"""What a table has that ours has not, in sentences; given whether the address names the schema, and its number."""

GIVEN = """
SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
  FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner)))
 WHERE pg_class.oid = to_regclass(?) AND grantee <> relowner
"""
"""The roles that have a right on a new table, other than its owner."""

HOLDERS = """
SELECT bool_and(NOT coalesce(has_table_privilege(usesysid, ?::oid, 'INSERT'), false))
  FROM pg_locks JOIN pg_stat_activity USING (pid)
 WHERE locktype = 'advisory' AND granted AND classid = ?::oid AND objid = ?::oid AND objsubid = 2
   AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""Whether every holder of the lock is a role that may not charge here; NULL where no one holds it."""

_EXPECTED = {
    ("table", "r p f f f f f"),
    ("column", "sequence bigint t - f  "),
    ("column", "kind text t C f  "),
    ("column", "when text t C f  "),
    ("column", "analyst text f C f  "),
    ("column", "key text f C f  "),
    ("column", "content text t C f  "),
    ("column", "previous text t C f  "),
    ("column", "hash text t C f  "),
    ("column", "payload bytea f - f  "),
    ("index", "primary btree t t sequence -"),
    ("index", "tacit_one_of_each_kind_per_key btree t t kind,key (key IS NOT NULL)"),
    ("index", "tacit_charges_of_analyst btree f t analyst,kind,sequence (analyst IS NOT NULL)"),
    ("constraint", "p PRIMARY KEY (sequence)"),
    ("trigger", f"tacit_entries_follow 7 O 0 t  tacit_entry_follows plpgsql {_FOLLOWS}"),
    ("trigger", f"tacit_entries_stay 58 O 0 t  tacit_entry_stays plpgsql {_STAYS}"),
}


def laid_out(schema: str) -> tuple[str, ...]:
    """The statements that lay out an empty ledger. `schema` is quoted already."""
    return tuple(statement.replace(_SCHEMA, schema) for statement in CREATE)


def wrong_layout(schema: str, mark: str | None, found: set[tuple[str, str]]) -> Iterator[str]:
    """What a table with this comment and this description has too much, or lacks."""
    if mark is None or not mark.startswith("tacit ledger"):
        yield "The table is not a ledger."
    elif mark != MARK:
        yield f"The table says {mark[:80]!r}; this version reads {MARK!r}."
    elif found != {(what, text.replace(_SCHEMA, schema)) for what, text in _EXPECTED}:
        yield "The ledger's tables or triggers were changed."
