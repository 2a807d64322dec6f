"""The console in a browser: `python3 go.py browser`, in an environment of its own with playwright and axe.

Where playwright is not installed these tests are not collected: the default run does not need a browser.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.clinic_server import ClinicServer, running

collect_ignore_glob = ["test_*.py"] if importlib.util.find_spec("playwright") is None else []


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClinicServer]:
    """A served clinic with a token for everyone."""
    with running(tmp_path_factory.mktemp("clinic")) as served:
        yield served


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's chromium."""
    from playwright.sync_api import sync_playwright

    from tests.browser.clinic_server import CHROMIUM

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
