"""A curator from its opening to its end: the engine and the ledger that it holds, and how it shows itself.

Promise: what was opened is closed, even where opening fails half way, where it is made anew, or where the caller
forgets it.
"""

from __future__ import annotations

import copy
import html
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from tacit import parameters
from tacit.answer.pages import fragment
from tacit.curator.held import hold, told_apart
from tacit.curator.owner import refuse_refresh
from tacit.curator.public_keys import with_public_keys
from tacit.curator.purse import Purse
from tacit.curator.till import Till
from tacit.engines.copies import Progress
from tacit.engines.engine import Engine, open_engine
from tacit.policy import Policy


class Lifetime(Purse):
    """What a curator holds while it is open."""

    def __init__(
        self,
        policy: Policy,
        *,
        analyst: str = "owner",
        frames: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(policy)
        self._stated, self.analyst = policy, analyst
        self._held = hold(policy, frames, progress)
        self._ledger = self._held.ledger
        try:
            self._begin(self._held.engine)
        except BaseException:
            self._held.close()
            raise
        self._end = weakref.finalize(self, self._held.close)

    def _begin(self, engine: Engine) -> None:
        """Ask this engine from now on."""
        policy = with_public_keys(self._stated, engine)
        stated = self._stated
        till = Till(self._ledger, engine, told_apart(stated), bool(stated.analysts), stated.timing)
        self.policy, self._engine, self._till = policy, engine, till

    def seen_by(self, analyst: str, last_word: Callable[[], None] | None = None) -> Self:
        """The same database as this analyst sees it: questions asked there are charged to this name alone.

        For the owner, who lets others in. It shares the engine and the ledger: close the owner's, not this one.
        `last_word` is called right before anything is charged there; an exception from it, such as `Cancelled`, ends
        the purchase for free.
        """
        if self.analyst != "owner":
            raise parameters.refuse("analyst", "the owner, who alone lets others in", self.analyst)
        seen = copy.copy(self)
        seen.analyst = analyst
        if last_word is not None:
            seen._till = self._till.unless(last_word)
        return seen

    def state(self) -> tuple[str, ...]:
        """Which tables are meant, and a digest that changes when a source does. Nothing in it comes from a row."""
        return (*self._till.stated, self._till.engine.fingerprint())

    def widen(self, workers: int) -> None:
        """Answer up to this many questions at once, asked from several threads; each worker has its own memory.

        This is for rows in DuckDB's copy; a database server answers one at a time.
        """
        self._engine.widen(parameters.whole("workers", workers, least=1))

    def refresh(self, *, progress: Progress | None = None) -> None:
        """Register the tables anew, whether or not a change of them was noticed: erased people leave the copy."""
        refuse_refresh(self._stated)
        fresh, before = open_engine(self._stated, progress=progress, anew=True), self._engine
        try:
            self._begin(fresh)
        except BaseException:
            fresh.close()
            raise
        self._held = replace(self._held, engine=fresh)
        self._end.detach()
        self._end = weakref.finalize(self, self._held.close)
        before.close()

    def close(self) -> None:
        """End the engine and close the ledger. Everything charged is already durable."""
        self._end()

    def __getattr__(self, habit: str) -> Any:
        # only reached for missing names
        raise AttributeError(
            f"A curator has no {habit!r}. Ask in SQL with .ask(...), or step by step: "
            ".table('visits').group_by('sex').count().ask(0.1). Studies are in tacit.statistics."
        )

    def __str__(self) -> str:
        tables = ", ".join(self.policy.tables)
        if not self._end.alive:
            return f"A private database of {tables}, closed."
        return f"A private database of {tables}, asked by {self.analyst}. {self.budget()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(', '.join(table.columns) or 'no columns')}</td></tr>"
            for name, table in self.policy.tables.items()
        )
        listed = f"<table><tr><th>table</th><th>what may be asked about</th></tr>{rows}</table>"
        return fragment(listed) + (self.budget()._repr_html_() if self._end.alive else "<p>Closed.</p>")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
