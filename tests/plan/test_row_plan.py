"""Rows for a study: neighbours differ in few of them, whatever was selected; what is no plain SELECT is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import TacitError
from tacit.plan.row_plan import Cut, RowPlan, plan_rows
from tacit.plan.row_words import COUNT, Code, laid_out
from tacit.policy import Policy
from tacit.statistics.source import EngineRows

COLUMNS = {"k": tacit.between(0, 4), "x": tacit.between(-5, 5), "s": tacit.one_of("a", "b", "c")}
SELECTS = [
    "SELECT k, x FROM data",
    "SELECT k, x FROM data WHERE x > 0",
    "SELECT x * x AS y, s FROM data WHERE s <> 'a'",
    "SELECT who, sum(x) AS x, count(*) AS k FROM data GROUP BY who",
    "SELECT who, k, max(x) AS x FROM data GROUP BY who, k",
    "SELECT DISTINCT who, k, x FROM data",
    "SELECT a.x AS x, b.k AS k FROM data a JOIN data b ON a.who = b.who",
    "SELECT x, k FROM data UNION ALL SELECT k, x FROM data",
    "SELECT k, x FROM data WHERE who IN (SELECT who FROM data WHERE k = 1)",
    "WITH few AS (SELECT who, k, x FROM data WHERE k < 3) SELECT x + k AS z FROM few",
    "SELECT k, CASE WHEN x > 0 THEN x END AS x FROM data",
]


def protected(frame: pd.DataFrame, rows: int) -> tacit.Curator:
    budget = tacit.Budget(epsilon=1)
    return tacit.protect(frame, unit="who", rows_per_unit=rows, columns=COLUMNS, budget=budget)


def tally(curator: tacit.Curator, plan: RowPlan, asked: list[str | Cut], **how: Any) -> Counter[Any]:
    """How many rows have each combination of codes, as a study reads them."""
    query, digits = plan.words(asked, **{"grouped": True, **how})

    def read(_: Any, columns: Any) -> Counter[Any]:
        words = [columns[name] for name in query.measure_columns]
        rows = words.pop() if query.measure_columns[-1] == COUNT else np.ones(len(words[0]), dtype=np.int64)
        found: Counter[Any] = Counter()
        for *codes, count in zip(*(each.read(words).tolist() for each in digits), rows.tolist(), strict=True):
            found[tuple(codes)] += count
        return found

    counted: Counter[Any] = curator._engine.run(query).open_for(read)
    return counted


@dataclass(frozen=True)
class Worlds:
    """Nine units with as many rows as each may have, and the same without one of them, for some of them."""

    whole: tacit.Curator
    less: list[tacit.Curator]


@pytest.fixture(scope="module", params=[1, 3])
def worlds(request: pytest.FixtureRequest) -> Iterator[Worlds]:
    rows: int = request.param
    rng = np.random.default_rng(rows)
    size = 9 * rows  # as many as a unit may have: which ones are kept of more is drawn for each registration
    frame = pd.DataFrame(
        {
            "who": np.arange(size) // rows,
            "k": rng.integers(0, 5, size),
            "x": rng.integers(-6, 7, size),
            "s": rng.choice(["a", "b", "c"], size),
        }
    )
    with ExitStack() as opened:
        whole = opened.enter_context(protected(frame, rows))
        yield Worlds(whole, [opened.enter_context(protected(frame[frame.who != who], rows)) for who in (0, 4, 8)])


@pytest.mark.parametrize("sql", SELECTS)
def test_neighbours_differ_in_at_most_rows_per_unit_rows(worlds: Worlds, sql: str) -> None:
    plan = plan_rows(sql, worlds.whole.policy)
    names = [each.name for each in plan.variables]
    before = tally(worlds.whole, plan, names)
    assert sum(before.values()) > 0
    for less in worlds.less:
        after = tally(less, plan_rows(sql, less.policy), names)
        moved = sum(abs(before[key] - after[key]) for key in {*before, *after})
        assert moved <= plan.rows_per_unit


@pytest.mark.parametrize("sql", SELECTS)
def test_with_one_unit_less_every_other_unit_has_the_same_rows_in_the_same_order(worlds: Worlds, sql: str) -> None:
    whole = units_of(worlds.whole, sql)
    assert max(map(len, whole)) <= plan_rows(sql, worlds.whole.policy).rows_per_unit
    for less in worlds.less:
        left = list(whole)
        for each in units_of(less, sql):
            left.remove(each)  # fails where it is not there
        assert len(left) <= 1


def units_of(curator: tacit.Curator, sql: str) -> list[Any]:
    plan = plan_rows(sql, curator.policy)
    codes, units = EngineRows(plan, curator._engine.run).by_unit(*(each.name for each in plan.variables))
    return [codes[units == each].tolist() for each in np.unique(units)]


def test_a_cut_counts_the_edges_at_or_below_a_code() -> None:
    frame = pd.DataFrame({"who": range(11), "k": [0] * 11, "x": range(-5, 6), "s": ["a"] * 11})
    edges = (-4, -1, 0, 3, 5)
    with protected(frame, 1) as curator:
        plan = plan_rows("SELECT x FROM data", curator.policy)
        found = tally(curator, plan, [Cut("x", edges)])
    truth = Counter((int(np.searchsorted(edges, x, side="right")),) for x in range(-5, 6))
    assert found == truth


@pytest.fixture(scope="module")
def policy() -> Policy:
    with protected(pd.DataFrame({"who": [1], "k": [1], "x": [1], "s": ["a"]}), 1) as curator:
        return curator.policy


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM data",
        "SELECT k FROM data) AS a JOIN (SELECT k FROM data",
        "SELECT k FROM data) AS a WHERE (k > 1",
        "SELECT k FROM data ORDER BY k LIMIT 3",
        "SELECT k FROM data WITH PRIVACY (epsilon = 1)",
        "SELECT nothing FROM data",
        "SELECT NULL AS x FROM data",
        "DELETE FROM data",
        "",
    ],
)
def test_what_is_no_plain_select_of_rows_is_refused(policy: Policy, sql: str) -> None:
    with pytest.raises(TacitError):
        plan_rows(sql, policy)


WIDE = {
    "a": tacit.between(-(2**40), 2**40),
    "b": tacit.between(0, 2**35),
    "c": tacit.between(-1, 0),
    "s": tacit.one_of("x", "it's", "z"),
    "t": tacit.between(7, 7.5),
}


@pytest.mark.parametrize("how", [{"grouped": True}, {"grouped": False}, {"parts": 3}])
def test_codes_come_back_from_words_as_they_went_in(how: dict[str, Any]) -> None:
    rng = np.random.default_rng()
    size = 60
    frame = pd.DataFrame(
        {
            "who": range(size),
            "a": rng.integers(-(2**40), 2**40, size, endpoint=True),
            "b": rng.integers(0, 2**35, size, endpoint=True),
            "c": rng.integers(-1, 1, size),
            "s": rng.choice(["x", "it's", "z"], size),
            "t": rng.choice([7.0, 7.25, 7.5], size),
        }
    )
    frame.loc[:1, "a"] = [-(2**40), 2**40]
    frame.loc[2:5, ["a", "b", "c", "s", "t"]] = frame.loc[2, ["a", "b", "c", "s", "t"]].tolist()  # four rows alike
    with tacit.protect(frame, unit="who", columns=WIDE, budget=tacit.Budget(epsilon=1)) as curator:
        plan = plan_rows("SELECT a, b, c, s, t FROM data", curator.policy)
        assert max(each.word for each in plan.layout(["a", "b", "c", "s", "t"])) > 0
        if "parts" in how:
            pieces = [
                tally(curator, plan, ["a", "b", "c", "s", "t"], part=(number, how["parts"])) for number in range(3)
            ]
            assert not set(pieces[0]) & set(pieces[1])
            assert sum(len(piece) > 0 for piece in pieces) > 1
            found = sum(pieces, Counter())
        else:
            found = tally(curator, plan, ["a", "b", "c", "s", "t"], **how)
        step = plan.variable("t").step
    listed = ["x", "it's", "z"]
    truth = Counter(
        (row.a, row.b, row.c, listed.index(row.s), round(row.t / float(step))) for row in frame.itertuples()
    )
    assert found == truth


def test_no_word_is_wider_than_its_bits_and_a_column_without_bounds_has_one_of_its_own() -> None:
    codes = [Code(None, 0, 2**high - 1) for high in (30, 32, 1, 61, 64, 3)]  # type: ignore[arg-type]
    found = laid_out(codes)
    assert [(each.word, each.shift) for each in found] == [(0, 0), (0, 30), (1, 0), (1, 1), (2, 0), (3, 0)]
    assert all(each.shift + each.bits <= 62 or each.shift == 0 for each in found)
