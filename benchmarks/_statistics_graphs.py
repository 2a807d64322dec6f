"""Graphs and choices: how long they take, and how far off they are, against what there is without them.

Bars: triangles and the cost of a spanning tree of 10,000 nodes and 50,000 edges in at most 5 s each; sensitivities
equal to brute force over all small graphs (the tests do that: tests/statistics/test_graphs_sensitivities.py). No peer
has these studies, so errors stand beside the noise of the global sensitivity. The mode is compared with OpenDP's noisy
maximum on the same counts, top-k among its own methods, a posted price with the best one.

    python benchmarks/_statistics_graphs.py [RUNS]
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _peers import python_of
from tacit.statistics.graphs import degree_histogram, edge_count, k_stars, spanning_tree_cost, triangles
from tacit.statistics.graphs.k_stars import star_count
from tacit.statistics.graphs.source import Graph
from tacit.statistics.graphs.triangles import count_and_sensitivities
from tacit.statistics.selection.most_frequent import METHODS, mode, top_k
from tacit.statistics.selection.prices import best_price

SECONDS = 5.0
NODES, EDGES = 10_000, 50_000
SEED = 5

_OPENDP = """
import json, sys
import opendp.prelude as dp
dp.enable_features("contrib", "private-selection-v2")
counts, epsilon, runs = json.loads(sys.stdin.read())
space = dp.vector_domain(dp.atom_domain(T=int), size=len(counts)), dp.linf_distance(T=int, monotonic=True)
made = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0 / epsilon)
best = max(counts)
print(json.dumps(sum(best - counts[made(counts)] for _ in range(runs)) / runs))
"""


def graphs() -> dict[str, NDArray[np.int64]]:
    """Edges of a random graph, one with a hub joined to everybody, and one with many triangles."""
    rng = np.random.default_rng(SEED)
    plain = _distinct(rng.integers(0, NODES, (EDGES + 2_000, 2)))[:EDGES]
    hub = np.stack([np.zeros(NODES - 1, dtype=np.int64), np.arange(1, NODES)], axis=1)
    clustered = np.arange(EDGES * 2) // 10 % NODES
    near = (clustered + rng.integers(1, 8, EDGES * 2)) % NODES
    return {
        "random": plain,
        "hub": _distinct(np.concatenate([hub, plain[: EDGES - NODES]])),
        "clustered": _distinct(np.stack([clustered, near], axis=1))[:EDGES],
    }


def _distinct(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return np.random.default_rng(SEED).permutation(ordered)


def seconds(study: Any) -> float:
    """CPU time of one run."""
    start = time.process_time()
    study()
    return time.process_time() - start


def timings() -> list[dict[str, Any]]:
    """Each study once on each graph."""
    rows = []
    weights = np.random.default_rng(SEED).random(EDGES) * 10
    for name, edges in graphs().items():
        weighted = np.column_stack([edges, weights[: len(edges)]])
        studies = {
            "triangles": lambda edges=edges: triangles(edges, nodes=NODES, epsilon=1),
            "spanning tree": lambda w=weighted: spanning_tree_cost(w, nodes=NODES, bounds=(0, 10), epsilon=1),
            "3-stars": lambda edges=edges: k_stars(edges, nodes=NODES, k=3, epsilon=1),
            "degrees": lambda edges=edges: degree_histogram(edges, nodes=NODES, epsilon=1),
            "edges, node-private": lambda edges=edges: edge_count(
                edges, nodes=NODES, epsilon=1, protect="node", most_degree=15
            ),
        }
        for study, run in studies.items():
            took = seconds(run)
            rows.append({"graph": name, "study": study, "cpu s": round(took, 2), "bar": took <= SECONDS})
    return rows


def errors(runs: int) -> list[dict[str, Any]]:
    """Median absolute errors, and those of Laplace noise for the largest change that any graph allows."""
    rows = []
    rng = np.random.default_rng(SEED)
    edges = graphs()["clustered"]
    graph = Graph(NODES, edges, None)
    truths = {"triangles": count_and_sensitivities(graph)[0], "3-stars": star_count(graph, 3)}
    worst = {"triangles": NODES - 2, "3-stars": 2 * math.comb(NODES - 2, 2)}
    for epsilon in (0.1, 1.0):
        for name, study in (
            ("triangles", lambda e: triangles(edges, nodes=NODES, epsilon=e)),
            ("3-stars", lambda e: k_stars(edges, nodes=NODES, k=3, epsilon=e)),
        ):
            off = [abs(study(epsilon).value - truths[name]) for _ in range(runs)]
            naive = np.median(np.abs(rng.laplace(0, worst[name] / epsilon, 10_000)))
            rows.append(
                {
                    "study": name,
                    "epsilon": epsilon,
                    "truth": truths[name],
                    "median error": float(np.median(off)),
                    "global sensitivity": round(float(naive)),
                }
            )
    return rows


def choices(runs: int) -> list[dict[str, Any]]:
    """How many rows (or how much money) a choice loses on average."""
    rng = np.random.default_rng(SEED)
    counts = np.rint(300 * 0.97 ** np.arange(100)).astype(np.int64)
    values = [f"v{place}" for place in range(len(counts))]
    data = [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
    place = {value: number for number, value in enumerate(values)}
    rows = []
    for epsilon in (0.1, 1.0):
        lost = [counts[0] - counts[place[mode(data, values=values, epsilon=epsilon).value]] for _ in range(runs)]
        rows.append(
            {"choice": "mode", "epsilon": epsilon, "lost": float(np.mean(lost)), "OpenDP": _peer(counts, epsilon)}
        )
        for method in METHODS:
            found = [
                sum(counts[:10]) - sum(counts[place[each]] for each in top_k(
                    data, k=10, values=values, epsilon=epsilon, method=method, delta=0 if method == "one-shot" else 1e-6
                )["x"])
                for _ in range(runs)
            ]  # fmt: skip
            rows.append({"choice": f"top 10, {method}", "epsilon": epsilon, "lost": float(np.mean(found))})
        bids = rng.gamma(3, 2, 500).clip(0, 20)
        prices = [round(0.5 * step, 2) for step in range(1, 41)]
        revenue = {price: price * np.count_nonzero(bids >= price) for price in prices}
        share = [
            revenue[best_price(bids, prices=prices, bounds=(0, 20), epsilon=epsilon).value] / max(revenue.values())
            for _ in range(runs)
        ]
        rows.append(
            {"choice": "price (share of the best revenue)", "epsilon": epsilon, "lost": 1 - float(np.mean(share))}
        )
    return rows


def _peer(counts: NDArray[np.int64], epsilon: float) -> Any:
    python = python_of("bench")
    if not python.exists():
        return "no environment"
    given = json.dumps([counts.tolist(), epsilon, 500])
    done = subprocess.run(
        [str(python), "-c", _OPENDP], input=given, capture_output=True, text=True, timeout=120, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else f"failed: {done.stderr.strip().splitlines()[-1][:80]}"


def tables(found: dict[str, Any]) -> list[str]:
    """What `main` found, as Markdown."""
    lines: list[str] = []
    for title, rows in found.items():
        names = list(dict.fromkeys(name for row in rows for name in row))
        lines += [f"{title.capitalize()}:", "", f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
        lines += ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |" for row in rows]
        lines.append("")
    return lines


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main(runs: int = 200) -> dict[str, Any]:
    """All of it, printed and returned."""
    found = {"timings": timings(), "errors": errors(max(runs // 10, 5)), "choices": choices(runs)}
    for title, rows in found.items():
        print(f"\n## {title}")
        for row in rows:
            print(json.dumps(row))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
