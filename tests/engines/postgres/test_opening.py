"""Opening a policy on PostgreSQL: what would fail is told, what cannot be watched is copied again, processes do not get
in each other's way, and no secret is in a log.
"""

from __future__ import annotations

import json
import multiprocessing
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tacit
from tacit.curator import Curator
from tacit.doors.cli import app
from tacit.engines.postgres.engine import PostgresEngine
from tacit.errors import EngineError
from tests.engines.conformance.engines import content
from tests.engines.postgres.test_engine import TOML, TOTAL, Place, place, reader, whoami
from tests.engines.postgres.test_planted import COUNT, owner, rival, roles
from tests.postgres_server import BINARIES, running

__all__ = ["owner", "place", "reader", "rival", "roles"]  # fixtures


def opened_and_asked(policy: Any, rounds: int, told: Any) -> None:
    """What another process does: open, ask, open again."""
    try:
        for _ in range(rounds):
            with PostgresEngine.register(policy) as engine:
                told.put(content(engine, COUNT))
    except BaseException as failure:
        told.put(repr(failure))
        raise


@pytest.mark.parametrize("watched", [True, False])
def test_six_processes_that_open_a_fresh_policy_at_once_all_work(place: Place, watched: bool) -> None:
    if not watched:
        place.sql("ALTER TABLE visits RENAME TO behind")
        place.sql("CREATE VIEW visits AS SELECT * FROM behind")
    policy = place.policy()
    context = multiprocessing.get_context("fork")
    told: Any = context.Queue()
    processes = [context.Process(target=opened_and_asked, args=(policy, 2, told)) for _ in range(6)]
    for process in processes:
        process.start()
    found = [told.get(timeout=120) for _ in range(12)]
    for process in processes:
        process.join(60)
    assert found == [{(): (20,)}] * 12
    with PostgresEngine.register(policy):
        assert len(place.copies()) == 1


def test_a_view_is_copied_again_at_every_opening_and_each_process_keeps_its_own(place: Place) -> None:
    place.sql("ALTER TABLE visits RENAME TO behind")
    place.sql("CREATE VIEW visits AS SELECT * FROM behind")
    with PostgresEngine.register(place.policy()) as first:
        before = first.fingerprint()
        place.sql('DELETE FROM behind WHERE "PID" = 3')  # somebody is erased, and no counter of the view tells
        with PostgresEngine.register(place.policy()) as second:
            assert content(second, COUNT) == {(): (18,)}
            assert second.fingerprint() != before  # so no older answer is replayed
            assert not first.is_stale()
            assert content(first, COUNT) == {(): (20,)}
    PostgresEngine.register(place.policy()).close()
    assert len(place.copies()) == 1


OLDER = """
CREATE SCHEMA clinic_copy;
CREATE TABLE clinic_copy.visits (tacit_unit int, tacit_rank int, age int, note text);
CREATE TABLE clinic_copy.tacit_about (build text, policy text, digest text, fingerprint text);
CREATE TABLE clinic_copy.tacit_secret (key bytea);
INSERT INTO clinic_copy.tacit_about VALUES ('b', 'clinic', 'd', 'f');
INSERT INTO clinic_copy.visits VALUES (3, 1, 7, 'erased since')
"""
SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname = 'clinic_copy'"


def test_the_copy_that_an_earlier_version_left_is_removed(place: Place) -> None:
    place.sql(OLDER)
    with PostgresEngine.register(place.policy()) as engine:
        assert content(engine, COUNT) == {(): (20,)}
    assert place.sql(SCHEMAS) == [(0,)]


@pytest.mark.parametrize(
    "otherwise",
    [
        "UPDATE clinic_copy.tacit_about SET policy = 'another'",
        "CREATE VIEW clinic_copy.mine AS SELECT 1 AS a",
        "CREATE FUNCTION clinic_copy.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE clinic_copy.tacit_secret ADD more int",
        "DROP TABLE clinic_copy.tacit_about",
        "CREATE ROLE stranger; ALTER SCHEMA clinic_copy OWNER TO stranger",
        "CREATE ROLE stranger; ALTER TABLE clinic_copy.tacit_about OWNER TO stranger",
    ],
)
def test_a_schema_that_only_looks_like_an_older_copy_is_left_alone(place: Place, otherwise: str) -> None:
    place.sql(OLDER)
    place.sql(otherwise)
    try:
        PostgresEngine.register(place.policy()).close()
        assert place.sql(SCHEMAS) == [(1,)]
        assert place.sql("SELECT count(*) FROM clinic_copy.visits") == [(1,)]
    finally:
        if "stranger" in otherwise:
            place.sql("DROP SCHEMA clinic_copy CASCADE; DROP ROLE stranger")


@pytest.mark.parametrize("copy", ["clinic_copy", "query"])
def test_functions_and_operators_that_others_planted_are_not_called(place: Place, copy: str) -> None:
    planted = {
        "text": ("left(text, int)", "lower(text)", "substring(text, int, int)", "encode(bytea, text)"),
        "int": ("octet_length(text)",),
        "bytea": ("sha256(bytea)", "convert_to(text, text)"),
        "float8": ("floor(float8)", "abs(float8)"),
    }
    for kind, names in planted.items():
        for name in names:
            raising = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$"
            place.sql(f"CREATE FUNCTION public.{name} RETURNS {kind} {raising}")
    place.sql("CREATE FUNCTION public.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false'")
    place.sql("CREATE OPERATOR public.= (FUNCTION = public.never, LEFTARG = text, RIGHTARG = text)")
    place.sql(f"ALTER DATABASE {place.name} SET search_path = public, pg_catalog")
    place.sql('ALTER TABLE visits ALTER "PID" TYPE text')
    with PostgresEngine.register(place.policy(copy=copy)) as engine:
        assert content(engine, TOTAL) == {(): (190,)}


def test_refresh_removes_older_copies_whoever_uses_them(place: Place, tmp_path: Path) -> None:
    place.sql("ALTER TABLE visits RENAME TO behind")
    place.sql("CREATE VIEW visits AS SELECT * FROM behind")
    place.policy()
    toml = tmp_path / "clinic.toml"
    toml.write_text(TOML.format(name="clinic", copy="clinic_copy", rows=2, most=100))
    with tacit.open(toml) as curator:
        first = curator.ask("SELECT count(*) AS n FROM visits", 20)
        place.sql('DELETE FROM behind WHERE "PID" = 3')
        done = CliRunner().invoke(app, ["refresh", str(toml)])
        assert (done.exit_code, done.stdout) == (
            0,
            "Registered anew: visits. Who has the policy open must open it again.\n",
        )
        assert place.copied("SELECT count(*) FROM COPY.visits WHERE tacit_unit = 3") == [(0,)]
        with pytest.raises(EngineError, match="A source changed"):
            curator.ask("SELECT count(*) AS m FROM visits WHERE age > 1", 20)
        curator.refresh()
        again = curator.ask("SELECT count(*) AS n FROM visits", 20)
        assert not again.repeated
        assert abs(again["n"][0] - 18) < 10 > abs(first["n"][0] - 20)
        assert len(place.copies()) == 1
    done = CliRunner().invoke(app, ["refresh", str(toml), "--json"])
    assert json.loads(done.stdout) == {"ok": True, "name": "clinic", "tables": ["visits"]}
    toml.write_text(toml.read_text().replace('"clinic_copy"', '"query"'))
    assert CliRunner().invoke(app, ["refresh", str(toml)]).exit_code == 2
    assert "several times the work" in CliRunner().invoke(app, ["check", str(toml)]).stdout


def test_a_refresh_just_before_the_charge_is_told_for_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last look at the copy and the first question to it: nothing is paid, nobody is stopped."""
    with Curator(place.policy()) as curator:
        engine: Any = curator._engine
        looked = engine.is_stale

        def refreshed_meanwhile() -> bool:
            found = looked()
            monkeypatch.setattr(engine, "is_stale", looked)
            PostgresEngine.register(place.policy(), anew=True).close()
            return bool(found)

        monkeypatch.setattr(engine, "is_stale", refreshed_meanwhile)
        before = curator.spent()
        with pytest.raises(EngineError, match="A source changed"):
            curator.ask("SELECT count(*) AS n FROM visits", 1)
        assert curator.spent() == before
        curator.refresh()
        assert len(curator.ask("SELECT count(*) AS n FROM visits", 1)) == 1


def test_without_a_copy_what_is_certain_to_fail_is_told_before_anybody_pays(
    place: Place, owner: str, roles: Any
) -> None:
    poor = roles("poor")
    for user, copy in ((poor, "query"), (poor, "clinic_copy")):
        with pytest.raises(EngineError, match=r"may not read visits|could not be built"):
            PostgresEngine.register(place.policy(user, copy=copy))
    place.sql("CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    # text under a collation that no pattern can be matched under is read all the same
    place.sql('ALTER TABLE visits ALTER COLUMN "Age" TYPE text COLLATE any_case')
    for copy in ("query", "clinic_copy"):
        with PostgresEngine.register(place.policy(owner, copy=copy)) as engine:
            assert content(engine, TOTAL) == {(): (190,)}
    place.sql("CREATE VIEW broken AS SELECT *, 1 / 0 AS never FROM visits")
    place.sql(f"GRANT SELECT ON broken TO {owner}")
    place.sql("ALTER TABLE visits RENAME TO behind")
    place.sql('CREATE VIEW visits AS SELECT "PID", never AS "Age", note FROM broken')
    place.sql(f"GRANT SELECT ON visits TO {owner}")
    with pytest.raises(EngineError, match="every question about it would fail"):
        PostgresEngine.register(place.policy(owner, copy="query"))


def test_a_reading_role_that_cannot_be_taken_is_an_error_and_not_passed_over(
    place: Place, owner: str, reader: str
) -> None:
    for copy in ("clinic_copy", "query"):
        with pytest.raises(EngineError, match='GRANT tacit_reader TO "owner_of_it"'):
            PostgresEngine.register(place.policy(owner, copy=copy))
    assert place.copies() == []
    place.sql(f"GRANT tacit_reader TO {owner}")
    with PostgresEngine.register(place.policy(owner)) as engine:
        assert whoami(engine) == "tacit_reader"
    with pytest.raises(EngineError, match="GRANT SELECT ON visits TO tacit_reader"):
        PostgresEngine.register(place.policy(owner, copy="query"))
    place.sql("GRANT SELECT ON visits TO tacit_reader")
    with PostgresEngine.register(place.policy(owner, copy="query")) as engine:
        assert whoami(engine) == "tacit_reader"
        assert content(engine, TOTAL) == {(): (190,)}


@pytest.mark.parametrize("setting", ["statement_timeout = 1", "work_mem = 64", "transform_null_equals = on"])
def test_no_setting_of_the_role_or_the_database_changes_what_a_question_may_take(place: Place, setting: str) -> None:
    place.sql(f"ALTER ROLE postgres IN DATABASE {place.name} SET {setting}")
    with PostgresEngine.register(place.policy()) as engine:
        shown = {name: engine._session.look(lambda there, name=name: there.execute(f"SHOW {name}").fetchone()[0])  # type: ignore[index,misc]
                 for name in ("statement_timeout", "work_mem", "transform_null_equals", "lock_timeout")}  # fmt: skip
    assert shown == {
        "statement_timeout": "2min",
        "work_mem": "128MB",
        "transform_null_equals": "off",
        "lock_timeout": "0",
    }


def test_no_secret_is_in_the_servers_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement, parameter and plan is logged; what ranks rows is in none of them, in either mode.

    The statements that the server itself keeps (`pg_stat_statements`, where it is installed) are looked at as well.
    """
    keeps = BINARIES is not None and (BINARIES.parent / "lib" / "pg_stat_statements.so").exists()
    verbose = {
        **({"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "all"} if keeps else {}),
        "log_statement": "all",
        "log_parameter_max_length": "-1",
        "log_duration": "on",
        "session_preload_libraries": "auto_explain",
        "auto_explain.log_min_duration": "0",
        "auto_explain.log_verbose": "on",
    }
    with running(**verbose) as server:
        found = Place(server, "logged", lambda address: monkeypatch.setenv("TACIT_TEST_DATABASE", address))
        server.database("logged")
        found.sql('CREATE TABLE visits ("PID" int, "Age" int, note text)')
        found.sql("INSERT INTO visits SELECT n / 9, n, 'note' FROM generate_series(0, 19) AS n")
        with PostgresEngine.register(found.policy()) as engine:
            content(engine, TOTAL)
        found.sql("TRUNCATE visits")
        with PostgresEngine.register(found.policy()) as engine:  # built again, with the secret of before
            content(engine, TOTAL)
        with PostgresEngine.register(found.policy(copy="query")) as engine:
            content(engine, TOTAL)
            key = engine._session.look(
                lambda there: there.execute("SELECT current_setting('tacit.rank_key')").fetchone()[0]  # type: ignore[index]
            )
        log = (server.folder / "log").read_text()
        said = log.lower()
        assert "create table" in said
        if keeps:
            found.sql("CREATE EXTENSION pg_stat_statements")
            kept_statements = " ".join(query.lower() for (query,) in found.sql("SELECT query FROM pg_stat_statements"))
            assert "tacit_rank" in kept_statements
            said += kept_statements
        (kept,) = found.copied("SELECT encode(key, 'hex') FROM COPY.tacit_secret")[0]
    assert re.fullmatch("[0-9a-f]{64}", kept)
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert kept != key
    for secret in (kept, key):
        assert secret not in said
        assert str(bytes.fromhex(secret))[2:-1].lower() not in said


def test_a_policy_begun_from_a_database_is_accepted_once_it_is_filled_in(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.policy()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init", "postgres:$TACIT_TEST_DATABASE"])
    assert done.exit_code == 0, done.output
    toml = tmp_path / "tacit_test_database.toml"
    text = toml.read_text().replace('unit = "FILL IN"', 'unit = "PID"').replace("FILL IN", "filled in")
    toml.write_text(re.sub(r"(?m)^# (Age|note) = ", r"\1 = ", text))
    done = CliRunner().invoke(app, ["check", str(toml)])
    assert done.exit_code == 0, done.output
    assert "is in order" in done.stdout
    with tacit.open(toml) as curator:
        assert abs(curator.ask("SELECT count(*) AS n FROM visits", 0.5)["n"][0] - 10) < 100
    (name,) = place.copies()
    assert name.startswith("tacit_test_database_copy_")


def test_the_address_names_the_policy_that_is_begun() -> None:
    from tacit.curator import suggested_name

    assert suggested_name(["postgres:$CLINIC_DB"]) == "clinic_db"
    assert suggested_name(["postgresql://host:5432/Clinic-2?sslmode=require"]) == "clinic_2"
    assert suggested_name(["postgresql://host"]) == "policy"
    assert suggested_name(["data/visits.csv.gz", "x.csv"]) == "visits"
