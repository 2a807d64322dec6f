"""A job: rounds of private sums that build on each other.

    state = job.begin()
    value = job.value(state, own)         # at a client: what it adds in this round, of what it holds
    state = job.after(state, finding)     # at the coordinator: what is known after the round
    job.result(state)

Promise. A state is made of public numbers and opened sums alone, so everyone may see it. It is plain JSON, which is
sent to clients and written to disk as it is. `task` is the same in every round, so that one price holds for all. `read`
and `value` never raise, whatever a client holds: what cannot be read counts as nothing, since a client that stayed away
because of its data would say something about them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tacit.federated.distributed.private_sum import Finding
from tacit.federated.distributed.tasks import Task

State = dict[str, Any]
Columns = Mapping[str, Sequence[str]]


class Job(ABC):
    """What is computed, round after round."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many sums are opened."""

    @property
    @abstractmethod
    def task(self) -> Task:
        """What is added up in a round."""

    @abstractmethod
    def begin(self) -> State:
        """What is known before the first round."""

    @abstractmethod
    def read(self, columns: Columns) -> Any:
        """What a client holds, from the columns of its file, whose texts are passed as they are."""

    @abstractmethod
    def value(self, state: State, own: Any) -> Any:
        """What a client adds in this round, in the task's terms."""

    @abstractmethod
    def after(self, state: State, found: Finding) -> State:
        """What is known after the round."""

    @abstractmethod
    def result(self, state: State) -> dict[str, Any]:
        """The result at the end, as plain JSON."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The public description; `jobs.described.job_of` reads it."""


def number(text: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if abs(found) < float("inf") else None
