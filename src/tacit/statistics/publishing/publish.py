"""A set of statistics decided beforehand, released together: one charge, one receipt, and files for a web page.

    publish(clinic, {
        "visits by sex": "SELECT sex, count(*) AS n FROM visits GROUP BY sex",
        "best price": planned(best_price, "visits.bid", prices=[5, 10]),
    }, epsilon=1, to="site")

Theorem. Every statistic gets an equal share of epsilon and delta. The questions are planned together (`ask_all`), each
study is called once on a source that stops it where it would pay, which tells its price and reads no row; then the
composition of all is charged, and after that questions and studies are computed from the paid data. A study that asks
for another price the second time gets nothing. Published again, everything comes from the ledger's store, for nothing.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.shown import readable
from tacit.curator import Curator, Rows
from tacit.curator.joint import Part, release_jointly
from tacit.errors import QuestionError
from tacit.noise import secure
from tacit.statistics.finding import Finding
from tacit.statistics.prepaid import Prepaid, price_of
from tacit.statistics.publishing.report import write_report
from tacit.statistics.source import CuratorSource, Source, _FromEngine, source_of


@dataclass(frozen=True, slots=True)
class Planned:
    """A study to be made later: of which columns or rows, with which options but without a price."""

    study: Callable[..., Finding]
    of: str | Sequence[str] | Rows
    options: Mapping[str, Any]


def planned(study: Callable[..., Finding], of: str | Sequence[str] | Rows, **options: Any) -> Planned:
    """A study for `publish`: `planned(median, "visits.age")`. Its epsilon and delta are given there."""
    for name in ("epsilon", "delta", "analyst"):
        if name in options:
            raise parameters.refuse(name, "given to publish, for all statistics together", options[name])
    return Planned(study, of, options)


@dataclass(frozen=True, slots=True, repr=False)
class Publication:
    """What was published: the results by name, the one receipt, and the files if any were written."""

    results: Mapping[str, Answer | Finding]
    receipt: Mapping[str, str]
    files: tuple[Path, ...]
    repeated: bool

    def __getitem__(self, name: str) -> Answer | Finding:
        if name not in self.results:
            raise parameters.refuse("name", f"one of {', '.join(self.results)}", name)
        return self.results[name]

    def __repr__(self) -> str:
        paid = "stored, nothing charged" if self.repeated else f"epsilon {readable(self.receipt['epsilon'])}"
        return f"Publication({', '.join(self.results)}; {paid})"


def publish(
    curator: Curator,
    statistics: Mapping[str, object],
    *,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    to: str | Path | None = None,
    title: str = "Statistics",
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Publication:
    """Release questions in SQL and planned studies together, and write them `to` a folder.

    There: index.html with drawings, statistics.json with all intervals, and a CSV for each statistic.
    """
    if not isinstance(statistics, Mapping) or not statistics:
        raise parameters.refuse("statistics", "a mapping of names to questions and planned studies", statistics)
    whole, slip = parameters.positive("epsilon", epsilon), parameters.probability("delta", delta)
    exact_level = parameters.open_probability("level", level)
    share = (whole / len(statistics), slip / len(statistics))
    studies = {name: each for name, each in statistics.items() if isinstance(each, Planned)}
    questions = {name: each for name, each in statistics.items() if name not in studies}
    folder = None if to is None else Path(to)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)  # before anything is paid
    parts = [_part(curator, name, each, *share) for name, each in studies.items()]
    joint = release_jointly(curator, list(questions.values()), parts, whole, slip, analyst)
    results: dict[str, Answer | Finding] = dict(zip(questions, joint.answers, strict=True))
    for name, text in zip(studies, joint.texts, strict=True):
        results[name] = Finding.from_bytes(text.encode(), repeated=joint.repeated)
    ordered = {name: results[name] for name in statistics}
    receipt = {
        "unit": next(iter(ordered.values())).receipt["unit"],
        "epsilon": parameters.as_text(whole),
        "delta": parameters.as_text(slip),
        "entry": joint.entry,
        "event": joint.event,
        "statistics": json.dumps(list(ordered)),
    }
    files = () if folder is None else write_report(folder, str(title), ordered, receipt, float(exact_level))
    return Publication(ordered, receipt, files, joint.repeated)


def _part(curator: Curator, name: str, each: Planned, epsilon: Fraction, delta: Fraction) -> Part:
    options = dict(each.options)
    rows = options.pop("rows_per_unit", None)
    source = source_of(each.of) if isinstance(each.of, Rows) else source_of(curator, each.of, rows_per_unit=rows)
    if not isinstance(source, CuratorSource) or source.rows.curator is not curator:
        raise QuestionError(f"{name!r} is about the rows of another curator.")
    known = inspect.signature(each.study).parameters
    asking: dict[str, Any] = {**options, "epsilon": epsilon}
    if delta and "delta" in known:
        asking["delta"] = delta

    def study(data: Source) -> Finding:
        return each.study(data, **asking)

    asked, price = price_of(source, None, study)

    def compute(run: Any, receipt: Any) -> str:
        opened, entry = _FromEngine(source.rows.plan, run), str(receipt.sequence)
        allowance = Prepaid(source, opened, secure(), price.epsilon, price.delta, only=price.event, entry=entry)
        return study(allowance).to_bytes().decode()

    rows_asked = {"rows": source.rows.plan.text, "rows_per_unit": source.rows_per_unit}
    return Part({**asked, "name": name, **rows_asked}, price, compute)
