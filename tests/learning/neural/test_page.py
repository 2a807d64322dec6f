"""The page about neural networks: its examples run."""

from __future__ import annotations

from typing import Any

from tests.test_docs import DOCS, examples
from tests.walk import execute


def test_every_example_of_the_page_runs() -> None:
    names: dict[str, Any] = {}
    found = list(examples(DOCS / "neural.md"))
    assert found
    for line, source in found:
        execute(source, names, f"neural.md:{line}")
