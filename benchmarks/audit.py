"""The audit room: how tight its bounds are, how fast, what it catches, and how often it cries wolf.

Bars: Laplace at epsilon 1 is measured at 0.9 or more with 1e6 samples in 30 s at 99.9 %; Gaussian (1, 1e-5) at 0.8 or
more; every broken mechanism of the zoo is caught; none of at least 30 sound ones (all of ours, the zoo's twins,
questions to a curator, OpenDP's Laplace and Gaussian) is flagged in 20 repetitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import _audit_attacks
import tacit
from tacit.audit import Claim, lower_bound, question, zoo
from tacit.mechanisms import Gaussian, Laplace

REPETITIONS = 20
FALSE_ALARM = "0.001"
EFFORT = 0.3
WORLDS = 1_000
OPENDP_SAMPLES = 4_000


def main() -> str:
    parts = ["## Audit", *_bounds(), *_zoo(), _audit_attacks.main()]
    return "\n\n".join(parts)


# -- tightness -----------------------------------------------------------------------------------------


def _many(mechanism: Any) -> Callable[..., Any]:
    def releases(x: int, *, size: int) -> Any:
        return mechanism.release(np.full(size, x))

    return releases


def _bounds() -> list[str]:
    cases = [
        ("Laplace, epsilon 1", Laplace(sensitivity=1, epsilon=1), 10**6, 0, 0.9, 30.0),
        ("Laplace, epsilon 0.1", Laplace(sensitivity=1, epsilon="0.1"), 10**7, 0, None, None),
        ("Gaussian, (1, 1e-5)", Gaussian(sensitivity=1, epsilon=1, delta="1e-5"), 10**6, "1e-5", None, None),
        ("Gaussian, (1, 1e-5)", Gaussian(sensitivity=1, epsilon=1, delta="1e-5"), 10**7, "1e-5", 0.8, None),
    ]
    lines = ["| mechanism | samples of each | epsilon at least (99.9 %) | seconds | bar |", "|---|---|---|---|---|"]
    for name, mechanism, samples, delta, least, most in cases:
        start = time.monotonic()
        bound = lower_bound(_many(mechanism), 0, 1, samples=samples, delta=delta, vectorised=True)
        took = time.monotonic() - start
        met = (least is None or bound.epsilon >= least) and (most is None or took <= most)
        asked = "" if least is None else f"{least} or more" + ("" if most is None else f" in {most:.0f} s")
        said = f"{asked}: {'met' if met else 'NOT MET'}" if asked else ""
        lines.append(f"| {name} | {samples:,} | {bound.epsilon:.3f} | {took:.1f} | {said} |")
        print(lines[-1], flush=True)
    return ["\n".join(lines)]


# -- the battery ---------------------------------------------------------------------------------------


def _zoo() -> list[str]:
    caught = zoo.run_battery(zoo.SPECIMENS, [], false_alarm="0.000001")
    print(caught, flush=True)
    peers = _opendp()
    sound = [*zoo.twins(), *zoo.our_mechanisms(), *_questions(), *peers]
    rates = zoo.run_battery([], sound, repetitions=REPETITIONS, false_alarm=FALSE_ALARM, effort=EFFORT)
    print(rates, flush=True)
    missed = "; ".join(verdict.name for verdict in caught.missed) or "none"
    alarms = "; ".join(verdict.name for verdict in rates.alarms) or "none"
    kinds = f"{len(zoo.SPECIMENS)} twins, {len(zoo.our_mechanisms())} of ours, 3 questions to a curator"
    others = f", {len(peers)} of OpenDP" if peers else "; OpenDP is not installed"
    return [
        f"Zoo: {caught.caught} of {caught.broken} broken mechanisms caught in {caught.seconds:.0f} s "
        f"(missed: {missed}).",
        f"Sound: {rates.sound} mechanisms ({kinds}{others}), each {REPETITIONS} times: {rates.flagged} of "
        f"{rates.runs} runs flagged ({alarms}) in {rates.seconds:.0f} s. "
        f"By chance alone one or more would be with probability {FALSE_ALARM} at most.",
        "Bar: all broken caught, none of at least 30 sound ones flagged: "
        f"{'met' if not caught.missed and not rates.flagged and rates.sound >= 30 else 'NOT MET'}.",
    ]


def _questions() -> list[zoo.Sound]:
    texts = (
        "SELECT world, count(*) FROM t GROUP BY world",
        "SELECT world, sum(value) FROM t GROUP BY world",
        "SELECT world, count(*), avg(value) FROM t GROUP BY world",
    )
    makes = _curators(0), _curators(1)
    return [zoo.Sound(question(*makes, sql, 1, by="world"), 4_000) for sql in texts]


def _curators(extra: int) -> Callable[[], tacit.Curator]:
    """In every world three units in the middle of the bounds, and perhaps one with two rows at their end."""
    rows = [(10 * world + unit, world, 50) for world in range(WORLDS) for unit in range(3)]
    rows += [(10 * world + 9, world, 100) for world in range(WORLDS) for _ in range(2 * extra)]
    units, worlds, values = zip(*rows, strict=True)
    frame = pa.table({"unit": units, "world": worlds, "value": values})
    return lambda: tacit.protect(
        frame,
        unit="unit",
        rows_per_unit=2,
        table="t",
        columns={"world": tacit.between(0, WORLDS - 1), "value": tacit.between(0, 100)},
        budget=tacit.Budget(10**6),
        largest_epsilon=10,
    )


def _opendp() -> list[zoo.Sound]:
    try:
        import opendp.prelude as dp
    except ImportError:
        return []
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    laplace = dp.m.make_laplace(*space, scale=1.0)
    scale = Gaussian(sensitivity=1, epsilon=1, delta="1e-5").scale
    gaussian = dp.m.make_gaussian(*space, scale=scale)
    return [
        zoo.Sound(Claim(laplace, 0, 1, 1, name="OpenDP Laplace"), OPENDP_SAMPLES),
        zoo.Sound(Claim(gaussian, 0, 1, 1, "1e-5", name="OpenDP Gaussian"), OPENDP_SAMPLES),
    ]


if __name__ == "__main__":
    print(main())
