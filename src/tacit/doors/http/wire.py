"""What crosses the wire, as JSON and back: answers, budgets, entries, and what a policy says in public.

Promise: values that are read back equal those that were written, to the last digit: numbers of prices and bounds travel
as exact rationals in text, released values as the ledger stores them. Of a policy only what its analysts may know
crosses: tables, units, bounds and columns; no path, no address, no other analyst's budget.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from tacit.answer import Answer, Standing
from tacit.errors import TacitError
from tacit.ledger import Entry
from tacit.ledger.entry import canonical
from tacit.loss.budget import Budget
from tacit.loss.spent import Spent
from tacit.loss.worth import AskedPrice
from tacit.parameters import as_text
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, RowUnit, Source, Table
from tacit.policy.columns import Scalar, typed
from tacit.policy.units import Unit

_OTHER: Final = "What the server sent is not what this version of tacit reads. Use the same version on both sides."

# -- answers -------------------------------------------------------------------------------------------


def answer_out(answer: Answer) -> dict[str, Any]:
    """An answer as the ledger stores it, whether it was stored before, and whether it is several put together."""
    return {"stored": json.loads(answer.to_bytes()), "repeated": answer.repeated, "united": answer.united}


def answer_in(content: Mapping[str, Any]) -> Answer:
    """The same answer."""
    answer = Answer.from_bytes(json.dumps(content["stored"]).encode(), repeated=bool(content["repeated"]))
    return replace(answer, united=bool(content["united"]))


# -- budgets -------------------------------------------------------------------------------------------


def standing_out(standing: Standing) -> dict[str, Any]:
    """How a budget stands."""
    return {
        "payer": standing.payer,
        "budget": budget_out(standing.budget),
        "share": as_text(standing.share),
        "failed": standing.failed,
        "answers": standing.answers,
        "worth": as_text(standing.worth),
        "more": standing.more,
        "last": None if standing.last is None else _asked_out(standing.last),
        "sentence": str(standing),
    }


def standing_in(content: Mapping[str, Any]) -> Standing:
    """The same standing."""
    last = content["last"]
    return Standing(
        content["payer"],
        budget_in(content["budget"]),
        Fraction(content["share"]),
        content["failed"],
        content["answers"],
        Fraction(content["worth"]),
        content["more"],
        None if last is None else AskedPrice(_maybe(last["epsilon"]), _maybe(last["rho"]), Fraction(last["delta"])),
    )


def budget_out(budget: Budget) -> dict[str, str]:
    """An epsilon and a delta."""
    return {"epsilon": as_text(budget.epsilon), "delta": as_text(budget.delta)}


def budget_in(content: Mapping[str, str]) -> Budget:
    """The same budget."""
    return Budget(content["epsilon"], content["delta"])


def _asked_out(asked: AskedPrice) -> dict[str, str | None]:
    texts = {name: None if each is None else as_text(each) for name, each in _parts(asked)}
    return {**texts, "delta": as_text(asked.delta)}


def _parts(asked: AskedPrice) -> Iterable[tuple[str, Fraction | None]]:
    return ("epsilon", asked.epsilon), ("rho", asked.rho)


def _maybe(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


# -- the ledger ----------------------------------------------------------------------------------------


def entry_in(content: Mapping[str, Any]) -> Entry:
    """The entry that `Entry.to_dict` wrote."""
    return Entry(
        content["sequence"],
        content["kind"],
        content["when"],
        content["analyst"],
        content["key"],
        canonical(content["content"]),
        content["previous"],
        content["hash"],
    )


def spent_in(content: Mapping[str, Any]) -> Spent:
    """What a filter has counted."""
    return Spent.from_dict(dict(content))


# -- public facts --------------------------------------------------------------------------------------


def policy_out(policy: Policy, analyst: str) -> dict[str, Any]:
    """The public part of a policy, with only this analyst's budget."""
    own = policy.analysts.get(analyst)
    return {
        "name": policy.name,
        "budget": budget_out(policy.budget),
        "own_budget": None if own is None else budget_out(own),
        "default_epsilon": as_text(policy.default_epsilon),
        "largest_epsilon": as_text(policy.largest_epsilon),
        "tables": {name: _table_out(table) for name, table in policy.tables.items()},
    }


def policy_in(content: Mapping[str, Any], analyst: str) -> Policy:
    """A policy that says the same, whose rows lie elsewhere."""
    try:
        own = content["own_budget"]
        return Policy(
            name=content["name"],
            tables={name: _table_in(name, table) for name, table in content["tables"].items()},
            budget=budget_in(content["budget"]),
            analysts={} if own is None else {analyst: budget_in(own)},
            default_epsilon=Fraction(content["default_epsilon"]),
            largest_epsilon=Fraction(content["largest_epsilon"]),
        )
    except (KeyError, TypeError, AttributeError):
        raise TacitError(_OTHER) from None


def _table_out(table: Table) -> dict[str, Any]:
    return {
        "public": table.public,
        "unit": _unit_out(table.unit),
        "rows_per_unit": table.rows_per_unit,
        "key": table.key,
        "fan_out": table.fan_out,
        "meets": None if table.meets is None else [[list(names), most] for names, most in table.meets.items()],
        "columns": {name: _column_out(column) for name, column in table.columns.items()},
    }


def _table_in(name: str, content: Mapping[str, Any]) -> Table:
    meets = content["meets"]
    return Table(
        name,
        Source("frame", name),
        _unit_in(content["unit"]),
        content["rows_per_unit"],
        {each: _column_in(each, facts) for each, facts in content["columns"].items()},
        public=content["public"],
        key=content["key"],
        fan_out=content["fan_out"],
        meets=None if meets is None else {tuple(names): most for names, most in meets},
    )


def _unit_out(unit: Unit | None) -> Any:
    if isinstance(unit, PathUnit):
        return {"key": unit.key, "table": unit.table, "their_key": unit.their_key}
    if isinstance(unit, ColumnUnit):
        return {"column": unit.column}
    return None if unit is None else "row"


def _unit_in(content: Any) -> Unit | None:
    if content is None:
        return None
    if content == "row":
        return RowUnit()
    return ColumnUnit(content["column"]) if "column" in content else PathUnit(**content)


def _column_out(column: Column) -> dict[str, Any]:
    values = column.values
    return {
        "type": column.kind,
        "lower": _scalar_out(column.lower),
        "upper": _scalar_out(column.upper),
        "values": None if values is None else [_scalar_out(each) for each in values],
        "nullable": column.nullable,
        "outside": column.outside,
        "auto": column.auto,
    }


def _column_in(name: str, facts: Mapping[str, Any]) -> Column:
    kind = facts["type"]
    lower, upper = (None if facts[end] is None else typed(kind, facts[end]) for end in ("lower", "upper"))
    listed = facts["values"]
    values = None if listed is None else tuple(typed(kind, each) for each in listed)
    return Column(name, kind, lower, upper, values, facts["nullable"], facts["outside"], facts["auto"])


def _scalar_out(value: Scalar | None) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return as_text(value) if isinstance(value, Fraction) else value.isoformat()
