"""What a study would cost and how far it would be off, told free of charge: one way for every study.

    statistics.estimate(statistics.median, clinic, "visits.age", epsilon=0.5, rows=20_000)

Promise: the study is called with exactly these arguments, on a curator that stops it where it would pay. So whatever
the study refuses is refused here, nothing is charged, nothing is run and no row is read; what is told follows from the
policy, the arguments and the ledger's sums.

How far it would be off is half the width of the intervals that the study gives on made-up rows, whose values are
spread evenly over their bounds (`made_up`), with noise as it would be drawn: the median of a few tries, over the cells
of a table. Real rows that are spread differently can give narrower or wider ones.
"""

from __future__ import annotations

import html
import json
import statistics as middle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from tacit import parameters
from tacit.answer.estimate import EXAMPLES
from tacit.answer.pages import fragment
from tacit.answer.release import guarded
from tacit.answer.standing import price_of
from tacit.curator import Curator, Rows
from tacit.curator.elsewhere import Elsewhere
from tacit.curator.rehearsal import Reached, rehearsed
from tacit.curator.till import Purchase
from tacit.errors import EngineError
from tacit.loss.events import Event
from tacit.loss.worth import AskedPrice
from tacit.statistics.counts.monitor import expected_of
from tacit.statistics.finding import Finding
from tacit.statistics.made_up import MadeUp

_TRIES: Final = 3
_OWN_FUNCTION: Final = (
    "How far it is off depends on your function, which takes the seconds that it is given each time it runs. "
    "With rows=1000, say, it is tried once on as many made-up rows."
)
_ALIKE: Final = 0.05
"""Widths that differ by less than this share are reported as one: the number of rows does not matter to them."""


@dataclass(frozen=True, slots=True)
class ExpectedWidth:
    """A released column is off by at most about `half_width`, with the probability `level`, on this many rows.

    >>> ExpectedWidth("mean", 1000, 2.5, 0.95).half_width
    2.5
    """

    name: str
    rows: int | None  # None where the number of rows does not matter
    half_width: float
    level: float


@dataclass(frozen=True, slots=True, repr=False)
class StudyEstimate:
    """The price of a study and how far it would be off. Prints as sentences.

    `errors` has one `ExpectedWidth` for each released number and number of rows. What has no interval (a choice from a
    list, a p-value) is not in it; `notes` is what the study says about those. `fits` says how many studies like it the
    budget still covers.

    >>> from tacit.loss import Pure
    >>> from tacit.loss.worth import AskedPrice
    >>> StudyEstimate(Pure("0.5"), AskedPrice(Fraction(1, 2), None, Fraction(0)), None, 4).cost
    'Would cost epsilon 0.5; what is left covers about 4 like it. Nothing was charged.'
    """

    event: Event
    asked: AskedPrice
    share: Fraction | None
    fits: int | None
    errors: tuple[ExpectedWidth, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def cost(self) -> str:
        """The price, as a sentence."""
        part = "" if self.share is None else f", {parameters.as_digits(100 * self.share)} % of the whole budget"
        if self.fits is None:
            left = "there is no end to how many fit"
        elif self.fits == 0:
            left = "what is left does not cover it"
        else:
            left = f"what is left covers about {self.fits:,} like it"
        return f"Would cost {price_of(self.asked)}{part}; {left}. Nothing was charged."

    @property
    def widths(self) -> tuple[str, ...]:
        """How far each released number would be off, in sentences."""
        found: dict[str, list[ExpectedWidth]] = {}
        for each in self.errors:
            found.setdefault(each.name, []).append(each)
        return tuple(_sentence(name, each) for name, each in found.items())

    def __str__(self) -> str:
        return "\n".join([self.cost, *self.widths, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment("".join(f"<p>{html.escape(line)}</p>" for line in str(self).split("\n")))


def estimate(
    study: Callable[..., Any], at: Curator | Rows | Elsewhere, *arguments: Any, rows: int | None = None, **options: Any
) -> StudyEstimate:
    """What this study would cost with these arguments, and how far it would be off. Free: nothing is charged or read.

    rows: a guess of how many rows there are; without it the errors are given for several numbers of rows.

    >>> import pandas, tacit
    >>> frame = pandas.DataFrame({"who": [1, 2], "age": [31, 40]})
    >>> with tacit.protect(frame, unit="who", columns={"age": (0, 110)}, budget=2) as people:
    ...     print(estimate(tacit.statistics.median, people, "age", epsilon="0.5").cost)
    Would cost epsilon 0.5, 25 % of the whole budget; what is left covers about 4 like it. Nothing was charged.
    """
    if isinstance(at, Elsewhere):
        there: StudyEstimate = at.estimated(study, arguments, options, rows)
        return there
    sizes = EXAMPLES if rows is None else (parameters.whole("rows", rows, least=1),)
    curator = at.curator if isinstance(at, Rows) else at
    if not isinstance(curator, Curator):
        raise parameters.refuse(
            "at", "a curator or rows of one", type(at).__name__, "A study of arrays costs its epsilon and nothing else."
        )
    trial = _Trial(sizes, named=rows is not None)
    dry = rehearsed(curator, trial)
    try:
        study(replace(at, curator=dry) if isinstance(at, Rows) else dry, *arguments, **options)
    except Reached as reached:
        share, fits = curator.afford(reached.purchase.event)
        told = reached.tried or _Told((), expected_of(json.loads(reached.purchase.text), reached.asked.epsilon))
        return StudyEstimate(reached.purchase.event, reached.asked, share, fits, told.errors, told.notes)
    raise parameters.refuse("study", "one that asks something of the data", getattr(study, "__name__", str(study)))


class _Told(NamedTuple):
    errors: tuple[ExpectedWidth, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Trial:
    """What a study makes of made-up rows. Sizes that were `named` are tried however long it takes."""

    sizes: Sequence[int]
    named: bool

    def __call__(self, purchase: Purchase, compute: Callable[..., bytes]) -> _Told:
        own = "seconds" in json.loads(
            purchase.text
        )  # the asker's own function, which runs for as long as it is allowed
        if own and not self.named:
            return _Told((), (_OWN_FUNCTION,))
        found: dict[str, list[ExpectedWidth]] = {}
        notes: tuple[str, ...] = ()
        for rows in self.sizes:
            tried = _tried(compute, rows, 1 if own else _TRIES)
            for name in tried[0].names if tried else ():
                halves = [half for each in tried for half in _halves(each, name)]
                if halves:
                    width = ExpectedWidth(name, rows, middle.median(halves), tried[0].level)
                    found.setdefault(name, []).append(width)
            notes = tried[0].notes if tried and not found else ()
        return _Told(tuple(each for widths in found.values() for each in _alike(widths, len(self.sizes))), notes)


def _tried(compute: Callable[..., bytes], rows: int, tries: int) -> list[Finding]:
    def once() -> bytes:
        return compute(MadeUp(rows), SimpleNamespace(sequence=0))

    try:
        return [Finding.from_bytes(guarded(once)) for _ in range(tries)]
    except EngineError:  # the asker's own function failed, or nothing public says where a column's values lie
        return []


def _halves(finding: Finding, name: str) -> list[float]:
    """Half the widths of a column's intervals, where they are numbers."""
    known = [high - low for low, high in filter(None, finding.intervals().get(name, []))]
    return [width / 2 for width in known if isinstance(width, (int, float))]


def _alike(widths: Sequence[ExpectedWidth], sizes: int) -> Sequence[ExpectedWidth]:
    """The widths for several numbers of rows, or one where they are the same for all."""
    halves = [each.half_width for each in widths]
    if sizes > 1 and len(widths) == sizes and max(halves) <= (1 + _ALIKE) * min(halves):
        return [replace(widths[0], rows=None, half_width=max(halves))]
    return widths


def _sentence(name: str, widths: Sequence[ExpectedWidth]) -> str:
    often = f"{100 * widths[0].level:.4g} of 100 times"
    if widths[0].rows is None:
        return f"{name}: about +/- {widths[0].half_width:.3g} ({often})."
    sizes = ", ".join(f"+/- {each.half_width:.3g} on {each.rows:,} rows" for each in widths)
    return f"{name}: about {sizes} ({often}, for values spread evenly over their bounds)."
