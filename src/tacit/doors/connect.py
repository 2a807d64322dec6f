"""`tacit.connect("https://host", token=...)`: a private database whose rows lie behind a server.

Promise: the same methods and the same objects as a curator (`curator.database.Database`), so that a program need not
know the difference. Free results are computed here, from the public facts that the server gives, without a request;
paid ones are asked for there, and charged under the name of the token. A request whose reply was lost is sent again:
answers are stored, so that the same question is never charged or drawn twice.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from tacit import __version__, parameters
from tacit.answer import Answer, Standing
from tacit.curator.elsewhere import Elsewhere
from tacit.curator.expressions import sql_of
from tacit.curator.fluent import AskedSteps
from tacit.curator.in_words import in_words
from tacit.curator.planner import Planner
from tacit.curator.publish import Publication
from tacit.curator.suggest import Suggestion, question_for
from tacit.curator.walk import text_of
from tacit.doors.http import wire
from tacit.doors.remote.line import Line, asked_out, sent
from tacit.doors.remote.publications import publish
from tacit.doors.remote.rows import About, RemoteRows, rows_behind
from tacit.doors.remote.watches import RemoteWatch
from tacit.errors import TacitError
from tacit.ledger import Entry, Report
from tacit.loss.spent import Spent
from tacit.parameters import Number
from tacit.plan.asked import Asked

if TYPE_CHECKING:
    from tacit.curator import Curator
    from tacit.curator.database import Database

_MISSING: Final = "tacit.connect needs httpx, which is not installed: pip install 'tacit[server]'"


def connect(
    url: str, token: str, *, verify: ssl.SSLContext | bool = True, timeout: float = 300.0, transport: Any = None
) -> RemoteCurator:
    """The database that a server (`tacit serve`) shows to the holder of this token.

    `verify` may be an SSL context that trusts your own certificate authority. `transport` is for tests.

    >>> connect("ftp://host", "tacit-...")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.ParameterError: The 'url' parameter must be an address such as https://clinic.example:8400. Got ...
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
        return RemoteCurator(Line(client))
    except BaseException:
        client.close()
        raise


class RemoteCurator(Planner, Elsewhere):
    """A private database behind a server, as the holder of the token sees it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        me = line.get("/v1/me")
        if me.get("version") != __version__:
            raise TacitError(
                f"The server runs tacit {me.get('version')}, and this is {__version__}. Estimates are computed here: "
                "use the same version on both sides."
            )
        self.analyst: str = me["pays_as"]
        self.role: str = me["role"]
        self.dataset: str = me["dataset"]
        super().__init__(wire.policy_in(line.get("/v1/tables"), self.analyst))

    # -- asking ----------------------------------------------------------------------------------------

    def table(self, name: str) -> AskedSteps:
        """A question about one table, step by step: `.table("visits").group_by("sex").count().ask(0.5)`."""
        return AskedSteps(self, name)

    @in_words
    def ask(self, sql: object, asked: Asked) -> Answer:
        """The answer, paid for; or the stored one, free, where the same was asked before."""
        self.myself(asked.analyst)
        return wire.answer_in(self.line.post("/v1/ask", {"sql": text_of(sql), **asked_out(asked)}))

    def ask_all(
        self,
        questions: Sequence[object],
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        analyst: str | None = None,
    ) -> tuple[Answer, ...]:
        """The answers to several questions for one epsilon, planned together, paid once; asked again, free."""
        self.myself(analyst)
        said = {
            "questions": [sql_of(each) for each in questions],
            "epsilon": sent(epsilon),
            "delta": sent(delta),
        }
        return tuple(wire.answer_in(each) for each in self.line.post("/v1/ask_all", said)["answers"])

    def suggest(
        self,
        column: str,
        epsilon: Number | None = None,
        *,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Suggestion:
        """Bounds for a column that has none yet, bought: `clinic.suggest("visits.charge", epsilon=0.1)`."""
        self.myself(analyst)
        question_for(self.policy, column)  # an unknown column is refused here as it would be there
        said = {"column": column, "epsilon": sent(epsilon), "rows_per_unit": sent(rows_per_unit)}
        found = self.line.post("/v1/suggest", said)
        return Suggestion(**{**found, "epsilon": Fraction(found["epsilon"])})

    # -- studies, publications, watches ----------------------------------------------------------------

    def rows(self, sql: str, columns: Sequence[str] | None = None, *, rows_per_unit: int | None = None) -> RemoteRows:
        """Rows for a study, which runs there: `statistics.median(clinic.rows("SELECT age FROM visits"), ...)`."""
        return rows_behind(self, sql, columns, rows_per_unit)

    def studied(self, name: str, options: Mapping[str, Any]) -> Any:
        """The finding there of a study of columns, written "table.column"."""
        return About(self).studied(name, options)

    def fitted(self, model: Any, target: Any) -> Any:
        """Refused, as a curator is: a model is fitted to rows."""
        raise parameters.refuse("X", 'rows of a curator, curator.rows("SELECT ..."), or arrays', "a curator")

    def estimated(
        self, study: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any], rows: int | None
    ) -> Any:
        """What a study would cost there; free."""
        return About(self).estimated(study, arguments, options, rows)

    def publish(
        self,
        statistics: Mapping[str, object] | Iterable[object],
        epsilon: Number,
        *,
        delta: Number = 0,
        to: str | Path | None = None,
        title: str = "Statistics",
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Publication:
        """Release questions and planned studies together there, for one charge, and write them `to` a folder here."""
        self.myself(analyst)
        return publish(self, statistics, epsilon, delta, to, title, level)

    def watch(
        self,
        sql: str,
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
        """Counts, sums and means of a table that grows in time, released after every period and paid for once."""
        self.myself(analyst)
        said = {"sql": sql, "epsilon": sent(epsilon), "delta": sent(delta), "every": every, "time": time, "wait": wait}
        ends = {name: None if each is None else str(each) for name, each in (("since", since), ("until", until))}
        return RemoteWatch(self.line, {**said, **ends})

    def stored(self, entry: int) -> Answer:
        """The answer that an entry of the ledger paid for, once more and free."""
        return wire.answer_in(self.line.get(f"/v1/answers/{quote(str(entry), safe='')}"))

    # -- the budget ------------------------------------------------------------------------------------

    def budget(self, analyst: str | None = None) -> Standing:
        """How the dataset's budget stands, or one's own: which share is spent and which is left."""
        return wire.standing_in(self.line.get("/v1/budget", analyst=analyst)["standing"])

    def spent(self, analyst: str | None = None) -> Spent:
        """What has been spent, in the unit of the committed filter."""
        return wire.spent_in(self.line.get("/v1/budget", analyst=analyst)["spent"])

    def remaining(self, analyst: str | None = None) -> Spent:
        """What is left, in the unit of the committed filter."""
        return wire.spent_in(self.line.get("/v1/budget", analyst=analyst)["remaining"])

    def ledger(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Who asked what, when, and what it cost: everything for the owner, an analyst's own for an analyst."""
        found: list[Entry] = []
        while True:
            part = self.line.get("/v1/ledger", analyst=analyst, after=found[-1].sequence if found else 0)
            found += [wire.entry_in(each) for each in part["entries"]]
            if not part["more"]:
                return tuple(found)

    def number_of(self, sequence: object) -> int | None:
        """The number of an entry's question: 1, 2, 3, ... among those that are visible here."""
        from tacit.answer.standing import charges_of

        numbers = {str(each.sequence): place for place, each in enumerate(charges_of(self.ledger()), start=1)}
        return numbers.get(str(sequence))

    def verify(self) -> Report:
        """Whether the ledger is as it was sealed. For the owner and the auditor."""
        found = self.line.get("/v1/ledger/check")
        return Report(found["entries"], found["sealed"], tuple(found["findings"]))

    def resume(self, analyst: str | None = None, *, entry: int | None = None) -> tuple[Entry, ...]:
        """The owner's recorded word that failures were looked at: one analyst, or all, may go on asking."""
        said = {"analyst": analyst, "entry": entry}
        return tuple(wire.entry_in(each) for each in self.line.post("/v1/resume", said)["entries"])

    # -- coming and going ------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection. Everything charged is already durable."""
        self.line.client.close()

    def myself(self, analyst: str | None) -> None:
        """The server charges the name of the token. Another's name is refused here, before anything is sent."""
        if analyst not in (None, self.analyst):
            raise parameters.refuse("analyst", f"{self.analyst!r}, who is asking", analyst)

    def __getattr__(self, habit: str) -> Any:
        # only reached for missing names
        raise AttributeError(
            f"A database behind a server has no {habit!r}. It answers .ask(...), .ask_all(...), .estimate(...), "
            ".explain(...), .suggest(...), .publish(...), .watch(...), .budget() and .ledger(). Studies are in "
            "tacit.statistics."
        )

    def __str__(self) -> str:
        tables = ", ".join(self.policy.tables)
        return f"A private database of {tables} at {self.line.client.base_url}, asked by {self.analyst}."

    __repr__ = __str__

    def __enter__(self) -> RemoteCurator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


if TYPE_CHECKING:

    def _are_alike(local: Curator, remote: RemoteCurator) -> tuple[Database, Database]:
        return local, remote
