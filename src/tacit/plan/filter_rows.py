"""Rule: WHERE, as a condition that cannot fail. Filtering by a row's own values changes no sensitivity."""

from __future__ import annotations

from dataclasses import replace

from tacit.plan.draft import Draft
from tacit.plan.translate import condition_of


def filter_rows(draft: Draft) -> Draft:
    """The condition as SQL."""
    if draft.question.where is None:
        return draft
    return replace(draft, where=condition_of(draft.question.where, draft.scope).sql)
