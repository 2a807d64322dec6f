"""Running a server: `tacit serve`. On this machine alone unless told otherwise; with TLS by certificate files.

A stop (Ctrl-C, SIGTERM) takes no new requests and waits for what was begun: an answer that is paid for is stored.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tacit import parameters
from tacit.doors.console.openid_pages import OpenId
from tacit.doors.console.routes import add_pages
from tacit.doors.http.app import Limits, Server, make_app
from tacit.doors.http.counters import Counters, to_stderr
from tacit.doors.http.datasets import Dataset, close_all, open_all
from tacit.doors.openid.settings import People


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 8400
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise parameters.refuse("certificate", "given together with its key", self.certificate or self.key)
        if not self.is_loopback and self.certificate is None:
            raise parameters.refuse(
                "host",
                "this machine (127.0.0.1) where there is no certificate",
                self.host,
                "Tokens and answers would cross the network in the clear. Give --certificate and --key, or put a "
                "proxy with TLS on this machine in front.",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def address(self) -> str:
        """What to type into a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.certificate is None else 'https'}://{host}:{self.port}"


def serve(
    paths: Sequence[Path], place: Place, limits: Limits, said: Callable[[str], None], openid: Path | None = None
) -> None:
    """Open the policies and answer until stopped; with a file of `openid` settings people may log in that way too."""
    import uvicorn

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL + 1)  # its warnings quote questions, which no log may hold
    datasets = open_all(paths, limits.workers)
    try:
        server = Server(datasets, limits, Counters(to_stderr()), lambda text: print(text, file=sys.stderr))  # noqa: T201
        said(f"Serving {', '.join(each.name for each in datasets)} at {place.address}. Stop with Ctrl-C.")
        try:
            app = make_app(server)
            add_pages(app, server, None if openid is None else _openid(openid, place, datasets))
            uvicorn.run(app, **options(place))
        finally:
            server.close()
    finally:
        close_all(datasets)


def _openid(path: Path, place: Place, datasets: Sequence[Dataset]) -> OpenId:
    from tacit.doors.openid.provider import Provider  # needs Authlib, which nothing else does

    people = People(path.absolute())
    people.check(datasets)
    return OpenId(people, Provider(people.settings, place.address))


def options(place: Place) -> dict[str, Any]:
    """How uvicorn listens there."""
    from tacit.doors.http.prompt import Prompt

    return {
        "host": place.host,
        "http": Prompt,
        "port": place.port,
        "ssl_certfile": None if place.certificate is None else str(place.certificate),
        "ssl_keyfile": None if place.key is None else str(place.key),
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "limit_concurrency": 512,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": 150,
        "h11_max_incomplete_event_size": 32 * 1024,
    }
