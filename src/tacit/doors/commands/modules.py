"""`--module FILE.py:NAME`: the torch module in the caller's own file.

Promise: naming a file asks for it to be run, once, before anything is charged and before a row is read.
`tacit.learning.neural` decides what sees rows afterwards.
"""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit import parameters
from tacit.errors import ParameterError

Module = Annotated[
    str | None, typer.Option(metavar="FILE.py:NAME", help="The module of a neural network: a class or a function.")
]


def own_module(written: str) -> Any:
    """What FILE.py:NAME means. The file is run, as its name here asks for, before anything is charged."""
    place, _, name = written.rpartition(":")
    path = Path(place)
    if not place or not name.isidentifier():
        raise typer.BadParameter(f"--module wants FILE.py:NAME, such as mine.py:Net. Got {written!r}.")
    if not path.is_file():
        raise ParameterError(f"{path} is no file. --module wants FILE.py:NAME.")
    made = importlib.util.spec_from_file_location(path.stem, path)
    if made is None or made.loader is None:
        raise ParameterError(f"{path} is no file of Python: its name must end in .py.")
    own = importlib.util.module_from_spec(made)
    made.loader.exec_module(own)
    if not hasattr(own, name):
        raise ParameterError(f"{path} has no {name!r}.")
    return _as_given(getattr(own, name))


def _as_given(found: Any) -> Any:
    """A module, or a function of (inputs, outputs) that makes one; a class that needs neither is made now."""
    if not callable(found):
        raise parameters.refuse("--module", "a torch module, or a function that makes one", type(found).__name__)
    if not isinstance(found, type):
        return found
    wanted = [each for each in inspect.signature(found).parameters.values() if each.default is each.empty]
    return found if len(wanted) == 2 else found()
