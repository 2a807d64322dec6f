"""A survey whose answers are randomised at home: one public description that clients and the collector share.

    survey = Survey(tacit.one_of("yes", "no"), epsilon=1)
    report = survey.client().answer("yes")              # at home: a few bytes
    survey.collect(reports)                             # a finding: shares with intervals

Promise: everything about a survey is public and stands in `to_json`; everyone who has the text makes the same clients
and the same collector. One person's report tells at most `epsilon` of their answer to anyone who sees it, this
collector included (neighbours: one person's answer, replaced by any other). Collecting costs nothing more: it is
post-processing of reports.

Reports come from people whom the collector does not control. A report that belongs to another survey, is malformed, or
comes twice is refused and counted, and the finding says so. A well-formed report that was made up cannot be
distinguished from an honest one: `influence` says how far any number of them can move a share.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.errors import ParameterError
from tacit.local import contents, crowd, laws
from tacit.local.client import VERSION, Client, canonical, survey_id
from tacit.local.reading import Read, read_reports
from tacit.loss import events
from tacit.noise import BitSource, secure
from tacit.policy.columns import Facts
from tacit.statistics.finding import Content, Finding

_MOST_OPTIONS: Final = 1 << 24
_MOST_DIMENSIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Reports of many people, as arrays; what `simulate` makes and `collect` takes.

    >>> import tacit
    >>> survey = tacit.local.Survey(tacit.one_of("tea", "coffee"), epsilon=1)
    >>> len(survey.simulate([0, 0, 1]))
    3
    """

    survey: str
    reports: Any

    def __len__(self) -> int:
        return len(self.reports)


@dataclass(frozen=True, slots=True)
class Vector:
    """A question whose answer is this many numbers, of at most this length together (L2 norm); longer ones are cut.

    >>> Vector(3, norm=2).dimensions
    3
    """

    dimensions: int
    norm: Any = 1


class Survey:
    """One question, and how answers to it are randomised.

    question: `one_of(...)`, `between(low, high)`, `Vector(n)`, or names of several `one_of`, asked together.
    protocol: "best", or for listed answers one of k-ary, symmetric unary, optimal unary, hashing, hadamard, subset; for
    numbers sign, piecewise, hybrid, fitted (means), variance, or distribution.

    >>> import tacit
    >>> survey = Survey(tacit.one_of("tea", "coffee"), epsilon=1, name="drinks")
    >>> Survey.from_json(survey.to_json()).id == survey.id
    True
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
        if "dimensions" in asked:
            return f"Survey({asked['dimensions']} numbers of length {asked['norm']} or less, {self._priced()})"
        about = f"{len(asked['values'])} answers" if "values" in asked else f"{asked['low']} to {asked['high']}"
        return f"Survey({about}, {self._priced()})"

    def _priced(self) -> str:
        return f"epsilon {float(self.epsilon):g}, {self.law['kind']}, {laws.report_bits(self.law)} bits a report"

    def client(self, odometer: Any = None) -> Client:
        """What runs at a person's home."""
        return Client(self.description, odometer)

    def simulate(self, truths: Any, *, bits: BitSource | None = None) -> Batch:
        """Reports of many true answers at once: numbers of options, numbers within the bounds, or rows of vectors."""
        source = secure() if bits is None else bits
        return Batch(self.id, crowd.encode(self.law, self._numbers(np.asarray(truths), source), source))

    def _numbers(self, truths: Any, bits: BitSource) -> Any:
        asked = self.description["question"]
        if "values" in asked:
            codes = truths.astype(np.int64)
            if codes.size and (codes.min() < 0 or codes.max() >= len(asked["values"])):
                raise parameters.refuse("truths", f"numbers of options, 0 to {len(asked['values']) - 1}", "others")
            return codes
        if "dimensions" in asked:
            return _units(truths.astype(np.float64), asked, bits)
        low, high = float(Fraction(asked["low"])), float(Fraction(asked["high"]))
        places = np.clip((truths.astype(np.float64) - low) / (high - low), 0.0, 1.0) * asked["steps"]
        whole = np.floor(places)
        up = (bits.words(len(places)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 < places - whole
        return np.minimum(whole + up, asked["steps"]).astype(np.int64)

    def collect(
        self,
        reports: Batch | Iterable[Any],
        *,
        level: parameters.Number = "0.95",
        falling: bool = False,
        quantiles: Sequence[parameters.Number] = ("0.25", "0.5", "0.75"),
    ) -> Finding:
        """What all reports together tell.

        falling: answers are listed from the most to the least frequent, which everyone knows: 'consistent' keeps that
        order. quantiles: which ones are shown for a number whose distribution the reports give (every protocol but
        sign).
        """
        exact = float(parameters.level("level", level))
        read = self._read(reports)
        if len(read.reports) == 0:
            raise parameters.refuse("reports", "at least one report of this survey", "none")
        wanted = tuple(float(parameters.level("quantiles", each)) for each in quantiles)
        content = self._content(read, exact, falling, wanted)
        name = self.description["name"]
        titled = replace(content, title=f"{content.title} of {name!r}" if name else content.title)
        return finding_of_reports(titled, self.epsilon, exact)

    def _read(self, reports: Batch | Iterable[Any]) -> Read:
        if isinstance(reports, Batch):
            if reports.survey != self.id:
                raise parameters.refuse("reports", "of this survey", f"reports of survey {reports.survey}")
            return Read(reports.reports, Counter())
        return read_reports(self.id, self.law, reports)

    def _content(self, read: Read, level: float, is_falling: bool, quantiles: Sequence[float] = ()) -> Content:
        asked, law = self.description["question"], self.law
        if "values" in asked:
            return contents.of_shares(asked, law, read, level, is_falling=is_falling)
        if is_falling:
            raise parameters.refuse("falling", "left out: it is for listed answers in a known order", is_falling)
        if law["kind"] == "nearest":
            return contents.of_vectors(asked, law, read, level)
        if law["kind"] == "moments":
            return contents.of_moments(asked, law, read, level)
        return contents.of_number(asked, law, read, level, quantiles)

    def shuffled(self, people: int) -> events.Shuffled:
        """The event of `people` reports whose order and origin a shuffler drops; `loss.compose` prices it."""
        number = parameters.whole("people", people, least=1)
        if self.law["kind"] == "k-ary":
            local: events.Event = events.RandomizedResponse(self.epsilon, self.law["options"])
        else:
            local = events.Pure(self.epsilon)
        return events.Shuffled(local, number)

    def longitudinal(self, reports: int) -> float:
        """What this many reports of one person, who keeps an odometer, tell together at most.

        A survey is answered once, so further reports are the first one again. A rappor survey shows the bits that it
        keeps anew each time. The strongest evidence for one answer against another is its bit 1 and the other's 0 in
        every report: the result is that ratio, and however many reports there are it stays below the ratio of the kept
        bits.
        """
        times = parameters.whole("reports", reports, least=1)
        if self.law["kind"] != "rappor":
            return float(self.epsilon)
        p, q = laws.supports(self.law["kept"])
        one, zero = (Fraction(*self.law[name]) for name in ("one", "zero"))
        up = (p * one**times + (1 - p) * zero**times) / (q * one**times + (1 - q) * zero**times)
        none, all_but = (1 - one) ** times, (1 - zero) ** times
        down = (q * none + (1 - q) * all_but) / (p * none + (1 - p) * all_but)
        shown = up * down
        told = math.nextafter(math.log(shown) * (1 + 1e-12), math.inf)
        return min(told, float(self.epsilon))

    def influence(self, forged: int, people: int) -> float:
        """How far `forged` made-up reports among `people` in all can move an estimate.

        The estimate is a share, a mean in the unit of its bounds, or a mean vector in L2 norm; forged reports may come
        on top of honest ones or in their place. Variances have no such bound, and are refused.
        """
        made_up = parameters.whole("forged", forged)
        everyone = parameters.whole("people", people, least=1)
        if self.law["kind"] == "moments":
            raise ParameterError(
                "Influence is stated for shares and means. That of a variance depends on the mean too."
            )
        return contents.influence(self.description["question"], self.law) * made_up / everyone * (1 + 1e-12)


def _units(truths: Any, asked: dict[str, Any], bits: BitSource) -> Any:
    """Vectors of length 1 whose means are the answers divided by the bound, as a client makes them."""
    if truths.ndim != 2 or truths.shape[1] != asked["dimensions"] or not np.isfinite(truths).all():
        raise parameters.refuse("truths", f"rows of {asked['dimensions']} finite numbers", f"shape {truths.shape}")
    lengths = np.linalg.norm(truths, axis=1)
    shares = np.minimum(lengths / float(Fraction(asked["norm"])), 1.0)
    first = np.zeros(asked["dimensions"])
    first[0] = 1.0
    units = np.where(lengths[:, None] > 0, truths, first) / np.where(lengths > 0, lengths, 1.0)[:, None]
    up = (bits.words(len(units)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 < (1 + shares) / 2
    return units * np.where(up, 1.0, -1.0)[:, None]


def finding_of_reports(content: Content, epsilon: Fraction | str, level: float) -> Finding:
    """A finding without a charge: everyone randomised their own answer."""
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
    elif isinstance(question, Vector):
        return _vector_asked(question, epsilon, protocol)
    elif isinstance(question, Facts) and question.lower is not None:
        return _number_asked(question, epsilon, protocol)
    else:
        raise parameters.refuse(
            "question", "one_of(...), between(low, high), Vector(n), or a mapping of names to one_of", question
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
    chosen = laws.best_for_means(laws.STEPS, epsilon) if protocol == "best" else protocol
    if chosen not in laws.NUMBERS:
        raise parameters.refuse("protocol", f"best, or one of {', '.join(laws.NUMBERS)}", protocol)
    asked = {"low": str(low), "high": str(high), "steps": laws.STEPS}
    return asked, laws.NUMBERS[chosen](laws.STEPS, epsilon)


def _vector_asked(question: Vector, epsilon: Fraction, protocol: str) -> tuple[dict[str, Any], dict[str, Any]]:
    size = parameters.whole("dimensions", question.dimensions, least=2)
    norm = parameters.positive("norm", question.norm)
    if size > _MOST_DIMENSIONS:
        raise parameters.refuse("dimensions", f"at most {_MOST_DIMENSIONS:,}", size)
    if protocol not in ("best", "nearest"):
        raise parameters.refuse("protocol", "best, or nearest", protocol)
    return {"dimensions": size, "norm": str(norm)}, laws.nearest(size, epsilon)


def _listed(name: str, facts: Any) -> list[Any]:
    if not isinstance(facts, Facts) or facts.values is None:
        raise parameters.refuse(str(name), "one_of(...): questions asked together need listed answers", facts)
    if not all(isinstance(each, (str, int)) for each in facts.values):
        raise parameters.refuse(str(name), "texts, whole numbers or truth values", list(facts.values))
    return list(facts.values)
