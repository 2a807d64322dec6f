"""What stands for a question: its key in the ledger, and the query with all that the release needs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from tacit import parameters
from tacit.plan import Plan, Query
from tacit.question import canonical


def with_units(query: Query) -> Query:
    """The query, asked also for its units where the rule for unknown keys needs them."""
    if query.unit_column is None:
        return query
    return replace(query, measure_columns=(*query.measure_columns, query.unit_column))


def key_of(plan: Plan, data: list[str]) -> tuple[str, str]:
    """What stands for the question and everything that shapes its answer, and the question's canonical text.

    `data` says which tables are meant, in which state. Noise is in the key beside the event: equal events may be
    priced alike and yet be shared differently over the measures.
    """
    text = canonical(plan.question)
    noise = [[each.kind, str(each.centre), str(each.step), repr(each.mechanism)] for each in plan.measures]
    noise += [["together", repr(each)] for each in plan.bundles]
    noise += [["pick", repr(each.mechanism), str(each.low), str(each.stride)] for each in plan.picks]
    shaping = [text, plan.event.to_json(), noise, plan.rows_per_unit, data, parameters.as_text(plan.delta)]
    return hashlib.sha256(json.dumps(shaping).encode()).hexdigest(), text
