"""What a forward pass leaves on its module is put back: nothing of one chunk is there for the next.

A module may write to its own attributes while it computes: the mean of its first batch, a list of what it saw. A later
chunk, or the next step, would then depend on who was in an earlier one, and the caller's module would hold rows.

Promise: after gradients were computed, every layer has the attributes that it had before, and its lists, dictionaries
and sets have what they had. What the caller sets between two steps stays. Tensors that are written to are another
matter (`rehearsal` refuses modules that do so), and so is what code keeps elsewhere: in closures or globals.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_HOLDERS: Final = (list, dict, set)


@contextmanager
def forgetting(module: Any, told: list[str] | None = None) -> Iterator[None]:
    """Inside, layers may keep what they like; afterwards it is gone. told: gets the kinds of layers that did."""
    kinds = [] if told is None else told
    layers = list(module.modules())
    before = [dict(vars(each)) for each in layers]
    held = [(own, own.copy()) for kept in before for own in kept.values() if type(own) in _HOLDERS]
    try:
        yield
    finally:
        for layer, kept in zip(layers, before, strict=True):
            now = vars(layer)
            if len(now) != len(kept) or any(now.get(name) is not own for name, own in kept.items()):
                kinds.append(type(layer).__name__)
                now.clear()
                now.update(kept)
        for own, was in held:
            if len(own) != len(was) or not _same(own, was):
                kinds.append(type(own).__name__)
                own.clear()
                (own.extend if type(own) is list else own.update)(was)


def _same(own: Any, was: Any) -> bool:
    """Whether these hold the very same things; they are of one length."""
    if type(own) is dict:
        return all(name in own and own[name] is each for name, each in was.items())
    if type(own) is list:
        return all(one is other for one, other in zip(own, was, strict=True))
    return bool(own == was)
