"""How much of each person's gradient counts: weights that keep it within the clipping norm, from upper bounds of norms.

Theorem. With n at least the norm of a person's gradient, min(1, C/n) and C/(n + r), r > 0, bring its norm to at most C.
The first leaves short gradients as they are ("flat"); the second brings nearly all of them to one length ("automatic"),
so that C need not be chosen: it only scales steps. Weights are rounded down (`floats`); a person whose norm is not
finite has weight 0.
Source: Abadi et al. 2016; Bu, Wang, Zha, Karypis 2023 (automatic clipping, r = 0.01).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from tacit import parameters
from tacit.learning.neural.floats import DOWN
from tacit.learning.neural.gradients.forms import Form, Known
from tacit.learning.neural.gradients.gathered import Placed, gathered

FLAT: Final = "flat"
AUTOMATIC: Final = "automatic"
ADAPTIVE: Final = "adaptive"
"""As flat, with a norm that follows the people's (`adaptive`)."""
_NEVER_ZERO: Final = 0.01
_LEAST_WEIGHT: Final = 2.0**-100  # weights below it are 0, so that rounding to float32 stays relative
_UP: Final = 1.0 + 2.0**-40


def weights(forms: Sequence[Form], clip: float, kind: str) -> tuple[Any, Any]:
    """One weight for each person, and an upper bound of the person's norm, which may be infinite or NaN."""
    known: Known = {}
    total = forms[0].squares(known)
    for each in forms[1:]:
        total += each.squares(known)
    lengths = total.sqrt() * _UP
    found_lengths, finite = lengths, torch.isfinite(lengths)
    lengths = torch.where(finite, lengths, torch.ones((), dtype=torch.float64))
    if kind == AUTOMATIC:
        found = clip / (lengths + _NEVER_ZERO)
    else:
        found = (clip / lengths.clamp(min=1e-300)).clamp(max=1.0)
    found = torch.where(finite & (found >= _LEAST_WEIGHT), found * DOWN, torch.zeros((), dtype=torch.float64))
    return found.float(), found_lengths


def checked(kind: Any) -> str:
    """The kind of clipping."""
    if kind not in (FLAT, AUTOMATIC, ADAPTIVE):
        raise parameters.refuse("clipping", f"{FLAT!r}, {AUTOMATIC!r} or {ADAPTIVE!r}", kind)
    return str(kind)


def add_clipped(total: Any, forms: Sequence[Form], clip: float, kind: str, room: Any) -> Any:
    """Add everyone's clipped gradient, parameter after parameter, to a flat float64 total; returns bounds of norms.

    room: `room_of` the parameters' sizes; it is overwritten.
    """
    placed = gathered(forms)
    own, lengths = weights([each.form for each in placed], clip, kind)
    finite = torch.isfinite(lengths)
    if not bool(finite.all()):  # 0 times NaN is NaN
        placed = [Placed(each.form.without(finite), each.stretches) for each in placed]
    for each in placed:
        each.add_to(total, own, room)
    return lengths
