"""What a run costs, known before its first step: Gaussian noise on Poisson samples, step after step.

Theorem. A step releases the sum over a Poisson sample of rate q of vectors of norm at most S, with Gaussian noise of
deviation z S on every coordinate, rounded to whole numbers (post-processing). That is
PoissonSampled(Gaussian(S, z S), q), whatever was released before it, so T steps are its T-fold repetition, priced by
the contour accountant from both directions, adding and removing. How many people there are is bought once by Gaussian
noise where it is not public: the step size needs it.

Rate, steps and noise do not depend on the data; the least noise for (epsilon, delta) is found before anything is paid.

Stopping early. The whole run is what was paid for: (epsilon, delta). A caller may stop sooner, because of what released
weights show, and then less was spent (`spent_so_far`). Let T_1 < ... < T_10 = T be spread evenly over the run, and e_j
the price of T_j steps at delta/10. Whoever has made t steps, T_(j-1) < t <= T_j, holds a part of the first T_j steps.
So for every rule that stops before T_9 is passed, and every set S of what it may leave behind,
    P(S) <= sum over j <= 9 of  exp(e_j) Q(S and it stopped between T_(j-1) and T_j)  + 9 delta/10,
as each term is about the first T_j steps, whose number is fixed in advance. (Where the number of people is bought, who
stops before the first step has that alone: one term more, and delta in all.) A reading is never above the whole price.

Going on. Steps beyond those that were planned (`longer`), decided on the way, are priced by an odometer at the run's
delta, which bounds the loss at every moment at once (`loss.odometer`), those before the end of the plan too; it reads
more than the same number of steps would have cost if they had been planned.
Source: Abadi et al. 2016; Zhu, Dong, Wang 2022 (both directions); Feldman, Zrnic 2021 (stopping).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from tacit import parameters
from tacit.curator import Price
from tacit.loss import calibrate, compose, events
from tacit.loss.numbers.edge import least
from tacit.loss.numbers.rounding import dyadic_up, float_down
from tacit.loss.odometer import Odometer, Travelled

_COUNT_SIGMAS: Final = 10  # the count's deviation, in those of one release for the whole budget
_TOLERANCE: Final = 1e-4
_LEAST_RATE: Final = Fraction(1, 10**9)
_LOOKS: Final = 10
_MOST_EPSILON: Final = 10**4
"""Above it, noise is too small for the accountant's grids, and nobody is protected anyway."""
MOST_STEPS: Final = 10**7


@dataclass(frozen=True, slots=True)
class Run:
    """A run of equal steps: `multiplier` is the noise's deviation over the sensitivity of a step."""

    rate: Fraction
    steps: int
    multiplier: Fraction
    epsilon: Fraction
    delta: Fraction
    count_sigma: Fraction | None  # of the number of people; None where it is public
    first: Run | None = None
    """The run as it was planned, where steps were added to it."""

    @property
    def step_event(self) -> events.Event:
        """One step."""
        return events.PoissonSampled(events.Gaussian(Fraction(1), self.multiplier), self.rate)

    @property
    def event(self) -> events.Event:
        """What the whole run is charged as."""
        return _event(self.rate, self.steps, self.multiplier, self.count_sigma)

    @property
    def price(self) -> Price:
        """What the whole run costs."""
        return Price(self.event, self.epsilon, self.delta)

    def spent_so_far(self, steps: int) -> float:
        """A bound on epsilon at the run's delta after this many steps, however the moment to stop was chosen."""
        if self.first is not None:
            own = self.first.spent_so_far(min(steps, self.first.steps))
            return own if steps <= self.first.steps else max(own, _read(self, steps))
        return _spent(self, -(-_LOOKS * min(steps, self.steps) // self.steps))

    def longer(self, more: int) -> Run:
        """The run with so many steps more, of the same noise."""
        steps = self.steps + parameters.whole("steps", more, least=1)
        if steps > MOST_STEPS:
            raise parameters.refuse("steps", f"at most {MOST_STEPS:,} in all", steps)
        epsilon = max(self.epsilon, Fraction(_read(self, steps)))
        return replace(self, steps=steps, epsilon=epsilon, first=self.first or self)


def plan_run(epsilon: Any, delta: Any, *, rate: Any, steps: Any, buys_count: bool) -> Run:
    """The least noise for the budget; or a refusal."""
    exact, slip = budget_of(epsilon, delta)
    allowed = "the share of people in a step, from 1e-9 to 1"
    share = parameters.as_written("rate", rate, allowed)
    if not _LEAST_RATE <= share <= 1:
        raise parameters.refuse("rate", allowed, rate)
    count = parameters.whole("steps", steps, least=1)
    if count > MOST_STEPS:
        raise parameters.refuse("steps", f"at most {MOST_STEPS:,}", steps)
    return _planned(exact, slip, share, count, buys_count)


def budget_of(epsilon: Any, delta: Any) -> tuple[Fraction, Fraction]:
    """What a run may cost; delta above 0."""
    exact = parameters.price("epsilon", epsilon)
    if exact > _MOST_EPSILON:
        hint = "More protects nobody: to compare with a network that is not private, train it with torch alone."
        raise parameters.refuse("epsilon", f"at most {_MOST_EPSILON:,} for a network", epsilon, hint)
    slip = parameters.slip("delta", delta)
    if slip == 0:
        raise parameters.refuse("delta", "above 0: noise on samples is Gaussian", delta, "For instance 1e-6.")
    return exact, slip


def count_sigma_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The noise of the number of people: a small part of the price."""
    return _COUNT_SIGMAS * dyadic_up(calibrate.gaussian_sigma(1, epsilon, delta))


def _read(run: Run, steps: int) -> float:
    """What an odometer reads after so many steps."""
    odometer, state = Odometer(delta=run.delta), Travelled()
    if run.count_sigma is not None:
        state = odometer.advance(state, events.Gaussian(Fraction(1), run.count_sigma))
    return odometer.reading(odometer.advance(state, events.Repeated(run.step_event, steps)))


@lru_cache(maxsize=256)
def _spent(run: Run, look: int) -> float:
    """e_j of the theorem, or the whole price where that is less; before the first step only the count was bought."""
    if look == _LOOKS:
        return float(run.epsilon)
    steps = -(-run.steps * look // _LOOKS)
    parts: list[events.Event] = [] if run.count_sigma is None else [events.Gaussian(Fraction(1), run.count_sigma)]
    if steps:
        parts.append(events.Repeated(run.step_event, steps))
    return min(float(compose(parts).epsilon(run.delta / _LOOKS)), float(run.epsilon)) if parts else 0.0


@lru_cache(maxsize=64)
def _planned(epsilon: Fraction, delta: Fraction, rate: Fraction, steps: int, buys_count: bool) -> Run:
    sigma = count_sigma_for(epsilon, delta) if buys_count else None
    found = least_multiplier(epsilon, delta, lambda multiplier: _event(rate, steps, multiplier, sigma))
    return Run(rate, steps, found, epsilon, delta, sigma)


def least_multiplier(epsilon: Fraction, delta: Fraction, event: Callable[[Fraction], events.Event]) -> Fraction:
    """The least noise whose event stays within the budget; or a refusal."""
    target = float_down(delta)

    def excess(multiplier: float) -> float:
        spent = compose([event(Fraction(multiplier))]).delta(epsilon)
        if spent <= target:
            return min(math.log(max(spent, 1e-320) / target), -0.0)
        return max(math.log(spent / target), 1e-300)

    multiplier = least(excess, 1.0, tolerance=_TOLERANCE, stride=1.0)
    if not math.isfinite(multiplier):
        raise parameters.refuse("epsilon", "large enough for some noise below 1e300", float(epsilon))
    return Fraction(multiplier)


def _event(rate: Fraction, steps: int, multiplier: Fraction, count_sigma: Fraction | None) -> events.Event:
    step = events.PoissonSampled(events.Gaussian(Fraction(1), multiplier), rate)
    run = events.Repeated(step, steps)
    return run if count_sigma is None else events.Composed((events.Gaussian(Fraction(1), count_sigma), run))
