"""What leaves: it survives the ledger unchanged, reads plainly, and its intervals hold what they say."""

from __future__ import annotations

import csv
import datetime
import io
import math
import sys
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.answer import Answer
from tacit.answer.release import release
from tacit.answer.shown import readable
from tacit.curator import Planner
from tacit.engines.exact import Exact
from tacit.errors import ParameterError, TacitError
from tacit.noise import secure
from tacit.policy import ColumnUnit, Policy, Source, Table, anything, between

RECEIPT: Any = SimpleNamespace(sequence=7)
FACTS = {
    "unit": "all rows of one pid",
    "epsilon": "1/10",
    "delta": "1/10000000",
    "noise": "discrete Laplace",
    "rows_per_unit": "3",
    "entry": "7",
    "event": "{}",
}
NAMES = ("town", "day", "seen", "member", "key", "n", "mean")
ANSWER = Answer(
    NAMES,
    ("text", "date", "timestamp", "boolean", "integer", "integer", "real"),
    (
        ("Zürich", 'a,"b"\n\x1b[31m<b>', None),
        (datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)),
        (datetime.datetime(2024, 2, 29, 1, 2, 3, 4), None, datetime.datetime(9999, 12, 31)),
        (True, False, None),
        (5, None, 2**62),
        (1234567, -3, 0),
        (1.5, None, -1e300),
    ),
    (None, None, None, None, None, (2.0, 2.0, 2.0), (0.5, 0.5, 1e308)),
    True,
    FACTS,
)
EMPTY = Answer(NAMES, ANSWER.kinds, ((),) * 7, (None, None, None, None, None, (), ()), True, FACTS)


@pytest.mark.parametrize("answer", [ANSWER, EMPTY])
def test_an_answer_survives_its_bytes(answer: Answer) -> None:
    again = Answer.from_bytes(answer.to_bytes(), repeated=True)
    assert again == answer
    assert again.repeated
    assert again.to_bytes() == answer.to_bytes()
    assert [list(map(type, column)) for column in again.columns] == [list(map(type, c)) for c in answer.columns]


@pytest.mark.parametrize("answer", [ANSWER, EMPTY])
def test_frames_have_the_types_of_the_kinds_whatever_the_values_are(answer: Answer) -> None:
    arrow = answer.to_arrow()
    assert [str(kind) for kind in arrow.schema.types] == [
        "string",
        "date32[day]",
        "timestamp[us]",
        "bool",
        "int64",
        "int64",
        "int64",
        "int64",
        "double",
        "double",
        "double",
    ]
    assert arrow.to_pydict() == answer.to_dict()
    polars = answer.to_polars()
    assert [str(kind).split("(")[0] for kind in polars.dtypes] == [
        "String",
        "Date",
        "Datetime",
        "Boolean",
        "Int64",
        "Int64",
        "Int64",
        "Int64",
        "Float64",
        "Float64",
        "Float64",
    ]
    assert polars.to_dict(as_series=False) == answer.to_dict()
    pandas = answer.to_pandas()
    assert [str(kind) for kind in pandas.dtypes] == [
        "string",
        "object",
        "datetime64[us]",
        "boolean",
        "Int64",
        "Int64",
        "Int64",
        "Int64",
        "float64",
        "float64",
        "float64",
    ]
    assert len(pandas) == len(answer)
    assert list(pandas["n"]) == list(answer["n"])


def test_numbers_beyond_64_bits_become_reals() -> None:
    huge = Answer(("n",), ("integer",), ((2**70, -(2**63)),), ((1.0, 1.0),), False, FACTS)
    assert huge.to_arrow().to_pydict()["n"] == [2.0**70, -(2.0**63)]
    assert huge.to_pandas()["n"].tolist() == [2.0**70, -(2.0**63)]
    assert huge.to_polars()["n"].to_list() == [2.0**70, -(2.0**63)]


def test_other_libraries_can_take_it_as_a_stream() -> None:
    import pyarrow as pa

    assert pa.RecordBatchReader.from_stream(ANSWER).read_all().equals(ANSWER.to_arrow())


def test_csv_reads_back() -> None:
    header, *rows = csv.reader(io.StringIO(ANSWER.to_csv()))
    assert [name for name in header if not name.endswith(("_low", "_high"))] == list(NAMES)
    assert rows[0][:6] == ["Zürich", "2024-02-29", "2024-02-29 01:02:03.000004", "True", "5", "1234567"]
    # 2 deviations of ln(20)/sqrt 2 = 2.118 each, and whole; the mean's is 0.5
    assert rows[0][6:9] == ["1234562", "1234572", "1.5"]
    assert math.isclose(float(rows[0][9]), 1.5 - 0.5 * math.log(20) / math.sqrt(2), rel_tol=1e-9)
    assert rows[1][0] == 'a,"b"\n\x1b[31m<b>'
    assert rows[1][4] == ""


def test_the_printed_table_shows_values_their_errors_and_the_price() -> None:
    text = str(ANSWER)
    assert repr(ANSWER) == text
    assert "1,234,567 +/- 5" in text  # 2 deviations of ln(20)/sqrt 2 = 2.118 each, and whole
    assert "1.5 +/- 1.06" in text
    assert "NULL" in text
    assert "epsilon 0.1" in text
    assert "not what clamping" in text
    assert "nothing charged" in str(Answer.from_bytes(ANSWER.to_bytes(), repeated=True))


def test_text_of_the_table_cannot_rewrite_the_terminal_or_the_page() -> None:
    assert "\x1b" not in str(ANSWER)
    assert str(ANSWER).count("\n") == 6
    page = ANSWER._repr_html_()
    assert "<b>" not in page
    assert "\x1b" not in page
    assert page.count("<svg") == 4  # three counts and one mean; the others have no value or no finite error


def test_a_long_answer_prints_its_beginning() -> None:
    long = Answer(("n",), ("integer",), (tuple(range(1000)),), ((1.0,) * 1000,), False, FACTS)
    assert "800 more rows" in str(long)
    assert len(str(long).splitlines()) < 210


def test_an_empty_answer_prints_its_header() -> None:
    assert str(EMPTY).split()[:7] == list(NAMES)
    assert "<tbody></tbody>" in EMPTY._repr_html_()
    assert EMPTY.intervals() == {"n": [], "mean": []}


def test_the_card_names_everything_a_reader_needs() -> None:
    card = ANSWER.card()
    for part in ("all rows of one pid", "epsilon = 0.1", "delta = 1e-07", "discrete Laplace", "3 row", "clamp", "7"):
        assert part in card
    assert ANSWER.receipt["epsilon"] == "1/10"


@pytest.mark.parametrize(
    ("exact", "shown"),
    [("1/10", "0.1"), ("1/3", "0.333334"), ("1/10000000", "1e-07"), ("0", "0"), ("3", "3"), ("1234567", "1.23457e+06")],
)
def test_a_loss_is_never_shown_smaller_than_it_is(exact: str, shown: str) -> None:
    assert readable(exact) == shown
    assert Fraction(shown) >= Fraction(exact)


def test_columns_are_found_by_name_and_others_refused() -> None:
    assert ANSWER["n"] == (1234567, -3, 0)
    with pytest.raises(ParameterError, match="town"):
        ANSWER["nothing"]


def test_a_chart_needs_altair_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(TacitError, match="pip install altair"):
        ANSWER.chart()


def test_a_chart_is_made_of_values_and_where_the_exact_ones_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    double = ModuleType("altair")
    double.Chart = SimpleNamespace(from_dict=lambda spec: spec)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "altair", double)
    spec = ANSWER.chart()
    values = spec["data"]["values"]
    assert [value["column"] for value in values] == ["n", "n", "n", "mean"]
    assert (values[0]["low"], values[0]["value"], values[0]["high"]) == (1234562, 1234567, 1234572)
    assert values[0]["label"].startswith("Zürich, 2024-02-29")


def test_every_value_has_a_bar_of_its_own() -> None:
    """Bars of one place would be stacked into their sum."""
    keys, counts = (None, "NULL", "NULL (2)", "x"), (1, 2, 3, 4)
    twice = Answer(("k", "n", "n"), ("text", "integer", "integer"), (keys, counts, counts), (None, *[(1.0,) * 4] * 2),
                   True, FACTS)  # fmt: skip
    spec = twice.chart_spec()
    values = spec["data"]["values"]
    assert len({(value["column"], value["label"]) for value in values}) == 8
    assert values[0]["label"] == "NULL"
    assert values[3]["label"] == "x"
    assert spec["facet"]["row"]["sort"] == ["n", "n (2)"]  # in the answer's order, not the alphabet's


def test_a_chart_of_keys_alone_is_refused() -> None:
    with pytest.raises(TacitError, match="keys alone"):
        Answer(("k",), ("text",), (("a", "b"),), (None,), True, FACTS).chart_spec()


def test_altair_takes_the_chart_and_keeps_every_value() -> None:
    altair = pytest.importorskip("altair")
    chart = ANSWER.chart()
    assert isinstance(chart, altair.FacetChart)
    (values,) = chart.to_dict()["datasets"].values()  # it is checked against the schema on the way
    assert values == ANSWER.chart_spec()["data"]["values"]
    assert "vega" in chart.to_html()
    many = Answer(
        ("k", "n"), ("integer", "integer"), (tuple(range(6000)), (7,) * 6000), (None, (1.0,) * 6000), True, FACTS
    )
    assert len(next(iter(many.chart().to_dict()["datasets"].values()))) == 6000


# -- intervals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["0.5", "0.8", "0.95", "0.99", "0.999"])
def test_intervals_of_laplace_counts_hold_at_every_scale(level: str) -> None:
    """Pr[|X| > k] = 2 q^(k+1) / (1 + q) for the discrete Laplace law with q = exp(-1/scale)."""
    for scale in np.geomspace(0.1, 1000, 300):
        q = math.exp(-1 / scale)
        deviation = math.sqrt(2 * q) / (1 - q)
        answer = Answer(("n",), ("integer",), ((0,),), ((deviation,),), True, FACTS)
        low, high = answer.intervals(level)["n"][0] or (0, 0)
        assert low == -high
        assert 1 - 2 * q ** (math.floor(high) + 1) / (1 + q) >= float(level)
        if scale > 20:
            assert high <= max(-math.log(1 - float(level)), 1.9) * scale + 1  # and not much wider than needed


@pytest.mark.parametrize(("level", "reach"), [("0.95", 1.959964), ("0.99", 2.575829), ("0.5", 0.6744898)])
def test_intervals_of_gaussian_values_are_the_normal_ones(level: str, reach: float) -> None:
    answer = Answer(("x",), ("real",), ((10.0, None),), ((3.0, 1.0),), False, FACTS)
    found = answer.intervals(level)["x"]
    assert found[0] == pytest.approx((10 - 3 * reach, 10 + 3 * reach), rel=1e-6)
    assert found[1] is None
    with pytest.raises(ParameterError, match="level"):
        answer.intervals(1)


# -- the noise is the planned one ----------------------------------------------------------------------------

CELLS, RELEASES = 100, 300
POLICY = Policy(
    name="t",
    tables={
        "t": Table(
            "t",
            Source("frame", "t"),
            ColumnUnit("pid"),
            3,
            {
                "k": between(0, CELLS - 1, nullable=False).column("k", "integer"),
                "free": anything(nullable=False).column("free", "integer"),
                "age": between(0, 100).column("age", "integer"),
                "pay": between(0, 8).column("pay", "real"),
            },
        )
    },
    budget=tacit.Budget(10, "1e-3"),
    largest_epsilon=Fraction(10),
)


def _laplace(scale: float) -> float:
    q = math.exp(-1 / scale)
    return math.sqrt(2 * q) / (1 - q)


QUESTIONS: list[tuple[str, dict[str, Any], float | None]] = [
    ("SELECT k, count(*) AS y FROM t GROUP BY k", {"epsilon": 1}, _laplace(3)),
    ("SELECT k, sum(pay) AS y FROM t GROUP BY k", {"epsilon": "0.5"}, math.sqrt(2) * 3 * 8 / 0.5),
    ("SELECT k, count(DISTINCT pid) AS y FROM t GROUP BY k", {"epsilon": 2, "rows_per_unit": 2}, _laplace(1)),
    ("SELECT k, count(*) AS y FROM t GROUP BY k", {"rho": "1/8", "delta": "1e-6"}, 3 / math.sqrt(2 / 8)),
    ("SELECT k, avg(age) AS y FROM t GROUP BY k", {"epsilon": 1}, None),
    ("SELECT free, count(*) AS y FROM t GROUP BY free", {"epsilon": 2, "delta": "1e-6", "rows_per_unit": 1}, None),
]


@pytest.mark.statistical
@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_released_values_spread_as_planned_and_as_theory_says(place: int) -> None:
    """30,000 draws; the variance may be off by seven of its standard errors at kurtosis 6, the mean by 6.5 of its own.

    Summed up exactly, the squares of discrete Laplace noise of scale 1, whose kurtosis is 6.5, are that far off with
    probability 9e-11, and those of wider noise with 1e-11; a mean is with 8e-11.
    """
    sql, options, theory = QUESTIONS[place]
    plan = Planner(POLICY).plan(sql, **options)
    truth = 10**6
    # sums are nothing; where a count and a sum are released together, both parts are half of all
    half = {each.name: truth * each.together.size // 2 for each in plan.measures if each.together is not None}
    usual = {each.name: 0 if each.kind == "sum" else truth for each in plan.measures}
    columns = {name: [half.get(name, number)] * CELLS for name, number in usual.items()}
    if plan.query.unit_column is not None:
        columns[plan.query.unit_column] = [truth] * CELLS
    exact = Exact([(cell,) for cell in range(CELLS)], columns)
    answers = [release(plan, lambda _: exact, RECEIPT, "one", secure()) for _ in range(RELEASES)]
    assert all(len(answer) == CELLS for answer in answers)
    values = np.array([answer["y"] for answer in answers], dtype=np.float64)
    planned = answers[0].deviations[1]
    assert planned is not None
    assert np.ptp(planned) <= 1e-3 * planned[0]
    expected = planned[0] if theory is None else theory
    assert planned[0] == pytest.approx(expected, rel=1e-3)
    draws = values.size
    centre = {"avg(age)": 50.0}.get("avg(age)" if "avg" in sql else "", 0.0 if "sum" in sql else float(truth))
    ratio = float(np.mean((values - centre) ** 2)) / expected**2
    assert abs(ratio - 1) < 7 * math.sqrt(5 / draws)
    assert abs(float(values.mean()) - centre) < 6.5 * expected / math.sqrt(draws)
    assert len({tuple(row) for row in values}) > len(values) / 2  # every release is drawn anew


def test_notes_say_why_a_value_is_missing_and_which_may_be_anything() -> None:
    why, unsure = ANSWER.notes  # nothing was chosen; a noisy value is missing, and one may be anything
    assert unsure.startswith("+/- ?")
    assert why.startswith("NULL among noisy values")
