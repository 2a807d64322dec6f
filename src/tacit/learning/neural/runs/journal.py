"""A run that survives a crash: which steps were begun, and the last state that was saved.

    journal.jsonl     {"file": ..., "run": ...}, then {"begun": 1}, ...: each on disk before its noise is drawn
    state.safetensors the weights and the optimiser after the last saved step, replaced as a whole

Promise: a step is written down before its noise is drawn, so a run never has more draws than its price covers, however
often it is killed and resumed. A step that was begun and not saved is spent and lost: its noise is not drawn again. The
same holds where the state is gone: all steps that were begun are spent, and the module is as it was given. After a line
that could not be written the journal is closed for good; a line that may be on disk counts as begun. One process has a
journal at a time. A journal of another run is refused, and so is a copy of one: two runs that go on from the same step
would draw two noises for one price. A file knows its own number (inode), which a copy does not have.

No promise: a backup that is put back in place, into the very files that are there, has their number, and so has a
journal that somebody edited. Neither can be noticed, and noise is then drawn again for a price that was paid once.
Never restore a journal's folder from a backup; begin another run.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NoReturn

from tacit import parameters
from tacit.errors import TacitError

_JOURNAL: Final = "journal.jsonl"
_STATE: Final = "state.safetensors"
_MOST_BYTES: Final = 1 << 28
_STEP: Final = re.compile(r"[1-9][0-9]{0,15}")
_CLIP: Final = re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?")
_BROKEN: Final = (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RecursionError, RuntimeError)
_BROKEN_TOO: Final = (TypeError, ValueError)


class Journal:
    """The folder of one run; `begun`: how many steps were begun, each of which is spent."""

    def __init__(self, folder: str | Path) -> None:
        self._file: int | None = None
        self._whole = True  # False while a line is being written, and for good where that failed
        self.facts: dict[str, Any] | None = None
        self.begun = 0
        try:
            self.folder = Path(folder)
            self.folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
            self._file = os.open(self.folder / _JOURNAL, flags, 0o600)
        except (OSError, TypeError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or str(wrong)
            raise parameters.refuse("journal", "a folder that can be written", folder, f"It said: {why}.") from None
        try:
            self._lock()
            self.facts, self.begun = self._read()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TacitError(f"{self.folder} is in use by another run. A journal belongs to one.") from None
        except OSError as wrong:
            raise TacitError(f"{self.folder} cannot be locked: {wrong.strerror}. Take a folder on this disk.") from None

    def _read(self) -> tuple[dict[str, Any] | None, int]:
        assert self._file is not None
        try:
            about = os.fstat(self._file)
            if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
                raise _damaged(self.folder / _JOURNAL)
            whole = (self.folder / _JOURNAL).read_bytes()
            kept = whole[: whole.rfind(b"\n") + 1]  # a line that was cut off was never acted on
            if len(kept) < len(whole):
                os.ftruncate(self._file, len(kept))
                os.fsync(self._file)
        except OSError as wrong:
            raise TacitError(f"{self.folder / _JOURNAL} cannot be read: {wrong.strerror}.") from None
        self._size = len(kept)
        if not kept:
            return None, 0
        first, *lines = kept.split(b"\n")[:-1]
        facts, file = self._first(first)
        if file != self._number():
            raise TacitError(f"{self.folder / _JOURNAL} is a copy. A run goes on in the folder that it began in.")
        if any(line != b'{"begun": %d}' % step for step, line in enumerate(lines, 1)):
            raise _damaged(self.folder / _JOURNAL)
        return facts, len(lines)

    def _first(self, line: bytes) -> tuple[dict[str, Any], int]:
        """Facts of the run, and the number of the file that they were written to."""
        try:
            found = json.loads(line, parse_constant=_no_constant)
            facts, file = found["run"], found["file"]
            size = facts["size"]
            fits = type(facts) is dict and type(file) is int
            fits = fits and set(found) == {"run", "file"} and type(size) in (int, float) and 0 < float(size) < math.inf
        except (*_BROKEN, *_BROKEN_TOO):
            fits = False
        if not fits:
            raise _damaged(self.folder / _JOURNAL)
        return facts, file

    def start(self, facts: Mapping[str, Any]) -> None:
        """The first line of a new run; `size` among its facts is how many people there are."""
        self._write({"run": dict(facts), "file": self._number()}, 0)
        self.facts = dict(facts)

    def _number(self) -> int:
        """That of the file alone: its disk may have another number after the machine has started again."""
        assert self._file is not None
        return os.fstat(self._file).st_ino

    def begin(self) -> None:
        """One more step: on disk when this returns."""
        self._write({"begun": self.begun + 1}, self.begun + 1)

    def _write(self, line: Mapping[str, Any], begun: int) -> None:
        if self._file is None or not self._whole:
            raise TacitError(
                "The journal is closed: it was released, or a line of it could not be written. No step was made. "
                "Make the trainer again: the run goes on from its folder."
            )
        self._whole = False
        try:
            self._must_be_untouched(self._file)
            payload = json.dumps(line, sort_keys=True).encode() + b"\n"
            if os.write(self._file, payload) != len(payload):
                self._fail("the disk is full")
            os.fsync(self._file)
            if begun == 0:  # the file's name, too
                _on_disk(self.folder)
                with suppress(PermissionError):  # a folder may be passed through and not be listed
                    _on_disk(self.folder.absolute().parent)
        except OSError as wrong:
            self.close()
            self._fail(wrong.strerror or str(wrong))
        except BaseException:
            self.close()
            raise
        self._size += len(payload)
        self.begun = begun
        self._whole = True

    def _must_be_untouched(self, file: int) -> None:
        """Refuse to go on in a file that somebody else wrote to, or that the folder does not hold any more."""
        own, there = os.fstat(file), os.stat(self.folder / _JOURNAL)
        if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino) or own.st_size != self._size:
            self._fail("somebody else changed it")

    def _fail(self, why: str) -> NoReturn:
        raise TacitError(
            f"{self.folder / _JOURNAL} could not be written: {why}. The step was not made, and this journal is closed. "
            "Make the trainer again: the run goes on from its folder."
        )

    def save(self, tensors: Mapping[str, Any], facts: Mapping[str, str]) -> None:
        """The state, in place of the last one."""
        from safetensors.torch import save

        payload = save(dict(tensors), metadata=dict(facts))
        new = self.folder / f"{_STATE}.new"
        try:
            with open(new, "wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.folder / _STATE)
            _on_disk(self.folder)
        except OSError as wrong:
            raise TacitError(
                f"{self.folder / _STATE} could not be written: {wrong.strerror}. The step was made and is spent. "
                "The run may go on here; if it ends before a later state is saved, this step is lost."
            ) from None

    def load(self) -> tuple[dict[str, Any], dict[str, str]] | None:
        """The last state; None where there is none: the steps that were begun are spent all the same."""
        from safetensors import SafetensorError, safe_open

        path = self.folder / _STATE
        try:
            if not path.exists():
                return None
            with safe_open(path, framework="pt") as file:
                facts = dict(file.metadata() or {})
                tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        except (SafetensorError, *_BROKEN, *_BROKEN_TOO):
            raise _damaged(path) from None
        if {"step", "clip", "optimiser"} - set(facts) or not _is_clip(facts["clip"]):
            raise _damaged(path)
        if not _STEP.fullmatch(facts["step"]) or int(facts["step"]) > self.begun:
            raise TacitError(
                f"{path} belongs to another journal: it was saved after step {facts['step'][:20]!r}, and "
                f"{self.begun:,} steps were begun here. Start the run again in another folder."
            )
        return tensors, facts

    def close(self) -> None:
        """Release the folder, so that another process may take it."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


def _damaged(path: Path) -> TacitError:
    return TacitError(f"{path} is damaged. Start the run again in another folder.")


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


def _is_clip(text: str) -> bool:
    """Whether it is a clipping norm as a state has it: a fraction above 0 that a float can hold."""
    if not _CLIP.fullmatch(text):
        return False
    try:
        return 0 < float(Fraction(text)) < math.inf
    except ArithmeticError:
        return False


def _on_disk(folder: Path) -> None:
    """Names in a folder survive a loss of power after this."""
    holder = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(holder)
    finally:
        os.close(holder)
