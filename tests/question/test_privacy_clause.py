"""What a question says about its own price: read exactly, or refused by name and place."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import QuestionError
from tacit.question import canonical, read
from tacit.question.tree import Privacy

COUNT = "SELECT count(*) FROM visits"


def test_our_own_clause_at_the_end_is_read_as_written() -> None:
    found = read(f"{COUNT} WITH PRIVACY (epsilon = 0.1, rows_per_unit = 4, groups_per_unit = 3, delta = 1e-6);")
    assert found.privacy == Privacy(Fraction(1, 10), Fraction(1, 10**6), 4, 3)
    assert read(f"{COUNT} with privacy(EPSILON=.5)").privacy == Privacy(Fraction(1, 2))


@pytest.mark.parametrize("dialect", ["duckdb", "bigquery", "postgres", "spark"])
def test_the_clause_of_bigquery_after_select_is_read_as_written(dialect: str) -> None:
    options = (
        "epsilon = 0.5, delta = 1e-6, max_groups_contributed = 3, max_rows_contributed = 5, privacy_unit_column = id"
    )
    found = read(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) sex, count(*) FROM visits GROUP BY sex", dialect)
    assert found.privacy == Privacy(Fraction(1, 2), Fraction(1, 10**6), 5, 3, "id")
    assert [output.name for output in found.outputs] == ["sex", "count"]


def test_a_question_is_the_same_question_with_and_without_its_price() -> None:
    plain = read("SELECT sex, count(*) FROM visits GROUP BY sex")
    for text in (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 2) sex, count(*) FROM visits GROUP BY sex",
        "SELECT WITH DIFFERENTIAL_PRIVACY sex, count(*) FROM visits GROUP BY sex",
        "SELECT sex, count(*) FROM visits GROUP BY sex WITH PRIVACY (epsilon = 2)",
    ):
        assert canonical(read(text)) == canonical(plain)
    assert plain.privacy is None


def test_with_still_names_selects_even_one_called_privacy() -> None:
    named = "WITH privacy AS (SELECT id, age FROM visits) SELECT count(*) FROM privacy"
    assert read(named).privacy is None
    assert read(f"{named} WITH PRIVACY (epsilon = 1)").privacy == Privacy(Fraction(1))
    first = "WITH a AS (SELECT id FROM visits) SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) count(*) FROM a"
    assert read(first).privacy == Privacy(Fraction(1))
    assert read('SELECT count("with privacy (epsilon = 1)") FROM visits').privacy is None
    assert read("SELECT count(*) FROM visits WHERE ward = 'WITH PRIVACY (epsilon = 1)'").privacy is None


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("epsilom = 1", r"'epsilom' is not known here \(line 2, column 17\).*Options: epsilon.*Did you mean 'epsilon'"),
        ("rho = 1", "'rho' is not known"),
        ("epsilon = 1, epsilon = 1", "stands twice"),
        ("epsilon = -1", "takes a number"),
        ("epsilon = 0", "above 0"),
        ("epsilon = 1/3", "takes a number"),
        ("epsilon = '1'", "takes a number"),
        ("epsilon = x", "takes a number"),
        ("epsilon = 1 2", "takes a number"),
        ("epsilon = . 5", "takes a number"),
        ("epsilon = 1e999999999", "takes a number"),
        ("epsilon = (1)", "takes a number"),
        ("epsilon = (SELECT 1)", "takes a number"),
        ("epsilon => 1", "name = value"),
        ("epsilon 1", "name = value"),
        ("epsilon =", "name = value"),
        ("'epsilon' = 1", "name = value"),
        ("epsilon = 1,", "commas between"),
        (", epsilon = 1", "commas between"),
        ("", "name = value"),
        ("delta = 1", "below 1"),
        ("rows_per_unit = 0", "at least 1"),
        ("rows_per_unit = 1.5", "whole number"),
        ("rows_per_unit = 99999999999", "whole number"),
        ("groups_per_unit = 0", "at least 1"),
        ("privacy_unit_column = id", "not known"),
    ],
)
def test_what_is_not_an_option_is_refused_by_name_and_place(clause: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        read(f"{COUNT}\n  WITH PRIVACY ({clause})")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(kappa = 1) count(*) FROM t", "'kappa'.*Options: epsilon"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 1) count(*) FROM t", "'rows_per_unit' is not known"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = v.id) count(*) FROM t", "plain name"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = 'id') count(*) FROM t", "plain name"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1 count(*) FROM t", "never closed"),
        ("SELECT count(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY id FROM t) x", "outermost"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY count(*) FROM t; SELECT WITH DIFFERENTIAL_PRIVACY 1", "once"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY count(*) FROM t WITH PRIVACY (epsilon = 1)", "twice"),
        (f"{COUNT} WITH PRIVACY (epsilon = 1) WITH PRIVACY (epsilon = 1)", "very end"),
        (f"{COUNT} WITH PRIVACY (epsilon = 1) LIMIT 3", r"very end of the question \(line 1, column 29\)"),
        ("SELECT count(*) FROM (SELECT id FROM t WITH PRIVACY (epsilon = 1)) x", "very end"),
        ("WITH PRIVACY (epsilon = 1)", "very end"),
        (f"{COUNT} WITH PRIVACY (epsilon = 1", "never closed"),
    ],
)
def test_a_clause_in_another_place_or_twice_is_refused(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        read(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [("", ""), ("", " WITH PRIVACY (delta = 0)"), ("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) ", "")],
)
def test_places_in_other_messages_stay_right(before: str, after: str) -> None:
    text = f"SELECT {before}count(*),\n  no_such_function(age) FROM visits{after}"
    with pytest.raises(QuestionError, match=r"'no_such_function' is not on the list \(line 2, column 3\)"):
        read(text)
    with pytest.raises(QuestionError, match=rf"line 1, column {8 + len(before)}\)"):
        read(f"SELECT {before}x FROM visits{after}")
