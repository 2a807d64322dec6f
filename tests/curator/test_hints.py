"""What a refusal suggests is itself answered, and as plain SQL has it, also where values are NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import tacit
from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tests.memory import fresh

ALL = 10**6  # so much that no noise is left
# the mean of what there is is 50; with 0 for each NULL it would be 37.5
VALUES = [None if row % 4 == 0 else 50 for row in range(400)]
ROWS = pa.table({"who": list(range(400)), "x": VALUES, "w": [None if v is None else v % 9 for v in VALUES]})
POLICY = Policy(
    "p",
    {
        "t": Table(
            "t",
            Source("frame", "t"),
            ColumnUnit("who"),
            1,
            {"x": Column("x", "integer"), "w": Column("w", "integer", 0, 99)},
        )
    },
    Budget(10**9, Fraction(1, 10)),
    largest_epsilon=Fraction(10**9),
)


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with Curator(POLICY, frames={"t": ROWS}) as opened:
        yield opened


REFUSED = (
    "SELECT avg({}) AS v FROM t",
    "SELECT sum({}) AS v FROM t",
    "SELECT stddev_pop({}) AS v FROM t",
    "SELECT median({}) AS v FROM t",
    "SELECT max({}) AS v FROM t",
    "SELECT covar_pop({}, w) AS v FROM t",
)


@pytest.mark.parametrize("sql", REFUSED)
def test_what_a_refusal_suggests_gives_what_plain_sql_gives(curator: Curator, sql: str) -> None:
    with pytest.raises(QuestionError) as refusal:
        curator.plan(sql.format("x"), 1)
    (hint,) = re.findall(r"bound it here: (.*)\.$", str(refusal.value))
    mended = sql.format(hint)
    with fresh() as plain:
        plain.register("t", ROWS)
        expected = plain.execute(mended).fetchall()[0][0]
        assert expected == plain.execute(sql.format("x")).fetchall()[0][0]  # all values lie between the bounds
    found = curator.ask(mended, ALL)["v"][0]
    assert found == pytest.approx(expected, abs=1e-3)


def test_a_mean_is_not_shifted_by_what_is_missing(curator: Curator) -> None:
    with pytest.raises(QuestionError) as refusal:
        curator.plan("SELECT avg(x) FROM t", 1)
    (hint,) = re.findall(r"bound it here: (.*)\.$", str(refusal.value))
    assert curator.ask(f"SELECT avg({hint}) AS v FROM t", ALL)["v"][0] == pytest.approx(50, abs=1e-3)
    assert curator.ask("SELECT avg(least(greatest(x, 0), 100)) AS v FROM t", ALL)["v"][0] == pytest.approx(
        37.5, abs=1e-3
    )


def test_the_hint_of_exp_and_of_histograms_keep_null_too(curator: Curator) -> None:
    with pytest.raises(QuestionError) as refusal:
        curator.plan("SELECT count(exp(w * 100)) AS v FROM t", 1)
    (hint,) = re.findall(r"Use (CASE.*), or narrower", str(refusal.value))
    mended = hint.replace("x", "(w * 100)").replace("le(w * 100)", "lex")
    assert curator.ask(f"SELECT count(exp({mended})) AS v FROM t", ALL)["v"] == (300,)
    with pytest.raises(QuestionError) as refusal:
        curator.plan("SELECT histogram(x, [10, 60]) AS v FROM t", 1)
    (hint,) = re.findall(r"bound it here: (.*)\.$", str(refusal.value))
    counted = curator.ask(f"SELECT histogram({hint}, [10, 60]) AS v FROM t", ALL)["v"][0]
    assert sum(counted.values()) == 300


def test_no_text_suggests_a_bound_that_loses_null() -> None:
    source = Path(tacit.__file__).parent
    texts = [*source.rglob("*.py"), *(source.parents[1] / "docs").glob("*.md"), source.parents[1] / "README.md"]
    for path in texts:
        for line in path.read_text().splitlines():
            if re.search(r"(bound it|Use).*least\(", line):
                assert "IS NOT NULL THEN least(" in line, path


@pytest.mark.parametrize(
    ("expression", "ours", "words"),
    [
        # halves upwards; DuckDB: -3 and 3
        ("round(-2.5 * (w - w + 1))", -2, "take halves upwards"),
        ("round(2.5 * (w - w + 1))", 3, "take halves upwards"),
        ("CAST(-2.5 * (w - w + 1) AS INTEGER)", -2, "take halves upwards"),
        ("7.5 * (w - w + 1) // 2", 3, "without its fraction"),
        ("coalesce(w / (w - w), 77)", 77, "gives NULL"),
        ("coalesce((w - w) / (w - w), 77)", 77, "gives NULL"),
        ("coalesce(w % (w - w), 77)", 77, "gives NULL"),
        ("coalesce(w // (w - w), 77)", 77, "gives NULL"),
    ],
)
def test_what_means_something_else_than_in_duckdb_is_said_by_explain(
    curator: Curator, expression: str, ours: int, words: str
) -> None:
    sql = f"SELECT avg({expression}) AS v FROM t WHERE w IS NOT NULL"
    assert curator.ask(sql, ALL)["v"][0] == pytest.approx(ours, abs=1e-3)
    assert words in curator.explain(sql, 1)


def test_what_means_the_same_needs_no_sentence(curator: Curator) -> None:
    said = curator.explain("SELECT avg(w / 2) AS v, sum(w) * 2 AS s FROM t", 1)
    assert "DuckDB" not in said


def test_the_docs_and_explain_say_the_same_of_these_words_and_what_they_say_of_duckdb_is_true(curator: Curator) -> None:
    page = " ".join((Path(tacit.__file__).parents[2] / "docs" / "questions.md").read_text().split())
    told = curator.explain("SELECT avg(round(w / (w + 1))) AS v, avg(w // (w + 1)) AS q FROM t", 1)
    for said in ("2.5 to 3, -2.5 to -2", "`7.5 // 2` is 3; DuckDB: 3.75", "`0 / 0`, is `NULL`"):
        assert said in page
    for said in ("2.5 becomes 3, and -2.5 becomes -2", "7.5 // 2 is 3 (DuckDB: 3.75)", "gives NULL, and so does 0 / 0"):
        assert said in told
    with fresh() as plain:
        found = plain.execute(
            "SELECT round(2.5), round(-2.5), CAST(2.5::DOUBLE AS INTEGER), CAST(-2.5::DOUBLE AS INTEGER), "
            "7.5::DOUBLE // 2, 1::DOUBLE / 0, 0::DOUBLE / 0"
        ).fetchone()
    assert found is not None
    assert found[:5] == (3, -3, 2, -2, 3.75)
    assert found[5] in (None, math.inf)
    assert found[6] is None or math.isnan(found[6])
