"""Rule: on which levels each measure is bought: only those at which an output that needs it is used."""

from __future__ import annotations

from dataclasses import replace

from tacit.plan.draft import Draft, changed
from tacit.plan.levels import Levels


def choose_levels(draft: Draft) -> Draft:
    """The draft with the levels of every measure of its own."""
    levels, question = draft.levels, draft.question
    if levels is None:
        return draft
    everywhere = tuple(range(len(levels.sets)))
    wanted: dict[int, set[int]] = {place: set() for place in range(len(draft.parts))}
    looked_at = question.output_sets or (everywhere,) * len(draft.outputs)
    uses = [(output.formula, sets) for output, sets in zip(draft.outputs, looked_at, strict=True)]
    conditions = [each for each in (draft.having, draft.qualify) if each is not None]
    uses += [(formula, everywhere) for formula in (*conditions, *(formula for formula, _, _ in draft.order))]
    for formula, sets in uses:
        for place in formula.measures:
            bundle = draft.parts[place].together
            for each in (place,) if bundle is None else bundle.places:  # what is released together shares levels
                wanted[each].update(sets)
    parts = [
        part
        if part.block
        else replace(
            part, levels=Levels(levels.sizes, tuple(levels.sets[at] for at in sorted(wanted[place] or everywhere)))
        )
        for place, part in enumerate(draft.parts)
    ]
    return changed(draft, parts=tuple(parts))
