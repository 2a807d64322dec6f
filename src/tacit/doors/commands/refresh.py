"""`tacit refresh`: the working copy made anew, when the owner says so."""

from __future__ import annotations

import typer

from tacit.doors.commands.formats import AsJson, Form, Format, chosen, show
from tacit.doors.commands.terminal import PolicyFile, aside


def refresh(policy: PolicyFile, form: Form = Format.TABLE, as_json: AsJson = False) -> None:
    """Register the tables anew, so that who was erased leaves the working copy.  tacit refresh clinic.toml

    Changes of files and tables are noticed when the policy is opened. What lies behind a view, a foreign table or a
    catalog is not watched: run this when it changed. Nothing is asked or charged.
    """
    from tacit.curator import refresh_policy
    from tacit.doors.commands.registering import registering

    wanted = chosen(form, as_json=as_json)
    with registering(aside()) as progress:
        done = refresh_policy(policy.absolute(), progress=progress)
    show(
        wanted,
        table=lambda: typer.echo(
            f"Registered anew: {', '.join(done.tables)}. Who has the policy open must open it again."
        ),
        content=lambda: {"ok": True, "name": done.name, "tables": list(done.tables)},
        columns=lambda: [("table", "text", list(done.tables))],
    )
