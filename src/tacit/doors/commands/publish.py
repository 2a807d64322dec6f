"""`tacit publish`: a list of statistics in a file, released for one charge and written as files for a web page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tacit import parameters
from tacit.doors.commands.formats import AsJson, Form, Format, chosen, show
from tacit.doors.commands.opening import opened
from tacit.doors.commands.prices import Analyst, Delta, Epsilon
from tacit.doors.commands.terminal import PolicyFile, aside, out, read_policy
from tacit.errors import ParameterError

_HOW: Final = 'Write "Visits" = "SELECT ..." or "Ages" = { study = "quartiles", of = "visits.age" } under [statistics].'


def publish(
    policy: PolicyFile,
    statistics: Annotated[Path, typer.Argument(metavar="STATISTICS", help="What to publish, by name (TOML).")],
    to: Annotated[Path, typer.Option(help="The folder to write: a page, JSON, and a CSV for each statistic.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    title: Annotated[str | None, typer.Option(help="The page's title; the file may state one, too.")] = None,
    analyst: Analyst = "owner",
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Release a set of statistics for one charge, as a page.  tacit publish clinic.toml site.toml --epsilon 1 --to site

    STATISTICS is a TOML file. Under [statistics] every name stands for a question in SQL, or for a study:

    "Visits by sex" = "SELECT sex, count(*) AS n FROM visits GROUP BY sex"

    "Ages" = { study = "quartiles", of = "visits.age" }

    All of it together costs --epsilon, or the policy's default. The same again costs nothing.
    """
    wanted = chosen(form, as_json=as_json)
    heading, listed = _read(statistics)
    price = read_policy(policy).default_epsilon if epsilon is None else epsilon
    if price is None:
        raise ParameterError("Say what it may cost, e.g. --epsilon 1: the policy has no default_epsilon.")
    beside = aside()
    with opened(policy, analyst, beside) as curator:
        shown = heading if title is None else title
        found = curator.publish(listed, price, delta=delta or 0, to=to, title=shown)
        left = str(curator.budget())
    files = [str(path) for path in found.files]

    def table() -> None:
        for path in files:
            out().print(path, soft_wrap=True)
        slip = f", delta {delta}" if delta else ""
        paid = "Published before: nothing was charged." if found.repeated else f"Cost epsilon {price}{slip}."
        beside.print(paid, style="dim")
        beside.print(left, style="dim")

    show(
        wanted,
        table=table,
        content=lambda: {"receipt": dict(found.receipt), "repeated": found.repeated, "files": files},
        columns=lambda: [("file", "text", files)],
    )


def _read(path: Path) -> tuple[str, dict[str, object]]:
    """The title and the statistics of a file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}. It names the statistics. {_HOW}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is not TOML: {error}. {_HOW}") from None
    listed = content.get("statistics")
    if not isinstance(listed, Mapping) or not listed or set(content) - {"statistics", "title"}:
        found = ", ".join(content) or "nothing"
        raise parameters.refuse(str(path), "a table [statistics], and perhaps a title", found, _HOW)
    return str(content.get("title", "Statistics")), {name: _statistic(name, each) for name, each in listed.items()}


def _statistic(name: str, said: Any) -> object:
    if isinstance(said, str):
        return said
    if not isinstance(said, Mapping) or not isinstance(said.get("study"), str) or "of" not in said:
        raise parameters.refuse(f"statistic {name!r}", "a question in SQL, or a study with its columns", said, _HOW)
    from tacit import statistics

    known = [each for each in statistics.__all__ if each.islower() and each not in ("estimate", "planned")]
    study = said["study"]
    if study not in known:
        raise parameters.refuse(f"study of {name!r}", f"one of {', '.join(known)}", study)
    options = {key: value for key, value in said.items() if key not in ("study", "of")}
    return statistics.planned(getattr(statistics, study), said["of"], **options)
