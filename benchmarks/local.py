"""Surveys at home: users a second, variances against their formulas, and the peers' speed and error.

The peers run on fewer users, because they handle one at a time: pure-ldp and multi-freq-ldpy in an environment of their
own (`.venv-ldp`), OpenDP in this one. Both speeds are in users a second of CPU. Errors are the mean squared error of
estimated shares over all answers, of the same people; multi-freq-ldpy cuts its estimates at 0 and rescales them, so its
errors are compared with `consistent`. Numbers are compared with the papers (`_local_numbers`).

    python benchmarks/run.py local
"""

from __future__ import annotations

import json
import math
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import _local_numbers
import _local_opendp
import tacit
from tacit import local
from tacit.local import crowd, laws
from tacit.local.shares import consistent
from tacit.noise import secure

OPTIONS, USERS = 128, 1_000_000
FEW = 2_000
PEERS = Path(__file__).resolve().parents[1] / ".venv-ldp" / "bin" / "python"
BARS = {"k-ary": (20e6, 200e6), "hadamard": (8e6, 200e6), "hashing": (15e6, 1e6)}
NAMES = ("k-ary", "symmetric unary", "optimal unary", "hashing", "hadamard", "subset")


def rate(work: Callable[[], Any], users: int, times: int = 3) -> float:
    """Users a second of CPU, the best of several."""
    best = math.inf
    for _ in range(times):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return users / best


def speeds() -> dict[str, tuple[float, float]]:
    found = {}
    for name in NAMES:
        users = USERS if name in BARS else USERS // 10
        survey = local.Survey(tacit.one_of(*range(OPTIONS)), epsilon=1, protocol=name)
        truths = np.random.default_rng(1).integers(0, OPTIONS, users)
        reports = survey.simulate(truths)
        found[name] = (
            rate(lambda survey=survey, truths=truths: survey.simulate(truths), users),
            rate(lambda survey=survey, reports=reports: crowd.support(survey.law, reports.reports), users),
        )
    return found


def peers() -> dict[str, Any]:
    """What every peer has for a protocol of ours; a package that is not installed is left out."""
    found: dict[str, Any] = dict(_local_opendp.measured(OPTIONS, FEW, 5))
    if not PEERS.exists():
        return found
    command = [str(PEERS), str(Path(__file__).with_name("_local_peers.py")), str(OPTIONS), str(FEW), "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return found | (json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {})


def variances(runs: int = 200) -> dict[str, float]:
    """Measured over stated variance, over all answers and runs: within 6/sqrt(runs * answers) by chance."""
    found = {}
    truths = np.random.default_rng(1).zipf(1.5, FEW) % OPTIONS
    true = np.bincount(truths, minlength=OPTIONS) / FEW
    for name in laws.FREQUENCIES:
        survey = local.Survey(tacit.one_of(*range(OPTIONS)), epsilon=1, protocol=name)
        p, q = (float(each) for each in laws.supports(survey.law))
        stated = np.array([laws.variance(survey.law, share, FEW) for share in true])
        ratios = []
        for _ in range(runs):
            support = crowd.support(survey.law, survey.simulate(truths).reports)
            ratios.append(np.mean(((support / FEW - q) / (p - q) - true) ** 2 / stated))
        found[name] = float(np.mean(ratios))
    return found


def errors(runs: int = 20) -> dict[str, tuple[float, float]]:
    """Mean squared error of estimates, and of consistent ones, on the peers' people."""
    truths = np.random.default_rng(1).zipf(1.5, FEW) % OPTIONS
    true = np.bincount(truths, minlength=OPTIONS) / FEW
    found = {}
    for name in ("best", *NAMES):
        survey = local.Survey(tacit.one_of(*range(OPTIONS)), epsilon=1, protocol=name)
        raw = [np.array(survey.collect(survey.simulate(truths))["share"]) for _ in range(runs)]
        found[name] = tuple(
            float(np.mean([np.mean((each - true) ** 2) for each in kind]))
            for kind in (raw, [consistent(each) for each in raw])
        )
    return found


def wide() -> str:
    """A domain of 100,000 answers."""
    survey = local.Survey(tacit.one_of(*range(100_000)), epsilon=1, protocol="hadamard")
    truths = np.random.default_rng(1).integers(0, 100_000, 100_000)
    began = time.process_time()
    reports = crowd.encode(survey.law, truths, secure())
    between = time.process_time()
    crowd.support(survey.law, reports)
    return (
        f"100,000 answers, 100,000 people, Hadamard: encoded in {between - began:.2f} s of CPU, aggregated in "
        f"{time.process_time() - between:.2f} s; `best` takes {laws.best(100_000, survey.epsilon)}."
    )


def main() -> str:
    ours, theirs, exact, stated = speeds(), peers(), errors(), variances()
    lines = [
        "## Surveys at home",
        "",
        f"Domain {OPTIONS}, epsilon 1; users a second of CPU (ours {USERS:,} users, peers {FEW:,}).",
        "",
        "| protocol | ours encode / aggregate | best peer encode / aggregate | ratio | bar |",
        "|---|---|---|---|---|",
    ]
    for name, (encode, aggregate) in ours.items():
        own = [each for key, each in theirs.items() if key.startswith(f"{name},") and "encode" in each]
        best = [max((each[what] for each in own if what in each), default=math.nan) for what in ("encode", "aggregate")]
        bar = BARS.get(name)
        met = "-" if bar is None else ("met" if encode >= bar[0] and aggregate >= bar[1] else "missed")
        lines.append(
            f"| {name} | {encode / 1e6:.1f}M / {aggregate / 1e6:.1f}M | {best[0] / 1e3:.1f}k / {best[1] / 1e3:.1f}k | "
            f"{encode / best[0]:.0f}x / {aggregate / best[1]:.0f}x | {met} |"
        )
    lines += ["", wide(), "", "Mean squared error of shares (times a million), the same people:", ""]
    lines += ["| protocol | ours | ours, consistent | peers |", "|---|---|---|---|"]
    for name, (raw, kept) in exact.items():
        others = ", ".join(
            f"{key.split(', ')[1]} {each['error'] * 1e6:.0f}" if "error" in each else f"{key}: {each['failed']}"
            for key, each in theirs.items()
            if key.startswith(f"{name},")
        )
        lines.append(f"| {name} | {raw * 1e6:.0f} | {kept * 1e6:.0f} | {others or '-'} |")
    ratios = ", ".join(f"{name} {each:.3f}" for name, each in stated.items())
    lines += ["", f"Measured over stated variance of shares: {ratios}.", ""]
    return "\n".join([*lines, *_local_numbers.main()])


if __name__ == "__main__":
    print(main())
