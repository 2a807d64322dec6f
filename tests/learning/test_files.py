"""Models and scores as files: bit for bit, and nothing that is malformed."""

from __future__ import annotations

import hashlib
import json
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tacit import learning
from tacit.errors import ParameterError, TacitError
from tacit.learning import files
from tests.learning.test_estimators import all_models

USES = ("predict", "predict_proba", "decision_function", "transform")


def fitted(model: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng()
    X = rng.normal(scale=30, size=(120, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 20)
    return clone(model).fit(X, y), rng.normal(scale=40, size=(50, 4))


@pytest.mark.parametrize("model", all_models(), ids=lambda model: type(model).__name__)
def test_every_model_predicts_bit_for_bit_what_it_did_before_it_was_saved(model: Any, tmp_path: Path) -> None:
    made, rows = fitted(model)
    path = made.save(tmp_path / "m.json")
    loaded = learning.load(path)
    assert type(loaded) is type(made)
    assert loaded.get_params().keys() == made.get_params().keys()
    for name in USES:
        if hasattr(made, name):
            ours, theirs = np.asarray(getattr(made, name)(rows)), np.asarray(getattr(loaded, name)(rows))
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes()
    assert vars(loaded).keys() == vars(made).keys()
    assert files.to_bytes(loaded) == path.read_bytes()
    assert json.loads(path.read_bytes())["version"] == files.VERSION


def test_facts_of_every_kind_survive(tmp_path: Path) -> None:
    rng = np.random.default_rng()
    import pandas as pd

    frame = pd.DataFrame({"age": rng.integers(0, 90, 80), "sex": rng.choice(["F", "M"], 80)})
    model = learning.LinearDiscriminantAnalysis(
        epsilon="1/3", bounds={"age": (0, 90)}, values={"sex": ("F", "M")}, classes=[True, False]
    ).fit(frame, rng.random(80) < 0.5)
    loaded = learning.load(model.save(tmp_path / "m.json"))
    assert loaded.bounds == {"age": (0, 90)}
    assert loaded.values == {"sex": ("F", "M")}
    assert loaded.receipt_ == model.receipt_
    assert str(loaded.finding_) == str(model.finding_)
    assert (loaded.predict(frame) == model.predict(frame)).all()


def test_a_model_that_was_not_fitted_has_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="fitted"):
        learning.Ridge(epsilon=1).save(tmp_path / "m.json")


def whole() -> dict[str, Any]:
    made, _ = fitted(learning.Ridge(epsilon=5, bounds=(-100, 100), target_bounds=(-9, 9)))
    found: dict[str, Any] = json.loads(files.to_bytes(made))
    return found


def signed(head: dict[str, Any]) -> bytes:
    """The file with a digest that fits, as whoever writes files can make one."""
    text = json.dumps(head["content"], sort_keys=True, separators=(",", ":"))
    head["digest"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(head).encode()


def changed(path: str, value: Any) -> bytes:
    head = whole()
    at: Any = head["content"]
    *steps, last = path.split("/")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if value is None:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return signed(head)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "not JSON"),
        (b"\x80\x04\x95", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": 1, "a": 2}', "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "does not say"),
        (b'{"format": "tacit.learning"}', "does not say"),
    ],
    ids=range(8),
)
def test_what_is_no_file_of_a_model_is_refused(payload: bytes, words: str) -> None:
    with pytest.raises(TacitError, match=words):
        files.from_bytes(payload)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model", "eval"),
        ("model", "evaluate"),
        ("model", "Evaluation"),
        ("model", ["Ridge"]),
        ("fitted/predict", 1),
        ("fitted/save_card", 1),
        ("fitted/__class__", "x"),
        ("fitted/epsilon", 3),
        ("fitted/a b", 3),
        ("fitted/_features", None),
        ("fitted/_line", None),
        ("fitted/_line", {"tuple": []}),
        ("fitted/_line/tuple/0/array/1", [7]),
        ("fitted/_line/tuple/0/array/0", "object_"),
        ("fitted/_line/tuple/0/array/0", "O"),
        ("fitted/_line/tuple/0/array/0", "V8"),
        ("fitted/_line/tuple/0/array/2", "K"),
        ("fitted/_line/tuple/0/array/3/0", "one"),
        ("fitted/_line/tuple/0/array/3/0", {"float": "1e5"}),
        ("fitted/_line/tuple/0/array/1", [-1]),
        ("fitted/coef_", {"code": "1"}),
        ("fitted/coef_", {"tuple": [], "array": []}),
        ("fitted/_features/tuple/0/Feature/step", {"Fraction": "1/0"}),
        ("fitted/_features/tuple/0/Feature/step", {"Fraction": "one"}),
        ("fitted/_features/tuple/0/Feature/size", 3),
        ("fitted/_features", {"tuple": []}),
        ("fitted/finding_/Finding", {}),
        ("parameters/colour", "red"),
        ("parameters", []),
    ],
)
def test_a_file_that_was_made_up_is_refused_with_a_sentence(path: str, value: Any) -> None:
    with pytest.raises(TacitError, match=r"malformed: .+\. Save the model again\."):
        files.from_bytes(changed(path, value))


@pytest.mark.parametrize(
    "value",
    [
        {"Fraction": "1e10000000"},
        {"Fraction": "1e-10000000"},
        {"Fraction": "1" * 20_000},
        {"Fraction": "0.5"},
        {"Fraction": 3},
        {"Decimal": "1E+10000000"},
        {"Decimal": "1E-999999"},
        {"Decimal": "1" * 20_000},
        {"Decimal": "NaN"},
        {"Decimal": "Infinity"},
        {"Decimal": 3},
        {"array": ["<U99999999", [9], "C", ["a"] * 9]},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_few_characters_never_stand_for_very_much(value: Any) -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="its "):
        files.of_json(value)
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize(
    "value",
    [Fraction(-7, 3), Fraction(5), Fraction(2) ** -1074, Fraction(10) ** 300, Decimal("0.10"), Decimal("-1E-7")],
)
def test_exact_numbers_survive(value: Any) -> None:
    again = files.of_json(json.loads(json.dumps(files.as_json(value))))
    assert type(again) is type(value)
    assert str(again) == str(value)


def test_nesting_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(TacitError, match="nested too deeply"):
        files.from_bytes(changed("fitted/deep_", deep))


def test_damage_and_files_from_the_future_are_named() -> None:
    head = whole()
    head["content"]["fitted"]["intercept_"] = 1e9
    with pytest.raises(TacitError, match="damaged"):
        files.from_bytes(json.dumps(head).encode())
    head = whole()
    head["version"] = 2
    with pytest.raises(TacitError, match="version 2"):
        files.from_bytes(json.dumps(head).encode())
    with pytest.raises(TacitError, match="cannot be read"):
        learning.load("/nowhere/m.json")


def test_what_a_file_cannot_hold_is_refused_when_it_is_written() -> None:
    made, _ = fitted(learning.Ridge(epsilon=5, bounds=(-100, 100), target_bounds=(-9, 9)))
    made.extra_ = object()
    with pytest.raises(ParameterError, match="what a file can hold"):
        files.to_bytes(made)
    made.extra_ = np.array([1 + 2j])
    with pytest.raises(ParameterError, match="arrays of numbers"):
        files.to_bytes(made)
