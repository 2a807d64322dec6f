"""Rule: numbers that are measured or chosen from must be small enough that floats hold their squares, added up.

Nothing is computed with floats before the noise is drawn, and after that nothing fails (`floats`). But an answer with
infinite numbers would be useless, and it would be paid for: so it is refused here, from public bounds alone.
"""

from __future__ import annotations

from tacit.plan.answers.floats import LARGEST, of_allowed_size
from tacit.plan.draft import Draft


def bound_sizes(draft: Draft) -> Draft:
    """The draft; refused where it measures numbers that are too large."""
    for part, each in zip(draft.parts, draft.sensitivities, strict=True):
        # squares and products may be as large as the square of what is allowed: a float holds that
        of_allowed_size("What is measured here", abs(part.centre) + each.linf * part.step, LARGEST**2)
    for pick in draft.pick_parts:
        if pick.values is None:
            farthest = max(abs(pick.low), abs(pick.low + pick.points * pick.stride))
            of_allowed_size("What is chosen from here", farthest * pick.columns[0].step)
    return draft
