"""A question asked again, in whatever words, gets the stored answer and costs nothing; another one does not."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import statistics
from tacit.curator import Curator, open_policy
from tacit.curator.held import told_apart
from tacit.curator.keys import purchase_of
from tacit.engines.engine import STALE
from tacit.engines.sources import fingerprint
from tacit.errors import EngineError
from tests.curator.tables import COUNT, curated, people

SAME = [
    (
        "SELECT sex, count(*) AS n FROM people WHERE age > 20 AND pay < 500 GROUP BY sex",
        "select\tSEX,\n  COUNT( * )  howmany /* again */ from People where (pay<500) and AGE>20 group by Sex -- so",
    ),
    (
        "SELECT avg(age) FROM people WHERE sex IN ('F', 'M') OR age = 3",
        "SELECT AVG(p.age) AS mean FROM people AS p WHERE p.age = 3 OR p.sex IN ('M', 'F')",
    ),
    ("SELECT sum(pay) FROM people WHERE age BETWEEN 2 AND 5", "SELECT sum(pay) FROM people WHERE age<=5 AND age>=2"),
]


@pytest.mark.parametrize(("first", "again"), SAME)
def test_the_same_question_in_other_words_gets_the_stored_answer_for_free(
    shared: Curator, first: str, again: str
) -> None:
    answer = shared.ask(first, epsilon=1)
    spent, entries = shared.spent(), len(shared.ledger())
    repeated = shared.ask(again, epsilon=1)
    assert (answer.repeated, repeated.repeated) == (False, True)
    assert (repeated.columns, repeated.deviations, repeated.facts) == (answer.columns, answer.deviations, answer.facts)
    assert repeated.names == tuple(output.name for output in shared.plan(again, 1).outputs)
    assert (shared.spent(), len(shared.ledger())) == (spent, entries)
    assert "nothing charged" in str(repeated)


DIFFERENT: list[tuple[str, dict[str, Any]]] = [
    (COUNT, {"epsilon": "0.7"}),
    (COUNT, {"epsilon": "0.70001"}),
    (COUNT, {"epsilon": "0.7", "delta": "1e-4"}),
    (COUNT, {"epsilon": "0.7", "rows_per_unit": 2}),
    (COUNT + " WHERE age > 1", {"epsilon": "0.7"}),
    (COUNT + " WHERE age > 1 OR sex = 'F'", {"epsilon": "0.7"}),
    (COUNT + " WHERE age > 1 AND sex = 'F'", {"epsilon": "0.7"}),
    (COUNT + " WHERE sex = 'f'", {"epsilon": "0.7"}),
    ("SELECT count(*), sum(age) FROM people", {"epsilon": "0.7"}),
    ("SELECT count(*) AS a, sum(age) AS b FROM people", {"epsilon": "0.7", "weights": {"a": 2}}),
    ("SELECT count(*) AS a, sum(age) AS b FROM people", {"epsilon": "0.7", "weights": {"b": 2}}),
    ("SELECT sum(age), count(*) FROM people", {"epsilon": "0.7"}),
]


def test_what_shapes_the_answer_makes_another_question(shared: Curator) -> None:
    for sql, options in DIFFERENT:
        before = shared.spent()
        assert not shared.ask(sql, **options).repeated, (sql, options)
        assert shared.spent().loss > before.loss


def test_a_tenth_is_a_tenth_however_it_is_written(shared: Curator) -> None:
    sql = COUNT + " WHERE age = 77"
    shared.ask(sql, epsilon=0.1)
    for same in ("0.1", "1/10", Fraction(1, 10), np.float64(0.1)):
        assert shared.ask(sql, epsilon=same).repeated
    assert shared.plan(sql, 1, delta=1e-7).delta == Fraction(1, 10**7)
    assert shared.plan(sql, rho=0.1, delta=1e-7).measures[0].mechanism.event.sigma ** 2 * Fraction(1, 5) >= 9


def test_another_table_under_the_same_ledger_gets_no_stored_answer(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "heads"))
    options = {"ledger": str(tmp_path / "spent.ledger")}
    with curated(**options) as first:
        first.ask(COUNT, epsilon=1)
    with curated(people(9), **options) as second:
        assert not second.ask(COUNT, epsilon=1).repeated
        charges = [entry for entry in second.ledger() if entry.kind == "charged"]
        assert len(charges) == 2


POLICY = """
name = "clinic"
ledger = "spent.ledger"
[budget]
epsilon = 5
delta = 1e-6
[questions]
default_epsilon = 0.5
largest_epsilon = 2
[tables.people]
source = "people.csv"
unit = "pid"
rows_per_unit = 2
[tables.people.columns]
age = { type = "integer", between = [0, %d] }
"""


def test_a_policy_file_with_other_bounds_or_changed_rows_gets_no_stored_answer(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "heads"))
    policy, rows = tmp_path / "clinic.toml", tmp_path / "people.csv"
    rows.write_text("pid,age\n" + "".join(f"{row},{row % 50}\n" for row in range(100)))
    sql = "SELECT count(*) FROM people WHERE age >= 50"  # its noise is the same under other bounds, its truth is not
    policy.write_text(POLICY % 100)
    with open_policy(policy) as curator:
        first = curator.ask(sql)
        assert curator.ask(sql) == first
    with open_policy(policy) as curator:
        assert curator.ask(sql).repeated
        assert curator.ask(sql) == first
        os.utime(rows, (1, 1))
        before = curator.spent()
        with pytest.raises(EngineError, match="changed since") as caught:
            curator.ask(sql)
        assert str(caught.value) == STALE
        assert curator.spent() == before
    with open_policy(policy) as curator:
        assert not curator.ask(sql).repeated
    policy.write_text(POLICY % 50)
    with open_policy(policy) as curator:
        assert not curator.ask(sql).repeated


def test_no_guess_of_what_a_file_is_like_can_be_tried_against_a_key(tmp_path: Path, monkeypatch: Any) -> None:
    """Analysts see the keys of their charges. A file's size is known to who knows all rows but one person's."""
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "heads"))
    policy, rows = tmp_path / "clinic.toml", tmp_path / "people.csv"
    rows.write_text("pid,age\n" + "".join(f"{row},{row % 50}\n" for row in range(100)))
    policy.write_text(POLICY % 100)
    with open_policy(policy) as curator:
        curator.ask(COUNT)
        mean = statistics.mean(curator.rows("SELECT age FROM people"), epsilon="0.5")
        guessed = [*told_apart(curator.policy), fingerprint(curator.policy)]  # right in every part
        plan = curator.plan(COUNT)
        keys = {str(entry.key) for entry in curator.ledger() if entry.kind == "charged"}
        assert len(keys) == 2
        assert mean.value is not None
        assert curator._till.data() != guessed
        assert purchase_of(plan, curator._till.data()).key in keys
        assert purchase_of(plan, guessed).key not in keys
        seen = json.dumps([entry.to_dict() for entry in curator.ledger() if entry.kind != "registered"])
        assert curator._ledger._identity not in seen


def test_the_same_question_asked_at_once_by_many_is_drawn_once(shared: Curator) -> None:
    before = len(shared.ledger())
    sql = "SELECT sex, count(*) FROM people WHERE age < 55 GROUP BY sex"
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: shared.ask(sql, epsilon=1), range(6)))
    assert all(answer == answers[0] for answer in answers)
    assert [entry.kind for entry in shared.ledger()[before:]] == ["charged", "answered"]
