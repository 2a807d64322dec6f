"""Trees in Spark's words: what can be checked without Spark."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from tacit.engines.dialects import Place, text
from tacit.engines.sources import kind_of
from tacit.engines.spark import dialect, quoting
from tacit.engines.spark.cleaning import engine_type
from tacit.engines.spark.registration import in_backticks
from tacit.errors import EngineError

UNICODE = st.text(st.characters(exclude_categories=["Cs"]))


def column(name: str = "a") -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier("t", quoted=True))


def query(*selected: exp.Expr) -> exp.Expr:
    table = exp.table_(
        exp.to_identifier("visits", quoted=True), db="tacit_copy", alias=exp.to_identifier("t", quoted=True)
    )
    return exp.select(*(exp.alias_(each, f"m{place}") for place, each in enumerate(selected))).from_(table)


def spoken(*selected: exp.Expr) -> str:
    return text(query(*selected), "spark", Place(views={"visits": "tacit_view"}))


@given(UNICODE)
def test_only_hexadecimal_digits_of_a_text_reach_the_parser(value: str) -> None:
    sql = spoken(exp.EQ(this=column(), expression=exp.Literal.string(value)))
    found = re.fullmatch(r"SELECT `t`\.`a` = CAST\(X'([0-9A-F]*)' AS STRING\) AS m0 FROM tacit_view AS `t`", sql)
    assert found is not None
    assert bytes.fromhex(found[1]).decode() == value


def test_half_of_a_surrogate_pair_is_refused_in_words() -> None:
    with pytest.raises(EngineError, match="surrogate"):
        quoting.text("\ud800")


@given(UNICODE)
def test_a_name_cannot_leave_its_quotes(name: str) -> None:
    quoted = quoting.identifier(name)
    assert quoted.startswith("`")
    assert quoted.endswith("`")
    assert "`" not in quoted[1:-1].replace("``", "")
    assert quoted[1:-1].replace("``", "`") == name


@given(UNICODE.filter(bool))
def test_shared_sql_keeps_its_names_in_spark_quotes(name: str) -> None:
    double = '"' + name.replace('"', '""') + '"'
    assert in_backticks(f"SELECT {double} FROM t") == f"SELECT {quoting.identifier(name)} FROM t"


@given(st.text(alphabet="a%_\\", max_size=8).filter(lambda pattern: not dialect.in_pieces(pattern)))
def test_a_backslash_in_a_pattern_stands_for_itself(pattern: str) -> None:
    sql = spoken(exp.Like(this=column(), expression=exp.Literal.string(pattern)))
    (digits,) = re.findall(r"X'([0-9A-F]*)'", sql)
    # Spark reads \\ as one backslash, and knows no other use of it here.
    assert bytes.fromhex(digits).decode().replace("\\\\", "\0") == pattern.replace("\\", "\0")


def holds(text: str, pattern: str) -> bool:
    """LIKE, by the book: % is any text."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(holds(text[start:], pattern[1:]) for start in range(len(text) + 1))
    return text[:1] == pattern[0] and holds(text[1:], pattern[1:])


def in_java(pattern: str) -> re.Pattern[str]:
    """The same to Python: its words for the end and for a letter by number are others."""
    written = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: re.escape(chr(int(found[1], 16))), pattern)
    return re.compile(written.removesuffix("\\z") + "\\Z")


@given(st.text(alphabet="ab.\n\\é", max_size=12), st.text(alphabet="ab%%%.\n\\é", max_size=9))
def test_several_pieces_are_found_where_like_finds_them(text: str, pattern: str) -> None:
    assert bool(in_java(dialect.one_after_the_other(f"{pattern}%")).search(text)) == holds(text, f"{pattern}%")
    assert bool(in_java(dialect.one_after_the_other(f"%{pattern}")).search(text)) == holds(text, f"%{pattern}")


@pytest.mark.parametrize("pattern", ["%a%b", "%a%a%b", "a%a%b", "%a%a%", "%aa%ab%"])
def test_a_text_in_which_a_piece_is_everywhere_is_gone_through_once(pattern: str) -> None:
    """With going back, a text twice as long takes four times as long, or eight: here seconds to hours."""
    assert "RLIKE" in spoken(exp.Like(this=column(), expression=exp.Literal.string(pattern)))
    found = in_java(dialect.one_after_the_other(pattern))
    started = time.process_time()
    assert bool(found.search("a" * 30_000)) == holds_of_letters(pattern)
    assert time.process_time() - started < 1


def holds_of_letters(pattern: str) -> bool:
    """Of a text of letters a that is long enough."""
    return "b" not in pattern


@pytest.mark.parametrize("pattern", ["a", "a%", "%a", "%a%", "a%b", "%", "%%", "_%a_%b"])
def test_other_patterns_stay_what_they_are(pattern: str) -> None:
    assert "RLIKE" not in spoken(exp.Like(this=column(), expression=exp.Literal.string(pattern)))


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_64_bit_number_is_the_sum_of_its_three_parts(number: int) -> None:
    """The identity behind the three sums; 2**41 rows of parts this small stay within 64 bits."""
    high, middle, low = number >> 44, (number >> 22) & 4194303, number & 4194303
    assert high * 17592186044416 + middle * 4194304 + low == number
    assert max(abs(high), middle, low) * 2**41 <= 2**63


def test_a_sum_of_64_bit_numbers_is_three_sums_that_cannot_overflow() -> None:
    sql = spoken(exp.Sum(this=column()))
    assert "SUM(SHIFTRIGHT(CAST(`t`.`a` AS BIGINT), 44)) AS DECIMAL(38, 0)) * CAST(17592186044416 AS DECIMAL" in sql
    assert "SUM(SHIFTRIGHT(CAST(`t`.`a` AS BIGINT), 22) & 4194303) AS DECIMAL(38, 0)) * CAST(4194304 AS DECIMAL" in sql
    assert "SUM(CAST(`t`.`a` AS BIGINT) & 4194303)" in sql


def test_a_sum_of_wide_numbers_and_a_sum_over_a_window_are_sums_of_decimals() -> None:
    wide = exp.Cast(this=column(), to=exp.DataType(this=exp.DType.INT128))
    assert "SUM(CAST(CAST(`t`.`a` AS DECIMAL(38, 0)) AS DECIMAL(38, 0)))" in spoken(exp.Sum(this=wide))
    window = exp.Window(this=exp.Sum(this=column()), partition_by=[column("b")])
    assert "SUM(CAST(`t`.`a` AS DECIMAL(38, 0))) OVER (PARTITION BY `t`.`b`)" in spoken(window)


def test_nested_wide_divisions_do_not_double_at_every_level() -> None:
    number: exp.Expr = exp.Cast(this=column(), to=exp.DataType(this=exp.DType.INT128))
    lengths = []
    for _ in range(12):
        number = exp.IntDiv(this=exp.paren(number), expression=exp.Literal.number(3))
        lengths.append(len(spoken(number)))
    steps = [after - before for before, after in pairwise(lengths)]
    assert max(steps) == min(steps)


def test_a_list_of_no_values_holds_nothing() -> None:
    assert "(`t`.`a` <> `t`.`a`)" in spoken(exp.In(this=column(), expressions=[]))


@pytest.mark.parametrize(
    ("spark_type", "kind"),
    [
        ("tinyint", "integer"),
        ("int", "integer"),
        ("bigint", "integer"),
        ("decimal(20,0)", "real"),
        ("float", "real"),
        ("string", "text"),
        ("varchar(12)", "text"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("timestamp_ntz", "timestamp"),
        ("boolean", "boolean"),
        ("binary", None),
        ("array<string>", None),
        ("map<string,int>", None),
        ("interval day to second", None),
        ("variant", None),
    ],
)
def test_types_of_spark_have_the_kinds_of_the_house(spark_type: str, kind: str | None) -> None:
    assert kind_of(engine_type(spark_type)) == kind
