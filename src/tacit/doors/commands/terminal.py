"""What all commands share: where they print, how they print for programs, and how they find a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

REFUSED: Final = 1
PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (TOML).")]


def out() -> Console:
    """Where the answer goes."""
    return Console(highlight=False, markup=False)


def aside() -> Console:
    """Where everything else goes."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def print_json(content: object) -> None:
    """For programs."""
    typer.echo(json.dumps(content, indent=2, default=str, allow_nan=False))


def read_policy(path: Path) -> Any:
    """The policy of a file; its reader is imported only now."""
    from tacit.policy.read import read

    return read(path)
