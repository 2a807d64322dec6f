"""Jobs of several rounds that look for something: a quantile by halving, frequent texts letter by letter.

Quantile. Each round opens how many clients' numbers are at or below the middle m of an interval, B, and above it, A,
and keeps the half that must hold the quantile q: the upper one where B < q (A + B), with B and A as opened. Theorem:
let the noise of (1 - q) B - q A, whose deviation is sqrt((1 - q)**2 + q**2) times that of a count, be at most w in
every round. Then at most q n + w of the n numbers are at or below the lower end of the last interval, and at least q n
- w are at or below its upper end: it holds a value whose rank is off by at most w. `rank_off_by` is w at 95 % for all
rounds together. (An end that is a bound was never asked about: no number lies beyond it.)

FrequentTexts. Candidates are the texts found so far with one more character of a public alphabet, or ended. A client
counts at the one candidate that its own text begins with. Candidates that are at least `_SEEN` deviations of the noise
above 0 are kept, at most the `keep` most frequent of them; a text that ended is part of the result. A text that fewer
clients have may be missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

from tacit import parameters
from tacit.federated.distributed.private_sum import Finding
from tacit.federated.distributed.tasks import Tally, Task
from tacit.federated.jobs.counts import Mean, of_all
from tacit.federated.jobs.job import Columns, Job, State

_SEEN = 4.0
_LEVEL = float(parameters.LEVEL)
_MOST_SLOTS = 1 << 16


@dataclass(frozen=True)
class Quantile(Job):
    """The value below which a share `rank` of the clients' numbers lie, up to (high - low) / 2**halvings."""

    kind: ClassVar[str] = "quantile"
    column: str
    rank: float
    low: float
    high: float
    halvings: int = 10

    def __post_init__(self) -> None:
        parameters.probability("rank", self.rank)
        if not 1 <= parameters.whole("halvings", self.halvings) <= 50:
            raise parameters.refuse("halvings", "1 to 50", self.halvings)
        Mean(self.column, self.low, self.high)

    @property
    def rounds(self) -> int:
        """One round for each halving."""
        return self.halvings

    @property
    def task(self) -> Task:
        """Whether a client is at or below the middle, or above it."""
        return Tally((True, False))

    def begin(self) -> State:
        """The whole interval."""
        return {"low": self.low, "high": self.high, "deviation": 0.0, "clients": 0}

    def read(self, columns: Columns) -> float | None:
        """One number of the client: the mean of those in its file."""
        return Mean(self.column, self.low, self.high).read(columns)

    def value(self, state: State, own: float | None) -> bool | None:
        """True at or below the middle. A client without a number counts nowhere."""
        return None if own is None else own <= _middle(state)

    def after(self, state: State, found: Finding) -> State:
        """The half that must hold the quantile."""
        middle, below = _middle(state), found.value[True]
        above = below < self.rank * (below + found.value[False])
        half = {"low": middle, "high": state["high"]} if above else {"low": state["low"], "high": middle}
        widest = max(state["deviation"], found.deviation)
        return {**half, "deviation": widest, "clients": found.clients}

    def result(self, state: State) -> dict[str, Any]:
        """The middle of the last interval, the interval, and how far its rank is off at most."""
        each = 1 - (1 - _LEVEL) / self.rounds
        share = math.hypot(1 - self.rank, self.rank)
        within = NormalDist().inv_cdf((1 + each) / 2) * state["deviation"] * share
        return {
            "quantile": _middle(state),
            "between": [state["low"], state["high"]],
            "rank_off_by": math.ceil(within),
            "clients": state["clients"],
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        names = ("column", "rank", "low", "high", "halvings")
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}


def _middle(state: State) -> float:
    low, high = float(state["low"]), float(state["high"])
    return low + (high - low) / 2


@dataclass(frozen=True)
class FrequentTexts(Job):
    """The texts that many clients have, without a list of them: of at most `longest` characters of an alphabet."""

    kind: ClassVar[str] = "frequent texts"
    column: str
    alphabet: str
    longest: int
    keep: int = 8

    def __post_init__(self) -> None:
        if not self.alphabet or len(set(self.alphabet)) != len(self.alphabet):
            raise parameters.refuse("alphabet", "different characters, at least one", self.alphabet)
        parameters.whole("longest", self.longest, least=1)
        if parameters.whole("keep", self.keep, least=1) * (len(self.alphabet) + 1) > _MOST_SLOTS:
            raise parameters.refuse("keep", f"so small that there are at most {_MOST_SLOTS} candidates", self.keep)

    @property
    def rounds(self) -> int:
        """One round for each character, and one for the end of the longest text."""
        return self.longest + 1

    @property
    def task(self) -> Task:
        """A place for each candidate, as many in every round."""
        return Tally(tuple(range(self.keep * (len(self.alphabet) + 1))))

    def begin(self) -> State:
        """The empty beginning, which every text has."""
        return {"beginnings": [""], "found": {}, "deviation": 0.0, "clients": 0}

    def read(self, columns: Columns) -> str | None:
        """The client's first text."""
        return next(iter(columns.get(self.column, ())), None)

    def value(self, state: State, own: str | None) -> int | None:
        """The place of the candidate that the text begins with, or is."""
        if not isinstance(own, str) or len(state["beginnings"]) > self.keep:  # more would only slow clients with a text
            return None
        for place, beginning in enumerate(state["beginnings"]):
            if own.startswith(beginning):
                rest = own[len(beginning) :]
                slot = 0 if not rest else self.alphabet.find(rest[0]) + 1
                if slot or not rest:
                    return place * (len(self.alphabet) + 1) + slot
        return None

    def after(self, state: State, found: Finding) -> State:
        """Texts that ended join the result; the beginnings that were seen often go on."""
        line, wide = _SEEN * found.deviation, len(self.alphabet) + 1
        told, longer = dict(state["found"]), list[tuple[float, str]]()
        for place, beginning in enumerate(state["beginnings"]):
            for slot in range(wide):
                many = found.value[place * wide + slot]
                if many >= line and not slot and beginning:
                    told[beginning] = many
                elif many >= line and slot and len(beginning) < self.longest:
                    longer.append((many, beginning + self.alphabet[slot - 1]))
        beginnings = [text for _, text in sorted(longer, reverse=True)[: self.keep]]
        return {"beginnings": sorted(beginnings), "found": told, **of_all(found)}

    def result(self, state: State) -> dict[str, Any]:
        """The texts, with about how many clients have each."""
        ordered = dict(sorted(state["found"].items(), key=lambda each: -each[1]))
        return {"texts": ordered, "deviation": state["deviation"], "clients": state["clients"]}

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        names = ("column", "alphabet", "longest", "keep")
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}
