"""What private training of neural networks costs, and what it learns: plain torch and Opacus in the same run.

Steps. CPU time of a step over plain torch's, exact noise and everything included. Bars: the MLP 0.40 at batches of
1,024, 0.75 at 8,192, and 0.85 there without noise; the small CNN and the transformer 0.55; each at least twice as fast
as Opacus's faster mode; memory at most 1.5 times plain torch's.

Accuracy (`_neural_accuracy`): what is learned from MNIST, Fashion-MNIST and Adult with settings fixed in advance.

TACIT_NEURAL_THREADS (2), TACIT_NEURAL_ROUNDS (3): threads of torch, and how often each library is started; figures
are medians. TACIT_NEURAL_SEEDS (3): runs of each model. TACIT_NEURAL_PARTS: "steps", "accuracy", or both. TACIT_KEPT: a
file in which finished measurements are kept as they come; what is in it already is not measured again, and with
TACIT_KEPT_ONLY=1 nothing else is.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from _peers import listen, python_of

THREADS = int(os.environ.get("TACIT_NEURAL_THREADS", "2"))
ROUNDS = int(os.environ.get("TACIT_NEURAL_ROUNDS", "3"))
PARTS = os.environ.get("TACIT_NEURAL_PARTS", "steps accuracy").split()
SEEDS = int(os.environ.get("TACIT_NEURAL_SEEDS", "3"))
ACCURACY = {
    "mnist-linear": ("MNIST, scattering and a linear model", 2.93, ".983", ".987"),
    "fashion-linear": ("Fashion-MNIST, scattering and a linear model", 2.7, ".89", ".895"),
    "mnist-cnn": ("MNIST, CNN", 2.93, ".975", ".981"),
    "fashion-cnn": ("Fashion-MNIST, CNN", 2.7, ".85", ".861"),
    "adult-mlp": ("Adult, MLP", 1, ".848", "-"),
}
KEPT = Path(os.environ["TACIT_KEPT"]) if "TACIT_KEPT" in os.environ else None
LIBRARIES = ("plain", "tacit", "tacit-silent", "opacus-hooks", "opacus-ghost")
SILENCE = 600.0


@dataclass(frozen=True, slots=True)
class Bars:
    """A case, its steps in a round, and the least share of plain torch's speed: with noise, and without."""

    case: str
    steps: int
    noisy: float
    silent: float | None = None


BARS = (
    Bars("mlp-1024", 20, 0.40),
    Bars("mlp-8192", 6, 0.75, 0.85),
    Bars("cnn", 5, 0.55),
    Bars("transformer", 5, 0.55),
)
WORDS = {
    "mlp-1024": "MLP 784-256-256-10, batches of 1,024",
    "mlp-8192": "the same, batches of 8,192",
    "cnn": "CNN of 26,010 parameters, batches of 1,024",
    "transformer": "two-layer transformer, 64 tokens, batches of 256",
}


def told_once(wanted: str, program: str, *arguments: object) -> tuple[dict[str, Any] | None, str]:
    """The line of a program that has `wanted`, kept or measured now; and why there is none."""
    key = " ".join(map(str, (program, *arguments)))
    lines = KEPT.read_text().splitlines() if KEPT is not None and KEPT.exists() else []
    for line in map(json.loads, lines):
        if line["key"] == key:
            return line, ""
    if os.environ.get("TACIT_KEPT_ONLY"):
        return None, "not measured"
    told = listen(program, *arguments, python=python_of("opacus"), seconds=SILENCE)
    for line in told.lines:
        if wanted in line:
            if KEPT is not None:
                with KEPT.open("a") as file:
                    file.write(json.dumps({"key": key, **line}) + "\n")
            return line, ""
    return None, next((each["missing"] for each in told.lines if "missing" in each), told.trouble)


def measured(bars: Bars) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds of CPU and megabytes, by library: medians over rounds. What fails is left out."""
    times: dict[str, list[float]] = {}
    memory: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        for library in LIBRARIES:
            steps = 2 if library == "opacus-hooks" else bars.steps
            found, trouble = told_once(
                "milliseconds", "_neural_steps.py", bars.case, library, THREADS, steps, f"round-{number}"
            )
            if found is not None:
                times.setdefault(library, []).append(found["milliseconds"])
                memory.setdefault(library, []).append(found["memory"])
            else:
                print(f"  {library}: {trouble}", flush=True)
    return {each: median(own) for each, own in times.items()}, {each: median(own) for each, own in memory.items()}


def steps() -> list[str]:
    """The table of steps."""
    lines = [
        f"CPU milliseconds of a step, torch on {THREADS} threads; memory above what was held before the first step.",
        "",
        "| network | plain torch | tacit | share of plain speed (bar) | without noise (bar) | Opacus, hooks | "
        "Opacus, ghost | times Opacus's faster (bar 2) | memory over plain (bar 1.5) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for bars in BARS:
        took, held = measured(bars)
        if not {"plain", "tacit", "tacit-silent"} <= took.keys():
            lines.append(f"| {WORDS[bars.case]} | not measured |")
            continue
        own = took["tacit"]
        peers = [took[each] for each in ("opacus-hooks", "opacus-ghost") if each in took]
        without = took["plain"] / took["tacit-silent"]
        faster = f"{min(peers) / own:.2f}" if peers else "-"
        cells = [
            WORDS[bars.case],
            f"{took['plain']:.1f}",
            f"{own:.1f}",
            f"{took['plain'] / own:.2f} ({bars.noisy:.2f})",
        ]
        cells += [f"{without:.2f}" + (f" ({bars.silent:.2f})" if bars.silent else "")]
        cells += [f"{took[each]:.1f}" if each in took else "failed" for each in ("opacus-hooks", "opacus-ghost")]
        cells += [faster, f"{held['tacit'] / held['plain']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def accuracy() -> list[str]:
    """The table of accuracies."""
    lines = [
        f"Test accuracy at delta 1e-5, the mean of {SEEDS} {'seed' if SEEDS == 1 else 'seeds'} (the lowest).",
        "",
        "| data, model | epsilon | accuracy | bar | published | CPU seconds of a run |",
        "|---|---|---|---|---|---|",
    ]
    for case, (words, epsilon, bar, published) in ACCURACY.items():
        every = [told_once("accuracy", "_neural_accuracy.py", case, seed, 1, THREADS) for seed in range(SEEDS)]
        runs = [each for each, _ in every if each is not None]
        if not runs:
            lines.append(f"| {words} | {epsilon} | left out: {every[0][1]} | {bar} | {published} | |")
            continue
        scores = [each["accuracy"] for each in runs]
        some = "" if len(runs) == SEEDS else f", {len(runs)} of {SEEDS} seeds"
        figure = f"{sum(scores) / len(scores):.4f} ({min(scores):.4f}{some})"
        seconds = median(each["seconds"] for each in runs)
        lines.append(f"| {words} | {epsilon} | {figure} | {bar} | {published} | {seconds:.0f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> str:
    lines = ["## Neural networks", ""]
    if "steps" in PARTS:
        lines += steps()
    if "accuracy" in PARTS:
        lines += ["", *accuracy()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
