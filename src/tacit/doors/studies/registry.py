"""The table of what can be named: statistics, models, synthetic data. Made from what these rooms offer to all.

Promise: one name, one thing, for every door. A study that takes the asker's function cannot be named, because no code
crosses a door. A room whose library is not installed offers nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal

from tacit import learning, parameters, statistics, synthesis
from tacit.doors.studies.parameters import Parameter, parameters_of
from tacit.policy.check import did_you_mean

Room = Literal["statistics", "models", "synthetic data"]
_NOT_STUDIES: Final = frozenset({"estimate", "planned", "load", "evaluate"})


@dataclass(frozen=True, slots=True)
class Named:
    """A thing that can be named: where it belongs, its own description, and what it takes."""

    name: str
    room: Room
    says: str
    made: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    takes_target: bool = False
    takes_columns: bool = False

    @property
    def is_model(self) -> bool:
        """Whether it is fitted, and then predicts."""
        return self.room == "models" and isinstance(self.made, type)


@lru_cache(maxsize=1)
def registry() -> Mapping[str, Named]:
    """Everything that can be named here."""
    return MappingProxyType({each.name: each for each in (*_statistics(), *_models(), *_synthetic())})


def named(name: str) -> Named:
    """The thing of this name, or a refusal with the nearest names."""
    known = registry()
    if name not in known:
        raise parameters.refuse(
            "study", f"one of {', '.join(known)}", name[:80], did_you_mean(name[:80], known).strip()
        )
    return known[name]


def _statistics() -> Iterator[Named]:
    for name in statistics.__all__:
        found = getattr(statistics, name)
        if inspect.isfunction(found) and name not in _NOT_STUDIES:
            yield from _function(name, "statistics", found)


def _models() -> Iterator[Named]:
    try:
        found = {name: getattr(learning, name) for name in learning.__all__}
    except ImportError:
        return  # scikit-learn is an extra
    for name, made in found.items():
        if inspect.isfunction(made) and name not in _NOT_STUDIES:
            yield from _function(name, "models", made)
        elif isinstance(made, type) and hasattr(made, "fit") and name != "Search":
            known = parameters_of(made)
            if known is not None:
                yield Named(name, "models", _first(made), made, known, takes_target=_is_taught(made))


def _synthetic() -> Iterator[Named]:
    for name in synthesis.__all__:
        found = getattr(synthesis, name)
        if inspect.isfunction(found) and name not in _NOT_STUDIES:
            yield from _function(name, "synthetic data", found)


def _function(name: str, room: Room, made: Callable[..., Any]) -> Iterator[Named]:
    known = parameters_of(made)
    if known is not None and "data" in inspect.signature(made).parameters:
        columns = "columns" in inspect.signature(made).parameters
        yield Named(name, room, _first(made), made, known, takes_columns=columns)


def _is_taught(made: type) -> bool:
    """Whether a model predicts a column, and so must be told which."""
    return any(base.__name__ in ("ClassifierMixin", "RegressorMixin") for base in made.__mro__)


def _first(made: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(made) or "").split("\n\n")[0].split())
