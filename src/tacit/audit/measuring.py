"""A lower bound on epsilon for any mechanism, at a stated confidence; the exact one where its masses are known.

Of `samples` draws of each input, one part fits scores (`finders`), one part chooses the event (`choosing`), and the
rest, at least half, is counted (`bounds`). The parts are separate draws, so the event is fixed before it is counted,
and the bound fails with probability at most 1 - confidence, whatever the finders did.

A small bound is no proof of privacy: it says what this attacker could show with these draws and these two inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from tacit import parameters
from tacit.audit.bounds import Bound, epsilon_low
from tacit.audit.choosing import choose
from tacit.audit.draws import Mechanism, draw, watched
from tacit.audit.exact import Masses, exact_epsilon
from tacit.audit.finders import Finder, everything
from tacit.parameters import Number

LEAST_SAMPLES = 100
_MOST_TO_FIT = 200_000
_MOST_TO_CHOOSE = 1_500_000


def lower_bound(
    mechanism: Mechanism,
    x: Any,
    neighbour: Any,
    *,
    samples: int = 100_000,
    delta: Number = 0,
    confidence: Number = "0.999",
    events: Literal["auto"] | Finder = "auto",
    vectorised: bool = False,
    workers: int = 1,
    progress: bool = False,
    mass: Callable[[Any], Masses] | None = None,
) -> Bound:
    """A lower bound of epsilon at `delta`, if `x` and `neighbour` are neighbours.

    `mechanism(x)` is one release: a number, a vector, a label, a text, None. With `vectorised` it is called as
    `mechanism(x, size=n)` and gives n of them. `mass(x)` gives the law of the release as masses by outcome: then
    nothing is drawn, and the epsilon is exact.

    >>> found = lower_bound(lambda x: x, 0, 1, samples=1000)  # what a mechanism without noise tells
    >>> found.epsilon > 4
    True
    """
    allowed = float(parameters.probability("delta", delta))
    start = time.monotonic()
    if mass is not None:
        exact = exact_epsilon(mass(x), mass(neighbour), delta)
        return Bound(exact, allowed, 1.0, "known masses", "either", 0, 0, 0, time.monotonic() - start)
    failure = float(1 - parameters.open_probability("confidence", confidence))
    count = parameters.whole("samples", samples, least=LEAST_SAMPLES)
    crowd = parameters.whole("workers", workers, least=1)
    with watched(2 * count, progress, "Drawing") as told:
        first, second = draw(mechanism, (x, neighbour), count, vectorised=vectorised, workers=crowd, told=told)
    fit = min(count // 5, _MOST_TO_FIT)
    seen = fit + min(count // 2 - fit, _MOST_TO_CHOOSE)
    finder = everything if events == "auto" else events
    scores = finder(first[:fit], second[:fit])
    left = count - seen
    if not scores and events == "auto":  # all draws so far are equal: no outcome is seen to be likelier on one side
        sure = float(1 - failure)
        return Bound(0.0, allowed, sure, "any outcome", "x", left, left, left, time.monotonic() - start)
    if not scores:
        raise parameters.refuse("events", "a finder that gives at least one score", "none")
    chosen = choose(scores, first[fit:seen], second[fit:seen], draws=left, delta=allowed, failure=failure)
    hits, others = chosen.hits(first[seen:]), chosen.hits(second[seen:])
    names = ("x", "neighbour")
    if not chosen.first_likelier:
        hits, others, names = others, hits, (names[1], names[0])
    found = float(epsilon_low(hits, others, left, allowed, failure))
    sure = float(1 - failure)
    return Bound(found, allowed, sure, chosen.words, names[0], left, hits, others, time.monotonic() - start)
