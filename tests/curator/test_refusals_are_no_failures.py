"""What is refused by public facts alone is no failure: it is stored nowhere and stops nobody."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd

import tacit
from tacit.errors import BudgetExceeded
from tacit.ledger.entry import Entry, Kind
from tacit.statistics import Monitor

FRAME = pd.DataFrame({"who": np.arange(50), "age": np.arange(50)})


def test_of_those_who_race_for_the_last_yes_the_others_are_refused_and_nothing_failed() -> None:
    with tacit.protect(FRAME, unit="who", columns={"age": (0, 110)}, budget=1000) as curator:
        monitor = Monitor(curator, epsilon=500, threshold=5, fires=1)
        found: list[object] = []

        def ask() -> None:
            try:
                found.append(monitor.ask("SELECT count(*) FROM data"))
            except BudgetExceeded:
                found.append("refused")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(map(str, found)) == ["True", "refused", "refused", "refused"]
        assert not [entry for entry in curator.ledger() if entry.kind == Kind.FAILED]
        curator.ask("SELECT count(*) FROM data", 1)  # nobody is stopped


def test_a_charge_of_an_earlier_version_says_nothing_by_a_free_turn() -> None:
    older = Entry.after(None, Kind.CHARGED, {"question": "q"}, "ana", "key")
    ours = Entry.after(None, Kind.CHARGED, {"question": "q", "goes_on": False}, "ana", "key")
    assert (older.holds_a_turn, ours.holds_a_turn) == (False, True)
    assert not ours.goes_on


def test_every_charge_says_whether_it_goes_on() -> None:
    with tacit.protect(FRAME, unit="who", columns={"age": (0, 110)}, budget=1000) as curator:
        curator.ask("SELECT count(*) FROM data", 1)
        Monitor(curator, epsilon=1, threshold=5, fires=1)
        charged = [entry for entry in curator.ledger() if entry.kind == Kind.CHARGED]
        assert [entry.goes_on for entry in charged] == [False, True]
        assert all(entry.holds_a_turn for entry in charged)
