"""Random bits: the only place where randomness enters the house.

Promise: the words of a `SecureBits` are the key stream of AES-256 in counter mode under a key from the
operating system. No two threads, forked processes or sources share a stream: a source is locked, notices a
fork before it serves the child, and takes a new key from the system after every 64 MiB. Words that were
served are wiped from the pool, so memory that is read later does not reveal noise that was drawn earlier.

`SeededBitsForTestsOnly` repeats itself on purpose. It is never the default anywhere.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

_REKEY_AFTER_BYTES = 1 << 26
_POOL_WORDS = 1024
_LARGEST_CALL_WORDS = 1 << 15
_ZEROS = memoryview(bytes(8 * _LARGEST_CALL_WORDS))
_BLOCK_SLACK_WORDS = 2  # the cipher asks for up to one block of room beyond its output


class BitSource(ABC):
    """Uniform random words, one after the other.

    >>> from tacit.noise import secure
    >>> isinstance(secure(), BitSource)
    True
    """

    @abstractmethod
    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words, in an array of the caller's own."""

    def bits(self, count: int) -> int:
        """A uniform whole number below 2**count."""
        needed = (count + 63) // 64
        whole = int.from_bytes(self.words(needed).tobytes(), "little")
        return whole >> (64 * needed - count)


class SecureBits(BitSource):
    """AES-256-CTR keyed from the operating system.

    >>> SecureBits().words(2).shape
    (2,)
    """

    def __init__(self) -> None:
        self._start()

    def words(self, count: int) -> Words:
        if self._fork_count != _forks.count or self._process != os.getpid():
            self._start()  # a child must never repeat its parent's stream, nor wait for its parent's lock
        with self._lock:
            if count <= _POOL_WORDS:
                return self._from_pool(count)
            out = np.empty(count + _BLOCK_SLACK_WORDS, dtype=np.uint64)
            for start in range(0, count, _LARGEST_CALL_WORDS):
                self._fill(out, start, min(_LARGEST_CALL_WORDS, count - start))
            return out[:count]

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._fork_count = _forks.count
        self._pool = np.empty(_POOL_WORDS + _BLOCK_SLACK_WORDS, dtype=np.uint64)
        self._next = _POOL_WORDS
        self._rekey()

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._stream = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
        self._bytes_left = _REKEY_AFTER_BYTES

    def _fill(self, out: Words, start: int, count: int) -> None:
        """Key stream into out[start:start+count]; out has room for the cipher's slack beyond it."""
        size = 8 * count
        if size > self._bytes_left:
            self._rekey()
        self._bytes_left -= size
        room = memoryview(out[start:].data).cast("B")
        self._stream.update_into(_ZEROS[:size], room)

    def _from_pool(self, count: int) -> Words:
        if self._next + count > _POOL_WORDS:
            self._fill(self._pool, 0, _POOL_WORDS)
            self._next = 0
        served = self._pool[self._next : self._next + count].copy()
        self._pool[self._next : self._next + count] = 0
        self._next += count
        return served


class ForgetfulBits(BitSource):
    """Every word comes straight from the operating system, which cannot be made to repeat it.

    An intruder who reads the key of a `SecureBits` can compute what it served since it took that key. Where memory may
    be read (`tacit.streaming.panprivate`), nothing from which earlier draws follow may stay in it.
    """

    def words(self, count: int) -> Words:
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


class SeededBitsForTestsOnly(BitSource):
    """A stream that anyone who knows the seed can repeat: noise drawn from it protects no one.

    >>> one, other = SeededBitsForTestsOnly(7), SeededBitsForTestsOnly(7)
    >>> bool((one.words(3) == other.words(3)).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def words(self, count: int) -> Words:
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


class _Forks:
    """How many times this process is a fork of a fork; a process id alone can come back."""

    def __init__(self) -> None:
        self.count = 0
        os.register_at_fork(after_in_child=self.one_more)

    def one_more(self) -> None:
        self.count += 1


_forks = _Forks()


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.source = SecureBits()


_per_thread = _PerThread()


def secure() -> BitSource:
    """This thread's secure source.

    >>> secure() is secure()
    True
    """
    return _per_thread.source
