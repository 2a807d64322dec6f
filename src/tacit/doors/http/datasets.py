"""The datasets that a server holds open, and the seats in front of them.

A seat is one person's place at one dataset: the curator as that person sees it. It is made anew for each request, so
that changes of the owner hold from the next request on.

Threads: a curator may be asked from many threads at once. Its ledger lets one write at a time and lets others read;
of those who ask the same, one works and the others wait (`ledger.turns`); each of the engine's workers runs one query
at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.curator import Curator
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import OWNER, Keyring, Token, TokenFile
from tacit.doors.lasting import open_lasting
from tacit.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Dataset:
    """An open curator, its name, and who may come in."""

    name: str
    curator: Curator
    keyring: Keyring
    path: Path
    """The policy's file; the dataset's other files lie next to it."""

    @classmethod
    def open(cls, path: Path, workers: int = 1) -> Dataset:
        """The dataset of a policy file, with this many workers."""
        curator = open_lasting(path)
        try:
            curator.widen(workers)
        except BaseException:
            curator.close()
            raise
        return cls(curator.policy.name, curator, Keyring(TokenFile(path.absolute())), path.absolute())


@dataclass(frozen=True, slots=True)
class Seat:
    """The asker, the role, and the dataset. `curator` is the dataset as this person sees it."""

    dataset: Dataset
    token: Token
    curator: Curator

    @classmethod
    def of(cls, dataset: Dataset, token: Token, last_word: Callable[[], None] | None = None) -> Seat:
        """The place of the holder of this token. An auditor sees what the owner sees of the ledger, and cannot ask.

        `last_word` is called right before anything is charged here, and may still refuse it.
        """
        sees_all = token.role in (Role.OWNER, Role.AUDITOR)
        if token.name == OWNER and not sees_all:  # a file of tokens that was written by hand
            raise PolicyError(f"The name {OWNER!r} is the owner's, and this token is not.")
        return cls(dataset, token, dataset.curator.seen_by(OWNER if sees_all else token.name, last_word))

    @property
    def is_owner(self) -> bool:
        """Whether the owner sits here."""
        return self.token.role is Role.OWNER

    @property
    def who(self) -> str:
        """Whose questions are counted together: this name at this dataset."""
        return json.dumps([self.dataset.name, self.token.name])  # names may contain any separator

    @property
    def pays_as(self) -> str:
        """The name under which a charge made here is in the ledger."""
        return self.curator.analyst


def open_all(paths: Sequence[Path], workers: int = 1) -> tuple[Dataset, ...]:
    """Every dataset, or none: if one fails, the others are closed again."""
    opened: list[Dataset] = []
    try:
        for path in paths:
            opened.append(Dataset.open(path, workers))
        names = [each.name for each in opened]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PolicyError(f"Two policies have the name {twice[0]!r}. Give each a name of its own.")
    except BaseException:
        close_all(opened)
        raise
    return tuple(opened)


def close_all(datasets: Iterable[Dataset]) -> None:
    """Close all of them."""
    for each in datasets:
        each.curator.close()
