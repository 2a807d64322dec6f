"""A publication of a database behind a server: released there for one charge, written to files here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import parameters
from tacit.curator import Publication
from tacit.curator.expressions import sql_of
from tacit.curator.publish import named_statistics, write_files
from tacit.doors.http import wire
from tacit.doors.remote.line import plain, sent
from tacit.doors.remote.rows import RemoteRows
from tacit.doors.studies.running import read_finding
from tacit.errors import QuestionError
from tacit.statistics import Planned

if TYPE_CHECKING:
    from tacit.doors.connect import RemoteCurator


def publish(
    curator: RemoteCurator,
    statistics: Any,
    epsilon: parameters.Number,
    delta: parameters.Number,
    to: str | Path | None,
    title: str,
    level: parameters.Number,
) -> Publication:
    """Publish there and write files here: see `RemoteCurator.publish`."""
    exact_level = parameters.level("level", level)
    wanted = named_statistics(statistics)
    folder = None if to is None else Path(to)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)  # before anything is paid
    body = {
        "statistics": [{"name": name, **_statistic(curator, name, each)} for name, each in wanted.items()],
        "epsilon": sent(epsilon),
        "delta": sent(delta),
        "level": sent(level),
    }
    reply = curator.line.post("/v1/publish", body)
    results = {
        each["name"]: wire.answer_in(each) if each["kind"] == "answer" else read_finding(each)
        for each in reply["results"]
    }
    files: tuple[Path, ...] = ()
    if folder is not None:
        files = write_files(folder, title, results, reply["receipt"], exact_level, curator.budget())
    return Publication(results, reply["receipt"], files, reply["repeated"])


def _statistic(curator: RemoteCurator, name: str, each: object) -> dict[str, Any]:
    if not isinstance(each, Planned):
        return {"sql": sql_of(each)}
    options = dict(each.options)
    said: dict[str, Any] = {"study": each.study.__name__}
    if isinstance(each.of, RemoteRows):
        if each.of.curator is not curator:
            raise QuestionError(f"{name!r} is about the rows of another curator.")
        said |= {"sql": each.of.about.sql, "rows_per_unit": each.of.about.rows_per_unit}
    elif isinstance(each.of, str):
        said |= {"columns": [each.of], "rows_per_unit": options.pop("rows_per_unit", None)}
    elif isinstance(each.of, (list, tuple)):
        said |= {"columns": [str(one) for one in each.of], "rows_per_unit": options.pop("rows_per_unit", None)}
    else:
        raise QuestionError(f"{name!r} is about the rows of another curator.")
    return {**said, "options": {key: plain(key, value) for key, value in options.items()}}
