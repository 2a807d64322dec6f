"""`between = "auto"`: bounds that are to be bought. Where it makes no sense it is refused in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tacit
from tacit.errors import PolicyError
from tacit.policy import Column, Policy
from tacit.policy.read import parse
from tacit.policy.write import fact_line

POLICY = """
[budget]
epsilon = 1
[tables.visits]
{table}
[tables.visits.columns]
charge = {{ {facts} }}
"""
PRIVATE = 'source = "visits.csv"\nunit = "row"'


def policy(facts: str, table: str = PRIVATE) -> Policy:
    return parse(POLICY.format(table=table, facts=facts))


@pytest.mark.parametrize("kind", ["real", "integer"])
def test_a_policy_may_leave_bounds_to_be_bought(kind: str) -> None:
    column = policy(f'type = "{kind}", between = "auto", outside = "drop", nullable = false').tables["visits"].columns
    facts = tacit.auto(outside="drop", nullable=False)
    assert column["charge"] == facts.column("charge", kind)  # type: ignore[arg-type]
    assert column["charge"].auto
    assert (column["charge"].grid_lower, column["charge"].grid_upper, column["charge"].step) == (-130, 130, 1)


def test_its_grid_is_the_cells() -> None:
    column = tacit.auto().column("charge", "real")
    assert [column.to_grid(value) for value in (0, 1, Fraction(3, 2), 2, -1)] == [0, 65, 65, 66, -65]
    assert column.cells == tuple(range(-130, 131))
    whole = tacit.auto().column("visits", "integer")
    assert set(whole.cells) == {whole.to_grid(sign * 2**power) for power in range(62) for sign in (0, 1, -1)} | {
        sign * cell for cell in range(127, 131) for sign in (1, -1)
    }
    with pytest.raises(PolicyError, match="no bounds yet"):
        column.from_grid(65)


@pytest.mark.parametrize(
    ("facts", "table", "words"),
    [
        ('type = "text", between = "auto"', PRIVATE, "integer and real"),
        ('type = "date", between = "auto"', PRIVATE, "integer and real"),
        ('type = "integer", between = "auto", one_of = [1]', PRIVATE, "no other bounds and no values"),
        ('type = "real", between = "automatic"', PRIVATE, 'or "auto"'),
        ('type = "real"', PRIVATE, "tacit suggest"),
        ('type = "real", between = "auto"', 'source = "visits.csv"\npublic = true', "public table can be looked at"),
        ('type = "real", between = "auto"', 'source = "postgres:$X"\nunit = "row"', "not on postgres"),
        ('type = "real", between = "auto"', 'source = "local[2]"\nunit = "row"', "not on spark"),
        (
            'type = "real", between = "auto"',
            'source = "visits.csv"\nunit = "id"\nrows_per_unit = 2\nkey = "charge"',
            "a key needs its values",
        ),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(facts: str, table: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        policy(facts, table)


def test_a_column_with_bounds_is_not_auto() -> None:
    with pytest.raises(PolicyError, match="no other bounds"):
        Column("x", "integer", 0, 1, auto=True)
    with pytest.raises(PolicyError, match="true or false"):
        Column("x", "integer", auto=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "lower", "upper"),
    [("real", 0.0, 2.0**66), ("real", -(2.0**-64), 0.0), ("integer", -63, 2**62), ("real", 4.0, 512.0)],
)
def test_the_line_that_states_bounds_reads_back(kind: str, lower: float, upper: float) -> None:
    facts = tacit.auto(outside="drop", nullable=False)
    line = fact_line(facts.column("a column", kind), lower, upper)  # type: ignore[arg-type]
    text = POLICY.format(table=PRIVATE, facts='type = "integer"') + line
    found = parse(text).tables["visits"].columns["a column"]
    assert (found.lower, found.upper) == (Fraction(str(lower)), Fraction(str(upper)))
    assert (found.outside, found.nullable, found.auto) == ("drop", False, False)
