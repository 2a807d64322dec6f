"""A collection: clients report, servers check and add up their shares, each adds noise, and the noisy sum is opened.

    key = new_key()                                                  # a secret of the servers, which no client knows
    steps = Collection("steps", Histogram(10), key=key, epsilon=1)
    text = steps.to_json()                                           # public: all parties agree on it
    report = Collection.from_json(text).client().report(3)           # report.parts[i] is for server i alone
    server = steps.server(0, key)
    share = server.check(report.nonce, report.public, report.parts[0])     # exchanged between the servers
    server.accept(report.nonce, shares)                              # valid: added to the sum; else refused
    server.release()                                                 # the server's noisy sum, once
    steps.opened(releases)                                           # the noisy sums of all servers make the answer

Theorem. Every server adds noise that alone meets (epsilon, delta) for the sum of valid reports when one of them is
replaced. If at least one server is honest, everything that all others and the collector see together is a function of
that server's noisy sum and of things that are independent of its clients' measurements: shares are uniform, proofs open
nothing about a valid report (`proofs`), and the noise of others is post-processing. So the price is that of one
server's noise, no matter who else colludes. With k honest servers the answer's noise has k times that variance, but the
price does not rely on it.

Assumptions. A server counts a nonce once and releases once; after the release nothing is added. A part is checked under
one nonce alone: under two it would be counted twice, and two checks open more of a report than one. Messages from a
client to a server must be readable by that server alone. The description is part of every hash (`context`), with a
digest of the servers' key: clients and servers that do not agree on circuit, price and key cannot accept each other's
reports. A lying server can spoil the answer, but not learn more.

Sums are taken in a finite field. The answer is read as the number nearest to 0, so negative noise is shown as it is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import noise, parameters
from tacit.federated.descriptions import described, description
from tacit.federated.odometer import Odometer
from tacit.federated.prio.circuits import Circuit, Count, Sum
from tacit.federated.prio.fields import Vector
from tacit.federated.prio.prio3 import NONCE, Checking, Prio3
from tacit.federated.prio.seeds import SEED
from tacit.federated.prio.vectors import Histogram, MultihotCountVec, SumVec
from tacit.federated.refusals import Refused
from tacit.ledger import Failed, Ledger
from tacit.loss.events import Event
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Gaussian, Laplace
from tacit.parameters import Number, as_text
from tacit.statistics.moments.noise_sum import combination

_KINDS: dict[str, type[Any]] = {each.__name__: each for each in (Count, Sum, SumVec, Histogram, MultihotCountVec)}


def new_key() -> bytes:
    """A secret for the servers of one collection.

    >>> len(new_key())
    32
    """
    return secrets.token_bytes(SEED)


@dataclass(frozen=True, slots=True)
class Report:
    """What a client sends: the nonce and the public part to every server, and a part to each server alone.

    >>> report = Report(b"1", b"", (b"2", b"3"))
    >>> Report.from_json(report.to_json()) == report
    True
    """

    nonce: bytes
    public: bytes
    parts: tuple[bytes, ...]

    def to_json(self) -> str:
        """As text."""
        content = {"nonce": self.nonce.hex(), "public": self.public.hex(), "parts": [part.hex() for part in self.parts]}
        return json.dumps(content, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that `to_json` wrote."""
        content = json.loads(text)
        parts = tuple(bytes.fromhex(part) for part in content["parts"])
        return cls(bytes.fromhex(content["nonce"]), bytes.fromhex(content["public"]), parts)


class Collection:
    """What clients and servers agree on: a name that is used once, what is reported, how many servers, and the price.

    With `delta` the noise is Gaussian, otherwise Laplace. The description holds a digest of `key`, the servers' secret.

    >>> from tacit import federated
    >>> steps = Collection("steps", federated.Histogram(5), key=federated.new_key(), epsilon=1)
    >>> Collection.from_json(steps.to_json()).id == steps.id
    True
    """

    def __init__(
        self,
        name: str,
        circuit: Circuit,
        *,
        key: bytes | None = None,
        key_digest: str | None = None,
        epsilon: Number,
        delta: Number = 0,
        servers: int = 2,
    ) -> None:
        if type(circuit).__name__ not in _KINDS:
            raise parameters.refuse("circuit", f"one of {', '.join(_KINDS)}", circuit)
        if (key is None) == (key_digest is None):
            raise parameters.refuse("key", "the servers' secret, or else its digest", key_digest)
        self.name, self.circuit, self.scheme = name, circuit, Prio3(circuit, servers)
        self.epsilon, self.delta = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
        self.key_digest = digest_of(key) if key is not None else str(key_digest)
        shape = circuit.shape
        self.mechanism: Laplace | Gaussian
        if self.delta:
            distance = sqrt_up(Fraction(shape.l2_squared))
            self.mechanism = Gaussian(distance, self.epsilon, self.delta, size=shape.length)
        else:
            self.mechanism = Laplace(shape.l1, self.epsilon)
        self.context = hashlib.sha256(self.to_json().encode()).digest()

    @property
    def event(self) -> Event:
        """What one server's noisy sum tells, if one client's report is replaced by another."""
        return self.mechanism.event

    @property
    def id(self) -> str:
        """The digest that stands for the description."""
        return self.context.hex()

    def to_json(self) -> str:
        """The public description: one text."""
        content = {
            "name": self.name,
            "circuit": {"kind": type(self.circuit).__name__, **_fields(self.circuit)},
            "servers": self.scheme.servers,
            "epsilon": as_text(self.epsilon),
            "delta": as_text(self.delta),
            "key": self.key_digest,
        }
        return description(content)

    @classmethod
    def from_json(cls, text: str) -> Collection:
        """The collection of a description; any other text is refused."""

        def made(content: dict[str, Any]) -> Collection:
            circuit = content.pop("circuit")
            counted = _KINDS[circuit.pop("kind")](**circuit)
            return cls(content.pop("name"), counted, key_digest=content.pop("key"), **content)

        return described(text, "a collection", made)

    def client(self, odometer: Odometer | None = None) -> Client:
        """A client that reports; with an odometer, it reports once, and gives the same report if asked again."""
        return Client(self, odometer)

    def server(self, place: int, key: bytes, ledger: Ledger | None = None) -> Server:
        """One of the servers, counted from 0."""
        return Server(self, place, key, ledger)

    def opened(self, releases: Sequence[bytes]) -> Any:
        """The noisy sum, a number or a list, from the releases of all servers in their order."""
        if len(releases) != self.scheme.servers:
            raise Refused(f"The sum is opened with {self.scheme.servers} releases. Got {len(releases)} instead.")
        read = [_read_release(self, place, release) for place, release in enumerate(releases)]
        if len({said for said, _ in read}) != 1:
            raise Refused(
                "The servers added up different reports. Nothing can be opened: let them agree on the reports first."
            )
        modulus = self.scheme.field.modulus
        total = [int(each) for each in self.scheme.opened([vector for _, vector in read])]
        signed = [each - modulus if each > modulus // 2 else each for each in total]
        return signed if self.circuit.is_list else signed[0]

    def error(self, confidence: Number) -> int | float:
        """A number that the noise of one opened sum exceeds with probability at most 1 - confidence.

        The whole noise X of a server and the continuous law L of its scale can be drawn together such that both have
        one sign and |X - L| <= 1: Pr[|L| >= j + 1] <= Pr[|X| >= j] <= Pr[|L| >= j - 1]. So the sum over servers is
        within their number of the sum of the L, whose quantile is known. Where noise is narrow, adding the servers' own
        bounds gives less, and is taken instead.
        """
        exact, servers = parameters.level("confidence", confidence), self.scheme.servers
        added = servers * self.mechanism.error(1 - (1 - exact) / servers)
        laplace = isinstance(self.mechanism, Laplace)
        whole = combination([1.0] * servers, laplace, float(self.mechanism.scale), 0.0).quantile(float(exact)) + servers
        return min(added, math.floor(whole))


class Client:
    """A client that reports."""

    def __init__(self, collection: Collection, odometer: Odometer | None) -> None:
        self.collection, self._odometer = collection, odometer

    def report(self, measurement: Any) -> Report:
        """A report of this measurement. One that is out of range is refused, and nothing is told."""
        if self._odometer is None:
            return self._drawn(measurement)
        sent = self._odometer.once(
            self.collection.id, self.collection.event, lambda: self._drawn(measurement).to_json()
        )
        return Report.from_json(sent)

    def _drawn(self, measurement: Any) -> Report:
        scheme, nonce = self.collection.scheme, os.urandom(NONCE)
        made = scheme.sharded(self.collection.context, measurement, nonce, os.urandom(scheme.random))
        return Report(nonce, made.public, made.parts)


class Server:
    """One of the servers: it checks reports with the others, adds up its shares, and releases a noisy sum once.

    With a ledger the release is charged before the noise is drawn, and kept: if asked again, even after a crash, the
    server gives the same one.
    """

    def __init__(self, collection: Collection, place: int, key: bytes, ledger: Ledger | None = None) -> None:
        if not hmac.compare_digest(digest_of(key), collection.key_digest):
            raise Refused("The key is not the one that the description holds the digest of.")
        if not 0 <= parameters.whole("place", place) < collection.scheme.servers:
            raise parameters.refuse("place", f"a whole number from 0 to {collection.scheme.servers - 1}", place)
        self.collection, self.place = collection, place
        self._key, self._ledger = key, ledger
        self._checking: dict[bytes, tuple[bytes, Checking, bytes]] = {}
        self._accepted: set[bytes] = set()
        self._parts: set[bytes] = set()
        self._sum = collection.scheme.field.zeros(collection.circuit.shape.length)
        self._released = self._kept()

    @property
    def accepted(self) -> int:
        """How many reports are in the sum."""
        return len(self._accepted)

    @property
    def is_released(self) -> bool:
        """Whether the sum is closed."""
        return self._released is not None

    def check(self, nonce: bytes, public: bytes, part: bytes) -> bytes:
        """This server's share of the check of a report. The same report again gets the same share."""
        self._open()
        said = hashlib.sha256(nonce + public + part).digest()
        if nonce in self._accepted:
            raise Refused("A report with this nonce was counted before.")
        if nonce in self._checking:
            kept, _, share = self._checking[nonce]
            if kept != said:
                raise Refused("Another report with this nonce is being checked.")
            return share
        held = hashlib.sha256(part).digest()
        if held in self._parts:
            raise Refused("This part came before under another nonce. A report is sent once.")
        scheme = self.collection.scheme
        state, share = scheme.checked(self._key, self.collection.context, self.place, nonce, public, part)
        self._checking[nonce] = (said, state, share)
        self._parts.add(held)
        return share

    def accept(self, nonce: bytes, shares: Sequence[bytes]) -> None:
        """Add a report to the sum, if the check shares of all servers, in their order, say that it is valid.

        Refused otherwise, and nothing changes: with the right shares it can still be added.
        """
        self._open()
        if nonce not in self._checking:
            raise Refused("No report with this nonce is being checked.")
        _, state, own = self._checking[nonce]
        if len(shares) != self.collection.scheme.servers or shares[self.place] != own:
            raise Refused("The check shares are not those of all servers in their order.")
        message = self.collection.scheme.agreed(self.collection.context, shares)
        output = self.collection.scheme.finished(state, message)
        self._sum = np.asarray((self._sum + output) % self.collection.scheme.field.modulus, dtype=object)
        self._accepted.add(nonce)
        del self._checking[nonce]

    def release(self) -> bytes:
        """The noisy sum of this server's shares. From the first call on nothing is added, and it stays the same."""
        if self._released is None:
            self._released = self._drawn() if self._ledger is None else self._paid(self._ledger)
            self._checking.clear()
        return self._released

    def _drawn(self) -> bytes:
        return _set_digest(self.collection, self._accepted) + self._encoded_noisy_sum()

    def _paid(self, ledger: Ledger) -> bytes:
        """Charge, draw and store; a charge that was interrupted before anything was stored has failed."""
        told = f"collection {self.collection.name!r}, server {self.place}"
        receipt = ledger.charge("federated", self._ledger_key, told, self.collection.event)
        kept = ledger.store_failure(self._ledger_key) if receipt.repeated else None
        return _stored(ledger.store_answer(receipt, self._drawn()) if kept is None else kept)

    def _encoded_noisy_sum(self) -> bytes:
        field, length = self.collection.scheme.field, self.collection.circuit.shape.length
        drawn = self.collection.mechanism.release(np.zeros(length, dtype=np.int64), bits=noise.secure())
        noisy = field.vector(int(a) + int(b) for a, b in zip(self._sum, drawn, strict=True))
        return field.encode(noisy)

    @property
    def _ledger_key(self) -> str:
        return f"federated:{self.collection.id}:{self.place}"

    def _kept(self) -> bytes | None:
        kept = None if self._ledger is None else self._ledger.answer(self._ledger_key)
        return None if kept is None else _stored(kept)

    def _open(self) -> None:
        if self._released is not None:
            raise Refused("This collection is closed: its sum was released.")


def _stored(kept: bytes | Failed) -> bytes:
    if isinstance(kept, Failed):
        raise Refused("The release of this collection failed after it was paid for. It is never drawn again.")
    return kept


def _fields(circuit: Circuit) -> dict[str, Any]:
    return {each.name: getattr(circuit, each.name) for each in dataclasses.fields(circuit)}  # type: ignore[arg-type]


def digest_of(key: bytes) -> str:
    if not isinstance(key, bytes) or len(key) != SEED:
        raise Refused(f"The key of a collection must have {SEED} bytes; `new_key` makes one.")
    return hashlib.sha256(b"tacit collection key" + key).hexdigest()


def _set_digest(collection: Collection, nonces: set[bytes]) -> bytes:
    return hashlib.sha256(collection.context + b"".join(sorted(nonces))).digest()


def _read_release(collection: Collection, place: int, release: bytes) -> tuple[bytes, Vector]:
    field, length = collection.scheme.field, collection.circuit.shape.length
    if len(release) != 32 + field.size * length:
        raise Refused(f"The release of server {place} does not belong to this collection.")
    return release[:32], field.decode(release[32:], length)
