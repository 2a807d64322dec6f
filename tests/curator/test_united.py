"""UNION ALL of answers: the rows of all, one charge, shares of epsilon that add up, and nothing that compares them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import tacit
from tacit import Budget, between
from tacit.curator.united import plan_united
from tacit.errors import BudgetExceeded, ParameterError, QuestionError
from tacit.loss import compose
from tacit.plan.asked import Asked
from tacit.question import United, read, read_asked
from tests.curator.towns import ROWS, charges, opened
from tests.memory import fresh
from tests.plan.copies import clinic

MUCH = 10**8
"""So much that no noise is left: a sum that moves by a cent has probability below e**-1,000."""


@pytest.fixture
def curator() -> Iterator[tacit.Curator]:
    with opened(10**10) as found:
        yield found


@pytest.fixture(scope="module")
def shared() -> Iterator[tacit.Curator]:
    """For tests that are refused, or that count what they alone were charged."""
    with opened(10**10) as found:
        yield found


TWO = "SELECT 'all' AS what, count(*) AS n FROM data UNION ALL SELECT 'dear', count(*) FROM data WHERE pay > 25"


PLAIN = [
    TWO,
    TWO + " ORDER BY n",
    TWO + " ORDER BY 1 DESC LIMIT 1",
    TWO + " ORDER BY n DESC LIMIT 1 OFFSET 1",
    f"({TWO})",
    "SELECT town, count(*) AS n FROM data GROUP BY town UNION ALL SELECT sex, count(*) FROM data GROUP BY sex "
    "ORDER BY n DESC, town",
    "SELECT count(*) AS n FROM data WHERE sex = 'F' UNION ALL SELECT count(*) FROM data WHERE sex = 'M'",
    "SELECT 'all' AS town, sum(pay) AS s FROM data UNION ALL SELECT town, sum(pay) FROM data GROUP BY town",
    "SELECT count(*) AS a, NULL AS b FROM data UNION ALL SELECT NULL, count(*) FROM data ORDER BY b NULLS FIRST",
    "(SELECT town, count(*) AS n FROM data GROUP BY town ORDER BY n DESC, town LIMIT 1) "
    "UNION ALL SELECT 'x', 2 * count(*) FROM data",
    f"WITH u AS ({TWO}) SELECT * FROM u ORDER BY n",
    f"SELECT what, n / 2 AS half FROM ({TWO}) u WHERE n > 300 OR u.what = 'dear' ORDER BY what",
    "WITH a AS (SELECT count(*) AS n FROM data), b AS (SELECT count(*) AS m FROM data WHERE sex = 'F') "
    "SELECT n FROM a UNION ALL SELECT m FROM b",
    "SELECT n FROM (SELECT sex AS s, count(*) AS n FROM data GROUP BY s UNION ALL "
    "SELECT town AS t, count(*) FROM data GROUP BY t) ORDER BY 1",
    "SELECT count(*) AS n FROM data UNION ALL SELECT count(DISTINCT who) FROM data UNION ALL SELECT avg(pay) FROM data",
]


@pytest.mark.parametrize("text", PLAIN)
def test_the_rows_are_those_of_plain_sql_where_no_noise_is_left(shared: tacit.Curator, text: str) -> None:
    with fresh() as connection:
        connection.register("data", ROWS)
        expected = connection.execute(text).fetchall()
    before = charges(shared)
    answer = shared.ask(text, MUCH + PLAIN.index(text))  # each at a price of its own: sorting makes no other question
    found = [tuple(round(cell, 2) if isinstance(cell, float) else cell for cell in row) for row in answer.rows()]
    exact = [tuple(round(float(c), 2) if isinstance(c, (int, float)) else c for c in row) for row in expected]
    if "ORDER BY" in text.rpartition(")")[2]:
        assert found == exact
    else:
        assert Counter(found) == Counter(exact)
    assert charges(shared) == before + 1


def test_all_of_it_is_one_charge_and_asked_again_it_is_free(curator: tacit.Curator) -> None:
    first = curator.ask(TWO, 1)
    again = curator.ask(TWO + " ORDER BY n", 1)  # sorting is no other question
    assert charges(curator) == 1
    assert again.repeated
    assert not first.repeated
    assert sorted(first["n"]) == list(again["n"])
    parts = TWO.split(" UNION ALL ")
    both = curator.ask_all(parts, 1)
    assert charges(curator) == 1
    assert [each["n"] if "n" in each.names else each.columns[1] for each in both] == [(n,) for n in first["n"]]


def test_epsilon_and_delta_are_shared_and_add_up_to_what_was_asked() -> None:
    for delta in ("0", "1/1000000"):
        text = "SELECT 'v' AS w, count(*) AS n FROM visits UNION ALL SELECT 'a', sum(score) FROM visits WHERE age > 30"
        text += " UNION ALL SELECT ward, count(*) FROM visits GROUP BY ward" if delta != "0" else ""
        asked = read_asked(text)
        assert isinstance(asked, United)
        plan = plan_united(asked, clinic(), Asked.of(1, delta=delta))
        assert (plan.epsilon, plan.delta) == (1, Fraction(delta))
        assert compose([plan.event]).epsilon(float(Fraction(delta))) <= 1 + 1e-9
        assert {each.epsilon for _, each in plan.plans} == {Fraction(1, len(asked.parts))}
        assert plan.event.to_json().count(plan.plans[0][1].event.to_json()) >= 1


def test_disjoint_parts_cost_what_one_of_them_would() -> None:
    text = "SELECT count(*) AS n FROM visits WHERE sex = 'F' UNION ALL SELECT count(*) FROM visits WHERE sex = 'M'"
    asked = read_asked(text)
    assert isinstance(asked, United)
    plan = plan_united(asked, clinic(), Asked.of(1))
    assert len(plan.plans) == 1
    alone = clinic()
    assert plan.plans[0][1].measures[0].deviation == pytest.approx(
        tacit.plan.make_plan(read("SELECT sex, count(*) FROM visits GROUP BY sex"), alone, epsilon=1)
        .measures[0]
        .deviation
    )


def test_the_charge_in_the_ledger_is_that_of_the_whole(curator: tacit.Curator) -> None:
    answer = curator.ask(TWO, "1/2", delta="1e-6")
    (entry,) = (entry for entry in curator.ledger() if entry.kind == "charged")
    assert json.loads(entry.content)["event"] == json.loads(answer.receipt["event"])
    assert (answer.receipt["epsilon"], answer.receipt["delta"]) == ("1/2", "1/1000000")
    assert "epsilon = 0.5" in answer.card()


def test_it_is_charged_as_a_whole_or_not_at_all() -> None:
    with tacit.protect(ROWS, unit="who", rows_per_unit=2, columns={"pay": between(0, 50)}, budget=Budget(1)) as small:
        text = "SELECT count(*) AS n FROM data UNION ALL SELECT count(*) FROM data WHERE pay > 3"
        with pytest.raises((BudgetExceeded, ParameterError)):
            small.ask(text, 2)
        assert charges(small) == 0
        small.ask(text, 1)
        with pytest.raises(BudgetExceeded):
            small.ask(text + " UNION ALL SELECT sum(pay) FROM data", "0.01")


def test_intervals_go_along_with_their_rows(curator: tacit.Curator) -> None:
    answer = curator.ask(
        "SELECT 7 AS n FROM data GROUP BY sex UNION ALL SELECT count(*) FROM data UNION ALL SELECT sum(pay) FROM data "
        "ORDER BY n DESC",
        1,
    )
    (spreads,) = answer.deviations
    assert spreads is not None
    by_value = sorted(zip(answer["n"], spreads, strict=True))
    assert [spread for _, spread in by_value].count(0.0) == 2  # the constants
    assert max(spreads) > 10 * sorted(spreads)[2]  # of the sum, and of the count
    for value, (low, high) in zip(answer["n"], answer.intervals()["n"], strict=True):
        assert low <= value <= high


def test_a_picked_value_leaves_its_column_without_intervals(curator: tacit.Curator) -> None:
    answer = curator.ask("SELECT count(*) AS n FROM data UNION ALL SELECT median(pay) FROM data", 10)
    assert answer.deviations == (None,)
    assert answer.intervals() == {}


def test_whole_numbers_beside_reals_are_reals_and_lists_too(curator: tacit.Curator) -> None:
    answer = curator.ask("SELECT count(*) AS n FROM data UNION ALL SELECT avg(pay) FROM data", 10)
    assert answer.kinds == ("real",)
    assert all(type(value) is float for value in answer["n"])
    lists = curator.ask(
        "SELECT quantile(pay, [0.5]) AS q FROM data UNION ALL SELECT quantile(floor(pay), [0.1, 0.5]) FROM data", 10
    )
    assert lists.kinds == ("real[]",)
    assert [len(each) for each in lists["q"]] == [1, 2]
    assert all(type(value) is float for each in lists["q"] for value in each)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT count(*) FROM data UNION SELECT count(*) FROM data", "UNION ALL"),
        ("SELECT count(*) FROM data INTERSECT SELECT count(*) FROM data", "INTERSECT"),
        ("SELECT count(*) FROM data EXCEPT ALL SELECT count(*) FROM data", "EXCEPT"),
        ("SELECT count(*) AS n FROM data UNION ALL BY NAME SELECT count(*) AS n FROM data", "column by column"),
        ("SELECT count(*), sum(pay) FROM data UNION ALL SELECT count(*) FROM data", "same number of columns"),
        ("SELECT 'a' AS x, count(*) FROM data UNION ALL SELECT count(*), count(*) FROM data", "of one kind"),
        (
            "SELECT sex, count(*) FROM data GROUP BY 1 UNION ALL SELECT pay > 3, count(*) FROM data GROUP BY 1",
            "one kind",
        ),
        ("SELECT pay FROM data UNION ALL SELECT count(*) FROM data", "single row"),
        ("SELECT count(*) FROM data UNION ALL SELECT pay FROM data", "single row"),
        ("SELECT who FROM data UNION ALL SELECT who FROM data", "single row|whose row"),
        (
            "SELECT * FROM (SELECT who, count(*) AS n FROM data GROUP BY who "
            "UNION ALL SELECT who, 1 FROM data GROUP BY who)",
            "whose row",
        ),
        ("SELECT pay FROM (SELECT pay FROM data UNION ALL SELECT pay FROM data)", "single row"),
        ("SELECT count(*) AS n FROM data UNION ALL SELECT count(*) FROM data ORDER BY n + 1", "columns of the result"),
        ("SELECT count(*) AS n FROM data UNION ALL SELECT count(*) FROM data ORDER BY pay", "columns of the result"),
        ("SELECT count(*) AS n FROM data UNION ALL SELECT count(*) FROM data ORDER BY 2", "columns of the result"),
        ("SELECT histogram(sex) AS h FROM data UNION ALL SELECT histogram(sex) FROM data ORDER BY h", "no order"),
        ("SELECT histogram(sex) AS h FROM data UNION ALL SELECT count(*) FROM data", "of one kind"),
        (
            "SELECT count(*) FROM data UNION ALL "
            "(SELECT count(*) FROM data UNION ALL SELECT 2 * count(*) FROM data LIMIT 1)",
            "LIMIT",
        ),
        ("SELECT count(*) FROM data UNION ALL SELECT count(*) FROM data LIMIT -1", "LIMIT"),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) count(*) FROM data "
            "UNION ALL SELECT count(*) FROM data",
            "one price",
        ),
        ("SELECT count(*) FROM data UNION ALL VALUES (1)", "whole rows"),
        ("SELECT sum(n) FROM (SELECT count(*) AS n FROM data UNION ALL SELECT count(*) FROM data)", "GROUP BY"),
        ("SELECT count(*) + (SELECT count(*) FROM data UNION ALL SELECT 1 FROM data) FROM data", "one number"),
        ("SELECT count(*) AS n FROM data UNION ALL SELECT n FROM (SELECT count(*) AS n FROM data LIMIT 1)", "LIMIT"),
    ],
)
def test_what_cannot_be_put_together_is_refused_before_anything_is_charged(
    shared: tacit.Curator, text: str, words: str
) -> None:
    before = charges(shared)
    with pytest.raises(QuestionError, match=words):
        shared.ask(text, 1)
    assert charges(shared) == before


def test_one_select_that_is_refused_refuses_all(shared: tacit.Curator) -> None:
    before = charges(shared)
    with pytest.raises(QuestionError, match="delta"):
        shared.ask("SELECT 'a' AS k, count(*) FROM data UNION ALL SELECT free, count(*) FROM data GROUP BY free", 1)
    assert charges(shared) == before


def test_its_price_may_stand_at_its_end(curator: tacit.Curator) -> None:
    answer = curator.ask(TWO + " WITH PRIVACY (epsilon = 2, rows_per_unit = 1)")
    assert answer.receipt["epsilon"] == "2"
    assert answer.receipt["rows_per_unit"] == "1"
    with pytest.raises(QuestionError, match="Say it once"):
        curator.ask(TWO + " WITH PRIVACY (epsilon = 2)", 3)


@pytest.mark.parametrize(
    "options", [{"rho": "0.1", "delta": "1e-6"}, {"within": 100}, {"epsilon": 1, "weights": {"n": 2}}]
)
def test_other_prices_than_epsilon_are_refused(shared: tacit.Curator, options: dict[str, Any]) -> None:
    with pytest.raises(QuestionError, match="does not go with a UNION ALL"):
        shared.ask(TWO, **options)


def test_more_than_the_largest_epsilon_is_refused_though_each_share_is_below_it() -> None:
    asked = read_asked("SELECT count(*) AS n FROM visits UNION ALL SELECT sum(score) FROM visits WHERE age > 3")
    assert isinstance(asked, United)
    with pytest.raises(ParameterError, match="largest"):
        plan_united(asked, clinic(), Asked.of(101))


def test_estimate_and_explain_speak_of_every_select(shared: tacit.Curator) -> None:
    before = charges(shared)
    estimate = shared.estimate(TWO, 1)
    assert [each.name for each in estimate.errors] == ["n of SELECT 1", "n of SELECT 2"]
    assert estimate.epsilon == 1
    assert estimate.share is not None
    told = shared.explain(TWO, 1)
    assert "SELECT 1:" in told
    assert "SELECT 2:" in told
    assert told.count("COUNT(") >= 2
    assert charges(shared) == before
    with pytest.raises(QuestionError, match="one by one"):
        shared.why(TWO, 1)
    with pytest.raises(QuestionError, match="one by one"):
        shared.plan(TWO, 1)


def test_it_cannot_stand_where_one_question_is_needed(shared: tacit.Curator) -> None:
    with pytest.raises(QuestionError, match="one by one"):
        shared.ask_all([TWO, "SELECT count(*) FROM data"], 1)
    with pytest.raises(QuestionError):
        shared.rows(TWO)


def test_names_and_types_do_not_depend_on_rows(curator: tacit.Curator) -> None:
    some = curator.ask(TWO, 1)
    none = curator.ask(TWO + " LIMIT 0", 1)
    assert len(none) == 0
    assert (some.names, some.kinds) == (none.names, none.kinds)
    assert some.to_arrow().schema == none.to_arrow().schema


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n FROM (SELECT count(*) AS n FROM data UNION ALL SELECT sum(pay) FROM data) u TABLESAMPLE 1%",
        "SELECT n FROM (SELECT count(*) AS n FROM data UNION ALL SELECT sum(pay) FROM data) u TABLESAMPLE 0 ROWS",
        "SELECT n FROM (SELECT count(*) n FROM data UNION ALL SELECT sum(pay) FROM data) PIVOT (sum(n) FOR n IN (1))",
        "SELECT WITH /* a */ DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, privacy_unit_column=sex) count(*) FROM data "
        "UNION ALL SELECT sum(pay) FROM data",
        "SELECT sum(pay) FROM data UNION ALL SELECT WITH\n-- a\nDIFFERENTIAL_PRIVACY count(*) FROM data",
    ],
)
def test_nothing_that_is_said_about_a_union_is_dropped(shared: tacit.Curator, text: str) -> None:
    before = charges(shared)
    with pytest.raises(QuestionError):
        shared.ask(text, 1)
    assert charges(shared) == before


def test_words_in_a_text_are_no_price(curator: tacit.Curator) -> None:
    found = curator.ask(
        "SELECT 'WITH DIFFERENTIAL_PRIVACY' AS what, count(*) AS n FROM data UNION ALL SELECT 'b', count(*) FROM data "
        "WITH PRIVACY (epsilon = 1)"
    )
    assert found["what"] == ("WITH DIFFERENTIAL_PRIVACY", "b")


@pytest.mark.parametrize("chance", ["rank() OVER (ORDER BY count(*))", "median(pay)"])
def test_values_that_chance_decides_untold_leave_their_column_without_intervals(
    curator: tacit.Curator, chance: str
) -> None:
    found = curator.ask(f"SELECT {chance} AS n FROM data GROUP BY town UNION ALL SELECT count(*) FROM data", MUCH)
    assert found.intervals() == {}
    known = curator.ask("SELECT 7 AS n, count(*) AS m FROM data UNION ALL SELECT count(*), 8 FROM data", MUCH)
    assert known.intervals()["n"][0] == (7, 7)


def test_a_count_beside_a_mean_keeps_the_reach_of_noise_in_whole_numbers(curator: tacit.Curator) -> None:
    """Shown as reals they lost it: 2.1 deviations, for noise whose steps lie beyond that more often than they may."""
    sql = "SELECT count(*) AS a FROM data UNION ALL SELECT avg(pay) FROM data WHERE pay > 3"
    for epsilon in (1, 2, 4, 6, 8):  # of which each SELECT has a half
        united = curator.ask(sql, 2 * epsilon)
        ((low, high), _), ((least, most),) = (
            united.intervals()["a"],
            curator.ask("SELECT count(*) AS a FROM data", epsilon).intervals()["a"],
        )
        assert united.kinds == ("real",)
        assert high - low >= most - least


def test_whole_numbers_beside_each_other_stay_so_and_bounds_still_cut_intervals(curator: tacit.Curator) -> None:
    both = curator.ask("SELECT count(*) AS a FROM data UNION ALL SELECT count(*) FROM data WHERE pay > 3", "0.01")
    assert both.whole == (1,)
    means = curator.ask("SELECT avg(pay) AS a FROM data UNION ALL SELECT avg(pay) FROM data WHERE pay > 3", "0.001")
    assert all(high - low <= 2 * 50 for low, high in means.intervals()["a"])


def test_noisy_values_that_decide_which_rows_of_all_are_shown_are_spoken_of(curator: tacit.Curator) -> None:
    sql = "SELECT town, count(*) AS a FROM data GROUP BY town UNION ALL SELECT sex, count(*) FROM data GROUP BY sex"
    assert curator.ask(sql, 1).notes == ()
    (note,) = curator.ask(f"{sql} ORDER BY a DESC LIMIT 2", 1).notes
    assert note.startswith("Noisy values decide which rows are shown")


def test_an_estimate_of_several_speaks_of_columns_by_names_that_were_asked_for(curator: tacit.Curator) -> None:
    sql = "SELECT count(*) > 3 AS big FROM data UNION ALL SELECT count(*) > 5 FROM data"
    (note,) = curator.estimate(sql, 1).plan.notes
    assert note.startswith("Noisy numbers decide big:")
