"""Many random neighbours, counted: how far the exact results of pushed-down queries lie apart, against the plan.

    python tests/plan/soak.py narrow 20000          one private table and public ones
    python tests/plan/soak.py wide 20000 7          joins, SELECTs inside, levels, few groups; seeds from 7 on

A case is one question on one random database and on the same without one unit. Seeds are printed; a violation stops the
run with hypothesis' own report of the example.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import duckdb
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.plan import test_neighbours, test_neighbours_wide

CHUNK = 100
PARTS: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "narrow": (
        test_neighbours,
        "test_neighbours_never_differ_by_more_than_the_planned_sensitivity",
        (test_neighbours.policies(), st.lists(test_neighbours.questions(), min_size=3, max_size=3)),
    ),
    "wide": (
        test_neighbours_wide,
        "test_no_unit_moves_a_wide_question_by_more_than_planned",
        (
            test_neighbours_wide.databases(),
            st.lists(test_neighbours_wide.questions(), min_size=3, max_size=3),
            st.sampled_from([None, None, 1, 2]),
        ),
    ),
}


def main(name: str, wanted: int, first: int) -> None:
    module, test, strategies = PARTS[name]
    inner, compare = getattr(module, test).hypothesis.inner_test, module.check_pair
    cases = 0

    def counted(*arguments: Any) -> None:
        nonlocal cases
        compare(*arguments)
        cases += 1

    module.check_pair = counted
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE SCHEMA kept; CREATE SCHEMA tacit_copy; SET VARIABLE gone = -1; SET VARIABLE turn = 1")
    started, number = time.monotonic(), first

    while cases < wanted:

        @settings(
            max_examples=CHUNK,
            phases=[Phase.generate],
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @seed(number)
        @given(st.tuples(*strategies))
        def run(drawn: tuple[Any, ...]) -> None:
            inner(connection, *drawn)

        run()
        sys.stdout.write(f"{name}: seed {number}, {cases:,} cases, {time.monotonic() - started:.0f} s\n")
        sys.stdout.flush()
        number += 1
    sys.stdout.write(f"{name}: {cases:,} cases without a violation, seeds {first} to {number - 1}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
