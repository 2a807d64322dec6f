"""What runs cost, against another accountant's figures for twenty settings."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import ParameterError
from tacit.learning.neural.runs.pricing import plan_run
from tacit.loss import compose, events

# rate, noise, steps, delta, and epsilon by dp-accounting 0.6.0 (privacy loss distributions, connected dots, both
# directions), on grids of 1e-3 and of 1e-4. Its error is above the truth and falls with the square of the grid.
SETTINGS = [
    ("0.01", "1", 1000, "1e-5", 1.8289344, 1.8282436),
    ("0.01", "0.8", 1000, "1e-5", 3.1414352, 3.1410183),
    ("0.01", "0.6", 500, "1e-6", 6.9349490, 6.9348252),
    ("0.001", "0.7", 10000, "1e-5", 1.2515880, 1.2450441),
    ("0.004", "1.1", 2500, "1e-5", 0.8885112, 0.8852144),
    ("0.02", "1.5", 500, "1e-6", 1.5772977, 1.5767939),
    ("0.05", "2", 200, "1e-5", 1.5607716, 1.5606055),
    ("0.05", "1", 100, "1e-5", 3.5021870, 3.5021485),
    ("0.1", "3", 300, "1e-5", 2.4949753, 2.4947953),
    ("0.1", "1", 20, "1e-6", 4.2776562, 4.2776489),
    ("0.2", "4", 100, "1e-5", 2.1021476, 2.1020796),
    ("0.5", "8", 50, "1e-5", 1.7705763, 1.7705363),
    ("1", "10", 100, "1e-5", 4.3772203, 4.3771785),
    ("1", "5", 10, "1e-6", 2.9216076, 2.9216007),
    ("0.0001", "0.5", 5000, "1e-7", 2.5221450, 2.5213969),
    ("0.01", "4", 1000, "1e-5", 0.2758017, 0.2721729),
    ("0.017", "1.3", 3500, "1e-5", 4.0181092, 4.0166101),
    ("0.03", "2.5", 2000, "1e-6", 2.5992432, 2.5978082),
    ("0.002", "0.9", 20000, "1e-8", 2.5308960, 2.5111318),
    ("0.25", "2", 1, "1e-5", 0.8301000, 0.8300994),
]


@pytest.mark.parametrize(("rate", "noise", "steps", "delta", "coarse", "fine"), SETTINGS)
def test_the_price_of_a_run_is_that_of_another_accountant(
    rate: str, noise: str, steps: int, delta: str, coarse: float, fine: float
) -> None:
    event = events.Repeated(events.PoissonSampled(events.Gaussian(1, noise), rate), steps)
    found = compose([event]).epsilon(delta)
    truth = fine - (coarse - fine) / 99
    assert truth * (1 - 2e-5) <= found <= fine * 1.001


@pytest.mark.parametrize("buys_count", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps"), [(3, 1e-5, 0.02, 500), (0.5, 1e-6, "1/100", 100), (8, 1e-5, 1, 5)]
)
def test_the_noise_is_the_least_for_the_budget(
    epsilon: float, delta: float, rate: float, steps: int, buys_count: bool
) -> None:
    run = plan_run(epsilon, delta, rate=rate, steps=steps, buys_count=buys_count)
    assert epsilon * 0.999 < compose([run.event]).epsilon(run.delta) <= epsilon
    assert (run.count_sigma is not None) is buys_count
    step = events.PoissonSampled(events.Gaussian(1, run.multiplier), Fraction(str(rate)))
    whole: list[events.Event] = [events.Repeated(step, steps)]
    if run.count_sigma is not None:
        whole.insert(0, events.Gaussian(1, run.count_sigma))
    assert run.event == (events.Composed(tuple(whole)) if buys_count else whole[0])


def test_samples_of_nearly_nobody_have_a_price() -> None:
    event = events.Repeated(events.PoissonSampled(events.Gaussian(1, "0.0888"), "1e-9"), 60)
    assert 5.9e-8 < compose([event]).delta(1) < 6.6e-8


@pytest.mark.parametrize(
    "changed", [{"rate": 0}, {"rate": 2}, {"rate": 1e-12}, {"steps": 0}, {"steps": 10**8}, {"delta": 0}, {"epsilon": 0}]
)
def test_what_is_no_run_is_refused(changed: dict[str, object]) -> None:
    given: dict[str, object] = {"epsilon": 1, "delta": 1e-5, "rate": 0.1, "steps": 10} | changed
    with pytest.raises(ParameterError, match=next(iter(changed))):
        plan_run(given.pop("epsilon"), given.pop("delta"), buys_count=False, **given)


@pytest.mark.parametrize("buys_count", [False, True])
@pytest.mark.parametrize(("epsilon", "rate", "steps"), [(3, 0.01, 1000), (8, 0.02, 1000), (3, 0.1, 60), (1, 1, 7)])
def test_what_was_spent_so_far_is_well_below_the_price_and_never_below_what_those_steps_cost(
    epsilon: float, rate: float, steps: int, buys_count: bool
) -> None:
    """Ten looks at a tenth of delta each: with so many, each is priced as a number of steps fixed in advance."""
    run = plan_run(epsilon, 1e-5, rate=rate, steps=steps, buys_count=buys_count)
    found = [run.spent_so_far(each) for each in range(steps + 1)]
    assert found == sorted(found)
    assert (found[0] > 0) is buys_count
    assert found[0] < 0.2 * epsilon
    assert found[-1] == epsilon
    assert found[max(steps // 10, 1)] < 0.75 * epsilon
    assert found[steps // 2] < 0.95 * epsilon
    assert len(set(found)) <= 11
    for each in {1, steps // 10, steps // 3, steps // 2, steps - 1}:
        parts: list[events.Event] = [events.Repeated(run.step_event, each)]
        if run.count_sigma is not None:
            parts.append(events.Gaussian(1, run.count_sigma))
        assert found[each] >= min(compose(parts).epsilon(run.delta / 10), epsilon)


@pytest.mark.parametrize("epsilon", [10**4 + 1, 1e9, 1e30])
def test_an_epsilon_that_protects_nobody_is_refused_at_once(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="10,000"):
        plan_run(epsilon, 1e-5, rate=0.1, steps=100, buys_count=False)


def test_the_largest_epsilon_has_a_noise() -> None:
    assert 0 < plan_run(10**4, 1e-5, rate=0.1, steps=100, buys_count=True).multiplier < 0.2


def test_going_on_costs_more_than_planning_as_many_steps_and_never_less() -> None:
    run = plan_run(3, 1e-5, rate=0.02, steps=200, buys_count=True)
    longer = run.longer(50).longer(50)
    planned: list[events.Event] = [events.Repeated(run.step_event, 300)]
    assert run.count_sigma is not None
    planned.append(events.Gaussian(1, run.count_sigma))
    assert longer.steps == 300
    assert float(longer.epsilon) >= compose(planned).epsilon(run.delta)
    found = [longer.spent_so_far(each) for each in range(0, 301, 20)]
    assert found == sorted(found)
    assert found[5] == run.spent_so_far(100)
    assert found[10] == 3
    assert found[-1] == float(longer.epsilon) < 7
    assert longer.multiplier == run.multiplier
    with pytest.raises(ParameterError, match="steps"):
        run.longer(0)
