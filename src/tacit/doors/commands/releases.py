"""How a command ends that released something and wrote files: what was found, the files, and what is left to spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tacit.doors.commands.formats import Format, show
from tacit.doors.commands.terminal import aside, out


class Release(Protocol):
    """What was released, by a model, a synthetic table or a study."""

    @property
    def receipt(self) -> Mapping[str, str]:
        """Who paid what for it."""

    @property
    def repeated(self) -> bool:
        """Whether it was stored, and nothing was charged."""


def show_release(
    form: Format,
    found: Release,
    *,
    lines: Callable[[], Sequence[str]],
    content: Callable[[], Mapping[str, object]],
    more: Callable[[], Mapping[str, object]] = dict,
    columns: Callable[[], Any],
    files: Sequence[Path],
    left: str,
) -> None:
    """What was released, in the form that was asked for. In JSON `more` stands behind the receipt and the files."""

    def table() -> None:
        for line in lines():
            out().print(line, soft_wrap=True, markup=False)
        beside = aside()
        for path in files:
            beside.print(f"Wrote {path}.", style="dim")
        beside.print(left, style="dim")

    def whole() -> dict[str, object]:
        paid = {"receipt": found.receipt, "repeated": found.repeated, "files": [str(path) for path in files]}
        return {**content(), **paid, **more()}

    show(form, table=table, content=whole, columns=columns)
