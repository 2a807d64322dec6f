"""Cleaning on PostgreSQL: exact rationals, values that no other engine has, and a server that would rather raise."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.engines import cleaning
from tacit.engines.postgres.cleaning import WORDS
from tacit.engines.postgres.connection import connect
from tacit.engines.postgres.sources import _TYPES
from tacit.engines.sources import kind_of
from tacit.policy import Column, Facts, anything, auto, between, one_of
from tacit.policy.cells import cell_of
from tacit.policy.check import HOLDS
from tests.effort import tried
from tests.engines import test_cleaning as duckdb_cleaning
from tests.engines.test_cleaning import across, around, bounds, expected
from tests.postgres_server import Server

Clean = Callable[[Column, str, list[Any]], list[Any]]
NAMES = {plain: name for name, plain in reversed(_TYPES.items())}
FAR = ["infinity", "-infinity", None]
VALUES: dict[str, list[Any]] = {
    "int2": [-32768, 32767, 0, None],
    "int4": [-(2**31), 2**31 - 1, 1, None],
    "int8": [-(2**63), 2**63 - 1, 0, 1, None],
    "float4": ["NaN", "Infinity", "-Infinity", 3.4e38, -1e-45, 0.5, None],
    "float8": [
        "NaN",
        "Infinity",
        "-Infinity",
        1.7976931348623157e308,
        -1e308,
        5e-324,
        -5e-324,
        -0.0,
        0.5,
        2.0**63,
        None,
    ],
    "numeric": ["NaN", "Infinity", "-Infinity", "1e131071", "-1e131071", "1e-16000", "-1e-400", "1e400", "0.5", None],
    "bool": [True, False, None],
    "date": ["4713-01-01 BC", "5874897-12-31", "0001-01-01", "9999-12-31", "1969-12-31", *FAR],
    "timestamp": ["4713-01-01 BC", "294276-12-31 23:59:59.999999", "0001-01-01", "1969-12-31 23:59:59.999999", *FAR],
    "timestamptz": ["4713-01-01 BC", "294276-12-31 23:59:59.999999+00", "2024-03-31 01:30:00+02", *FAR],
    "uuid": ["00000000-0000-0000-0000-000000000000", None],
}
TEXTS = [
    *(
        "",
        " ",
        "7",
        " 7 ",
        "+7",
        "-7",
        "7.5",
        "-7.5",
        "7.",
        ".5",
        "1e3",
        "1e400",
        "-1e400",
        "1e-400",
        "1e99999",
        "9" * 300,
    ),
    *(
        "9" * 300_000,
        "nan",
        "NaN",
        "inf",
        "Infinity",
        "0x1f",
        "1_000",
        "7\u00a0",
        "\u0667",
        "7\n",
        "--7",
        "1e",
        "e5",
        "7e",
    ),
    *("true", "TRUE", "t", "yes", "n", "0", "1", "2", "on", "wahr", " true"),
    *("2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-2-9", "2024/02/29", "0000-01-01", "2024-13-01"),
    *("2024-00-10", "2024-01-00", "2024-04-31", "12024-01-01", "-0044-03-15", "infinity", "epoch", "now", "today"),
    *("2024-02-29 10:20:30", "2024-02-29T10:20:30Z", "2024-02-29 10:20:30.5", "2024-02-29 10:20:30.1234567"),
    *(
        "2024-02-29 10:20",
        "2024-02-29 10:20:30+02",
        "2024-02-29 10:20:30-02:30",
        "2024-02-29 24:00:00",
        "2024-02-29 23:60",
    ),
    *("2024-02-29 10:20:30+99", "2024-02-29 10:20:60", "1960-01-01 00:00:00.000001", "2024-02-29 10:20:30 UTC"),
    *("ä" * 1000, "\U0001f642", "'; DROP TABLE v", "\\", "%", None),
]


@pytest.fixture(scope="module")
def connection(postgres: Server) -> Iterator[psycopg.Connection[Any]]:
    with connect(postgres.url()) as opened:
        yield opened


@pytest.fixture(scope="module")
def clean(connection: psycopg.Connection[Any]) -> Clean:
    """What the values become, in order."""

    def cleaned(column: Column, kind: str, values: list[Any]) -> list[Any]:
        connection.execute("DROP TABLE IF EXISTS pg_temp.v")
        connection.execute(f"CREATE TEMP TABLE v (i INTEGER, raw {kind})")  # type: ignore[call-overload]
        with connection.cursor() as cursor:
            marks = f"INSERT INTO v VALUES (%s, CAST(%s::text AS {kind}))"
            rows = [(i, None if value is None else _written(value)) for i, value in enumerate(values)]
            cursor.executemany(marks, rows)  # type: ignore[arg-type]
        typed = cleaning.read(column, _TYPES[kind], "raw", WORDS)
        bounded = cleaning.bound(column, "typed", WORDS)
        query = f"SELECT {bounded} FROM (SELECT i, {typed} AS typed FROM v) AS t ORDER BY i"
        found = psycopg.RawCursor(connection).execute(query).fetchall()  # type: ignore[arg-type]
        return [value for (value,) in found]

    return cleaned


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


@settings(max_examples=tried(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bounds, bounds, st.lists(st.floats(), max_size=12), st.sampled_from(["clamp", "drop"]), st.data())
def test_reals_are_clamped_and_rounded_as_exact_rationals(
    clean: Clean, a: float, b: float, values: list[float], outside: Any, data: Any
) -> None:
    if a == b:
        return
    column = between(Fraction(min(a, b)), Fraction(max(a, b)), outside=outside).column("x", "real")
    assert column.grid_lower is not None
    assert column.grid_upper is not None
    whole = data.draw(st.integers(column.grid_lower, column.grid_upper))
    edges = [a, b, math.nextafter(a, math.inf), math.nextafter(a, -math.inf), math.nextafter(b, math.inf), 5e-324, -0.0]
    values = [*values, *edges, *around(column, whole), *around(column, 0), *around(column, -1), math.inf, -math.inf]
    assert clean(column, "float8", values) == [expected(column, value) for value in values]


@pytest.mark.parametrize("power", [2.0**50, -(2.0**50)])
def test_halves_are_rounded_up_where_doubles_are_no_finer_than_a_half(clean: Clean, power: float) -> None:
    """Where the shorter form of rounding would be wrong; a range drawn at random hardly ever lies there."""
    column, values = across(power)
    assert clean(column, "float8", values) == [expected(column, value) for value in values]


def columns_of(kind: Any) -> list[Column]:
    """Facts of all sorts about a column of this kind."""
    stated: dict[str, list[Facts]] = {
        "integer": [
            between(-3, 10**6),
            between(0, 5, outside="drop"),
            anything(),
            one_of(0, 1, 7),
            between(-(2**62), 2**62),
        ],
        "real": [between(0, 1), between("-1e200", "1e200"), between("-0.001", "0.001", outside="drop")],
        "text": [anything(), one_of("7", "true", "it's", "a\0b"), one_of("\0")],
        "boolean": [anything()],
        "date": [anything(), between("0001-01-01", "9999-12-31"), between("2000-01-01", "2001-01-01", outside="drop")],
        "timestamp": [anything(), between("0001-01-01", "9999-12-31T23:59:59"), between("1969-01-01", "1971-01-01")],
    }
    return [facts.column("x", kind) for facts in stated[kind]]


@pytest.mark.parametrize(("kind", "source"), [(kind, source) for kind in HOLDS for source in sorted(_TYPES)])
def test_no_value_of_any_type_makes_cleaning_fail_and_all_end_within_bounds(
    clean: Clean, kind: Any, source: str
) -> None:
    if kind_of(_TYPES[source]) not in HOLDS[kind]:
        return
    for column in columns_of(kind):
        for value in clean(column, source, VALUES.get(source, TEXTS)):
            if kind == "text":
                assert value is None or isinstance(value, str)
                continue
            low, high = column.grid_lower, column.grid_upper
            assert value is None or -(2**63) <= value < 2**63
            assert value is None or low is None or high is None or low <= value <= high


WHOLE, FLAG = between(-1000, 1000).column("x", "integer"), anything().column("x", "boolean")
DATE = between("0001-01-01", "9999-12-31", outside="drop").column("x", "date")
TIME = between("0001-01-01", "9999-12-31", outside="drop").column("x", "timestamp")
REAL = between(-1000, 1000, outside="drop").column("x", "real")


@pytest.mark.parametrize("column", [WHOLE, FLAG, DATE, TIME, REAL], ids=lambda column: column.kind)
def test_plainly_written_text_means_the_same_as_in_duckdb(clean: Clean, column: Column) -> None:
    # DuckDB also reads hexadecimal digits, underscores, other blanks, and a few words: those are not compared.
    odd = {"0x1f", "1_000", "7\n", "epoch", "infinity", "-0044-03-15", "12024-01-01", "2024-02-29 24:00:00", "7\u00a0"}
    odd |= {"2024-02-29 10:20:30+99"}
    texts = [text for text in TEXTS if text not in odd and (text is None or len(text) < 400)]
    found = dict(zip(texts, clean(column, "text", texts), strict=True))
    assert found == dict(zip(texts, duckdb_cleaning.clean(column, "VARCHAR", texts), strict=True))


def test_infinite_dates_and_numbers_are_missing_and_far_ones_keep_their_side(clean: Clean) -> None:
    day = between("2000-01-01", "2000-12-31").column("x", "date")
    low, high = (datetime.date(2000, month, last).toordinal() - 719163 for month, last in ((1, 1), (12, 31)))
    assert clean(day, "date", ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"]) == [None, None, low, high]
    time = between("2000-01-01", "2000-12-31").column("x", "timestamp")
    ends = [low * 86_400_000_000, high * 86_400_000_000]
    assert clean(time, "timestamp", ["infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999"]) == [None, *ends]
    assert clean(time, "date", ["infinity", "4713-01-01 BC", "5874897-12-31"]) == [None, *ends]
    assert clean(WHOLE, "numeric", ["NaN", "Infinity", "1e131071", "-1e131071", "2.5", "-2.5"]) == [
        *(None, None, 1000, -1000, 3, -2)
    ]
    assert clean(WHOLE, "float8", [1e300, -1e300, 2.5, -2.5, 0.49999999999999994]) == [1000, -1000, 3, -2, 0]


def test_times_are_read_to_the_microsecond_in_utc(clean: Clean) -> None:
    anytime = anything().column("x", "timestamp")
    micro = datetime.timedelta(microseconds=1)
    epoch = datetime.datetime(1970, 1, 1)
    for written in ("1890-05-05 01:02:03.000007", "2024-03-31 01:30:00.999999", "9999-12-31 23:59:59.999999"):
        truth = (datetime.datetime.fromisoformat(written) - epoch) // micro
        assert clean(anytime, "timestamp", [written]) == clean(anytime, "timestamptz", [written + "+00"]) == [truth]
        assert clean(anytime, "text", [written]) == [truth]
        assert clean(anytime, "timestamptz", [written.replace("9999", "9998") + "+01:30"]) == [
            (datetime.datetime.fromisoformat(written.replace("9999", "9998")) - epoch) // micro - 5_400_000_000
        ]


def test_a_unit_is_the_same_whatever_type_holds_its_number(connection: psycopg.Connection[Any]) -> None:
    def key(kind: str, value: str) -> Any:
        written = cleaning.key(_TYPES[kind], "raw", False, WORDS)
        sql = f"SELECT {written} FROM (SELECT CAST('{value}' AS {kind}) AS raw) AS t"
        return psycopg.RawCursor(connection).execute(sql).fetchone()[0]  # type: ignore[arg-type, index]

    assert {key("int8", "7"), key("float8", "7"), key("numeric", "7.00"), key("text", "7")} == {"7"}
    assert key("numeric", "7.50") == key("float8", "7.5") == "7.5"
    assert [key(kind, "NaN") for kind in ("float4", "float8", "numeric")] == [None] * 3
    assert key("numeric", "Infinity") is None
    assert Decimal(key("numeric", "123456789012345678901234567890.10")) == Decimal("123456789012345678901234567890.1")


def test_without_bounds_a_number_is_held_as_its_power_of_two(clean: Clean) -> None:
    real, whole = auto().column("x", "real"), auto().column("x", "integer")
    powers = [sign * 2.0**power for power in (-70, -64, -63, -1, 0, 1, 52, 62, 63, 64, 65, 66, 300) for sign in (1, -1)]
    doubles = [math.nextafter(power, way) for power in powers for way in (-math.inf, math.inf)] + powers + [0.0, 5e-324]
    assert clean(real, "float8", doubles) == [cell_of(Fraction(value)) for value in doubles]
    assert clean(real, "float8", [math.nan, math.inf, -math.inf, None]) == [None] * 4
    rounded = [math.floor(Fraction(value) + Fraction(1, 2)) for value in doubles]
    assert clean(whole, "float8", doubles) == [cell_of(value) for value in rounded]
    assert clean(whole, "numeric", [str(value) for value in rounded]) == [cell_of(value) for value in rounded]
    small = [value for value in rounded if -(2**63) <= value < 2**63]
    assert clean(whole, "int8", small) == [cell_of(value) for value in small]
    assert clean(whole, "text", [str(value) for value in small]) == [cell_of(value) for value in small]


def test_what_does_not_fit_64_bits_is_missing_where_nothing_is_stated(clean: Clean) -> None:
    anyone = anything().column("x", "integer")
    far = [2.0**63, -(2.0**63), math.nextafter(-(2.0**63), -math.inf), 2.0**64, -(2.0**66), 1e300, 2.0**62]
    assert clean(anyone, "float8", far) == [None, -(2**63), None, None, None, None, 2**62]
