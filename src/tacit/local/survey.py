"""A survey whose answers are randomised at home: one public description that clients and the collector share.

    survey = Survey(tacit.one_of("yes", "no"), epsilon=1)
    report = survey.client().answer("yes")              # at home: a few bytes
    survey.collect(reports)                             # a finding: shares with intervals

Promise: everything about a survey is public and stands in `to_json`; whoever has the text makes the same clients and
the same collector. What one person's report tells of their answer is at most `epsilon`, whoever sees it, this collector
included (neighbours: one person's answer, replaced by any other). Collecting costs nothing more: it is work on reports.

Reports come from people nobody controls. One that belongs to another survey, is malformed, or comes twice is refused,
counted and told on the finding. One that is well formed but made up cannot be told from an honest one: `influence` says
how far any number of them can move a share.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.errors import ParameterError
from tacit.local import crowd, laws
from tacit.local.client import VERSION, Client, canonical, survey_id
from tacit.local.numbers import distribution, steps_told
from tacit.local.reading import Read, read_reports
from tacit.local.shares import consistent, shares
from tacit.loss import events
from tacit.loss.numbers.rounding import float_up
from tacit.noise import BitSource, secure
from tacit.policy.columns import Facts
from tacit.statistics.finding import Content, Finding, column

_MOST_OPTIONS: Final = 1 << 24
_LEAST_FOR_A_MEAN: Final = 30


@dataclass(frozen=True, slots=True)
class Batch:
    """Reports of many people, as arrays; what `simulate` makes and `collect` takes."""

    survey: str
    reports: Any

    def __len__(self) -> int:
        return len(self.reports)


class Survey:
    """One question, and how answers to it are randomised.

    question: `one_of(...)`, `between(low, high)`, or a mapping of names to several `one_of`, asked together.
    protocol: "best", or for listed answers one of k-ary, symmetric unary, optimal unary, hashing, hadamard, subset; for
    numbers sign, piecewise, hybrid (means), or distribution.
    """

    def __init__(self, question: Any, *, epsilon: Any, protocol: str = "best", name: str = "") -> None:
        exact = parameters.price("epsilon", epsilon)
        asked, law = _asked(question, exact, protocol)
        self.description: dict[str, Any] = {
            "version": VERSION,
            "name": str(name),
            "question": asked,
            "epsilon": str(exact),
            "law": law,
        }
        Client(self.description)  # refuses what a client would refuse

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """The survey that `to_json` wrote."""
        made = cls.__new__(cls)
        made.description = json.loads(text)
        Client(made.description)
        return made

    def to_json(self) -> str:
        """The public description, in its one text."""
        return canonical(self.description)

    @property
    def id(self) -> str:
        """What reports of this survey begin with."""
        return survey_id(self.description)

    @property
    def law(self) -> dict[str, Any]:
        """The randomiser and its weights."""
        found: dict[str, Any] = self.description["law"]
        return found

    @property
    def epsilon(self) -> Fraction:
        """What one report tells at most."""
        return Fraction(self.description["epsilon"])

    @property
    def answers(self) -> list[Any]:
        """The listed answers; none where a number is asked for."""
        return list(self.description["question"].get("values", ()))

    def __repr__(self) -> str:
        asked = self.description["question"]
        about = f"{len(asked['values'])} answers" if "values" in asked else f"{asked['low']} to {asked['high']}"
        bits = laws.report_bits(self.law)
        return f"Survey({about}, epsilon {float(self.epsilon):g}, {self.law['kind']}, {bits} bits a report)"

    def client(self, odometer: Any = None) -> Client:
        """What runs at a person's home."""
        return Client(self.description, odometer)

    def simulate(self, truths: Any, *, bits: BitSource | None = None) -> Batch:
        """Reports of many true answers at once: numbers of options, or numbers within the bounds."""
        source = secure() if bits is None else bits
        return Batch(self.id, crowd.encode(self.law, self._numbers(np.asarray(truths), source), source))

    def _numbers(self, truths: Any, bits: BitSource) -> Any:
        asked = self.description["question"]
        if "values" in asked:
            codes = truths.astype(np.int64)
            if codes.size and (codes.min() < 0 or codes.max() >= len(asked["values"])):
                raise parameters.refuse("truths", f"numbers of options, 0 to {len(asked['values']) - 1}", "others")
            return codes
        low, high = float(Fraction(asked["low"])), float(Fraction(asked["high"]))
        places = np.clip((truths.astype(np.float64) - low) / (high - low), 0.0, 1.0) * asked["steps"]
        whole = np.floor(places)
        up = (bits.words(len(places)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 < places - whole
        return np.minimum(whole + up, asked["steps"]).astype(np.int64)

    def collect(self, reports: Batch | Iterable[Any], *, level: parameters.Number = "0.95") -> Finding:
        """What all reports together tell."""
        exact = float(parameters.level("level", level))
        read = self._read(reports)
        if len(read.reports) == 0:
            raise parameters.refuse("reports", "at least one report of this survey", "none")
        content = self._shares(read, exact) if self.answers else self._number(read, exact)
        return finding_of_reports(content, self.epsilon, exact)

    def _read(self, reports: Batch | Iterable[Any]) -> Read:
        if isinstance(reports, Batch):
            if reports.survey != self.id:
                raise parameters.refuse("reports", "of this survey", f"reports of survey {reports.survey}")
            return Read(reports.reports, Counter())
        return read_reports(self.id, self.law, reports)

    def _shares(self, read: Read, level: float) -> Content:
        people = len(read.reports)
        estimate, low, high = shares(self.law, crowd.support(self.law, read.reports), people, level)
        keys = [" / ".join(map(str, each)) if isinstance(each, list) else each for each in self.answers]
        table = (
            column("answer", keys),
            column("share", estimate, low, high),
            column("consistent", consistent(estimate)),
        )
        notes = (
            f"{people:,} reports. Intervals cover the share among those who answered, and in the population if "
            "they are a random sample of it; each has its own level. 'consistent' is the nearest distribution.",
            *read.notes,
        )
        return Content(self._title("Shares"), table, notes, {"people": people})

    def _number(self, read: Read, level: float) -> Content:
        asked, people = self.description["question"], len(read.reports)
        low, high = Fraction(asked["low"]), Fraction(asked["high"])
        step = float((high - low) / asked["steps"])
        told = float(low) + step * steps_told(self.law, read.reports)
        mean = float(np.mean(told))
        notes = [f"{people:,} reports.", *read.notes]
        ends: tuple[Any, Any] = (None, None)
        if people >= _LEAST_FOR_A_MEAN:
            from scipy.special import ndtri

            reach = float(ndtri((1 + level) / 2)) * float(np.std(told, ddof=1)) / people**0.5
            ends = ([max(mean - reach, float(low))], [min(mean + reach, float(high))])
            notes.append("The interval covers the mean of those who answered.")
        else:
            notes.append(f"Fewer than {_LEAST_FOR_A_MEAN} reports: no interval.")
        arrays: dict[str, Any] = {"people": people}
        if self.law["kind"] == "window":
            arrays["distribution"] = distribution(self.law, crowd.support(self.law, read.reports))
        kept = min(max(mean, float(low)), float(high))
        return Content(self._title("Mean"), (column("mean", [kept], *ends),), tuple(notes), arrays)

    def _title(self, what: str) -> str:
        name = self.description["name"]
        return f"{what} of {name!r}" if name else what

    def shuffled(self, people: int) -> events.Shuffled:
        """The event of `people` reports whose order and origin a shuffler drops; `loss.compose` prices it."""
        number = parameters.whole("people", people, least=1)
        if self.law["kind"] == "k-ary":
            local: events.Event = events.RandomizedResponse(self.epsilon, self.law["options"])
        else:
            local = events.Pure(self.epsilon)
        return events.Shuffled(local, number)

    def influence(self, forged: int, people: int) -> float:
        """How far `forged` made-up reports among `people` in all can move the estimated share of an answer."""
        made_up = parameters.whole("forged", forged)
        everyone = parameters.whole("people", people, least=1)
        if not self.answers:
            raise ParameterError("Influence is stated for listed answers; a made-up report moves a mean without bound.")
        p, q = laws.supports(self.law)
        return float_up(Fraction(made_up, everyone) * max(1 - q, q, 1 - p, p) / (p - q) * 2)


def finding_of_reports(content: Content, epsilon: Fraction | str, level: float) -> Finding:
    """A finding that nobody paid for: everyone randomised their own answer."""
    exact = Fraction(epsilon)
    facts = {
        "unit": "one person",
        "neighbours": "one person's answer, replaced by any other",
        "epsilon": parameters.as_text(exact),
        "delta": "0",
        "rows_per_unit": "1",
        "entry": "none (everyone randomised their own answer)",
        "event": events.Pure(exact).to_json(),
    }
    arrays = dict(content.arrays)
    return Finding(content.title, content.columns, content.notes, arrays, level, facts, content.drawing)


def _asked(question: Any, epsilon: Fraction, protocol: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The question as JSON, and the law of its reports."""
    if isinstance(question, Mapping):
        parts = [_listed(name, each) for name, each in question.items()]
        values: list[Any] = [list(each) for each in itertools.product(*parts)]
        asked: dict[str, Any] = {"values": values, "names": [str(name) for name in question]}
    elif isinstance(question, Facts) and question.values is not None:
        asked = {"values": _listed("question", question)}
    elif isinstance(question, Facts) and question.lower is not None:
        return _number_asked(question, epsilon, protocol)
    else:
        raise parameters.refuse(
            "question", "one_of(...), between(low, high), or a mapping of names to one_of", question
        )
    options = len(asked["values"])
    if not 2 <= options <= _MOST_OPTIONS:
        raise parameters.refuse("question", f"2 to {_MOST_OPTIONS:,} answers", options)
    known = laws.FREQUENCIES
    chosen = laws.best(options, epsilon) if protocol == "best" else protocol
    if chosen not in known:
        raise parameters.refuse("protocol", f"best, or one of {', '.join(known)}", protocol)
    return asked, known[chosen](options, epsilon)


def _number_asked(question: Facts, epsilon: Fraction, protocol: str) -> tuple[dict[str, Any], dict[str, Any]]:
    low, high = (parameters.as_written("question", end) for end in (question.lower, question.upper))
    if low >= high:
        raise parameters.refuse("question", "bounds with the lower one below the upper one", (low, high))
    chosen = "hybrid" if protocol == "best" else protocol
    if chosen not in laws.NUMBERS:
        raise parameters.refuse("protocol", f"best, or one of {', '.join(laws.NUMBERS)}", protocol)
    asked = {"low": str(low), "high": str(high), "steps": laws.STEPS}
    return asked, laws.NUMBERS[chosen](laws.STEPS, epsilon)


def _listed(name: str, facts: Any) -> list[Any]:
    if not isinstance(facts, Facts) or facts.values is None:
        raise parameters.refuse(str(name), "one_of(...): questions asked together need listed answers", facts)
    if not all(isinstance(each, (str, int)) for each in facts.values):
        raise parameters.refuse(str(name), "texts, whole numbers or truth values", list(facts.values))
    return list(facts.values)
