"""Contributions are bounded so that one unit more is that unit's rows more, and nothing else."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.engines.duckdb import registration
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation
from tacit.errors import PolicyError
from tacit.policy import ColumnUnit, PathUnit, RowUnit, anything, between, one_of
from tests.effort import tried
from tests.engines.copies import Rows, copies, policy_of, private

NUMBER = between(0, 3).column("n", "integer")
REAL = between(0, 1, outside="drop").column("x", "real")
SEX = one_of("F", "M", nullable=False).column("s", "text")
NOTE = anything().column("note", "text")
TYPES = {"u": "INTEGER", "n": "INTEGER", "x": "DOUBLE", "s": "VARCHAR", "note": "VARCHAR"}

some_rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 4)),
        st.one_of(st.none(), st.integers(-2, 5)),
        st.sampled_from([None, 0.25, 0.75, math.nan, math.inf, -3.0]),
        st.sampled_from([None, "F", "M", "X"]),
        st.sampled_from([None, "", "a", "1"]),
    ),
    max_size=25,
)


def without(found: Counter[tuple[Any, ...]], unit: object) -> Counter[tuple[Any, ...]]:
    return Counter({row: count for row, count in found.items() if row[0] != unit})


@settings(max_examples=tried(45), deadline=None)
@given(some_rows, st.integers(0, 4), st.integers(1, 3), st.booleans(), st.randoms())
def test_one_unit_less_removes_its_rows_and_changes_no_other_rank(
    rows: list[Any], gone: int, bound: int, text: bool, random: Any
) -> None:
    policy = policy_of(private("t", ColumnUnit("u"), bound, NUMBER, REAL, SEX, NOTE))
    types = {**TYPES, "u": "VARCHAR"} if text else TYPES
    unit = str(gone) if text else gone
    if text:
        rows = [(None if row[0] is None else str(row[0]), *row[1:]) for row in rows]
    fewer = [row for row in rows if row[0] != unit]
    random.shuffle(fewer)  # nor does the order of the rows matter
    before, after = copies(policy, {"t": Rows(types, rows)})["t"], copies(policy, {"t": Rows(types, fewer)})["t"]
    assert without(before, unit) == after
    assert all(row[0] is not None for row in before)
    per_unit: dict[Any, list[int]] = {}
    for row in before.elements():
        per_unit.setdefault(row[0], []).append(row[1])
    kept = Counter(row[0] for row in rows if row[0] is not None and row[3] in ("F", "M"))
    assert {key: sorted(ranks) for key, ranks in per_unit.items()} == {
        key: list(range(1, min(count, bound) + 1)) for key, count in kept.items()
    }


@settings(max_examples=tried(30), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3))), max_size=8),
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 4)), st.integers(0, 3)), max_size=15),
    st.integers(0, 3),
    st.booleans(),
)
def test_a_path_gives_each_row_to_one_unit_and_one_unit_less_changes_no_other(
    visits: list[tuple[int, int | None]], diagnoses: list[tuple[int | None, int]], gone: int, text: bool
) -> None:
    policy = policy_of(
        private("visits", ColumnUnit("patient"), 2),
        private("diagnoses", PathUnit("visit", "visits", "id"), 2, NUMBER),
    )
    key = "VARCHAR" if text else "INTEGER"

    def copy(people: list[Any], found: list[Any]) -> dict[str, Counter[tuple[Any, ...]]]:
        return copies(
            policy,
            {
                "visits": Rows({"id": key, "patient": "INTEGER"}, people),
                "diagnoses": Rows({"visit": "BIGINT", "n": "INTEGER"}, found),
            },
        )

    owners = {visit: {person for id_, person in visits if id_ == visit and person is not None} for visit, _ in visits}
    before = copy(visits, diagnoses)
    after = copy(
        [row for row in visits if row[1] != gone],
        [row for row in diagnoses if gone not in owners.get(row[0], set())],  # type: ignore[arg-type]
    )
    assert {name: without(found, gone) for name, found in before.items()} == after
    expected = Counter(
        next(iter(owners[visit])) for visit, _ in diagnoses if visit is not None and len(owners.get(visit, ())) == 1
    )
    held = Counter(row[0] for row in before["diagnoses"].elements())
    assert held == Counter({person: min(count, 2) for person, count in expected.items()})


def test_a_path_of_two_steps_reaches_the_unit() -> None:
    policy = policy_of(
        private("patients", ColumnUnit("id"), 1),
        private("visits", PathUnit("patient", "patients", "number"), 2),
        private("diagnoses", PathUnit("visit", "visits", "id"), 2, NUMBER),
    )
    found = copies(
        policy,
        {
            "patients": Rows({"id": "VARCHAR", "number": "INTEGER"}, [("ann", 1), ("bob", 2)]),
            "visits": Rows({"id": "INTEGER", "patient": "INTEGER"}, [(10, 1), (20, 2), (30, 3)]),
            "diagnoses": Rows({"visit": "INTEGER", "n": "INTEGER"}, [(10, 1), (20, 2), (20, 2), (30, 3), (40, 0)]),
        },
    )
    assert found["visits"] == Counter([("ann", 1), ("bob", 1)])
    assert found["diagnoses"] == Counter([("ann", 1, 1), ("bob", 1, 2), ("bob", 2, 2)])


def test_rows_whose_key_leads_to_two_units_are_left_out() -> None:
    policy = policy_of(
        private("visits", ColumnUnit("patient"), 9), private("diagnoses", PathUnit("visit", "visits", "id"), 9)
    )
    visits = [(1, 7), (2, 7), (2, 8), (3, 8), (3, 8), (4, None)]
    found = copies(
        policy,
        {
            "visits": Rows({"id": "INTEGER", "patient": "INTEGER"}, visits),
            "diagnoses": Rows({"visit": "INTEGER"}, [(1,), (2,), (3,), (4,), (None,)]),
        },
    )
    assert found["diagnoses"] == Counter([(7, 1), (8, 1)])


def test_a_row_behind_one_of_two_units_stays_no_ones_along_the_path() -> None:
    policy = policy_of(
        private("visits", ColumnUnit("patient"), 9),
        private("diagnoses", PathUnit("visit", "visits", "id"), 9),
        private("bills", PathUnit("diagnosis", "diagnoses", "code"), 9),
    )
    visits = [(1, 7), (1, 8), (2, 8)]  # the first visit is two people's
    diagnoses = [(1, 50), (2, 50), (2, 60)]  # so is diagnosis 50, which leads to that visit and to another

    def copy(gone: int | None) -> dict[str, Counter[tuple[Any, ...]]]:
        mine = {id_ for id_, patient in visits if patient == gone}
        codes = {code for visit, code in diagnoses if visit in mine}
        return copies(
            policy,
            {
                "visits": Rows({"id": "INTEGER", "patient": "INTEGER"}, [row for row in visits if row[1] != gone]),
                "diagnoses": Rows(
                    {"visit": "INTEGER", "code": "INTEGER"}, [row for row in diagnoses if row[0] not in mine]
                ),
                "bills": Rows({"diagnosis": "INTEGER"}, [(code,) for code in (50, 50, 60) if code not in codes]),
            },
        )

    before, after = copy(None), copy(7)
    assert before["bills"] == Counter([(8, 1)])
    assert {name: without(found, 7) for name, found in before.items()} == after


def test_of_many_named_units_one_less_changes_no_other() -> None:
    policy = policy_of(private("t", ColumnUnit("u"), 1, NOTE))
    rows = [(f"unit {unit:03}", note) for unit in range(200) for note in "abcd"]
    types = {"u": "VARCHAR", "note": "VARCHAR"}
    before = copies(policy, {"t": Rows(types, rows)})["t"]
    assert without(before, "unit 000") == copies(policy, {"t": Rows(types, rows[4:])})["t"]


def test_a_path_to_a_table_of_row_units_is_refused() -> None:
    policy = policy_of(private("a", RowUnit(), 1), private("b", PathUnit("k", "a", "k"), 2))
    with pytest.raises(PolicyError, match="not to unit"):
        copies(policy, {"a": Rows({"k": "INTEGER"}, []), "b": Rows({"k": "INTEGER"}, [])})


def test_with_row_units_every_row_is_a_unit_of_its_own() -> None:
    policy = policy_of(private("t", RowUnit(), 1, NUMBER))
    found = copies(policy, {"t": Rows({"n": "INTEGER"}, [(1,), (1,), (9,)])})["t"]
    assert Counter(row[1:] for row in found.elements()) == Counter([(1, 1), (1, 1), (1, 3)])
    assert len({row[0] for row in found}) == 3


def test_a_unit_is_the_same_as_a_double_or_a_whole_number_and_missing_units_are_left_out() -> None:
    policy = policy_of(private("a", ColumnUnit("u"), 9), private("b", ColumnUnit("u"), 9))
    doubles = [(7.0,), (None,), (math.nan,), (math.inf,), (7.5,)]
    found = copies(policy, {"a": Rows({"u": "DOUBLE"}, doubles), "b": Rows({"u": "INTEGER"}, [(7,)])})
    assert found == {"a": Counter([("7", 1), ("7.5", 1)]), "b": Counter([("7", 1)])}


def test_ranks_follow_the_secret_and_the_table() -> None:
    policy = policy_of(private("a", ColumnUnit("u"), 1, NOTE), private("b", ColumnUnit("u"), 1, NOTE))
    rows = Rows({"u": "INTEGER", "note": "VARCHAR"}, [(unit, note) for unit in range(200) for note in "abcd"])
    one = copies(policy, {"a": rows, "b": rows})
    two = copies(policy, {"a": rows, "b": rows}, Secret(bytes(32)))
    assert one == copies(policy, {"a": rows, "b": rows})
    # Two independent choices among four agree for all of 200 units with probability 4**-200.
    assert one["a"] != two["a"]
    assert one["a"] != one["b"]


def ranked(rows: str, bound: int, columns: str) -> list[tuple[Any, ...]]:
    """Copies of many made-up units at once, under a fresh secret."""
    policy = policy_of(private("t", ColumnUnit("u"), bound, NOTE))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"CREATE TABLE source AS {rows}")
        relations = {"t": Relation("source", {"u": "BIGINT", "note": "VARCHAR"})}
        for step in registration.statements(policy, relations, Secret.in_memory()):
            connection.execute(step.sql)
        return connection.execute(columns).fetchall()


@pytest.mark.statistical
def test_every_order_of_a_units_rows_is_equally_likely() -> None:
    """Chi-square of 24 orders over 24,000 units, refused at 1e-9: that is the false-alarm rate."""
    found = ranked(
        "SELECT u, note FROM range(24000) a(u), (VALUES ('a'), ('b'), ('c'), ('d')) b(note)",
        4,
        "SELECT o, count(*) FROM (SELECT string_agg(note, '' ORDER BY tacit_rank) o FROM tacit_copy.t "
        "GROUP BY tacit_unit) GROUP BY o",
    )
    counts = [count for _, count in found]
    assert len(counts) == 24
    assert sum(counts) == 24_000
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < stats.chi2.isf(1e-9, 23)


@pytest.mark.statistical
def test_a_row_that_occurs_three_times_is_three_times_as_likely_to_be_kept() -> None:
    """Two-sided binomial test over 20,000 units, refused at 1e-9: that is the false-alarm rate."""
    found = ranked(
        "SELECT u, note FROM range(20000) a(u), (VALUES ('a'), ('a'), ('a'), ('b')) b(note)",
        1,
        "SELECT count(*) FILTER (note = 'b'), count(*) FROM tacit_copy.t",
    )
    ((lone, total),) = found
    assert total == 20_000
    assert stats.binomtest(lone, total, 0.25).pvalue > 1e-9


def test_columns_may_be_called_like_those_of_the_table_of_units() -> None:
    columns = [between(0, 9).column(name, "integer") for name in ("key", "id")]
    policy = policy_of(private("t", ColumnUnit("u"), 1, *columns))
    found = copies(policy, {"t": Rows({"u": "VARCHAR", "key": "INTEGER", "id": "INTEGER"}, [("a", 1, 2), ("b", 3, 4)])})
    assert found["t"] == Counter([("a", 1, 1, 2), ("b", 1, 3, 4)])


def test_units_are_told_apart_by_all_their_digits() -> None:
    """2**53 and 2**53 + 1 are one double and two people; 7.50 and 7.5 are one."""
    wide = private("t", ColumnUnit("u"), 1, NUMBER)
    people = [(2**53, 1), (2**53 + 1, 1), (2**53 + 2, 1)]
    assert sum(copies(policy_of(wide), {"t": Rows({"u": "DECIMAL(38,0)", "n": "INTEGER"}, people)})["t"].values()) == 3
    cents = [("7.50", 1), ("7.5", 2), ("7.51", 1), ("100", 1)]
    assert sum(copies(policy_of(wide), {"t": Rows({"u": "DECIMAL(9,2)", "n": "INTEGER"}, cents)})["t"].values()) == 3
