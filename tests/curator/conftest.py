"""One curator for all tests of a module, and an engine that can be watched."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tacit.curator import Curator
from tacit.engines.exact import Exact

if os.environ.get("TACIT_OVER_HTTP"):  # before anything imports what makes curators
    from tests.doors.http.over_http import install, why_not

    install()

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        for item in items:
            if reason := why_not(item.path, item.name):
                item.add_marker(pytest.mark.skip(reason=f"not over HTTP: {reason}"))


from tests.curator.tables import Watched, curated


@pytest.fixture(scope="module")
def shared() -> Iterator[Curator]:
    with curated() as curator:
        yield curator


@pytest.fixture
def watched(shared: Curator, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """An engine whose only row is a count of ten."""
    double = Watched(Exact([()], {"m0": [10]}))
    monkeypatch.setattr(shared._till, "engine", double)
    return double
