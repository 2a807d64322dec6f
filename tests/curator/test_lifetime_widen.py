"""A curator with several workers: a slow query holds up no other, and all of them are closed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tacit.curator import Curator
from tacit.errors import ParameterError
from tests.curator.tables import COUNT, curated


def test_a_slow_query_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with curated() as curator:
        curator.widen(2)
        engine: Any = curator._engine
        assert len({worker.pid for worker in engine._workers}) == 2
        hold, begun = threading.Event(), threading.Event()
        slow = engine._workers[-1]  # the next that is taken
        ask = slow.ask

        def held(request: Any, seconds: Any = None) -> Any:
            begun.set()
            assert hold.wait(30)
            return ask(request, seconds)

        monkeypatch.setattr(slow, "ask", held)
        first = threading.Thread(target=curator.ask, args=(COUNT, "0.5"))
        first.start()
        assert begun.wait(30)
        assert len(curator.ask(COUNT, "0.25")) == 1  # by the other worker, while the first is held
        assert first.is_alive()
        hold.set()
        first.join(30)
        assert not first.is_alive()
        assert [entry.kind for entry in curator.ledger()].count("answered") == 2
        workers = engine._workers
    assert all(worker.pid is None for worker in workers)


def test_answers_do_not_depend_on_which_worker_gives_them() -> None:
    with curated() as curator:
        curator.widen(3)
        sizes = {len(curator.ask("SELECT sex, count(*) FROM people GROUP BY sex", f"0.{n}")) for n in range(1, 7)}
        assert sizes == {3}
        with pytest.raises(ParameterError, match="workers"):
            curator.widen(0)


def shared(curator: Curator) -> int:
    return len(curator._engine._workers)  # type: ignore[attr-defined]


def test_one_worker_is_the_rule() -> None:
    with curated() as curator:
        assert shared(curator) == 1
        curator.widen(1)
        assert shared(curator) == 1
