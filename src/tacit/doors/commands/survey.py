"""`tacit survey`: a page on which a survey is answered, and the shuffler."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.commands.terminal import aside, out
from tacit.errors import ParameterError
from tacit.parameters import refuse

survey = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="The survey's description, as JSON.")]


@survey.command()
def demo(
    file: Annotated[Path | None, typer.Argument(metavar="SURVEY", help="A survey's description, as JSON.")] = None,
    port: Annotated[int, typer.Option(help="The port on this machine; 0 takes one that is free.")] = 8765,
) -> None:
    """Answer a survey in the browser, and see which bits leave.  tacit survey demo

    The page is for this machine alone. Without SURVEY it asks a question of its own. Ctrl-C ends it.
    """
    from tacit.local.page import serving
    from tacit.local.survey import Survey
    from tacit.policy import one_of

    if not 0 <= port <= 65_535:
        raise refuse("--port", "0 to 65535", port)
    if file is None:
        asked = Survey(one_of("never", "once or twice", "more often"), epsilon=1, name="Have you ever cheated?")
    else:
        asked = Survey.from_json(_read(file))
    try:
        with serving(asked, port) as served:
            out().print(served.url)
            aside().print("Open it in a browser on this machine. Ctrl-C ends it.")
            served.wait()
    except OSError as failure:
        raise ParameterError(f"Port {port} cannot be used: {failure.strerror}. Try --port 0.") from None


@survey.command()
def shuffle(
    file: SurveyFile,
    least: Annotated[int, typer.Option(help="Reports that must have come before any leaves.")] = 1_000,
) -> None:
    """Drop the order and origin of reports, one a line.  tacit survey shuffle drinks.json < reports > shuffled

    Lines are the hexadecimal digits of reports. Other lines, and reports that came before, are dropped and counted.
    """
    from tacit.local.checks import Refused
    from tacit.local.shuffler import shuffle_lines

    try:
        done = shuffle_lines(_read(file), least, sys.stdin, sys.stdout)
    except Refused as refusal:
        raise ParameterError(str(refusal)) from None
    aside().print(f"{done.dropped:,} lines were dropped.")


def _read(file: Path) -> str:
    """The description, checked as a client checks it."""
    from tacit.local.checks import Refused
    from tacit.local.client import Client

    try:
        text = file.read_text()
        Client(text)
    except OSError as failure:
        raise ParameterError(f"{file} cannot be read: {failure.strerror}.") from None
    except (Refused, json.JSONDecodeError, KeyError, TypeError) as refusal:
        raise ParameterError(f"{file.name} is no survey: {refusal}. Write one with survey.to_json().") from None
    return text
