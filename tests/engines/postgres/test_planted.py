"""What others may do in the same database: plant schemas, names and rights, hold locks. The owner's opening runs none
of it, takes none of it for a copy, and gives nobody a right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tacit.engines.engine import describe
from tacit.engines.postgres import ours as postgres_ours
from tacit.engines.postgres.connection import connect
from tacit.engines.postgres.copy import build, now
from tacit.engines.postgres.engine import PostgresEngine
from tacit.errors import EngineError
from tests.engines.conformance.engines import content
from tests.engines.postgres.test_engine import TOTAL, Place, asking, place, reader

__all__ = ["place", "reader"]  # fixtures

COUNT = asking("SELECT count(*) AS m FROM tacit_copy.visits AS t")


@pytest.fixture
def roles(place: Place) -> Iterator[Callable[..., str]]:
    """Makes roles with these rights; they are gone afterwards."""
    made: list[str] = []

    def make(name: str, *rights: str) -> str:
        place.sql(f"CREATE ROLE {name} LOGIN")
        made.append(name)
        for right in rights:
            place.sql(f"{right} TO {name}")
        return name

    yield make
    for name in reversed(made):
        place.sql(f"DROP OWNED BY {name} CASCADE")
    for name in made:
        place.sql(f"DROP ROLE {name}")


@pytest.fixture
def owner(place: Place, roles: Callable[..., str]) -> str:
    """Who registers: reads the source and may create schemas, and is no superuser."""
    return roles("owner_of_it", "GRANT SELECT ON visits", f"GRANT CREATE ON DATABASE {place.name}")


@pytest.fixture
def rival(place: Place, roles: Callable[..., str]) -> str:
    """Somebody else who may create schemas and look at nothing."""
    return roles("rival", f"GRANT CREATE ON DATABASE {place.name}")


def forged(place: Place, rival: str, comment: str, body: str) -> str:
    """A schema of the rival's with this comment, whose tables are what `body` makes of them."""
    name = "clinic_copy_0123456789abcdef"
    place.sql(f"CREATE SCHEMA {name}", rival)
    place.sql(body.replace("HERE", name), rival)
    place.sql(f"COMMENT ON SCHEMA {name} IS '{comment}'", rival)
    place.sql(f"GRANT ALL ON SCHEMA {name} TO PUBLIC", rival)
    place.sql(f"GRANT ALL ON ALL TABLES IN SCHEMA {name} TO PUBLIC", rival)
    return name


def comment_of(place: Place) -> str:
    (name,) = place.copies()
    return str(place.sql(f"SELECT obj_description('{name}'::regnamespace, 'pg_namespace')")[0][0])


SPIED = """
CREATE TABLE HERE.stolen (who text);
GRANT INSERT ON HERE.stolen TO PUBLIC;
CREATE FUNCTION HERE.spy() RETURNS text LANGUAGE plpgsql AS
    $$BEGIN INSERT INTO HERE.stolen VALUES (current_user); RETURN 'x'; END$$;
CREATE VIEW HERE.tacit_about AS SELECT HERE.spy() AS build, HERE.spy() AS policy, HERE.spy() AS digest,
    HERE.spy() AS fingerprint;
CREATE VIEW HERE.tacit_secret AS SELECT convert_to(HERE.spy(), 'UTF8') AS key;
CREATE VIEW HERE.visits AS SELECT 1::bigint AS tacit_unit, 1 AS tacit_rank, length(HERE.spy())::bigint AS age,
    HERE.spy() AS note FROM generate_series(1, 5000)
"""
FORGED = """
CREATE TABLE HERE.tacit_secret (key bytea);
CREATE TABLE HERE.visits (tacit_unit bigint, tacit_rank integer, age bigint, note text COLLATE "C");
INSERT INTO HERE.visits SELECT 1, 1, 1, 'x' FROM generate_series(1, 5000)
"""


@pytest.mark.parametrize("body", [SPIED, FORGED], ids=["views over a function", "plain tables"])
@pytest.mark.parametrize("called", ["clinic_copy", "clinic_copy_0123456789abcdef"])
def test_a_planted_copy_is_neither_run_nor_read_nor_in_the_way(
    place: Place, owner: str, rival: str, body: str, called: str
) -> None:
    PostgresEngine.register(place.policy(owner)).close()
    comment = comment_of(place)  # the right digest and fingerprint, newer than ours
    newer = json.dumps({**json.loads(comment), "taken": json.loads(comment)["taken"] + 1e6})
    name = forged(place, rival, newer, body)
    if called != name:
        place.sql(f"ALTER SCHEMA {name} RENAME TO {called}", rival)
    for policy in (place.policy(owner), place.policy(owner, rows=1)):
        with PostgresEngine.register(policy) as engine:
            assert content(engine, COUNT) == {(): (20 if policy.tables["visits"].rows_per_unit == 2 else 10,)}
            assert not engine.is_stale()
    assert called in {name for (name,) in place.sql("SELECT nspname::text FROM pg_namespace")}
    if body == SPIED:
        assert place.sql(f"SELECT * FROM {called}.stolen") == []


@pytest.mark.parametrize(
    "change",
    [
        "CREATE RULE quiet AS ON INSERT TO COPY.visits DO INSTEAD NOTHING",
        "CREATE TRIGGER x BEFORE UPDATE ON COPY.visits FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "ALTER TABLE COPY.visits ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE COPY.visits SET UNLOGGED",
        "ALTER TABLE COPY.visits ADD COLUMN more int",
        "ALTER TABLE COPY.visits ALTER COLUMN age SET DEFAULT 7",
        "ALTER TABLE COPY.visits ALTER COLUMN age TYPE integer",
        'ALTER TABLE COPY.visits ALTER COLUMN note TYPE text COLLATE "default"',
        "CREATE TABLE COPY.child () INHERITS (COPY.visits)",
        "CREATE INDEX ON COPY.visits (age)",
        "CREATE VIEW COPY.more AS SELECT 1",
        "CREATE FUNCTION COPY.length(text) RETURNS int LANGUAGE sql AS 'SELECT 77'",
        "ALTER TABLE COPY.visits OWNER TO rival",
        "ALTER TABLE COPY.tacit_secret ADD COLUMN more int",
        "DROP TABLE COPY.tacit_secret",
        "GRANT SELECT ON COPY.visits TO PUBLIC",
        "GRANT SELECT (age) ON COPY.visits TO rival",
        "GRANT USAGE ON SCHEMA COPY TO rival",
        "GRANT CREATE ON SCHEMA COPY TO rival",
    ],
)
def test_a_copy_that_is_not_exactly_ours_is_not_taken(place: Place, rival: str, change: str) -> None:
    PostgresEngine.register(place.policy()).close()
    before = place.copies()
    place.copied(change)
    with PostgresEngine.register(place.policy()) as engine:
        assert content(engine, TOTAL) == {(): (190,)}
    assert place.copies() != before
    assert len(place.copies()) == 1


def readers(place: Place) -> set[str]:
    """Every role that could read some table of the copies, or enter their schemas, asked one by one."""
    found = set()
    for name in place.copies():
        found |= {
            role
            for (role,) in place.sql(f"""
            SELECT rolname::text FROM pg_roles WHERE NOT rolsuper AND rolname NOT LIKE 'pg|_%' ESCAPE '|'
            AND (has_schema_privilege(oid, '{name}', 'USAGE') OR has_schema_privilege(oid, '{name}', 'CREATE')
            OR EXISTS (SELECT FROM pg_class WHERE relnamespace = '{name}'::regnamespace
                AND has_table_privilege(pg_roles.oid, pg_class.oid, 'SELECT, INSERT, UPDATE, DELETE')))
        """)
        }
    return found


def test_default_privileges_give_nobody_the_copy_or_its_secret(
    place: Place, owner: str, roles: Callable[..., str]
) -> None:
    roles("analyst")
    place.sql("ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO analyst WITH GRANT OPTION", owner)
    place.sql("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO analyst WITH GRANT OPTION", owner)
    place.sql("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC", owner)
    with PostgresEngine.register(place.policy(owner)) as engine:
        assert content(engine, TOTAL) == {(): (190,)}
    assert readers(place) == {owner}
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        place.sql(f"SELECT * FROM {place.copies()[0]}.tacit_secret", "analyst")


def test_rights_that_cannot_be_taken_away_end_the_registration(
    place: Place, monkeypatch: pytest.MonkeyPatch, roles: Callable[..., str]
) -> None:
    """As where an event trigger of the server's grants them."""
    roles("analyst")
    policy = place.policy()
    close_off = postgres_ours.close_off

    def and_open_again(connection: psycopg.Connection[object], schema: str, stated: object) -> None:
        close_off(connection, schema, policy)
        connection.execute(f'GRANT SELECT ON "{schema}".visits TO analyst')  # type: ignore[call-overload]

    monkeypatch.setattr(postgres_ours, "close_off", and_open_again)
    with pytest.raises(EngineError, match="somebody else has the right SELECT on visits"):
        PostgresEngine.register(policy)
    assert place.copies() == []


def test_collations_functions_and_operators_of_others_are_not_picked(place: Place) -> None:
    """A collation called as one that knows all letters, in a schema that everybody can write to."""
    place.sql('CREATE COLLATION public.pg_c_utf8 FROM "C"')
    place.sql("CREATE COLLATION public.\"und-x-icu\" (provider = libc, locale = 'C')")
    place.sql("CREATE FUNCTION public.spied(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'x'; END$$")
    place.sql("CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.spied)")
    place.sql("CREATE FUNCTION public.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT $2'")
    place.sql(f"ALTER DATABASE {place.name} SET search_path = public, pg_catalog")
    place.sql("INSERT INTO visits VALUES (99, 1, 'é')")
    for copy in ("clinic_copy", "query"):
        with PostgresEngine.register(place.policy(copy=copy)) as engine:
            letters = asking("SELECT count(*) AS m FROM tacit_copy.visits AS t WHERE upper(t.note) = 'É'")
            assert content(engine, letters) == {(): (1,)}


def test_locks_that_a_stranger_holds_stop_neither_openings_nor_removals(
    place: Place, owner: str, rival: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.engines.postgres import copy as postgres_copy

    with psycopg.connect(place.server.url(place.name, rival), autocommit=True) as stranger:
        numbers: list[int] = []
        real = postgres_copy._number
        monkeypatch.setattr(postgres_copy, "_number", lambda text: numbers.append(real(text)) or numbers[-1])
        with PostgresEngine.register(place.policy(owner)):
            pass
        place.sql("TRUNCATE visits")
        for number in set(numbers):
            stranger.execute("SELECT pg_advisory_lock(%s)", (number,))
        with PostgresEngine.register(place.policy(owner)) as engine:
            assert content(engine, COUNT) == {(): (0,)}
        assert len(place.copies()) == 1


def test_a_copy_of_another_owner_is_opened_only_if_they_own_the_sources(
    place: Place, owner: str, reader: str, roles: Callable[..., str]
) -> None:
    place.sql(f"GRANT tacit_reader TO {owner}")
    PostgresEngine.register(place.policy(owner)).close()
    with pytest.raises(EngineError, match="could not be built"):  # of a stranger, as far as the asker can know
        PostgresEngine.register(place.policy(reader))
    place.sql(f"ALTER TABLE visits OWNER TO {owner}")
    with PostgresEngine.register(place.policy(reader)) as engine:
        assert content(engine, TOTAL) == {(): (190,)}
    place.sql("ALTER TABLE visits OWNER TO postgres")


def test_one_build_after_another_keeps_the_same_names_for_describing(place: Place) -> None:
    policy = place.policy()
    with connect(place.server.url(place.name)) as connection:
        copy, schema = build(connection, policy, None, None, now(connection))
    assert schema == describe(policy)
    assert place.copies() == [copy.schema]
