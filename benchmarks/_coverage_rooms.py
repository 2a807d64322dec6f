"""What intervals of the other rooms are held against: scores, synthetic data, watches, streams, surveys, collections.

Each case goes through the public surface, in the regimes of `_coverage_cases`: the same rows, put to the room's own
use. `learning.LinearRegression` has regimes of its own (`_coverage_lines`), and every measure of `learning.evaluate` is
held against exact laws in `scores.py`; here it is called as its users call it.

A number that is told with its reach ("off by no more than this, 95 times of 100") counts as an interval, and a standard
deviation of noise that is told to be normal as one of 1.96 deviations.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from _coverage_cases import CLOSE, REGIMES, Regime, Tally
from tacit import federated, learning, local, streaming, synthesis

Pairs = Sequence[tuple[Any, float]]
"""Intervals (None where one is not shown), and the truth of each."""
Run = Callable[[], Mapping[str, Pairs]]
Case = Callable[[Regime, np.random.Generator], Run]

_STEPS = 5
_PEOPLE = 40
"""The least number of people in a survey: of ten next to nothing is shown."""
_CLIENTS = 60
_NORMAL = 1.96
_SLIGHTLY = Fraction(1, 10**9)
"""Of epsilon: by so much each price differs from the one before, because what was asked before is not drawn again."""


def _around(value: float | None, reach: float | None) -> tuple[float, float] | None:
    return None if value is None or reach is None else (value - reach, value + reach)


def _pairs(finding: Any, column: str, truths: Iterable[float]) -> Pairs:
    listed = list(truths)
    return list(zip(finding.intervals().get(column, [None] * len(listed)), listed, strict=True))


def _prices(regime: Regime) -> Iterator[Fraction]:
    return (Fraction(str(regime.epsilon)) * (1 + each * _SLIGHTLY) for each in count())


# -- scores ------------------------------------------------------------------------------------------------


def _classes(regime: Regime, rng: np.random.Generator) -> Run:
    from sklearn.linear_model import LogisticRegression

    rows = regime.matrix(rng, 2)
    edge = float(np.median(rows[:, 0]))
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], ["no", "yes"])
    model.coef_, model.intercept_ = np.array([[0.05, 0.0]]), np.array([-0.05 * edge])
    target = np.where(rows[:, 1] > edge, "yes", "no")
    said = model.predict(rows)
    truths = {"accuracy": float((said == target).mean())}
    if (target == "no").any():
        truths["false positive rate"] = float((said[target == "no"] == "yes").mean())

    prices = _prices(regime)

    def run() -> Mapping[str, Pairs]:
        return _measures(learning.evaluate(model, rows, target, epsilon=next(prices)).scores, truths)

    return run


def _numbers(regime: Regime, rng: np.random.Generator) -> Run:
    from sklearn.linear_model import LinearRegression

    rows = regime.matrix(rng, 2)
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    left, spread = rows[:, 1] - rows[:, 0], float(np.var(rows[:, 1]))
    truths = {"mean absolute error": float(np.abs(left).mean())}
    if spread:
        truths["R2"] = 1 - float((left**2).mean()) / spread
    prices = _prices(regime)

    def run() -> Mapping[str, Pairs]:
        price = next(prices)
        found = learning.evaluate(model, rows[:, :1], rows[:, 1], epsilon=price, target_bounds=regime.bounds)
        return _measures(found.scores, truths)

    return run


def _measures(found: Any, truths: Mapping[str, float]) -> Mapping[str, Pairs]:
    shown = dict(zip(found["measure"], found.intervals().get("score", [None] * len(found["measure"])), strict=True))
    return {name: [(shown[name], truth)] for name, truth in truths.items()}


# -- synthetic data ----------------------------------------------------------------------------------------


def _coded(regime: Regime, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two columns of codes that go together, and their bounds."""
    rows = regime.matrix(rng, 2)
    low, high = regime.bounds
    cells = min(regime.cells, 12)
    codes = np.minimum(((rows - low) / (high - low) * cells).astype(int), cells - 1)
    return {"a": codes[:, 0], "b": codes[:, 1]}, {"a": (0, cells - 1), "b": (0, cells - 1)}


def _twin(method: str, what: str) -> Case:
    def made(regime: Regime, rng: np.random.Generator) -> Run:
        data, bounds = _coded(regime, rng)
        facts: dict[str, Any] = {"bounds": bounds, "epsilon": regime.epsilon}
        if method != "independent":
            facts["delta"] = 1e-6
        cells = bounds["a"][1] + 1
        sql = f"SELECT count(*) AS n, sum(a) AS s, avg(a) AS m FROM t WHERE a >= {cells // 3}"
        some = data["a"][data["a"] >= cells // 3]
        counts = np.bincount(data["a"], minlength=cells)
        both = np.histogram2d(data["a"], data["b"], bins=cells, range=((-0.5, cells - 0.5),) * 2)[0]

        def run() -> Mapping[str, Pairs]:
            twin = getattr(synthesis, method)(data, **facts)
            if what == "ask":
                found = twin.ask(sql)
                truths = {"n": float(len(some)), "s": float(some.sum())}
                if len(some):
                    truths["m"] = float(some.mean())
                return {name: _pairs(found, name, [truth]) for name, truth in truths.items()}
            return {
                "one column": _pairs(twin.marginal("a"), "n", counts),
                "two columns": _pairs(twin.marginal("a", "b"), "n", both.reshape(-1)),
            }

        return run

    return made


def _distances(regime: Regime, rng: np.random.Generator) -> Run:
    data, bounds = _coded(regime, rng)
    twin = synthesis.independent(data, bounds=bounds, epsilon=1)
    cells = bounds["a"][1] + 1
    both = np.histogram2d(data["a"], data["b"], bins=cells, range=((-0.5, cells - 0.5),) * 2)[0]
    truth = float(np.abs(both / both.sum() - twin.probabilities("a", "b")).sum() / 2)

    def run() -> Mapping[str, Pairs]:
        found = synthesis.evaluate(twin, data, bounds=bounds, epsilon=regime.epsilon)
        return {name: _pairs(found, name, [truth] * len(found[name])) for name in found.intervals()}

    return run


# -- watches and streams -----------------------------------------------------------------------------------


def _watched(regime: Regime, rng: np.random.Generator) -> Run:
    import pandas as pd

    values, wards = regime.column(rng), rng.integers(0, 2, regime.rows)
    day = rng.integers(0, _STEPS, regime.rows)
    low, high = regime.bounds
    frame = pd.DataFrame({"value": values, "ward": np.array(["a", "b"], dtype=object)[wards]})
    frame["day"] = pd.Timestamp("2025-01-01") + pd.to_timedelta(day, unit="D")
    columns = {
        "value": tacit.between(low, high),
        "ward": tacit.one_of("a", "b"),
        "day": tacit.date_between("2025-01-01", f"2025-01-{_STEPS:02d}"),
    }
    budget = tacit.Budget(epsilon=10**6, delta=0.5)
    ledger = str(Path(tempfile.mkdtemp()) / "ledger")
    clinic = tacit.protect(frame, unit="row", columns=columns, budget=budget, ledger=ledger)
    prices = _prices(regime)
    sql = "SELECT ward, count(*) AS n, sum(value) AS s, avg(value) AS m FROM data GROUP BY ward"
    sums = [[values[(wards == ward) & (day <= last)] for ward in (0, 1, 2)] for last in range(_STEPS)]
    # nobody is without a ward; that cell is watched too

    def run() -> Mapping[str, Pairs]:
        watch = clinic.watch(sql, next(prices), delta=1e-6, every="1 day")
        told: dict[str, list[Any]] = {"count": [], "sum": [], "mean": []}
        for period, truths in zip(watch.catch_up("2030-01-01"), sums, strict=True):
            for found, reach, own in zip(period.totals, period.within_95, truths, strict=True):
                exact = (float(len(own)), float(own.sum()), float(own.mean()) if len(own) else None)
                for name, value, off, truth in zip(told, found, reach, exact, strict=True):
                    told[name].append((_around(value, off) if truth is not None else None, truth or 0.0))
        watch.close()
        return told

    return run


def _stream(kind: str, **price: Any) -> Case:
    def made(regime: Regime, rng: np.random.Generator) -> Run:
        parts = np.array_split(regime.column(rng), _STEPS)
        whole = np.concatenate(parts)
        cost: dict[str, Any] = {"epsilon": regime.epsilon, **price}

        def run() -> Mapping[str, Pairs]:
            if kind == "count":
                stream: Any = streaming.RunningCount(_STEPS, **cost)
                told = [stream.step(len(each)) for each in parts]
                truths = np.cumsum([len(each) for each in parts])
            else:
                stream = getattr(streaming, f"Running{kind.title()}")(regime.bounds, _STEPS, **cost)
                told = [stream.step(each) for each in parts]
                truths = np.cumsum([each.sum() for each in parts])
            if kind == "mean":
                return {"mean": [(_around(told[-1], stream.off_by(_STEPS, len(whole))), float(whole.mean()))]}
            reach = [stream.within(step) for step in range(1, _STEPS + 1)]
            return {kind: [(_around(a, b), float(c)) for a, b, c in zip(told, reach, truths, strict=True)]}

        return run

    return made


# -- surveys and collections -------------------------------------------------------------------------------


def _people(regime: Regime) -> int:
    return max(regime.rows, _PEOPLE)


def _shares(protocol: str) -> Case:
    def made(regime: Regime, rng: np.random.Generator) -> Run:
        codes = regime.codes(rng, _people(regime))
        truths = np.bincount(codes, minlength=regime.cells) / len(codes)
        asked = local.Survey(tacit.one_of(*range(regime.cells)), epsilon=regime.epsilon, protocol=protocol)
        return lambda: {"share": _pairs(asked.collect(asked.simulate(codes)), "share", truths)}

    return made


def _told_number(protocol: str, factor: float = 1.0) -> Case:
    def made(regime: Regime, rng: np.random.Generator) -> Run:
        values = regime.column(rng, _people(regime))
        truths = {"mean": float(values.mean())}
        if protocol == "variance":
            truths["variance"] = float(values.var())
        price = factor * regime.epsilon
        asked = local.Survey(tacit.between(*regime.bounds), epsilon=price, protocol=protocol)

        def run() -> Mapping[str, Pairs]:
            found = asked.collect(asked.simulate(values))
            return {name: _pairs(found, name, [truth]) for name, truth in truths.items()}

        return run

    return made


def _directions(regime: Regime, rng: np.random.Generator) -> Run:
    rows = regime.matrix(rng, regime.columns)[:100]
    rows = np.resize(rows, (max(len(rows), _PEOPLE), rows.shape[1])) / regime.bounds[1]
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.maximum(length, 1.0)
    asked = local.Survey(local.Vector(rows.shape[1], norm=1), epsilon=regime.epsilon)
    return lambda: {"mean": _pairs(asked.collect(asked.simulate(rows)), "mean", rows.mean(axis=0))}


def _texts(regime: Regime, rng: np.random.Generator) -> Run:
    texts = [f"{each}" for each in regime.codes(rng, _people(regime))]
    asked = local.TextSurvey(longest=2, epsilon=8 * regime.epsilon)

    def run() -> Mapping[str, Pairs]:
        found = asked.collect(asked.simulate(texts))
        ends = found.intervals().get("share", [])
        told = [(each, texts.count(text) / len(texts)) for each, text in zip(ends, found["text"], strict=True)]
        return {"share": told}

    return run


def _collected(regime: Regime, rng: np.random.Generator) -> Run:
    """The servers' noise on a sum: proofs and shares change nothing of it, and are left out."""
    counts = np.bincount(regime.codes(rng), minlength=regime.cells)
    key = federated.new_key()
    asked = federated.Collection("votes", federated.Histogram(regime.cells), key=key, epsilon=regime.epsilon)
    reach = asked.error("0.95")

    def run() -> Mapping[str, Pairs]:
        noises = [np.asarray(asked.mechanism.release(np.zeros(regime.cells, dtype=np.int64))) for _ in range(2)]
        told = counts + sum(noises)
        return {"count": [(_around(float(a), float(reach)), float(b)) for a, b in zip(told, counts, strict=True)]}

    return run


def _summed(kind: str) -> Case:
    def made(regime: Regime, rng: np.random.Generator) -> Run:
        """Every client's own noise; masks cancel in the sum, and are left out."""
        values = regime.column(rng, _CLIENTS)
        codes = [int(each) for each in regime.codes(rng, _CLIENTS)]
        task: Any = federated.Average(*regime.bounds)
        given: list[Any] = values.tolist()
        truths = [float(values.mean())]
        if kind == "tally":
            task, given = federated.Tally(tuple(range(regime.cells))), list(codes)
            truths = [float(codes.count(each)) for each in range(regime.cells)]
        if kind == "vectors":
            rows = np.resize(regime.matrix(rng), (_CLIENTS, regime.columns)) / regime.bounds[1]
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
            task = federated.VectorAverage(regime.columns, 1.0, _CLIENTS)
            given, truths = rows.tolist(), rows.mean(axis=0).tolist()
        asked = federated.PrivateSum(task, _CLIENTS, epsilon=regime.epsilon, delta=1e-6)

        def run() -> Mapping[str, Pairs]:
            total = sum(asked.vector(each) for each in given) % asked.modulus
            found = asked.finding(total, _CLIENTS)
            told = list(found.value.values()) if kind == "tally" else np.atleast_1d(found.value).tolist()
            reach = _NORMAL * found.deviation
            return {kind: [(_around(a, reach), b) for a, b in zip(told, truths, strict=True)]}

        return run

    return made


CASES: dict[str, Case] = {
    "learning.evaluate, classes": _classes,
    "learning.evaluate, numbers": _numbers,
    "synthesis.independent, marginal": _twin("independent", "marginal"),
    "synthesis.independent, ask": _twin("independent", "ask"),
    "synthesis.mst, marginal": _twin("mst", "marginal"),
    "synthesis.mst, ask": _twin("mst", "ask"),
    "synthesis.aim, ask": _twin("aim", "ask"),
    "synthesis.evaluate": _distances,
    "Curator.watch": _watched,
    "streaming.RunningCount": _stream("count"),
    "streaming.RunningSum, delta": _stream("sum", delta=1e-6),
    "streaming.RunningMean, delta": _stream("mean", delta=1e-6),
    "local.Survey, k-ary": _shares("k-ary"),
    "local.Survey, hashing": _shares("hashing"),
    "local.Survey, optimal unary": _shares("optimal unary"),
    "local.Survey, sign": _told_number("sign"),
    "local.Survey, sign, epsilon x 8": _told_number("sign", 8.0),
    "local.Survey, piecewise": _told_number("piecewise"),
    "local.Survey, hybrid, epsilon x 8": _told_number("hybrid", 8.0),
    "local.Survey, distribution": _told_number("distribution"),
    "local.Survey, variance": _told_number("variance"),
    "local.Survey, variance, epsilon x 8": _told_number("variance", 8.0),
    "local.Survey, vectors": _directions,
    "local.TextSurvey": _texts,
    "federated.Collection": _collected,
    "federated.PrivateSum, tally": _summed("tally"),
    "federated.PrivateSum, mean": _summed("mean"),
    "federated.PrivateSum, vectors": _summed("vectors"),
}


def sweep(name: str, regime: str, runs: int, seed: int = 0) -> dict[str, Tally]:
    """For each column of the case with intervals: how often they held, place by place."""
    known = REGIMES[regime]
    run = CASES[name](known, np.random.default_rng([seed, len(name), len(regime)]))
    close = CLOSE * (known.bounds[1] - known.bounds[0])
    tallies: dict[str, tuple[dict[int, int], dict[int, int]]] = {}
    for _ in range(runs):
        for column, pairs in run().items():
            held, shown = tallies.setdefault(column, ({}, {}))
            for place, (ends, truth) in enumerate(pairs):
                held.setdefault(place, 0), shown.setdefault(place, 0)
                if ends is not None:
                    shown[place] += 1
                    held[place] += bool(ends[0] - close <= truth <= ends[1] + close)
    return {column: _tally(*each, runs) for column, each in tallies.items()}


def _tally(held: Mapping[int, int], shown: Mapping[int, int], runs: int) -> Tally:
    places = sorted(held) or [0]
    return Tally(*(np.array([each.get(place, 0) for place in places]) for each in (held, shown)), runs)
