"""The peers of the surveys at home, in an environment of their own: users a second, and the error of estimated shares.

python benchmarks/_local_peers.py OPTIONS USERS RUNS      (JSON on standard output)
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

Way = tuple[Callable[[list[int]], list[Any]], Callable[[list[Any], int], Any]]


def pure(make: Callable[[], tuple[Any, Any]]) -> Way:
    """A client and a server of pure-ldp; items count from 1."""
    client, server = make()

    def encode(truths: list[int]) -> list[Any]:
        return [client.privatise(each + 1) for each in truths]

    def aggregate(reports: list[Any], options: int) -> Any:
        server.reset()
        for each in reports:
            server.aggregate(each)
        found = server.estimate_all(range(1, options + 1), suppress_warnings=True, normalization=0)
        return np.asarray(found) / len(reports)

    return encode, aggregate


def ways(options: int, epsilon: float) -> dict[str, Way]:
    """Every protocol of both packages that has a counterpart here."""

    def hadamard() -> tuple[Any, Any]:
        server = HadamardResponseServer(epsilon, options)
        return HadamardResponseClient(epsilon, options, server.get_hash_funcs()), server

    def multi(client: Any, aggregator: Any, *more: Any, sized: bool = True) -> Way:
        def encode(truths: list[int]) -> list[Any]:
            return [client(each, options, epsilon, *more) for each in truths]

        def aggregate(reports: list[Any], _: int) -> Any:
            found = reports if aggregator is SS_Aggregator_MI else np.asarray(reports)
            return aggregator(found, *([options] if sized else []), epsilon, *more)

        return encode, aggregate

    return {
        "k-ary, pure-ldp": pure(lambda: (DEClient(epsilon, options), DEServer(epsilon, options))),
        "k-ary, multi-freq-ldpy": multi(GRR_Client, GRR_Aggregator_MI),
        "optimal unary, pure-ldp": pure(
            lambda: (UEClient(epsilon, options, use_oue=True), UEServer(epsilon, options, use_oue=True))
        ),
        "optimal unary, multi-freq-ldpy": multi(UE_Client, UE_Aggregator_MI, True, sized=False),
        "hashing, pure-ldp": pure(
            lambda: (LHClient(epsilon, options, use_olh=True), LHServer(epsilon, options, use_olh=True))
        ),
        "hashing, multi-freq-ldpy": multi(LH_Client, LH_Aggregator_MI, True),
        "hadamard, pure-ldp": pure(hadamard),
        "subset, multi-freq-ldpy": multi(SS_Client, SS_Aggregator_MI),
    }


def main(options: int, users: int, runs: int) -> dict[str, Any]:
    truths = np.random.default_rng(1).zipf(1.5, users) % options
    true = np.bincount(truths, minlength=options) / users
    found: dict[str, Any] = {}
    for name in ways(options, 1.0):
        try:
            found[name] = measured(name, options, truths.tolist(), true, runs)
        except Exception as failure:  # noqa: BLE001 - whatever a peer raises, the others are still measured
            found[name] = {"failed": f"{type(failure).__name__}: {failure}"[:200]}
    return found


def measured(name: str, options: int, truths: list[int], true: Any, runs: int) -> dict[str, float]:
    encode, aggregate = ways(options, 1.0)[name]
    reports = encode(truths[:50])  # compiled before the clock runs
    aggregate(reports, options)
    began = time.process_time()
    reports = encode(truths)
    between = time.process_time()
    estimate = np.asarray(aggregate(reports, options))
    ended = time.process_time()
    errors = [float(np.mean((estimate - true) ** 2))]
    for _ in range(runs - 1):
        errors.append(float(np.mean((np.asarray(aggregate(encode(truths), options)) - true) ** 2)))
    return {
        "encode": len(truths) / (between - began),
        "aggregate": len(truths) / (ended - between),
        "error": float(np.mean(errors)),
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:4]))))
