"""The examples in docstrings, `>>> ...`, run and show what they say; everything public has one.

What they show does not depend on noise: a price, a name, a shape, an exact law, a refusal. The same holds of a value
that is within its bounds whatever the noise is.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
MODULES = sorted(
    ".".join(("tacit", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


ROOMS = (
    *("tacit", "tacit.statistics", "tacit.learning", "tacit.synthesis", "tacit.local", "tacit.streaming"),
    *("tacit.federated", "tacit.audit", "tacit.noise", "tacit.mechanisms", "tacit.mechanisms.continual", "tacit.loss"),
    *("tacit.policy", "tacit.ledger"),
)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_the_room_has_an_example(room: str) -> None:
    made = importlib.import_module(room)
    public = {name: getattr(made, name) for name in made.__all__ if not name.startswith("__")}
    without = [
        name
        for name, each in public.items()
        if not isinstance(each, ModuleType)
        and get_origin(each) is None  # a union or a literal has no text of its own
        and ">>> " not in (inspect.getdoc(each) or "")
    ]
    assert without == []


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_show_what_they_say(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
