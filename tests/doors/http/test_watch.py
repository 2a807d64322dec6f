"""A watch behind a server: the periods of the curator's own watch, charged once, counted by the server's clock."""

from __future__ import annotations

import pytest

from tacit.doors.connect import RemoteCurator, connect
from tacit.errors import ParameterError, TacitError
from tests.doors.http.over_http import Way
from tests.doors.http.serving import Served

SQL = "SELECT department, count(*) AS n FROM visits GROUP BY department"


def _connected(served: Served, who: str) -> RemoteCurator:
    return connect("https://testserver", served.tokens[who], transport=Way(served.client))


def test_a_watch_over_http_is_the_watch_of_the_curator(served: Served) -> None:
    remote = _connected(served, "ana")
    watch = remote.watch(SQL, "0.5", every="100 days")
    periods = watch.catch_up()
    assert (watch.periods, watch.over, len(periods)) == (4, 4, 4)  # the year of the clinic's visits is over
    again = remote.watch(SQL, "0.5", every="100 days").catch_up()
    assert again == periods
    charges = [each for each in remote.ledger() if "watch" in str(each.details)]
    assert len(charges) == 1
    own = served.server.datasets[0].curator.seen_by("ana")
    here = own.watch(SQL, "0.5", every="100 days")
    assert here.catch_up() == periods
    here.close()
    assert periods[0].keys == here._plans.watched.shown
    remote.close()


def test_nobody_who_asks_can_set_the_clock_of_the_server(served: Served) -> None:
    remote = _connected(served, "ana")
    watch = remote.watch(SQL, "0.5", every="100 days")
    with pytest.raises(ParameterError, match="its own clock"):
        watch.catch_up("2030-01-01")
    body = {"sql": SQL, "epsilon": "0.5", "every": "100 days", "now": "2030-01-01"}
    assert served.post("/v1/watch", body).status_code == 400
    remote.close()


def test_what_cannot_be_watched_is_refused_before_anything_is_charged(served: Served) -> None:
    remote = _connected(served, "ana")
    before = remote.ledger()
    for sql in ("SELECT median(charge) FROM visits", "SELECT count(DISTINCT patient) AS n FROM visits"):
        with pytest.raises(TacitError):
            remote.watch(sql, "0.5", every="100 days")
        reply = served.post("/v1/watch", {"sql": sql, "epsilon": "0.5", "every": "100 days"})
        assert 400 <= reply.status_code < 500
    assert remote.ledger() == before
    remote.close()
