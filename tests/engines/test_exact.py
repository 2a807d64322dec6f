"""An exact result shows nothing by accident."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.engines.exact import Exact
from tacit.engines.secret import Secret


def exact() -> Exact:
    return Exact([("F",), ("M",)], {"n": [4711, 5], "s": [2**70, -(2**70)]})


@pytest.mark.parametrize(
    "look",
    [
        repr,
        str,
        lambda found: f"{found}",
        lambda found: "%s" % found,  # noqa: UP031
        ascii,
        list,
        tuple,
        len,
        bool,
        hash,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda found: pickle.dumps(found, protocol=0),
        json.dumps,
        lambda found: json.dumps({"a": [found]}),
        vars,
        lambda found: found == found,
        lambda found: found != exact(),
        lambda found: 4711 in found,
        lambda found: found[0],
        lambda found: found.keys,
        lambda found: found.columns,
        lambda found: found.__dict__,
        lambda found: found.__keys,
        lambda found: np.asarray(found).astype(int),
        lambda found: repr([found]),
    ],
)
def test_every_way_of_looking_is_refused_and_tells_nothing(look: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, AttributeError)) as refusal:
        look(exact())
    assert "4711" not in str(refusal.value)


def test_a_release_gets_the_content_and_cannot_change_it() -> None:
    held = exact()

    def release(keys: Any, columns: Any) -> Any:
        columns["n"][0] = 0
        keys.clear()
        return "done"

    assert held.open_for(release) == "done"
    keys, columns = held.open_for(lambda keys, columns: (keys, columns))
    assert keys == [("F",), ("M",)]
    assert columns["n"].dtype == np.int64
    assert columns["n"].tolist() == [4711, 5]
    assert columns["s"].tolist() == [2**70, -(2**70)]


@pytest.mark.parametrize("column", [[1.0, 2], [True, 1], [None, 1], [1], [1, 2, 3]])
def test_a_measure_is_one_whole_number_per_key(column: Any) -> None:
    with pytest.raises(ValueError, match="measure"):
        Exact([("F",), ("M",)], {"n": column})


def test_a_secret_is_not_shown_or_pickled() -> None:
    secret = Secret(b"s" * 32)
    assert "s" * 4 not in repr(secret) + str(secret)
    assert secret.key_for("a") != secret.key_for("b")
    assert secret.key_for("a") != Secret(b"t" * 32).key_for("a")
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.copy(secret)


def test_a_column_of_words_is_taken_as_it_is_where_it_fits() -> None:
    def columns(*numbers: int) -> Any:
        return Exact([()] * len(numbers), {"n": np.array(numbers, dtype=np.int64)}).open_for(
            lambda _, found: found["n"]
        )

    assert columns(2**62 - 1, 1 - 2**62).dtype == np.int64
    assert columns().tolist() == []
    for wide in (2**62, -(2**62), 2**63 - 1, -(2**63)):
        assert columns(wide, 0).dtype == object
        assert columns(wide, 0).tolist() == [wide, 0]
    for wrong in (np.array([1.0]), np.array([[1]]), np.ma.masked_array([1], mask=[True])):
        with pytest.raises(ValueError, match="whole numbers"):
            Exact([()], {"n": wrong})
    given = np.array([4711], dtype=np.int64)
    kept = Exact([()], {"n": given})
    given[0] = 0
    assert kept.open_for(lambda _, found: found["n"].tolist()) == [4711]
