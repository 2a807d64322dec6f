"""The examples in docstrings, `>>> ...`, run and show what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
MODULES = sorted(
    ".".join(("tacit", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_there_are_examples() -> None:
    assert {"tacit.loss.budget", "tacit.plan.asked"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_show_what_they_say(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
