"""Frequent numbers among clients: two servers count prefixes level by level, with noise, and extend common ones.

    key = new_key()                                                     # a secret of the servers
    asked = HeavyHitters("postcodes", bits=16, key=key, epsilon=2, delta=1e-6)
    report = HeavyHitters.from_json(asked.to_json()).client().report(50733)     # one part for each server
    servers = [asked.server(place, key, ledger) for place in (0, 1)]
    for server in servers: server.take(report.nonce, report.public, report.parts[server.place])
    asked.search(servers)                                               # {number: how many clients have it}

The levels. Strings are read `step` bits at a time, and at each of these levels `keep` prefixes at most go on, with all
their continuations: the most frequent ones of those that are counted above the noise (`_SEEN` deviations of it).

Theorem. At each level a valid report counts by 1 at one prefix at most, whatever the prefixes are. If a report is
replaced, two counts change by 1: an L2 distance of sqrt(2) in two places. Each server adds discrete Gaussian noise that
alone, over all levels together, meets (epsilon, delta) (`NoiseShares` of one honest party; the next level's prefixes
are chosen from what was released, which adaptive composition allows). If one server is honest, all that the other one,
the collector and any clients see is a function of its noisy counts and of what is independent of its clients' strings
(`poplar1`). So a lying server that steers the search to prefixes of its choice learns only noisy counts of them.

Assumptions. A server checks a report once at a level, lets prefixes only continue those of the level before, and takes
no report after the first level. With a ledger each level is charged before a report is checked at it; a level that was
charged before is never begun again, so a server that lost its memory cannot be made to answer a level twice.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tacit import parameters
from tacit.federated.descriptions import described, description
from tacit.federated.distributed.shares import NoiseShares
from tacit.federated.odometer import Odometer
from tacit.federated.poplar.poplar1 import Opened, Poplar1, Prefixes, Sketching
from tacit.federated.prio.collection import Report, digest_of
from tacit.federated.prio.prio3 import NONCE
from tacit.federated.refusals import Refused
from tacit.ledger import Ledger, Receipt
from tacit.loss.events import Event, Repeated
from tacit.parameters import Number, as_text

_SEEN: Final = 4.0
_MOST_PREFIXES: Final = 1 << 16
_PLACES: Final = 2  # counts that change if a report is replaced


class HeavyHitters:
    """What clients and the two servers agree on: a name that is used once, how long strings are, and the price.

    >>> from tacit import federated
    >>> asked = HeavyHitters("postcodes", bits=4, key=federated.new_key(), epsilon=2, delta="1e-6")
    >>> asked.levels  # two bits more at each
    (1, 3)
    """

    def __init__(
        self,
        name: str,
        bits: int,
        *,
        key: bytes | None = None,
        key_digest: str | None = None,
        epsilon: Number,
        delta: Number,
        step: int = 2,
        keep: int = 16,
    ) -> None:
        if (key is None) == (key_digest is None):
            raise parameters.refuse("key", "the servers' secret, or else its digest", key_digest)
        self.name, self.scheme, self.bits = name, Poplar1(bits), bits
        self.step, self.keep = parameters.whole("step", step, least=1), parameters.whole("keep", keep, least=1)
        if self.step > 16 or self.keep << self.step > _MOST_PREFIXES:
            raise parameters.refuse("keep", f"such that keep * 2**step is at most {_MOST_PREFIXES}", keep)
        self.epsilon, self.delta = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
        self.key_digest = digest_of(key) if key is not None else str(key_digest)
        self.levels = (*range(self.step - 1, bits - 1, self.step), bits - 1)
        terms = {"rounds": len(self.levels), "places": _PLACES}
        self.shares = NoiseShares.for_price(_PLACES, self.most, 1, self.epsilon, self.delta, **terms)
        self.context = hashlib.sha256(self.to_json().encode()).digest()

    @property
    def most(self) -> int:
        """How many prefixes are asked about at a level at most."""
        return max(self.keep << self.step, _PLACES)

    @property
    def event(self) -> Event:
        """What one server's noisy counts of all levels tell, if one client's report is replaced by another."""
        return Repeated(self.shares.event, len(self.levels))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count, with the noise of both servers."""
        return math.sqrt(2 * float(self.shares.variance))

    @property
    def id(self) -> str:
        """The digest that stands for the description."""
        return self.context.hex()

    def to_json(self) -> str:
        """The public description: one text."""
        content = {
            "kind": "heavy hitters",
            "name": self.name,
            **{each: getattr(self, each) for each in ("bits", "step", "keep")},
            "epsilon": as_text(self.epsilon),
            "delta": as_text(self.delta),
            "key": self.key_digest,
        }
        return description(content)

    @classmethod
    def from_json(cls, text: str) -> HeavyHitters:
        """The search of a description; any other text is refused."""

        def made(content: dict[str, Any]) -> HeavyHitters:
            if content.pop("kind") != "heavy hitters":
                raise KeyError
            return cls(content.pop("name"), content.pop("bits"), key_digest=content.pop("key"), **content)

        return described(text, "a search for heavy hitters", made)

    def client(self, odometer: Odometer | None = None) -> Client:
        """A client that reports; with an odometer, it reports once, and gives the same report if asked again."""
        return Client(self, odometer)

    def server(self, place: int, key: bytes, ledger: Ledger | None = None) -> Server:
        """One of the two servers, 0 or 1."""
        return Server(self, place, key, ledger)

    # -- the collector sees only released counts -------------------------------------------------------------

    def first(self) -> Prefixes:
        """All prefixes of the first level."""
        return Prefixes(self.levels[0], tuple(range(1 << self.levels[0] + 1)))

    def following(self, asked: Prefixes, counts: Sequence[int]) -> Prefixes | None:
        """The next prefixes after these counts; None at the end, or where nothing is above the noise."""
        common = self.common(asked, counts)
        if asked.level == self.bits - 1 or not common:
            return None
        level = self.levels[self.levels.index(asked.level) + 1]
        wide = level - asked.level
        prefixes = [prefix << wide | more for prefix in sorted(common) for more in range(1 << wide)]
        return Prefixes(level, tuple(prefixes))

    def common(self, asked: Prefixes, counts: Sequence[int]) -> dict[int, int]:
        """The prefixes that are counted above the noise, the most frequent ones first."""
        line = _SEEN * self.deviation
        seen = [(count, prefix) for prefix, count in zip(asked.prefixes, counts, strict=True) if count >= line]
        return {prefix: count for count, prefix in sorted(seen, key=lambda each: (-each[0], each[1]))[: self.keep]}

    def opened(self, asked: Prefixes, releases: Sequence[bytes]) -> list[int]:
        """The noisy counts, from the releases of both servers in their order."""
        field, head = self.scheme.field(asked.level), 32
        if len(releases) != 2 or any(len(each) != head + field.size * len(asked.prefixes) for each in releases):
            raise Refused("Counts are opened with the releases of both servers for these prefixes.")
        if releases[0][:head] != releases[1][:head]:
            raise Refused("The servers counted different reports. Nothing can be opened.")
        vectors = [field.decode(each[head:], len(asked.prefixes)) for each in releases]
        total = field.vector(int(one) + int(other) for one, other in zip(*vectors, strict=True))
        return [int(each) - field.modulus if int(each) > field.modulus // 2 else int(each) for each in total]

    def search(self, servers: Sequence[Server]) -> dict[int, int]:
        """The frequent numbers with about how many clients have each: all levels, both servers in this process."""
        asked: Prefixes | None = self.first()
        found: Mapping[int, int] = {}
        while asked is not None:
            for server in servers:
                server.begin(asked)
            for nonce in sorted(servers[0].reports & servers[1].reports):
                sketches = [server.check(nonce) for server in servers]
                answers = [server.answer(nonce, sketches) for server in servers]
                for server in servers:
                    try:
                        server.accept(nonce, answers)
                    except Refused:
                        server.drop(nonce)
            counts = self.opened(asked, [server.release() for server in servers])
            found = self.common(asked, counts) if asked.level == self.bits - 1 else {}
            asked = self.following(asked, counts)
        return dict(found)


class Client:
    """A client that reports."""

    def __init__(self, asked: HeavyHitters, odometer: Odometer | None) -> None:
        self.asked, self._odometer = asked, odometer

    def report(self, number: Any) -> Report:
        """A report of a whole number below 2**bits. Anything else is refused, and nothing is told."""
        bits = self.asked.bits
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << bits:
            raise Refused(f"A measurement must be a whole number from 0 to 2**{bits} - 1. Nothing was sent.")
        if self._odometer is None:
            return self._drawn(number)
        return Report.from_json(
            self._odometer.once(self.asked.id, self.asked.event, lambda: self._drawn(number).to_json())
        )

    def _drawn(self, number: int) -> Report:
        scheme, nonce = self.asked.scheme, os.urandom(NONCE)
        string = [bool(number >> place & 1) for place in range(self.asked.bits - 1, -1, -1)]
        made = scheme.sharded(self.asked.context, string, nonce, os.urandom(scheme.random))
        return Report(nonce, made.public, made.parts)


class Server:
    """One of the two servers. It takes reports, then goes through levels: begin, check each report, release."""

    def __init__(self, asked: HeavyHitters, place: int, key: bytes, ledger: Ledger | None = None) -> None:
        if not hmac.compare_digest(digest_of(key), asked.key_digest):
            raise Refused("The key is not the one that the description holds the digest of.")
        if parameters.whole("place", place) not in (0, 1):
            raise parameters.refuse("place", "0 or 1", place)
        self.description, self.place = asked, place
        self._key, self._ledger = key, ledger
        self._reports: dict[bytes, Opened] = {}
        self._parts: set[bytes] = set()
        self._asked: Prefixes | None = None
        self._receipt: Receipt | None = None
        self._released = True  # of the present level
        self._checking: dict[bytes, tuple[Sketching, bytes]] = {}
        self._answered: dict[bytes, tuple[bytes, bytes]] = {}  # the sketch, and the answer to it
        self._accepted: set[bytes] = set()

    @property
    def reports(self) -> frozenset[bytes]:
        """The nonces of the reports that are still counted."""
        return frozenset(self._reports)

    def take(self, nonce: bytes, public: bytes, part: bytes) -> None:
        """A client's part, before the first level."""
        if self._asked is not None:
            raise Refused("The search has begun: no report is taken any more.")
        if nonce in self._reports:
            raise Refused("A report with this nonce is here already.")
        held = hashlib.sha256(part).digest()
        if held in self._parts:
            raise Refused("This part came before under another nonce. A report is sent once.")
        description = self.description
        self._reports[nonce] = description.scheme.opened(description.context, self.place, nonce, public, part)
        self._parts.add(held)

    def begin(self, asked: Prefixes) -> None:
        """Begin a level, charged before any report is looked at. Refused unless it follows from the level before."""
        description = self.description
        if not self._released:
            raise Refused("The level before is not released yet.")
        asked.after(self._asked)
        place = 0 if self._asked is None else description.levels.index(self._asked.level) + 1
        if place >= len(description.levels) or asked.level != description.levels[place]:
            raise Refused(f"Levels are asked about in their order: {description.levels}. Got {asked.level} instead.")
        if len(asked.prefixes) > description.most:
            raise Refused(f"At most {description.most} prefixes are asked about at a level.")
        if self._ledger is not None:
            told = f"heavy hitters {description.name!r}, server {self.place}, level {asked.level}"
            receipt = self._ledger.charge("federated", self._ledger_key(asked), told, description.shares.event)
            if receipt.repeated:
                raise Refused(f"Level {asked.level} was begun before. It is never asked about again.")
            self._receipt = receipt
        self._asked, self._released = asked, False
        self._checking, self._answered, self._accepted = {}, {}, set()
        self._sum = description.scheme.field(asked.level).zeros(len(asked.prefixes))

    def check(self, nonce: bytes) -> bytes:
        """This server's share of a report's sketch; the same again if asked again."""
        asked = self._open()
        if nonce not in self._checking:
            if nonce not in self._reports:
                raise Refused("No report with this nonce is counted.")
            description = self.description
            made = description.scheme.checked(self._key, description.context, self._reports[nonce], asked)
            self._checking[nonce] = made
        return self._checking[nonce][1]

    def answer(self, nonce: bytes, sketches: Sequence[bytes]) -> bytes:
        """This server's share of what must be 0, from both servers' sketches; one answer for a report and a level."""
        asked = self._open()
        if nonce not in self._checking:
            raise Refused("No report with this nonce is being checked.")
        state, own = self._checking[nonce]
        if len(sketches) != 2 or sketches[self.place] != own:
            raise Refused("The shares are not those of both servers in their order.")
        message = self.description.scheme.sketch(asked.level, sketches)
        if nonce not in self._answered:
            self._answered[nonce] = (message, self.description.scheme.answered(state, message))
        if self._answered[nonce][0] != message:
            raise Refused("This report was answered with another sketch. A report is answered once at a level.")
        return self._answered[nonce][1]

    def accept(self, nonce: bytes, answers: Sequence[bytes]) -> None:
        """Count a report at this level if both answers say that it is valid; otherwise it is refused."""
        asked = self._open()
        if nonce not in self._answered or nonce in self._accepted:
            raise Refused("No report with this nonce is being checked, or it is counted already.")
        if len(answers) != 2 or answers[self.place] != self._answered[nonce][1]:
            raise Refused("The answers are not those of both servers in their order.")
        self.description.scheme.accepted(asked.level, answers)
        field = self.description.scheme.field(asked.level)
        state = self._checking[nonce][0]
        self._sum = field.vector(int(a) + int(b) for a, b in zip(self._sum, state.output, strict=True))
        self._accepted.add(nonce)

    def drop(self, nonce: bytes) -> None:
        """Leave a report out from here on."""
        if nonce in self._accepted:
            raise Refused("This report is counted already.")
        self._reports.pop(nonce, None)

    def release(self) -> bytes:
        """The noisy counts of this level. Reports that were not accepted are left out from here on."""
        asked = self._open()
        for nonce in self.reports - self._accepted:
            del self._reports[nonce]
        counted = hashlib.sha256(self.description.context + asked.encode() + b"".join(sorted(self._accepted))).digest()
        made = counted + self._noisy(asked)
        self._released, self._checking, self._answered = True, {}, {}
        if self._ledger is not None and self._receipt is not None:
            kept = self._ledger.store_answer(self._receipt, made)
            if kept != made:
                raise Refused("The release of this level failed after it was paid for. It is never drawn again.")
        return made

    def _noisy(self, asked: Prefixes) -> bytes:
        field = self.description.scheme.field(asked.level)
        drawn = self.description.shares.draw()[: len(asked.prefixes)]
        return field.encode(field.vector(int(a) + int(b) for a, b in zip(self._sum, drawn, strict=True)))

    def _open(self) -> Prefixes:
        if self._asked is None or self._released:
            raise Refused("No level is begun.")
        return self._asked

    def _ledger_key(self, asked: Prefixes) -> str:
        return f"federated:{self.description.id}:{self.place}:{asked.level}"
