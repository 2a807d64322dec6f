"""private-pgm's part of the synthesis benchmark, in an environment of its own: MST with the estimation of `mbi`.

    python benchmarks/_synthesis_mbi.py FILE FOLDER     (JSON: rows as codes, sizes, ["MST", epsilon, seed, MB] ...)

The package has the model and its estimation; the mechanism around it is written here after the paper (McKenna,
Miklau, Sheldon 2021), with the settings that its authors use: a third of rho each for single columns, choices and
pairs, rare values below three deviations merged, 2,500 and 10,000 steps of mirror descent, rows by rounding.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mbi import Domain, LinearMeasurement
from mbi.estimation import MirrorDescent

from _peers import tell


def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho whose zCDP implies the budget (Canonne, Kamath, Steinke 2020, proposition 12), by bisection."""
    orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e5), 4_000))
    low, high = 0.0, epsilon + 1
    for _ in range(100):
        rho = (low + high) / 2
        logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        low, high = (rho, high) if float(np.exp(logs.min())) <= delta else (low, rho)
    return low


def table(codes: dict[str, Any], columns: tuple[str, ...], sizes: dict[str, int]) -> Any:
    """Exact counts, flat."""
    flat = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
    for name in columns:
        flat = flat * sizes[name] + codes[name]
    return np.bincount(flat, minlength=math.prod(sizes[name] for name in columns))


def mst(codes: dict[str, Any], sizes: dict[str, int], epsilon: float, delta: float, generator: Any) -> dict[str, Any]:
    """Synthetic rows."""
    rho, count = rho_for(epsilon, delta), len(sizes)
    sigma = math.sqrt(3 * count / (2 * rho))
    noisy = {name: table(codes, (name,), sizes) + generator.normal(0, sigma, sizes[name]) for name in sizes}
    kept = {name: own >= 3 * sigma for name, own in noisy.items()}
    smaller, moved, single = {}, {}, []
    for name, own in noisy.items():
        place = np.where(kept[name], np.cumsum(kept[name]) - 1, kept[name].sum())
        smaller[name], moved[name] = int(place.max()) + 1, place[codes[name]]
        many = np.bincount(place, minlength=smaller[name])
        values = np.bincount(place, weights=own, minlength=smaller[name])
        # a merged cell has the noise of all that are in it: it is scaled so that all deviations are the same
        single.append(LinearMeasurement(values / np.sqrt(many), (name,), sigma, _Scaled(tuple(1 / np.sqrt(many)))))
    domain = Domain.fromdict(smaller)
    first = MirrorDescent().estimate(domain, single, iters=2_500)
    scores = {}
    for pair in itertools.combinations(smaller, 2):
        scores[pair] = float(np.abs(table(moved, pair, smaller) - first.project(pair).datavector()).sum())
    part = {name: name for name in smaller}
    eta = math.sqrt(8 * rho / 3 / (count - 1))
    second = math.sqrt(3 * (count - 1) / (2 * rho))
    pairs = []
    for _ in range(count - 1):
        left = [pair for pair in scores if part[pair[0]] != part[pair[1]]]
        keys = np.array([scores[pair] * eta / 2 for pair in left]) + generator.gumbel(size=len(left))
        a, b = left[int(keys.argmax())]
        pairs.append(
            LinearMeasurement(
                table(moved, (a, b), smaller) + generator.normal(0, second, smaller[a] * smaller[b]), (a, b), second
            )
        )
        part = {name: part[a] if own == part[b] else own for name, own in part.items()}
    model = MirrorDescent().estimate(domain, single + pairs, iters=10_000)
    drawn = model.synthetic_data()
    rows = drawn.to_dict() if hasattr(drawn, "to_dict") else {name: drawn.df[name].to_numpy() for name in smaller}
    found = {}
    for name, own in rows.items():
        own, rare = np.asarray(own), np.flatnonzero(~kept[name])
        back = np.append(np.flatnonzero(kept[name]), -1)[own]
        found[name] = np.where(back < 0, generator.choice(rare, len(own)) if len(rare) else 0, back)
    return found


class _Scaled:
    """Counts times fixed numbers; equal where the numbers are, as a compiled program's key must be."""

    def __init__(self, scales: tuple[float, ...]) -> None:
        self._scales = scales

    def __call__(self, factor: Any) -> Any:
        return factor.datavector() * np.array(self._scales)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Scaled) and self._scales == other._scales

    def __hash__(self) -> int:
        return hash(self._scales)


def main(file: Path, folder: Path) -> None:
    asked = json.loads(file.read_text())
    sizes: dict[str, int] = asked["sizes"]
    rows = np.load(asked["rows"])
    codes = {name: rows[:, place] for place, name in enumerate(sizes)}
    for method, epsilon, seed, _ in asked["runs"]:
        if method != "MST":
            continue  # the package has no mechanisms
        began = time.process_time()
        found = mst(codes, sizes, float(epsilon), 1e-9, np.random.default_rng(seed))
        seconds = time.process_time() - began
        target = folder / f"mbi-{epsilon}-{seed}.npy"
        np.save(target, np.stack([found[name] for name in sizes], axis=1))
        tell(method="private-pgm MST", epsilon=epsilon, seed=seed, seconds=seconds, rows=str(target))
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
