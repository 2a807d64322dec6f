"""The two kinds of sources give a study the same exact numbers, charge first, and refuse public mistakes only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.curator import Price
from tacit.errors import BudgetExceeded, EngineError, ParameterError, QuestionError
from tacit.loss import events
from tacit.plan.row_plan import Cut
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Source, source_of

AGES = [3, 17, 44, 44, 70, 109]
CHARGES = [0.5, 12.25, 99.0, 7.0, 3.5, 100.0]
SEXES = ["F", "M", "F", "F", "M", "F"]


def protected(epsilon: float = 3, delta: float = 1e-6) -> tacit.Curator:
    frame = pd.DataFrame({"who": range(6), "age": AGES, "charge": CHARGES, "sex": SEXES})
    return tacit.protect(
        frame,
        unit="who",
        columns={"age": tacit.between(0, 110), "charge": tacit.between(0, 100), "sex": tacit.one_of("F", "M")},
        budget=tacit.Budget(epsilon=epsilon, delta=delta),
    )


def arrays() -> Source:
    return source_of(
        {"age": np.array(AGES), "charge": np.array(CHARGES), "sex": np.array(SEXES)},
        bounds={"age": (0, 110), "charge": (0, 100)},
        values={"sex": ["F", "M"]},
    )


def looked_at(source: Source, look: Any) -> Any:
    """What a study's computation sees."""
    seen: list[Any] = []

    def compute(opened: Opened, bits: object) -> Content:
        seen.append(look(opened))
        return Content("nothing", (column("n", [0]),))

    source.release({"study": "look"}, Price(events.Pure(Fraction(1, 10)), Fraction(1, 10)), compute)
    return seen[0]


@pytest.mark.parametrize("kind", ["arrays", "curator"])
def test_counts_sums_and_values_are_the_ones_of_the_rows(kind: str) -> None:
    source = arrays() if kind == "arrays" else source_of(protected(), ["data.age", "data.charge", "data.sex"])
    table = looked_at(source, lambda opened: opened.counts(Cut("age", (18, 65)), "sex", shape=(3, 2)))
    assert table.tolist() == [[1, 1], [2, 0], [1, 1]]
    step = source.variable("charge").step
    source = arrays() if kind == "arrays" else source_of(protected(), ["data.age", "data.charge"])
    count, sums = looked_at(
        source, lambda opened: opened.totals([("age",), ("age", "charge"), ("charge", "charge")], {"age": 50})
    )
    assert count == 6
    assert sums[0] == sum(age - 50 for age in AGES)
    assert sums[1] * step == sum((age - 50) * Fraction(charge) for age, charge in zip(AGES, CHARGES, strict=True))
    assert sums[2] * step * step == sum(Fraction(charge) ** 2 for charge in CHARGES)
    source = arrays() if kind == "arrays" else source_of(protected(), "data.age")
    assert sorted(looked_at(source, lambda opened: opened.values("age"))[:, 0].tolist()) == AGES


def test_a_curator_charges_first_stores_the_result_and_repeats_it_free() -> None:
    clinic = protected()
    source = source_of(clinic, "data.age")

    def compute(opened: Opened, bits: object) -> Content:
        return Content("made up", (column("n", [1.5], [1.0], [2.0]),), ("a note",), {"matrix": np.eye(2)})

    price = Price(events.Pure(Fraction(1, 2)), Fraction(1, 2))
    first = source.release({"study": "x"}, price, compute)
    spent = clinic.spent()
    again = source_of(clinic, "data.age").release({"study": "x"}, price, lambda *_: Content("other", ()))
    assert again == first
    assert again.repeated
    assert clinic.spent() == spent
    assert first.value == 1.5
    assert first.intervals() == {"n": [(1.0, 2.0)]}
    assert first["matrix"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    other = source_of(clinic, "data.charge").release({"study": "x"}, price, compute)
    assert not other.repeated
    assert clinic.spent() != spent


def test_a_study_that_costs_more_than_is_left_is_refused_and_computes_nothing() -> None:
    clinic = protected(epsilon=1, delta=0)
    price = Price(events.Pure(Fraction(3, 4)), Fraction(3, 4))
    source = source_of(clinic, "data.age")
    source.release({"study": "x"}, price, lambda *_: Content("made up", ()))

    def never(opened: Opened, bits: object) -> Content:
        raise AssertionError("computed without being paid")

    with pytest.raises(BudgetExceeded):
        source.release({"study": "y"}, price, never)
    with pytest.raises(ParameterError, match="largest"):
        source.release({"study": "y"}, Price(events.Pure(Fraction(2)), Fraction(2)), never)


@pytest.mark.parametrize("kind", ["arrays", "curator"])
def test_what_goes_wrong_after_the_charge_says_nothing(kind: str) -> None:
    source = arrays() if kind == "arrays" else source_of(protected(), "data.age")

    def compute(opened: Opened, bits: object) -> Content:
        raise ValueError(f"secret {opened.values('age').max()}")

    with pytest.raises(EngineError) as raised:
        source.release({"study": "x"}, Price(events.Pure(Fraction(1, 10)), Fraction(1, 10)), compute)
    assert "109" not in str(raised.value)
    assert raised.value.__context__ is None


def test_missing_and_unknown_values_leave_their_row_out_and_others_are_clamped() -> None:
    source = source_of({"x": [1.0, float("nan"), 400.0, -3.0]}, bounds={"x": (0, 100)})
    codes = looked_at(source, lambda opened: opened.values("x"))[:, 0]
    assert sorted(float(code * source.only.step) for code in codes) == [0.0, 1.0, 100.0]
    listed = source_of({"x": ["a", None, "z", "b"]}, values={"x": ["a", "b"]})
    assert looked_at(listed, lambda opened: opened.counts("x", shape=(2,))).tolist() == [1, 1]
    empty = source_of(np.array([]), bounds=(0, 1))
    assert looked_at(empty, lambda opened: opened.totals([("x",)])) == (0, [0])


@pytest.mark.parametrize(
    ("data", "facts", "words"),
    [
        (np.zeros(3), {}, "exactly one"),
        (np.zeros(3), {"bounds": (1, 0)}, "lower one first"),
        (np.zeros(3), {"bounds": (0, float("inf"))}, "finite"),
        (np.zeros(3), {"bounds": 5}, "two finite numbers"),
        (np.zeros((2, 2, 2)), {"bounds": (0, 1)}, "vector or a matrix"),
        ({"x": [1], "y": [1, 2]}, {"bounds": (0, 1)}, "one length"),
        (np.array(["a"]), {"bounds": (0, 1)}, "numbers"),
        (np.array(["a"]), {"values": ["a", "a"]}, "different values"),
        (np.zeros(3), {"bounds": (1e300, 1.1e300), "rows_per_unit": 2}, "1 for arrays"),
    ],
)
def test_public_mistakes_about_arrays_are_refused(data: Any, facts: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        source_of(data, **facts)


def test_columns_of_a_curator_are_named_with_their_table() -> None:
    clinic = protected()
    assert [each.name for each in source_of(clinic, "age").variables] == ["age"]  # there is one table only
    with pytest.raises(ParameterError, match="written"):
        source_of(clinic, ["age", "other.age"])
    with pytest.raises(ParameterError, match="policy states"):
        source_of(clinic, "data.age", bounds=(0, 1))
    with pytest.raises(QuestionError, match="agee"):
        source_of(clinic, "data.agee")
    rows = clinic.rows("SELECT age, age > 40 AS old FROM data WHERE sex = 'F'")
    assert [each.name for each in source_of(rows).variables] == ["age", "old"]
    assert [each.name for each in source_of(rows, "old").variables] == ["old"]
    with pytest.raises(QuestionError, match="one column"):
        _ = source_of(rows).only


def test_rows_bound_the_rows_of_a_unit() -> None:
    frame = pd.DataFrame({"who": [1, 1, 1, 2], "age": [1, 2, 3, 4]})
    clinic = tacit.protect(
        frame, unit="who", rows_per_unit=3, columns={"age": tacit.between(0, 9)}, budget=tacit.Budget(epsilon=9)
    )
    three = source_of(clinic, "data.age")
    assert three.rows_per_unit == 3
    with pytest.raises(QuestionError, match="one row of each unit"):
        three.one_row_each("The median")
    one = source_of(clinic, "data.age", rows_per_unit=1)
    assert one.rows_per_unit == 1
    assert len(looked_at(one, lambda opened: opened.values("age"))) == 2
    per_unit = source_of(clinic.rows("SELECT who, max(age) AS oldest FROM data GROUP BY who"))
    assert per_unit.rows_per_unit == 1
    assert sorted(looked_at(per_unit, lambda opened: opened.values("oldest"))[:, 0].tolist()) == [3, 4]


def test_a_finding_prints_exports_and_draws_what_was_released() -> None:
    source = arrays()
    made = Content(
        "Counts",
        (column("sex", ["F", "M"]), column("n", np.array([4.0, np.nan]), [3.0, None], [5.0, None])),
        ("Intervals cover the noise.",),
    )
    finding = source.release({}, Price(events.Pure(Fraction(1)), Fraction(1)), lambda *_: made)
    assert isinstance(finding, Finding)
    assert "4 [3, 5]" in str(finding)
    assert "NULL" in str(finding)
    assert "<script>" not in finding._repr_html_()
    assert finding.to_pandas()["n_low"].tolist()[0] == 3.0
    assert finding.to_csv().splitlines()[0] == "sex,n,n_low,n_high"
    assert finding.chart_spec()["data"]["values"] == [
        {"column": "n", "label": "F", "value": 4.0, "low": 3.0, "high": 5.0}
    ]
    assert "one row, added or removed" in finding.card()
    assert finding.intervals() == {"n": [(3.0, 5.0), None]}


def test_sums_of_arrays_are_exact_beyond_a_word() -> None:
    values = np.array([2**40 - 1] * 9 + [-(2**40)], dtype=np.int64)
    source = source_of(values, bounds=(-(2**40), 2**40))
    count, (one, two, three) = looked_at(
        source, lambda opened: opened.totals([("x",), ("x", "x"), ("x", "x", "x")], {"x": 3})
    )
    moved = [int(value) - 3 for value in values]
    assert count == 10
    assert (one, two, three) == (sum(moved), sum(v**2 for v in moved), sum(v**3 for v in moved))


@pytest.mark.parametrize("rows", [1, 40, 64, 65, 70, 127, 128])
def test_how_many_queries_a_study_runs_does_not_follow_from_the_rows_that_a_condition_leaves(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each query more is told by the clock, and whoever asks chooses the condition."""
    monkeypatch.setattr("tacit.statistics.engine_rows._PART_BYTES", 8 * 40)
    numbers = np.arange(rows)
    frame = pd.DataFrame({"who": numbers, "age": numbers, "charge": numbers * 0.5})
    columns = {"age": tacit.between(0, 200), "charge": tacit.between(0, 100)}
    ran: list[int] = []
    with tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=9)) as curator:
        for least in sorted({0, 20, 25, 30, rows - 1, rows}):
            before: list[Any] = []

            def look(opened: Opened, bits: Any, before: list[Any] = before, least: int = least) -> Content:
                engine_run = opened._run  # type: ignore[attr-defined]

                def run(query: Any) -> Any:
                    before.append(query)
                    return engine_run(query)

                opened._run = run  # type: ignore[attr-defined]
                (ages, _), each = opened.columns("age", "charge")
                assert sorted(np.repeat(ages, each)) == list(range(least, rows))  # all of them, each once
                return Content("looked", (column("n", [0]),), (), {})

            source = source_of(curator.rows(f"SELECT age, charge FROM data WHERE age >= {least}"))
            source.release({"study": "look"}, Price(events.Pure(Fraction(1, 10)), Fraction(1, 10), Fraction(0)), look)
            ran.append(len(before))
    powers = [2**place for place in range(10)]
    assert set(ran) == {1 + min(each for each in powers if 40 * each >= min(e for e in powers if e >= rows))}
