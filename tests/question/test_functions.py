"""The table of functions: each record holds together, and what it says of a curve is so."""

from __future__ import annotations

import importlib
import inspect
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import QuestionError
from tacit.question import read, tree
from tacit.question.forms import ByName, Curve, Nodes, OfBase, ReadIn
from tacit.question.functions import CURVES, DATE_PARTS, STRAIGHT, TABLE, Function
from tacit.question.readers import LISTS, READERS

NUMBERS = (Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(33))
POINTS = np.array([-7.5, -2.0, -0.3, 0.3, 1.0, 2.0, 7.5])


def points_of(curve: Curve) -> np.ndarray:
    """Some points at which it has a value."""
    return POINTS if curve.domain == "every number" else POINTS[POINTS > 0]


def test_no_two_functions_share_a_name_a_node_a_base_or_a_counted_word() -> None:
    nodes = [node for each in TABLE if isinstance(each.read, Nodes) for node in each.read.kinds]
    bases = [each.read.base for each in TABLE if isinstance(each.read, OfBase)]
    words = [word for each in TABLE for word in each.counted]
    for found in ([each.name for each in TABLE], nodes, bases, words):
        assert max(Counter(found).values()) == 1


def test_no_kind_of_node_has_two_readers() -> None:
    listed = Counter(kind for own in LISTS for kind in own)
    assert max(listed.values()) == 1
    assert listed.keys() == READERS.keys()


@pytest.mark.parametrize("function", TABLE, ids=lambda each: each.name)
def test_a_function_is_read_as_its_record_says(function: Function) -> None:
    if isinstance(function.read, ReadIn):
        assert f'"{function.name}"' in inspect.getsource(
            importlib.import_module(f"tacit.question.{function.read.file}")
        )
    elif isinstance(function.read, OfBase):
        for text in (f"{function.name}(x)", f"log({function.read.base}, x)"):
            assert _call(text) == tree.Call(function.name, (tree.Name(None, "x"),))
    elif isinstance(function.read, ByName) or len(function.read.arguments) == 1:
        assert _call(f"{function.name}(x)") == tree.Call(function.name, (tree.Name(None, "x"),))


def _call(text: str) -> tree.Scalar:
    found = read(f"SELECT avg({text}) FROM t").outputs[0].expression
    assert isinstance(found, tree.Aggregate)
    assert found.argument is not None
    return found.argument


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("coalesce(x, y)", "CASE WHEN NOT x IS NULL THEN x ELSE y END"),
        ("nullif(x, y)", "CASE WHEN x = y THEN NULL ELSE x END"),
        ("if(x > 1, x, y)", "CASE WHEN x > 1 THEN x ELSE y END"),
        ("iff(x > 1, x, y)", "CASE WHEN x > 1 THEN x ELSE y END"),
        ("power(x, 3)", "x * x * x"),
        ("log(x)", "log10(x)"),
        ("try_cast(x AS DOUBLE)", "CAST(x AS DOUBLE)"),
        ("CAST(x AS DECIMAL(9, 2))", "round(x, 2)"),
        ("x BETWEEN 1 AND 2", "x >= 1 AND x <= 2"),
        ("left(t, 2)", "substring(t, 1, 2)"),
        ("starts_with(t, 'a')", "t LIKE 'a%'"),
        ("contains(t, 'a')", "t LIKE '%a%'"),
        ("suffix(t, 'a')", "t LIKE '%a'"),
        ("date_add(d, INTERVAL 2 DAY)", "d + INTERVAL 2 DAY"),
        ("datetrunc('month', d)", "date_trunc('month', d)"),
        ("make_date(2024, 5, 31)", "DATE '2024-05-31'"),
        ("make_timestamp(2024, 5, 31, 12, 0, 0)", "TIMESTAMP '2024-05-31 12:00:00'"),
    ],
)
def test_another_word_is_read_as_what_is_there_already(word: str, same: str) -> None:
    """So whatever holds of the one on rows and on answers holds of the other."""
    assert _call(word) == _call(same)


def test_parts_of_a_date_are_known_by_their_names_and_by_the_words_of_sql() -> None:
    for word, name in {
        "dow": "dayofweek",
        "doy": "dayofyear",
        **{name: name for name in (*DATE_PARTS, "epoch")},
    }.items():
        for text in (f"extract({word} FROM x)", f"date_part('{word}', x)"):
            assert _call(text) == tree.Call(name, (tree.Name(None, "x"),))
    with pytest.raises(
        QuestionError, match=r"The date part 'era' is not understood .*Known: day, dayofweek, dayofyear"
    ):
        _call("date_part('era', x)")


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_rises_and_is_the_same_for_bounds_and_for_answers(name: str) -> None:
    curve = CURVES[name]
    found = curve.values(points_of(curve))
    assert np.all(np.diff(found) > 0)
    assert found == pytest.approx([curve.of(Fraction(float(point))) for point in points_of(curve)], rel=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_the_slopes_of_a_curve_are_those_of_differences(name: str) -> None:
    curve, tiny = CURVES[name], 1e-6
    points = points_of(curve)
    differences = (curve.values(points + tiny) - curve.values(points - tiny)) / (2 * tiny)
    assert curve.slopes(points) == pytest.approx(differences, rel=1e-6)


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_takes_the_step_of_a_grid_as_it_says(name: str) -> None:
    """So the engine may take it of whole numbers, and the step is put to it afterwards."""
    curve = CURVES[name]
    assert curve.times == 1 or curve.step == "added"
    assert (curve.flat is None and curve.most is None) or curve.step == "inside"
    for a in NUMBERS:
        for b in NUMBERS:
            if curve.step == "multiplied":
                assert curve.of(a * b) == pytest.approx(curve.of(a) * curve.of(b), rel=1e-12)
            elif curve.step == "added":
                assert curve.of(a * b) == pytest.approx(curve.of(a) + curve.of(b), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_has_values_in_its_domain_alone(name: str) -> None:
    curve = CURVES[name]
    with np.errstate(all="ignore"):
        at_zero, below = curve.values(np.array([0.0, -1.0]))
    assert np.isfinite(below) == (curve.domain == "every number")
    assert np.isfinite(at_zero) == (curve.domain != "above zero")


@pytest.mark.parametrize("name", CURVES)
def test_no_engine_overflows_on_a_curve(name: str) -> None:
    """Some raise an error where a float is too large, and where a curve that is not zero is too small for one."""
    curve = CURVES[name]
    assert curve.of(1e300 if curve.most is None else curve.most) < (1e200 if curve.most is None else 2.0**50)
    if curve.flat is not None:
        assert 0 < curve.of(curve.flat) < 2.0**-24 / 1000
    elif curve.domain == "every number":
        assert -1e200 < curve.of(-1e300) < 0


@pytest.mark.parametrize("name", STRAIGHT)
def test_a_straight_function_moves_no_farther_than_it_says(name: str) -> None:
    form = STRAIGHT[name]
    numbers = np.linspace(-5.3, 5.3, 107)
    for scale in (1.0, 10.0) if name == "round" else (1.0,):
        moved = np.abs(form.values(numbers[:, None], scale) - form.values(numbers[None, :], scale))
        apart = np.abs(numbers[:, None] - numbers[None, :])
        if form.moves == "flips":
            assert set(form.values(numbers, scale)) <= {-1.0, 0.0, 1.0}
        else:
            step = 0.0 if form.moves == "slides" else 1 / scale
            assert np.all(moved <= apart + step + 1e-9)


def test_a_number_without_end_has_no_whole_part() -> None:
    assert math.isnan(STRAIGHT["trunc"].values(np.array([np.inf]), 1.0)[0])
