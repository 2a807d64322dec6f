"""A curator's question as a mechanism under test, in a sandbox.

`make` opens a fresh curator on rows x, `neighbour` one on rows that differ in one unit; both with a ledger in memory
and a budget that is large, because the sandbox asks thousands of times. A question that is asked again is answered from
the store, which would give the same draw for ever: so every ask names an epsilon that is smaller than the claimed one
by some billionths, and different each time. What is private at the smaller epsilon is private at the claimed one too.

`by` names a key whose groups are copies of the same rows ("worlds"), each with units of its own: then one ask gives
as many independent releases as there are worlds, which is a hundred times faster. The two inputs must then differ by
one unit in every world; a release is the row of one world, so it sees one unit's difference.

Promise: only what the public surface gives is used: a callable that opens a curator, `ask`, and the answer's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, TypeAlias

from tacit import parameters
from tacit.answer import Answer
from tacit.audit.verdicts import Claim
from tacit.curator import Curator
from tacit.errors import BudgetExceeded, QuestionError
from tacit.parameters import Number

Make: TypeAlias = Callable[[], Curator]
_FINEST = 10**9


def question(
    make: Make,
    neighbour: Make,
    sql: str,
    epsilon: Number,
    *,
    delta: Number | None = None,
    by: str | None = None,
    worlds: int | None = None,
    name: str | None = None,
) -> Claim:
    """The claim that asking `sql` at `epsilon` is private, ready for `verify`.

    With `by`, the key that numbers the worlds 0, 1, 2, ..., one ask is `worlds` releases (as many as are in the answer
    unless you say so: where other keys are unknown, a world may have no row at all).

    >>> import pandas, tacit
    >>> def people(count):
    ...     frame = pandas.DataFrame({"who": range(count)})
    ...     return lambda: tacit.protect(frame, unit="who", columns={}, budget=10**6)
    >>> question(people(3), people(4), "SELECT count(*) FROM data", 1).epsilon
    Fraction(1, 1)
    """
    exact = parameters.positive("epsilon", epsilon)
    chance = Fraction(0) if delta is None else parameters.probability("delta", delta)
    mechanism = FreshAnswers(sql, exact, chance, by, worlds)
    return Claim(mechanism, make, neighbour, exact, chance, name=name or sql, vectorised=True)


@dataclass(frozen=True, slots=True)
class FreshAnswers:
    """`size` answers to one question, as tuples of values; every one of them drawn afresh."""

    sql: str
    epsilon: Fraction
    delta: Fraction
    by: str | None
    worlds: int | None = None
    _asks: Iterator[int] = field(default_factory=lambda: count(1), repr=False, compare=False)

    def __call__(self, make: Make, *, size: int) -> list[Any]:
        found: list[Any] = []
        curator, fresh = make(), True
        try:
            while len(found) < size:
                try:
                    found += self._releases(curator)
                    fresh = False
                except BudgetExceeded:
                    if fresh:
                        raise  # a new ledger does not cover even one ask
                    curator.close()
                    curator, fresh = make(), True
        finally:
            curator.close()
        return found[:size]

    def _releases(self, curator: Curator) -> list[Any]:
        epsilon = self.epsilon * (1 - Fraction(next(self._asks), _FINEST))
        answer = curator.ask(self.sql, epsilon, delta=self.delta or None)
        if answer.repeated:
            raise QuestionError("The sandbox got a stored answer, which is no new draw. Open its curators afresh.")
        return self._split(answer)

    def _split(self, answer: Answer) -> list[Any]:
        rows = [tuple(row) for row in answer.rows()]
        if self.by is None:
            return [rows]
        if self.by not in answer.names:
            raise parameters.refuse("by", f"one of the question's columns: {', '.join(answer.names)}", self.by)
        place = answer.names.index(self.by)
        found: dict[Any, list[Any]] = {world: [] for world in range(self.worlds or 0)}
        for row in rows:
            # the number of the world is hidden: all of them are draws of the same law
            found.setdefault(row[place], []).append(row[:place] + row[place + 1 :])
        return [tuple(each) for each in found.values()]
