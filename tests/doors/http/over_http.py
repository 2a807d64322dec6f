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
from tacit.curator.elsewhere import Elsewhere
from tacit.doors.connect import RemoteCurator, connect
from tacit.doors.http.app import Limits, Server, make_app
from tacit.doors.http.datasets import Dataset
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import Keyring, TokenFile
from tacit.errors import ParameterError

OVER = ("ask", "ask_all", "suggest", "estimate", "explain", "why", "plan", "planned", "table", "number_of", "stored")
OVER += ("rows", "publish", "watch", "studied", "fitted", "estimated")
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
        self.local, self.who = local, local.analyst
        local.analyst = "owner"
        folder = tempfile.mkdtemp()
        self.tidy = weakref.finalize(self, shutil.rmtree, folder)  # many tests leave their curator open
        policy = Path(folder) / "policy.toml"
        policy.touch()
        self.file = TokenFile(policy)
        self.server = Server([Dataset(local.policy.name, local, Keyring(self.file), policy)], Limits(open_each=64))
        self.client = TestClient(make_app(self.server), base_url="https://testserver")
        self.client.__enter__()  # one event loop for all requests: a job goes on between them
        self.remotes: dict[str, RemoteCurator] = {}

    @property
    def analyst(self) -> str:
        """Who asks. The curator behind the server is the owner's, as a server's is."""
        return self.who

    @analyst.setter
    def analyst(self, who: str) -> None:
        self.who = who

    def remote(self, who: str) -> RemoteCurator:
        """The database as somebody sees it."""
        if who not in self.remotes:
            text = self.file.add(who, Role.OWNER if who == "owner" else Role.ANALYST, 1)[1]
            self.remotes[who] = connect("https://testserver", text, transport=Way(self.client))
        return self.remotes[who]

    def asked(self, name: str, analyst: str | None, said: Any, options: dict[str, Any]) -> Any:
        """What comes of it for whoever asks. A name that no token can have is refused by the one that is there."""
        own = self.who
        try:
            remote = self.remote(analyst or own if own == "owner" else own)
        except ParameterError:
            remote = self.remote(own)
        if analyst is not None and remote.analyst != analyst:
            options = {**options, "analyst": analyst}
        return getattr(remote, name)(*said, **options)

    def __getattr__(self, name: str) -> Any:
        if name in OVER:
            return lambda *said, analyst=None, **options: self.asked(name, analyst, said, options)
        if name in OF_SOMEBODY:
            return getattr(self.remote(self.who), name)
        return getattr(self.local, name)

    def close(self) -> None:
        """All of it."""
        for remote in self.remotes.values():
            remote.close()
        self.client.__exit__(None, None, None)
        self.server.close()
        self.local.close()
        self.tidy()

    def __enter__(self) -> OverHttp:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.local)


Elsewhere.register(OverHttp)  # a study that is handed one passes itself on


NEEDS_FILES = {
    "test_periods.py": "tells a watch what time it is",
    "test_watched.py": "tells a watch what time it is, and looks inside it",
    "test_walk.py": "hands on a walk, of which only the text goes over HTTP",
    "test_till.py": "forks and patches the till itself",
    "test_a_policy_with_steps_gives_a_curator_with_steps": "changes the policy of an open curator",
    "test_of_those_who_race_for_the_last_yes_the_others_are_refused_and_nothing_failed": "a monitor needs the files",
    "test_every_charge_says_whether_it_goes_on": "a monitor needs the files",
    "test_an_analyst_asks_and_pays_as_nobody_else": "a monitor needs the files; the rest is in test_connect.py",
    "test_periods_are_counted_once_and_totals_agree": "tells a watch what time it is",
    "test_rows_that_come_late_are_not_counted_and_new_ones_are": "tells a watch what time it is",
    "test_the_price_is_that_of_one_row_or_of_a_unit_in_every_period": "looks inside a watch",
    "test_a_watch_whose_journal_is_gone_is_not_drawn_again": "tells a watch what time it is",
    "test_a_watch_that_failed_is_never_gone_on_with": "tells a watch what time it is",
    "test_with_a_ledger_in_a_database_another_host_is_refused": "tells a watch what time it is",
}
"""What cannot be asked over HTTP, and why: a test, or all of a file."""
NOT_OFFERED = {
    "[session": "a monitor needs the files",
    "-search]": "a search needs the files",
    "-evaluation]": "an evaluation needs the model's own code",
}
"""The same for some cases of a test, by a part of their names."""


def why_not(path: Path, test: str) -> str | None:
    """Why a test of the curator is left out over HTTP, if it is."""
    whole = NEEDS_FILES.get(path.name) or NEEDS_FILES.get(test.partition("[")[0])
    return whole or next((reason for part, reason in NOT_OFFERED.items() if part in test), None)


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
