"""A join of a public table leaves no row out without a word: its rows are counted when it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tacit.curator import Curator, Planner
from tacit.doors.cli import app
from tacit.errors import QuestionError
from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tests.memory import fresh

ALL = 10**6  # so much that no noise is left: another number than the true one has probability below e**-1,000

SALES = pa.table(
    {"who": list(range(60)), "code": [f"c{row % 5}" for row in range(60)], "day": [1 + row % 2 for row in range(60)]}
)
# four rows of c0, three of c1, ..., none of c4; of (code, day) two at most; NULL agrees with nothing
KINDS = pa.table(
    {
        "code": [f"c{number}" for number in range(4) for _ in range(4 - number)] + [None, None, None, None, None],
        "day": [1, 1, 2, 2, 1, 2, 2, 1, 2, 1, 9, 9, 9, 9, 9],
        "note": [f"n{row}" for row in range(15)],
    }
)


def shop(fan_out: int | None = None) -> Curator:
    columns = {"code": Column("code", "text"), "day": Column("day", "integer", 1, 3)}
    policy = Policy(
        "shop",
        {
            "sales": Table("sales", Source("frame", "sales"), ColumnUnit("who"), 1, columns),
            "kinds": Table(
                "kinds",
                Source("frame", "kinds"),
                None,
                1,
                {**columns, "note": Column("note", "text")},
                True,
                None,
                fan_out,
            ),
        },
        Budget(10**9, Fraction(1, 10)),
        largest_epsilon=Fraction(10**9),
    )
    return Curator(policy, frames={"sales": SALES, "kinds": KINDS})


def truth(sql: str) -> int:
    with fresh() as connection:
        connection.register("sales", SALES)
        connection.register("kinds", KINDS)
        found = connection.execute(sql).fetchall()
    assert len(found) == 1
    return int(found[0][0])


JOINS = (
    ("sales s JOIN kinds k ON s.code = k.code", 4),
    ("kinds k JOIN sales s ON s.code = k.code", 4),
    ("sales s LEFT JOIN kinds k ON s.code = k.code", 4),
    ("sales s JOIN kinds k USING (code, day)", 2),
    ("sales s, kinds k WHERE s.code = k.code AND s.day = k.day", 2),
    ("sales s JOIN kinds k ON s.code = k.code AND s.day <= k.day", 4),
    ("sales s JOIN (SELECT code AS c, note FROM kinds WHERE day = 2) k ON s.code = k.c", 4),
    ("sales s JOIN kinds k ON s.code = k.note", 1),
)


@pytest.fixture(scope="module")
def one() -> Iterator[Curator]:
    """For all joins."""
    with shop() as curator:
        yield curator


@pytest.mark.parametrize(("joined", "most"), JOINS)
def test_every_row_of_a_public_table_is_met_and_the_noise_knows(one: Curator, joined: str, most: int) -> None:
    sql = f"SELECT count(*) AS n FROM {joined}"
    plan = one.plan(sql, 1)
    answer = one.ask(sql, ALL)
    assert answer["n"] == (truth(sql),)
    assert plan.rows_per_unit == most == plan.measures[0].l1
    assert answer.notes == plan.notes == ()


def test_what_a_smaller_fan_out_leaves_out_is_said_wherever_the_answer_is_shown() -> None:
    sql = "SELECT count(*) AS n FROM sales s JOIN kinds k ON s.code = k.code"
    with shop(fan_out=2) as curator:
        answer, again = curator.ask(sql, ALL), curator.ask(sql, ALL)
        explained = curator.explain(sql, ALL)
        united = curator.ask(f"{sql} UNION ALL {sql} WHERE s.day = 1", ALL)
    assert answer["n"] == (12 * (2 + 2 + 2 + 1),)  # and not 12 * (4 + 3 + 2 + 1)
    (said,) = answer.notes
    assert "Of up to 4 rows" in said
    assert "each row meets 2" in said
    assert again.repeated
    for shown in (str(again), again._repr_html_(), again.card(), explained, str(united)):
        assert said in shown.replace("&#x27;", "'")
    with shop(fan_out=4) as curator:
        enough = curator.ask(sql, ALL)
    assert enough["n"] == (truth(sql),)
    assert enough.notes == ()


def test_before_a_table_is_opened_its_fan_out_is_assumed_and_said_to_be(tmp_path: Path) -> None:
    with shop() as curator:
        policy = Planner(
            Policy(
                "shop",
                {
                    name: Table(name, each.source, each.unit, 1, each.columns, each.public)
                    for name, each in curator.policy.tables.items()
                },
                Budget(1),
                largest_epsilon=Fraction(1),
            )
        )
    estimate = policy.estimate("SELECT count(*) AS n FROM sales s JOIN kinds k USING (code)", 1)
    assert "Assumed: no two rows of the public 'kinds' that agree in code" in str(estimate)
    (tmp_path / "sales.csv").write_text("who,code\n1,a\n")
    (tmp_path / "kinds.csv").write_text("code,note\na,x\na,y\n")
    (tmp_path / "shop.toml").write_text(
        'name = "shop"\n[budget]\nepsilon = 1.0\n'
        '[tables.sales]\nsource = "sales.csv"\nunit = "who"\nrows_per_unit = 1\n'
        '[tables.sales.columns]\ncode = { type = "text" }\n'
        '[tables.kinds]\nsource = "kinds.csv"\npublic = true\n[tables.kinds.columns]\ncode = { type = "text" }\n'
    )
    asked = ["SELECT count(*) AS n FROM sales s JOIN kinds k USING (code)", "--epsilon", "0.1"]
    told = CliRunner().invoke(app, ["estimate", str(tmp_path / "shop.toml"), *asked], catch_exceptions=False)
    assert "Assumed: no two rows of the public 'kinds'" in " ".join(told.output.split())


def test_a_table_whose_rows_agree_too_often_is_refused_in_words() -> None:
    with shop() as curator:
        table = curator.policy.tables["kinds"]
        many = Table("kinds", table.source, None, 1, table.columns, True, None, None, {(): 10**6, ("code",): 20_000})
        planner = Planner(
            Policy("shop", {**curator.policy.tables, "kinds": many}, Budget(1), largest_epsilon=Fraction(1))
        )
    with pytest.raises(QuestionError, match=r"Up to 20,000 rows of the public 'kinds' that agree in code.*fan_out"):
        planner.plan("SELECT count(*) FROM sales s JOIN kinds k USING (code)", 1)


def test_a_select_of_several_public_tables_says_that_it_may_leave_rows_out() -> None:
    inside = "(SELECT a.code AS c FROM kinds a JOIN kinds b ON a.note = b.note)"
    with shop() as curator:
        answer = curator.ask(f"SELECT count(*) AS n FROM sales s JOIN {inside} k ON s.code = k.c", ALL)
    assert answer["n"] == (48,)
    assert any("each row meets one" in said for said in answer.notes)
