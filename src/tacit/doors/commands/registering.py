"""The bar that is shown while tables are registered: which table, how many steps are done, for how long.

Promise: nothing is printed into a file or a pipe, and nothing stays on the terminal afterwards. Where
the tables did not change there is nothing to register, and no bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tacit.doors.tables import plain

Told = Callable[[str, int, int], None]


@contextmanager
def registering(console: Console) -> Iterator[Told | None]:
    """The `progress` for a curator; None without a terminal."""
    if not console.is_terminal:
        yield None
        return
    words = TextColumn("Registering {task.description}", markup=False)
    with Progress(
        words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task("", visible=False)

        def told(table: str, done: int, steps: int) -> None:
            bar.update(task, description=plain(table), completed=done, total=steps, visible=True)

        yield told
