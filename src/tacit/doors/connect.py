"""`tacit.connect("https://host", token=...)`: a private database whose rows lie behind a server.

Promise: the same methods and the same objects as a curator (`curator.database.Database`), so that a program does not
know the difference. What is free is computed here, from the public facts that the server tells, and asks nobody; what
costs is asked there, and charged under the name of the token. A request whose reply was lost is sent again: answers are
stored, so that the same question is never charged or drawn twice.
"""

from __future__ import annotations

import numbers
import ssl
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from tacit import __version__, parameters
from tacit.answer import Answer, Standing
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.planner import Planner
from tacit.curator.suggest import Suggestion
from tacit.curator.watched import watched
from tacit.doors.http import problems, wire
from tacit.doors.periods import RemoteWatch
from tacit.errors import TacitError
from tacit.ledger import Entry, Report
from tacit.loss.spent import Spent
from tacit.parameters import Number

if TYPE_CHECKING:
    import httpx

    from tacit.curator import Curator
    from tacit.curator.database import Database

_TRIES: Final = 4
_LONGEST_WAIT: Final = 5.0
_MISSING: Final = "tacit.connect needs httpx, which is not installed: pip install 'tacit[server]'"


def connect(
    url: str, token: str, *, verify: ssl.SSLContext | bool = True, timeout: float = 300.0, transport: Any = None
) -> RemoteCurator:
    """The database that a server (`tacit serve`) shows to whoever holds this token.

    `verify` may be an SSL context that trusts your own certificate authority. `transport` is for tests.
    """
    try:
        import httpx
    except ModuleNotFoundError:
        raise TacitError(_MISSING) from None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise parameters.refuse("url", "an address such as https://clinic.example:8400", url)
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise parameters.refuse("url", "https, unless the server is on this machine: a token is a secret", url)
    headers = {"Authorization": f"Bearer {token}", "User-Agent": f"tacit/{__version__}"}
    client = httpx.Client(
        base_url=url, headers=headers, timeout=timeout, verify=verify, transport=transport, follow_redirects=False
    )
    try:
        return RemoteCurator(_Wire(client))
    except BaseException:
        client.close()
        raise


class _Wire:
    """Requests that are tried again where that is safe, and refusals as the exceptions they are."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def get(self, path: str, **query: str | int | None) -> Any:
        """What is there."""
        return self._sent("GET", path, params={name: each for name, each in query.items() if each is not None})

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """What comes of it."""
        return self._sent("POST", path, json={name: each for name, each in content.items() if each is not None})

    def _sent(self, method: str, path: str, **options: Any) -> Any:
        import httpx

        for attempt in range(_TRIES):
            try:
                reply = self.client.request(method, path, **options)
            except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if attempt == _TRIES - 1:
                    raise TacitError(
                        f"The server at {self.client.base_url} does not answer. Ask again: what was charged is stored."
                    ) from None
                time.sleep(0.1 * 4**attempt)
                continue
            except httpx.HTTPError as failure:
                raise TacitError(f"The server could not be asked: {type(failure).__name__}. Ask again.") from None
            if reply.status_code != 429 or attempt == _TRIES - 1:
                return _content(reply)
            said = reply.headers.get("Retry-After", "1")
            time.sleep(min(float(said) if said.isdigit() else 1.0, _LONGEST_WAIT))
        raise TacitError("The server could not be asked.")


def _content(reply: httpx.Response) -> Any:
    try:
        content = reply.json()
    except ValueError:
        raise TacitError(f"What answers there (status {reply.status_code}) is no server of tacit's.") from None
    if reply.status_code == 200:
        return content
    raise problems.refusal_of(content if isinstance(content, dict) else {})


class RemoteCurator(Planner):
    """A private database behind a server, as whoever holds the token sees it."""

    def __init__(self, wire_to: _Wire) -> None:
        self._wire = wire_to
        me = wire_to.get("/v1/me")
        if me.get("version") != __version__:
            raise TacitError(
                f"The server runs tacit {me.get('version')}, and this is {__version__}. Estimates are computed here: "
                "use the same version on both sides."
            )
        self.analyst: str = me["pays_as"]
        self.role: str = me["role"]
        self.dataset: str = me["dataset"]
        super().__init__(wire.policy_in(wire_to.get("/v1/tables"), self.analyst))

    # -- asking ----------------------------------------------------------------------------------------

    def table(self, name: str) -> AskedSteps:
        """A question about one table, step by step: `.table("visits").group_by("sex").count().ask(0.5)`."""
        return AskedSteps(self, name)

    def ask(
        self,
        sql: object,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        rows: int | None = None,
        weights: Mapping[str, Number] | None = None,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Answer:
        """The answer, paid for; or the stored one, free, where the same was asked before."""
        self._myself(analyst)
        said = {
            "sql": sql_of(sql),
            "epsilon": _number(epsilon),
            "delta": _number(delta),
            "rho": _number(rho),
            "within": _number(within),
            "rows": _number(rows),
            "weights": None if not weights else {name: _number(each) for name, each in weights.items()},
            "rows_per_unit": _number(rows_per_unit),
            "groups_per_unit": _number(groups_per_unit),
        }
        return wire.answer_in(self._wire.post("/v1/ask", said))

    def ask_all(
        self,
        questions: Sequence[object],
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        analyst: str | None = None,
    ) -> tuple[Answer, ...]:
        """The answers to several questions for one epsilon, planned together, paid once; asked again, free."""
        self._myself(analyst)
        said = {
            "questions": [sql_of(each) for each in questions],
            "epsilon": _number(epsilon),
            "delta": _number(delta),
        }
        return tuple(wire.answer_in(each) for each in self._wire.post("/v1/ask_all", said)["answers"])

    def suggest(
        self,
        column: str,
        epsilon: Number | None = None,
        *,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Suggestion:
        """Bounds for a column that has none yet, bought: `clinic.suggest("visits.charge", epsilon=0.1)`."""
        self._myself(analyst)
        said = {"column": column, "epsilon": _number(epsilon), "rows_per_unit": _number(rows_per_unit)}
        found = self._wire.post("/v1/suggest", said)
        return Suggestion(**{**found, "epsilon": Fraction(found["epsilon"])})

    def watch(
        self,
        sql: object,
        epsilon: Number,
        *,
        every: str,
        delta: Number = 0,
        since: Any = None,
        until: Any = None,
        time: str | None = None,
        wait: str | None = None,
        analyst: str | None = None,
    ) -> RemoteWatch:
        """Totals of a table that grows in time, told after every period; charged there, once, for all of them."""
        self._myself(analyst)
        text = sql_of(sql)
        said = {
            "sql": text,
            "epsilon": _number(epsilon),
            "delta": _number(delta),
            "every": every,
            "since": None if since is None else str(since),
            "until": None if until is None else str(until),
            "time": time,
            "wait": wait,
        }
        keys = watched(self.plan(text, epsilon)).shown  # public: what cannot be watched is refused here
        return RemoteWatch(lambda: self._wire.post("/v1/watch", said), keys)

    def stored(self, entry: int) -> Answer:
        """The answer that an entry of the ledger paid for, once more and free."""
        return wire.answer_in(self._wire.get(f"/v1/answers/{quote(str(entry), safe='')}"))

    # -- the budget ------------------------------------------------------------------------------------

    def budget(self, analyst: str | None = None) -> Standing:
        """How the dataset's budget stands, or one's own: which share is spent and which is left."""
        return wire.standing_in(self._wire.get("/v1/budget", analyst=analyst)["standing"])

    def spent(self, analyst: str | None = None) -> Spent:
        """What has been spent, in the unit of the committed filter."""
        return wire.spent_in(self._wire.get("/v1/budget", analyst=analyst)["spent"])

    def remaining(self, analyst: str | None = None) -> Spent:
        """What is left, in the unit of the committed filter."""
        return wire.spent_in(self._wire.get("/v1/budget", analyst=analyst)["remaining"])

    def ledger(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Who asked what, when, and what it cost: everything for the owner, an analyst's own for an analyst."""
        found: list[Entry] = []
        while True:
            part = self._wire.get("/v1/ledger", analyst=analyst, after=found[-1].sequence if found else 0)
            found += [wire.entry_in(each) for each in part["entries"]]
            if not part["more"]:
                return tuple(found)

    def number_of(self, sequence: object) -> int | None:
        """Which question an entry of the ledger is, counted 1, 2, 3, ... among those that are to be seen here."""
        from tacit.answer.standing import charges_of

        numbers = {str(each.sequence): place for place, each in enumerate(charges_of(self.ledger()), start=1)}
        return numbers.get(str(sequence))

    def verify(self) -> Report:
        """Whether the ledger is as it was sealed. For the owner and the auditor."""
        found = self._wire.get("/v1/ledger/check")
        return Report(found["entries"], found["sealed"], tuple(found["findings"]))

    def resume(self, analyst: str | None = None, *, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner's word, recorded, that what failed was looked at: one analyst, or all, may go on asking."""
        said = {"analyst": analyst, "entry": entry}
        return tuple(wire.entry_in(each) for each in self._wire.post("/v1/resume", said)["entries"])

    # -- coming and going ------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the connection. Everything charged is durable already."""
        self._wire.client.close()

    def _myself(self, analyst: str | None) -> None:
        """The server charges the name of the token. Somebody else's name is refused here, before anything is sent."""
        if analyst not in (None, self.analyst):
            raise parameters.refuse("analyst", f"{self.analyst!r}, whose token this is", analyst)

    def __getattr__(self, habit: str) -> Any:
        # only reached for what is not there
        raise AttributeError(
            f"A database behind a server has no {habit!r}. It answers .ask(...), .ask_all(...), .estimate(...), "
            ".explain(...), .suggest(...), .watch(...), .budget() and .ledger(); studies and publications need "
            "the files."
        )

    def __str__(self) -> str:
        tables = ", ".join(self.policy.tables)
        return f"A private database of {tables} at {self._wire.client.base_url}, asked by {self.analyst}."

    __repr__ = __str__

    def __enter__(self) -> RemoteCurator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _number(value: Any) -> Any:
    """A number as it was written: a float is its shortest text, so that 0.1 is a tenth there as well."""
    said = parameters.written(value)
    if isinstance(said, (Fraction, Decimal)):
        return str(said)
    if isinstance(said, numbers.Integral) and not isinstance(said, bool):
        return int(said)  # also one of numpy's
    return said


if TYPE_CHECKING:

    def _are_alike(local: Curator, remote: RemoteCurator) -> tuple[Database, Database]:
        return local, remote
