"""Units are equal where the database says equal: for every type that a column can have, ours are theirs, or refused."""

from __future__ import annotations

import psycopg
import pytest

from tacit.engines.engine import describe
from tacit.engines.postgres.engine import PostgresEngine
from tacit.errors import EngineError, PolicyError
from tacit.policy.read import parse
from tests.engines.conformance.engines import content
from tests.engines.postgres.test_engine import Place, asking, place

__all__ = ["place"]  # a fixture

# Each type with values of which some are equal and written differently, and some different and written alike.
VALUES: dict[str, list[str]] = {
    "smallint": ["1", "01", "-1"],
    "integer": ["1", "+1", "2"],
    "bigint": ["9007199254740993", "9007199254740992", "09007199254740993"],
    "numeric": ["1.0", "1.00", "1", "1e0", "0.1", "0.10", "-0.0", "0", "1e30", "1.1"],
    "numeric(10,3)": ["1.0", "1.000", "1.001"],
    "real": ["-0", "0", "1", "1.0", "0.1", "16777215"],
    "double precision": ["-0", "0", "1e0", "1", "0.1", "0.10000000000000001", "9007199254740991"],
    "boolean": ["t", "true", "f", "no"],
    "text": ["a", "A", "a ", "", "é", "é", "x" * 1000, *("ä" * 5000 + end for end in "aab")],
    "varchar(5)": ["a", "a ", "A"],
    "char(5)": ["a", "a ", "a  ", "b"],
    "name": ["a", "A"],
    "uuid": ["A0EEBC999C0B4EF8BB6D6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{" + "0" * 32 + "}"],
    "date": ["2024-02-29", "20240229", "infinity", "0044-03-15 BC", "2024-03-01"],
    "time": ["10:00", "10:00:00.0", "24:00", "00:00"],
    "timetz": ["10:00+00", "11:00+01", "10:00:00+00:00"],
    "timestamp": ["2024-02-29 10:00", "2024-02-29T10:00:00.0", "-infinity"],
    "timestamptz": ["2024-02-29 10:00+00", "2024-02-29 11:00+01", "2024-02-29 10:00:01+00"],
    "bytea": ["\\\\x61", "a", "b"],
    "inet": ["10.0.0.1", "10.0.0.1/32", "10.0.0.1/24", "::1"],
    "cidr": ["10.0.0.0/24", "10.0.0/24", "10.0.0.0/25"],
    "macaddr": ["08:00:2b:01:02:03", "08002b:010203"],
    "macaddr8": ["08:00:2b:01:02:03:04:05", "08002b0102030405"],
    "bit(3)": ["101", "111"],
    "varbit": ["1", "01", "001"],
    "oid": ["1", "01"],
    "interval": ["1 day", "24 hours", "1 mon", "30 days"],
    "jsonb": ['{"a": 1.0}', '{"a": 1.00}', '{"b": 1}'],
    "money": ["1.00", "1"],
    "int4range": ["[1,3)", "[1,2]", "empty"],
    "numrange": ["[1.0,2]", "[1.00,2]"],
    "integer[]": ["{1,2}", "{01,2}", "[0:1]={1,2}"],
    "numeric[]": ["{1.0}", "{1.00}"],
    "tsvector": ["a b", "b a"],
    "pg_lsn": ["0/1", "00/01"],
    "folded": ["a", "A", "b"],
    "citext": ["a", "A", "b"],
    "whole": ["1.0", "1.00", "2"],
    "whole_again": ["1.0", "1.00", "2"],
    "mood": ["sad", "ok"],
    "pair": ["(1.0,a)", "(1.00,a)"],
    'text COLLATE "any_case"': ["a", "A", "b"],
    '"char"': ["a", "b"],
}
REFUSED = {
    *("interval", "jsonb", "money", "int4range", "numrange", "integer[]", "numeric[]", "tsvector", "pg_lsn", "folded"),
    "citext",
    *("pair", 'text COLLATE "any_case"', '"char"'),
}
TOML = """
name = "clinic"
source = "postgres:$TACIT_TEST_DATABASE"
working_copy = "{copy}"
[budget]
epsilon = 1
[tables.people]
unit = "{unit}"
rows_per_unit = 1
[tables.people.columns]
number = {{ type = "integer", between = [0, 100] }}
"""
UNITS = asking("SELECT count(DISTINCT t.tacit_unit) AS m FROM tacit_copy.people AS t")
ROWS = asking("SELECT count(*) AS m FROM tacit_copy.people AS t")


@pytest.fixture
def typed(place: Place) -> Place:
    """A table with a column of every type, and the types that are not the server's own."""
    place.sql("CREATE EXTENSION citext")
    place.sql("CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    place.sql('CREATE DOMAIN folded AS text COLLATE "any_case"')
    place.sql("CREATE DOMAIN whole AS numeric")
    place.sql("CREATE DOMAIN whole_again AS whole CHECK (VALUE > 0)")
    place.sql("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    place.sql("CREATE TYPE pair AS (a numeric, b text)")
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(VALUES))
    place.sql(f"CREATE TABLE people (number int, {columns})")
    with psycopg.connect(place.server.url(place.name), autocommit=True) as connection:
        for number, values in enumerate(VALUES.values()):
            for value in values:
                connection.execute(f"INSERT INTO people (number, c{number}) VALUES (1, %s)", (value,))  # type: ignore[call-overload]
    place.use(place.server.url(place.name))
    return place


def test_for_every_type_our_units_are_those_of_the_database_or_the_type_is_refused(typed: Place) -> None:
    for number, kind in enumerate(VALUES):
        policy = parse(TOML.format(unit=f"c{number}", copy="query"))
        (theirs,) = typed.sql(f"SELECT count(DISTINCT c{number}) FROM people")[0]
        if kind in REFUSED:
            with pytest.raises(PolicyError, match="one unit could be taken for several"):
                PostgresEngine.register(policy)
            continue
        with PostgresEngine.register(policy) as engine:
            assert content(engine, UNITS) == content(engine, ROWS) == {(): (theirs,)}, kind


@pytest.mark.parametrize("copy", ["query", "people_copy"])
@pytest.mark.parametrize(("kind", "most"), [("double precision", 2**53), ("real", 2**24)])
def test_floating_point_units_that_stand_for_several_whole_numbers_are_refused(
    place: Place, copy: str, kind: str, most: int
) -> None:
    place.sql(f"CREATE TABLE people (number int, who {kind})")
    place.sql(f"INSERT INTO people VALUES (1, {most - 1}), (2, 1.5), (3, 'NaN'), (4, '-Infinity')")
    place.use(place.server.url(place.name))
    policy = parse(TOML.format(unit="who", copy=copy))
    with PostgresEngine.register(policy) as engine:
        assert content(engine, ROWS) == {(): (2,)}
        if copy == "query":  # what comes later is nobody's
            place.sql(f"INSERT INTO people VALUES (5, {most}), (6, {-2 * most})")
            assert content(engine, ROWS) == {(): (2,)}
    place.sql(f"INSERT INTO people VALUES (5, {-most})")
    with pytest.raises(PolicyError, match="two people could not be told apart"):
        PostgresEngine.register(policy, anew=True)


def test_a_unit_with_a_long_name_is_one_and_no_short_name_can_be_taken_for_it(place: Place) -> None:
    long = "x" * 5000
    place.sql("CREATE TABLE people (number int, who text)")
    place.sql(f"INSERT INTO people VALUES (1, '{long}'), (2, '{long}'), (3, '{long}y')")
    place.use(place.server.url(place.name))
    with PostgresEngine.register(parse(TOML.format(unit="who", copy="people_copy"))):
        written = place.copied("SELECT tacit_unit FROM COPY.people ORDER BY 1")
    assert len(written) == 2
    assert all(1000 < len(name) < 4000 for (name,) in written)
    (first,) = written[0]  # whoever is called what a long name is kept as is somebody else
    place.sql(f"INSERT INTO people VALUES (4, '{first}'), (5, '{first[:1000]}')")
    with PostgresEngine.register(parse(TOML.format(unit="who", copy="query"))) as engine:
        assert content(engine, UNITS) == {(): (4,)}


def test_every_type_of_the_server_is_proven_or_refused(typed: Place) -> None:
    """Types that nobody thought of: a column of each can be stated as a unit only if it is one of the proven ones."""
    proven = {"bool", "bit", "bpchar", "bytea", "cidr", "date", "float4", "float8", "inet", "int2", "int4", "int8"}
    proven |= {"macaddr", "macaddr8", "name", "numeric", "oid", "text", "time", "timestamp", "timestamptz", "timetz"}
    proven |= {"uuid", "varbit", "varchar"}
    kinds = [
        name
        for (name,) in typed.sql(
            "SELECT typname::text FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype <> 'p' "
            "AND typtype <> 'c' AND typcategory <> 'A'"
        )
    ]
    assert len(kinds) > 50
    columns = ", ".join(f'k{number} pg_catalog."{kind}"' for number, kind in enumerate(kinds))
    typed.sql("DROP TABLE people")
    typed.sql(f"CREATE TABLE people (number int, {columns})")
    taken = set()
    for number, kind in enumerate(kinds):
        try:
            describe(parse(TOML.format(unit=f"k{number}", copy="query")))
            taken.add(kind)
        except PolicyError:
            pass
    assert taken == proven


def test_a_type_that_is_only_called_like_one_of_the_servers_is_refused(place: Place) -> None:
    place.sql("CREATE TYPE public.uuid AS ENUM ('a')")
    place.sql("CREATE DOMAIN public.text AS jsonb")
    place.sql("CREATE EXTENSION citext")
    place.sql("ALTER TYPE citext RENAME TO varchar")  # to which 'a' is 'A'
    place.sql('CREATE TABLE people (number int, a public.text, b public."uuid", c public."varchar")')
    place.use(place.server.url(place.name))
    with pytest.raises(PolicyError, match="is a jsonb"):
        describe(parse(TOML.format(unit="a", copy="c")))
    with pytest.raises(PolicyError, match="one unit could be taken for several"):
        describe(parse(TOML.format(unit="c", copy="c")))
    describe(parse(TOML.format(unit="b", copy="c")))  # an enum, whatever its name


PATH = """
[tables.{name}]
unit = {unit}
rows_per_unit = 5
[tables.{name}.columns]
number = {{ type = "integer", between = [0, 100] }}
"""


@pytest.mark.parametrize(
    ("theirs", "mine", "sentence"),
    [
        ("interval", "interval", "is a interval"),
        ("int", "jsonb", "is a jsonb"),
        ("date", "timestamp", "must be of one kind"),
        ("int", "text", "must be of one kind"),
        ("int", "numeric", None),
        ("varchar(9)", "char(9)", None),
    ],
)
def test_keys_on_the_way_to_a_unit_follow_the_same_rule(
    place: Place, theirs: str, mine: str, sentence: str | None
) -> None:
    place.sql(f"CREATE TABLE people (pid int, number {theirs})")
    place.sql(f"CREATE TABLE calls (number {mine})")
    place.use(place.server.url(place.name))
    text = TOML.partition("[tables.people]")[0].format(copy="c") + PATH.format(name="people", unit='"pid"')
    text += PATH.format(name="calls", unit='{ key = "number", table = "people", their_key = "number" }')
    text = text.replace('number = { type = "integer", between = [0, 100] }', "")
    if sentence is None:
        describe(parse(text))
    else:
        with pytest.raises(PolicyError, match=sentence):
            describe(parse(text))


def test_units_of_two_tables_are_of_one_kind(place: Place) -> None:
    place.sql("CREATE TABLE people (pid date, number int)")
    place.sql("CREATE TABLE calls (pid timestamp, number int)")
    place.use(place.server.url(place.name))
    start = TOML.partition("[tables.people]")[0].format(copy="c")
    both = start + "".join(PATH.format(name=name, unit='"pid"') for name in ("people", "calls"))
    with pytest.raises(PolicyError, match="Units are of different kinds"):
        describe(parse(both))
    place.sql("ALTER TABLE calls ALTER COLUMN pid TYPE date")
    describe(parse(both))


def test_columns_that_differ_by_case_only_are_refused(place: Place) -> None:
    place.sql('CREATE TABLE people (pid int, "PID" int, number int)')
    place.use(place.server.url(place.name))
    for unit in ("pid", "PID"):
        with pytest.raises(EngineError, match="'pid' and 'PID', which differ by capital and small letters only"):
            describe(parse(TOML.format(unit=unit, copy="c")))
