"""Studies pay here: what is not one SQL question goes the same way, charged first, then run, released, stored, sent.

Promise: a study's key stands for everything that shapes its result (what it asks, of which rows, at which price, of
which data), so the same study again gets the stored result and is charged nothing. After the charge nothing leaves
but what the study's own mechanism makes of exact numbers, or one fixed error.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.curator.keys import Price, purchase_of_study
from tacit.curator.till import Compute, Session
from tacit.plan.make import affordable
from tacit.plan.row_plan import RowPlan, plan_rows
from tacit.question.pieces import name as quoted
from tacit.question.stack import room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.curator.curator import Curator


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a curator that a study may use. Making them reads nothing and costs nothing.

    >>> clinic.rows("SELECT day FROM visits WHERE ward = 'north'")
    Rows(day; at most 2 of one unit)
    """

    curator: Curator
    plan: RowPlan

    def __getattr__(self, habit: str) -> Any:
        # only reached for missing names
        raise AttributeError(
            f"Rows have no {habit!r}: they never leave. Studies take them: tacit.statistics.mean(rows, epsilon=0.1)."
        )

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.plan.variables)
        return f"Rows({names}; at most {self.plan.rows_per_unit:,} of one unit)"

    @property
    def is_clocked(self) -> bool:
        """Whether answers leave at public points in time: then progress is not shown on the way."""
        return self.curator._till.clock.steps

    def release(
        self, asked: Mapping[str, Any], price: Price, compute: Compute, analyst: str | None
    ) -> tuple[bytes, bool]:
        """What `compute` makes of these rows once `price` is paid, as bytes; and whether it was already stored."""
        return release(self.curator, self._named(asked), price, compute, analyst)

    def paid(self, asked: Mapping[str, Any], price: Price, analyst: str | None) -> Session:
        """Pay, and go on asking: for studies that take their questions one by one. No result of it is stored."""
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
    affordable(curator.policy, price.epsilon, "epsilon", price.epsilon)
    purchase = purchase_of_study(asked, price, curator._till.data())
    return curator._till.buy(purchase, compute, curator._asker(analyst))


def paid(curator: Curator, asked: Mapping[str, Any], price: Price, analyst: str | None) -> Session:
    """A new charge every time, and the engine's answers to the questions that the study then asks."""
    affordable(curator.policy, price.epsilon, "epsilon", price.epsilon)
    purchase = purchase_of_study({**asked, "opened": secrets.token_hex(16)}, price, curator._till.data())
    return curator._till.open(purchase, curator._asker(analyst))
