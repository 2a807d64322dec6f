"""Pages of jobs: a study that was begun, how far it is, a button to take it back, and its result."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request as Incoming

from tacit import parameters
from tacit.doors.console import report_pages
from tacit.doors.console.page import Page
from tacit.doors.console.study_pages import made_content, wanted_of
from tacit.doors.http.app import begin_job
from tacit.doors.http.datasets import Seat
from tacit.doors.http.jobs import Job
from tacit.doors.http.problems import Problem
from tacit.doors.http.replies import Request
from tacit.doors.http.roles import Route
from tacit.doors.studies.registry import named
from tacit.doors.studies.running import Made, run

if TYPE_CHECKING:
    from tacit.audit import Report
    from tacit.doors.http.app import Server

_WORDS: Final[Mapping[str, str]] = {
    "waiting": "It waits for its turn. Nothing is charged.",
    "working": "It is being prepared. Nothing is charged yet.",
    "charged": "It is charged, and being computed. Its result will be stored.",
    "cancelled": "It was cancelled. Nothing was charged.",
    "refused": "It was refused.",
    "done": "It is done.",
}


def begin(server: Server, route: Route, seat: Seat, incoming: Incoming, request: Request) -> Page:
    """Begin what the form says, and go to its page."""
    wanted = wanted_of(named(request.path["name"]), request.query)
    kept: dict[str, Made] = {}

    def does(own: Seat, told: Request) -> tuple[bytes, str]:
        kept["made"] = run(wanted, own.curator, told.progress)
        return b"", "text/html"

    job = begin_job(server, route, seat, incoming, does, request)
    job.result = kept
    return Page("", to=f"/jobs/{job.id}")


def listed(server: Server, route: Route, seat: Seat, incoming: Incoming, request: Request) -> Page:
    """One person's jobs, the latest first."""
    return Page("jobs.html", {"jobs": [each.content() for each in server.jobs.of(seat.who)][::-1]})


def shown(server: Server, route: Route, seat: Seat, incoming: Incoming, request: Request) -> Page:
    """How far a job is, or its result."""
    job = server.jobs.find(seat.who, request.path["job"])
    made = _made(job)
    content: dict[str, Any] = {"job": job.content(), "words": _WORDS[job.state], "over": job.is_over}
    if job.reply is not None and job.state == "refused":
        content["refusal"] = _refusal(job)
    if (report := _report(job)) is not None:
        content |= {"report": report_pages.report_content(report), "endings": _REPORT}
    if made is not None:
        content |= {"result": made_content(made), "endings": _endings(made)}
        content["drawing"] = content["result"]["drawing"]
    return Page("job.html", content)


def cancel(server: Server, route: Route, seat: Seat, incoming: Incoming, request: Request) -> Page:
    """Take a job back, if it is not charged."""
    job = server.jobs.find(seat.who, request.path["job"])
    job.cancel()
    return Page("", to=f"/jobs/{job.id}")


def file(server: Server, route: Route, seat: Seat, incoming: Incoming, request: Request) -> Page:
    """The result of a job as a file: a table, a model, or rows drawn from synthetic data. Free."""
    job, ending = server.jobs.find(seat.who, request.path["job"]), request.path["ending"]
    made, report = _made(job), _report(job)
    if report is not None and ending in _REPORT:
        from tacit.audit import sign_report

        return Page("", raw=(sign_report(report).encode(), _TYPES[ending], f"audit.{ending}"))
    if made is None:
        raise Problem(404, "nothing here", "This job has no result.")
    if ending not in _endings(made):
        raise parameters.refuse("ending", f"one of {', '.join(_endings(made))}", ending[:20])
    return Page("", raw=(_bytes(made, ending), _TYPES[ending], f"{made.kind}.{ending}"))


_TYPES: Final = {"csv": "text/csv", "json": "application/json"}
JOB_PAGES: Final = {
    "page_study_run": begin,
    "page_jobs": listed,
    "page_job": shown,
    "page_job_cancel": cancel,
    "page_job_file": file,
    **report_pages.JOB_PAGES,
}


def _made(job: Job) -> Made | None:
    return job.result.get("made") if job.state == "done" and isinstance(job.result, dict) else None


_REPORT: Final = {"json": "The signed report, for tacit audit check (JSON)"}


def _report(job: Job) -> Report | None:
    return job.result.get("report") if job.state == "done" and isinstance(job.result, dict) else None


def _endings(made: Made) -> dict[str, str]:
    words = {
        "finding": {"csv": "The table (CSV)"},
        "model": {"json": "The model, for tacit.learning.load (JSON)"},
        "synthetic": {"csv": "Synthetic rows (CSV)", "json": "The release, to draw from (JSON)"},
    }
    return words[made.kind]


def _bytes(made: Made, ending: str) -> bytes:
    if made.kind == "finding":
        return made.finding.to_csv().encode()
    if made.kind == "model":
        from tacit.learning.files import to_bytes

        return to_bytes(made.thing)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written"
        made.thing.save(path) if ending == "json" else made.thing.sample().to_csv(path)
        return path.read_bytes()


def _refusal(job: Job) -> str:
    content = json.loads(bytes(job.reply.body)) if job.reply is not None else {}
    return str(content.get("detail", ""))
