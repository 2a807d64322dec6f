"""Draws of a mechanism: many, in batches, in one process or several, with a progress bar.

Promise: the draws are in the order in which they were made, and all of them are kept. A mechanism is any callable:
`mechanism(x)` gives one release, or with `vectorised=True` `mechanism(x, size=n)` gives n independent ones (an array
whose first axis counts them, or a list).

Bounds are only as good as the draws are independent. In several processes a mechanism that carries its own generator
of random numbers would be copied with its state, and every process would draw the same: that is detected and refused.
"""

from __future__ import annotations

import multiprocessing
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.errors import ParameterError

Releases: TypeAlias = "NDArray[Any] | list[Any]"
Mechanism: TypeAlias = Callable[..., Any]
Told: TypeAlias = Callable[[int], None]

_BATCH = 1 << 17
_SLOW_BATCH = 1 << 10


def draw(
    mechanism: Mechanism, inputs: Sequence[Any], count: int, *, vectorised: bool, workers: int, told: Told
) -> list[Releases]:
    """`count` releases of `mechanism` on each of the inputs; `told` is called with how many more there are."""
    size = _BATCH if vectorised else _SLOW_BATCH
    sizes = [size] * (count // size) + ([count % size] if count % size else [])
    jobs = [(x, each) for x in inputs for each in sizes]
    if workers == 1 or len(sizes) == 1:
        parts = []
        for x, each in jobs:
            parts.append(_batch(mechanism, x, each, vectorised))
            told(each)
    else:
        parts = _in_processes(mechanism, jobs, vectorised, workers, told)
    return [_joined(parts[place * len(sizes) : (place + 1) * len(sizes)]) for place in range(len(inputs))]


def _batch(mechanism: Mechanism, x: Any, size: int, vectorised: bool) -> Releases:
    if not vectorised:
        return [mechanism(x) for _ in range(size)]
    given = mechanism(x, size=size)
    found: Releases = given if isinstance(given, (np.ndarray, list)) else list(given)
    if len(found) != size:
        raise parameters.refuse(
            "mechanism", "one that gives as many releases as `size` says", f"{len(found)} for size={size}"
        )
    return found


def _joined(parts: Sequence[Releases]) -> Releases:
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts) and len({part.shape[1:] for part in arrays}) == 1:
        return np.concatenate(arrays)
    return [release for part in parts for release in part]


# -- several processes ---------------------------------------------------------------------------------


def _fresh() -> None:
    random.seed()
    np.random.seed()  # a mechanism under test may use the global generator; ours do not


def _in_processes(
    mechanism: Mechanism, jobs: Sequence[tuple[Any, int]], vectorised: bool, workers: int, told: Told
) -> list[Releases]:
    try:
        pickle.dumps((mechanism, jobs))
    except (pickle.PicklingError, AttributeError, TypeError):
        raise ParameterError(
            "The mechanism and its input are handed to other processes, and cannot be pickled. "
            "Use a function of a module (no lambda, no function inside another), or workers=1."
        ) from None
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_fresh) as pool:
        running = [pool.submit(_batch, mechanism, x, size, vectorised) for x, size in jobs]
        parts = []
        for job, (_, size) in zip(running, jobs, strict=True):
            parts.append(job.result())
            told(size)
    _refuse_copies(parts)
    return parts


def _refuse_copies(parts: Sequence[Releases]) -> None:
    """Two batches that agree from the first release to the last were drawn with one state of one generator."""
    seen: set[bytes] = set()
    for part in parts:
        start = [repr(each) for each in part[:64]]
        if len(set(start)) < 8:
            continue  # with so few different releases, repetition is likely
        text = "\n".join(start).encode()
        if text in seen:
            raise ParameterError(
                "Two processes drew the same releases: the mechanism carries a random generator that was copied with "
                "its state. Make it draw from the operating system's randomness, or use workers=1."
            )
        seen.add(text)


# -- who watches ---------------------------------------------------------------------------------------


@contextmanager
def watched(total: int, shown: bool, what: str) -> Iterator[Told]:
    """Who is told of draws: a bar on standard error if `shown` and that is a terminal, otherwise no one."""
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    with Progress(
        words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)
