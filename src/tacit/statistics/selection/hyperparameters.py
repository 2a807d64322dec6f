"""The best of several private runs, when each of them is private itself: generalised private selection.

    def run(candidate, rows, epsilon):                 # one private run: studies of `rows`, and a score
        finding = statistics.median(rows, epsilon=epsilon, ...)
        return score, {"what": "to keep"}

Theorem. A run costs at most e, since it sees the data through `rows` alone, whose studies refuse to cost more. Of a
random number of runs, each with a candidate drawn uniformly, the one with the best score is released: candidate, score
and what it kept. Drawing a candidate and running it is one e-private run, so by `trials` all of it costs 2 e (with a
logarithmic number of runs), 3 e (geometric) or at most e (1 + mean/2) (Poisson), however many runs there were. Ties of
score go to the earlier candidate; ties of both to the earlier run, whose outcome, given the tie, has the same law as
that of any run.

Assumption. `run` hands over what it returns and nothing else: results that it keeps elsewhere were not paid for.
Neither the number of runs nor anything of the other runs is released. But an onlooker with a clock can guess the number
from the time of a release, which the theorem does not allow for: publish results, not times. A run that raises an error
has the worst score, as its error is no more than a function of what its studies released. Before anything is paid,
`run` is tried once without rows, where its errors are shown.

Neighbours: one unit's rows, added or removed. Source: Liu, Talwar 2019; Papernot, Steinke 2022.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.errors import TacitError
from tacit.loss import events
from tacit.mechanisms.candidates import public_candidates
from tacit.noise import BitSource, secure, uniform_below
from tacit.statistics.finding import Content, Finding, as_shown, column
from tacit.statistics.prepaid import Prepaid, rehearsal
from tacit.statistics.selection.trials import Trials, law_of
from tacit.statistics.source import Opened, source_of

Kept = TypeVar("Kept")


def choose_hyperparameters(
    data: Any,
    columns: str | Sequence[str] | None = None,
    *,
    candidates: Sequence[Any],
    run: Callable[[Any, Prepaid, Fraction], Any],
    epsilon: parameters.Number,
    trials: parameters.Number = 10,
    law: str = "logarithmic",
    name: str = "run",
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The candidate whose run scored best, among about `trials` runs of candidates drawn at random.

    run(candidate, rows, epsilon) makes studies of `rows` (or of some columns: rows.of("age")) that cost at most epsilon
    together, and returns a score, or a score and a mapping of numbers and arrays to keep. Where a ledger stores the
    results, `name` tells apart functions whose code is the same.

    >>> from tacit.statistics import mean
    >>> def run(candidate, rows, epsilon):
    ...     return mean(rows, epsilon=epsilon).value * candidate
    >>> found = choose_hyperparameters([20, 30], candidates=[1, 2], run=run, bounds=(0, 100), epsilon=1)
    >>> found.names, found.receipt["epsilon"]
    (('candidate', 'score'), '1')
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    options = list(public_candidates(candidates))
    whole, number = parameters.price("epsilon", epsilon), law_of(law, trials)
    each = number.each(whole)
    try:
        _outcome(run(options[0], rehearsal(source, secure(), each), each))
    except TacitError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as wrong:
        hint = "It was tried without rows, before anything was paid."
        allowed = "a function of (candidate, rows, epsilon) that gives a score"
        raise parameters.refuse("run", allowed, wrong, hint) from wrong

    def compute(opened: Opened, bits: BitSource) -> Content:
        def made(place: int) -> tuple[float, dict[str, Any]]:
            return _outcome(run(options[place], Prepaid(source, opened, bits, each), each))

        best = best_run(number, len(options), made, bits)
        score, place, kept = (math.nan, -1, None) if best is None else best
        columns = (
            column("candidate", [None if place < 0 else as_shown(options[place])]),
            column("score", [float(score)]),
        )
        note = (
            f"The best of about {float(parameters.rational('trials', trials)):g} private runs with epsilon "
            f"{float(each):.4g} each ({law} number of them). The score is that of the run, with its noise."
        )
        return Content("The best candidate", columns, (note,), dict(kept or {}))

    asked = {
        "study": "choose_hyperparameters",
        "run": [str(name), _written(run)],
        "candidates": [str(option) for option in options],
        "law": repr(number),
        "epsilon": str(whole),
    }
    return source.release(asked, Price(events.Pure(whole), whole), compute, level=level, analyst=analyst)


def best_run(
    number: Trials, candidates: int, run: Callable[[int], tuple[float, Kept]], bits: BitSource
) -> tuple[float, int, Kept | None] | None:
    """The best of a random number of runs, each of a candidate drawn uniformly: score, candidate, what was kept.

    A run that fails has the worst score and keeps nothing; None where there was no run.
    """
    best: tuple[float, int, Kept | None] | None = None
    for _ in range(number.draw(bits)):
        place = uniform_below(candidates, None, bits)
        outcome: tuple[float, Kept | None] = (-math.inf, None)
        with contextlib.suppress(Exception):  # its words could tell something of runs that are not released
            outcome = run(place)
        if best is None or (outcome[0], -place) > (best[0], -best[1]):
            best = (outcome[0], place, outcome[1])
    return best


def _outcome(returned: Any) -> tuple[float, dict[str, Any]]:
    """A score and what goes with it; a score that is not a number is the worst one."""
    score, kept = returned if isinstance(returned, tuple) else (returned, {})
    number = float(score)
    return (-math.inf if math.isnan(number) else number), {
        str(name): np.asarray(value, dtype=np.float64) for name, value in dict(kept).items()
    }


def _written(run: Any) -> str:
    """What stands for the function's code: other code makes another study."""
    code = getattr(run, "__code__", None)
    parts = [] if code is None else [code.co_code.hex(), repr(code.co_names), repr(code.co_varnames)]
    parts += [] if code is None else [repr([each for each in code.co_consts if not hasattr(each, "co_code")])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
