"""Whose code is in a model: ours, that of scikit-learn, numpy and scipy, or anyone else's, which sees no private row.

A class is what it is by identity, and not by what it says of itself: it is the one that its module has under its name.
A model of ours is of exactly one of the classes that `tacit.learning` and `tacit.learning.neural` show, and carries
nothing of its own by the name of something that its class has: that would be asked in its place.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.learning.model import NETWORKS, Model
from tacit.learning.trees.tree_shapes import walks_end

_NUMBERS: Final = (str, bytes, int, float, bool, complex, type(None), type(Ellipsis))
_HOLDING: Final = (dict, list, tuple, set, frozenset, slice, range)
_STATES: Final = (np.random.RandomState, np.random.Generator)
_WRITTEN: Final = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)
_CLASSES: Final = ("sklearn", "numpy", "scipy", "tacit")
_FUNCTIONS: Final = ("sklearn.feature_selection", "sklearn.metrics")  # held, but not called, by fitted models


def is_ours(model: Any) -> bool:
    """Whether its class is exactly one of those that this room shows. torch is not loaded to find that out."""
    own = type(model)
    if not issubclass(own, Model):
        return False
    if own.__name__ in NETWORKS:
        home = sys.modules.get("tacit.learning.neural.estimators")  # without it there is no such model
        return home is not None and getattr(home, own.__name__) is own
    learning: Any = sys.modules["tacit.learning"]  # it imports this, so it is there
    return own.__name__ in learning.__all__ and getattr(learning, own.__name__) is own


def refuse_others(model: Any) -> None:
    """Refuse a model with code of anyone else's, before it is fitted to rows of a curator."""
    if not is_ours(model):
        hint = "A class of one's own has code of its own, which would see rows."
        raise parameters.refuse(
            "model", "of a class of tacit.learning, for rows of a curator", type(model).__name__, hint
        )
    refuse_shadows(model)


def is_network(model: Any) -> bool:
    """Whether it is one of `neural/`."""
    return type(model).__name__ in NETWORKS and is_ours(model)


def refuse_shadows(model: Any) -> None:
    """Refuse what stands in a model of ours by the name of something that its class has."""
    kept = vars(model)
    for name in kept if type(kept) is dict else ["__dict__"]:
        if type(name) is not str or hasattr(type(model), name):
            hint = f"It has a {name} of its own, which would be asked in place of {type(model).__name__}'s."
            raise parameters.refuse("model", "as its fit left it", type(model).__name__, hint)


def look_over(thing: Any, seen: set[int]) -> None:
    """Refuse code that is not of scikit-learn, numpy or scipy: it could look beyond its row, or do more with it."""
    own = type(thing)
    written = _is_one(own, _WRITTEN)
    if id(thing) in seen or _is_one(own, (*_NUMBERS, *_STATES)):
        return
    seen.add(id(thing))
    is_known = _is_from(thing, _FUNCTIONS) if written else _is_one(own, _HOLDING) or _is_class(thing)
    if not is_known:
        home = getattr(thing if written or own is type else own, "__module__", None)
        found = f"{home}.{getattr(thing, '__name__', own.__name__)}"
        hint = "Others could do more with a row than predict."
        raise parameters.refuse("model", "made of classes of scikit-learn alone", found, hint)
    if own.__name__ == "DummyClassifier" and thing.strategy in ("stratified", "uniform"):
        raise parameters.refuse("model", "one whose predictions are not drawn", f"DummyClassifier({thing.strategy!r})")
    if not walks_end(thing):
        hint = "A row could be sent round in it for ever."
        raise parameters.refuse("model", "trees in which every walk ends at a leaf", own.__name__, hint)
    if not written and not isinstance(thing, type):
        for each in inside(thing):
            look_over(each, seen)


def _is_class(thing: Any) -> bool:
    """Whether it is a known class, or a thing of one."""
    own = thing if isinstance(thing, type) else type(thing)
    return _is_one(own, (*_NUMBERS, *_HOLDING)) or _is_from(own, _CLASSES)


def _is_one(kind: Any, known: tuple[Any, ...]) -> bool:
    """Whether it is the very same as one of these: a class may say that it is equal to any other."""
    return any(kind is each for each in known)


def _is_from(thing: Any, homes: tuple[str, ...]) -> bool:
    """Whether it is what one of these packages has under its name."""
    home = getattr(thing, "__module__", None)
    if isinstance(thing, np.ufunc):
        return any(getattr(sys.modules.get(each), thing.__name__, None) is thing for each in ("numpy", "scipy.special"))
    if type(home) is not str or not any(home == each or home.startswith(f"{each}.") for each in homes):
        return False
    found: Any = sys.modules.get(home)
    for name in str(getattr(thing, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is thing


def inside(thing: Any) -> list[Any]:
    """What it is made of."""
    if isinstance(thing, np.ndarray):
        return list(thing.ravel().tolist()) if thing.dtype == object else []
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, (list, tuple, set, frozenset)):
        return list(thing)
    return list(vars(thing).values()) if hasattr(thing, "__dict__") and not isinstance(thing, type) else []


def random_states(thing: Any, seen: set[int] | None = None) -> list[Callable[[], None]]:
    """For every random state inside, how to put it back."""
    known = set() if seen is None else seen
    if id(thing) in known or isinstance(thing, (str, bytes, int, float, bool, type(None))):
        return []
    known.add(id(thing))
    if isinstance(thing, np.random.RandomState):
        state = thing.get_state()
        return [lambda: thing.set_state(state)]
    if isinstance(thing, np.random.Generator):
        bits, kept = thing.bit_generator, thing.bit_generator.state
        return [lambda: setattr(bits, "state", kept)]
    return [put_back for each in inside(thing) for put_back in random_states(each, known)]
