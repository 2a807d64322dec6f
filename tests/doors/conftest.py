"""One served clinic for all tests of a module. Without the extra `[server]` none can be served."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.doors.http.serving import Served

NEEDS_SERVER = ["test_connect.py", "test_console.py", "test_console_pages.py", "test_studies.py"]
collect_ignore = [] if importlib.util.find_spec("fastapi") else NEEDS_SERVER


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    from tests.doors.http.serving import served_at

    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("served")
        patch.setenv("TACIT_STATE", str(folder / "state"))
        yield from served_at(folder)
