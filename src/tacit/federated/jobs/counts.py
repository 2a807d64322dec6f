"""Jobs of one round: how many clients have each option, and the mean of one number of each client.

A client is one unit whatever it holds. Of a file with several rows it counts at its most frequent option (the first
listed among equals), and adds the mean of its readable numbers, each clamped to the bounds.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit import parameters
from tacit.federated.distributed.private_sum import Finding
from tacit.federated.distributed.tasks import Average, Tally, Task
from tacit.federated.jobs.job import Columns, Job, State, number


@dataclass(frozen=True)
class Counts(Job):
    """How many clients have each of the options, which are texts."""

    kind: ClassVar[str] = "histogram"
    column: str
    options: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.options or not all(isinstance(each, str) for each in self.options):
            raise parameters.refuse("options", "texts, at least one", self.options)
        Tally(self.options)

    @property
    def rounds(self) -> int:
        """One round."""
        return 1

    @property
    def task(self) -> Task:
        """A client counts once."""
        return Tally(self.options)

    def begin(self) -> State:
        """Nothing is known at the beginning."""
        return {}

    def read(self, columns: Columns) -> str | None:
        """The most frequent option, or None."""
        seen = Counter(each for each in columns.get(self.column, ()) if each in self.options)
        return max(self.options, key=lambda each: seen[each]) if seen else None

    def value(self, state: State, own: str | None) -> str | None:
        """The option itself."""
        return own

    def after(self, state: State, found: Finding) -> State:
        """The noisy counts."""
        return {"counts": [found.value[each] for each in self.options], **of_all(found)}

    def result(self, state: State) -> dict[str, Any]:
        """The counts by option."""
        counts = dict(zip(self.options, state["counts"], strict=True))
        return {"counts": counts, "deviation": state["deviation"], "clients": state["clients"]}

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"kind": self.kind, "column": self.column, "options": list(self.options)}


@dataclass(frozen=True)
class Mean(Job):
    """The mean over clients of one number of each."""

    kind: ClassVar[str] = "mean"
    column: str
    low: float
    high: float

    def __post_init__(self) -> None:
        Average(self.low, self.high)

    @property
    def rounds(self) -> int:
        """One round."""
        return 1

    @property
    def task(self) -> Task:
        """A number between the bounds."""
        return Average(self.low, self.high)

    def begin(self) -> State:
        """Nothing is known at the beginning."""
        return {}

    def read(self, columns: Columns) -> float | None:
        """The mean of the client's numbers, each clamped; None where there is none."""
        read = (number(each) for each in columns.get(self.column, ()))
        found = [min(max(each, self.low), self.high) for each in read if each is not None]
        return math.fsum(found) / len(found) if found else None

    def value(self, state: State, own: float | None) -> float | None:
        """The number itself; None counts as the middle of the bounds."""
        return own

    def after(self, state: State, found: Finding) -> State:
        """The noisy mean."""
        return {"mean": found.value, **of_all(found)}

    def result(self, state: State) -> dict[str, Any]:
        """The mean."""
        return {"mean": state["mean"], "deviation": state["deviation"], "clients": state["clients"]}

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"kind": self.kind, "column": self.column, "low": self.low, "high": self.high}


def of_all(found: Finding) -> dict[str, Any]:
    """What every finding says in addition to its value."""
    return {"deviation": found.deviation, "clients": found.clients}
