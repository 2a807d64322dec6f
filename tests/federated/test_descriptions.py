"""Every description that parties agree on is one text, and nothing else is read: of collections, searches, rounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tacit import federated
from tacit.federated.aggregation.setup import Setup
from tacit.federated.descriptions import Described
from tacit.federated.poplar.heavy_hitters import HeavyHitters
from tacit.federated.prio.collection import Collection
from tacit.federated.refusals import Refused
from tacit.federated.running.federation import Federation
from tests.federated.poplar.test_heavy_hitters import search_of
from tests.federated.prio.test_collection import KEY, collection
from tests.federated.running.people import parties
from tests.federated.running.test_coordinator import DRINKS
from tests.federated.test_aggregation import round_of

DESCRIBED: dict[str, tuple[Callable[[], Described], Callable[[str], Described]]] = {
    "collection": (
        lambda: collection(federated.MultihotCountVec(5, 2), servers=3, delta=1e-6),
        Collection.from_json,
    ),
    "search": (lambda: search_of(8), HeavyHitters.from_json),
    "round": (lambda: round_of(6, degree=4, threshold=3, least=5), Setup.from_json),
    "federation": (lambda: parties(DRINKS, 5)[0], Federation.from_json),
}
CHANGES: tuple[dict[str, Any], ...] = (
    *({"version": 2}, {"version": "1"}, {"more": 1}, {"name": ["a"]}),
    *({"clients": 7}, {"clients": ["zz"]}, {"server": "zz"}, {"circuit": {"kind": "Nothing"}}, {"kind": "other"}),
)


def text_of(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_is_one_text_and_no_other_is_read(name: str) -> None:
    make, read = DESCRIBED[name]
    text = make().to_json()
    assert KEY.hex() not in text
    assert read(text).to_json() == text
    content = json.loads(text)
    assert text == text_of(content)
    wrong = ["", "x", "[]", "{}", "1", "null", json.dumps(content), text_of(content)[:-1]]
    wrong += [text_of(content | change) for change in CHANGES if change.keys() <= content.keys() or "more" in change]
    wrong += [text_of({key: value for key, value in content.items() if key != left_out}) for left_out in content]
    for each in wrong:
        with pytest.raises(Refused, match=r"[Dd]escription|public key"):
            read(each)
