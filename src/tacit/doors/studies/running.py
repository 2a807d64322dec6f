"""A named study at a curator: its rows, its options, its result; or only its price.

Promise: the study is called as from Python, with rows of this curator and the given options. So everything that it
refuses is refused here, in its own words, and the curator charges its price to the person in the seat.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit import parameters
from tacit.answer import Answer
from tacit.curator import Curator, Rows
from tacit.doors.studies.parameters import chosen
from tacit.doors.studies.registry import Named
from tacit.loss.worth import AskedPrice
from tacit.statistics.estimating import StudyEstimate, estimate
from tacit.statistics.finding import Finding

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request for a study: its rows and its options."""

    named: Named
    sql: str | None = None
    """A SELECT without aggregates; or None, with the columns written "table.column"."""
    columns: tuple[str, ...] = ()
    rows_per_unit: int | None = None
    target: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """The options as the study takes them. Refused where a name is not one of its own."""
        found = chosen(self.named.parameters, self.options, self.named.name)
        if self.columns:
            if not self.named.takes_columns:
                raise parameters.refuse("columns", f"left out: {self.named.name} takes rows", ", ".join(self.columns))
            found["columns"] = self.columns[0] if len(self.columns) == 1 else list(self.columns)
        if self.sql is None and self.rows_per_unit is not None:
            found["rows_per_unit"] = self.rows_per_unit
        return found

    def rows(self, curator: Curator) -> Curator | Rows:
        """The rows that the study is about. Free: no row is read."""
        if self.sql is None:
            if not self.columns:
                raise parameters.refuse("sql", "given: a SELECT of the rows that the study is about", None)
            return curator
        return curator.rows(self.sql, rows_per_unit=self.rows_per_unit)


@dataclass(frozen=True, slots=True)
class Made:
    """What a study released: its finding, and the model or synthetic data itself."""

    kind: str  # "finding", "model" or "synthetic"
    finding: Finding
    thing: Any = None

    @property
    def table(self) -> Answer:
        """What was released as a plain table."""
        return self.finding.table()

    def content(self) -> dict[str, Any]:
        """As JSON, from which `read` makes the same."""
        content: dict[str, Any] = {
            "kind": self.kind,
            **finding_content(self.finding),
            "receipt": self.finding.receipt,
            "text": str(self.finding) if self.kind == "finding" else str(self.thing),
        }
        if self.kind == "model":
            from tacit.learning.files import to_bytes

            content["model"] = json.loads(to_bytes(self.thing))
        return content


def finding_content(finding: Finding) -> dict[str, Any]:
    """A finding as the ledger stores it, and whether it was stored before."""
    return {"finding": json.loads(finding.to_bytes()), "repeated": finding.repeated}


def read_finding(content: Mapping[str, Any]) -> Finding:
    """The same finding."""
    return Finding.from_bytes(json.dumps(content["finding"]).encode(), repeated=content["repeated"] is True)


def read(content: Mapping[str, Any]) -> Any:
    """What `Made.content` was made from: a finding, a model or synthetic data."""
    finding = read_finding(content)
    if content["kind"] == "synthetic":
        from tacit.synthesis import Synthetic

        return Synthetic(finding)
    if content["kind"] == "model":
        from tacit.learning.files import from_bytes

        return from_bytes(json.dumps(content["model"]).encode(), "The model")
    return finding


def run(wanted: Wanted, curator: Curator, progress: Progress | None = None) -> Made:
    """The study, paid for; or the stored one, free. `progress` gets the share that is done, where released numbers say.

    The progress of a computation on private rows is never shown.
    """
    arguments, rows = wanted.arguments(), wanted.rows(curator)
    named = wanted.named
    if named.is_model:
        model = named.made(**arguments)
        model.fit(rows, _target(wanted))
        return Made("model", model.finding_, model)
    _no_target(wanted)
    if progress is not None and "progress" in inspect.signature(named.made).parameters:
        arguments["progress"] = progress
    found = named.made(rows, **arguments)
    return Made("finding", found) if isinstance(found, Finding) else Made("synthetic", found._finding, found)


def price(wanted: Wanted, curator: Curator, rows: int | None = None) -> StudyEstimate:
    """What it would cost and how far it would be off; free."""
    arguments, about = wanted.arguments(), wanted.rows(curator)
    named = wanted.named
    if named.is_model:
        return estimate(named.made(**arguments).fit, about, _target(wanted), rows=rows)
    _no_target(wanted)
    return estimate(named.made, about, rows=rows, **arguments)


def estimate_content(found: StudyEstimate) -> dict[str, Any]:
    """An estimate as JSON, from which `read_estimate` makes the same."""
    asked = found.asked
    return {
        "event": found.event.to_dict(),
        "asked": {
            "epsilon": None if asked.epsilon is None else parameters.as_text(asked.epsilon),
            "rho": None if asked.rho is None else parameters.as_text(asked.rho),
            "delta": parameters.as_text(asked.delta),
        },
        "share": None if found.share is None else parameters.as_text(found.share),
        "fits": found.fits,
        "errors": [
            {"column": each.name, "rows": each.rows, "half_width": each.half_width, "level": each.level}
            for each in found.errors
        ],
        "notes": list(found.notes),
        "sentence": str(found),
    }


def read_estimate(content: Mapping[str, Any]) -> StudyEstimate:
    """The same estimate."""
    from fractions import Fraction

    from tacit.loss.events import from_json
    from tacit.statistics.estimating import ExpectedWidth

    asked, share = content["asked"], content["share"]
    exact = {name: None if asked[name] is None else Fraction(asked[name]) for name in ("epsilon", "rho")}
    return StudyEstimate(
        from_json(json.dumps(content["event"])),
        AskedPrice(exact["epsilon"], exact["rho"], Fraction(asked["delta"])),
        None if share is None else Fraction(share),
        content["fits"],
        tuple(ExpectedWidth(e["column"], e["rows"], e["half_width"], e["level"]) for e in content["errors"]),
        tuple(content["notes"]),
    )


def _target(wanted: Wanted) -> str | None:
    if wanted.named.takes_target and wanted.target is None:
        raise parameters.refuse("target", f"given: which column {wanted.named.name} predicts", None)
    return wanted.target


def _no_target(wanted: Wanted) -> None:
    if wanted.target is not None:
        raise parameters.refuse("target", f"left out: {wanted.named.name} predicts nothing", wanted.target)
