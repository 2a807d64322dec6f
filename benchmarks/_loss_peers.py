"""Other people's accountants on the rows of `loss`: dp-accounting, prv-accountant, OpenDP.

Each takes a row and returns its upper bound of epsilon, or None where it has no such mechanism. They are imported
when first used; a missing one is reported with the line that installs it. A row that costs a peer more than `LIMIT`
CPU seconds is stopped and marked; rows known to do so are not started.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

LIMIT = 20.0
PACKAGES = {"dp-accounting": "dp_accounting", "prv-accountant": "prv_accountant", "OpenDP": "opendp"}
# (peer, label of the row): more than LIMIT seconds when last tried
KNOWN_SLOW = {
    ("dp-accounting", "Gaussian sigma=1, k=10,000"),
    ("dp-accounting", "Laplace eps=1, k=10,000"),
    ("prv-accountant", "Laplace eps=0.1, k=10,000"),
    ("prv-accountant", "Laplace eps=1, k=10,000"),
    ("prv-accountant", "Gaussian sigma=1, k=10,000"),
    ("prv-accountant", "randomised response eps=0.1, k=10,000"),
    ("prv-accountant", "randomised response eps=1, k=1,000"),
    ("prv-accountant", "sampled Gaussian q=0.01 sigma=0.8, 100,000 steps"),
    ("prv-accountant", "sampled Gaussian q=0.01 sigma=1, 100,000 steps"),
}


class TooSlow(Exception):
    """A peer used up its CPU seconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """`count` releases of one kind: laplace, gaussian, response (parameter: epsilon, sigma, epsilon), or sampled."""

    kind: str
    parameter: float
    count: int
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    epsilon: float | None
    seconds: float
    note: str = ""


def installed(peer: str) -> bool:
    if importlib.util.find_spec(PACKAGES[peer]) is None:
        print(f"{peer} is not installed: pip install {peer.lower()}")
        return False
    return True


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def ask(peer: str, label: str, parts: list[Part], delta: float) -> Outcome:
    """One peer on one row."""
    if (peer, label) in KNOWN_SLOW:
        return Outcome(None, 0.0, f"skipped: > {LIMIT:.0f} s")
    start = time.process_time()
    try:
        with cpu_limit(LIMIT):
            epsilon = PEERS[peer](parts, delta)
    except TooSlow:
        return Outcome(None, time.process_time() - start, f"stopped at {LIMIT:.0f} s")
    except (ValueError, RuntimeError, OverflowError, MemoryError) as failure:
        return Outcome(None, time.process_time() - start, f"error: {type(failure).__name__}")
    return Outcome(epsilon, time.process_time() - start, "" if epsilon is not None else "no such mechanism")


def dp_accounting(parts: list[Part], delta: float) -> float | None:
    """Privacy-loss distributions with pessimistic rounding, the default grid of 1e-4."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    total: Any = None
    for part in parts:
        if part.kind == "laplace":
            one = pld.from_laplace_mechanism(1 / part.parameter)
        elif part.kind == "response":
            # its events forget the count for randomised response, so the distribution itself is composed
            one = pld.from_randomized_response(2 / (1 + math.exp(part.parameter)), 2)
        else:
            one = pld.from_gaussian_mechanism(part.parameter, sampling_prob=part.rate)
        several = one.self_compose(part.count)
        total = several if total is None else total.compose(several)
    return float(total.get_epsilon_for_delta(delta))


def prv_accountant(parts: list[Part], delta: float) -> float | None:
    """Its own upper bound, with an error allowance of 0.01 in epsilon and a thousandth of delta."""
    import prv_accountant as prv

    makers: dict[str, Callable[[Part], Any]] = {
        "laplace": lambda part: prv.LaplaceMechanism(mu=part.parameter),
        "response": lambda part: prv.PureDPMechanism(part.parameter),
        "gaussian": lambda part: prv.GaussianMechanism(part.parameter),
        "sampled": lambda part: prv.PoissonSubsampledGaussianMechanism(
            sampling_probability=part.rate, noise_multiplier=part.parameter
        ),
    }
    accountant = prv.PRVAccountant(
        prvs=[makers[part.kind](part) for part in parts],
        max_self_compositions=[part.count for part in parts],
        eps_error=0.01,
        delta_error=delta / 1000,
    )
    return float(accountant.compute_epsilon(delta, [part.count for part in parts])[2])


def opendp(parts: list[Part], delta: float) -> float | None:
    """Its zCDP conversion at the total rho (that of one Gaussian with as much noise), or the sum of pure epsilons."""
    import opendp.prelude as dp

    if any(part.kind == "sampled" for part in parts):
        return None
    dp.enable_features("contrib")
    pure = math.fsum(part.count * (math.inf if part.kind == "gaussian" else part.parameter) for part in parts)
    rho = math.fsum(
        part.count * (1 / part.parameter**2 if part.kind == "gaussian" else part.parameter**2) / 2 for part in parts
    )
    space = (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float))
    noise = dp.m.make_gaussian(*space, scale=math.sqrt(0.5 / rho))
    return min(pure, float(dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)))


PEERS: dict[str, Callable[[list[Part], float], float | None]] = {
    "dp-accounting": dp_accounting,
    "prv-accountant": prv_accountant,
    "OpenDP": opendp,
}
