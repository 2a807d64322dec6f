"""Questions in which noise decides what is shown, and how often their intervals cover the exact value.

Each form is planned, and its plan is finished with noise drawn by the plan's own mechanisms on made-up exact counts; no
engine is needed. What an interval must cover: in a row that is shown, the exact value of that row's key; in a total or
a window, what the same question gives on the exact numbers, or on the exact numbers of the rows that were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.answer import Answer
from tacit.answer.release import finished_words
from tacit.loss import Budget
from tacit.mechanisms import KeySelection
from tacit.plan import KnownKeys, Plan, finish, make_plan
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tacit.question import read

WARDS = 40
COLUMNS = [
    Column("ward", "integer", 0, WARDS - 1, nullable=False),
    Column("half", "integer", 0, 1, nullable=False),
    Column("x", "integer", 0, 10, nullable=False),
    Column("town", "text", nullable=False),  # of which nobody knows the values
]
POLICY = Policy(
    "clinic",
    {"visits": Table("visits", Source("frame", "visits"), ColumnUnit("who"), 1, {each.name: each for each in COLUMNS})},
    Budget(10, Fraction(1, 10)),
    largest_epsilon=Fraction(10),
)

REGIMES: Mapping[str, Callable[[int], list[int]]] = {
    "ties": lambda size: [100] * size,
    "spread": lambda size: [10 + 12 * place for place in range(size)],
    "few": lambda size: [place % 4 for place in range(size)],
    "one stands out": lambda size: [500] + [20] * (size - 1),
    "near the border": lambda size: [90 + place for place in range(size)],
    "many below": lambda size: [70] * (size - 2) + [130, 150],
}
"""How many rows each of the cells has."""

GROUPS = "(SELECT ward, count(*) AS n FROM visits GROUP BY ward)"
TWO = "SELECT ward, count(*) AS n, sum(x) AS s FROM visits GROUP BY ward"


@dataclass(frozen=True, slots=True)
class Form:
    """A question, the column whose intervals are looked at, and the exact value for a row's first column."""

    sql: str
    column: str
    truth: Callable[[Any, list[int]], float]  # (the row's first value, all exact counts)


def _own(key: Any, counts: list[int]) -> float:
    return counts[int(key)]


def _sum_of_x(key: Any, counts: list[int]) -> float:
    return 5 * counts[int(key)]


FORMS: Mapping[str, Form] = {
    "max of an answer": Form(f"SELECT max(n) AS t FROM {GROUPS}", "t", lambda _, counts: max(counts)),
    "min of an answer": Form(f"SELECT min(n) AS t FROM {GROUPS}", "t", lambda _, counts: min(counts)),
    "range of an answer": Form(
        f"SELECT max(n) - min(n) AS t FROM {GROUPS}", "t", lambda _, counts: max(counts) - min(counts)
    ),
    "share of the greatest": Form(
        f"SELECT max(n) + sum(n) AS t FROM {GROUPS}", "t", lambda _, counts: max(counts) + sum(counts)
    ),
    "first of a sorted answer": Form(
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1", "n", _own
    ),
    "another column of the first": Form(f"{TWO} ORDER BY n DESC LIMIT 1", "s", _sum_of_x),
    "last three": Form("SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 3", "n", _own),
    "after an offset": Form(
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC OFFSET 37", "n", _own
    ),
    "having": Form("SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVING count(*) > 110", "n", _own),
    "qualify": Form(
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward QUALIFY rank() OVER (ORDER BY count(*) DESC) <= 2",
        "n",
        _own,
    ),
    "greatest window": Form(
        "SELECT ward, max(count(*)) OVER () AS t FROM visits GROUP BY ward", "t", lambda _, counts: max(counts)
    ),
    "case on noise": Form(
        "SELECT ward, CASE WHEN count(*) > 110 THEN count(*) END AS t FROM visits GROUP BY ward", "t", _own
    ),
    "greatest of one cell's": Form(
        "SELECT half, greatest(count(*), sum(x) / 5, count(x)) AS t FROM visits GROUP BY half", "t", _own
    ),
    "group of the greatest": Form(
        "SELECT max(n) AS t FROM (SELECT half, ward, count(*) AS n FROM visits GROUP BY half, ward) GROUP BY half "
        "ORDER BY t DESC LIMIT 1",
        "t",
        lambda _, counts: max(counts),
    ),
}


def planned(sql: str, epsilon: object = "0.2", delta: object = 0) -> Plan:
    return make_plan(read(sql), POLICY, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]


def answered(plan: Plan, counts: list[int]) -> Answer:
    """One answer, its noise drawn by the plan's mechanisms. Every row has x = 5."""
    draws = []
    if isinstance(plan.keys, KnownKeys):
        keys = list(plan.keys.cells)
        parted = {place for bundle in plan.bundles for place in bundle.places}
        assert all(len(bundle.places) == 2 for bundle in plan.bundles)
        for place, each in enumerate(plan.measures):
            assert not isinstance(each.mechanism, KeySelection)
            size = 5 if each.kind == "sum" else 1
            exact = [count * int((size - each.centre) / each.step) if each.kind == "sum" else count for count in counts]
            if place in parted:  # the sums of x - 0 and of 10 - x are released, and x is 5
                exact = [5 * count for count in counts]
            draws.append(each.mechanism.release(np.array(exact, dtype=np.int64)))
    else:
        kept, noisy = plan.keys.selection.release_counts(np.array(counts))
        keys = [(f"t{place:06}",) for place in np.flatnonzero(kept)]
        draws = [noisy[kept] for _ in plan.measures]
    table = finish(plan, keys, draws)
    columns = tuple(map(tuple, table.columns))
    spread = tuple(None if each is None else tuple(each) for each in table.deviations)
    return Answer(table.names, table.kinds, columns, spread, True, {"epsilon": "1"}, False, *finished_words(table))


def misses(form: Form, counts: list[int], runs: int, level: str = "0.95") -> int:
    """In how many of so many answers an interval of the column misses."""
    plan = planned(form.sql)
    found = 0
    for _ in range(runs):
        answer = answered(plan, counts)
        around = answer.intervals(level)[form.column]
        found += any(
            each is not None and not each[0] <= form.truth(key, counts) <= each[1]
            for key, each in zip(answer.columns[0], around, strict=True)
        )
    return found


def size_of(form: Form) -> int:
    """How many cells a form has."""
    keys = planned(form.sql).keys
    assert isinstance(keys, KnownKeys)
    return len(keys.cells)


def missed_keys(counts: list[int], runs: int, level: str = "0.95") -> tuple[int, int]:
    """Of the counts of unknown keys that are shown in so many answers: how many there are, and how many miss."""
    plan = planned("SELECT town, count(*) AS n FROM visits GROUP BY town", "1", "1e-4")
    shown = missed = 0
    for _ in range(runs):
        answer = answered(plan, counts)
        for key, (low, high) in zip(answer["town"], answer.intervals(level)["n"], strict=True):
            shown += 1
            missed += not low <= counts[int(key[1:])] <= high
    return shown, missed
