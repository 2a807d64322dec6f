"""The PostgreSQL engine: least rights, one moment, one sentence; copies that are swapped whole and told apart."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
import sqlglot

import tacit
from tacit.curator import describe_sources
from tacit.engines.engine import describe, open_engine
from tacit.engines.exact import Exact
from tacit.engines.postgres.engine import PostgresEngine
from tacit.engines.process import FAILED, Limits
from tacit.errors import EngineError, PolicyError
from tacit.policy import Policy, Source
from tacit.policy.read import parse
from tests.engines.conformance.engines import content
from tests.postgres_server import Server

TOML = """
name = "{name}"
source = "postgres:$TACIT_TEST_DATABASE"
working_copy = "{copy}"
[budget]
epsilon = 100
delta = 1e-3
[questions]
largest_epsilon = 100
[tables.visits]
unit = "Pid"
rows_per_unit = {rows}
[tables.visits.columns]
age = {{ type = "integer", between = [0, {most}] }}
note = {{ type = "text" }}
"""
NUMBERS = itertools.count()


@dataclass(frozen=True)
class Query:
    ast: Any
    key_columns: tuple[str, ...] = ()
    measure_columns: tuple[str, ...] = ("m",)


def asking(sql: str) -> Query:
    return Query(sqlglot.parse_one(sql, dialect="duckdb"))


TOTAL = asking('SELECT sum(t."age") AS m FROM tacit_copy."visits" AS t')


@dataclass(frozen=True)
class Place:
    """A database of a test's own."""

    server: Server
    name: str
    use: Callable[[str], None]

    def sql(self, statement: str, user: str = "postgres") -> list[Any]:
        with psycopg.connect(self.server.url(self.name, user), autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def policy(self, user: str = "postgres", **facts: Any) -> Policy:
        self.use(self.server.url(self.name, user))
        return parse(TOML.format(**{"name": "clinic", "copy": "clinic_copy", "rows": 2, "most": 100, **facts}))

    def copies(self) -> list[str]:
        """The schemas that are copies."""
        found = "SELECT nspname::text FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') LIKE '%tacit copy%'"
        return [name for (name,) in self.sql(found)]

    def copied(self, statement: str) -> list[Any]:
        """Run a statement about the only copy, which it calls COPY."""
        (name,) = self.copies()
        return self.sql(statement.replace("COPY", name))

    def stale(self, engine: PostgresEngine) -> bool:
        """The server tells of changes with a delay."""
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if engine.is_stale():
                return True
            time.sleep(0.05)
        return False


@pytest.fixture
def place(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    name = f"engine_{next(NUMBERS)}"
    postgres.database(name)
    found = Place(postgres, name, lambda address: monkeypatch.setenv("TACIT_TEST_DATABASE", address))
    # the source spells names in its own way
    found.sql('CREATE TABLE visits ("PID" int, "Age" int, note text)')
    found.sql("INSERT INTO visits SELECT n / 2, n, 'note ' || n % 3 FROM generate_series(0, 19) AS n")
    yield found
    postgres.drop(name)


@pytest.fixture
def reader(place: Place) -> Iterator[str]:
    """A user who may become tacit_reader and has no other right."""
    place.sql("CREATE ROLE tacit_reader NOLOGIN")
    place.sql("CREATE ROLE asker LOGIN IN ROLE tacit_reader")
    yield "asker"
    place.sql("DROP OWNED BY tacit_reader, asker")
    place.sql("DROP ROLE asker")
    place.sql("DROP ROLE tacit_reader")


def whoami(engine: PostgresEngine) -> str:
    return engine._session.look(lambda there: there.execute("SELECT current_user").fetchone()[0])  # type: ignore[index]


def test_a_copy_is_built_once_and_found_again(place: Place) -> None:
    told: list[tuple[str, int, int]] = []
    with PostgresEngine.register(place.policy(), progress=lambda *step: told.append(step)) as engine:
        assert content(engine, TOTAL) == {(): (190,)}
        build = place.copies()
        with PostgresEngine.register(place.policy()) as again:
            assert place.copies() == build
            assert content(again, TOTAL) == {(): (190,)}
        assert not engine.is_stale()
    assert told == [("visits", 0, 1), ("visits", 1, 1)]
    assert describe(place.policy())["visits"] == {"PID": "integer", "Age": "integer", "note": "text"}


def test_questions_run_as_the_reading_role_and_can_neither_write_nor_see_the_source(place: Place, reader: str) -> None:
    with PostgresEngine.register(place.policy()) as engine:
        assert whoami(engine) == "tacit_reader"
        assert content(engine, TOTAL) == {(): (190,)}
        for forbidden in (
            "SELECT count(*) AS m FROM public.visits",
            f"SELECT count(*) AS m FROM {place.copies()[0]}.tacit_secret",
            "SELECT count(pg_read_file('/etc/passwd')) AS m",
        ):
            with pytest.raises(EngineError) as failed:
                engine.run(asking(forbidden))
            assert str(failed.value) == FAILED
    # who has no right on the source can open the copy that the owner built, and cannot build one
    with PostgresEngine.register(place.policy(reader)) as engine:
        assert content(engine, TOTAL) == {(): (190,)}
    with pytest.raises(EngineError, match="could not be built"):
        PostgresEngine.register(place.policy(reader, rows=1))
    assert len(place.copies()) == 1


def test_a_session_writes_nothing_and_pins_what_queries_mean(place: Place) -> None:
    place.sql(f"ALTER DATABASE {place.name} SET search_path = public")
    place.sql(f"ALTER DATABASE {place.name} SET timezone = 'Asia/Tokyo'")
    place.sql(f"ALTER DATABASE {place.name} SET standard_conforming_strings = off")
    place.sql("CREATE FUNCTION public.length(text) RETURNS int LANGUAGE sql AS 'SELECT 77'")
    with PostgresEngine.register(place.policy()) as engine:
        longest = asking('SELECT sum(length(t."note")) AS m FROM tacit_copy."visits" AS t')
        assert content(engine, longest) == {(): (20 * len("note 0"),)}
        slashed = asking("SELECT count(*) AS m FROM tacit_copy.visits AS t WHERE 'a\\b' = concat('a', chr(92), 'b')")
        assert content(engine, slashed) == {(): (20,)}
        zone = asking("SELECT count(*) AS m FROM tacit_copy.visits AS t WHERE current_setting('TimeZone') = 'UTC'")
        assert content(engine, zone) == {(): (20,)}
        for writing in (
            "CREATE TABLE public.stolen AS SELECT 1 AS m",
            "INSERT INTO public.visits (note) VALUES ('stolen') RETURNING 1 AS m",
            "WITH gone AS (DELETE FROM public.visits RETURNING 1) SELECT count(*) AS m FROM gone",
        ):
            with pytest.raises(EngineError, match=FAILED):
                engine.run(Query(sqlglot.parse_one(writing, dialect="postgres")))
    assert place.sql("SELECT count(*) FROM visits") == [(20,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 / (t.age - 3) AS m FROM tacit_copy.visits AS t",
        "SELECT sum(t.nothing) AS m FROM tacit_copy.visits AS t",
        "SELECT 0.5 AS m FROM tacit_copy.visits AS t",
        "SELECT 'x' AS m FROM tacit_copy.visits AS t",
        "SELECT 1 AS other FROM tacit_copy.visits AS t",
        "SELECT count(*) AS m FROM tacit_copy.visits AS t WHERE t.note = 'zero\0byte'",
        "SELECT count(*) AS m FROM tacit_copy.visits AS t WHERE t.note = '\ud800'",
        "SELECT CAST('NaN' AS DECIMAL) AS m",
    ],
)
def test_whatever_goes_wrong_is_one_sentence_and_the_next_question_is_answered(place: Place, sql: str) -> None:
    with PostgresEngine.register(place.policy()) as engine:
        with pytest.raises(EngineError) as failed:
            engine.run(asking(sql))
        assert str(failed.value) == FAILED
        assert failed.value.__context__ is None
        assert content(engine, TOTAL) == {(): (190,)}


def test_time_is_limited(place: Place) -> None:
    # registering looks at the catalogue under the same limit: shorter, it would be too short on a busy machine
    with PostgresEngine.register(place.policy(), limits=Limits(seconds=4)) as engine:
        began = time.monotonic()
        with pytest.raises(EngineError, match=FAILED):
            engine.run(asking("SELECT count(pg_sleep(300)) AS m"))
        assert time.monotonic() - began < 200


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO visits VALUES (1, 1, '')",
        "UPDATE visits SET note = ''",
        "DELETE FROM visits",
        "TRUNCATE visits",
        "ALTER TABLE visits ADD COLUMN more int",
    ],
)
def test_a_changed_source_is_noticed_before_the_charge_and_registered_anew(place: Place, change: str) -> None:
    with PostgresEngine.register(place.policy()) as engine:
        before = engine.fingerprint()
        assert not engine.is_stale()
        place.sql(change)
        assert place.stale(engine)
        assert engine.fingerprint() != before
    with PostgresEngine.register(place.policy()) as engine:
        assert not engine.is_stale()


def test_a_copy_under_other_bounds_is_never_read_for_an_older_plan(place: Place) -> None:
    with (
        PostgresEngine.register(place.policy(rows=1)) as engine,
        PostgresEngine.register(place.policy(rows=2)) as other,
    ):
        assert engine.is_stale()
        with pytest.raises(EngineError, match=FAILED):
            engine.run(TOTAL)
        assert content(other, TOTAL) == {(): (190,)}


def test_ranks_stay_when_a_copy_is_built_again(place: Place) -> None:
    ranks = "SELECT tacit_unit, tacit_rank, age FROM COPY.visits ORDER BY 1, 2"
    PostgresEngine.register(place.policy()).close()
    before = place.copied(ranks)
    place.sql("INSERT INTO visits VALUES (1000, 5, 'new')")
    deadline = time.monotonic() + 300
    while place.copied(ranks) == before and time.monotonic() < deadline:
        PostgresEngine.register(place.policy()).close()
    assert place.copied(ranks) == [*before, (1000, 1, 5)]


def test_a_schema_that_is_not_this_policys_copy_is_left_alone(place: Place) -> None:
    place.sql("CREATE SCHEMA precious")
    place.sql("CREATE TABLE precious.work (n int)")
    PostgresEngine.register(place.policy(copy="precious")).close()
    first = place.copies()
    with PostgresEngine.register(place.policy(name="another", copy="precious")) as engine:
        assert content(engine, TOTAL) == {(): (190,)}
    assert set(first) < set(place.copies())
    assert place.sql("SELECT count(*) FROM precious.work") == [(0,)]
    with pytest.raises(PolicyError, match="use a shorter name"):
        PostgresEngine.register(place.policy(copy="p" * 47))


def test_an_interrupted_registration_leaves_nothing(place: Place) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PostgresEngine.register(place.policy(), progress=interrupt)
    assert place.sql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%copy' OR nspname LIKE 'tacit%'") == [(0,)]


def test_with_reading_rights_only_contributions_are_bounded_inside_each_query(place: Place) -> None:
    place.sql("CREATE ROLE looker LOGIN")
    try:
        place.sql("GRANT SELECT ON visits TO looker")
        with pytest.raises(EngineError, match='working_copy = "query"'):
            PostgresEngine.register(place.policy("looker"))
        with PostgresEngine.register(place.policy("looker", copy="query", rows=1)) as engine:
            assert content(engine, asking("SELECT count(*) AS m FROM tacit_copy.visits AS t")) == {(): (10,)}
            place.sql("INSERT INTO visits VALUES (50, 1, ''), (50, 2, ''), (50, 3, '')")
            assert content(engine, asking("SELECT count(*) AS m FROM tacit_copy.visits AS t")) == {(): (11,)}
            assert not engine.is_stale()  # rows are read as they are
            twice = "FROM tacit_copy.visits AS a JOIN tacit_copy.visits AS b ON a.tacit_unit = b.tacit_unit"
            assert content(engine, asking(f"SELECT count(*) AS m {twice}")) == {(): (11,)}
            named = "WITH w AS (SELECT t.tacit_unit AS u FROM tacit_copy.visits AS t) SELECT count(*) AS m FROM w"
            assert content(engine, asking(named)) == {(): (11,)}
            place.sql("ALTER TABLE visits ADD COLUMN more int")
            assert engine.is_stale()
    finally:
        place.sql("DROP OWNED BY looker")
        place.sql("DROP ROLE looker")


def test_queries_of_one_moment_see_the_same_rows_whatever_others_write(place: Place) -> None:
    count = asking("SELECT count(*) AS m FROM tacit_copy.visits AS t")

    def found(run: Callable[[Any], Exact]) -> int:
        return run(count).open_for(lambda _, columns: int(columns["m"][0]))

    with PostgresEngine.register(place.policy(copy="query")) as engine:
        with engine.snapshot() as run:
            before = found(run)
            place.sql("INSERT INTO visits VALUES (50, 1, '')")
            assert found(run) == before
            assert found(engine.run) == before  # within the moment, whoever runs it
            assert found(run) == before
            assert not engine.is_stale()
        with engine.snapshot() as run:
            assert found(run) == before + 1
        with pytest.raises(EngineError) as failed, engine.snapshot() as run:
            run(asking("SELECT sum(t.nothing) AS m FROM tacit_copy.visits AS t"))
        assert (str(failed.value), failed.value.__context__) == (FAILED, None)
        with pytest.raises(KeyboardInterrupt), engine.snapshot():
            raise KeyboardInterrupt
        assert found(engine.run) == before + 1


def _total(exact: Exact) -> int:
    return exact.open_for(lambda _, columns: int(columns["m"][0]))


def test_a_copy_that_is_replaced_meanwhile_stays_for_the_queries_of_a_moment(place: Place) -> None:
    with PostgresEngine.register(place.policy()) as engine:
        with engine.snapshot() as run:
            first = _total(run(TOTAL))
            place.sql("INSERT INTO visits VALUES (30, 50, 'late')")
            another = threading.Thread(target=lambda: PostgresEngine.register(place.policy(), anew=True).close())
            another.start()  # it builds a copy, and then waits until it may remove this one
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
            while another.is_alive() and place.sql(waits) == [(0,)]:
                time.sleep(0.02)
            assert _total(run(TOTAL)) == first == 190
        another.join()
        assert len(place.copies()) == 1
        assert engine.is_stale()


def test_what_goes_wrong_around_a_moment_has_the_one_text_and_loses_no_answer(place: Place) -> None:
    count = asking("SELECT count(*) AS m FROM tacit_copy.visits AS t")
    ours = "FROM pg_stat_activity WHERE application_name = 'tacit' AND datname = current_database()"
    with PostgresEngine.register(place.policy(copy="query", rows=2)) as engine:
        with engine.snapshot() as run:
            exact = run(count)
            assert place.sql(f"SELECT pg_terminate_backend(pid) {ours}") == [(True,)]
        assert exact.open_for(lambda _, columns: columns["m"].tolist()) == [20]
        engine._session.close()
        engine._session._address = "postgresql:///nowhere?host=/nowhere"
        with pytest.raises(EngineError) as lost:
            engine.run(count)
        assert (str(lost.value), lost.value.__context__) == (FAILED, None)  # it was paid for: no other words
        engine._session._address = place.server.url(place.name)
        assert content(engine, count) == {(): (20,)}


def test_a_session_that_the_server_ended_is_opened_again(place: Place) -> None:
    with PostgresEngine.register(place.policy()) as engine:
        assert not engine.is_stale()
        ours = "FROM pg_stat_activity WHERE application_name = 'tacit' AND datname = current_database()"
        assert place.sql(f"SELECT pg_terminate_backend(pid) {ours}") == [(True,)]
        while place.sql(f"SELECT 1 {ours}"):
            time.sleep(0.01)  # it was told to end, and does so when it gets its turn
        assert not engine.is_stale()
        assert content(engine, TOTAL) == {(): (190,)}


def test_refusals_before_anything_is_read_are_in_words(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = place.policy()
    monkeypatch.delenv("TACIT_TEST_DATABASE")
    with pytest.raises(PolicyError, match="the environment variable TACIT_TEST_DATABASE is not set"):
        open_engine(policy)
    place.use("postgresql:///nowhere?host=/nowhere")
    with pytest.raises(EngineError, match="cannot be reached"):
        open_engine(policy)
    place.sql("DROP TABLE visits")
    with pytest.raises(EngineError, match=r"there is no table public\.visits"):
        open_engine(place.policy())
    place.server.sql("CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0")
    try:
        place.use(place.server.url("latin"))
        with pytest.raises(EngineError, match="encoding UTF8"):
            open_engine(policy)
    finally:
        place.server.drop("latin")


def test_a_policy_can_be_begun_from_a_database(place: Place) -> None:
    place.sql("CREATE SCHEMA hospital")
    place.sql("CREATE TABLE hospital.wards (ward text, area point)")
    PostgresEngine.register(place.policy()).close()  # a copy is no source
    text = describe_sources(["postgres:$TACIT_TEST_DATABASE"], name="clinic", directory="/elsewhere")
    assert '[tables.visits]\nsource = "postgres:$TACIT_TEST_DATABASE"\ntable = "public.visits"' in text
    assert '[tables.hospital_wards]\nsource = "postgres:$TACIT_TEST_DATABASE"\ntable = "hospital.wards"' in text
    assert "area has a type that no question can use" in text
    assert "tacit_secret" not in text
    assert text.count("[tables.") == 4
    with pytest.raises(EngineError, match="name it alone"):
        describe_sources(["postgres:$TACIT_TEST_DATABASE", "wards.csv"], name="clinic")


def test_a_curator_asks_a_database_and_replays_until_it_changes(place: Place, tmp_path: Any) -> None:
    place.policy()
    toml = TOML.format(name="clinic", copy="clinic_copy", rows=2, most=100)
    (tmp_path / "clinic.toml").write_text(toml)
    with tacit.open(tmp_path / "clinic.toml") as curator:
        first = curator.ask("SELECT count(*) AS n, avg(age) AS a FROM visits", 50)
        assert abs(first["n"][0] - 20) < 10
        assert curator.ask("SELECT count(*) AS n, avg(AGE) AS a FROM visits", 50).repeated
        place.sql("INSERT INTO visits VALUES (1, 1, '')")
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not curator._engine.is_stale():
            time.sleep(0.05)
        with pytest.raises(EngineError, match="A source changed"):
            curator.ask("SELECT count(*) AS n, avg(age) AS a FROM visits", 50)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("postgresql://ann:secret@host/db", "password"),
        ("postgresql://host/db?password=secret", "password"),
        ("postgres:$not a name", "environment variable"),
        ("postgres:/host", "PostgreSQL address is"),
        ("host=here", "PostgreSQL address is"),
    ],
)
def test_an_address_with_a_password_or_none_at_all_is_refused(address: str, sentence: str) -> None:
    with pytest.raises(PolicyError, match=sentence) as refused:
        Source("postgres", address, "visits")
    assert "secret" not in str(refused.value)


def test_all_tables_of_a_policy_live_in_one_database() -> None:
    more = '\n[tables.wards]\nsource = "{}"\npublic = true\n[tables.wards.columns]\nward = {{ type = "text" }}\n'
    toml = TOML.format(name="c", copy="c", rows=1, most=9)
    for elsewhere in ("wards.csv", "postgresql://other/db"):
        with pytest.raises(PolicyError, match="all tables of the policy are in the same one"):
            parse(toml + more.format(elsewhere))
    assert parse(toml + more.format("postgres:$TACIT_TEST_DATABASE")).tables["wards"].source.table == "wards"
