"""The secret behind the ranks: which of a unit's rows are kept when it has too many.

Promise: 32 bytes from the operating system, held in memory or in a file that only its owner can read. It is never
printed. No privacy guarantee rests on it: a unit's ranks depend on that unit's own rows only, so sensitivity is the
same for any secret. It keeps contributors and analysts from steering or predicting which rows represent a unit.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path
from typing import Final

from tacit.errors import EngineError

LENGTH: Final = 32


class Secret:
    """A key from which one key per table is derived."""

    __slots__ = ("__key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != LENGTH:
            raise EngineError(f"A secret is {LENGTH} bytes long.")
        self.__key = bytes(key)

    @classmethod
    def in_memory(cls) -> Secret:
        """A fresh secret that is forgotten with the process."""
        return cls(os.urandom(LENGTH))

    @classmethod
    def in_file(cls, path: Path) -> Secret:
        """The secret in this file, made there when there is none. A file that others can read is refused."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return cls(_read(path))
        except OSError:
            raise EngineError(
                f"The secret's file cannot be made: {path}. Its folder must exist and be yours."
            ) from None
        key = os.urandom(LENGTH)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink()  # a file that holds part of a secret would be reported as damaged on every later start
            raise
        return cls(key)

    def key_for(self, label: str) -> str:
        """32 hexadecimal digits that belong to this label."""
        return hmac.new(self.__key, label.encode(), hashlib.sha256).hexdigest()[:32]

    def reveal(self) -> bytes:
        """The key itself, for an engine that keeps it next to the copy, where only the owner can read."""
        return self.__key

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce_ex__(self, _: object) -> str:
        raise TypeError("A secret cannot be pickled.")


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        raise EngineError(f"The secret's file cannot be read: {path}. It must be a plain file of yours.") from None
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & 0o077:
            raise EngineError(f"The secret's file must be readable by its owner only: chmod 600 {path}")
        key = file.read(LENGTH + 1)
    if len(key) != LENGTH:
        raise EngineError(
            f"The secret's file is damaged: {path} must hold {LENGTH} bytes. Remove it to make a new one."
        )
    return key
