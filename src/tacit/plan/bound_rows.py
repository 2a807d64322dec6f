"""Rule: how many rows of one unit the question reads. Fewer rows mean less noise, and less of the data."""

from __future__ import annotations

from dataclasses import replace

from tacit.errors import QuestionError
from tacit.plan.draft import Draft


def bound_rows(draft: Draft) -> Draft:
    """r: what the question asks for, at most what the policy promises."""
    table = draft.policy.tables[draft.question.table]
    asked = draft.question.rows_per_unit
    if asked is not None and not 1 <= asked <= table.rows_per_unit:
        raise QuestionError(
            f"tacit_rows_per_unit must be from 1 to {table.rows_per_unit}, what the policy allows for table "
            f"{table.name!r}. Got {asked} instead."
        )
    rows = table.rows_per_unit if asked is None else asked
    return replace(draft, question=replace(draft.question, rows_per_unit=rows), rows_per_unit=rows)
