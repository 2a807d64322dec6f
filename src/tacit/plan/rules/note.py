"""Rule: what the answer says in addition to its numbers: what was left out, what noise decided, what it cannot know.

Promise: made from the question and the policy (and what was counted in public tables) alone, so it says nothing about a
row. It is stored with the answer, and shown wherever the answer is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tacit.mechanisms import KeySelection
from tacit.plan.answers.chosen import ROWS_BY_NOISE, is_chosen, is_place, picked, used_totals
from tacit.plan.answers.formulas import Formula
from tacit.plan.answers.summaries import Summed
from tacit.plan.draft import Draft, changed
from tacit.question import tree


def note(draft: Draft) -> Draft:
    """The draft with its notes, those of questions inside among them."""
    inside = (said for inner in draft.inner for said in inner.notes)
    own = (*_selection(draft), *_unmarked(draft), *_unknown(draft), *_empty(draft))
    return changed(draft, notes=tuple(dict.fromkeys([*draft.notes, *inside, *own])))


def _selection(draft: Draft) -> Iterator[str]:
    deciding = list(_deciding(draft))
    if any(formula.measures for formula in deciding):
        yield ROWS_BY_NOISE
    else:
        shown = [output.name for output in draft.outputs if is_chosen(output.formula)]
        if shown:
            yield f"Noise decides which value is shown as {', '.join(shown)}: +/- holds for all it could be at once"
    if draft.pick_parts and _picks_decide(draft, deciding):
        yield (
            "Quantiles or modes decide what is shown, and how far they may be off is said for one that is named "
            "beforehand: of many, the greatest or least is off by more"
        )


def _unmarked(draft: Draft) -> Iterator[str]:
    """Values that noise decides and that have no +/-: yes or no, a place in an order, a text."""
    shown = [
        output.name
        for output in draft.outputs
        if output.formula.measures and (output.kind in _NO_NUMBERS or is_place(output.formula))
    ]
    if shown:
        yield (
            f"Noisy numbers decide {', '.join(shown)}: where they are close, noise may have decided otherwise, "
            "and no +/- tells how likely that is"
        )


_NO_NUMBERS = ("boolean", "text", "date", "timestamp")


def _deciding(draft: Draft) -> Iterator[Formula]:
    """The formulas that decide which rows are shown."""
    summary = None if draft.summary is None else draft.summary.having
    yield from (each for each in (draft.having, draft.qualify, summary) if each is not None)
    if draft.question.limit is not None or draft.question.offset:
        yield from (formula for formula, _, _ in draft.order)


def _picks_decide(draft: Draft, deciding: list[Formula]) -> bool:
    keys = len(draft.key_columns)
    extremes = [
        total.argument
        for output in draft.outputs
        if isinstance(output.formula, Summed)
        for total in used_totals(output.formula)
        if total.argument is not None and total.function in ("min", "max")
    ]
    # after a summary the columns of the groups take the places of those of the cells
    inner = deciding if draft.summary is None else [each for each in (draft.having, draft.qualify) if each is not None]
    return any(picked(formula, keys) for formula in (*inner, *extremes))


def _unknown(draft: Draft) -> Iterator[str]:
    if draft.cells is not None or draft.selection is None:
        return
    if draft.summary is not None:
        enough = draft.selection.threshold(Fraction(1, 2))
        yield (
            f"Only keys that enough units share are counted here: others, of up to about {enough:,} units each, "
            "are no part of it, and how many there are is not known"
        )
    elif any(isinstance(each, KeySelection) for each in draft.mechanisms):
        yield (
            f"A key is shown where its noisy count is above {draft.selection.reach:,}: a count that is hardly above "
            "may be any smaller one"
        )


def _empty(draft: Draft) -> Iterator[str]:
    """Known groups are all there, with or without rows: totals over an answer count them, which plain SQL would not."""
    if draft.summary is None or draft.cells is None or not draft.key_columns:
        return
    if any(each is not None and each.measures for each in (draft.having, draft.qualify)):
        return  # noisy values say which of them count
    counting = [each.name for each in draft.question.outputs if any(map(_counts_empty, tree.walk(each.expression)))]
    if counting:
        yield (
            f"All known groups count in {', '.join(counting)}, also those without rows, which plain SQL leaves out: "
            "their counts and sums are 0"
        )


def _counts_empty(node: object) -> bool:
    """Whether a total over an answer changes if groups of 0 are among its rows."""
    if not isinstance(node, tree.Total):
        return False
    if node.argument is None:
        return True
    inside = {each.kind for each in tree.walk(node.argument) if isinstance(each, tree.Aggregate)}
    if not inside or not inside <= _ZERO:
        return False  # a key, or a value that does not exist for a group without rows
    return node.function in ("count", "avg", "min") or (node.function == "max" and not inside <= _NOT_BELOW)


_NOT_BELOW = frozenset({"count_rows", "count", "count_units", "count_distinct", "regr_count"})
_ZERO = _NOT_BELOW | {"sum"}
"""Aggregates that are shown as 0 for a group without rows; and those that are never below 0."""
