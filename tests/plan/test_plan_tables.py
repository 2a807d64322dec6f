"""A plan names every private table that it reads, wherever that stands in the question, and no public one."""

from __future__ import annotations

import pytest

from tacit.plan import make_plan
from tacit.policy import Column
from tacit.question import read
from tests.plan.copies import clinic, public, table

POLICY = clinic(
    *(table(name, [Column("x", "integer", 0, 9)], unit="who") for name in ("a", "b", "c")),
    public("p", [Column("x", "integer", 0, 9)]),
)
QUESTIONS = {
    "SELECT count(*) FROM a": ("a",),
    "SELECT count(*) FROM a WHERE who IN (SELECT who FROM b)": ("a", "b"),
    "SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.who = a.who)": ("a", "b"),
    "SELECT count(*) FROM a WHERE who IN (SELECT who FROM b WHERE who NOT IN (SELECT who FROM c))": ("a", "b", "c"),
    "SELECT count(*) FROM (SELECT who FROM a WHERE who IN (SELECT who FROM c)) s": ("a", "c"),
    "SELECT count(*) FILTER (WHERE who IN (SELECT who FROM b)) FROM a": ("a", "b"),
    "SELECT count(*) / (SELECT count(*) FROM b WHERE who IN (SELECT who FROM c)) FROM a": ("a", "b", "c"),
    "SELECT count(*) FROM a WHERE x IN (SELECT x FROM p)": ("a",),
    "SELECT count(*) FROM a JOIN p ON a.x = p.x": ("a",),
}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_plan_names_the_private_tables_that_it_reads(sql: str) -> None:
    plan = make_plan(read(sql), POLICY, epsilon=1)
    assert set(plan.tables) == set(QUESTIONS[sql])
    assert plan.tables[0] == "a"
    assert all(repr(name) in plan.sentences[0] for name in plan.tables if "/" not in sql)
