"""Chunks of fixed shapes: the people of a step, a few hundred at a time, the last chunk padded.

Promise: a chunk always has as many places as all others and `copies` rows for each of them, no matter who is in it. The
last one of a step may have fewer: the least of a few public sizes that holds the remaining people. Places without a
person, and rows that a person does not have, are zeros and weigh nothing. So shapes say only how many people a step
has, in coarse steps: that number, and the time of the step, follow the size of the sample. The holder of arrays can see
it; a curator's clock hides it (`timing` in the policy).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit import parameters
from tacit.errors import ParameterError
from tacit.learning.neural.floats import BLOCK

_HELD: Final = 10 << 20
"""Numbers that a chunk may hold for all its people: beyond the processor's cache, each costs more."""
MANY_PLACES: Final = 8448
FEWER_PLACES: Final = 2304
_VECTORS: Final = 32
"""torch's kernels round the last few numbers of a tensor in another way, and where threads share it, of each share."""
MOST_ROWS: Final = 256
"""Rows of one person that are computed: a step does this work for each, also where there are fewer."""
_LARGEST_WHOLE: Final = 53  # bits of whole numbers that a double has
_A_CHUNK: Final = 150_000
"""A chunk has a fixed cost, mostly calls of torch: about the time of this many numbers."""
_QUARTERS: Final = 4
_QUANTILES: Final = ndtri((np.arange(64) + 0.5) / 64)
"""Points of the normal law: sizes of samples, in deviations from their mean."""

Room: TypeAlias = dict[Any, Any]
"""Tensors that belong to a chunk and are written over by the next one, by what they are for."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chunk:
    """Rows of `people` people in a row, `copies` of each: private, and never shown."""

    people: int
    inputs: tuple[Any, ...]
    target: Any
    weights: Any  # of each row's loss: 0 at empty places
    room: Room | None = None
    """Memory for what is computed of these people, which the next chunk writes over."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.weights)

    def __repr__(self) -> str:
        return f"Chunk({self.people} places)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class People:
    """The rows, and which of them are whose: line i of `rows_of` are person i's, -1 where there is none."""

    inputs: tuple[Any, ...]
    target: Any
    rows_of: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"People(at most {self.rows_of.shape[1]} rows each)"

    @property
    def copies(self) -> int:
        """Rows of a person, at most."""
        return int(self.rows_of.shape[1])

    def chunks(
        self, chosen: NDArray[np.int64], places: int, room: Room | None = None, *, fewer: Sequence[int] = ()
    ) -> Iterator[Chunk]:
        """Those chosen, in this order. With `room` a chunk is written over the last one: memory is made once.

        fewer: how many places the last chunk may have instead, where they are enough.
        """
        for start in range(0, len(chosen), places):
            rows = self.rows_of[chosen[start : start + places]]
            size = min((each for each in fewer if each >= len(rows)), default=places)
            if len(rows) < size:
                empty = np.full((size - len(rows), self.copies), -1, dtype=np.int64)
                rows = np.concatenate([rows, empty])
            yield self._chunk(torch.from_numpy(rows.reshape(-1)), size, room)

    def _chunk(self, rows: Any, places: int, kept: Room | None) -> Chunk:
        room: Room = {} if kept is None else kept
        there = rows >= 0
        found = rows[there]
        first = bool(there[: len(found)].all())

        def taken(place: int, whole: Any) -> Any:
            own = room.get(place)
            if own is None or len(own) < len(rows):
                own = room[place] = torch.empty((len(rows), *whole.shape[1:]), dtype=whole.dtype)
            own = own[: len(rows)]
            if first:  # no empty place between two people
                torch.index_select(whole, 0, found, out=own[: len(found)])
                own[len(found) :] = 0
            else:
                own.zero_()[there] = whole.index_select(0, found)
            return own

        inputs = tuple(taken(place, each) for place, each in enumerate(self.inputs))
        return Chunk(places, inputs, taken(-1, self.target), there.float(), kept)

    def made_up(self, places: int, seed: int = 0) -> Chunk:
        """Made-up people of the same shapes: numbers around 0, whole numbers 0 and 1."""
        generator = torch.Generator().manual_seed(seed)
        rows = places * self.copies

        def invented(whole: Any) -> Any:
            shape = (rows, *whole.shape[1:])
            if whole.dtype.is_floating_point:
                return torch.randn(shape, generator=generator, dtype=whole.dtype)
            return torch.randint(0, 2, shape, generator=generator).to(whole.dtype)

        return Chunk(places, tuple(invented(each) for each in self.inputs), invented(self.target), torch.ones(rows))


def fitting_places(mean: float | None, rate: float, numbers: int, largest: int = MANY_PLACES) -> int:
    """How many places a chunk has unless the caller says: by public facts alone.

    mean: how many people are in a step on average, where that is public. The size is the one that costs least on
    average over samples: the places that are computed, empty ones too, and the fixed cost of each chunk. numbers: how
    many of them are held for each person. largest: never more places than these.
    """
    numbers, even = max(numbers, 1), _even()
    most = max(min(_HELD // numbers, largest) // even, 1) * even
    if mean is None or mean <= 1.0:
        return min(most, BLOCK)
    samples = mean + math.sqrt(mean * (1.0 - rate)) * _QUANTILES
    return min(range(even, most + 1, even), key=lambda places: (_cost(samples, places, numbers), -places))


def _cost(samples: NDArray[np.float64], places: int, numbers: int) -> float:
    """The average cost over these sizes of samples, in places: those computed, and the fixed cost of chunks."""
    full, rest = np.divmod(np.ceil(samples), places)
    sizes = np.array([0, *fewer_than(places), places])
    last = sizes[np.searchsorted(sizes, rest)]
    chunks = full + (rest > 0)
    return float(np.mean(full * places + last + chunks * (_A_CHUNK / numbers)))


def fewer_than(places: int) -> Sequence[int]:
    """How many places the last chunk of a step may have instead of so many: about a quarter, two or three (`floats`).

    Only a chunk of one block has smaller sizes: chunks of more blocks would be cut elsewhere.
    """
    if places > BLOCK:
        return []
    even = _even()
    sizes = {-(-places * part // (_QUARTERS * even)) * even for part in range(1, _QUARTERS)}
    return [each for each in sorted(sizes) if each < places]


def evened(places: int) -> int:
    """At least so many places, whose numbers come in whole vectors for each thread. A single place is always alike."""
    return places if places == 1 else -(-places // _even()) * _even()


def _even() -> int:
    """Places are multiples of this. More threads than two may have other shares; there `rehearsal` looks closer."""
    return _VECTORS * min(int(torch.get_num_threads()), 2)


def people_of(inputs: Any, target: Any, units: Any = None, rows_per_unit: int | None = None) -> People:
    """Arrays or tensors as people: a row each, or by `units`, whose first `rows_per_unit` rows count."""
    tensors = tuple(_tensor("X", each) for each in (inputs if isinstance(inputs, tuple) else (inputs,)))
    aim = _tensor("y", target)
    rows = len(aim)
    for each in tensors:
        if len(each) != rows:
            raise parameters.refuse("X and y", "of one length", f"{len(each)} and {rows} rows")
    if units is None:
        if rows_per_unit not in (None, 1):
            raise parameters.refuse("rows_per_unit", "left out without units: a row is a person", rows_per_unit)
        return People(tensors, aim, np.arange(rows, dtype=np.int64)[:, None])
    most = parameters.whole("rows_per_unit", rows_per_unit, least=1) if rows_per_unit is not None else None
    if most is None:
        hint = "It bounds the work that one person can cause; the data are not looked at to find it."
        raise parameters.refuse("rows_per_unit", "given with units", None, hint)
    if most > MOST_ROWS:
        allowed = f"at most {MOST_ROWS:,}: a step computes as many rows for each person, also where there are fewer"
        raise parameters.refuse("rows_per_unit", allowed, rows_per_unit, "Say fewer: rows_per_unit=8.")
    whose = _numbered(units)
    if whose.shape != (rows,):
        raise parameters.refuse("units", f"one for each of {rows} rows", f"the shape {whose.shape}")
    return People(tensors, aim, _grouped(whose, most))


def _numbered(units: Any) -> NDArray[Any]:
    """The unit of each row as a number: different ones for different units, whatever they are written as."""
    if isinstance(units, torch.Tensor):
        units = units.detach().cpu()
        if units.dtype in (torch.float16, torch.bfloat16):
            raise _no_units(f"numbers of the type {units.dtype}")
        units = units.numpy()
    if isinstance(units, (list, tuple)):  # numpy would make texts of numbers among texts
        own = np.empty(len(units), dtype=object)
        for place, each in enumerate(units):
            own[place] = each
    else:
        own = np.asarray(units)
    if np.ma.is_masked(units) or (own.dtype.kind in "mM" and bool(np.isnat(own).any())):
        raise _no_units("missing values")
    if own.dtype.kind == "f":
        _must_be_whole(own)
    elif own.dtype.kind == "O" and own.ndim == 1:
        return _numbered_objects(own.tolist())
    elif own.dtype.kind not in "iubSUmM":
        raise _no_units(f"the type {own.dtype}")
    return own


def _numbered_objects(units: Sequence[Any]) -> NDArray[np.int64]:
    """Texts, truth values, bytes or whole numbers, all of one kind, by where each was met first."""
    known: dict[Any, int] = {}
    kinds, found = set(), []
    for each in units:
        kind = next((name for name, types in _KINDS.items() if isinstance(each, types)), None)
        if kind is None:
            raise _no_units("None" if each is None else f"a value of the type {type(each).__name__}")
        kinds.add("whole numbers" if kind == "numbers" else kind)
        own = _must_be_whole(np.asarray(each)) if kind == "numbers" else each
        found.append(known.setdefault(int(own) if kind in ("numbers", "whole numbers") else own, len(known)))
    if len(kinds) > 1:
        raise _no_units(f"{' and '.join(sorted(kinds))} among each other")
    return np.array(found, dtype=np.int64)


_KINDS: Final[dict[str, Any]] = {
    "truth values": (bool, np.bool_),
    "whole numbers": (int, np.integer),
    "numbers": (float, np.floating),
    "texts": str,
    "bytes": bytes,
}


def _must_be_whole(own: NDArray[Any]) -> NDArray[Any]:
    """Refuse real numbers that are not certainly the whole numbers that were meant."""
    largest = 2.0 ** min(np.finfo(own.dtype).nmant + 1, _LARGEST_WHOLE)
    if not bool(np.isfinite(own).all()):
        raise _no_units("missing or infinite numbers")
    if not bool(((np.abs(own) < largest) & (np.trunc(own) == own)).all()):
        raise _no_units(f"real numbers that are not whole, or not below {largest:,.0f}")
    return own


def _no_units(found: str) -> ParameterError:
    allowed = "texts or whole numbers, all of one kind and none missing"
    hint = "Rows of unclear units cannot be told apart. Number the persons: 0, 1, 2, ..."
    return parameters.refuse("units", allowed, found, hint)


def _grouped(units: NDArray[Any], most: int) -> NDArray[np.int64]:
    """The places of each unit's first rows, one line for each unit."""
    _, whose = np.unique(units, return_inverse=True)
    order = np.argsort(whose, kind="stable")
    sizes = np.bincount(whose) if len(whose) else np.zeros(0, dtype=np.int64)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    lines = np.full((len(sizes), most), -1, dtype=np.int64)
    kept = rank < most
    lines[whose[order][kept], rank[kept]] = order[kept]
    return lines


def _tensor(name: str, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        found = value.detach()
        if found.device.type != "cpu":
            raise parameters.refuse(name, "on the processor", f"a tensor on {found.device}", f"Use {name}.cpu().")
    else:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise parameters.refuse(name, "numbers", f"the type {array.dtype}")
        found = torch.from_numpy(np.ascontiguousarray(array))
    if found.dtype == torch.float64:
        found = found.float()
    elif found.dtype == torch.bool:
        found = found.long()
    if not found.dim():
        raise parameters.refuse(name, "rows", "one number")
    if found.dtype.is_floating_point and found.dtype != torch.float32:
        raise parameters.refuse(name, "float32", str(found.dtype), "Mixed precision has no bound here.")
    return found if found.dtype.is_floating_point else found.long()
