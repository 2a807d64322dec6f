"""The sum of everyone's clipped gradient over one step, on the grid: exact, and private.

Promise (theorem: `floats`, or `alone` where each person is computed alone): chunks of one fixed shape are added up
in float64, a span of them at a time, then rounded to whole numbers, which add up exactly. With the sum comes the number
of people whose gradient is within the clipping norm, less the number of the others: `adaptive` needs it, and it is
exact and private too. Memory is made once and written over by the next step.

A person whose rows make torch fail (a class that is none of the outputs, a word that is not in the table) counts as
nothing, like one whose gradient is no number: a failure would tell that this person was in the sample. With arrays,
such a step takes longer. Who fails is found by chunks of the full shape, in which the others' places are empty, with
the same draws each time. So whether somebody fails follows from their own rows, place and draws, and nobody's draws
change because somebody else fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.errors import TacitError
from tacit.learning.neural.floats import chunks_together
from tacit.learning.neural.gradients.forms import Form
from tacit.learning.neural.gradients.gathered import room_of
from tacit.learning.neural.people.batches import Chunk, People, Room
from tacit.learning.neural.people.chances import drawn_from, secret_state
from tacit.learning.neural.sums.alone import exact_sum
from tacit.learning.neural.sums.clipping import ADAPTIVE, add_clipped
from tacit.learning.neural.sums.grid import Grid
from tacit.noise import secure

_LARGE: Final = 31 << 20  # glibc learns from pieces of at most 32 MiB
FAILED: Final = "The module or the loss failed on the rows of a step. What it said may have to do with a row."


def keep_freed_memory() -> None:
    """Let the process keep the memory of tensors that are freed between two chunks.

    The C library gives larger pieces back to the system at once, and the next chunk would ask for them again, page by
    page: a tenth of a step. It keeps pieces up to the size of a large one that was freed before, so a large one is
    allocated here and freed, untouched. Call this first: a piece that was freed earlier could be used for it, and the
    library would learn nothing.
    """
    torch.empty(_LARGE, dtype=torch.uint8)


class Summing:
    """How the sums of a run are made."""

    def __init__(
        self,
        gradients: Callable[[Chunk], list[Form]],
        people: People,
        places: int,
        sizes: list[int],
        kind: str,
        changed: Callable[[Chunk], Chunk],
        fewer: Sequence[int] = (),
    ) -> None:
        self._gradients, self._people, self._places, self._fewer = gradients, people, places, fewer
        self._kind, self._changed = kind, changed
        self._together = chunks_together(places)
        self._whole, self._open = (torch.empty(sum(sizes), dtype=torch.float64) for _ in range(2))
        self._room, self._chunk_room = room_of(sizes), Room()

    def total(self, chosen: NDArray[np.int64], clip: Fraction, grid: Grid) -> tuple[Any, int]:
        """The sum over those chosen, which the next one overwrites; and the people within the norm less the others.

        They are counted where the norm follows them; elsewhere the count is 0.
        """
        opened = within = spans = 0
        for chunk in self._people.chunks(chosen, self._places, self._chunk_room, fewer=self._fewer):
            if opened == self._together:  # the open sum is rounded to the grid, and exact from then on
                spans, opened = self._rounded(grid, spans), 0
            if not opened:
                self._open.zero_()
            chunk, forms = self._safe(chunk)
            with torch.no_grad():
                lengths = add_clipped(self._open, forms, float(clip), self._kind, self._room)
            if self._kind == ADAPTIVE:
                within += signed(lengths, chunk, float(clip))
            opened += 1
        if opened:
            spans = self._rounded(grid, spans)
        return (self._whole if spans else self._whole.zero_()), within

    def _rounded(self, grid: Grid, spans: int) -> int:
        """Add the open sum to the whole, or make it the whole if it is the first; returns how many spans there are."""
        own = grid.round_(self._open)
        if spans:
            self._whole += own
        else:
            self._whole, self._open = own, self._whole
        return spans + 1

    def _safe(self, chunk: Chunk) -> tuple[Chunk, list[Form]]:
        """Gradients of a chunk; of those whom torch or the loss fails at, none. What is raised depends on rows."""
        with torch.enable_grad(), _in_silence():
            with drawn_from(secret_state(secure())):
                chunk = self._changed(chunk)
            state = secret_state(secure())
            found = self._tried(chunk, state)
            if found is None:
                chunk = self._without_failing(chunk, state)
                found = self._tried(chunk, state)
        if found is None:
            raise TacitError(FAILED)
        return chunk, found

    def _tried(self, chunk: Chunk, state: Any) -> list[Form] | None:
        """Gradients with draws from this state; None where torch or the loss fails."""
        with suppress(Exception), drawn_from(state):
            return self._gradients(chunk)
        return None

    def _without_failing(self, chunk: Chunk, state: Any) -> Chunk:
        """The chunk with empty places for those at whom the module or the loss fails: found by halves."""
        copies = chunk.rows // chunk.people
        failing = torch.zeros(chunk.rows, dtype=torch.bool)
        waiting = [(0, chunk.people)]
        while waiting:
            start, stop = waiting.pop()
            others = torch.ones(chunk.rows, dtype=torch.bool)
            others[start * copies : stop * copies] = False
            whole = stop - start == chunk.people  # it failed before
            if not whole and self._tried(_emptied(chunk, others), state) is not None:
                continue
            if stop - start == 1:
                failing[~others] = True
            else:
                middle = (start + stop) // 2
                waiting += [(start, middle), (middle, stop)]
        return _emptied(chunk, failing)


def _emptied(chunk: Chunk, rows: Any) -> Chunk:
    """The chunk, of the same shape, with nothing in these rows."""

    def emptied(whole: Any) -> Any:
        return whole.masked_fill(rows.reshape(-1, *([1] * (whole.dim() - 1))), 0)

    inputs = tuple(emptied(each) for each in chunk.inputs)
    return Chunk(chunk.people, inputs, emptied(chunk.target), emptied(chunk.weights))


@contextmanager
def _in_silence() -> Iterator[None]:
    """Neither torch's search for anomalies nor a warning tells what it met."""
    with torch.autograd.set_detect_anomaly(False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class SummingAlone(Summing):
    """The same, each person computed alone and added in whole numbers."""

    def total(self, chosen: NDArray[np.int64], clip: Fraction, grid: Grid) -> tuple[Any, int]:
        """The sum over those chosen; and the people within the norm less the others."""
        self._whole.zero_()
        within = 0
        for chunk in self._people.chunks(chosen, self._places, self._chunk_room):
            chunk, forms = self._safe(chunk)
            own, lengths = exact_sum(forms, clip, self._kind, grid)
            self._whole += torch.from_numpy(own)
            if self._kind == ADAPTIVE:
                within += signed(lengths, chunk, float(clip))
        return self._whole, within


def signed(lengths: Any, chunk: Chunk, clip: float) -> int:
    """1 for each person whose norm is at most the clipping norm, -1 for each of the others; 0 for empty places."""
    there = chunk.weights.reshape(chunk.people, -1).any(dim=1)
    within = (lengths <= clip) & there
    return 2 * int(within.sum()) - int(there.sum())
