"""A client as a process: it waits for a round, takes part once, and waits for the next, whatever happens to the others.

The coordinator may vanish and come back: unanswered requests are sent again. A round that goes on without this client
is left, and the client waits for the next. Rows never leave; only the vector that `Participant` made does.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx

from tacit.doors.federate.wire import MISSING
from tacit.errors import ParameterError, TacitError
from tacit.federated.aggregation.client import Client
from tacit.federated.refusals import Refused
from tacit.federated.running.participant import Participant

_PAUSES: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
_ASK: Final = httpx.Timeout(60.0)

Said = Callable[[str], None]


class Lost(TacitError):
    """The coordinator could not be reached for as long as this client waits."""


class Member:
    """One client of a federation, and its way to the coordinator."""

    def __init__(self, participant: Participant, web: httpx.Client, patience: float, said: Said) -> None:
        self.participant, self._web, self._patience, self._said = participant, web, patience, said

    def run(self) -> dict[str, Any] | None:
        """All rounds: the result, or None where the federation failed."""
        about = self._asked("GET", "/v1/federation").json()
        if about.get("federation") != self.participant.federation.id:
            raise Refused("The coordinator runs another federation than the one this client agreed to.")
        after = 0
        while True:
            reply = self._asked("GET", f"/v1/call/{self.participant.number}?after={after}")
            if reply.status_code == 410:
                told: dict[str, Any] | None = reply.json()["result"]
                return told
            if reply.status_code != 200:
                continue
            try:
                number, client = self.participant.enter(reply.content)
            except Refused as refusal:
                after = int.from_bytes(reply.content[10:14], "big")  # from a round that this client entered before
                self._said(f"Round {after}: {refusal}")
                continue
            after = number
            try:
                self._round(number, client)
                self._said(f"Round {number}: done.")
            except Refused as refusal:
                self._said(f"Round {number}: left. {refusal}")

    def _round(self, number: int, client: Client) -> None:
        message: bytes | None = client.begin()
        step = 1
        while message is not None:
            self._say(message)
            if client.is_finished:
                self._kept(number, step, message)
                return
            message, step = client.receive(self._heard(number, step, message)), step + 1

    def _say(self, message: bytes) -> None:
        reply = self._asked("POST", "/v1/say", message)
        if reply.status_code != 204:
            raise Refused(_detail(reply))

    def _kept(self, number: int, step: int, message: bytes) -> None:
        """Stay until the round is over: a coordinator that is killed may have lost the last message, too."""
        while True:
            reply = self._asked("GET", f"/v1/hear/{self.participant.number}/{number}/{step}")
            if reply.status_code == MISSING:
                self._say(message)
            elif reply.status_code != 204:
                return

    def _heard(self, number: int, step: int, message: bytes) -> bytes:
        while True:
            reply = self._asked("GET", f"/v1/hear/{self.participant.number}/{number}/{step}")
            if reply.status_code == 200:
                return reply.content
            if reply.status_code == MISSING:
                self._say(message)
            elif reply.status_code != 204:
                raise Refused(_detail(reply))

    def _asked(self, method: str, path: str, content: bytes | None = None) -> httpx.Response:
        """A reply; the request is repeated while the server cannot be reached."""
        until, tries = time.monotonic() + self._patience, 0
        while True:
            try:
                reply = self._web.request(method, path, content=content)
                if reply.status_code not in (502, 503, 504):
                    if reply.status_code in (401, 413):
                        raise Lost(_detail(reply))
                    return reply
            except httpx.TransportError as failure:
                if time.monotonic() > until:
                    raise Lost(f"The coordinator cannot be reached: {type(failure).__name__}.") from None
            time.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1


def _detail(reply: httpx.Response) -> str:
    try:
        return str(reply.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"The coordinator answered {reply.status_code}."


def web_to(address: str, token: str | None, certificate: Path | None) -> httpx.Client:
    """A way to a coordinator or helper. Without TLS: on this machine alone."""
    url = httpx.URL(address)
    if url.scheme != "https" and url.host not in ("127.0.0.1", "localhost", "::1"):
        raise ParameterError(f"{address} is not on this machine, so that it must begin with https://.")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=address, headers=headers, verify=_trusted(certificate), trust_env=False, timeout=_ASK)


def _trusted(certificate: Path | None) -> Any:
    if certificate is None:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=str(certificate))
    except (OSError, ssl.SSLError) as failure:
        raise ParameterError(f"{certificate} is no certificate: {failure}.") from None


def columns_of(path: Path) -> tuple[dict[str, list[str]], int]:
    """The columns of a client's CSV file, as texts, and how many lines were left out because they cannot be read.

    No line makes an error: a client that stayed away because of its rows would say something about them.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            lines, names, rows, left_out = csv.reader(file), list[str](), list[list[str]](), 0
            while True:
                try:
                    row = next(lines, None)
                except csv.Error:
                    row = []
                if row is None:
                    break
                if not names:
                    names = row
                elif len(row) == len(names):
                    rows.append(row)
                else:
                    left_out += 1
    except OSError as failure:
        raise ParameterError(f"{path} cannot be read: {failure.strerror}.") from None
    if not names or len(set(names)) != len(names):
        raise ParameterError(f"{path.name} must begin with a line of different column names. Got: {', '.join(names)}.")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}, left_out
