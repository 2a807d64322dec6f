"""A monitor: thousands of questions "is this count above the threshold?", paid once, for the few that may say yes.

    watch = Monitor(clinic, threshold=500, epsilon=0.5, fires=3)            # charged now, and never again
    watch.ask("SELECT count(*) FROM visits WHERE ward = 'B' AND day = 17")   # True or False

Theorem. `tacit.mechanisms.AboveThreshold` (sparse vector): whatever is asked, in whatever order, also after seeing
earlier answers, the whole sequence of answers up to the last paid yes is epsilon-differentially private, if neighbours
move every asked count by at most `sensitivity`, all in one direction. They do:
  * neighbours are one unit's rows, added or removed, and a count (of rows, of units, of different values) that a
    question is planned with never falls when a unit comes, because what one unit adds to the rows does not depend on
    others;
  * how far it rises at most stands in the question's plan, made from the policy alone; a question whose plan says more
    than the monitor's `sensitivity` is refused before it is run, as is everything that is not one count without keys.
Refused questions cost nothing and change nothing. What goes wrong inside the engine leaves as one fixed error.

On rows of a curator or on arrays the questions are conditions: `watch.ask({"age": (18, 65), "ward": "B"})` counts the
rows that meet all of them; one unit moves that number by at most the number of its rows.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from tacit import parameters
from tacit.curator import Curator, Price
from tacit.curator.studies import paid
from tacit.curator.till import Session
from tacit.errors import QuestionError, TacitError
from tacit.loss.events import Event
from tacit.mechanisms import AboveThreshold
from tacit.plan import KnownKeys, Measure, Plan
from tacit.plan.answers.formulas import Linear
from tacit.statistics.domains import Domain, counts_of, cut_at, domain_of, edge_of
from tacit.statistics.source import Opened, Source, source_of


class Monitor:
    """Yes-or-no questions about counts; it stops once `fires` of them were answered with yes.

    data: a curator, and questions are SQL; or whatever a study takes (rows, a table's columns, arrays), and questions
    are conditions. `sensitivity` is how many rows of one unit a question may count at most (SQL), 1 unless said.

    >>> monitor = Monitor({"age": [31, 40]}, bounds={"age": (0, 110)}, threshold=10**6, epsilon=1)
    >>> monitor.asked
    0
    """

    __slots__ = ("_counts", "_lock", "_session", "asked")

    def __init__(
        self,
        data: Any,
        columns: str | Sequence[str] | None = None,
        *,
        threshold: int,
        epsilon: parameters.Number,
        fires: int = 1,
        sensitivity: int | None = None,
        bounds: Any = None,
        values: Any = None,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> None:
        exact = parameters.price("epsilon", epsilon)
        asks_sql = isinstance(data, Curator) and columns is None
        if asks_sql:
            for name, given in (("bounds", bounds), ("values", values), ("rows_per_unit", rows_per_unit)):
                if given is not None:
                    raise parameters.refuse(name, "left out where questions are SQL: the policy states it", given)
            most = parameters.whole("sensitivity", 1 if sensitivity is None else sensitivity, least=1)
        else:
            source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
            if sensitivity is not None:
                raise parameters.refuse("sensitivity", "left out: it is the number of rows of a unit", sensitivity)
            most = source.rows_per_unit
        session = AboveThreshold(most, exact, threshold, fires=fires, monotone=True)
        asked = {"study": "monitor", "threshold": session.threshold, "fires": session.fires, "sensitivity": most}
        price = Price(session.event, exact)
        self._counts: _Counts
        if asks_sql:
            self._counts = _SqlCounts(data, paid(data, asked, price, analyst), most, exact)
        else:
            self._counts = _RowCounts(source, source.paid(asked, price, analyst))
        self._session = session
        self._lock = threading.Lock()
        self.asked = 0

    def ask(self, question: Any) -> bool:
        """Whether the count is above the threshold, give or take the noise."""
        count = self._counts.planned(question)
        with self._lock:  # callers that ask at once take turns: each sees what the one before left
            self._session.check()  # refuses, before a row is read
            found = self._counts.guarded(lambda: b"above" if self._session.ask(count()) else b"below") == b"above"
            self.asked += 1
        return found

    @property
    def left(self) -> int:
        """How many times it may still say yes."""
        return self._session.left

    @property
    def event(self) -> Event:
        """What was paid for."""
        return self._session.event

    def error(self, confidence: parameters.Number = "0.95", questions: int = 1) -> int:
        """With this confidence, this many counts at least this far from the threshold are all answered right."""
        return self._session.error(confidence, questions)

    def __reduce__(self) -> NoReturn:
        raise TacitError("A Monitor can be neither copied nor pickled: its noise is paid for once. Open a new one.")

    def __repr__(self) -> str:
        session = self._session
        return (
            f"Monitor(threshold={session.threshold:,}, epsilon={parameters.as_text(session.epsilon)}, "
            f"asked={self.asked:,}, left={session.left} of {session.fires})"
        )


def expected_of(asked: Mapping[str, Any], epsilon: parameters.Number | None) -> tuple[str, ...]:
    """A sentence on how far from the threshold a count must lie for this monitor to answer it right."""
    if asked.get("study") != "monitor" or epsilon is None:
        return ()
    session = AboveThreshold(asked["sensitivity"], epsilon, asked["threshold"], fires=asked["fires"], monotone=True)
    right = [f"{session.error('0.95', many):,} for {many:,} question{'s' if many > 1 else ''}" for many in (1, 100)]
    return (f"Counts are told right 95 of 100 times if they are off the threshold by {', by '.join(right)}.",)


class _Counts(ABC):
    """Where counts come from."""

    @abstractmethod
    def planned(self, question: Any) -> Callable[[], int]:
        """The exact count, to be run later. A question that may not be asked is refused here, before a row is read."""

    @abstractmethod
    def guarded(self, compute: Callable[[], bytes]) -> bytes:
        """What `compute` makes of exact counts, or one fixed error."""


class _SqlCounts(_Counts):
    def __init__(self, curator: Curator, paid_for: Session, most: int, epsilon: Any) -> None:
        self._curator, self._paid_for, self._most, self._epsilon = curator, paid_for, most, epsilon

    def guarded(self, compute: Callable[[], bytes]) -> bytes:
        return self._paid_for.guarded(compute)

    def planned(self, question: Any) -> Callable[[], int]:
        plan = self._curator.plan(question, self._epsilon)
        measure = _one_count(plan)
        if measure.sensitivity.linf > self._most:
            raise QuestionError(
                f"One unit may change this count by {measure.sensitivity.linf:,}, and the monitor is for at most "
                f"{self._most:,}. Count units, take fewer rows of each, or open a monitor with a larger sensitivity."
            )

        def read(keys: Any, columns: Any) -> int:
            return int(columns[measure.name][0]) if len(columns[measure.name]) else 0

        return lambda: int(self._paid_for.run(plan.query).open_for(read))


def _one_count(plan: Plan) -> Measure:
    """The count of a plan that is nothing else."""
    if (
        isinstance(plan.keys, KnownKeys)
        and not plan.keys.columns
        and len(plan.measures) == len(plan.outputs) == 1
        and not plan.picks
        and not plan.inner
        and plan.having is None
        and plan.qualify is None
        and plan.summary is None
        and plan.measures[0].kind != "sum"
        and plan.measures[0].levels is None
        and plan.measures[0].step == 1
        and plan.measures[0].centre == 0
    ):
        formula = plan.outputs[0].formula
        if isinstance(formula, Linear) and [share for _, share in formula.terms] == [1]:
            return plan.measures[0]
    raise QuestionError(
        "A monitor's question is one count without keys, e.g. SELECT count(*) FROM visits WHERE age > 80. "
        "For other questions use ask."
    )


class _RowCounts(_Counts):
    def __init__(self, source: Source, opened: Opened) -> None:
        self._source, self._opened = source, opened

    def guarded(self, compute: Callable[[], bytes]) -> bytes:
        return self._opened.guarded(compute)

    def planned(self, question: Any) -> Callable[[], int]:
        if not isinstance(question, Mapping):
            allowed = 'conditions by column, e.g. {"age": (18, 65), "ward": "B"}'
            raise parameters.refuse("question", allowed, question)
        picked = [self._condition(str(name), wanted) for name, wanted in question.items()]
        domains = [domain for domain, _ in picked]

        def count() -> int:
            table = counts_of(self._opened, domains)
            for axis, (_, places) in enumerate(picked):
                table = table.take(places, axis=axis)
            return int(table.sum())

        return count

    def _condition(self, name: str, wanted: Any) -> tuple[Domain, list[int]]:
        """Cells of a column, and which of them meet the condition."""
        variable = self._source.variable(name)
        if isinstance(wanted, tuple):
            if len(wanted) != 2:
                raise parameters.refuse(f"condition on {name!r}", "(low, high), a value, or a list of values", wanted)
            low, high = (edge_of(variable, each) for each in wanted)
            return cut_at(variable, (low, high)), [0]
        domain = domain_of(variable)
        values = wanted if isinstance(wanted, list) else [wanted]
        for value in values:
            if value not in domain.labels:
                shown = ", ".join(map(str, domain.labels[:20]))
                raise parameters.refuse(f"condition on {name!r}", f"among {shown}", value)
        return domain, sorted({domain.labels.index(value) for value in values})
