"""Publishing: one charge for everything, the same again for nothing, and files that say what was released."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.answer.report import file_names
from tacit.curator import Price
from tacit.errors import BudgetExceeded, EngineError, ParameterError, QuestionError
from tacit.loss import compose, events
from tacit.policy import Column, ColumnUnit, Policy, RowUnit, Source, Table
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.order.ranked import median
from tacit.statistics.planning import planned
from tacit.statistics.selection.most_frequent import top_k
from tacit.statistics.selection.prices import best_price
from tacit.statistics.source import source_of

BY_SEX = "SELECT sex, count(*) AS n FROM data GROUP BY sex"


def clinic(epsilon: float = 3) -> tacit.Curator:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"who": range(300), "sex": rng.choice(["F", "M"], 300), "bid": rng.integers(0, 20, 300)})
    return tacit.protect(
        frame,
        unit="who",
        columns={"sex": tacit.one_of("F", "M"), "bid": tacit.between(0, 20)},
        budget=tacit.Budget(epsilon=epsilon),
    )


def everything() -> dict[str, object]:
    return {
        "By <sex>": BY_SEX,
        "Best price": planned(best_price, "data.bid", prices=[2, 5, 10]),
        "Everyone": "SELECT count(*) AS n FROM data",
        "Top bids": planned(top_k, "data.bid", k=3),
    }


def test_one_charge_and_one_receipt_for_questions_and_studies(tmp_path: Path) -> None:
    owner = clinic()
    before = len(owner.ledger())
    first = owner.publish(everything(), epsilon=1, to=tmp_path)
    charged = [entry for entry in owner.ledger()[before:] if entry.cost is not None]
    assert len(charged) == 1
    assert owner.spent().loss == 1
    assert first.receipt["entry"] == str(charged[0].sequence)
    assert list(first.results) == list(everything())
    event = events.from_json(first.receipt["event"])
    assert compose([event]).epsilon(0) == pytest.approx(1, rel=1e-12)
    assert event == charged[0].event
    for result in first.results.values():
        assert result.receipt["entry"] == first.receipt["entry"]
    pages = [path.read_bytes() for path in first.files]
    again = owner.publish(everything(), epsilon=1, to=tmp_path)
    assert again.repeated
    assert owner.spent().loss == 1
    assert [path.read_bytes() for path in again.files] == pages
    assert again["Top bids"] == first["Top bids"]


def test_the_files_hold_all_values_and_intervals_and_need_no_network(tmp_path: Path) -> None:
    found = clinic().publish(everything(), epsilon=1, to=tmp_path / "site", title="Fees & visits")
    names = sorted(path.name for path in found.files)
    assert names == ["best-price.csv", "by-sex.csv", "everyone.csv", "index.html", "statistics.json", "top-bids.csv"]
    rows = list(csv.DictReader((tmp_path / "site" / "by-sex.csv").read_text().splitlines()))
    assert [row["sex"] for row in rows] == ["F", "M", ""][: len(rows)]
    assert all(float(row["n_low"]) < float(row["n"]) < float(row["n_high"]) for row in rows)
    content = json.loads((tmp_path / "site" / "statistics.json").read_text())
    top = content["statistics"]["Top bids"]["columns"]["rows"]
    assert all(low < value < high for value, low, high in zip(top["values"], top["low"], top["high"], strict=True))
    assert tuple(top["values"]) == found["Top bids"]["rows"]
    page = (tmp_path / "site" / "index.html").read_text()
    assert "<script" not in page
    assert "http" not in page
    assert "Fees &amp; visits" in page
    assert "By &lt;sex&gt;" in page
    assert page.count("<figure>") >= 3
    assert "epsilon = 1" in page


def test_nothing_is_computed_when_the_budget_does_not_reach() -> None:
    owner = clinic(epsilon=1)
    ran: list[object] = []

    def study(data: Any, *, epsilon: Fraction) -> Finding:
        def compute(opened: Any, bits: Any) -> Content:
            ran.append(opened)
            return Content("x", ())

        return source_of(data).release({"study": "x"}, Price(events.Pure(epsilon), epsilon), compute)

    owner.publish({"a": planned(study, "data.bid")}, epsilon="3/4")
    assert len(ran) == 1
    with pytest.raises(BudgetExceeded):
        owner.publish({"a": planned(study, "data.bid"), "b": BY_SEX}, epsilon="3/4")
    assert len(ran) == 1


def test_a_study_that_asks_for_another_price_once_it_is_paid_gets_nothing() -> None:
    owner = clinic()
    prices = iter([Fraction(1, 2), Fraction(1, 4)])

    def study(data: Any, *, epsilon: Fraction) -> Finding:
        price = next(prices)
        made = Content("x", (column("n", [1]),))
        return source_of(data).release({"study": "x"}, Price(events.Pure(price), price), lambda *_: made)

    with pytest.raises(EngineError):
        owner.publish({"a": planned(study, "data.bid")}, epsilon="1/2")


def test_a_study_may_not_take_more_than_all_statistics_have() -> None:
    def greedy(data: Any, *, epsilon: Fraction) -> Finding:
        return source_of(data).release({}, Price(events.Pure(3 * epsilon), 3 * epsilon), lambda *_: Content("x", ()))

    owner = clinic()
    with pytest.raises(ParameterError, match="together at most"):
        owner.publish({"a": planned(greedy, "data.bid"), "b": BY_SEX}, epsilon=1)
    assert owner.spent().loss == 0


def test_rows_and_one_kind_alone_can_be_published() -> None:
    owner = clinic()
    rows = owner.rows("SELECT bid FROM data WHERE sex = 'F'")
    found = owner.publish({"a": planned(best_price, rows, prices=[1, 2])}, epsilon=1)
    assert found.files == ()
    assert found["a"].receipt["unit"] == "all rows of one who"
    only = owner.publish({"q": BY_SEX}, epsilon=1)
    assert set(only["q"]["sex"]) >= {"F", "M"}
    assert owner.spent().loss == 2
    assert "stored" not in repr(only)


def test_a_list_names_its_statistics_by_themselves() -> None:
    owner = clinic()
    wanted = [
        BY_SEX,
        planned(best_price, "data.bid", prices=[1, 2]),
        BY_SEX.replace(" ", "  "),
        everything()["Top bids"],
    ]
    found = owner.publish(wanted, 1)
    assert list(found.results) == [BY_SEX, "Best price of data.bid", f"{BY_SEX} (2)", "Top k of data.bid"]
    assert found[BY_SEX]["n"] == found[f"{BY_SEX} (2)"]["n"]  # the same question is planned, and answered, once
    assert owner.spent().loss == 1
    assert json.loads(found.receipt["statistics"]) == list(found.results)
    rows = planned(best_price, owner.rows("SELECT bid FROM data"), prices=[1, 2])
    assert list(owner.publish([rows], epsilon=1).results) == ["Best price of bid"]


def test_a_share_of_delta_reaches_the_studies_that_have_a_use_for_it() -> None:
    owner = tacit.protect(
        pd.DataFrame({"who": range(300), "bid": range(300)}),
        unit="who",
        columns={"bid": tacit.between(0, 300)},
        budget=tacit.Budget(epsilon=50, delta="1/1000"),
    )
    wanted = [
        planned(median, "data.bid", method="ptr", bound=5),
        planned(best_price, "data.bid", prices=[1, 2]),
    ]
    found = owner.publish(wanted, 2, delta="1/5000")
    assert found["Median of data.bid"].receipt["delta"] == "1/10000"
    assert found["Best price of data.bid"].receipt["delta"] == "0"


def test_intervals_of_studies_have_the_level_of_the_publication_or_say_their_own(tmp_path: Path) -> None:
    def short(data: Any, *, epsilon: Fraction) -> Finding:
        made = Content("x", (column("n", [1], [0], [2]),))
        return source_of(data).release(
            {"study": "s"}, Price(events.Pure(epsilon), epsilon), lambda *_: made, level="0.5"
        )

    wanted = {"a": planned(median, "data.bid"), "b": planned(short, "data.bid"), "c": BY_SEX}
    found = clinic().publish(wanted, 1, level="0.999", to=tmp_path)
    assert found["a"].level == 0.999
    assert found["b"].level == 0.5
    page = (tmp_path / "index.html").read_text()
    assert page.count("Ranges of this one: 50 %") == 1
    assert page.count("Ranges of this one") == 1


def test_the_receipt_names_every_unit_that_is_protected() -> None:
    frame = pd.DataFrame({"who": [1, 1, 2], "x": [1, 2, 3]})
    columns = {"x": Column("x", "integer", lower=0, upper=9)}
    tables = {
        "a": Table("a", Source("frame", "a"), ColumnUnit("who"), 2, columns),
        "b": Table("b", Source("frame", "b"), RowUnit(), 1, columns),
    }
    with tacit.Curator(Policy("both", tables, tacit.Budget(5)), frames={"a": frame, "b": frame}) as owner:
        found = owner.publish(["SELECT count(*) FROM a", "SELECT count(*) FROM b"], 1)
    assert found.receipt["unit"] == "all rows of one who or one row"


@pytest.mark.parametrize(
    ("statistics", "facts", "words"),
    [
        ({}, {}, "by name in a mapping"),
        ([], {}, "in a list"),
        (BY_SEX, {}, "in a list"),
        (3, {}, "in a list"),
        ({1: BY_SEX, "1": BY_SEX}, {}, "all different"),
        ({"a": BY_SEX}, {"epsilon": 0}, "above 0"),
        ({"a": BY_SEX}, {"level": 1}, "strictly between"),
    ],
)
def test_public_mistakes_are_refused(statistics: Any, facts: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        clinic().publish(statistics, **{"epsilon": 1, **facts})


def test_prices_and_rows_of_others_are_refused() -> None:
    with pytest.raises(ParameterError, match="given to publish"):
        planned(top_k, "data.bid", epsilon=1)
    with pytest.raises(ParameterError, match=r"option of median' parameter must be one of bound, .*method"):
        planned(median, "data.bid", k=1)
    with pytest.raises(ParameterError, match="option of top_k"):
        planned(top_k, "data.bid", price=1)
    with pytest.raises(QuestionError, match="another curator"):
        clinic().publish({"a": planned(top_k, clinic().rows("data", ["bid"]), k=1)}, epsilon=1)
    with pytest.raises(QuestionError, match="released nothing"):
        clinic().publish({"a": planned(lambda data, **_: None, "data.bid")}, epsilon=1)  # type: ignore[arg-type]


def test_names_of_files_are_plain_and_different() -> None:
    names = file_names(["../A b", "a-b", "***", "é"])
    assert list(names.values()) == ["a-b", "a-b-2", "statistic", "statistic-2"]


@pytest.mark.parametrize("asked", ["histogram(sex)", "quantile(bid, [0.25, 0.75])"])
def test_columns_of_lists_and_maps_are_refused_before_anything_is_paid(asked: str, tmp_path: Path) -> None:
    owner = clinic()
    with pytest.raises(QuestionError, match="single values"):
        owner.publish({"all": f"SELECT {asked} AS x FROM data"}, epsilon=1, to=tmp_path)
    assert owner.spent().loss == 0
