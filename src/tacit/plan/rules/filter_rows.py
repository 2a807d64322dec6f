"""Rule: WHERE, as a condition that cannot fail. Filtering by a row's own values changes no sensitivity."""

from __future__ import annotations

from tacit.plan.draft import Draft, changed
from tacit.plan.values.decided import decided
from tacit.plan.values.translate import condition_of


def filter_rows(draft: Draft) -> Draft:
    """The condition as SQL; and what is known of it before any row is read (`decided`)."""
    notes = (*draft.notes, *decided(draft.question, draft.scope))
    if draft.question.where is None:
        return changed(draft, notes=notes)
    return changed(draft, where=condition_of(draft.question.where, draft.scope).sql, notes=notes)
