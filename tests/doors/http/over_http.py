"""Curators whose questions go over HTTP, for the tests of the curator: `TACIT_OVER_HTTP=1 pytest tests/curator`.

What a `Database` can do (ask, estimate, budget, ledger, ...) is done by `tacit.connect` and the application, in this
process; everything else, and what tests do behind the scenes, by the curator itself.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient

import tacit
import tacit.curator
from tacit.curator import Curator
from tacit.doors.connect import RemoteCurator, connect
from tacit.doors.http.app import Limits, Server, make_app
from tacit.doors.http.datasets import Dataset
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import Keyring, TokenFile
from tacit.errors import ParameterError

OVER = ("ask", "ask_all", "suggest", "estimate", "explain", "why", "plan", "planned", "table", "number_of", "stored")
OVER += ("rows", "publish", "watch")
OF_SOMEBODY = ("budget", "spent", "remaining", "ledger", "verify", "resume")


class Way(httpx.BaseTransport):
    """From httpx to the application in this process."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request."""
        headers = {name: value for name, value in request.headers.items() if name != "content-length"}
        sent = self.client.request(request.method, str(request.url), headers=headers, content=request.read())
        return httpx.Response(sent.status_code, headers=dict(sent.headers), content=sent.content)


class OverHttp:
    """A curator, asked over HTTP."""

    def __init__(self, local: Curator) -> None:
        self.local = local
        folder = tempfile.mkdtemp()
        self.tidy = weakref.finalize(self, shutil.rmtree, folder)  # many tests leave their curator open
        policy = Path(folder) / "policy.toml"
        policy.touch()
        self.file = TokenFile(policy)
        self.server = Server([Dataset(local.policy.name, local, Keyring(self.file), policy)], Limits(open_each=64))
        self.client = TestClient(make_app(self.server), base_url="https://testserver")
        self.remotes: dict[str, RemoteCurator] = {}

    def remote(self, who: str) -> RemoteCurator:
        """The database as somebody sees it."""
        if who not in self.remotes:
            text = self.file.add(who, Role.OWNER if who == "owner" else Role.ANALYST, 1)[1]
            self.remotes[who] = connect("https://testserver", text, transport=Way(self.client))
        return self.remotes[who]

    def asked(self, name: str, analyst: str | None, said: Any, options: dict[str, Any]) -> Any:
        """What comes of it for whoever asks. A name that no token can have is refused by the one that is there."""
        try:
            remote = self.remote(analyst or self.local.analyst)
        except ParameterError:
            remote, options = self.remote(self.local.analyst), {**options, "analyst": analyst}
        return getattr(remote, name)(*said, **options)

    def __getattr__(self, name: str) -> Any:
        if name in OVER:
            return lambda *said, analyst=None, **options: self.asked(name, analyst, said, options)
        if name in OF_SOMEBODY:
            return getattr(self.remote(self.local.analyst), name)
        return getattr(self.local, name)

    def close(self) -> None:
        """All of it."""
        for remote in self.remotes.values():
            remote.close()
        self.server.close()
        self.local.close()
        self.tidy()

    def __enter__(self) -> OverHttp:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.local)


def install() -> None:
    """From now on curators are asked over HTTP."""
    for module, name in (
        (tacit, "protect"),
        (tacit, "open"),
        (tacit.curator, "protect"),
        (tacit.curator, "open_policy"),
    ):
        setattr(module, name, _over(getattr(module, name)))


def _over(make: Any) -> Any:
    return lambda *said, **options: OverHttp(make(*said, **options))
