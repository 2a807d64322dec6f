"""Verdicts on claims: consistent, violated, or inconclusive; then also how many draws would settle it.

- violated: the lower bound is above the claimed epsilon. Wrong with probability at most 1 - confidence.
- consistent: the worst event found breaks the claim by no more than the tolerance, with the same confidence, and there
  were enough draws to expose the plainest mechanism that breaks it (randomised response at the claimed epsilon and the
  tolerance). It says that this attacker finds nothing on these two inputs; it is no proof.
- inconclusive: the counts allow both. `needed` is the number of samples of each input that would settle it: they show
  the violation nine times in ten if the event's shares are what they seem to be, or make the margin as small as the
  tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tacit import parameters
from tacit.audit.bounds import Bound, needed
from tacit.audit.draws import Mechanism
from tacit.audit.exact import Masses
from tacit.audit.finders import Finder
from tacit.audit.measuring import lower_bound
from tacit.parameters import Number

Outcome = Literal["consistent", "violated", "inconclusive"]


@dataclass(frozen=True, slots=True, init=False)
class Claim:
    """The claim that `mechanism` is (epsilon, delta)-differentially private, and `x` and `neighbour` are neighbours.

    >>> Claim(lambda x: x, 0, 1, epsilon=1, name="no noise").name
    'no noise'
    """

    mechanism: Mechanism
    x: Any
    neighbour: Any
    epsilon: Fraction
    delta: Fraction
    name: str
    vectorised: bool
    mass: Callable[[Any], Masses] | None

    def __init__(
        self,
        mechanism: Mechanism,
        x: Any,
        neighbour: Any,
        epsilon: Number,
        delta: Number = 0,
        *,
        name: str = "",
        vectorised: bool = False,
        mass: Callable[[Any], Masses] | None = None,
    ) -> None:
        values = {
            "mechanism": mechanism,
            "x": x,
            "neighbour": neighbour,
            "epsilon": parameters.non_negative("epsilon", epsilon),
            "delta": parameters.probability("delta", delta),
            "name": name or getattr(mechanism, "__name__", type(mechanism).__name__),
            "vectorised": vectorised,
            "mass": mass,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the draws say about a claim; `needed` samples of each input would settle an inconclusive one.

    >>> verify(Claim(lambda x: x, 0, 1, epsilon=1, name="no noise"), samples=1000).name
    'no noise'
    """

    outcome: Outcome
    name: str
    epsilon: float
    delta: float
    bound: Bound
    needed: int | None

    def __str__(self) -> str:
        said = f"{self.name}: claimed epsilon {self.epsilon:.4g} at delta {self.delta:.3g} is {self.outcome}"
        settle = (
            "" if self.outcome != "inconclusive" else f" About {self.needed or 'too many'} samples would settle it."
        )
        return f"{said}; found {self.bound}.{settle}"


def verify(
    claim: Claim,
    *,
    samples: int = 100_000,
    confidence: Number = "0.999",
    tolerance: Number = "0.1",
    events: Literal["auto"] | Finder = "auto",
    workers: int = 1,
    progress: bool = False,
) -> Verdict:
    """Whether draws of the mechanism support the claim. `tolerance` is a share of epsilon (of 0.1 if that is less).

    >>> verify(Claim(lambda x: x, 0, 1, epsilon=1), samples=1000).outcome
    'violated'
    """
    share = parameters.positive("tolerance", tolerance)
    bound = lower_bound(
        claim.mechanism,
        claim.x,
        claim.neighbour,
        samples=samples,
        delta=claim.delta,
        confidence=confidence,
        events=events,
        vectorised=claim.vectorised,
        workers=workers,
        progress=progress,
        mass=claim.mass,
    )
    epsilon = float(claim.epsilon)
    outcome, more = _judged(bound, epsilon, max(epsilon, 0.1) * float(share), samples)
    return Verdict(outcome, claim.name, epsilon, float(claim.delta), bound, more)


def _judged(bound: Bound, epsilon: float, slack: float, samples: int) -> tuple[Outcome, int | None]:
    if not bound.draws:
        # an exact bound is a logarithm in floats: a claim that is met with equality must not fail by its last bit
        return ("violated" if bound.epsilon > epsilon + 1e-12 * max(1.0, epsilon) else "consistent"), None
    if bound.epsilon > epsilon:
        return "violated", None
    plainest = _plainest(bound, epsilon, slack)
    quiet = bound.upper <= epsilon + slack
    if quiet and plainest <= bound.draws:
        return "consistent", None
    counted = plainest if quiet else _settling(bound, epsilon, slack)
    return "inconclusive", None if counted is None else max(math.ceil(counted * samples / bound.draws), samples + 1)


def _plainest(bound: Bound, epsilon: float, slack: float) -> float:
    """The draws that would show two outcomes whose ratio, beyond delta, is exp(epsilon + slack)."""
    other = (1 - bound.delta) / (1 + math.exp(min(epsilon + slack, 700.0)))
    return needed(1 - other, other, bound.delta, epsilon, 1 - bound.confidence) or math.inf


def _settling(bound: Bound, epsilon: float, slack: float) -> int | None:
    """The draws that would show the violation that is suspected, or make the margin small enough to see none."""
    share = bound.hits / bound.draws
    other = max(bound.other_hits, 0.5) / bound.draws  # a share of zero would promise too much
    if bound.estimate > epsilon + slack:
        return needed(share, other, bound.delta, epsilon, 1 - bound.confidence)
    # the margin above the estimate falls with the root of the number of draws
    margin, room = bound.upper - bound.estimate, epsilon + slack - bound.estimate
    return math.ceil(bound.draws * (margin / room) ** 2) if room > 0 and math.isfinite(margin) else None
