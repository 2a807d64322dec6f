"""Failures after the charge, on purpose: everything that costs, everything that may go wrong, and what must come of it.

One case is a path (ask, ask_all, a union, studies, training, synthetic rows, a session, publish, suggest) and a cause
(the worker is killed, runs out of memory, replies nonsense; a disk is full, the ledger's or another; drawing or what
follows it breaks). What must hold is the same for all and stands in `one_failure`; how the draws are counted, in
`Counted`. A path needs a curator and a price, a cause the desk it is to spoil; engines of another kind, with their own
causes: `failing_engines`.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import tacit
from tacit import learning, statistics, synthesis
from tacit.answer import Answer
from tacit.curator import Curator, till
from tacit.engines import process, wire
from tacit.engines.process import FAILED
from tacit.errors import EngineError, Stopped
from tacit.ledger import Entry
from tacit.mechanisms import AboveThreshold
from tacit.noise import bits
from tacit.statistics import planned
from tacit.statistics.finding import Finding
from tests.ledger.faults import Faults, installed

COUNT = "SELECT count(*) FROM people"
KEPT = "SELECT count(*) FROM people WHERE age < 40"


class Counted(bits.SecureBits):
    """Secure bits that count how often they are asked for, and break when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.draws = 0
        self.breaks_at = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.draws += 1
        if self.draws == self.breaks_at:
            raise MemoryError("row 42")
        return super().words(count)


@dataclass
class Desk:
    """A curator, the noise it draws, and the disk that its ledger lies on."""

    curator: Curator
    noise: Counted
    disk: Faults


def people() -> pd.DataFrame:
    numbers = np.arange(200)
    return pd.DataFrame(
        {
            "who": numbers,
            "age": numbers % 90,
            "sex": ["F", "M"] * 100,
            "pay": 10.0 * (numbers % 50),
            "rent": numbers % 50,
        }
    )


def opened(folder: Path, **options: Any) -> Curator:
    """A curator whose ledger is a file in this folder. The heads must be sent elsewhere: TACIT_STATE."""
    facts = {
        "age": tacit.between(0, 99),
        "sex": tacit.one_of("F", "M"),
        "pay": tacit.auto(),
        "rent": tacit.between(0, 49),
    }
    chosen = {"budget": tacit.Budget(100_000, "0.5"), "ledger": str(folder / "spent.ledger"), **options}
    return tacit.protect(people(), unit="who", columns=facts, table="people", **chosen)


@contextmanager
def desk(folder: Path, open_: Callable[..., Curator] = opened, **options: Any) -> Iterator[Desk]:
    """A desk whose every draw is counted and whose ledger's disk can be made to fail."""

    class Always:
        source = Counted()

    with installed(Faults()) as disk, patch.object(bits, "_per_thread", Always), open_(folder, **options) as curator:
        yield Desk(curator, Always.source, disk)


# -- everything that costs -----------------------------------------------------------------------------------------


class _Watching:
    """Sessions are opened before anything is spoiled, and asked afterwards, again and again."""

    def __init__(self) -> None:
        self.open: dict[Fraction, Any] = {}

    def __call__(self, curator: Curator, epsilon: Fraction) -> Any:
        if epsilon not in self.open:
            self.open[epsilon] = statistics.Monitor(curator, threshold=20, epsilon=epsilon, fires=2)
        return self.open[epsilon].ask(COUNT)


def _rows_watching() -> Callable[[Curator, Fraction], Any]:
    open_: dict[Fraction, Any] = {}

    def ask(curator: Curator, epsilon: Fraction) -> Any:
        if epsilon not in open_:
            open_[epsilon] = statistics.Monitor(curator, "people.age", threshold=20, epsilon=epsilon, fires=2)
        return open_[epsilon].ask({"age": (20, 60)})

    return ask


def paths() -> Mapping[str, Callable[[Curator, Fraction], Any]]:
    """Everything that costs, by its name, at a price."""
    union = f"{COUNT} WHERE sex = 'F' UNION ALL {COUNT} WHERE age > 50"
    return {
        "ask": lambda curator, epsilon: curator.ask(COUNT, epsilon),
        "ask, grouped and averaged": lambda curator, epsilon: curator.ask(
            "SELECT sex, avg(age), stddev(age) FROM people GROUP BY sex", epsilon
        ),
        "ask, picked": lambda curator, epsilon: curator.ask("SELECT median(age) FROM people", epsilon),
        "ask_all": lambda curator, epsilon: curator.ask_all([COUNT, "SELECT sum(age) FROM people"], epsilon),
        "union": lambda curator, epsilon: curator.ask(union, epsilon),
        "study": lambda curator, epsilon: statistics.median(curator, "people.age", epsilon=epsilon),
        "study of rows": lambda curator, epsilon: statistics.histogram(
            curator.rows("SELECT sex FROM people"), epsilon=epsilon
        ),
        "training in rounds": lambda curator, epsilon: learning.LogisticRegression(epsilon=epsilon, delta="1e-9").fit(
            curator.rows("SELECT age, sex FROM people"), "sex"
        ),
        "synthetic rows": lambda curator, epsilon: synthesis.mst(
            curator.rows("SELECT age, sex FROM people"), epsilon=epsilon, delta="1e-9"
        ),
        "session": _Watching(),
        "session of rows": _rows_watching(),
        "publish": lambda curator, epsilon: curator.publish(
            {"all": COUNT, "middle": planned(statistics.median, "people.age")}, epsilon
        ),
        "suggest": lambda curator, epsilon: curator.suggest("people.pay", epsilon),
    }


# -- everything that may go wrong -------------------------------------------------------------------------------------


Cause = Callable[[Desk], AbstractContextManager[Any]]


@contextmanager
def replaced(owner: Any, name: str, instead: Callable[..., Any]) -> Iterator[None]:
    with patch.object(owner, name, instead):
        yield


@contextmanager
def before_each_query(at: Desk, happens: Callable[[], None]) -> Iterator[None]:
    """Whichever way the engine is asked: alone, or within a snapshot."""
    engine = at.curator._till.engine
    snapshot = engine.snapshot

    def spoiled(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def asked(query: Any) -> Any:
            happens()
            return run(query)

        return asked

    @contextmanager
    def spoiled_snapshot() -> Iterator[Any]:
        with snapshot() as run:
            yield spoiled(run)

    with patch.object(engine, "run", spoiled(engine.run)), patch.object(engine, "snapshot", spoiled_snapshot):
        yield


def _worker_killed(at: Desk) -> AbstractContextManager[Any]:
    real = process._read

    def killed(worker: Any, count: int, deadline: float) -> bytes:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        return real(worker, count, deadline)

    return replaced(process, "_read", killed)


def _worker_out_of_memory(at: Desk) -> AbstractContextManager[Any]:
    return replaced(process.Worker, "_exchange", lambda *given: {"failed": True})


def _nonsense(at: Desk) -> AbstractContextManager[Any]:
    return replaced(wire, "unpack", lambda body: {"rows": "many", "keys": 3, "measures": None})


def _torn_reply(at: Desk) -> AbstractContextManager[Any]:
    def torn(body: bytes) -> Any:
        raise ValueError("row 42")

    return replaced(wire, "unpack", torn)


def _other_disk_full(at: Desk) -> AbstractContextManager[Any]:
    def full() -> None:
        raise OSError(errno.ENOSPC, "row 42")

    return before_each_query(at, full)


def _drawing_breaks(at: Desk) -> AbstractContextManager[Any]:
    return drawing_breaks(at, 1)


@contextmanager
def drawing_breaks(at: Desk, draw: int) -> Iterator[None]:
    """At this of the draws to come: later ones are those of later rounds."""
    at.noise.breaks_at = at.noise.draws + draw
    try:
        yield
    finally:
        at.noise.breaks_at = 0


def _ledger_fails(kind: str, after: int) -> Cause:
    """From the moment on that the engine is asked: the charge is on the disk by then, and nothing after it is."""

    @contextmanager
    def fails(at: Desk) -> Iterator[None]:
        def armed() -> None:
            if not at.disk.armed:
                at.disk.kind, at.disk.at, at.disk.calls, at.disk.armed = kind, after, 0, True

        with before_each_query(at, armed):
            yield
        at.disk.armed = False

    return fails


@contextmanager
def _answer_too_large(at: Desk) -> Iterator[None]:
    """What is stored cannot be made into bytes, after everything was drawn. What is written down before goes well."""
    inside: list[None] = []

    def paid_for(computed: Callable[..., Any]) -> Callable[..., Any]:
        def within(*given: Any) -> Any:
            inside.append(None)
            try:
                return computed(*given)
            finally:
                inside.pop()

        return within

    def broken(plain: Callable[..., Any]) -> Callable[..., Any]:
        def written(*given: Any, **more: Any) -> Any:
            if inside:
                raise OverflowError("row 42")
            return plain(*given, **more)

        return written

    with (
        patch.object(till, "_computed", paid_for(till._computed)),
        patch.object(till.Session, "_timed", paid_for(till.Session._timed)),
        patch.object(Answer, "to_bytes", broken(Answer.to_bytes)),
        patch.object(Finding, "to_bytes", broken(Finding.to_bytes)),
        patch.object(AboveThreshold, "ask", broken(AboveThreshold.ask)),
    ):
        yield


OF_ANY_ENGINE: Mapping[str, Cause] = {
    "another disk is full": _other_disk_full,
    "drawing runs out of memory": _drawing_breaks,
    "the answer cannot be written down": _answer_too_large,
    "the ledger's disk is full": _ledger_fails("ENOSPC from then on", 1),
    "the ledger's disk fails once": _ledger_fails("EIO once", 1),
    "the ledger's disk fails once, later": _ledger_fails("EIO once", 6),
}
CAUSES: Mapping[str, Cause] = {
    "the worker is killed": _worker_killed,
    "the worker runs out of memory": _worker_out_of_memory,
    "the worker's reply is nonsense": _nonsense,
    "the worker's reply is torn": _torn_reply,
    **OF_ANY_ENGINE,
}
"""Of the engines that live in a process of their own: DuckDB and Spark."""

NOT_IN_A_SESSION = frozenset(each for each in CAUSES if each.startswith("the ledger"))
"""A session writes nothing to the ledger once it is paid for, unless it fails."""


# -- what must come of it ---------------------------------------------------------------------------------------------


def refusal(asked: Callable[[], Any]) -> Exception:
    """What is raised."""
    try:
        asked()
    except Exception as raised:  # noqa: BLE001
        return raised
    raise AssertionError("it was answered")


def one_failure(
    at: Desk,
    path: Callable[[Curator, Fraction], Any],
    cause: str,
    epsilon: Fraction,
    causes: Mapping[str, Cause] = CAUSES,
) -> None:
    """One fixed sentence, one stored failure, no second draw, the analyst stopped until the owner resumes."""
    curator = at.curator
    kept = curator.ask(KEPT, epsilon)
    before = len(curator.ledger())
    if isinstance(path, _Watching) or "rows_watching" in getattr(path, "__qualname__", ""):
        path(curator, epsilon)  # opened, and asked once while all is well
    with causes[cause](at):
        first = refusal(lambda: path(curator, epsilon))
    assert (type(first), str(first)) == (EngineError, FAILED), (cause, first)
    assert first.__cause__ is None
    assert first.__context__ is None
    spent, draws = curator.spent(), at.noise.draws
    for _ in range(2):
        again = refusal(lambda: path(curator, epsilon))
        assert (type(again), str(again)) == (EngineError, FAILED), (cause, again)
    new = curator.ledger()[before:]
    assert [entry.kind for entry in new] == ["charged", "failed"], (cause, new)
    assert new[0].key == new[1].key
    assert new[1].details == {"charge": new[0].sequence}
    assert (curator.spent(), at.noise.draws) == (spent, draws), "something was charged or drawn again"
    stopped = refusal(lambda: curator.ask(COUNT, epsilon + 1))
    assert isinstance(stopped, Stopped), stopped
    assert "tacit ledger resume" in str(stopped)
    assert curator.ask(KEPT, epsilon) == kept
    assert curator.budget().failed == new[1].sequence
    assert (curator.spent(), at.noise.draws) == (spent, draws)
    assert _keys(curator.resume()) == [new[1].key]
    assert curator.budget().failed is None
    assert not curator.ask(COUNT, epsilon + 1).repeated
    assert str(refusal(lambda: path(curator, epsilon))) == FAILED
    assert curator._ledger.verify().sound


def _keys(entries: tuple[Entry, ...]) -> list[str | None]:
    return [entry.key for entry in entries]
