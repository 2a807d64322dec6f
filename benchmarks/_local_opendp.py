"""OpenDP's randomised responses as a peer of the surveys at home: k-ary, and bit vectors with its own debiasing.

OpenDP gives no estimator for the k-ary response; its shares are estimated here by the usual inverse, outside its clock,
so that only its encoding is timed. Both randomisers are checked to cost the same epsilon as ours by OpenDP's own map.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import opendp.prelude as dp

EPSILON = 1.0


def measured(options: int, users: int, runs: int) -> dict[str, dict[str, float]]:
    """The same people, keys and units as `_local_peers` gives."""
    dp.enable_features("contrib")
    truths = np.random.default_rng(1).zipf(1.5, users) % options
    true = np.bincount(truths, minlength=options) / users
    found = {
        "k-ary, opendp": [_k_ary(options, truths) for _ in range(runs)],
        "symmetric unary, opendp": [_unary(options, truths) for _ in range(runs)],
    }
    return {name: _summed(each, true) for name, each in found.items()}


def _summed(runs: list[tuple[float, float | None, Any]], true: Any) -> dict[str, float]:
    users = {"encode": max(each[0] for each in runs), "aggregate": max(each[1] or 0.0 for each in runs)}
    return {
        **{what: rate for what, rate in users.items() if rate},
        "error": float(np.mean([np.mean((each[2] - true) ** 2) for each in runs])),
    }


def _k_ary(options: int, truths: Any) -> tuple[float, None, Any]:
    kept = math.exp(EPSILON) / (math.exp(EPSILON) + options - 1)
    randomise = dp.m.make_randomized_response(list(range(options)), kept)
    _same_price(randomise)
    people = truths.tolist()
    began = time.process_time()
    reports = [randomise(each) for each in people]
    seconds = time.process_time() - began
    other = (1 - kept) / (options - 1)
    shares = np.bincount(reports, minlength=options) / len(reports)
    return len(reports) / seconds, None, (shares - other) / (kept - other)


def _unary(options: int, truths: Any) -> tuple[float, float, Any]:
    flipping = 2 / (1 + math.exp(EPSILON / 2))
    randomise = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=flipping
    )
    _same_price(randomise)
    people = [row.tobytes() for row in np.packbits(np.eye(options, dtype=np.uint8), axis=1, bitorder="little")[truths]]
    began = time.process_time()
    reports = [randomise(each) for each in people]
    between = time.process_time()
    counts = np.asarray(dp.m.debias_randomized_response_bitvec(reports, flipping), dtype=np.float64)
    ended = time.process_time()
    return len(reports) / (between - began), len(reports) / (ended - between), counts[:options] / len(reports)


def _same_price(randomise: Any) -> None:
    """A peer at another epsilon would be no peer: its own map must say ours, to rounding."""
    told = randomise.map(1)
    if not math.isclose(told, EPSILON, rel_tol=1e-9):
        raise ValueError(f"OpenDP says epsilon {told}; the comparison is at {EPSILON}.")
