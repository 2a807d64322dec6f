"""Made-up federations: who takes part, what each holds, and a run of all of them in one process."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit import Budget
from tacit.federated import Identity, Odometer
from tacit.federated.jobs.job import Job
from tacit.federated.refusals import Refused
from tacit.federated.running.coordinator import LAST_STEP, Coordinator, Missing
from tacit.federated.running.federation import Federation
from tacit.federated.running.participant import Participant
from tacit.ledger import Ledger

LARGE = Budget(10_000, "1/10")


def parties(job: Job, clients: int, **terms: Any) -> tuple[Federation, Identity, list[Identity]]:
    """A federation and everybody's keys."""
    server, keys = Identity(), [Identity() for _ in range(clients)]
    listed = {f"client {place}": key.public for place, key in enumerate(keys)}
    price = {"epsilon": "1000", "delta": "1/1000000", **terms}
    return Federation("made up", job, server.public, listed, **price), server, keys


def ledger_in(folder: Path, budget: Budget = LARGE) -> Ledger:
    return Ledger.open(folder / "ledger", head=folder / "head", budget=budget)


def members(federation: Federation, keys: Sequence[Identity], owns: Sequence[Any], folder: Path) -> list[Participant]:
    """A participant for each client, with a record of its own."""
    return [
        Participant(federation, key, Odometer(folder / f"told {place}", LARGE), owns[place])
        for place, key in enumerate(keys)
    ]


def run(
    coordinator: Coordinator,
    everybody: Sequence[Participant],
    comes: Callable[[int, int, int], bool] = lambda client, number, step: True,
    reopened: Callable[[Coordinator, int, int], Coordinator] = lambda found, number, step: found,
    seed: int = 0,
) -> Coordinator:
    """All rounds to the end. `comes(client, round, step)`; `reopened` may put another coordinator in one's place."""
    order = random.Random(seed)
    while not coordinator.is_over:
        number, inside = coordinator.round, {}
        for each in everybody:
            try:
                at, client = each.enter(coordinator.call(each.number))
            except Refused:
                continue
            assert at == number
            inside[each.number] = (client, client.begin())
        for step in range(1, LAST_STEP + 1):
            coming = [(place, message) for place, (_, message) in inside.items() if comes(place, number, step)]
            order.shuffle(coming)
            for _, message in coming:
                coordinator = reopened(coordinator, number, step)
                _say(coordinator, message)
                if order.random() < 0.2:
                    _say(coordinator, message)  # sent twice
            for place, message in coming:  # what a crash lost is said again
                _heard(coordinator, place, number, step, message)
            if (coordinator.round, coordinator.step) == (number, step) and not coordinator.is_over:
                coordinator._until = float("-inf")
                coordinator.tick()
            if (coordinator.round, coordinator.is_over) != (number, False) or step == LAST_STEP:
                break
            answered = {}
            for place, message in coming:
                answer = _heard(coordinator, place, number, step, message)
                if answer is not None:
                    client = inside[place][0]
                    answered[place] = (client, client.receive(answer))
            inside = answered
    return coordinator


def _say(coordinator: Coordinator, message: bytes) -> None:
    with contextlib.suppress(Refused):  # the step may have ended without it
        coordinator.say(message)


def _heard(coordinator: Coordinator, place: int, number: int, step: int, message: bytes) -> bytes | None:
    try:
        return coordinator.hear(place, number, step)
    except Missing:
        _say(coordinator, message)
        return _heard(coordinator, place, number, step, message)
    except Refused:
        return None
