"""`tacit demo`: made-up people to look at, or a made-up clinic to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.commands.terminal import aside
from tacit.errors import ParameterError


def demo(
    what: Annotated[
        str, typer.Argument(help="clinic (a private database), or mechanisms (small examples).")
    ] = "clinic",
    to: Annotated[
        Path | None, typer.Option(help="Write the made-up clinic and its policy into this new folder, and stop.")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the made-up clinic, to be seen in a browser.")] = False,
) -> None:
    """See it work on made-up people.  tacit demo

    With a clinic to try things on by yourself, or to be asked in a browser:
    tacit demo --to clinic
    tacit demo --serve
    """
    from tacit.doors import examples, show

    if serve:
        if what != "clinic" or to is not None:
            raise typer.BadParameter("--serve shows the made-up clinic, and stands alone. Say: tacit demo --serve")
        _serve()
        return

    if to is not None:
        aside().print(_keep(what, to))
        return
    shows = {"clinic": show.main, "mechanisms": examples.main}
    if what not in shows:
        raise typer.BadParameter(f"There is no demo {what!r}. Demos: {', '.join(shows)}.")
    shows[what]()


def _serve() -> None:
    """Serve a clinic that is deleted when the server stops, with a token for its owner and one for an analyst."""
    import os
    import tempfile

    from tacit.doors import clinic
    from tacit.doors.commands.server import serve
    from tacit.doors.http.roles import Role
    from tacit.doors.http.tokens import TokenFile

    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        os.environ["TACIT_STATE"] = folder  # where the ledger's head lies: it goes away with the clinic
        policy = clinic.make(Path(folder), keeps=True).policy
        file = TokenFile(policy)
        for name, role in (("ana", Role.ANALYST), ("owner", Role.OWNER)):
            aside().print(f"A token for {name}: {file.add(name, role, 1)[1]}")
        serve([policy])


def _keep(what: str, folder: Path) -> str:
    """Write the demo's clinic into a folder, and say what to do next."""
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
