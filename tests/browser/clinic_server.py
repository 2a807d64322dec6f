"""A served clinic as a process of its own, and somebody in front of a browser."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tacit.doors import clinic
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ANALYSTS = """
[analysts.owner]
epsilon = 1
delta = 1e-7
[analysts.ana]
epsilon = 1
delta = 1e-7
[analysts.poor]
epsilon = 0.05
"""
PEOPLE = {"owner": Role.OWNER, "ana": Role.ANALYST, "poor": Role.ANALYST, "aud": Role.AUDITOR, "rea": Role.READER}


@dataclass
class ClinicServer:
    """Where it listens, and who may come in."""

    policy: Path
    url: str
    tokens: dict[str, str]


@contextmanager
def running(folder: Path) -> Iterator[ClinicServer]:
    """A clinic of two thousand people, served until the end."""
    policy, tokens = _clinic(folder, 2_000)
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "tacit.doors.cli", "serve", str(policy), "--port", str(port)]
    log = open(folder / "server.log", "wb")  # noqa: SIM115  # open as long as the process
    there = {**os.environ, "TACIT_STATE": str(folder / "state")}
    process = subprocess.Popen(command, stderr=log, env=there)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/v1/health")
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield ClinicServer(policy, url, tokens)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        log.close()


@contextmanager
def in_this_process(folder: Path) -> Iterator[ClinicServer]:
    """A small clinic served by a thread, for tests that hold something back inside it."""
    import uvicorn

    from tacit.doors.console.routes import add_pages
    from tacit.doors.http.app import Server, make_app
    from tacit.doors.http.datasets import close_all, open_all

    policy, tokens = _clinic(folder, 200)
    datasets = open_all([policy])
    server = Server(datasets)
    app = make_app(server)
    add_pages(app, server)
    port = _free_port()
    served = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_level="critical"))
    thread = threading.Thread(target=served.run)
    thread.start()
    try:
        while not served.started:
            time.sleep(0.05)
        yield ClinicServer(policy, f"http://127.0.0.1:{port}", tokens)
    finally:
        served.should_exit = True
        thread.join(60)
        server.close()
        close_all(datasets)


def _clinic(folder: Path, patients: int) -> tuple[Path, dict[str, str]]:
    policy = clinic.make(folder, patients=patients, keeps=True).policy
    policy.write_text(policy.read_text() + ANALYSTS)
    file = TokenFile(policy)
    return policy, {name: file.add(name, role, 1)[1] for name, role in PEOPLE.items()}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass
class Person:
    """A browser window, everything that it asked for, and everything that its pages complained about."""

    page: Any
    url: str
    asked: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        """Go there, and wait until nothing more is loading."""
        reply = self.page.goto(self.url + path)
        self.page.wait_for_load_state("networkidle")
        return reply

    def log_in(self, token: str) -> None:
        """Type a token, and come in."""
        self.open("/login")
        self.page.fill("#token", token)
        self.page.click("main button")
        self.page.wait_for_url(lambda there: not there.endswith("/login"))

    @property
    def strangers(self) -> set[str]:
        """Hosts that were asked and are not the server."""
        own = urlsplit(self.url).netloc
        return {urlsplit(each).netloc for each in self.asked} - {own}


@contextmanager
def somebody(
    browser: Any, served: ClinicServer, *, width: int = 1280, scheme: str = "light", script: bool = True
) -> Iterator[Person]:
    """A window of this width. Whatever a page asks for is noted; what does not go to the server is not let through."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
    )
    context.set_default_timeout(90_000)  # a busy machine is no mistake of a page
    page = context.new_page()
    person = Person(page, served.url)

    def let_through(route: Any) -> None:
        person.asked.append(route.request.url)
        if urlsplit(route.request.url).netloc == urlsplit(served.url).netloc:
            route.continue_()
        else:
            route.abort()

    def heard(message: Any) -> None:
        if message.type in ("error", "warning"):
            person.complaints.append(message.text)

    page.route("**/*", let_through)
    page.on("console", heard)
    page.on("pageerror", lambda error: person.complaints.append(str(error)))
    page.on("response", lambda reply: person.sizes.update({reply.url: _size(reply)}))
    try:
        yield person
        assert person.strangers == set()
        assert person.complaints == []
    finally:
        context.close()


def _size(reply: Any) -> int:
    said = reply.headers.get("content-length", "0")
    return int(said) + sum(len(name) + len(value) + 4 for name, value in reply.headers.items())
