"""What others may do in the database of a ledger: plant its table, be given rights by default, hold its lock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tacit.errors import LedgerError
from tacit.ledger import Ledger, postgres_store, verify
from tacit.ledger.postgres_layout import laid_out
from tacit.ledger.postgres_site import DatabaseSite
from tacit.loss import Budget
from tests.ledger.homes import address, opened
from tests.ledger.stores import in_postgres
from tests.ledger.tampering import TENTH, run
from tests.ledger.test_postgres_store import schema_of
from tests.postgres_server import Server

pytestmark = in_postgres


@pytest.fixture
def rival(folder: Path, postgres: Server) -> Iterator[str]:
    """Somebody who may create schemas, and tables in this one."""
    name = f"rival_{schema_of(folder)}"
    run(folder, f"CREATE ROLE {name} LOGIN", f"GRANT CREATE ON DATABASE ledgers TO {name}")
    run(folder, f"GRANT USAGE, CREATE ON SCHEMA {schema_of(folder)} TO {name}")
    yield name
    run(folder, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


@pytest.fixture
def charger(folder: Path) -> Iterator[str]:
    """Who charges, and is no superuser. `address` names them from here on."""
    name = f"charger_{schema_of(folder)}"
    run(folder, f"CREATE ROLE {name} LOGIN", f"GRANT USAGE, CREATE ON SCHEMA {schema_of(folder)} TO {name}")
    before = (folder / "address").read_text()
    (folder / "address").write_text(before.replace("postgres@", f"{name}@"))
    yield name
    (folder / "address").write_text(before)
    run(folder, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


def as_role(folder: Path, role: str, *statements: str) -> None:
    where = str(address(folder))
    with psycopg.connect(f"postgresql://{role}@{where.partition('@')[2]}", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


SPY = """CREATE TABLE stolen (who text); GRANT ALL ON stolen TO PUBLIC;
    CREATE FUNCTION spy() RETURNS bigint LANGUAGE plpgsql AS
    $$BEGIN INSERT INTO SCHEMA.stolen VALUES (current_user); RETURN 1; END$$;
    CREATE VIEW tacit_entries AS SELECT SCHEMA.spy() AS sequence, 'charged'::text AS kind;
    GRANT ALL ON tacit_entries TO PUBLIC"""


def test_a_planted_view_is_not_run_with_the_rights_of_who_charges(folder: Path, rival: str, charger: str) -> None:
    as_role(folder, rival, SPY.replace("SCHEMA", schema_of(folder)))
    with pytest.raises(LedgerError, match=r"is no plain table\. Somebody may have put it there"):
        opened(folder, budget=Budget(1))
    assert not verify(str(address(folder)), head=folder / "head").sound
    assert run(folder, f"SELECT count(*) FROM {schema_of(folder)}.stolen") == [(0,)]


def test_a_planted_table_in_the_right_layout_is_not_taken_for_ours(folder: Path, rival: str, charger: str) -> None:
    """Its owner could change the functions of its triggers at any time; they would run with the charger's rights."""
    as_role(folder, rival, *laid_out(schema_of(folder)), "GRANT SELECT, INSERT ON tacit_entries TO PUBLIC")
    with pytest.raises(LedgerError, match=f"belongs to {rival}, who is neither you, a superuser nor the owner"):
        opened(folder, budget=Budget(1))
    as_role(folder, rival, "DROP TABLE tacit_entries", "DROP FUNCTION tacit_entry_follows, tacit_entry_stays")
    with opened(folder, budget=Budget(1)) as ledger:
        ledger.charge("ana", "key", "q", TENTH)


def test_a_schema_called_like_the_charger_is_not_a_way_in(folder: Path, rival: str, charger: str) -> None:
    """The default search path begins with the schema that is called like the user: anybody may have made it."""
    as_role(folder, rival, f"CREATE SCHEMA {charger}", *laid_out(charger), f"GRANT USAGE ON SCHEMA {charger} TO PUBLIC",
            f"GRANT SELECT, INSERT ON {charger}.tacit_entries TO PUBLIC")  # fmt: skip
    plain = str(address(folder)).partition("&options=")[0]
    with pytest.raises(LedgerError, match="neither you, a superuser nor the owner of the database"):
        Ledger.open(plain, head=folder / "head", budget=Budget(1))


def test_an_older_ledger_of_the_schemas_owner_is_opened_where_the_address_names_the_schema(
    folder: Path, rival: str, charger: str
) -> None:
    schema = schema_of(folder)
    opened(folder, budget=Budget(1)).close()
    for change in (f"SCHEMA {schema}", f"TABLE {schema}.tacit_entries", f"FUNCTION {schema}.tacit_entry_follows()",
                   f"FUNCTION {schema}.tacit_entry_stays()"):  # fmt: skip
        run_as_superuser(folder, f"ALTER {change} OWNER TO {rival}")
    run_as_superuser(folder, f"GRANT SELECT, INSERT ON {schema}.tacit_entries TO {charger}")
    with opened(folder) as ledger:
        assert not ledger.charge("ana", "key", "q", TENTH).repeated
    run_as_superuser(folder, f"ALTER SCHEMA {schema} OWNER TO postgres")
    with pytest.raises(LedgerError, match="neither you, a superuser nor the owner"):
        opened(folder)


def run_as_superuser(folder: Path, statement: str) -> None:
    where = str(address(folder)).partition("@")[2]
    with psycopg.connect(f"postgresql://postgres@{where}", autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "right",
    ["SELECT ON tacit_entries TO PUBLIC", "UPDATE ON tacit_entries TO WHO", "TRIGGER ON tacit_entries TO WHO",
     "SELECT ON tacit_entries TO WHO WITH GRANT OPTION", "SELECT (key) ON tacit_entries TO WHO"],
)  # fmt: skip
def test_rights_beyond_reading_and_inserting_are_refused_when_it_is_opened(
    folder: Path, rival: str, right: str
) -> None:
    opened(folder, budget=Budget(1)).close()
    run(folder, f"GRANT SELECT, INSERT ON tacit_entries TO {rival}")
    opened(folder).close()
    run(folder, f"GRANT {right.replace('WHO', rival)}")
    with pytest.raises(LedgerError, match=r"REVOKE it|rights of its own"):
        opened(folder)


def test_default_privileges_give_nobody_the_ledger(folder: Path, rival: str, charger: str) -> None:
    as_role(folder, charger, f"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {rival} WITH GRANT OPTION",
            "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")  # fmt: skip
    with opened(folder, budget=Budget(1)) as ledger:
        ledger.charge("ana", "key", "q", TENTH)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role(folder, rival, "SELECT * FROM tacit_entries")


def test_a_lock_that_a_stranger_holds_does_not_stop_charges_and_hosts_still_take_turns(
    folder: Path, rival: str, charger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "_SLICE", 0.05)
    monkeypatch.setattr(postgres_store, "_LOCKS", 3)
    with opened(folder, budget=Budget(1), patience=20) as ledger:
        store = DatabaseSite(str(address(folder)), 20.0).connect()
        where = f"postgresql://{rival}@{str(address(folder)).partition('@')[2]}"
        with psycopg.connect(where, autocommit=True) as stranger:
            numbers = range(postgres_store._LOCK, postgres_store._LOCK + postgres_store._LOCKS)
            for held in numbers:
                stranger.execute("SELECT pg_advisory_lock(%s, %s)", (held, store.lock))
                assert not ledger.charge("ana", f"{held}", "q", TENTH).repeated
                if held != numbers[-1]:
                    with (
                        store.writing(),
                        opened(folder, patience=0.3) as hasty,
                        pytest.raises(LedgerError, match="locked by another process"),
                    ):
                        hasty.charge("ana", "never", "q", TENTH)
        store.close()
        assert ledger.verify().sound
