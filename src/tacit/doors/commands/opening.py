"""The curator that a command asks: of the policy file it names, with a bar while tables are registered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from tacit.curator import Curator
    from tacit.policy import Policy


@contextmanager
def opened(path: Path, analyst: str, beside: Console, policy: Policy | None = None) -> Iterator[Curator]:
    """The curator, closed afterwards. `policy` is the file's, where the command has read it (`read_placed`)."""
    from tacit.doors.commands.registering import registering
    from tacit.doors.lasting import open_lasting

    with registering(beside) as progress:
        curator = open_lasting(path, policy=policy, analyst=analyst, progress=progress)
    with curator:
        yield curator
