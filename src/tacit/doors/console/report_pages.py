"""Reports for the owner alone: how risky a raw table would be, and what attacks find in the policy's own questions.

Promise: measurements of a raw table are exact, so they say NOT FOR RELEASE, go to the owner's browser, and are kept
nowhere. The policy says which file is read, never a request: a form names one of its tables. An audit reads no real
row: its questions are asked of made-up rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request as Incoming

from tacit import parameters
from tacit.answer.shown import safe
from tacit.doors.console.page import Page, sentence
from tacit.doors.http.app import begin_job
from tacit.doors.http.datasets import Seat
from tacit.doors.http.replies import Request
from tacit.doors.http.roles import Route
from tacit.errors import TacitError
from tacit.policy import ColumnUnit, Table

if TYPE_CHECKING:
    from tacit.audit import Report, Risk
    from tacit.doors.http.app import Server

_RISK: Final = ("table", "columns", "sensitive", "person")
_FILES: Final = (".csv", ".parquet")
_SHOWN_SETS: Final = 30
MOST_SAMPLES: Final = 10_000


def risk_form(seat: Seat, request: Request) -> Page:
    """Which table, and what others may know."""
    return _risk(seat, dict.fromkeys(_RISK, ""))


def risk_measured(seat: Seat, request: Request) -> Page:
    """Who is unique in a raw table. NOT FOR RELEASE."""
    from tacit.audit import risk

    said = {name: request.query.get(name, "").strip()[:2_000] for name in _RISK}
    try:
        files = _files_of(seat)
        if said["table"] not in files:
            raise parameters.refuse("table", f"one of {', '.join(files) or 'none: no table is a file'}", said["table"])
        columns = [each.strip() for each in said["columns"].split(",") if each.strip()]
        found = risk(files[said["table"]], columns, said["sensitive"] or None, person=said["person"] or None)
    except TacitError as refusal:
        return _risk(seat, said, {"refusal": sentence(refusal, seat)})
    return _risk(seat, said, {"found": _found(found)})


def audit_form(seat: Seat, request: Request) -> Page:
    """How many draws."""
    return Page("audit.html", {"most": f"{MOST_SAMPLES:,}", "samples": "1000"})


def audit_begun(server: Server, route: Route, seat: Seat, incoming: Incoming, request: Request) -> Page:
    """Begin an audit, and go to its page."""
    from tacit.audit import audit_policy

    text = request.query.get("samples", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 100 <= int(text) <= MOST_SAMPLES):
        refusal = parameters.refuse("samples", f"a whole number from 100 to {MOST_SAMPLES:,}", text[:20])
        return Page("audit.html", {"most": f"{MOST_SAMPLES:,}", "samples": text[:20], "refusal": str(refusal)})
    kept: dict[str, Report] = {}

    def does(own: Seat, told: Request) -> tuple[bytes, str]:
        def heard(name: str, done: int, of: int) -> None:
            if told.progress is not None:
                told.progress(done / of)

        kept["report"] = audit_policy(own.curator.policy, samples=int(text), told=heard)
        return b"", "text/html"

    job = begin_job(server, route, seat, incoming, does, request)
    job.about, job.result = "audit", kept
    return Page("", to=f"/jobs/{job.id}")


def report_content(report: Report) -> dict[str, Any]:
    """An audit, for its page."""
    rows = [
        {
            "name": safe(each.name),
            "outcome": each.outcome,
            "claimed": f"{each.epsilon:.3g}",
            "found": f"{each.found:.3g}",
        }
        for each in report.tried
    ]
    said = str(report).splitlines()[len(report.tried) :]
    return {"rows": rows, "said": [safe(each) for each in said], "violated": len(report.violated)}


def _risk(seat: Seat, said: Mapping[str, str], more: Mapping[str, Any] | None = None) -> Page:
    policy = seat.curator.policy
    tables = [{"name": name, "columns": _columns(policy.tables[name])} for name in _files_of(seat)]
    return Page("risk.html", {"said": said, "files": tables, **(more or {})})


def _columns(table: Table) -> str:
    """The columns that the policy names, and the one that identifies people."""
    named = [safe(each) for each in table.columns]
    if isinstance(table.unit, ColumnUnit):
        named.append(f"{safe(table.unit.column)} (tells people apart)")
    return ", ".join(named)


def _files_of(seat: Seat) -> dict[str, Path]:
    """The tables of the policy that are CSV or Parquet files, and where those are."""
    beside = seat.dataset.path.parent
    return {
        name: beside / table.source.path
        for name, table in seat.curator.policy.tables.items()
        if table.source.format in ("csv", "parquet") and table.source.path.lower().endswith(_FILES)
    }


def _found(found: Risk) -> dict[str, Any]:
    from tacit.audit.risk import WARNING

    return {
        "warning": WARNING,
        "whole": safe(str(found.whole)),
        "sensitive": found.sensitive is not None,
        "harm": [
            {"column": safe(each.column), "adds": f"{each.share:.1%}", "without": f"{each.without:.1%}"}
            for each in found.harm
        ],
        "sets": [
            {
                "columns": safe(", ".join(each.columns)),
                "unique": f"{each.unique:,}",
                "share": f"{each.unique_share:.1%}",
                "few": f"{each.at_risk:,}",
                "k": f"{each.k:,}",
                "l": "" if each.l is None else str(each.l),
                "t": "" if each.t is None else f"{each.t:.2f}",
            }
            for each in found.sets[:_SHOWN_SETS]
        ],
        "left_out": max(0, len(found.sets) - _SHOWN_SETS),
        "names": [safe(each) for each in found.columns],
        "smallest": [
            {"values": [safe(str(value)) for value in each.values], "size": f"{each.size:,}"} for each in found.smallest
        ],
    }


PAGES: Final = {"page_risk": risk_form, "page_risk_measured": risk_measured, "page_audit": audit_form}
JOB_PAGES: Final = {"page_audit_run": audit_begun}
