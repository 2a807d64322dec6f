"""What an AI analyst can do: see tables, estimate, explain, ask, see the budget. One object is one conversation.

Promise: a conversation spends at most its limit, whatever the agent asks, how often and how many at once: the price is
set aside before the question is asked, and given back only where nothing was charged. The same question again is free.
Everything else is up to the curator, whose refusals say in their own sentences what to do instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.shown import readable
from tacit.curator import Curator
from tacit.doors.contents import answer_content, estimate_content, plan_content
from tacit.doors.http import wire
from tacit.doors.studies.registry import Named, named, registry
from tacit.doors.studies.running import Wanted, finding_content, run
from tacit.doors.studies.running import estimate_content as study_estimate_content
from tacit.doors.studies.running import price as price_of
from tacit.errors import EngineError, LedgerError, ParameterError, Stopped, TacitError
from tacit.parameters import Number
from tacit.plan.asked import Asked
from tacit.statistics.finding import Finding

Bought = TypeVar("Bought", Answer, Finding)


class Tools:
    """The tools of one conversation with one curator."""

    def __init__(self, curator: Curator, limit: Number | None = None) -> None:
        self._curator = curator
        largest = curator.policy.largest_epsilon
        self.limit = largest if limit is None else parameters.price("limit", limit)
        self._spent = Fraction(0)
        self._paid: set[str] = set()
        self._lock = threading.Lock()

    def list_tables(self) -> dict[str, Any]:
        """Tables and columns with their public bounds and values."""
        return wire.policy_out(self._curator.policy, self._curator.analyst)

    def estimate(self, sql: str, epsilon: str | None = None, delta: str | None = None) -> dict[str, Any]:
        """Cost and error before spending."""
        found = self._curator.estimate(sql, epsilon, delta=delta)
        fits = found.epsilon <= self.limit - self._spent
        return {**estimate_content(found), "sentence": str(found), "fits_this_conversation": fits}

    def explain(self, sql: str, epsilon: str | None = None, delta: str | None = None) -> dict[str, Any]:
        """The plan in sentences."""
        return plan_content(self._curator.planned(sql, epsilon, delta=delta))

    def ask(self, sql: str, epsilon: str | None = None, delta: str | None = None) -> dict[str, Any]:
        """The answer, paid for."""
        asked, walk = Asked.of(epsilon, delta=delta), self._curator.walk(sql)
        price = self._curator.estimate(walk, asked).epsilon
        answer = self._bought(price, repr((sql, epsilon, delta)), lambda: self._curator.ask(walk, asked))
        return {**answer_content(answer), "notes": list(answer.notes), "left_in_this_conversation": self._left()}

    def list_studies(self) -> dict[str, Any]:
        """The statistics that can be named, with what each takes."""
        return {each.name: _taken(each) for each in registry().values() if each.room == "statistics"}

    def estimate_study(self, name: str, sql: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """What a study would cost and how far it would be off."""
        told = price_of(_wanted(name, sql, options), self._curator)
        fits = told.asked.epsilon is not None and told.asked.epsilon <= self.limit - self._spent
        return {**study_estimate_content(told), "fits_this_conversation": fits}

    def run_study(self, name: str, sql: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The study, paid for."""
        wanted = _wanted(name, sql, options)
        price = price_of(wanted, self._curator).asked.epsilon
        if price is None:
            raise ParameterError("A study is paid for with an epsilon here. Give one.")
        made = self._bought(
            price, repr((name, sql, sorted(options.items()))), lambda: run(wanted, self._curator).finding
        )
        return {**finding_content(made), "text": str(made), "left_in_this_conversation": self._left()}

    def budget(self) -> dict[str, Any]:
        """How the budget stands, and what this conversation may still spend."""
        own = self._curator.analyst if self._curator.analyst in self._curator.policy.analysts else None
        return {
            "standing": str(self._curator.budget(own)),
            "limit_of_this_conversation": readable(parameters.as_text(self.limit)),
            "left_in_this_conversation": self._left(),
        }

    def _bought(self, price: Fraction, asked: str, buy: Callable[[], Bought]) -> Bought:
        """Buy something, with its price set aside before."""
        asked = f"{self._curator.state()} {asked}"  # when the data change, the same words are another question
        aside = self._set_aside(price, asked)
        try:
            found = buy()
        except TacitError as failure:
            # a failure of the engine or the ledger may have been charged: the price that was set aside stays spent
            if not isinstance(failure, (EngineError, LedgerError)) or isinstance(failure, Stopped):
                self._give_back(price if aside else Fraction(0), asked)
            raise
        with self._lock:
            if not found.repeated and not aside:  # the data changed at this very moment, and it was charged anew
                self._spent += price
        if found.repeated and aside:
            self._give_back(price, asked)
        with self._lock:
            self._paid.add(asked)
        return found

    def _set_aside(self, price: Fraction, asked: str) -> bool:
        """Whether the price was set aside: what is already paid for is free."""
        with self._lock:
            if asked in self._paid:
                return False
            if self._spent + price > self.limit:
                left = readable(parameters.as_text(self.limit - self._spent))
                raise ParameterError(
                    f"This question needs epsilon {readable(parameters.as_text(price))}; {left} is left of what this "
                    "conversation may spend. Ask with a smaller epsilon, or tell the person what you have found."
                )
            self._spent += price
            return True

    def _give_back(self, price: Fraction, asked: str) -> None:
        with self._lock:
            if asked not in self._paid:
                self._spent -= price

    def _left(self) -> str:
        return readable(parameters.as_text(self.limit - self._spent))


def _taken(each: Named) -> dict[str, Any]:
    options = {one.name: f"{one.kind}{', needed' if one.needed else ''}" for one in each.parameters}
    return {"says": each.says, "options": options}


def _wanted(name: str, sql: str, options: Mapping[str, Any]) -> Wanted:
    one = named(name)
    if one.room != "statistics":
        raise ParameterError(f"{name} is no statistic. list_studies lists those that there are.")
    return Wanted(one, sql, options=dict(options))
