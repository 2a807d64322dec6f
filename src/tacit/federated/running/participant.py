"""A client of a federation: it enters each round once, with its own share of the noise, and keeps its own record.

    member = Participant(federation, identity, odometer, own)
    client = member.enter(call)           # priced and written to disk before it is drawn; a second time it is refused
    client.begin(), client.receive(...)   # as in `aggregation.client`

Promise. What a round tells is on the client's odometer before anything leaves. A client that is killed in a round has
vanished from it and waits for the next: its secrets were in memory alone, and a second vector in the same round would
tell too much. Its own data never make it stay away.
"""

from __future__ import annotations

from typing import Any, Final

from tacit.federated.aggregation.client import Client
from tacit.federated.aggregation.keys import Identity
from tacit.federated.odometer import Odometer
from tacit.federated.running.calls import heard
from tacit.federated.running.federation import Federation

_NO_STATE: Final = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
"""Errors from a text that is not a state. The coordinator causes them, and they must not show who has rows."""


class Participant:
    """One client in all rounds."""

    def __init__(self, federation: Federation, identity: Identity, odometer: Odometer, own: Any) -> None:
        self.federation, self.identity, self.odometer = federation, identity, odometer
        self.number = federation.number_of(identity.public)
        self._own = own

    def enter(self, text: bytes) -> tuple[int, Client]:
        """The round of a call, and this client in it; refused if the call is not genuine or the round was entered."""
        call = heard(self.federation, self.identity, self.number, text)
        setup, job = self.federation.setup(call.round), self.federation.job
        try:
            value = job.value(call.state, self._own)
        except _NO_STATE:
            value = None
        vector = self.federation.asked.vector(value, odometer=self.odometer, name=setup.name)
        return call.round, Client(setup, self.number, self.identity, vector)
