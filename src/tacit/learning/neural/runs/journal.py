"""A run that survives a crash: which steps were begun, and the last state that was saved.

    journal.jsonl     {"run": ..., "file": ...}, then {"begun": 1}, ...: each on disk before its noise is drawn
    state.safetensors the weights and the optimiser after the last saved step, replaced as a whole

Promise: a step is written down before its noise is drawn, so a run never has more draws than its price covers, however
often it is killed and resumed. A step that was begun and not saved is spent and lost: its noise is not drawn again.
One process has a journal at a time. A journal of another run is refused, and so is a copy of one: two runs that go on
from the same step would draw two noises for one price. A file knows its own number (inode), which a copy does not have.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tacit.errors import TacitError

_JOURNAL: Final = "journal.jsonl"
_STATE: Final = "state.safetensors"


class Journal:
    """The folder of one run."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file: int | None = os.open(self.folder / _JOURNAL, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise TacitError(f"{self.folder} is in use by another run. A journal belongs to one.") from None
        self.facts, self.begun = self._read()

    def _read(self) -> tuple[dict[str, Any] | None, int]:
        whole = (self.folder / _JOURNAL).read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]  # a line that was cut off was never acted on
        if len(kept) < len(whole):
            os.truncate(self.folder / _JOURNAL, len(kept))
        lines = kept.splitlines()
        if not lines:
            return None, 0
        try:
            first = json.loads(lines[0])
            facts = first["run"]
            if first["file"] != self._number():
                raise TacitError(f"{self.folder / _JOURNAL} is a copy. A run goes on in the folder that it began in.")
            begun = [int(json.loads(line)["begun"]) for line in lines[1:]]
        except (ValueError, KeyError, TypeError):
            raise TacitError(f"{self.folder / _JOURNAL} is damaged. Start the run again in another folder.") from None
        if begun != list(range(1, len(begun) + 1)):
            raise TacitError(f"{self.folder / _JOURNAL} is damaged: steps are not in order.")
        return facts, len(begun)

    def start(self, facts: Mapping[str, Any]) -> None:
        """The first line of a new run."""
        self._write({"run": dict(facts), "file": self._number()})
        self.facts = dict(facts)

    def _number(self) -> int:
        return os.stat(self.folder / _JOURNAL).st_ino

    def begin(self) -> None:
        """One more step: on disk when this returns."""
        self._write({"begun": self.begun + 1})
        self.begun += 1

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is None:
            raise TacitError("The journal was closed.")
        payload = json.dumps(line, sort_keys=True).encode() + b"\n"
        if os.write(self._file, payload) != len(payload):
            raise TacitError(f"{self.folder} is full. The step was not made.")
        os.fsync(self._file)

    def save(self, tensors: Mapping[str, Any], facts: Mapping[str, str]) -> None:
        """The state, in place of the last one."""
        from safetensors.torch import save

        payload = save(dict(tensors), metadata=dict(facts))
        new = self.folder / f"{_STATE}.new"
        with open(new, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.folder / _STATE)
        holder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(holder)
        finally:
            os.close(holder)

    def load(self) -> tuple[dict[str, Any], dict[str, str]] | None:
        """The last state; None where no step was saved."""
        from safetensors import safe_open

        path = self.folder / _STATE
        if not path.exists():
            return None
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in list(file.keys())}, dict(file.metadata() or {})

    def close(self) -> None:
        """Release the folder, so that another process may take it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()
