"""What importing loads, and which names the package promises."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import tacit

HEAVY = ("duckdb", "pandas", "polars", "pyarrow", "scipy", "sklearn", "torch", "matplotlib", "mpmath", "rich")


def loaded_by(statement: str) -> set[str]:
    """Every module present in a fresh interpreter after `statement`."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_importing_tacit_loads_no_library_at_all() -> None:
    added = roots(loaded_by("import tacit")) - roots(loaded_by("pass"))
    assert "tacit" in added
    assert added - {"tacit"} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    "room",
    [
        "tacit",
        "tacit.errors",
        "tacit.noise",
        "tacit.loss",
        "tacit.mechanisms",
        "tacit.learning",
        "tacit.learning.neural",
    ],
)
def test_importing_a_room_loads_nothing_heavy(room: str) -> None:
    assert roots(loaded_by(f"import {room}")) & set(HEAVY) == set()


def test_the_command_line_loads_its_own_libraries_alone() -> None:
    """Completion and help start a process for every press of a key."""
    loaded = loaded_by("import tacit.doors.cli")
    rooms = {name.split(".")[1] for name in loaded if name.startswith("tacit.")}
    assert rooms <= {"doors", "errors", "parameters"}
    assert roots(loaded) & {*HEAVY, "numpy", "sqlglot", "apsw", "cryptography"} <= {"rich"}


def test_a_curator_is_loaded_without_scipy() -> None:
    assert "scipy" not in roots(loaded_by("import tacit.curator"))


def test_the_check_for_heavy_modules_notices_one() -> None:
    assert "scipy" in roots(loaded_by("import scipy"))


def test_the_names_of_tacit_are_frozen() -> None:
    assert tacit.__all__ == [
        "Answer",
        "Budget",
        "BudgetExceeded",
        "Cancelled",
        "Curator",
        "EngineError",
        "LedgerError",
        "ParameterError",
        "PolicyError",
        "QuestionError",
        "Stopped",
        "TacitError",
        "__version__",
        "anything",
        "audit",
        "auto",
        "between",
        "connect",
        "date_between",
        "federated",
        "learning",
        "local",
        "one_of",
        "open",
        "protect",
        "statistics",
        "streaming",
        "synthesis",
    ]


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_promised_name_is_there_and_is_listed(name: str) -> None:
    assert getattr(tacit, name) is not None
    assert name in dir(tacit)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tacit' has no attribute 'Bugdet'"):
        _ = tacit.Bugdet  # type: ignore[attr-defined]


def test_names_come_from_their_rooms() -> None:
    import tacit.errors
    import tacit.loss

    assert tacit.ParameterError is tacit.errors.ParameterError
    assert tacit.Budget is tacit.loss.Budget
    assert issubclass(tacit.ParameterError, tacit.TacitError)


def test_every_refusal_can_be_caught_by_its_name_in_tacit() -> None:
    import tacit.errors

    assert set(tacit.errors.__all__) <= set(tacit.__all__)


@pytest.mark.parametrize("room", ["tacit.noise", "tacit.loss", "tacit.mechanisms"])
def test_a_public_name_is_never_shadowed_by_a_file_of_that_name(room: str) -> None:
    # Importing `tacit.loss.compose` binds the module to the name `compose` of its room, unless the room has bound it.
    program = f"""
        import importlib, pkgutil, types
        room = importlib.import_module({room!r})
        for found in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            importlib.import_module(found.name)
        print([name for name in room.__all__ if isinstance(getattr(room, name), types.ModuleType)])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_rooms_are_there_after_importing_the_package_alone() -> None:
    program = "import tacit; print(tacit.statistics.median.__name__, tacit.audit.__name__)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["median", "tacit.audit"]


ROOMS = ("answer", "audit.attacks", "audit.zoo", "curator", "ledger", "loss", "mechanisms", "noise", "policy")
PUBLIC = [
    tacit,
    tacit.statistics,
    tacit.learning,
    tacit.synthesis,
    tacit.audit,
    *(importlib.import_module(f"tacit.{r}") for r in ROOMS),
]


@pytest.mark.parametrize("room", PUBLIC, ids=lambda room: str(room.__name__))
def test_completion_shows_public_names_only(room: Any) -> None:
    assert sorted(dir(room)) == sorted(room.__all__)
