"""How well models learn under privacy, beside scikit-learn without it and diffprivlib: `python3 go.py bench learning`.

Every line is a model on a data set (`_learning_models_*.py`); data, public facts and splits are in `_learning_data.py`.
A cell is the mean score of 50 runs (`TACIT_RUNS`), each with its own split and its own noise, and the range that holds
the middle 95 % of them. Bars: the figures in the table; and nowhere below diffprivlib, which runs on the same splits in
its own environment, by more than three sampling errors of the difference. With `TACIT_PEER_RUNS` it runs on the first
few splits alone (it is slow on large tables); it is compared on those, and its cell says how many they were.

`TACIT_ONLY=logistic,PCA` runs the lines whose names begin so or contain `/adult`, say. With `TACIT_KEPT=FILE` each run
is written to that file as it is done, and runs that are in it are not done again. The file knows nothing of the code;
take its lines out for what was changed. With `TACIT_KEPT_ONLY=1` nothing is run: the table is of what was kept, and a
cell with fewer runs says how many.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from _learning_data import split_of
from _learning_frame import DELTA, Entry, gathered
from _peers import listen, python_of

RUNS = int(os.environ.get("TACIT_RUNS", "50"))
PEER_RUNS = int(os.environ.get("TACIT_PEER_RUNS", str(RUNS)))
ONLY = [each for each in os.environ.get("TACIT_ONLY", "").split(",") if each]
KEPT = Path(os.environ["TACIT_KEPT"]) if os.environ.get("TACIT_KEPT") else None
KEPT_ONLY = bool(os.environ.get("TACIT_KEPT_ONLY"))
PEER_SECONDS = 600
OURS, PLAIN, PEER = "tacit", "scikit-learn", "diffprivlib"

Cell = tuple[str, str, float]  # who, entry, epsilon (0 without privacy)
Scores = dict[Cell, dict[int, float]]  # by seed


def kept() -> Scores:
    """The runs that were written down."""
    found: Scores = {}
    for each in map(json.loads, KEPT.read_text().splitlines() if KEPT is not None and KEPT.exists() else []):
        note(found, each["who"], each["entry"], each["epsilon"], each["seed"], each["score"])
    return found


def note(scores: Scores, who: str, entry: str, epsilon: float, seed: int, score: float | None) -> None:
    """One run; a score that is no number is minus infinity."""
    scores.setdefault((who, entry, float(epsilon)), {})[seed] = -math.inf if score is None else score


def keep(who: str, entry: str, epsilon: float, seed: int, score: float | None) -> None:
    """Write a run down, where a file was named."""
    if KEPT is not None:
        with KEPT.open("a") as file:
            line = {"who": who, "entry": entry, "epsilon": epsilon, "seed": seed, "score": score}
            file.write(json.dumps(line) + "\n")


def measure(scores: Scores, who: str, entry: Entry, epsilon: float, run: Callable[[int], float]) -> None:
    """All runs of a cell that are not there yet."""
    for seed in range(RUNS):
        if seed not in scores.get((who, entry.name, epsilon), {}):
            score = run(seed)
            note(scores, who, entry.name, epsilon, seed, score)
            keep(who, entry.name, epsilon, seed, score)
    done = runs_of(scores, who, entry.name, epsilon)
    print(f"  {who}, {entry.name}, epsilon {epsilon:g}: {np.mean(done):.4f} of {len(done)}", flush=True)


def runs_of(scores: Scores, who: str, entry: str, epsilon: float) -> np.ndarray:
    """The scores of a cell, by seed; none where there is no such cell."""
    own = scores.get((who, entry, epsilon), {})
    return np.array([own[seed] for seed in range(RUNS) if seed in own])


def ask_peer(scores: Scores, entries: list[Entry]) -> str:
    """Let diffprivlib do its runs of these entries; what went wrong, or an empty text."""
    wanted = [
        [entry.model, entry.data, epsilon, seed]
        for entry in entries
        for epsilon in entry.epsilons
        for seed in range(PEER_RUNS)
        if seed not in scores.get((PEER, entry.name, epsilon), {})
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(wanted, file)
        file.flush()
        told = listen(
            "_learning_diffprivlib.py",
            file.name,
            python=python_of("diffprivlib"),
            seconds=PEER_SECONDS,
            heard=lambda line: write_down(scores, line),
        )
    return told.trouble


def write_down(scores: Scores, line: dict[str, Any]) -> None:
    """A run of the peer, as soon as it is told."""
    if "entry" in line:
        note(scores, PEER, line["entry"], line["epsilon"], line["seed"], line["score"])
        keep(PEER, line["entry"], line["epsilon"], line["seed"], line["score"])


def cell(found: np.ndarray) -> str:
    """The mean, and the range of the middle 95 % of runs."""
    if not len(found):
        return "-"
    low, high = np.quantile(found, [0.025, 0.975])
    fewer = f", {len(found)} runs" if len(found) < RUNS else ""
    return f"{np.mean(found):.3f} ({low:.3f} to {high:.3f}{fewer})" if np.isfinite(found).all() else "not finite"


def verdicts(scores: Scores, entry: Entry, epsilon: float) -> list[tuple[str, bool]]:
    """What was asked of a cell, and whether it is so."""
    ours = runs_of(scores, OURS, entry.name, epsilon)
    mine, others = (scores.get((who, entry.name, epsilon), {}) for who in (OURS, PEER))
    shared = sorted(mine.keys() & others.keys())  # the same splits
    paired, peer = (np.array([own[seed] for seed in shared]) for own in (mine, others))
    sign = -1 if entry.lower_is_better else 1
    found = []
    if epsilon in entry.bars and len(ours):
        found.append((f"{entry.name} at {epsilon:g}: bar", bool(sign * (np.mean(ours) - entry.bars[epsilon]) >= 0)))
    if len(peer):
        better = sign * np.mean(paired) >= sign * np.mean(peer)
        error = 3 * math.sqrt(np.var(paired - peer) / len(peer)) if np.isfinite(peer).all() else math.inf
        good = bool(better or np.mean(peer - paired) * sign < error)
        found.append((f"{entry.name} at {epsilon:g}: diffprivlib", good))
    return found


def table(scores: Scores, entries: list[Entry]) -> list[str]:
    lines = [
        "| model, data | epsilon | tacit | bar | diffprivlib | scikit-learn, no privacy |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries:
        for epsilon in entry.epsilons:
            ours, peer = runs_of(scores, OURS, entry.name, epsilon), runs_of(scores, PEER, entry.name, epsilon)
            bar = f"{entry.bars[epsilon]:g}" if epsilon in entry.bars else "-"
            missed = not all(good for what, good in verdicts(scores, entry, epsilon))
            text = f"**{cell(ours)}**" if missed else cell(ours)
            plain = cell(runs_of(scores, PLAIN, entry.name, 0.0))
            label = f"{entry.model}, {entry.data} ({entry.measure})"
            lines.append(f"| {label} | {epsilon:g} | {text} | {bar} | {cell(peer)} | {plain} |")
    return lines


def main() -> str:
    warnings.filterwarnings("ignore")
    every = [entry for found in gathered("models", "ENTRIES") for entry in found]
    entries = [entry for entry in every if not ONLY or any(each in entry.name for each in ONLY)]
    scores = kept()
    for entry in () if KEPT_ONLY else entries:
        measure(scores, PLAIN, entry, 0.0, lambda seed, entry=entry: entry.plain(split_of(entry.data, seed)))
        for epsilon in entry.epsilons:
            measure(
                scores,
                OURS,
                entry,
                epsilon,
                lambda seed, e=epsilon, entry=entry: entry.score(split_of(entry.data, seed), e),
            )
    trouble = "" if KEPT_ONLY else ask_peer(scores, entries)
    judged = [each for entry in entries for epsilon in entry.epsilons for each in verdicts(scores, entry, epsilon)]
    failed = [what for what, good in judged if not good]
    return "\n".join(
        [
            "## Learning",
            "",
            f"Scores at delta {DELTA:g}, mean of {RUNS} runs (a split and noise each) and the middle 95 % of them. "
            "Lower is better where the measure says so; bold misses its bar or is below diffprivlib by more than three "
            "sampling errors." + (f" Only some lines were run ({len(entries)} of {len(every)})." if ONLY else ""),
            "",
            *table(scores, entries),
            "",
            f"{len(judged) - len(failed)} of {len(judged)} verdicts met. Missed: {', '.join(failed) or 'none'}.",
            *(["", f"diffprivlib: {trouble}."] if trouble else []),
        ]
    )


if __name__ == "__main__":
    print(main())
