"""The keys of an answer: known ones all, unknown ones by a rule, and nothing else of what the engine returned."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.answer.release import release
from tacit.curator import Curator
from tacit.engines.exact import Exact
from tacit.errors import QuestionError
from tacit.noise import secure
from tacit.noise.bits import SeededBitsForTestsOnly
from tests.curator.tables import COUNT

RECEIPT: Any = SimpleNamespace(sequence=7)


def test_known_keys_are_all_shown_also_empty_ones(shared: Curator) -> None:
    # a function of the key: WHERE leaves out every row, and narrows no key
    answer = shared.ask("SELECT sex, age, count(*) FROM people WHERE age * 2 > 1000 GROUP BY sex, age", epsilon=1)
    assert len(answer) == 3 * 101
    assert list(zip(answer["sex"], answer["age"], strict=True))[:2] == [("F", 0), ("F", 1)]
    assert {type(value) for value in answer["count"]} == {int}


def test_keys_that_are_dates_times_truths_and_nothing_read_as_such(shared: Curator) -> None:
    months = shared.ask("SELECT date_trunc('month', day) AS m, count(*) FROM people GROUP BY m", epsilon=1)
    assert [str(value) for value in months["m"]] == [*(f"2024-{month:02}-01" for month in range(1, 13)), "None"]
    members = shared.ask("SELECT member, count(*) FROM people GROUP BY member", epsilon=1)
    assert members["member"] == (False, True, None)
    # A moment is one person's: each of 221 is shown with probability 0.2/3. None of them is in one of 4 million runs,
    # and then nothing is seen of moments here, and nothing fails.
    seen = shared.ask("SELECT seen, count(*) FROM people GROUP BY seen", epsilon=50, delta="0.2")
    assert seen.kinds == ("timestamp", "integer")
    *moments, last = seen["seen"]
    assert {type(moment) for moment in moments} <= {datetime.datetime}
    assert last is None  # 20 people have none
    for answer in (months, members, seen):
        assert type(answer).from_bytes(answer.to_bytes()) == answer


def test_unknown_keys_need_a_delta(shared: Curator) -> None:
    before = shared.spent()
    with pytest.raises(QuestionError, match="delta"):
        shared.ask("SELECT town, count(*) FROM people GROUP BY town", epsilon=1)
    assert shared.spent() == before


def test_unknown_keys_come_sorted_whatever_the_engine_returned(shared: Curator, monkeypatch: Any) -> None:
    plan = shared.plan("SELECT town, count(*) FROM people GROUP BY town LIMIT 3", 50, delta="0.1")
    names = ["Zürich", None, "Ayr", "", "Bern"]
    for order in (names, names[::-1], sorted(names, key=str)):
        many = Exact([(name,) for name in order], {"m0": [10**6] * 5, str(plan.query.unit_column): [10**6] * 5})
        assert release(plan, lambda _, many=many: many, RECEIPT, "one", secure())["town"] == ("", "Ayr", "Bern")


def test_keys_with_few_units_are_not_shown_and_their_counts_not_looked_at(shared: Curator) -> None:
    plan = shared.plan("SELECT town, count(*) FROM people GROUP BY town", 1, delta="1e-9")
    units = str(plan.query.unit_column)
    exact = Exact([("rare",), ("common",), ("gone",)], {"m0": [10**6, 10**6, 10**6], units: [1, 10**5, 0]})
    answer = release(plan, lambda _: exact, RECEIPT, "one", secure())
    assert answer["town"] == ("common",)  # fails with probability below 1e-9
    assert "keys chosen by a rule" in answer.card()


def test_rows_of_the_engine_that_are_no_public_cell_are_dropped(shared: Curator) -> None:
    plan = shared.plan("SELECT sex, count(*) FROM people GROUP BY sex", 50)
    exact = Exact([("X",), ("M",)], {"m0": [10**6, 500]})
    answer = release(plan, lambda _: exact, RECEIPT, "one", secure())
    assert answer["sex"] == ("F", "M", None)
    assert [abs(value - truth) < 50 for value, truth in zip(answer["count"], (0, 500, 0), strict=True)] == [True] * 3


def test_seeded_bits_release_nothing(shared: Curator) -> None:
    plan = shared.plan(COUNT, 1)
    with pytest.raises(QuestionError, match="secure bits"):
        release(plan, lambda _: Exact([()], {"m0": [1]}), RECEIPT, "one", SeededBitsForTestsOnly(1))
