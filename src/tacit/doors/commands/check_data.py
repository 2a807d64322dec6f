"""`tacit check --data`: what registration does with the rows, for their owner alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from tacit.doors.commands.formats import Format, show
from tacit.doors.commands.terminal import aside, out


def show_data(policy: Path, form: Format) -> None:
    """What registration does with the rows: exact facts about people, for the owner alone."""
    from tacit.curator import check_data

    found = check_data(policy)
    warning, *lines, _ = str(found).split("\n")
    if form is not Format.TABLE:
        aside().print(warning, style="bold white on red")

    def table() -> None:
        console = out()
        console.print(warning, style="bold white on red")
        for line in lines:
            console.print(Text(line))
        console.print(warning, style="bold white on red")

    def content() -> object:
        tables = [{**asdict(each), "problems": list(each.problems())} for each in found.tables]
        return {"warning": warning, "tables": json.loads(json.dumps(tables, default=str))}

    problems = [(each.name, problem) for each in found.tables for problem in each.problems()]
    show(
        form,
        table=table,
        content=content,
        columns=lambda: [
            ("table", "text", [name for name, _ in problems]),
            ("problem", "text", [problem for _, problem in problems]),
        ],
    )
