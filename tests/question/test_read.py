"""Text to tree: what is read, and that one way of saying a thing is read like another."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.errors import QuestionError
from tacit.question import read
from tacit.question.tree import (
    Aggregate,
    And,
    Arithmetic,
    Branch,
    Call,
    Case,
    Compare,
    In,
    IsNull,
    Join,
    Key,
    Like,
    Literal,
    Name,
    Named,
    Not,
    Or,
    Order,
    Output,
    Question,
)

AGE = Name(None, "age")


def output(expression: str) -> object:
    return read(f"SELECT {expression} FROM t").outputs[0].expression


def where(condition: str) -> object:
    return read(f"SELECT count(*) FROM t WHERE {condition}").where


def test_a_whole_question_is_read() -> None:
    found = read(
        "SELECT v.sex AS s, avg(age) a FROM visits AS v JOIN wards w ON v.ward = w.ward "
        "WHERE age > 17 GROUP BY s HAVING a >= 1.5 ORDER BY a DESC NULLS FIRST, 1 LIMIT 3"
    )
    sex, mean = Name("v", "sex"), Aggregate("avg", AGE)
    assert found == Question(
        source=Named("visits", "v"),
        joins=(Join(Named("wards", "w"), Compare("=", Name("v", "ward"), Name("w", "ward")), "inner"),),
        where=Compare(">", AGE, Literal(17)),
        keys=(Key("s", sex, written=Name(None, "s")),),  # a column s, if there is one, is for a plan to find
        outputs=(Output("s", sex), Output("a", mean)),
        having=Compare(">=", mean, Literal(Fraction(3, 2))),
        order=(Order(mean, True, True), Order(sex, False, False)),
        limit=3,
        rows_per_unit=None,
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sum(age)", "sum"),
        ("avg(age)", "avg"),
        ("variance(age)", "var_samp"),
        ("var_samp(age)", "var_samp"),
        ("var_pop(age)", "var_pop"),
        ("stddev(age)", "stddev_samp"),
        ("stddev_samp(age)", "stddev_samp"),
        ("stddev_pop(age)", "stddev_pop"),
        ("count(age)", "count"),
        ("count(DISTINCT age)", "count_units"),
    ],
)
def test_every_aggregate_has_its_kind(text: str, kind: str) -> None:
    assert output(text) == Aggregate(kind, AGE)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["count(*)", "count(1)", "count()", "COUNT('x')"])
def test_counting_rows_has_one_form(text: str) -> None:
    assert output(text) == Aggregate("count_rows", None)


def test_a_filter_is_a_case_and_is_not_dropped() -> None:
    condition = Compare(">", AGE, Literal(1))
    expected = Aggregate("sum", Case((Branch(condition, Name(None, "x")),), Literal(None)))
    assert output("sum(x) FILTER (WHERE age > 1)") == expected
    counted = Aggregate("count", Case((Branch(condition, Literal(1)),), Literal(None)))
    assert output("count(*) FILTER (WHERE age > 1)") == counted
    assert output("count_if(age > 1)") == counted


def test_conditions_become_few_kinds() -> None:
    assert where("age BETWEEN 1 AND 2") == And((Compare(">=", AGE, Literal(1)), Compare("<=", AGE, Literal(2))))
    assert where("age NOT IN (1, 2)") == Not(In(AGE, (Literal(1), Literal(2))))
    assert where("age IS NOT NULL") == Not(IsNull(AGE))
    assert where("age LIKE 'a%'") == Like(AGE, "a%", False)
    assert where("NOT age ILIKE 'a%'") == Not(Like(AGE, "a%", True))
    assert where("a = 1 AND b = 2 AND c = 3") == And(
        tuple(Compare("=", Name(None, name), Literal(n)) for name, n in (("a", 1), ("b", 2), ("c", 3)))
    )
    assert isinstance(where("a = 1 OR b = 2 OR c = 3"), Or)


def test_scalars_are_desugared() -> None:
    assert output("sum(coalesce(age, 0))") == Aggregate("sum", Case((Branch(Not(IsNull(AGE)), AGE),), Literal(0)))
    assert output("sum(nullif(age, 9))") == Aggregate(
        "sum", Case((Branch(Compare("=", AGE, Literal(9)), Literal(None)),), AGE)
    )
    assert output("sum(extract(year FROM age))") == output("sum(year(age))") == Aggregate("sum", Call("year", (AGE,)))
    assert output("sum(age)/2") == Arithmetic("/", Aggregate("sum", AGE), Literal(2))


def test_constants_are_exact() -> None:
    assert where("age > 0.1") == Compare(">", AGE, Literal(Fraction(1, 10)))
    assert where("age > -1.50e1") == Compare(">", AGE, Literal(-15))
    assert where("age > DATE '2024-02-29'") == Compare(">", AGE, Literal(datetime.date(2024, 2, 29)))
    moment = datetime.datetime(2024, 2, 29, 10)
    assert where("age > TIMESTAMP '2024-02-29 12:00:00+02:00'") == Compare(">", AGE, Literal(moment))


def test_rows_per_unit_is_an_option_of_the_table() -> None:
    assert read("SELECT count(*) FROM t(tacit_rows_per_unit => 4) v").source == Named("t", "v", 4)


def test_groups_can_be_named_by_place_alias_or_expression() -> None:
    by_place = read("SELECT year(d) AS y, count(*) FROM t GROUP BY 1")
    (key,) = read("SELECT year(d) AS y, count(*) FROM t GROUP BY y").keys
    assert (replace(key, written=None),) == by_place.keys
    assert key.written == Name(None, "y")  # which is a column's name before it is an output's
    assert by_place == read("SELECT year(d) AS y, count(*) FROM t GROUP BY year(d)")


def test_outputs_never_share_a_name() -> None:
    names = [each.name for each in read("SELECT count(*), count(*), count(*) AS count FROM t").outputs]
    assert len({name.lower() for name in names}) == 3


def test_an_error_says_where_and_what_to_do() -> None:
    with pytest.raises(QuestionError, match=r"'median2' is not on the list \(line 2, column 3\)\. Known: abs"):
        read("SELECT\n  median2(x) FROM t")
    with pytest.raises(QuestionError, match=r"'age' shows a single row's value \(line 1, column 8\)"):
        read("SELECT age FROM t")
    with pytest.raises(QuestionError, match="near line 1, column"):
        read("SELECT count(* FROM t")
    with pytest.raises(QuestionError, match=r"ARG_MAX\(x, y\).*not on the list"):
        read("SELECT arg_max(x, y) FROM t")


def test_other_dialects_are_read_by_their_own_rules() -> None:
    assert read("SELECT count(*) FROM `t` WHERE `age` > 1", "bigquery") == read(
        'SELECT count(*) FROM "t" WHERE age > 1'
    )
    with pytest.raises(QuestionError, match="dialect"):
        read("SELECT count(*) FROM t", "klingon")
