"""`tacit demo`: made-up people to look at, or a made-up clinic to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.common import aside
from tacit.errors import ParameterError


def demo(
    what: Annotated[
        str, typer.Argument(help="clinic (a private database), or mechanisms (small examples).")
    ] = "clinic",
    to: Annotated[
        Path | None, typer.Option(help="Write the made-up clinic and its policy into this new folder, and stop.")
    ] = None,
) -> None:
    """See it work on made-up people.  tacit demo

    With a clinic to try things on by yourself:
    tacit demo --to clinic
    """
    from tacit.doors import examples, show

    if to is not None:
        aside().print(_keep(what, to))
        return
    shows = {"clinic": show.main, "mechanisms": examples.main}
    if what not in shows:
        raise typer.BadParameter(f"There is no demo {what!r}. Demos: {', '.join(shows)}.")
    shows[what]()


def _keep(what: str, folder: Path) -> str:
    """Write the demo's clinic into a folder; what to do next."""
    from tacit.doors import clinic

    if what != "clinic":
        raise typer.BadParameter("--to writes the made-up clinic. Say: tacit demo --to clinic")
    try:
        folder.mkdir(parents=True)
        made = clinic.make(folder, keeps=True)
    except FileExistsError:
        raise ParameterError(f"{folder} exists already, and is left as it is. Name another with --to.") from None
    except OSError as error:
        raise ParameterError(f"{folder} cannot be written: {error.strerror}.") from None
    rows = ", ".join(f"{count:,} {name}" for name, count in made.rows.items())
    question = "SELECT sex, count(*) AS patients FROM patients GROUP BY sex"
    return f'Wrote {made.policy}: {rows}. Nobody in it exists. Next: tacit ask {made.policy} "{question}"'
