"""Settings are read once, as plain values: nothing of the caller's own is there when rows are."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from torch import nn

from tacit import learning
from tacit.errors import ParameterError
from tacit.learning import neural
from tacit.learning.neural.settings import settings_of
from tests.learning.neural.test_estimators import QUICK, clinic

ROWS = "SELECT age, bmi, smoker FROM data"
SEEN: list[str] = []


def look(what: str) -> None:
    """Note that code of the caller's ran while somebody's rows were near."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "compute" and "inputs" in frame.f_locals:
            SEEN.append(what)
            return
        frame = frame.f_back


class Text(str):
    def __eq__(self, other: object) -> bool:
        look("equal")
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Number(float):
    def __str__(self) -> str:
        look("text")
        return "1"

    __repr__ = __str__

    def __float__(self) -> float:
        look("float")
        return float.__float__(self)


class Count(int):
    def __lt__(self, other: int) -> bool:
        look("less")
        return int.__lt__(self, other)

    def __int__(self) -> int:
        look("int")
        return int.__add__(self, 0)


HOSTILE: list[dict[str, Any]] = [
    {"optimiser": Text("adam")},
    {"clipping": Text("flat")},
    {"sampling": Text("poisson")},
    {"averaging": Text("tail")},
    {"size": Count(300)},
    {"learning_rate": Number(0.01)},
    {"clip": Number(1.0)},
    {"epsilon": Number(2.0)},
    {"rate": Number(0.2)},
]


@pytest.mark.parametrize("given", HOSTILE, ids=[next(iter(each)) for each in HOSTILE])
def test_no_code_of_a_setting_runs_where_rows_are(given: dict[str, Any]) -> None:
    SEEN.clear()
    neural.NeuralClassifier(nn.Sequential(nn.Linear(2, 2)), **{**QUICK, **given}).fit(clinic().rows(ROWS), "smoker")
    assert SEEN == []


def test_equal_settings_are_one_fit_however_they_were_written() -> None:
    curator = clinic()
    ways: list[dict[str, Any]] = [
        {"clip": 1, "learning_rate": 0.05, "size": 300, "exact": False},
        {"clip": "1", "learning_rate": Decimal("0.05"), "size": np.int64(300), "exact": 0},
        {"clip": 1.0, "learning_rate": Fraction(1, 20), "size": 300, "rate": "1/5"},
    ]
    models = [neural.NeuralClassifier(**{**QUICK, **each}).fit(curator.rows(ROWS), "smoker") for each in ways]
    assert len({each.receipt_["entry"] for each in models}) == 1
    other = neural.NeuralClassifier(**{**QUICK, **ways[0], "clip": Number(0.5)}).fit(curator.rows(ROWS), "smoker")
    assert other.receipt_["entry"] != models[0].receipt_["entry"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"learning_rate": 1e39}, "learning_rate"),
        ({"learning_rate": "1e400"}, "learning_rate"),
        ({"exact": "x"}, "exact"),
        ({"optimiser": ["adam"]}, "optimiser"),
        ({"averaging": "mean"}, "None"),
        ({"epochs": 1e12}, "epochs"),
    ],
)
def test_what_no_fit_can_use_is_refused_before_the_charge(given: dict[str, Any], said: str) -> None:
    curator = clinic()
    before = curator.remaining()
    with pytest.raises(ParameterError, match=said):
        neural.NeuralClassifier(**{**QUICK, **given}).fit(curator.rows(ROWS), "smoker")
    assert curator.remaining() == before


def test_a_class_of_ones_own_is_refused_for_rows_of_a_curator() -> None:
    class Mine(neural.NeuralClassifier):
        pass

    with pytest.raises(ParameterError, match="Mine"):
        Mine(**QUICK).fit(clinic().rows(ROWS), "smoker")


class Parts(Fraction):
    """A fraction with code of its own."""

    @property
    def numerator(self) -> int:
        look("numerator")
        return int(self._numerator)  # type: ignore[attr-defined]


@pytest.mark.parametrize("made", [learning.LogisticRegression, learning.GaussianNB, neural.NeuralClassifier])
def test_a_price_is_made_anew_for_every_model(made: Any) -> None:
    SEEN.clear()
    rows = clinic().rows(ROWS)
    made(epsilon=Parts(2)).fit(rows, "smoker")
    model = made(epsilon=2).fit(rows, "smoker")
    learning.evaluate(model, rows, epsilon=Parts(1), level=Parts("0.9"))
    assert SEEN == []


@pytest.mark.parametrize("made", [learning.LogisticRegression, neural.NeuralClassifier])
def test_nothing_stands_in_front_of_what_a_class_has(made: Any) -> None:
    model = made(epsilon=2, delta="1e-6")
    model._kind = Text("class")
    model._keep = lambda *given: look("kept")
    with pytest.raises(ParameterError, match="of its own"):
        model.fit(clinic().rows(ROWS), "smoker")


def test_numbers_are_exactly_what_was_written() -> None:
    model = neural.NeuralClassifier(epsilon=1, rate=0.1, epochs=2, learning_rate=0.1, clip=0.3)
    found = settings_of(model, Fraction(1), Fraction(1, 10**6))
    assert (found.rate, found.clip, found.steps) == (Fraction(1, 10), Fraction(3, 10), 20)
    assert type(found.rate) is Fraction
