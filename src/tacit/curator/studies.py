"""Studies pay here: what is not one SQL question goes the same way, charged first, then run, released, stored, sent.

Promise: a study's key stands for everything that shapes its result (what it asks, of which rows, at which price, of
which data), so the same study again gets the stored result and is charged nothing. After the charge nothing leaves
but what the study's own mechanism makes of exact numbers, or one fixed error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from tacit import parameters
from tacit.answer.release import guarded
from tacit.engines.engine import STALE
from tacit.errors import EngineError
from tacit.plan.row_plan import RowPlan, plan_rows
from tacit.question.pieces import name as quoted
from tacit.question.stack import room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.curator.curator import Curator
    from tacit.engines.exact import Exact
    from tacit.ledger import Receipt
    from tacit.loss.events import Event
    from tacit.plan import Query

Run: TypeAlias = "Callable[[Query], Exact]"
Compute: TypeAlias = "Callable[[Run, Receipt], bytes]"


@dataclass(frozen=True, slots=True)
class Price:
    """What a study costs: the exact event that is charged, and what it is worth to people."""

    event: Event
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a curator that a study may use. Making them reads nothing and costs nothing."""

    curator: Curator
    plan: RowPlan

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.plan.variables)
        return f"Rows({names}; at most {self.plan.rows_per_unit:,} of one unit)"

    def release(
        self, asked: Mapping[str, Any], price: Price, compute: Compute, analyst: str | None
    ) -> tuple[bytes, bool]:
        """What `compute` makes of these rows once `price` is paid, as bytes; and whether it had been stored before."""
        return release(self.curator, self._named(asked), price, compute, analyst)

    def paid(self, asked: Mapping[str, Any], price: Price, analyst: str | None) -> tuple[Run, Receipt]:
        """Pay, and go on asking: for studies that take their questions one by one. Nothing of it is stored."""
        return paid(self.curator, self._named(asked), price, analyst)

    def _named(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What is asked, and of which rows."""
        return {**asked, "rows": self.plan.text, "rows_per_unit": self.plan.rows_per_unit}


def rows_of(curator: Curator, sql: str, columns: Sequence[str] | None, rows_per_unit: int | None) -> Rows:
    """The rows of a SELECT; or, with columns, of a table."""
    text = str(sql)
    if columns is not None:
        listed = ", ".join(quoted(str(each)) for each in columns)
        text = f"SELECT {listed} FROM {quoted(text)}"  # noqa: S608  # quoted names, parsed again
    with room():
        return Rows(curator, plan_rows(text, curator.policy, rows_per_unit))


def release(
    curator: Curator, asked: Mapping[str, Any], price: Price, compute: Compute, analyst: str | None
) -> tuple[bytes, bool]:
    """The stored result of this study, or a new one, paid for."""
    asker, key, text = _asked(curator, asked, price, analyst)
    stored = curator._ledger.answer(key)
    if stored is not None:
        return stored, True
    if curator._engine.is_stale():
        raise EngineError(STALE)
    receipt = curator._ledger.charge(asker, key, text, price.event)
    with curator._engine.moment() as run:
        payload = guarded(lambda: compute(run, receipt))
    return curator._ledger.store_answer(receipt, payload), False


def paid(curator: Curator, asked: Mapping[str, Any], price: Price, analyst: str | None) -> tuple[Run, Receipt]:
    """A charge of its own, every time; and the engine's answers to whatever the study then asks."""
    import secrets

    asker, key, text = _asked(curator, {**asked, "opened": secrets.token_hex(16)}, price, analyst)
    if curator._engine.is_stale():
        raise EngineError(STALE)
    receipt = curator._ledger.charge(asker, key, text, price.event)
    return curator._engine.run, receipt


def _asked(curator: Curator, asked: Mapping[str, Any], price: Price, analyst: str | None) -> tuple[str, str, str]:
    """Who asks, what stands for the study, and its text for the ledger."""
    most = curator.policy.largest_epsilon
    if price.epsilon > most:
        allowed = f"worth at most epsilon {parameters.as_text(most)}, the policy's largest"
        raise parameters.refuse("epsilon", allowed, float(price.epsilon))
    asker = curator.analyst if analyst is None else analyst
    if curator.policy.analysts:
        curator._ledger.filter(asker)
    text = json.dumps({"is": "Study", **asked}, sort_keys=True)
    data = [*curator._tables, curator._engine.fingerprint()]
    shaping = [text, price.event.to_json(), parameters.as_text(price.epsilon), parameters.as_text(price.delta), data]
    return asker, hashlib.sha256(json.dumps(shaping).encode()).hexdigest(), text
