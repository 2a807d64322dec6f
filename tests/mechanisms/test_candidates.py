from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.mechanisms import declared_public
from tacit.mechanisms.candidates import public_candidates
from tests.mechanisms.exact import refused


@pytest.mark.parametrize("candidates", [["a", "b"], ("a", "b"), range(2), "ab"])
def test_what_the_caller_wrote_out_is_public(candidates: Any) -> None:
    assert list(public_candidates(candidates)) == list(candidates)


FROM_DATA = [
    np.array(["a", "b"]),
    {"a", "b"},
    frozenset("ab"),
    {"a": 1, "b": 2},
    {"a": 1}.keys(),
    {"a": 1}.values(),
    (c for c in "ab"),
    iter(["a"]),
    memoryview(b"ab"),
    None,
    3,
]


@pytest.mark.parametrize("candidates", FROM_DATA, ids=lambda c: type(c).__name__)
def test_containers_that_usually_hold_data_are_refused(candidates: Any) -> None:
    refused(lambda: public_candidates(candidates), "candidates")


def test_a_caller_may_vouch_for_any_of_them() -> None:
    assert public_candidates(declared_public(np.array([3, 4]))) == (3, 4)
    assert public_candidates(declared_public(c for c in "ab")) == ("a", "b")


@pytest.mark.parametrize("candidates", [[], (), range(0), "", declared_public([])])
def test_no_candidates_at_all_are_refused(candidates: Any) -> None:
    refused(lambda: public_candidates(candidates), "candidates")
