"""Privacy loss: tight totals against exact truths and against dp-accounting, prv-accountant and OpenDP, in one run.

Bars: our epsilon is never below the truth and within 0.1 % of it where it is known exactly (analytic Gaussian,
binomial sum for randomised response); elsewhere never more than 0.1 % above the tightest sound peer; the whole table
takes at most 1/20 of dp-accounting's CPU time; a total over 1,000 different events takes at most 100 ms cold and 3 ms
after one more event; of 10,000 random comparisons with exact truths none is below.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import _loss_peers as peers
import _loss_truths as truths
from _loss_peers import Part
from tacit.loss import events
from tacit.loss.accountants import contour
from tacit.loss.accountants.contour import ContourAccountant
from tacit.loss.events import Event

NEAR = 1.001
SPEED = 20.0
COLD_MS = 100.0
ADDED_MS = 3.0
COMPARISONS = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """A workload. `low` is a certified lower bound of the truth where no formula is known, else 0."""

    label: str
    parts: tuple[Part, ...]
    delta: float = 1e-6
    low: float = 0.0

    def entries(self) -> dict[Event, int]:
        return {event_of(part): part.count for part in self.parts}

    def truth(self) -> float | None:
        """The exact epsilon, where a formula gives it."""
        part = self.parts[0]
        if len(self.parts) > 1 or part.kind not in ("gaussian", "response"):
            return None
        if part.kind == "gaussian":
            mu = math.sqrt(part.count) / part.parameter
            top = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / self.delta))
            return truths.least_epsilon(truths.gaussian(mu), self.delta, top)
        curve = truths.response(part.parameter, part.count)
        return truths.least_epsilon(curve, self.delta, part.parameter * part.count)


def event_of(part: Part) -> Event:
    exact = Fraction(str(part.parameter))
    if part.kind == "laplace":
        return events.Laplace(1, 1 / exact)
    if part.kind == "response":
        return events.RandomizedResponse(exact, 2)
    noise = events.Gaussian(1, exact)
    return noise if part.kind == "gaussian" else events.PoissonSampled(noise, Fraction(str(part.rate)))


def rows() -> list[Row]:
    def one(kind: str, name: str, parameter: float, count: int, delta: float = 1e-6, low: float = 0.0) -> Row:
        label = f"{name}={parameter:g}, k={count:,}" + ("" if delta == 1e-6 else f", delta={delta:g}")
        return Row(label, (Part(kind, parameter, count),), delta, low)

    # Lower bounds of the truth from optimistic discretisations, certified independently of this project.
    laplace = {(0.01, 100): 0.39132544, (0.01, 10000): 4.87625758, (0.1, 10): 0.998978089, (0.1, 100): 4.6926674}
    laplace |= {(0.1, 1000): 18.9502873, (0.1, 10000): 94.2358622, (1.0, 100): 71.5460035, (1.0, 1000): 486.297502}
    laplace |= {(1.0, 10000): 4060.81801}
    table = [one("laplace", "Laplace eps", size, count, low=low) for (size, count), low in laplace.items()]
    table.append(one("laplace", "Laplace eps", 0.1, 100, 1e-10, 6.17946527))
    for sigma, count in ((10.0, 1), (10.0, 100), (100.0, 10000), (1.0, 100), (1.0, 10000)):
        table.append(one("gaussian", "Gaussian sigma", sigma, count))
    table.append(one("gaussian", "Gaussian sigma", 10.0, 100, 1e-10))
    for size, count in ((0.1, 10), (0.1, 100), (0.1, 1000), (0.1, 10000), (1.0, 10), (1.0, 100), (1.0, 1000)):
        table.append(one("response", "randomised response eps", size, count))
    table.append(one("response", "randomised response eps", 0.1, 1000, 1e-10))
    for size, sigma, count, low in (
        (1.0, 1.0, 1, 5.75817022),
        (0.5, 2.0, 10, 11.4094004),
        (0.1, 10.0, 50, 4.79254581),
        (0.02, 50.0, 500, 2.91352404),
    ):
        label = f"{count} Laplace eps={size:g} + {count} Gaussian sigma={sigma:g}"
        table.append(Row(label, (Part("laplace", size, count), Part("gaussian", sigma, count)), low=low))
    sampled = {(0.8, 1000): 3.70618161, (1.0, 1000): 2.12451326, (2.0, 1000): 0.72091436, (0.8, 10000): 11.1831441}
    sampled |= {(1.0, 10000): 6.907371, (2.0, 10000): 2.44671641, (0.8, 100000): 0.0, (1.0, 100000): 0.0}
    sampled |= {(2.0, 100000): 0.0}
    for (sigma, steps), low in sampled.items():
        label = f"sampled Gaussian q=0.01 sigma={sigma:g}, {steps:,} steps"
        table.append(Row(label, (Part("sampled", sigma, steps, 0.01),), low=low))
    return table


def timed(row: Row) -> tuple[Row, float, float]:
    """Our epsilon, once and cold, and its CPU seconds."""
    start = time.process_time()
    epsilon = contour.epsilon(row.entries(), row.delta)
    return row, epsilon, time.process_time() - start


def compare() -> tuple[list[str], list[str]]:
    """The table and its verdicts."""
    names = [name for name in peers.PEERS if peers.installed(name)]
    lines = ["| epsilon at delta 1e-6 unless said | truth | tacit | " + " | ".join(names) + " | tacit over best |"]
    lines.append("|---" * (len(names) + 4) + "|")
    contour.epsilon({events.Laplace(1, 1): 1, events.PoissonSampled(events.Gaussian(1, 1), "0.5"): 1}, 1e-6)  # warm up
    below = loose = above = 0
    # All of ours first: the timer that stops slow peers makes the clock of CPU time coarse on some systems.
    answers = [timed(row) for row in rows()]
    our_seconds = math.fsum(spent for _, _, spent in answers)
    seconds = dict.fromkeys(names, 0.0)
    for row, ours, spent in answers:
        truth = row.truth()
        least = truth if truth is not None else row.low
        below += ours < least * (1 - 1e-9)
        loose += truth is not None and ours > truth * NEAR
        cells, sound = [], [truth] if truth is not None else []
        for name in names:
            outcome = peers.ask(name, row.label, list(row.parts), row.delta)
            seconds[name] += outcome.seconds
            if outcome.epsilon is None:
                cells.append(outcome.note)
                continue
            # their last digits are rounded, and the bounds from below carry nine of them
            unsound = outcome.epsilon < least * (1 - 1e-8)
            if not unsound:
                sound.append(outcome.epsilon)
            cells.append(f"{outcome.epsilon:.6g}{' **unsound**' if unsound else ''} / {outcome.seconds * 1e3:.0f} ms")
        best = min(sound, default=math.inf)
        above += ours > best * NEAR
        known = f"{truth:.8g}" if truth is not None else (f"> {row.low:.8g}" if row.low else "")
        ratio = f"{ours / best - 1:+.1e}" if math.isfinite(best) else ""
        line = f"| {row.label} | {known} | {ours:.8g} / {spent * 1e3:.1f} ms | " + " | ".join(cells) + f" | {ratio} |"
        lines.append(line)
        print(line, flush=True)
    totals = " | ".join(f"{seconds[name]:.1f} s" for name in names)
    lines.append(f"| CPU time of all rows | | {our_seconds:.3f} s | {totals} | |")
    verdicts = [
        f"- never below the truth: {below} rows below ({met(below == 0)})",
        f"- within 0.1 % of the truth where it is known exactly: {loose} rows beyond ({met(loose == 0)})",
        f"- never more than 0.1 % above the tightest sound bound: {above} rows beyond ({met(above == 0)})",
    ]
    if "dp-accounting" in seconds:
        times = seconds["dp-accounting"] / our_seconds
        verdicts.append(
            f"- CPU time: {times:.0f}x less than dp-accounting, rows it did not finish counted for us only "
            f"(bar {SPEED:.0f}x: {met(times >= SPEED)})"
        )
    return lines, verdicts


def met(good: bool) -> str:
    return "met" if good else "NOT MET"


def ledger(laplace: int, gaussian: int, pure: int, seed: int) -> dict[Event, int]:
    """Different events with parameters drawn at random."""
    draw = np.random.default_rng(seed).uniform
    entries: dict[Event, int] = {}
    entries |= {events.Laplace(1, Fraction(draw(20, 100))): 1 for _ in range(laplace)}
    entries |= {events.Gaussian(1, Fraction(draw(20, 100))): 1 for _ in range(gaussian)}
    entries |= {events.Pure(Fraction(draw(0.01, 0.05))): 1 for _ in range(pure)}
    return entries


def online() -> tuple[list[str], list[str]]:
    """A thousand different events, and then one more."""
    lines = ["", "| 1,000 different events | epsilon | cold, ms | one more event, ms (median, worst of 100) |"]
    lines.append("|---|---|---|---|")
    verdicts = []
    for laplace, gaussian, pure in ((400, 400, 200), (500, 0, 500), (0, 0, 1000)):
        cold = []
        for seed in range(3):
            entries = ledger(laplace, gaussian, pure, seed)
            start = time.process_time()
            epsilon = contour.epsilon(entries, 1e-6)
            cold.append((time.process_time() - start) * 1e3)
        accountant = ContourAccountant()
        accountant.add_leaves(entries)
        accountant.epsilon(1e-6)
        added = []
        for extra in ledger(50, 0, 50, 99):
            start = time.process_time()
            accountant.add(extra)
            accountant.epsilon(1e-6)
            added.append((time.process_time() - start) * 1e3)
        label = f"{laplace} Laplace, {gaussian} Gaussian, {pure} pure"
        middle, worst = statistics.median(added), max(added)
        lines.append(f"| {label} | {epsilon:.6g} | {min(cold):.0f} | {middle:.2f}, {worst:.1f} |")
        verdicts.append(
            f"- {label}: cold {min(cold):.0f} ms (bar {COLD_MS:.0f}: {met(min(cold) <= COLD_MS)}), "
            f"one more {middle:.2f} ms (bar {ADDED_MS:.0f}: {met(middle <= ADDED_MS)})"
        )
        print(lines[-1], flush=True)
    return lines, verdicts


def random_case(draw: np.random.Generator) -> tuple[dict[Event, int], truths.Curve, float]:
    """Entries, their exact curve, and the relative error of that curve."""

    def wide(low: float, high: float) -> float:
        return float(np.exp(draw.uniform(math.log(low), math.log(high))))

    kind = int(draw.integers(3))
    if kind == 0:
        size, count = wide(1e-3, 4.0), int(wide(1, 400))
        return {events.RandomizedResponse(Fraction(size), 2): count}, truths.response(size, count), 1e-11
    if kind == 1:
        sigma, count = wide(0.2, 300.0), int(wide(1, 1000))
        # mu is rounded, so the truth is taken a hair below it
        return {events.Gaussian(1, Fraction(sigma)): count}, truths.gaussian(math.sqrt(count) / sigma), 1e-13
    step = wide(0.01, 1.0)
    exact = Fraction(step)
    entries: dict[Event, int] = {}
    parts = []
    for _ in range(int(draw.integers(1, 4))):
        shift, count, options = int(draw.integers(1, 7)), int(wide(1, 25)), int(draw.integers(2, 6))
        if draw.integers(2):
            event: Event = events.DiscreteLaplace(shift, 1 / exact)
            parts.append((truths.discrete_laplace_losses(shift, step), count))
        else:
            event = events.RandomizedResponse(shift * exact, options)
            parts.append((truths.response_losses(shift, step, options), count))
        entries[event] = entries.get(event, 0) + count
    return entries, truths.lattice(parts, step), 1e-11


def random_comparisons() -> tuple[list[str], list[str]]:
    """Our epsilon at a random delta: the exact delta there must not exceed the one asked for."""
    draw = np.random.default_rng(20260101)
    below = loose = 0
    start = time.process_time()
    for _ in range(COMPARISONS):
        entries, curve, error = random_case(draw)
        delta = float(10 ** draw.uniform(-14, -0.5))
        found = contour.epsilon(entries, delta)
        below += curve(found) * (1 - error) > delta
        if found > 0 and curve(found / NEAR) <= delta:
            loose += 1
    taken = time.process_time() - start
    line = (
        f"- {COMPARISONS:,} random comparisons with exact truths (delta from 0.3 down to 1e-14): {below} below "
        f"({met(below == 0)}); {loose} more than 0.1 % above; {taken:.0f} s with the truths"
    )
    print(line, flush=True)
    return [], [line]


def main() -> str:
    """Measure everything and return the Markdown section."""
    later, more = online()
    table, verdicts = compare()
    lines, last = random_comparisons()
    table += later + lines
    verdicts += more + last
    heading = [
        "## Privacy loss",
        "",
        "Epsilon / CPU time. Peers may be sound and loose, or below the truth: then unsound.",
        "",
    ]
    return "\n".join([*heading, *table, "", *verdicts])


if __name__ == "__main__":
    print(main())
