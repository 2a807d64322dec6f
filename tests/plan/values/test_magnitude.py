"""magnitude(x) against the definition of the cells, and how far one unit can move a histogram of it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import QuestionError
from tacit.plan import Plan, make_plan
from tacit.policy import Column, auto
from tacit.policy.cells import cell_of
from tacit.question import read
from tests.plan.copies import clinic, copy_of, exact, fill, table

INTEGERS = [0, *(sign * (2**power + more) for power in range(62) for more in (-1, 0, 1) for sign in (1, -1))]
INTEGERS += [2**63 - 1, -(2**63), -(2**63) + 1]


def plan_of(text: str, column: Column, rows: int = 3) -> Plan:
    return make_plan(read(text), clinic(table("t", [column], rows=rows)), epsilon=1)


def counted(column: Column, values: list[int | None], expression: str = "magnitude(x)") -> dict[Any, int]:
    """How often each cell occurs, by the pushed-down query."""
    plan = plan_of(f"SELECT {expression}, count(*) FROM t GROUP BY 1", column)
    rows = [{"tacit_unit": place, "tacit_rank": 1, "x": value} for place, value in enumerate(values)]
    with copy_of(clinic(table("t", [column])), {"t": rows}) as connection:
        found = exact(connection, plan)
    assert plan.keys.columns[0].values is not None
    assert {key for (key,) in found} <= set(plan.keys.columns[0].values)
    return {key: counts[0] for (key,), counts in found.items()}


def truth(values: list[int | None], step: Fraction = Fraction(1)) -> dict[Any, int]:
    cells = [None if value is None else cell_of(value * step) for value in values]
    return {cell: cells.count(cell) for cell in set(cells)}


def test_a_whole_number_without_bounds_gets_its_cell() -> None:
    values = [*INTEGERS, None]
    assert counted(Column("x", "integer"), values) == truth(values)


@pytest.mark.parametrize("bounds", [(0, 1000), (-3, 7), (Fraction(-1, 3), Fraction(1, 3)), (100, 200)])
def test_a_real_number_on_its_grid_gets_its_cell(bounds: tuple[Fraction, Fraction]) -> None:
    column = Column("x", "real", Fraction(bounds[0]), Fraction(bounds[1]))
    low, high = column.grid_lower, column.grid_upper
    assert low is not None
    assert high is not None
    near = [whole for power in range(40) for whole in (2**power - 1, 2**power, -(2**power), 1 - 2**power)]
    values: list[int | None] = [None, low, high, *(value for value in [0, *near] if low <= value <= high)]
    assert counted(column, values) == truth(values, column.step)


def test_an_expression_gets_its_cell_too() -> None:
    values: list[int | None] = [*range(-20, 20), None]
    found = counted(Column("x", "integer", -20, 20), values, "magnitude(x * x / 3)")
    squares = [None if value is None else Fraction(value * value, 3) for value in values]
    cells = [None if square is None else cell_of(square) for square in squares]
    assert found == {cell: cells.count(cell) for cell in set(cells)}


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_a_column_without_bounds_is_its_cell_already(kind: Any) -> None:
    column = auto().column("x", kind)
    values: list[int | None] = [65, 65, 0, -130, 130, None]
    assert counted(column, values) == {65: 2, 0: 1, -130: 1, 130: 1, None: 1}


def test_the_cells_of_a_column_are_public_and_all_there() -> None:
    for kind, count in (("real", 261), ("integer", 133)):
        plan = plan_of("SELECT magnitude(x), count(*) FROM t GROUP BY 1", auto(nullable=False).column("x", kind))  # type: ignore[arg-type]
        assert len(plan.keys.columns[0].values or ()) == count
    plan = plan_of("SELECT magnitude(x), count(*) FROM t GROUP BY 1", Column("x", "integer", nullable=False))
    assert len(plan.keys.columns[0].values or ()) == 64 + 1 + 63  # -2**63 is one, and 2**63 is not


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("column", [Column("x", "integer"), auto().column("x", "real")], ids=["integer", "auto"])
def test_one_unit_moves_the_histogram_by_its_rows_and_no_more(column: Column, rows: int) -> None:
    plan = plan_of("SELECT magnitude(x) AS cell, count(*) AS n FROM t GROUP BY 1", column, rows)
    policy = clinic(table("t", [column], rows=rows))
    others = [{"tacit_unit": unit, "tacit_rank": 1, "x": unit - 2} for unit in range(5)]
    distances = set()
    with copy_of(policy, {"t": others}) as connection:
        before = exact(connection, plan)
        for values in itertools.combinations_with_replacement((None, 0, 65, -130), rows):
            mine = [{"tacit_unit": 99, "tacit_rank": rank + 1, "x": value} for rank, value in enumerate(values)]
            fill(connection, policy.tables["t"], [*others, *mine])
            after = exact(connection, plan)
            keys = {*before, *after}
            distances.add(sum(abs(before.get(key, (0,))[0] - after.get(key, (0,))[0]) for key in keys))
    assert max(distances) == plan.measures[0].l1 == rows
    assert plan.measures[0].mechanism.event.scale == rows  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT avg(x) FROM t",
        "SELECT count(x) FROM t",
        "SELECT count(*) FROM t WHERE x > 3",
        "SELECT count(*) FROM t WHERE x IS NULL",
        "SELECT x, count(*) FROM t GROUP BY x",
        "SELECT count(DISTINCT x) FROM t",
        "SELECT count(*) FROM (SELECT x FROM t) s",
        "SELECT count(*) FROM (SELECT patient, sum(x) AS s FROM t GROUP BY patient) q",
        "SELECT magnitude(x + 1), count(*) FROM t GROUP BY 1",
        "SELECT magnitude(abs(x)), count(*) FROM t GROUP BY 1",
    ],
)
def test_a_column_without_bounds_can_be_asked_for_nothing_else(text: str) -> None:
    with pytest.raises(QuestionError, match=r"Column 'x' has no bounds yet \(.auto. in the policy\).*suggest"):
        plan_of(text, auto().column("x", "real"))


def test_all_columns_are_all_but_those_without_bounds() -> None:
    columns = [auto().column("x", "real"), Column("y", "integer", 0, 9)]
    policy = clinic(table("t", columns))
    assert make_plan(read("SELECT avg(y) FROM (SELECT * FROM t) s"), policy, epsilon=1)
    with pytest.raises(QuestionError, match="'x' is not in"):
        make_plan(read("SELECT avg(x) FROM (SELECT * FROM t) s"), policy, epsilon=1)


@pytest.mark.parametrize("expression", ["magnitude(word)", "magnitude(day)", "magnitude(x > 1)", "magnitude(x, x)"])
def test_what_has_no_size_is_refused(expression: str) -> None:
    columns = [Column("x", "integer"), Column("word", "text"), Column("day", "date")]
    with pytest.raises(QuestionError, match="magnitude"):
        make_plan(read(f"SELECT {expression}, count(*) FROM t GROUP BY 1"), clinic(table("t", columns)), epsilon=1)
