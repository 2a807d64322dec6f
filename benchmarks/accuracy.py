"""Noise is what theory allows: planned against measured, against the least known, and against peers.

Bars: for twelve questions of different shapes the standard deviation measured over 2,000 asks is the planned one
within 5 %; the planned one is at most 1.05 times the least known for that sensitivity; and OpenDP, SmartNoise SQL and
Tumult Analytics, at the same epsilon, delta, unit and bounds, are nowhere below ours (by more than three times the
sampling error of what they drew). And SQL's mean and variance are at most 1.05 times as noisy as the studies' at the
same price, wherever the values lie.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import _accuracy_best as best
import _accuracy_ours as ours
import _accuracy_studies as studies
from _accuracy_ours import NEAR, Noise
from _accuracy_questions import ASKS, QUESTIONS, Question, write
from _peers import Told, listen, python_of

CLOSE = 1.05
PEER_DRAWS = 2_000
PEER_RUNS = 200
PEER_SECONDS = 30
# relative sampling error of a deviation over N draws of Laplace noise is this over sqrt(N)
LAPLACE = math.sqrt(5 / 4)


def main() -> str:
    noises = []
    for question in QUESTIONS:
        noises += (found := ours.measure(question))
        for each in found:
            print(f"{question.label}: {each.outputs[0]} measured/planned {each.ratio:.3f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        told = {
            "OpenDP": listen("_accuracy_opendp.py", folder, PEER_DRAWS, seconds=200),
            "SmartNoise SQL": listen(
                "_accuracy_smartnoise.py",
                *(folder, PEER_RUNS, PEER_SECONDS),
                python=python_of("smartnoise"),
                seconds=PEER_SECONDS + 200,
            ),
            "Tumult": listen("_accuracy_tumult.py", folder, python=python_of("tumult"), seconds=300),
        }
    beside = studies.lines(studies.measure())
    return "\n".join(["## Accuracy", "", *against_plan(noises), "", *beside, "", *against_peers(noises, told)])


def against_plan(noises: list[Noise]) -> list[str]:
    """Measured, planned, and the least known."""
    lines = [
        f"Standard deviation of the noise over {ASKS:,} asks of each question (one fresh ledger a question), the one",
        "planned by `estimate` (told the true number of rows), and the least known for that sensitivity.",
        "",
        "| question | epsilon, delta | output | noise | planned | measured / planned | least known | planned / least |",
        "|---|---|---|---|---|---|---|---|",
    ]
    worst_near, worst_least, worst_joint = 0.0, 0.0, 0.0
    alarms = 0.0
    for each in noises:
        least = best.least(each.question)[each.outputs[0]]
        worst_near = max(worst_near, abs(each.ratio - 1))
        worst_least = max(worst_least, each.planned / least.alone)
        joint = each.planned / least.jointly if least.jointly else 0.0
        worst_joint = max(worst_joint, joint)
        alarms += math.erfc(NEAR / each.uncertainty / math.sqrt(2))
        name = each.outputs[0] if len(each.outputs) == 1 else f"{each.outputs[0]} .. {each.outputs[-1]}"
        budget = each.question.epsilon + (f", {each.question.delta}" if each.question.delta != "0" else "")
        lines.append(
            f"| {each.question.label} | {budget} | {name} | {each.law} | {each.planned:.4g} "
            f"| {each.ratio:.3f} +/- {each.uncertainty:.3f} | {least.alone:.4g} ({least.why}) "
            f"| {each.planned / least.alone:.3f} |"
        )
    return [
        *lines,
        "",
        f"Bar: measured within {NEAR:.0%} of planned: worst {worst_near:.1%}, {verdict(worst_near <= NEAR)}. (+/- is "
        f"one sampling error. An output outside after {ASKS:,} asks is asked four times as often again and judged on "
        f"all; at the draws used here {alarms:.2f} outputs would be expected outside by chance alone.)",
        "",
        f"Bar: planned at most {CLOSE} times the least known for that sensitivity: worst {worst_least:.3f}, "
        f"{verdict(worst_least <= CLOSE)}. Where several numbers are bought without a delta, the K-norm law of their "
        f"box would give less noise than any noise on each by itself: planned is up to {worst_joint:.2f} times that; "
        "it is not built.",
    ]


def against_peers(noises: list[Noise], told: dict[str, Told]) -> list[str]:
    """The same questions to others."""
    lines = [
        "The same questions, epsilon, delta, unit and bounds. OpenDP plans each once and draws "
        f"{PEER_DRAWS:,} numbers of the noise it plans; SmartNoise SQL is asked up to {PEER_RUNS} times; Tumult says "
        "what noise it would add. Standard deviations; in brackets the multiple of ours as planned.",
        "",
        f"| question | output | ours | {' | '.join(told)} |",
        f"|---|---|---|{'---|' * len(told)}",
    ]
    below = []
    for each in noises:
        cells = []
        for peer, heard in told.items():
            figure, error = figure_of(heard, each.question, each.outputs[0])
            if figure is None:
                cells.append("cannot be asked")
                continue
            cells.append(f"{figure:.4g} ({figure / each.planned:.2f}x{f' +/- {error:.2f}' if error else ''})")
            if figure * (1 + 3 * error) < each.planned * (1 - 1e-3):
                below.append(f"{peer}, {each.question.label} ({figure / each.planned:.3f}x)")
        if any(cell != "cannot be asked" for cell in cells):
            lines.append(f"| {each.question.label} | {each.outputs[0]} | {each.planned:.4g} | {' | '.join(cells)} |")
    troubles = [f"{peer}: {heard.trouble}." for peer, heard in told.items() if heard.trouble]
    return [
        *lines,
        "",
        f"Bar: ours at or below each: {verdict(not below)}" + (f" (below us: {'; '.join(below)})." if below else "."),
        *troubles,
    ]


def figure_of(heard: Told, question: Question, output: str) -> tuple[float | None, float]:
    """A peer's deviation of this output, and its relative sampling error."""
    for line in heard.lines:
        if line.get("question") == question.label and "deviations" in line:
            place = question.outputs.index(output)
            draws = line.get("draws")
            return line["deviations"][place], LAPLACE / math.sqrt(draws) if draws else 0.0
    return None, 0.0


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"


if __name__ == "__main__":
    print(main())
