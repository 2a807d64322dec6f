"""How a row of arrays is read is its own affair: no other row, missing or odd, changes the grid or the codes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tacit
from tacit.errors import QuestionError
from tacit.statistics.graphs.source import graph_source
from tacit.statistics.source import ArraySource, source_of

ODD = [None, 2.5, "x", "7", float("nan"), True, 2**70, [1], np.int64(4)]


def codes_of(source: Any, name: str) -> list[int]:
    """The codes of the rows that count."""
    assert isinstance(source, ArraySource)
    return [int(code) for code in source.columns[name][~source.missing[name]]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_one_more_number_in_a_list_leaves_the_grid_and_all_other_codes_alone(odd: Any) -> None:
    before = source_of([1, 2, 3], bounds=(0, 100))
    after = source_of([1, 2, 3, odd], bounds=(0, 100))
    assert after.variables == before.variables
    assert codes_of(after, "x")[:3] == codes_of(before, "x")
    assert [code * before.only.step for code in codes_of(before, "x")] == [1, 2, 3]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_one_more_listed_value_leaves_all_other_rows_where_they_are(odd: Any) -> None:
    listed = [1, 2, "other", "x"]
    before = source_of([1, 1, 2, "other"], values=listed)
    assert codes_of(before, "x") == [0, 0, 1, 2]
    assert codes_of(source_of([1, 1, 2, "other", odd], values=listed), "x")[:4] == [0, 0, 1, 2]
    assert codes_of(source_of([1, 1], values=listed), "x") == [0, 0]
    assert codes_of(source_of(["x", 1, np.int64(1)], values=listed), "x") == [3, 0, 0]


@pytest.mark.parametrize(
    "frame",
    [
        lambda rows: pd.DataFrame({"n": pd.array(rows, dtype="Int64")}),
        lambda rows: pl.DataFrame({"n": rows}, schema={"n": pl.Int64}),
    ],
    ids=["pandas", "polars"],
)
def test_a_missing_value_in_a_frame_of_whole_numbers_leaves_them_whole(frame: Any) -> None:
    before, after = (source_of(frame(rows), bounds=(0, 100)) for rows in ([1, 2, 3], [1, 2, 3, None]))
    assert after.variables == before.variables
    assert after.only.step == 1
    assert codes_of(after, "n") == codes_of(before, "n") == [1, 2, 3]


def test_arrays_of_whole_numbers_of_any_width_are_their_own_codes() -> None:
    for dtype in (np.int8, np.uint8, np.uint64, np.bool_):
        source = source_of(np.array([0, 1, 1], dtype=dtype), bounds=(-5, 1000))
        assert source.only.step == 1
        assert codes_of(source, "x") == [0, 1, 1]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_the_weight_of_one_more_edge_leaves_the_grid_of_weights_alone(odd: Any) -> None:
    edges = [(0, 1, 1), (1, 2, 2)]
    before = graph_source(edges, nodes=3, weight="weight", bounds=(0, 100))
    after = graph_source([*edges, (0, 2, odd)], nodes=3, weight="weight", bounds=(0, 100))
    assert after.weight == before.weight
    assert codes_of(after.source, "weight")[:2] == codes_of(before.source, "weight")


@pytest.mark.parametrize("large", [6, 2**39])
def test_rows_beyond_a_word_are_refused_whatever_they_hold(large: int) -> None:
    """Read into words they would fail on the rows that are too large, after the charge: an error about a row."""
    frame = pd.DataFrame({"who": range(3), "a": [1, 2, large], "b": [1, 2, large], "c": [1, 2, large]})
    columns = {"a": tacit.between(0, 2**40), "b": tacit.between(-(2**21), 2**21), "c": tacit.anything()}
    with tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=3, delta=0)) as data:
        for wide in ("a * a", "a * b * b", "c + c"):
            with pytest.raises(QuestionError, match=r"2\*\*62"):
                data.rows(f"SELECT {wide} AS wide, a FROM data")
        assert data.rows("SELECT a * b AS narrow, c FROM data").plan.variables[0].high == 2**61
        assert all(entry.cost is None for entry in data.ledger())
