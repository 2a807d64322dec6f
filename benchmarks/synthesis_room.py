"""Synthetic data on Adult (48,842 rows, 14 coded columns), delta 1e-9: mean total variation of all 2- and 3-way tables.

Errors are of the model's own tables, and of rows that were drawn, as many as the release estimated; total variation is
half the sum of the absolute differences of shares. "32 ranges" has every column of more than 32 codes cut into 32 equal
ranges of codes before anything sees it (ours and peers alike); "all codes" leaves them. Beside the methods stand the
real rows drawn anew with replacement, and columns that were shuffled apart from each other: without any noise, but with
the chance that is in rows.

Peers. dpmm's MST and AIM (private-pgm's mechanisms, packaged) run in an environment of their own, which go.py makes
from its lock file. The others take part where an environment for them exists, because no versions of theirs on PyPI
work together. private-pgm: its package has the model without the mechanisms, which are in its repository; TACIT_PGM
names a checkout, and without one MST is written around the package. smartnoise-synth wants the model as it was before
it was on PyPI, from an older checkout:

    python3 -m venv .venv-mbi && .venv-mbi/bin/pip install "mbi>=2,<3" pandas
    python3 -m venv .venv-smartnoise-synth && .venv-smartnoise-synth/bin/pip install "numpy<2" "networkx<3" \\
        disjoint-set smartnoise-sql OLDER_CHECKOUT && .venv-smartnoise-synth/bin/pip install --no-deps smartnoise-synth

AIM with the bound on its model that its authors compare by (80 MB) takes hours: TACIT_SYNTHESIS_PEER_MB sets another.
TACIT_SYNTHESIS_PEERS chooses among the peers' mechanisms, e.g. "dpmm:MST mbi:AIM".

    TACIT_SYNTHESIS_SEEDS, TACIT_SYNTHESIS_PEER_SEEDS, TACIT_SYNTHESIS_PEER_PRICES, TACIT_SYNTHESIS_PEER_SECONDS
    make it shorter or longer: 5, 1, "0.1 1 10" and 1,200 where they are not set. TACIT_SYNTHESIS_ALL_CODES=no leaves
    out that column; TACIT_SYNTHESIS_METHODS and TACIT_SYNTHESIS_PRICES choose among ours.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _peers import listen, python_of
from tacit import synthesis

DATA = Path(__file__).resolve().parent / "data"
SEEDS = int(os.environ.get("TACIT_SYNTHESIS_SEEDS", "5"))
PEER_SEEDS = int(os.environ.get("TACIT_SYNTHESIS_PEER_SEEDS", "1"))
PRICES = tuple(os.environ.get("TACIT_SYNTHESIS_PRICES", "0.1 1 10").split())
METHODS = os.environ.get("TACIT_SYNTHESIS_METHODS", "independent mst aim residual").split()
PEER_PRICES = os.environ.get("TACIT_SYNTHESIS_PEER_PRICES", " ".join(PRICES)).split()
PEER_SECONDS = float(os.environ.get("TACIT_SYNTHESIS_PEER_SECONDS", "1200"))
PEER_MB = float(os.environ.get("TACIT_SYNTHESIS_PEER_MB", "80"))
PEERS = os.environ.get("TACIT_SYNTHESIS_PEERS", "dpmm:MST dpmm:AIM mbi:MST mbi:AIM smartnoise-synth:MST").split()
CHECKOUT = os.environ.get("TACIT_PGM", "")
PROGRAMS = {
    "dpmm": "_synthesis_dpmm.py",
    "mbi": "_synthesis_pgm.py" if CHECKOUT else "_synthesis_mbi.py",
    "smartnoise-synth": "_synthesis_smartnoise.py",
}
RANGES = 32
ALL_CODES = os.environ.get("TACIT_SYNTHESIS_ALL_CODES", "yes") == "yes"
# what is to be reached: mean total variation of 2-way and 3-way tables at each price
BARS = {
    "mst": {"0.1": (0.078, 0.139), "1": (0.037, 0.081), "10": (0.033, 0.076)},
    "aim": {"0.1": (0.0715, 0.125), "1": (0.021, 0.049), "10": (0.0110, 0.032)},
}
Rows = NDArray[np.int64]


def main() -> str:
    """Every method at three prices."""
    sizes, real = adult()
    cut, coarse = in_ranges(real, sizes)
    lines = [
        "## Synthetic data",
        "",
        f"Adult, 14 columns, delta 1e-9. 32 ranges: mean of {SEEDS} runs and its standard error, {PEER_SEEDS} of a "
        "peer; all codes: one run. CPU is that of the release; sampling apart.",
        "",
        "| method | epsilon | 2-way | bar | 3-way | bar | 2-way, rows | 3-way, rows | 2-way, rows, all codes | CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    generator = np.random.default_rng(0)
    again = generator.integers(0, len(real), len(real))
    lines.append(_still("real rows drawn anew", cut, cut[again], coarse, real, real[again], sizes))
    order = [generator.permutation(len(real)) for _ in sizes]
    apart = [np.stack([own[at, p] for p, at in enumerate(order)], axis=1) for own in (cut, real)]
    lines.append(_still("real columns shuffled", cut, apart[0], coarse, real, apart[1], sizes))
    seconds: dict[str, float] = {}
    methods: list[Callable[..., Any]] = [getattr(synthesis, name) for name in METHODS]
    for method, price in itertools.product(methods, PRICES):
        found, times = zip(*(_run(method, price, cut, coarse) for _ in range(SEEDS)), strict=True)
        whole = f"{_run(method, price, real, sizes, degrees=(2,))[0][1]:.4f}" if ALL_CODES else ""
        name = method.__name__
        seconds[f"{name} {price}"] = float(np.mean(times))
        lines.append(_line(name, price, np.array(found), whole, float(np.mean(times))))
        print(lines[-1], flush=True)
    for peer, program in PROGRAMS.items():
        wanted = [each.split(":")[1] for each in PEERS if each.split(":")[0] == peer]
        told, trouble = _peer(peer, program, wanted, cut, coarse) if wanted and PEER_PRICES else ({}, "")
        for (name, price), runs in told.items():
            spent = float(np.mean([own for _, own in runs]))
            lines.append(_line(name, price, np.array([errors for errors, _ in runs]), "", spent))
            ours = seconds.get(f"{'mst' if 'MST' in name else 'aim'} {price}")
            lines[-1] += f" {spent / ours:.0f} times ours" if ours else ""
        if trouble or not wanted:
            lines += ["", f"{peer}: {trouble or 'not asked for in this run'}."]
    return "\n".join(lines)


def adult() -> tuple[dict[str, int], Rows]:
    """Sizes of the columns, and the rows as codes."""
    sizes: dict[str, int] = json.loads((DATA / "adult_codes_domain.json").read_text())
    with gzip.open(DATA / "adult_codes.csv.gz", "rt") as file:
        return sizes, np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)


def in_ranges(rows: Rows, sizes: dict[str, int]) -> tuple[Rows, dict[str, int]]:
    """Columns of many codes cut into equal ranges."""
    fewer = {name: min(size, RANGES) for name, size in sizes.items()}
    cut = [rows[:, p] * fewer[name] // size for p, (name, size) in enumerate(sizes.items())]
    return np.stack(cut, axis=1), fewer


def _run(
    method: Callable[..., Any], price: str, rows: Rows, sizes: dict[str, int], degrees: tuple[int, ...] = (2, 3)
) -> tuple[list[float], float]:
    given = {name: rows[:, place] for place, name in enumerate(sizes)}
    began = time.process_time()
    twin = method(given, epsilon=price, delta="1e-9", bounds={name: (0, size - 1) for name, size in sizes.items()})
    seconds = time.process_time() - began
    drawn = twin.sample()
    made = np.stack([drawn[name] for name in sizes], axis=1)
    listed = list(sizes.values())
    modelled = [_modelled(twin, rows, listed, degree) for degree in degrees]
    return [*modelled, *(variation(rows, made, listed, degree) for degree in degrees)], seconds


def _modelled(twin: synthesis.Synthetic, real: Rows, sizes: list[int], degree: int) -> float:
    """The same of the model's own tables."""
    found = []
    for columns in itertools.combinations(range(len(sizes)), degree):
        shape = tuple(sizes[place] for place in columns)
        flat = np.ravel_multi_index(tuple(real[:, place] for place in columns), shape)
        shares = np.bincount(flat, minlength=math.prod(shape)).reshape(shape) / len(real)
        found.append(float(np.abs(shares - twin.probabilities(*(twin.columns[place] for place in columns))).sum()) / 2)
    return float(np.mean(found))


def _peer(
    peer: str, program: str, wanted: list[str], rows: Rows, sizes: dict[str, int]
) -> tuple[dict[tuple[str, str], list[tuple[list[float], float]]], str]:
    """Errors and CPU of a peer's mechanisms by name and price, and why there are none, or fewer."""
    found: dict[tuple[str, str], list[tuple[list[float], float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", rows)
        runs = [[*each, PEER_MB] for each in itertools.product(wanted, PEER_PRICES, range(PEER_SEEDS))]
        asked = {"sizes": sizes, "rows": str(Path(folder) / "rows.npy"), "runs": runs, "checkout": CHECKOUT}
        file = Path(folder) / "asked.json"
        file.write_text(json.dumps(asked))
        told = listen(program, file, folder, python=python_of(peer), seconds=PEER_SECONDS)
        for each in told.lines:
            if "rows" in each:
                made = np.load(each["rows"])
                errors = [variation(rows, made, list(sizes.values()), degree) for degree in (2, 3)]
                found.setdefault((each["method"], each["epsilon"]), []).append((errors, float(each["seconds"])))
    return found, told.trouble


def _still(
    name: str, cut: Rows, made: Rows, coarse: dict[str, int], real: Rows, whole: Rows, sizes: dict[str, int]
) -> str:
    two, three = (variation(cut, made, list(coarse.values()), degree) for degree in (2, 3))
    codes = variation(real, whole, list(sizes.values()), 2)
    return f"| {name} | | | | | | {two:.4f} | {three:.4f} | {codes:.4f} | |"


def _line(name: str, price: str, found: NDArray[np.float64], whole: str, seconds: float) -> str:
    """Four errors, or two where only rows are known."""
    means = found.mean(axis=0)
    spread = found.std(axis=0, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else [math.nan] * len(means)
    shown = [f"{mean:.4f} ± {error:.4f}" for mean, error in zip(means, spread, strict=True)]
    two, three, *rows = shown if len(shown) == 4 else ["", "", *shown]
    bars = BARS.get(name, {}).get(price, ("", ""))
    parts = [name, price, two, str(bars[0]), three, str(bars[1]), *rows, whole, f"{seconds:.2f}"]
    return f"| {' | '.join(parts)} |"


def variation(real: Rows, rows: Rows, sizes: list[int], degree: int) -> float:
    """Mean total variation of all tables of so many columns."""
    found = []
    for columns in itertools.combinations(range(len(sizes)), degree):
        shape = tuple(sizes[place] for place in columns)
        shares = [
            np.bincount(np.ravel_multi_index(tuple(own[:, p] for p in columns), shape), minlength=math.prod(shape))
            / len(own)
            for own in (real, rows)
        ]
        found.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return float(np.mean(found))
