"""Rule: every name gets its source and its spelling from the policy; what the policy does not list does not exist.

Promise: afterwards every `Name` is (alias, column) with an alias of the scope and a column of its source; the unit's
column is only compared with other units; outputs, HAVING and ORDER BY contain only aggregates and keys.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.plan.draft import Draft, changed
from tacit.plan.sources.names import conjunction
from tacit.question import tree


def resolve(draft: Draft) -> Draft:
    """The draft with the names of its clauses resolved."""
    assert draft.joined is not None
    question, names = draft.question, draft.joined.names
    keys = tuple(tree.Key(key.name, names.in_rows(key.expression)) for key in question.keys)
    resolved = replace(
        question,
        where=conjunction(names.in_rows(part) for part in draft.joined.where),
        keys=keys,
        outputs=tuple(tree.Output(each.name, names.in_cells(each.expression, keys)) for each in question.outputs),
        having=None if question.having is None else names.in_cells(question.having, keys),
        qualify=None if question.qualify is None else names.in_cells(question.qualify, keys),
        order=tuple(replace(each, expression=names.in_cells(each.expression, keys)) for each in question.order),
    )
    if question.summary is not None:
        summary = replace(
            question.summary,
            keys=tuple(names.in_cells(key, keys) for key in question.summary.keys),
            having=None if question.summary.having is None else names.in_cells(question.summary.having, keys),
        )
        resolved = replace(resolved, summary=summary)
    return changed(draft, question=resolved)
