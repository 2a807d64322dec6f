"""The same draws in every run: what a test draws is decided by its name, whatever ran before it and wherever.

A test of a law, of coverage or of a whole question rejects what is right once in so many runs, and its text says how
often. In a suite of thousands these add up, and a run that fails by chance says nothing about the change it was made
for. So noise, the secrets that choose rows and numpy's and Python's generators are seeded with the name of the test,
or of the fixture where several tests share one. The stated rates are those of a new seed: of a test that was renamed,
or of code that draws in another order. `TACIT_FRESH_DRAWS=1` draws anew in every run, as the soaks do.

What is drawn in another process (a program under test, a pool's worker) is drawn anew always, and so is a source that
a test makes for itself. What a module makes once for several tests has a name of its own: `once`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import random
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.engines import secret
from tacit.noise import SeededBitsForTestsOnly, bits

P = ParamSpec("P")
T = TypeVar("T")
FRESH = os.environ.get("TACIT_FRESH_DRAWS", "") not in ("", "0")

_generator = np.random.default_rng
_per_thread = bits._per_thread


class _Repeating(bits.SecureBits):
    """Seeded words from what a curator takes for its own source: it refuses a source that says it is seeded."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seeded = SeededBitsForTestsOnly(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        with self._lock:
            return self._seeded.words(count)


class _Draws:
    """All that is seeded while one name is in force."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._given = 0
        self._maker = os.getpid()
        self._sources: dict[tuple[int, int], bits.SecureBits] = {}
        self.coins = random.Random(self.seed())

    def seed(self) -> int:
        """Another seed with every call, the same ones for a name."""
        with self._lock:
            self._given += 1
            text = f"{self.name} {self._given}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")

    @property
    def source(self) -> bits.SecureBits:
        who = os.getpid(), threading.get_ident()
        if who not in self._sources:
            # A forked child never repeats its parent or its sister, in tests neither.
            self._sources[who] = _Repeating(self.seed()) if who[0] == self._maker else bits.SecureBits()
        return self._sources[who]


_now = [_Draws("outside of all tests")]


class _Sources:
    """In the place of `bits._per_thread`."""

    @property
    def source(self) -> bits.SecureBits:
        return _now[-1].source


class _System:
    """In the place of `os` where the secrets of copies are made."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    @staticmethod
    def urandom(count: int) -> bytes:
        return _now[-1].coins.randbytes(count)


def _default_rng(seed: Any = None) -> np.random.Generator:
    return _generator(_now[-1].seed() if seed is None else seed)  # each one another stream, as fresh ones are


def begin() -> None:
    """Seed everything from here on. Once, before the first test."""
    bits._per_thread = _Sources()  # type: ignore[assignment]
    vars(secret)["os"] = _System()
    secrets.randbits = lambda count: _now[-1].coins.getrandbits(count)
    np.random.default_rng = _default_rng  # type: ignore[assignment]


@contextmanager
def in_earnest() -> Iterator[None]:
    """The sources that users have, for the tests of these."""
    before, bits._per_thread = bits._per_thread, _per_thread
    try:
        yield
    finally:
        bits._per_thread = before


@contextmanager
def named(name: str) -> Iterator[None]:
    """Draw what belongs to this name, then go on with what was drawn from before."""
    if FRESH:
        yield
        return
    before = random.getstate(), np.random.get_state()
    _now.append(_Draws(name))
    random.seed(_now[-1].seed())
    np.random.seed(_now[-1].seed() % 2**32)
    try:
        yield
    finally:
        _now.pop()
        random.setstate(before[0])
        np.random.set_state(before[1])


def once(make: Callable[P, T]) -> Callable[P, T]:
    """What `make` makes, once for each way in which it is called, with draws of its own whichever test comes first."""

    @functools.cache
    def made(*given: P.args, **named_given: P.kwargs) -> T:
        with named(f"{make.__module__} {make.__qualname__} {given} {sorted(named_given.items())}"):
            return make(*given, **named_given)

    return made
