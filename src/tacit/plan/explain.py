"""Rule: the plan in plain words, one numbered sentence for each decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tacit.mechanisms import Laplace
from tacit.plan.deviation import deviation
from tacit.plan.draft import Draft, Part
from tacit.policy import RowUnit


def explain(draft: Draft) -> Draft:
    """The sentences."""
    return replace(draft, sentences=tuple(f"{n}. {text}" for n, text in enumerate(_sentences(draft), start=1)))


def _sentences(draft: Draft) -> Iterator[str]:
    question, rows = draft.question, draft.rows_per_unit
    unit = draft.policy.unit_of(question.table)
    who = "One row is protected" if isinstance(unit.unit, RowUnit) else "All rows of one unit are protected together"
    promised = draft.policy.tables[question.table].rows_per_unit
    yield f"{who}: table {question.table!r} is compared with itself without them."
    if rows < promised:
        yield f"Of each unit at most {rows:,} rows are read, {promised:,} being allowed: less noise, and less data."
    elif promised > 1:
        yield f"Of each unit at most {rows:,} rows are read; asking for fewer (tacit_rows_per_unit) lowers the noise."
    for join in question.joins:
        yield f"Each row meets at most one row of the public table {join.table!r}, so the join adds no noise."
    if draft.where is not None:
        yield "WHERE is decided row by row; where it could fail it is NULL, and the row is left out."
    yield from _keys(draft)
    for place, (part, each, mechanism) in enumerate(
        zip(draft.parts, draft.sensitivities, draft.mechanisms, strict=True)
    ):
        law = "Laplace" if isinstance(mechanism, Laplace) else "Gaussian"
        spread = deviation(mechanism) * float(part.step)
        yield (
            f"Measure m{place} ({_words(part)}): {each.reason}; one unit changes it by at most "
            f"{_number(each.l1 * part.step)} in all and {_number(each.linf * part.step)} in one cell. "
            f"{law} noise of standard deviation {spread:.6g} is added to every cell."
        )
    for output in draft.outputs:
        if len(output.formula.measures) > 1:
            used = ", ".join(f"m{place}" for place in sorted(output.formula.measures))
            yield f"Output {output.name!r} is computed from the noisy {used}; that costs nothing more."
    if draft.having is not None or draft.order or question.limit is not None:
        yield "HAVING, ORDER BY and LIMIT look at noisy values only, and cost nothing."


def _keys(draft: Draft) -> Iterator[str]:
    if not draft.key_columns:
        return
    if draft.cells is not None:
        yield f"The keys are known: all {len(draft.cells):,} cells are shown, also empty ones."
        return
    assert draft.selection is not None
    enough = draft.selection.threshold(Fraction(1, 2))
    yield (
        f"The keys are not known: a key is shown by a rule on its number of units "
        f"(epsilon {float(draft.selection.epsilon):.4g}, delta {float(draft.selection.delta):.3g}). "
        f"A key with {enough:,} units is shown with probability one half."
    )


def _words(part: Part) -> str:
    names = {"count_rows": "count of rows", "count": "count of values", "count_units": "count of units", "sum": "sum"}
    return names[part.kind] + (f" around {_number(part.centre)}" if part.centre else "")


def _number(exact: Fraction) -> str:
    return f"{exact.numerator:,}" if exact.denominator == 1 else f"{float(exact):.6g}"
