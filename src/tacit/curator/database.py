"""What a private database can be asked, whether its rows lie here (`Curator`) or behind a server (`tacit.connect`).

It is one protocol, which the type checker enforces for both: a program that takes a `Database` need not know which it
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tacit.answer import Answer, Estimate, Standing
from tacit.curator.in_words import in_words
from tacit.curator.publish import Publication
from tacit.curator.suggest import Suggestion
from tacit.ledger import Entry, Report
from tacit.loss.spent import Spent
from tacit.parameters import Number
from tacit.plan import Plan, UnitedPlan
from tacit.plan.asked import Asked
from tacit.policy import Policy


class Database(Protocol):
    """Asking, the free steps before it, and the budget."""

    policy: Policy
    analyst: str

    @in_words
    def plan(self, sql: object, asked: Asked) -> Plan:
        """How the question would be answered; free."""
        ...

    @in_words
    def planned(self, sql: object, asked: Asked) -> Plan | UnitedPlan:
        """As `plan`, also for a UNION ALL of answers; free."""
        ...

    @in_words
    def estimate(self, sql: object, asked: Asked) -> Estimate:
        """Cost and error before spending; free."""
        ...

    @in_words
    def explain(self, sql: object, asked: Asked) -> str:
        """The plan in sentences; free."""
        ...

    @in_words
    def why(self, sql: object, asked: Asked) -> str:
        """Why the answer will be as imprecise as it is; free."""
        ...

    @in_words
    def ask(self, sql: object, asked: Asked) -> Answer:
        """The answer, paid for; or the stored one, free."""
        ...

    def ask_all(
        self,
        questions: Sequence[object],
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        analyst: str | None = None,
    ) -> tuple[Answer, ...]:
        """The answers to several questions for one epsilon."""
        ...

    def suggest(
        self,
        column: str,
        epsilon: Number | None = None,
        *,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Suggestion:
        """Bounds for a column that has none yet, bought."""
        ...

    def rows(self, sql: str, columns: Sequence[str] | None = None, *, rows_per_unit: int | None = None) -> Any:
        """Rows for a study; free."""
        ...

    def publish(
        self,
        statistics: Mapping[str, object] | Iterable[object],
        epsilon: Number,
        *,
        delta: Number = 0,
        to: str | Path | None = None,
        title: str = "Statistics",
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Publication:
        """Questions and planned studies together, for one charge, and as files."""
        ...

    def watch(
        self,
        sql: str,
        epsilon: Number,
        *,
        every: str,
        delta: Number = 0,
        since: Any = None,
        until: Any = None,
        time: str | None = None,
        wait: str | None = None,
        analyst: str | None = None,
    ) -> Any:
        """Totals of a table that grows in time, released after every period."""
        ...

    def budget(self, analyst: str | None = None) -> Standing:
        """How the dataset's budget stands, or one analyst's own."""
        ...

    def spent(self, analyst: str | None = None) -> Spent:
        """What has been spent, in the unit of the committed filter."""
        ...

    def remaining(self, analyst: str | None = None) -> Spent:
        """What is left, in the unit of the committed filter."""
        ...

    def ledger(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Who asked what, when, and what it cost."""
        ...

    def number_of(self, sequence: object) -> int | None:
        """The number of an entry's question, counted among those that are visible here."""
        ...

    def stored(self, entry: int) -> Answer:
        """The answer that an entry of the ledger paid for, once more and free."""
        ...

    def verify(self) -> Report:
        """Whether the ledger is as it was sealed."""
        ...

    def resume(self, analyst: str | None = None, *, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner's word that failures were looked at."""
        ...

    def close(self) -> None:
        """Close it."""
        ...
