"""Routes that ask nothing of a curator: jobs, counters, and the files of published pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from starlette.requests import Request as Incoming
from starlette.responses import Response, StreamingResponse

from tacit.doors.http import forms, published
from tacit.doors.http.datasets import Seat
from tacit.doors.http.problems import Problem
from tacit.doors.http.sending import HEADERS, sent, to_json

if TYPE_CHECKING:
    from tacit.doors.http.app import Server


async def _metrics(server: Server, seat: Seat, _: Incoming) -> Response:
    return sent(server.counters.exposition(seat.dataset.name).encode(), "text/plain; version=0.0.4")


async def _published_file(server: Server, seat: Seat, incoming: Incoming) -> Response:
    content, kind = published.file(seat.dataset, incoming.path_params["page"], incoming.path_params["file"])
    return sent(content, kind)


async def _jobs(server: Server, seat: Seat, _: Incoming) -> Response:
    return sent(to_json({"jobs": [each.content() for each in server.jobs.of(seat.who)]}), forms.JSON)


async def _job(server: Server, seat: Seat, incoming: Incoming) -> Response:
    return sent(to_json(server.jobs.find(seat.who, incoming.path_params["job"]).content()), forms.JSON)


async def _job_result(server: Server, seat: Seat, incoming: Incoming) -> Response:
    job = server.jobs.find(seat.who, incoming.path_params["job"])
    if job.reply is None:
        raise Problem(409, "not over", f"This job is {job.state}. Look again soon.", {"Retry-After": "1"})
    return job.reply


async def _job_cancel(server: Server, seat: Seat, incoming: Incoming) -> Response:
    job = server.jobs.find(seat.who, incoming.path_params["job"])
    job.cancel()
    return sent(to_json(job.content()), forms.JSON)


async def _job_events(server: Server, seat: Seat, incoming: Incoming) -> Response:
    job = server.jobs.find(seat.who, incoming.path_params["job"])
    leave = server.gates["streams"].enter(seat.who)

    async def lines() -> AsyncIterator[bytes]:
        try:
            async for each in job.states():
                yield b": still there\n\n" if each is None else b"event: state\ndata: " + to_json(each) + b"\n\n"
        finally:
            leave()

    return StreamingResponse(lines(), 200, HEADERS, "text/event-stream")


WITHOUT_CURATOR: Final[Mapping[str, Callable[[Server, Seat, Incoming], Awaitable[Response]]]] = {
    "metrics": _metrics,
    "published_file": _published_file,
    "jobs": _jobs,
    "job": _job,
    "job_result": _job_result,
    "job_cancel": _job_cancel,
    "job_events": _job_events,
}
