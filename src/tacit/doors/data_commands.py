"""`tacit check --data`: what becomes of the rows, for their owner alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from tacit.doors.common import aside, out, print_json


def show_data(policy: Path, as_json: bool) -> None:
    """What becomes of the rows: exact facts about people, for the owner alone."""
    from tacit.curator import check_data

    found = check_data(policy)
    warning, *lines, _ = str(found).split("\n")
    if as_json:
        aside().print(warning, style="bold white on red")
        tables = [{**asdict(each), "problems": list(each.problems())} for each in found.tables]
        print_json({"warning": warning, "tables": json.loads(json.dumps(tables, default=str))})
        return
    console = out()
    console.print(warning, style="bold white on red")
    for line in lines:
        console.print(Text(line))
    console.print(warning, style="bold white on red")
