"""Pages of watches: a question whose totals are released after every period."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit.answer.shown import safe
from tacit.doors.console.page import Page, sentence
from tacit.doors.console.words import facts, tables_of
from tacit.doors.http.datasets import Seat
from tacit.doors.http.replies import Request
from tacit.errors import TacitError

_WATCH: Final = ("sql", "every", "epsilon", "delta", "wait")


def watch_form(seat: Seat, request: Request) -> Page:
    """A question whose totals are told after every period."""
    return _watch(seat, dict.fromkeys(_WATCH, ""))


def watched(seat: Seat, request: Request) -> Page:
    """Every period that is over; paid for once, free afterwards."""
    said = {name: request.query.get(name, "").strip()[:100_000] for name in _WATCH}
    try:
        options = {name: said[name] for name in ("delta", "wait") if said[name]}
        found = seat.curator.watch(said["sql"], said["epsilon"], every=said["every"], **options)
        try:
            periods, in_all = found.catch_up(), found.periods
        finally:
            found.close()
    except TacitError as refusal:
        return _watch(seat, said, refusal=sentence(refusal, seat))
    rows = [
        {
            "from": str(period.start)[:16],
            "to": str(period.end)[:16],
            "key": safe(" / ".join(map(str, key))) or "all",
            "cells": [_total(value, off) for value, off in zip(totals, far, strict=True)],
        }
        for period in periods
        for key, totals, far in zip(period.keys, period.totals, period.within_95, strict=True)
    ]
    names = [safe(each) for each in periods[0].names] if periods else []
    return _watch(seat, said, rows=rows, names=names, in_all=in_all, over=len(periods))


def _total(value: float | None, off: float | None) -> str:
    return "too few to tell" if value is None or off is None else f"{value:,.1f} +/- {off:,.1f}"


def _watch(seat: Seat, said: Mapping[str, str], **more: Any) -> Page:
    content = {"said": said, "tables": tables_of(seat.curator.policy), "policy": facts(seat)}
    return Page("watch.html", {**content, **more})


PAGES: Final = {"page_watch": watch_form, "page_watched": watched}
