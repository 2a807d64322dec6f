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
