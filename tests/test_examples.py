"""The examples in docstrings, `>>> ...`, run and show what they say; everything public has one.

What they show does not depend on noise: a price, a name, a shape, an exact law, a refusal. The same holds of a value
that is within its bounds whatever the noise is. Examples about a curator speak of the one that is opened here: they run
in a folder with its policy, `clinic.toml`, and find it as `clinic`, and one of its answers as `answer`.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_origin

import pytest
from docs.reference import ROOMS

import tacit
from tacit.answer import Answer
from tacit.curator import Curator

SOURCE = Path(tacit.__file__).parent
MODULES = sorted(
    ".".join(("tacit", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
METHODS: tuple[Callable[..., Any], ...] = (  # those that are used most
    *(Curator.ask, Curator.ask_all, Curator.table, Curator.plan, Curator.estimate, Curator.explain, Curator.why),
    *(Curator.rows, Curator.publish, Curator.watch, Curator.suggest, Curator.budget, Curator.ledger, Curator.verify),
    *(Answer.rows, Answer.intervals, Answer.chart_spec, Answer.card),
    *(Answer.to_dict, Answer.to_csv, Answer.to_markdown, Answer.to_pandas),
)
POLICY = """
name = "clinic"
ledger = "clinic.ledger"
working_copy = "clinic.copy"
budget.epsilon = 5

[tables.visits]
source = "visits.csv"
unit = "patient"
rows_per_unit = 2

[tables.visits.columns]
day = { type = "date", between = [2024-01-01, 2024-12-31] }
ward = { type = "text", one_of = ["north", "south"], nullable = false }
charge = { type = "real", between = "auto" }
"""
VISITS = [
    f"{row // 2},2024-{row % 12 + 1:02}-15,{('north', 'south')[row % 2]},{100 + row % 20}\n" for row in range(600)
]
SHARED = ("clinic.", "answer.", "clinic.toml")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """Six hundred visits; those who read the examples have tables of their own."""
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "clinic.toml").write_text(POLICY)
    (folder / "visits.csv").write_text("".join(["patient,day,ward,charge\n", *VISITS]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACIT_STATE", str(folder / "state"))
        patch.chdir(folder)
        with tacit.open("clinic.toml") as opened:
            yield opened


@pytest.mark.parametrize("room", [*ROOMS, "tacit.mechanisms.continual"])
def test_every_public_name_of_the_room_has_an_example(room: str) -> None:
    made = importlib.import_module(room)
    public = {name: getattr(made, name) for name in made.__all__ if not name.startswith("__")}
    without = [
        name
        for name, each in public.items()
        if callable(each)  # a module or a list of values has no text of its own
        and get_origin(each) is None  # nor has a union or a literal
        and ">>> " not in (inspect.getdoc(each) or "")
    ]
    assert without == []


def test_the_methods_that_are_used_most_have_an_example() -> None:
    assert [each.__qualname__ for each in METHODS if ">>> " not in (inspect.getdoc(each) or "")] == []


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_show_what_they_say(module: str, request: pytest.FixtureRequest) -> None:
    made = importlib.import_module(module)
    known: dict[str, Any] = {}
    if any(each in inspect.getsource(made) for each in SHARED):
        known["clinic"] = request.getfixturevalue("clinic")
        known["answer"] = known["clinic"].ask("SELECT ward, count(*) AS n FROM visits GROUP BY ward", 1)
    found = doctest.testmod(made, extraglobs=known)
    assert found.attempted > 0
    assert found.failed == 0
