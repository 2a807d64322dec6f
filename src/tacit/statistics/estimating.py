"""What a study would cost, for nothing: one way for every study.

    statistics.estimate(statistics.median, clinic, "visits.age", epsilon=0.5)

Promise: the study is called with exactly these arguments, on a curator that stops it where it would pay. So whatever
the study refuses is refused here, nothing is charged, nothing is run and no row is read; what is told follows from the
policy, the arguments and the ledger's sums.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Concatenate, ParamSpec

from tacit import parameters
from tacit.answer.pages import fragment
from tacit.answer.standing import price_of
from tacit.curator import Curator, Rows
from tacit.curator.rehearsal import Reached, rehearsed
from tacit.loss.events import Event
from tacit.loss.worth import Asked

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, repr=False)
class StudyEstimate:
    """The price of a study. Prints as a sentence. `fits` says how many of them the budget still covers."""

    event: Event
    asked: Asked
    share: Fraction | None
    fits: int | None

    def __str__(self) -> str:
        part = "" if self.share is None else f", {parameters.as_digits(100 * self.share)} % of the whole budget"
        if self.fits is None:
            left = "there is no end to how many fit"
        elif self.fits == 0:
            left = "what is left does not cover it"
        else:
            left = f"what is left covers about {self.fits:,} like it"
        return f"Would cost {price_of(self.asked)}{part}; {left}. Nothing was charged."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(f"<p>{html.escape(str(self))}</p>")


def estimate(
    study: Callable[Concatenate[Any, P], Any], at: Curator | Rows, *arguments: P.args, **options: P.kwargs
) -> StudyEstimate:
    """What this study would cost with these arguments. Free: nothing is charged, run or read."""
    curator = at.curator if isinstance(at, Rows) else at
    if not isinstance(curator, Curator):
        raise parameters.refuse(
            "at", "a curator or rows of one", type(at).__name__, "A study of arrays costs its epsilon and nothing else."
        )
    dry = rehearsed(curator)
    try:
        study(replace(at, curator=dry) if isinstance(at, Rows) else dry, *arguments, **options)
    except Reached as reached:
        share, fits = curator.afford(reached.order.event)
        return StudyEstimate(reached.order.event, reached.asked, share, fits)
    raise parameters.refuse("study", "one that asks something of the data", getattr(study, "__name__", str(study)))
