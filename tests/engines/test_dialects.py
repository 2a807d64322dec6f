"""Dialects: what is written for PostgreSQL, and which whole numbers may be wider than 64 bits."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tacit.engines.dialects import Place, text
from tacit.engines.widths import is_wide
from tacit.plan import make_plan
from tacit.policy import Source
from tacit.question import read
from tacit.question.sql_nodes import below
from tests.engines.conformance.questions import QUESTIONS, Question
from tests.engines.conformance.tables import policy
from tests.plan.test_fixtures import FILES, pair


def parsed(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="duckdb")


def in_postgres(sql: str, place: Place | None = None) -> str:
    return text(parsed(sql), "postgres", place)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_duckdb_reads_the_plan_as_it_is_and_no_translation_changes_the_plan(path: object) -> None:
    tree = parsed(pair(path)[1])  # type: ignore[arg-type]
    before = tree.sql(dialect="duckdb")
    assert text(tree, "duckdb") == before
    translated = text(tree, "postgres", Place("elsewhere", "C.utf8"))
    assert tree.sql(dialect="duckdb") == before
    assert "INT128" not in translated
    assert "tacit_copy" not in translated


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.sql)
def test_writing_a_query_changes_no_node_of_it(question: Question) -> None:
    stated = policy(lambda name: Source("frame", name))
    plan = make_plan(read(question.sql), stated, epsilon=1, delta="1/1000000", rows_per_unit=question.rows_per_unit)
    for query in plan.queries:
        before, written = repr(query.ast), query.ast.sql(dialect="duckdb")
        assert [text(query.ast, "duckdb"), text(query.ast, "duckdb")] == [written, written]
        assert repr(query.ast) == before
        text(query.ast, "postgres", Place("elsewhere", "C.utf8"))
        assert repr(query.ast) == before
        assert all(node.parent is None or node in below(node.parent) for node in query.ast.walk())


@pytest.mark.parametrize(
    ("sql", "wide"),
    [
        ("t.a // 7", False),
        ("(t.a + 5) * t.b // t.c", False),
        ("CAST(t.a AS INT128) // 7", True),
        ("t.a // CAST(t.b AS INT128)", True),
        ("(t.a - CAST(5 AS INT128)) // 7", True),
        ("t.a // 9223372036854775808", True),
        ("t.a // 9223372036854775807", False),
        ("CAST(CAST(t.a AS INT128) * 9 AS BIGINT) // 7", False),
        ("CASE WHEN t.a > 0 THEN t.a ELSE CAST(t.b AS INT128) END // 7", True),
        ("CASE WHEN t.a > CAST(0 AS INT128) THEN t.a ELSE t.b END // 7", False),
        ("least(t.a, CAST(t.b AS INT128)) // 7", True),
        ("coalesce(t.a, 0) // 7", False),
        ("abs(-t.a) // 7", False),
        ("length(t.note) // 7", False),
        ("d.narrow // 7", False),
        ("d.total // 7", True),
        ("d.counted // 7", False),
        ("d.unheard_of // 7", True),
        ("u.x // 7", True),
        ("u.y // 7", False),
        ("w.s // 7", True),
        ("w.n // 7", False),
        ("unknown.x // 7", True),
        ("bare // 7", True),
        ("(SELECT max(n // 7) FROM w)", False),
        ("(SELECT max(s // 7) FROM w)", True),
        ("(SELECT max(a // 7) FROM tacit_copy.t)", True),
        ("(SELECT max(x // 7) FROM (SELECT n AS x FROM w) AS i)", False),
        ("something(t.a) // 7", True),
        ("(t.a // CAST(7 AS INT128)) // 3", True),
    ],
)
def test_a_division_is_wide_unless_both_sides_are_known_to_fit_64_bits(sql: str, wide: bool) -> None:
    query = parsed(
        "WITH w AS (SELECT sum(c.a) AS s, count(*) AS n FROM tacit_copy.t AS c) "
        f"SELECT {sql} AS m FROM tacit_copy.t AS t, w, "
        "(SELECT i.a AS narrow, sum(i.a) AS total, count(*) AS counted FROM tacit_copy.t AS i GROUP BY 1) AS d, "
        "(SELECT i.a AS x, i.a AS y FROM tacit_copy.t AS i UNION ALL SELECT sum(i.a), i.b FROM tacit_copy.t AS i) AS u"
    )
    division = next(query.find_all(exp.IntDiv))
    assert (is_wide(division.this) or is_wide(division.expression)) == wide
    assert ("DIV(" in text(query, "postgres")) == wide


def test_text_is_compared_by_code_point_and_like_has_no_escape() -> None:
    assert in_postgres("SELECT t.a LIKE 'x' FROM tacit_copy.t AS t") == (
        """SELECT t.a LIKE (('x') COLLATE pg_catalog."C") ESCAPE '' FROM "tacit_copy".t AS t"""
    )
    assert in_postgres("SELECT lower(t.a) < 'b'", Place(letters="C.utf8")) == (
        """SELECT ((LOWER(((t.a) COLLATE pg_catalog."C.utf8"))) COLLATE pg_catalog."C") """
        """< (('b') COLLATE pg_catalog."C")"""
    )
    assert in_postgres("SELECT CAST('1970-01-01' AS DATE)") == "SELECT CAST('1970-01-01' AS DATE)"


def test_a_table_is_looked_for_where_the_copy_lies_or_in_the_query_that_stands_for_it() -> None:
    sql = 'SELECT count(*) FROM tacit_copy."t" JOIN other.t AS o ON true'
    assert in_postgres(sql, Place("my copy")) == 'SELECT COUNT(*) FROM "my copy"."t" JOIN other.t AS o ON TRUE'
    assert in_postgres(sql, Place(queries={"t": "q0"})) == (
        'SELECT COUNT(*) FROM "q0" AS "t" JOIN other.t AS o ON TRUE'
    )
