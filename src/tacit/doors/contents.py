"""Estimates, plans and answers as plain JSON values: the same for `--json` on the command line and for HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.answer import Answer, Estimate
    from tacit.plan import Plan, UnitedPlan


def estimate_content(found: Estimate) -> dict[str, object]:
    """What it would cost, and how far each column would be off."""
    errors = [
        {"column": e.name, "within_95": e.within_95, "at_most_95": e.at_most_95, "deviation": e.deviation}
        for e in found.errors
    ]
    by_rows = [
        {"column": e.name, "rows": e.rows, "within_95": e.within_95, "at_most_95": e.at_most_95}
        for e in found.for_example
    ]
    return {
        "epsilon": str(found.epsilon),
        "delta": str(found.plan.delta),
        "share": None if found.share is None else float(found.share),
        "errors": errors,
        "errors_by_rows": by_rows,
        "notes": [*found.picked, *found.plan.notes],
    }


def plan_content(plan: Plan | UnitedPlan, reasons: str = "") -> dict[str, object]:
    """The plan in sentences, the query that would run, and what would be charged."""
    query = ";\n".join(each.text() for each in plan.queries)
    content: dict[str, object] = {"sentences": plan.sentences, "query": query, "event": plan.event.to_dict()}
    return {**content, "why": reasons.splitlines()} if reasons else content


def answer_content(answer: Answer) -> dict[str, object]:
    """The released table with its intervals, and what it cost."""
    from tacit.answer.nested import plain
    from tacit.doors import tables

    around = [None if each is None else list(map(plain, each)) for each in tables.intervals(answer)]
    return {
        "columns": [{"name": name, "kind": kind} for name, kind in zip(answer.names, answer.kinds, strict=True)],
        "rows": [list(map(plain, row)) for row in answer.rows()],
        "intervals_95": around,
        "records": answer.sheet().records(),
        "receipt": answer.receipt,
        "repeated": answer.repeated,
    }
