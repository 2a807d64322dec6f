"""What the ledger shows as the question: the canonical text, written like SQL again."""

from __future__ import annotations

import json

import pytest

from tacit.doors.readable import in_words
from tacit.question import canonical, read


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from t",
        "select avg(a), sum(b) / count(*) from t where a > 3 and not (b is null)",
        "select sex, count(*) from t where (a = 1 or a = 2) group by sex having count(*) > 5 order by count(*) desc",
        "select floor(a / 10) * 10, count(b) from t group by floor(a / 10) * 10 limit 3",
        "select count(*) from t where name like 'A%' and town in ('x', 'y')",
        "select count(*) from t where -a < 2 * (b - 1)",
    ],
)
def test_what_is_shown_asks_the_same_question(sql: str) -> None:
    question = canonical(read(sql))
    assert canonical(read(in_words(question))) == question


def test_a_join_names_its_table() -> None:
    shown = in_words(canonical(read("SELECT count(*) FROM t LEFT JOIN codes c ON c.code = t.code")))
    assert "left join codes" in shown


def test_a_text_that_is_no_question_is_shown_as_it_is() -> None:
    assert in_words("[1, 2]") == "[1, 2]"


def test_a_study_and_a_publication_are_told_by_what_they_are_of() -> None:
    rows = canonical(read("SELECT count(*) FROM (SELECT age FROM visits)"))
    study = {"is": "Study", "study": "median", "columns": ["age"], "rows": rows}
    assert in_words(json.dumps(study)) == "median(age) of (select age from visits)"
    site = {"is": "Study", "study": "publish", "questions": [["key", canonical(read("SELECT count(*) FROM t"))]]}
    shown = in_words(json.dumps({**site, "studies": [study]}))
    assert shown == "publish: select count(*) from t; median(age) of (select age from visits)"


def test_an_unknown_part_is_shown_by_its_name() -> None:
    known = canonical(read("SELECT sum(a) FROM t"))
    assert "Riddle(...)" in in_words(known.replace('"is":"Name"', '"is":"Riddle"'))


def test_a_watch_is_told_by_its_question_and_its_periods() -> None:
    question = canonical(read("SELECT ward, count(*) AS n FROM visits GROUP BY ward"))
    asked = {"is": "Study", "study": "watch", "every": "28 days, 0:00:00", "question": question}
    told = in_words(json.dumps(asked))
    assert told == "watch every 28 days: select ward, count(*) from visits group by ward"
