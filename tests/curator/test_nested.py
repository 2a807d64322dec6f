"""Cells that hold several values: lists of quantiles and histograms, from the question to a dataframe."""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tacit.answer import Answer
from tacit.curator import Curator
from tacit.errors import QuestionError, TacitError
from tacit.plan import make_plan
from tacit.policy import Column
from tacit.question import canonical, read
from tests.curator.visits import ALL, in_plain_duckdb, policy_of


def _visits() -> pa.Table:
    draw = random.Random(8)
    rows = [
        {
            "pid": row // 3,
            "ward": draw.choice("xyyz"),
            "age": draw.randrange(40),
            "pay": draw.randrange(400) / 4,
            "day": datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randrange(300)),
            "seen": draw.choice([True, False, None]),
            "town": f"town {row % 4}",
        }
        for row in range(900)
    ]
    return pa.Table.from_pylist(rows)


VISITS = _visits()
COLUMNS = [
    Column("ward", "text", values=("x", "y", "z"), nullable=False),
    Column("age", "integer", 0, 39, nullable=False),
    Column("pay", "real", Fraction(0), Fraction(100), nullable=False),
    Column("day", "date", datetime.date(2024, 1, 1), datetime.date(2024, 12, 31), nullable=False),
    Column("seen", "boolean"),
    Column("town", "text", nullable=False),  # of which nobody knows the values
]
POLICY = policy_of(COLUMNS)


@pytest.fixture(scope="module")
def clinic() -> Iterator[Curator]:
    with Curator(POLICY, frames={"visits": VISITS}) as curator:
        yield curator


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with in_plain_duckdb(VISITS) as connection:
        yield connection


LISTS = [
    ("quantile_disc(age, [0.25, 0.5, 0.75])", "quantile_disc(age, [0.25, 0.5, 0.75])", "integer[]"),
    ("quantile_cont(age, [0.9, 0.1, 0.9])", "quantile_disc(age, [0.9, 0.1, 0.9])", "integer[]"),
    ("quantile(pay, [0.5])", "quantile_disc(pay, [0.5])", "real[]"),
    ("percentile(age, array(0.25, 0.5))", "quantile_disc(age, [0.25, 0.5])", "integer[]"),
    ("percentile_approx(age, array(0.3))", "quantile_disc(age, [0.3])", "integer[]"),
    ("approx_quantile(day, [0.2, 0.8])", "quantile_disc(day, [0.2, 0.8])", "date[]"),
    ("percentile_disc(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY age)", "quantile_disc(age, [0.25, 0.5])", "integer[]"),
    (
        "quantile_disc(age, [0.3, 0.6]) FILTER (WHERE ward = 'y')",
        "quantile_disc(CASE WHEN ward = 'y' THEN age END, [0.3, 0.6])",
        "integer[]",
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "kind"), LISTS)
def test_a_list_of_quantiles_is_one_column_in_the_order_of_the_question(
    clinic: Curator, plain: duckdb.DuckDBPyConnection, ours: str, theirs: str, kind: str
) -> None:
    answer = clinic.ask(f"SELECT {ours} AS q FROM visits", ALL)
    assert answer.kinds == (kind,)
    assert answer.deviations == (None,)
    (found,), ((truth,),) = answer["q"], plain.execute(f"SELECT {theirs} FROM visits").fetchall()
    for value, exact in zip(found, truth, strict=True):
        if isinstance(exact, datetime.date):
            assert value == exact
        else:
            assert value == pytest.approx(exact, abs=0.2)  # a rank beside the wanted one


def test_a_descending_list_is_counted_from_the_top(clinic: Curator) -> None:
    up = clinic.ask("SELECT percentile_disc(ARRAY[0.2, 0.7]) WITHIN GROUP (ORDER BY age) AS q FROM visits", ALL)
    down = clinic.ask("SELECT percentile_disc(ARRAY[0.8, 0.3]) WITHIN GROUP (ORDER BY age DESC) AS q FROM visits", ALL)
    assert up["q"] == down["q"]


def test_a_list_costs_what_its_quantiles_cost_as_columns_and_is_drawn_like_them() -> None:
    listed = make_plan(read("SELECT quantile(age, [0.25, 0.5, 0.75]) FROM visits"), POLICY, epsilon=1)
    apart = make_plan(
        read("SELECT quantile(age, 0.25), quantile(age, 0.5), quantile(age, 0.75) FROM visits"), POLICY, epsilon=1
    )
    assert listed.event == apart.event
    assert listed.picks == apart.picks


def test_lists_in_another_order_are_other_questions() -> None:
    texts = {
        canonical(make_plan(read(f"SELECT quantile(age, [{shares}]) FROM visits"), POLICY, epsilon=1).question)
        for shares in ("0.25, 0.5", "0.5, 0.25", "0.25, 0.5, 0.5")
    }
    assert len(texts) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quantile(age, [0.5]) + 1", "by itself"),
        ("abs(quantile(age, [0.5]))", "by itself"),
        ("quantile(age, [])", "from 1 to 100"),
        (f"quantile(age, [{', '.join(['0.5'] * 101)}])", "from 1 to 100"),
        ("quantile(age, [0.5, 1])", "above 0 and below 1"),
        ("quantile(age, [0.5, NULL])", "above 0 and below 1"),
        ("quantile(age, [[0.5]])", "above 0 and below 1|not understood"),
        ("quantile(age, [age])", "above 0 and below 1"),
        ("quantile(town, [0.5])", "number"),
        ("percentile(age)", "a column and a share"),
        ("percentile(age, 0.5, 2)", "at most 2"),
        ("percentile_approx(age, 0.5, 100)", "a column and a share"),
        ("percentile(count(*), 0.5)", "inside an aggregate"),
        ("(SELECT quantile(age, [0.5]) FROM visits)", "no list or histogram"),
        ("CASE WHEN count(*) > 1 THEN quantile(age, [0.5]) END", "by itself"),
    ],
)
def test_what_is_no_list_of_quantiles_is_refused(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        make_plan(read(f"SELECT {text} FROM visits"), POLICY, epsilon=1)


@pytest.mark.parametrize("clause", ["ORDER BY q", "HAVING q > 1"])
def test_nothing_is_sorted_or_filtered_by_a_list(clause: str) -> None:
    text = f"SELECT ward, quantile(age, [0.5]) AS q FROM visits GROUP BY ward {clause}"
    with pytest.raises(QuestionError, match="by itself"):
        make_plan(read(text), POLICY, epsilon=1)


# -- histograms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("histogram(ward)", "map(text, integer)"),
        ("histogram(age)", "map(integer, integer)"),
        ("histogram(seen)", "map(boolean, integer)"),
        ("histogram(age, [10, 20, 39])", "map(integer, integer)"),
        ("histogram(pay, [20, 50.5, 100])", "map(real, integer)"),
        ("histogram(day, [DATE '2024-03-01', DATE '2024-12-31'])", "map(date, integer)"),
        ("histogram(age // 10) FILTER (WHERE ward = 'x')", "map(integer, integer)"),
    ],
)
def test_a_histogram_is_that_of_duckdb_where_no_noise_is_left(
    clinic: Curator, plain: duckdb.DuckDBPyConnection, text: str, kind: str
) -> None:
    answer = clinic.ask(f"SELECT {text} AS h FROM visits", ALL)
    assert answer.kinds == (kind,)
    ((truth,),) = plain.execute(f"SELECT {text} FROM visits").fetchall()
    assert {label: number for label, number in answer["h"][0].items() if number} == truth


def test_a_histogram_of_each_group_stands_beside_other_numbers(clinic: Curator) -> None:
    rows = VISITS.to_pylist()
    for key, delta, epsilon in (("ward", None, ALL), ("town", "1e-6", 400)):
        text = f"SELECT {key}, histogram(age // 20) AS h, count(*) AS n FROM visits GROUP BY {key}"
        text += " HAVING count(*) > 10 ORDER BY n DESC"
        answer = clinic.ask(text, epsilon, delta=delta)
        for name, bins, number in answer.rows():
            own = [row for row in rows if row[key] == name]
            assert number == len(own)
            assert bins == Counter(row["age"] // 20 for row in own)
        assert list(answer["n"]) == sorted(answer["n"], reverse=True)
        assert len(answer) == len({row[key] for row in rows})


@pytest.mark.statistical
def test_every_bin_has_noise_of_its_own_also_where_there_are_no_rows(clinic: Curator) -> None:
    # two-sided geometric noise of scale 3/0.01 = 300 on 40 empty bins: none moved, or all alike, below 1e-60
    answer = clinic.ask("SELECT histogram(age) AS h FROM visits WHERE age < 0", "0.01")
    numbers = list(answer["h"][0].values())
    assert len(numbers) == 40
    assert len(set(numbers)) > 20
    assert 20 < sum(map(abs, numbers)) / 40 < 3000  # the mean of the sizes is 300; beyond these below 1e-9


@pytest.mark.statistical
def test_the_noise_of_bins_has_the_planned_deviation(clinic: Curator) -> None:
    plan = clinic.plan("SELECT histogram(age) AS h FROM visits WHERE age < 0", "0.1")
    assert plan.measures[0].deviation == pytest.approx(30 * 2**0.5, rel=1e-2)
    numbers: list[int] = []
    for place in range(25):  # other questions about no rows: 1,000 draws
        numbers += clinic.ask(f"SELECT histogram(age) AS h FROM visits WHERE age < -{place + 1}", "0.1")["h"][
            0
        ].values()
    mean_size = sum(map(abs, numbers)) / len(numbers)
    assert 23 < mean_size < 37  # 30, deviation 0.95: a false alarm has probability below 1e-10


def test_every_bin_of_every_cell_has_noise_of_its_own(clinic: Curator) -> None:
    """Noise alone, of scale 30: that two cells have 40 equal numbers has probability below 1e-60."""
    found = clinic.ask("SELECT ward, histogram(age) AS h FROM visits WHERE age < 0 GROUP BY ward", "0.1")["h"]
    assert len(found) == 3
    assert len({tuple(cell.values()) for cell in found}) == 3
    assert all(len(set(cell.values())) > 5 for cell in found)
    assert len({one - two for one, two in zip(found[0].values(), found[1].values(), strict=True)}) > 5


# -- where answers go --------------------------------------------------------------------------------------

TEXT = (
    "SELECT ward, quantile(pay, [0.25, 0.75]) AS q, histogram(day, [DATE '2024-06-30', DATE '2024-12-31']) AS h, "
    "histogram(age // 20) AS a, count(*) AS n FROM visits GROUP BY ward"
)


@pytest.fixture(scope="module")
def answer(clinic: Curator) -> Answer:
    return clinic.ask(TEXT, 50)


def test_what_is_stored_reads_as_it_was(clinic: Curator, answer: Answer) -> None:
    assert Answer.from_bytes(answer.to_bytes()) == answer
    again = clinic.ask(TEXT, 50)
    assert again.repeated
    assert again == answer
    assert list(answer["h"][0]) == [datetime.date(2024, 6, 30), datetime.date(2024, 12, 31)]
    assert isinstance(answer["q"][0], tuple)


def test_every_bin_has_an_interval(answer: Answer) -> None:
    found = answer.intervals()
    assert set(found) == {"h", "a", "n"}
    for bins, intervals in zip(answer["a"], found["a"], strict=True):
        assert all(intervals[label][0] <= number <= intervals[label][1] for label, number in bins.items())
        assert len({high - low for low, high in intervals.values()}) == 1


def test_csv_holds_lists_and_maps_as_json(answer: Answer) -> None:
    rows = list(csv.DictReader(io.StringIO(answer.to_csv())))
    for row, (ward, q, h, a, n) in zip(rows, answer.rows(), strict=True):
        assert (row["ward"], int(row["n"])) == (ward, n)
        assert tuple(json.loads(row["q"])) == q
        assert {datetime.date.fromisoformat(day): number for day, number in json.loads(row["h"])} == h
        assert dict(map(tuple, json.loads(row["a"]))) == a


def test_dataframes_get_lists_and_maps(answer: Answer) -> None:
    arrow = answer.to_arrow()
    assert arrow.schema.field("q").type == pa.list_(pa.float64())
    assert arrow.schema.field("h").type == pa.map_(pa.date32(), pa.int64())
    assert [dict(pairs) for pairs in arrow.column("h").to_pylist()] == list(answer["h"])
    polars = answer.to_polars()
    assert [tuple(each) for each in polars["q"].to_list()] == list(answer["q"])
    assert [{pair["key"]: pair["value"] for pair in each} for each in polars["a"].to_list()] == list(answer["a"])
    assert list(answer.to_pandas()["a"]) == list(answer["a"])
    assert answer.to_dict()["q"] == list(answer["q"])


def test_the_types_of_columns_do_not_follow_from_the_rows(clinic: Curator, answer: Answer) -> None:
    nothing = clinic.ask(TEXT + " HAVING count(*) > 1000000", 50)
    assert len(nothing) == 0
    assert nothing.to_arrow().schema == answer.to_arrow().schema
    assert nothing.to_polars().schema == answer.to_polars().schema


def test_text_and_html_show_all_of_it(answer: Answer) -> None:
    assert "2024-06-30: " in str(answer)
    assert answer._repr_html_().count("<tr>") == 4
    assert "age" not in answer.chart_spec()
    assert {value["column"] for value in answer.chart_spec()["data"]["values"]} == {"n"}


def test_an_answer_of_lists_and_maps_alone_has_no_chart(clinic: Curator) -> None:
    with pytest.raises(TacitError, match="chart"):
        clinic.ask("SELECT histogram(ward) AS h FROM visits", 50).chart_spec()


def test_labels_cannot_rewrite_a_terminal_or_a_page() -> None:
    cells: Any = ({"<b>\x1b[2J": 1},)
    made = Answer(("h",), ("map(text, integer)",), (cells,), ((1.0,),), True, {"epsilon": "1"})
    assert "\x1b" not in str(made)
    assert "<b>" not in made._repr_html_()


def test_the_estimate_tells_how_far_a_bin_is_off(clinic: Curator) -> None:
    (expected,) = clinic.estimate("SELECT histogram(age) AS h FROM visits", 1).errors
    assert expected.name == "h"
    assert expected.rows is None
    assert expected.within_95 == clinic.estimate("SELECT count(*) AS h FROM visits", 1).errors[0].within_95
    assert clinic.plan("SELECT histogram(age) AS h FROM visits", within=10).epsilon is not None
