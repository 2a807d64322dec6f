"""Limits: what lies at one is read, what lies just past it is refused with the limit named, and nothing overflows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlglot

from tacit.errors import QuestionError
from tacit.question import canonical, read
from tacit.question.limits import MOST_BYTES, MOST_DEPTH, MOST_JOINS, MOST_NODES

WHERE = "SELECT count(*) FROM t WHERE "


def test_the_limits_are_those_that_were_promised() -> None:
    assert (MOST_BYTES, MOST_DEPTH, MOST_NODES, MOST_JOINS) == (65_536, 100, 5_000, 10)


# -- size, nodes, joins --------------------------------------------------------------------------------------


def test_64_kilobytes_are_read_and_a_byte_more_is_refused() -> None:
    text = "SELECT count(*) FROM t WHERE name = 'é' --"
    text += "x" * (65_536 - len(text.encode()))
    assert len(read(text).outputs) == 1
    with pytest.raises(QuestionError, match="This one has 65,537"):
        read(text + "x")


def nodes(text: str) -> int:
    """The parser's own count."""
    return sum(1 for _ in sqlglot.parse_one(text, read="duckdb").walk())


def test_5000_nodes_are_read_and_one_more_is_refused() -> None:
    text = WHERE + " AND ".join(f"x = {number}" for number in range(980))
    text = text.replace("SELECT ", "SELECT " + "- " * ((5_000 - nodes(text)) % 50), 1)
    text = text.replace(" WHERE ", " WHERE " + "x = 1 AND " * ((5_000 - nodes(text)) // 5), 1)
    assert nodes(text) == 5_000
    assert len(read(text).outputs) == 1
    with pytest.raises(QuestionError, match="5,000 parts"):
        read(text.replace("SELECT ", "SELECT - ", 1))


def test_10_joins_are_read_and_one_more_is_refused() -> None:
    def joined(count: int) -> str:
        return "SELECT count(*) FROM t " + " ".join(f"JOIN u u{each} ON t.x = u{each}.x" for each in range(count))

    assert len(read(joined(10)).joins) == 10
    with pytest.raises(QuestionError, match="10 joins"):
        read(joined(11))


# -- depth ---------------------------------------------------------------------------------------------------

NESTED: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: WHERE + "(" * n + "x = 1" + ")" * n,
    "sums in brackets": lambda n: "SELECT sum" + "(" * n + "x" + " + 1)" * (n - 1) + ") FROM t",
    "negations": lambda n: WHERE + "NOT " * n + "x = 1",
    "negations in brackets": lambda n: WHERE + "NOT (" * n + "x = 1" + ")" * n,
    "signs": lambda n: WHERE + "- " * n + "x = 1",
    "functions": lambda n: WHERE + "abs(" * n + "x" + ")" * n + " = 1",
    "casts": lambda n: WHERE + "CAST(" * n + "x" + " AS INTEGER)" * n + " = 1",
    "conditions": lambda n: WHERE + "CASE WHEN x = 1 THEN " * n + "x" + " END" * n + " = 1",
    "alternatives": lambda n: WHERE + "coalesce(" * n + "x" + ", 1)" * n + " = 1",
    "ors in ands": lambda n: WHERE + "(x = 1 OR (x = 2 AND " * (n // 2) + "x = 3" + "))" * (n // 2),
    "greatest": lambda n: WHERE + "greatest(1, " * n + "x" + ")" * n + " = 1",
}
# Brackets count as they are opened, however little they mean; what the tree has beside them (WHERE, the comparison, a
# column and its name, the branches of a CASE) counts too, so some shapes reach the limit before a hundred brackets.
ROOM_FOR_THE_REST = 6
HALF = {"conditions": 2}


@pytest.mark.parametrize("shape", NESTED)
def test_nesting_up_to_a_hundred_is_read_and_deeper_is_refused_with_the_limit(shape: str) -> None:
    deepest = (MOST_DEPTH - ROOM_FOR_THE_REST) // HALF.get(shape, 1)
    question = read(NESTED[shape](deepest))
    assert canonical(question)
    for deeper in (MOST_DEPTH + 2, 1000):
        with pytest.raises(QuestionError, match="more than 100 deep"):
            read(NESTED[shape](deeper))


def test_exactly_a_hundred_brackets_are_read_and_one_more_is_refused() -> None:
    assert read(NESTED["brackets"](100)).where == read(WHERE + "x = 1").where
    with pytest.raises(QuestionError, match=r"more than 100 deep \(line 1, column 130\)"):
        read(NESTED["brackets"](101))


def test_deep_nesting_is_read_on_a_small_stack_and_by_many_at_once() -> None:
    """Half a megabyte is a sixteenth of what a thread has by default; an overflow would end the process."""
    texts = [NESTED[shape]((MOST_DEPTH - ROOM_FOR_THE_REST) // HALF.get(shape, 1)) for shape in NESTED] * 3
    before, limit = threading.stack_size(512 * 1024), sys.getrecursionlimit()
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(read, texts))
    finally:
        threading.stack_size(before)
    assert found[: len(NESTED)] == found[len(NESTED) : 2 * len(NESTED)]
    assert sys.getrecursionlimit() == limit


def test_a_run_of_intervals_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(QuestionError, match=r"more than 100 deep \(line 1"):
        read(WHERE + "INTERVAL " * 101 + "'1' day > x")


# -- what is written once and means twice --------------------------------------------------------------------


def test_alternatives_inside_alternatives_are_one_list() -> None:
    flat = canonical(read("SELECT sum(coalesce(x, y, z, 1)) FROM t"))
    for nested in ("coalesce(coalesce(coalesce(x, y), z), 1)", "coalesce(x, (coalesce(y, coalesce(z, 1))))"):
        assert canonical(read(f"SELECT sum({nested}) FROM t")) == flat


@pytest.mark.parametrize(
    "nest",
    [
        lambda n: "nullif(" * n + "x" + ", 1)" * n,
        lambda n: "abs(coalesce(" * (n // 2) + "x" + ", 1))" * (n // 2),
        lambda n: "CASE WHEN " + "(" * n + "x" + " BETWEEN 0 AND 1)" * n + " THEN 1 END",
    ],
    ids=["nullif", "coalesce", "between"],
)
def test_what_doubles_with_every_level_is_refused_before_it_takes_all_time(nest: Callable[[int], str]) -> None:
    assert canonical(read(f"SELECT sum({nest(6)}) FROM t"))
    with pytest.raises(QuestionError, match="5,000 parts, also where"):
        read(f"SELECT sum({nest(60)}) FROM t")  # 2**30 nodes and more


def test_a_text_constant_holds_neither_nul_nor_half_a_pair_whatever_escape_its_dialect_has() -> None:
    for dialect, escape in (("mysql", "\\0"), ("spark", "\\u0000"), ("snowflake", "\\0"), ("bigquery", "\\x00")):
        with pytest.raises(QuestionError, match="NUL"):
            read(f"{WHERE}name = 'a{escape}b'", dialect)
    for dialect in ("postgres", "trino"):
        with pytest.raises(QuestionError, match="UnicodeString is not understood"):
            read(f"{WHERE}name = U&'\\D800'", dialect)


def test_a_name_is_short_enough_to_be_repeated_in_an_error() -> None:
    assert read(f"SELECT count(*) FROM {'t' * 250}").source.alias == "t" * 250
    with pytest.raises(QuestionError, match="251 characters"):
        read(f"SELECT count(*) FROM {'t' * 251}")


def test_sets_of_keys_that_are_alike_are_refused_in_no_time() -> None:
    """60**6 combinations, all of them the same."""
    alike = ", ".join(["GROUPING SETS (" + ", ".join(["(a)"] * 60) + ")"] * 6)
    with pytest.raises(QuestionError, match="more than 64 sets"):
        read(f"SELECT a, count(*) FROM t GROUP BY {alike}")


def test_all_keys_and_one_more_are_refused() -> None:
    with pytest.raises(QuestionError, match="EXPRESSIONS is not understood"):
        read("SELECT a, count(*) FROM t GROUP BY ALL, b")
