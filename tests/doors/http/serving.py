"""A served clinic of two hundred people, with a token of each role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from tacit.doors import clinic
from tacit.doors.console.openid_pages import OpenId
from tacit.doors.console.routes import add_pages
from tacit.doors.http.app import Limits, Server, make_app
from tacit.doors.http.counters import Counters
from tacit.doors.http.datasets import close_all, open_all
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile

COUNT = "SELECT count(*) AS n FROM visits"
ANALYSTS = "\n[analysts.owner]\nepsilon = 1\ndelta = 1e-7\n[analysts.ana]\nepsilon = 1\n[analysts.bob]\nepsilon = 1\n"


@dataclass
class Served:
    """An application and what came of it."""

    policy: Path
    server: Server
    client: TestClient
    tokens: dict[str, str]
    log: list[str]
    mistakes: list[str]

    def get(self, path: str, who: str = "ana", **options: Any) -> Any:
        """What somebody sees."""
        return self.client.get(path, headers=self.headers(who) | options.pop("headers", {}), **options)

    def post(self, path: str, content: Any, who: str = "ana", **options: Any) -> Any:
        """What comes of what somebody sends."""
        return self.client.post(path, json=content, headers=self.headers(who) | options.pop("headers", {}), **options)

    def headers(self, who: str) -> dict[str, str]:
        """The token of somebody."""
        return {"Authorization": f"Bearer {self.tokens[who]}"}


@dataclass
class Lines:
    """A log that is kept."""

    lines: list[str] = field(default_factory=list)

    def write(self, text: str) -> int:
        """One more line."""
        self.lines.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""


def served_at(
    folder: Path,
    limits: Limits | None = None,
    policy_text: str | None = None,
    more: str = "",
    openid: OpenId | None = None,
) -> Iterator[Served]:
    """Everything, opened and closed: a clinic, or another policy."""
    policy = clinic.make(folder, patients=200, keeps=True).policy
    policy.write_text(more + policy.read_text() + ANALYSTS if policy_text is None else policy_text)
    file = TokenFile(policy)
    people = {"owner": Role.OWNER, "ana": Role.ANALYST, "bob": Role.ANALYST, "aud": Role.AUDITOR, "rea": Role.READER}
    tokens = {name: file.add(name, role, 1)[1] for name, role in people.items()}
    datasets = open_all([policy])
    log, mistakes = Lines(), []
    server = Server(datasets, limits or Limits(), Counters(log), mistakes.append)  # type: ignore[arg-type]
    try:
        app = make_app(server)
        add_pages(app, server, openid)
        with TestClient(app, base_url="https://testserver", follow_redirects=False) as client:
            yield Served(policy, server, client, tokens, log.lines, mistakes)
        assert mistakes == []
    finally:
        server.close()
        close_all(datasets)


@dataclass
class Visitor:
    """Somebody with a browser: cookies that are kept, and forms sent as their page has them."""

    served: Served
    cookies: dict[str, str] = field(default_factory=dict)
    word: str = ""

    def send(self, method: str, path: str, headers: dict[str, str] | None = None, **fields: str) -> Any:
        """A page, or a form; the word of the last page goes with it unless another is said."""
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **(headers or {})}
        self.served.client.cookies.clear()
        if method == "GET":
            reply = self.served.client.get(path, headers=sent)
        else:
            reply = self.served.client.post(path, headers=sent, data={"word": self.word, **fields})
        for name, value in reply.cookies.items():
            self.cookies[name] = value
        found = re.search(r'name="word" value="([^"]+)"', reply.text)
        self.word = found[1] if found else self.word
        return reply

    def log_in(self, who: str) -> Any:
        """Log in with somebody's token."""
        self.send("GET", "/login")
        reply = self.send("POST", "/login", token=self.served.tokens[who])
        assert (reply.status_code, reply.headers["location"]) == (303, "/published" if who == "rea" else "/"), (
            reply.text
        )
        self.send("GET", reply.headers["location"])
        return reply
