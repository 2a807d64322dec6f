"""How many rows of a unit a join has: never more than the bound, and the same bound in whatever order it is written."""

from __future__ import annotations

import itertools
import random

import pytest

from tacit.plan.sources.join_bounds import Bound
from tests.plan.rules.test_bound_change import FULL, change, planned

Row = tuple[int | None, ...]
"""Which row of each source it is made of; None where an outer join found none."""


def chained(draw: random.Random) -> tuple[int, int]:
    """The rows of one made-up unit after some joins, counted, and the bound that is promised."""
    sizes = [draw.randint(1, 3) for _ in range(draw.randint(2, 4))]
    bound, rows = Bound.of("s0", sizes[0]), [(number,) for number in range(sizes[0])]
    joined: list[Row] = list(rows)
    for new in range(1, len(sizes)):
        kind = draw.choice(("inner", "inner", "left", "right", "full"))
        # foreign keys both ways, some of which lead nowhere
        into = {old: [draw.randint(0, 4) for _ in range(sizes[old])] for old in range(new) if draw.random() < 0.4}
        back = {
            old: [draw.randint(0, 4) for _ in range(sizes[new])]
            for old in range(new)
            if old not in into and draw.random() < 0.4
        }
        extra = draw.random() < 0.3

        def meets(row: Row, own: int, into=into, back=back, extra=extra) -> bool:  # type: ignore[no-untyped-def]
            ahead = all(row[old] is not None and listed[row[old]] == own for old, listed in into.items())
            behind = all(row[old] is not None and listed[own] == row[old] for old, listed in back.items())
            return ahead and behind and not (extra and own == 0)

        pairs = [(row, own) for row in joined for own in range(sizes[new]) if meets(row, own)]
        found: list[Row] = [(*row, own) for row, own in pairs]
        if kind in ("left", "full"):
            found += [(*row, None) for row in joined if not any(row == met for met, _ in pairs)]
        if kind in ("right", "full"):
            found += [
                (*(None for _ in range(new)), own) for own in range(sizes[new]) if own not in {b for _, b in pairs}
            ]
        names = [f"s{old}" for old in into], [f"s{old}" for old in back]
        if kind == "full":
            bound = bound.full(
                f"s{new}",
                sizes[new],
                *names,
                all_meet=not into and not back and not extra and not any(None in row for row in joined),
            )
        else:
            step = {"inner": bound.joined, "left": bound.left, "right": bound.right}[kind]
            bound = step(f"s{new}", sizes[new], *names)
        joined = found
    return len(joined), bound.most


def test_no_join_of_made_up_tables_has_more_rows_than_its_bound() -> None:
    draw = random.Random(20)
    reached = 0
    for _ in range(6_000):
        rows, most = chained(draw)
        assert rows <= most
        reached += rows == most
    assert reached > 600  # the bound is no wild guess


CHAIN = {
    "people p": (),
    "visits v": (("people p", "p.who = v.who"),),
    "diagnoses d": (("people p", "p.who = d.who"), ("visits v", "d.visit = v.visit")),
}


def orders() -> list[str]:
    """Every order in which the three tables can be written, tied by ON or by WHERE."""
    found = []
    for order in itertools.permutations(CHAIN):
        ties = {(one, other): text for other, listed in CHAIN.items() for one, text in listed}
        joins = order[0]
        for place, name in enumerate(order[1:], start=1):
            on = [text for pair, text in ties.items() if name in pair and (set(pair) - {name}) <= set(order[:place])]
            joins += f" JOIN {name} ON {' AND '.join(on)}"
        found += [joins, ", ".join(order) + f" WHERE {' AND '.join(ties.values())}"]
    return found


@pytest.mark.parametrize("select", ["count(*)", "sum(v.charge)", "avg(p.born)"])
def test_the_order_of_a_join_does_not_change_its_noise(select: str) -> None:
    plans = [planned(f"SELECT {select} FROM {joins}") for joins in orders()]
    assert len(plans) == 12
    assert len({tuple((each.l1, each.l2, each.deviation) for each in plan.measures) for plan in plans}) == 1
    for plan in plans[:4]:
        moved = change(plan, FULL)
        assert sum(map(abs, moved)) <= plan.measures[0].l1


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        # two diagnoses of three visits of two people: a diagnosis says its visit
        ("SELECT count(*) FROM visits v JOIN diagnoses d ON d.visit = v.visit", 2),
        ("SELECT count(*) FROM diagnoses d JOIN visits v ON d.visit = v.visit", 2),
        ("SELECT count(*) FROM people p JOIN visits v ON v.who = p.who JOIN diagnoses d ON d.visit = v.visit", 4),
        # both diagnoses at one visit, and two visits alone
        ("SELECT count(*) FROM visits v LEFT JOIN diagnoses d ON d.visit = v.visit", 4),
        ("SELECT count(*) FROM diagnoses d RIGHT JOIN visits v ON d.visit = v.visit", 4),
    ],
)
def test_one_unit_moves_a_join_by_all_that_is_planned_either_way(text: str, bound: int) -> None:
    plan = planned(text)
    assert plan.measures[0].l1 == bound
    assert sum(map(abs, change(plan, FULL))) == bound


def test_two_keys_that_say_each_other_count_once() -> None:
    both = Bound.of("a", 5).joined("b", 7, into=["a"], back=["a"])
    assert both.most == 5
    assert Bound.of("b", 7).joined("a", 5, into=["b"], back=["b"]).most == 5
    assert both.times("public", 3).most == 15
