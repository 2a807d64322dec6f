"""A set of statistics decided beforehand, released together: one charge, one receipt, and files for a web page.

    clinic.publish({
        "visits by sex": "SELECT sex, count(*) AS n FROM visits GROUP BY sex",
        "best price": planned(best_price, "visits.bid", prices=[5, 10]),
    }, epsilon=1, to="site")

Theorem. Every statistic gets an equal share of epsilon and delta. The questions are planned together (`ask_all`), each
planned study tells its price; then the composition of all is charged, and after that questions and studies are computed
from the paid data. Published again, everything comes from the ledger's store, free.

The curator knows studies by what they can do (`Study`), not by name: they live in rooms above this one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tacit import parameters
from tacit.answer import Answer, Standing
from tacit.answer.report import Reported, reported, write_report
from tacit.answer.shown import readable
from tacit.curator.joint import Part, release_jointly

if TYPE_CHECKING:
    from tacit.curator.curator import Curator


class Released(Protocol):
    """What a study released: a table that can be reported, and how it was paid for."""

    @property
    def receipt(self) -> dict[str, str]:
        """Who paid what for it, and where it stands in the ledger."""

    def __getitem__(self, name: str) -> Any:
        """A column."""

    def reported(self) -> Reported:
        """As a report shows it."""


@runtime_checkable
class Study(Protocol):
    """A statistic that is not a question in SQL, without its price."""

    @property
    def label(self) -> str:
        """Its name where none is given."""

    def part(self, curator: Curator, name: str, epsilon: Fraction, delta: Fraction, level: Fraction) -> Part:
        """Its part of a joint release, at this epsilon and delta, with intervals of this level. Reads no row."""

    def read(self, text: str, *, repeated: bool) -> Released:
        """The result of its part."""


@dataclass(frozen=True, slots=True, repr=False)
class Publication:
    """What was published: the results by name, the one receipt, and the files if any were written.

    >>> published = clinic.publish({"visits": "SELECT count(*) AS n FROM visits"}, "0.1")
    >>> published["visits"].names, published.receipt["epsilon"]
    (('n',), '1/10')
    """

    results: Mapping[str, Answer | Released]
    receipt: Mapping[str, str]
    files: tuple[Path, ...]
    repeated: bool

    def __getitem__(self, name: str) -> Any:
        if name not in self.results:
            raise parameters.refuse("name", f"one of {', '.join(self.results)}", name)
        return self.results[name]

    def __repr__(self) -> str:
        paid = "stored, nothing charged" if self.repeated else f"epsilon {readable(self.receipt['epsilon'])}"
        return f"Publication({', '.join(self.results)}; {paid})"


def publish(
    curator: Curator,
    statistics: object,
    epsilon: parameters.Number,
    delta: parameters.Number,
    to: str | Path | None,
    title: str,
    level: parameters.Number,
    analyst: str | None,
) -> Publication:
    """Release questions and studies together: see `Curator.publish`."""
    wanted = named_statistics(statistics)
    whole, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
    exact_level = parameters.level("level", level)
    share = (whole / len(wanted), slip / len(wanted))
    studies = {name: each for name, each in wanted.items() if isinstance(each, Study)}
    questions = {name: each for name, each in wanted.items() if name not in studies}
    folder = None if to is None else Path(to)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)  # before anything is paid
    parts = [each.part(curator, name, *share, exact_level) for name, each in studies.items()]
    joint = release_jointly(curator, list(questions.values()), parts, whole, slip, analyst)
    answers = dict(zip(questions, joint.answers, strict=True))
    found = {
        name: study.read(text, repeated=joint.repeated)
        for (name, study), text in zip(studies.items(), joint.texts, strict=True)
    }
    results: dict[str, Answer | Released] = {name: answers[name] if name in answers else found[name] for name in wanted}
    receipt = {
        "unit": " or ".join(dict.fromkeys(each.receipt["unit"] for each in results.values())),
        "epsilon": parameters.as_text(whole),
        "delta": parameters.as_text(slip),
        "entry": joint.entry,
        "number": str(curator.number_of(joint.entry) or joint.entry),  # numbered as `tacit ledger` shows them
        "event": joint.event,
        "statistics": json.dumps(list(results)),
    }
    files: tuple[Path, ...] = ()
    if folder is not None:
        files = write_files(folder, title, results, receipt, exact_level, curator.budget())
    return Publication(results, receipt, files, joint.repeated)


def write_files(
    folder: Path,
    title: str,
    results: Mapping[str, Answer | Released],
    receipt: Mapping[str, str],
    level: Fraction,
    standing: Standing,
) -> tuple[Path, ...]:
    """The files of a publication, written to a folder that is there."""
    shown = {
        name: reported(each, float(level)) if isinstance(each, Answer) else each.reported()
        for name, each in results.items()
    }
    return write_report(folder, str(title), shown, receipt, float(level), standing.for_readers)


def named_statistics(statistics: object) -> dict[str, object]:
    """Each statistic with its name: a given one, or the study's own, or the question's text."""
    if isinstance(statistics, Mapping) and statistics:
        names = [str(name) for name in statistics]
        if len(set(names)) < len(names):
            raise parameters.refuse("names of statistics", "all different", ", ".join(names))
        return dict(zip(names, statistics.values(), strict=True))
    if isinstance(statistics, (str, Mapping)) or not isinstance(statistics, Iterable):
        raise _nothing(statistics)
    named: dict[str, object] = {}
    for each in statistics:
        own = each.label if isinstance(each, Study) else " ".join(str(each).split())
        name, number = own, 1
        while name in named:
            number += 1
            name = f"{own} ({number})"
        named[name] = each
    if not named:
        raise _nothing(statistics)
    return named


def _nothing(found: object) -> Exception:
    return parameters.refuse("statistics", "questions and planned studies, in a list or by name in a mapping", found)
