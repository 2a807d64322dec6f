"""The till: who was cut off, who waits for whom, whom a failure stops, and that the owner alone resumes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import tacit
from tacit import statistics
from tacit.curator import Curator, till
from tacit.curator.till import INTERRUPTED
from tacit.engines.process import FAILED
from tacit.errors import EngineError, LedgerError, ParameterError, Stopped
from tacit.ledger import Ledger, Receipt
from tests.curator.failures import COUNT, KEPT, desk, opened, refusal
from tests.curator.fits import fits


@pytest.fixture(autouse=True)
def heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "heads"))


def kinds(curator: Curator) -> list[str]:
    return [str(entry.kind) for entry in curator.ledger()]


def in_a_child(work: Callable[[], Any]) -> int:
    """How a forked child ends that does this."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def kill_me(*given: Any, **more: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


# -- cut off ---------------------------------------------------------------------------------------------------------

MOMENTS = {
    "when the engine is asked": lambda curator: patch.object(curator._till.engine, "run", kill_me),
    "when it draws": lambda curator: patch("tacit.curator.curator.released", kill_me),
    "when it would store the answer": lambda curator: patch.object(curator._ledger, "store_answer", kill_me),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_asker_has_failed_and_is_not_drawn_again(tmp_path: Path, moment: str) -> None:
    with desk(tmp_path) as at:

        def killed() -> None:
            with MOMENTS[moment](at.curator):
                at.curator.ask(COUNT, 1)

        assert in_a_child(killed) == signal.SIGKILL
        assert kinds(at.curator) == ["registered", "charged"]
        draws = at.noise.draws
        for _ in range(2):
            assert str(refusal(lambda: at.curator.ask(COUNT, 1))) == FAILED
        assert kinds(at.curator) == ["registered", "charged", "failed"]
        assert isinstance(refusal(lambda: at.curator.ask(COUNT, 2)), Stopped)
        assert at.noise.draws == draws


@pytest.mark.parametrize("path", ["forest", "search", "aim", "mwem", "small database"])
def test_a_fit_that_was_killed_when_it_drew_has_failed_and_is_not_drawn_again(tmp_path: Path, path: str) -> None:
    fit = fits()[path]
    with desk(tmp_path) as at:

        def killed() -> None:
            with patch.object(at.noise, "words", kill_me):
                fit(at.curator, Fraction(1))

        assert in_a_child(killed) == signal.SIGKILL
        assert kinds(at.curator) == ["registered", "charged"]
        draws = at.noise.draws
        assert str(refusal(lambda: fit(at.curator, Fraction(1)))) == FAILED
        assert kinds(at.curator) == ["registered", "charged", "failed"]
        assert isinstance(refusal(lambda: at.curator.ask(COUNT, 2)), Stopped)
        assert at.noise.draws == draws


def test_who_opens_finds_those_that_were_killed_and_settles_them(tmp_path: Path) -> None:
    with opened(tmp_path) as curator, patch.object(curator._till.engine, "run", kill_me):
        assert in_a_child(lambda: curator.ask(COUNT, 1)) == signal.SIGKILL
    with opened(tmp_path) as curator:  # a frame is another table now, so that the same key is never asked again
        assert kinds(curator) == ["registered", "charged", "failed"]
        assert isinstance(refusal(lambda: curator.ask(COUNT, 2)), Stopped)
        (resumed,) = curator.resume()
        assert resumed.details == {"failed": 3}
        curator.ask(COUNT, 2)
    with opened(tmp_path) as curator:
        assert kinds(curator) == ["registered", "charged", "failed", "resumed", "charged", "answered"]


def test_who_opens_does_not_disturb_those_who_are_at_work(tmp_path: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()
    with opened(tmp_path) as curator:
        real = curator._till.engine.run

        def slow(query: Any) -> Any:
            asked.set()
            assert go_on.wait(60)
            return real(query)

        with patch.object(curator._till.engine, "run", slow), ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: curator.ask(COUNT, 1))
            assert asked.wait(60)
            with opened(tmp_path) as other:
                assert kinds(other) == ["registered", "charged"]
                assert other.resume() == ()
            go_on.set()
            assert not answer.result().repeated
        assert kinds(curator) == ["registered", "charged", "answered"]


def test_many_who_ask_the_same_at_once_get_one_draw_and_nobody_fails(tmp_path: Path) -> None:
    with desk(tmp_path) as at:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: at.curator.ask(COUNT, 1), range(16)))
        assert len({answer.columns for answer in answers}) == 1
        assert sum(not answer.repeated for answer in answers) == 1
        assert kinds(at.curator) == ["registered", "charged", "answered"]


def test_processes_that_ask_the_same_at_once_get_one_draw(tmp_path: Path) -> None:
    """Forked, so that they share the registration of a table in memory; each answers on a pipe."""
    with opened(tmp_path) as curator:
        pipes = []
        for _ in range(4):
            read, write = os.pipe()
            if os.fork() == 0:
                try:
                    os.write(write, repr(curator.ask(COUNT, 1).columns).encode())
                finally:
                    os._exit(0)
            os.close(write)
            pipes.append(read)
        for _ in pipes:
            os.wait()
        found = {os.read(pipe, 1000) for pipe in pipes}
        for pipe in pipes:
            os.close(pipe)
        assert len(found) == 1
        assert found != {b""}
        assert kinds(curator) == ["registered", "charged", "answered"]


def test_a_child_forked_in_the_middle_does_not_hold_its_parents_turn(tmp_path: Path) -> None:
    read, write = os.pipe()
    with opened(tmp_path) as curator:
        real = curator._till.engine.run
        children = []

        def forks(query: Any) -> Any:
            child = os.fork()
            if child == 0:
                os.read(read, 1)  # lives on, as a pool's worker would
                os._exit(0)
            children.append(child)
            return real(query)

        with patch.object(curator._till.engine, "run", forks):
            first = curator.ask(COUNT, 1)
        assert curator.ask(COUNT, 1) == first  # would wait for ever
        os.write(write, b"x")
        os.waitpid(children[0], 0)
    os.close(read)
    os.close(write)


# -- interrupts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_is_stored_and_stops_nobody(tmp_path: Path, interrupt: type[BaseException]) -> None:
    with desk(tmp_path) as at:

        def interrupted(query: Any) -> Any:
            raise interrupt

        with patch.object(at.curator._till.engine, "run", interrupted), pytest.raises(interrupt):
            at.curator.ask(COUNT, 1)
        draws = at.noise.draws
        assert str(refusal(lambda: at.curator.ask(COUNT, 1))) == INTERRUPTED
        assert at.noise.draws == draws
        at.curator.ask(COUNT, 2)
        assert kinds(at.curator) == ["registered", "charged", "interrupted", "charged", "answered"]


def test_an_interrupt_in_the_middle_of_the_charge_is_no_killed_process(tmp_path: Path) -> None:
    with desk(tmp_path) as at:
        real = at.curator._ledger.charge

        def interrupted(*given: Any, **more: Any) -> Any:
            real(*given, **more)
            raise KeyboardInterrupt

        with patch.object(at.curator._ledger, "charge", interrupted), pytest.raises(KeyboardInterrupt):
            at.curator.ask(COUNT, 1)
        assert str(refusal(lambda: at.curator.ask(COUNT, 1))) == INTERRUPTED
        at.curator.ask(COUNT, 2)


def test_an_interrupted_session_is_over(tmp_path: Path) -> None:
    with desk(tmp_path) as at:
        watch = statistics.Monitor(at.curator, threshold=20, epsilon=1, fires=2)

        def interrupted(query: Any) -> Any:
            raise KeyboardInterrupt

        with patch.object(at.curator._till.engine, "run", interrupted), pytest.raises(KeyboardInterrupt):
            watch.ask(COUNT)
        assert str(refusal(lambda: watch.ask(COUNT))) == FAILED
        assert kinds(at.curator) == ["registered", "charged", "interrupted"]
        at.curator.ask(COUNT, 2)


def test_an_open_session_is_not_taken_for_one_that_was_cut_off(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        watch = statistics.Monitor(curator, threshold=20, epsilon=10, fires=2)
        with opened(tmp_path) as other:
            assert kinds(other) == ["registered", "charged"]
            assert other.resume() == ()
            other.ask(COUNT, 1)
        assert watch.ask(COUNT)


# -- whom it stops ---------------------------------------------------------------------------------------------------


def failing(query: Any) -> Any:
    raise MemoryError("row 42")


def test_a_failure_stops_its_analyst_and_no_other(tmp_path: Path) -> None:
    budgets = {"ana": tacit.Budget(50), "bob": tacit.Budget(50)}
    with opened(tmp_path, analysts=budgets) as curator:
        kept = curator.ask(KEPT, 1, analyst="ana")
        with patch.object(curator._till.engine, "run", failing):
            assert str(refusal(lambda: curator.ask(COUNT, 1, analyst="ana"))) == FAILED
        told = str(refusal(lambda: curator.ask(COUNT, 2, analyst="ana")))
        assert "'ana' is stopped" in told
        assert "tacit ledger resume POLICY --analyst ana" in told
        for costly in (
            lambda: statistics.median(curator, "people.age", epsilon=1, analyst="ana"),
            lambda: statistics.Monitor(curator, threshold=20, epsilon=1, fires=2, analyst="ana"),
            lambda: curator.ask_all([COUNT], 1, analyst="ana"),
            lambda: curator.publish([COUNT], 1, analyst="ana"),
            lambda: curator.suggest("people.pay", 1, analyst="ana"),
        ):
            assert isinstance(refusal(costly), Stopped)
        assert curator.ask(KEPT, 1, analyst="ana") == kept
        curator.ask(COUNT, 2, analyst="bob")
        assert str(refusal(lambda: curator.ask(COUNT, 1, analyst="bob"))) == FAILED  # the same key, the same failure
        stopping = next(each.sequence for each in curator.ledger() if each.kind == "failed")
        assert (curator.budget("ana").failed, curator.budget("bob").failed) == (stopping, None)
        assert "Stopped" in str(curator.budget("ana"))
        assert curator.resume("bob") == ()
        assert isinstance(refusal(lambda: curator.ask(COUNT, 3, analyst="ana")), Stopped)
        assert [entry.analyst for entry in curator.resume("ana")] == ["ana"]
        curator.ask(COUNT, 3, analyst="ana")


def test_only_the_owner_resumes(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        with patch.object(curator._till.engine, "run", failing):
            refusal(lambda: curator.ask(COUNT, 1))
        curator.analyst = "ana"
        with pytest.raises(ParameterError, match="owner"):
            curator.resume()
        assert isinstance(refusal(lambda: curator.ask(COUNT, 2)), Stopped)


def test_a_name_that_is_not_enrolled_cannot_be_resumed(tmp_path: Path) -> None:
    with (
        opened(tmp_path, analysts={"ana": tacit.Budget(50)}) as curator,
        pytest.raises(ParameterError, match="analyst"),
    ):
        curator.resume("bob")


def test_where_nobody_is_enrolled_no_name_can_be_resumed(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        with patch.object(curator._till.engine, "run", failing):
            refusal(lambda: curator.ask(COUNT, 1))
        with pytest.raises(LedgerError, match="Resume without the name"):
            curator.resume("ana")
        assert isinstance(refusal(lambda: curator.ask(COUNT, 2)), Stopped)
        assert len(curator.resume()) == 1


def test_a_failure_that_came_after_the_one_that_was_looked_at_is_not_resumed(tmp_path: Path) -> None:
    with opened(tmp_path, analysts={"ana": tacit.Budget(50), "bob": tacit.Budget(50)}) as curator:
        with patch.object(curator._till.engine, "run", failing):
            refusal(lambda: curator.ask(COUNT, 1, analyst="ana"))
            seen = curator.ledger()[-1].sequence
            refusal(lambda: curator.ask(COUNT, 2, analyst="bob"))
        newest = curator.ledger()[-1].sequence
        before = len(curator.ledger())
        with pytest.raises(LedgerError, match=f"Entry {newest} failed as well"):
            curator.resume(entry=seen)
        assert len(curator.ledger()) == before
        assert [each.details["failed"] for each in curator.resume("ana", entry=seen)] == [seen]
        assert [each.details["failed"] for each in curator.resume(entry=newest)] == [newest]


def test_many_failures_at_once_are_looked_at_with_one_word(tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    def together(query: Any) -> Any:
        barrier.wait(60)
        raise MemoryError

    with opened(tmp_path) as curator:
        with patch.object(curator._till.engine, "run", together), ThreadPoolExecutor(4) as pool:
            told = list(pool.map(lambda price: str(refusal(lambda: curator.ask(COUNT, price))), range(1, 5)))
        assert told == [FAILED] * 4
        assert kinds(curator).count("failed") == 4
        assert len(curator.resume()) == 1
        curator.ask(COUNT, 9)


# -- several hosts ---------------------------------------------------------------------------------------------------


class _Shared:
    """A ledger in a file that says it is shared, as one in a database is."""

    def __enter__(self) -> None:
        self._patch = patch.object(Ledger, "shared", True)
        self._patch.__enter__()

    def __exit__(self, *_: object) -> None:
        self._patch.__exit__(None, None, None)


def test_what_another_host_paid_for_is_waited_for_and_never_drawn_here(tmp_path: Path) -> None:
    with _Shared(), desk(tmp_path) as at, patch.object(till, "OTHER_HOST", 0.3):
        with patch.object(at.curator._till.engine, "run", kill_me):
            assert in_a_child(lambda: at.curator.ask(COUNT, 1)) == signal.SIGKILL
        draws = at.noise.draws
        told = refusal(lambda: at.curator.ask(COUNT, 1))
        assert isinstance(told, LedgerError)
        assert "another host" in str(told)
        assert kinds(at.curator) == ["registered", "charged"]
        at.curator.ask(COUNT, 2)  # nobody is stopped yet: it may be under way
        with opened(tmp_path) as other:  # and nobody settles it by opening
            assert "failed" not in kinds(other)
        assert len(at.curator.resume()) == 1  # the owner's word, of both
        draws += at.noise.draws - draws
        assert str(refusal(lambda: at.curator.ask(COUNT, 1))) == FAILED
        assert at.noise.draws == draws


def test_the_answer_of_another_host_arrives_while_it_is_waited_for(tmp_path: Path) -> None:
    with _Shared(), opened(tmp_path) as curator:
        other = curator.ask(KEPT, 1)
        with patch.object(curator._till.engine, "run", kill_me):
            assert in_a_child(lambda: curator.ask(COUNT, 1)) == signal.SIGKILL
        (*_, charged) = curator.ledger()

        def later() -> None:
            time.sleep(0.2)
            curator._ledger.store_answer(Receipt.of(charged, "", repeated=True), other.to_bytes())

        with ThreadPoolExecutor(1) as pool:
            stored = pool.submit(later)
            assert curator.ask(COUNT, 1).columns == other.columns
            stored.result()


def test_the_error_says_nothing_of_what_went_wrong(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        with patch.object(curator._till.engine, "run", failing):
            error = refusal(lambda: curator.ask(COUNT, 1))
        assert isinstance(error, EngineError)
        assert "42" not in repr(error)
        assert error.__context__ is None
