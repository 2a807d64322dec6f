"""What intervals are held against: every study that shows one, in seven regimes, the truth by other means than ours.

A case is a study with its options. In a regime it makes data once (for the rows' own statistic) or anew in every run
(for a population's), and says what the truth of each interval is. `WITHOUT` lists the public names that show no
interval, and why; `tests/statistics/test_coverage.py` holds that every public name is in one of the two.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from _coverage_again import remembered
from tacit import statistics as st

Reals = NDArray[np.float64]
Truths = Mapping[str, Sequence[Any]]
Study = Callable[[], tuple[Any, Truths]]
"""One run: the finding, and for each of its columns with intervals the truths, in order."""

CLOSE = 1e-6  # of a bound's width: what rounding to a grid may do


@dataclass(frozen=True)
class Regime:
    """Rows, epsilon, columns, and how a column is drawn within its bounds."""

    rows: int
    epsilon: float
    draw: Callable[[np.random.Generator, int], Reals]
    bounds: tuple[float, float] = (0.0, 100.0)
    columns: int = 3
    cells: int = 6

    def column(self, rng: np.random.Generator, rows: int | None = None) -> Reals:
        return np.clip(self.draw(rng, self.rows if rows is None else rows), *self.bounds)

    def matrix(self, rng: np.random.Generator, columns: int | None = None) -> Reals:
        """Columns of one law; about half of each column's values are those of the first."""
        first = self.column(rng)
        others = [
            np.where(rng.random(len(first)) < 0.5, first, self.column(rng))
            for _ in range((columns or self.columns) - 1)
        ]
        return np.column_stack([first, *others])

    def codes(self, rng: np.random.Generator, rows: int | None = None) -> NDArray[np.int64]:
        """Whole numbers below `cells`."""
        values, (low, high) = self.column(rng, rows), self.bounds
        return np.minimum(((values - low) / (high - low) * self.cells).astype(np.int64), self.cells - 1)

    def rates(self) -> tuple[float, float]:
        """Two probabilities of a yes, by how skewed the regime is."""
        mean = float(self.column(np.random.default_rng(0), 20_000).mean() - self.bounds[0])
        share = mean / (self.bounds[1] - self.bounds[0])
        return share, min(1.3 * share, 0.95)


def _beta(rng: np.random.Generator, rows: int) -> Reals:
    return rng.beta(2, 3, rows) * 100


def _skewed(rng: np.random.Generator, rows: int) -> Reals:
    return rng.lognormal(2.0, 1.2, rows)


REGIMES: dict[str, Regime] = {
    "plain": Regime(2_000, 1.0, _beta),
    "tiny n": Regime(10, 1.0, _beta),
    "narrow": Regime(1_000, 1.0, lambda rng, rows: rng.normal(90, 3, rows), (0.0, 1_000.0)),
    "many columns": Regime(2_000, 1.0, _beta, columns=8, cells=60),
    "small epsilon": Regime(1_000, 0.05, _beta),
    "ties": Regime(500, 1.0, lambda rng, rows: rng.choice([0.0, 50.0, 100.0], rows, p=[0.6, 0.3, 0.1])),
    "skew": Regime(1_000, 1.0, _skewed, (0.0, 1_000.0)),
}


# -- one column ----------------------------------------------------------------------------------------


def _one(study: Callable[..., Any], column: str, truth: Callable[[Reals], Any], **options: Any) -> Callable[..., Study]:
    def made(regime: Regime, rng: np.random.Generator) -> Study:
        rows = regime.column(rng)
        found = truth(rows)
        listed = list(found) if np.ndim(found) else [found]
        more = {"size": len(rows)} if options.get("size") else {}

        def run() -> tuple[Any, Truths]:
            return study(rows, bounds=regime.bounds, epsilon=regime.epsilon, **{**options, **more}), {column: listed}

        return run

    return made


def _quantile(q: Any) -> Callable[[Reals], Any]:
    return lambda rows: np.quantile(rows, q, method="inverted_cdf")


def _trimmed(rows: Reals) -> float:
    each = np.repeat(np.sort(rows), 10)  # a tenth of every row
    return float(each[len(rows) : 9 * len(rows)].mean())


def _winsorised(rows: Reals) -> float:
    each = np.repeat(np.sort(rows), 10)
    kept = each[len(rows) : 9 * len(rows)]
    return float((kept.sum() + len(rows) * (kept[0] + kept[-1])) / len(each))


def _range(rows: Reals) -> float:
    low, high = np.quantile(rows, [0.25, 0.75], method="inverted_cdf")
    return float(high - low)


# -- several columns -----------------------------------------------------------------------------------


def _several(
    study: Callable[..., Any], column: str, truth: Callable[[Reals], Any], columns: int | None = None, **options: Any
) -> Callable[..., Study]:
    def made(regime: Regime, rng: np.random.Generator) -> Study:
        rows = regime.matrix(rng, columns)
        names = [f"c{place}" for place in range(rows.shape[1])]
        listed = [float(each) for each in truth(rows)]

        def run() -> tuple[Any, Truths]:
            return study(rows, names, bounds=regime.bounds, epsilon=regime.epsilon, **options), {column: listed}

        return run

    return made


def _covariances(rows: Reals) -> Any:
    found = np.cov(rows.T, bias=True)
    return found[np.triu_indices(len(found))]


def _correlations(rows: Reals) -> Any:
    found = np.corrcoef(rows.T)
    return found[np.triu_indices(len(found), 1)]


def _variances_along(rows: Reals) -> Any:
    return np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1]


def _lines(columns: int | None = None, **options: Any) -> Callable[..., Study]:
    """Least squares of the rows as they were clipped: to where is released with the line."""

    def made(regime: Regime, rng: np.random.Generator) -> Study:
        rows = regime.matrix(rng, columns)
        names = [f"c{place}" for place in range(rows.shape[1])]

        def run() -> tuple[Any, Truths]:
            found = st.linear_regression(
                rows, names, target="c0", bounds=regime.bounds, epsilon=regime.epsilon, **options
            )
            return found, {"coefficient": _line(_clipped(rows, found)).tolist()}

        return run

    return made


def _clipped(rows: Reals, found: Any) -> Reals:
    if "middle" not in found.arrays:
        return rows
    middle, half, start = (np.array(found[each]) for each in ("middle", "half", "start"))
    kept = np.clip(rows, middle - half, middle + half)
    line = middle[0] + kept[:, 1:] @ start[1:]
    kept[:, 0] = line + np.clip(rows[:, 0] - line, -half[0], half[0])
    return kept


def _line(rows: Reals) -> Any:
    return np.linalg.lstsq(np.column_stack([np.ones(len(rows)), rows[:, 1:]]), rows[:, 0], rcond=None)[0]


def _robust(regime: Regime, rng: np.random.Generator) -> Study:
    from tacit.statistics.order import robust_regression as room

    rows = regime.matrix(rng, 2)
    low, high = regime.bounds
    reach = (high - low) / 2

    def run() -> tuple[Any, Truths]:
        told: list[Any] = []

        def kept(*given: Any) -> Any:
            told.append(real(*given))
            return told[-1]

        real = room.heights
        with mock.patch.object(room, "heights", kept):  # which pairs were drawn is not released
            found = st.robust_regression(rows, ["x", "y"], bounds=regime.bounds, epsilon=regime.epsilon)
        one, two = (np.clip(each, low - reach, high + reach) for each in told[0])
        heights = [float(np.quantile(each, 0.5, method="inverted_cdf")) for each in (one, two)]
        places = low + (high - low) * np.array([0.25, 0.75])
        slope = (heights[1] - heights[0]) / (places[1] - places[0])
        return found, {"value": [heights[0] - slope * places[0], slope, *heights]}

    return run


# -- counts --------------------------------------------------------------------------------------------


def _counts(study: Callable[..., Any], falling: bool = False, **options: Any) -> Callable[..., Study]:
    def made(regime: Regime, rng: np.random.Generator) -> Study:
        codes = regime.codes(rng)
        counts = np.bincount(codes, minlength=regime.cells)
        listed = sorted(counts.tolist(), reverse=True) if falling else counts.tolist()
        most = (0, regime.cells - 1)

        def run() -> tuple[Any, Truths]:
            return study(codes, bounds=most, epsilon=regime.epsilon, **options), {"count": listed}

        return run

    return made


def _private_bins(regime: Regime, rng: np.random.Generator) -> Study:
    rows = regime.column(rng)

    def run() -> tuple[Any, Truths]:
        found = st.histogram(rows, bounds=regime.bounds, epsilon=regime.epsilon, bins="private", parts=6)
        inner = found["edges"][1:-1]
        held = np.searchsorted(inner, rows + 1e-7 * (regime.bounds[1] - regime.bounds[0]), side="right")
        return found, {"count": np.bincount(held, minlength=len(inner) + 1).tolist()}

    return run


def _density(regime: Regime, rng: np.random.Generator, bins: int | None = None) -> Study:
    rows = regime.column(rng)

    def run() -> tuple[Any, Truths]:
        found = st.density(rows, bounds=regime.bounds, epsilon=regime.epsilon, bins=bins)
        edges = found["edges"]
        counts, _ = np.histogram(rows, edges)
        return found, {"density": (counts / len(rows) / np.diff(edges)).tolist()}

    return run


def _top(regime: Regime, rng: np.random.Generator) -> Study:
    codes = regime.codes(rng)
    counts = np.bincount(codes, minlength=regime.cells)

    def run() -> tuple[Any, Truths]:
        found = st.top_k(codes, bounds=(0, regime.cells - 1), k=2, epsilon=regime.epsilon)
        return found, {"rows": [int(counts[int(each)]) for each in found["x"]]}

    return run


def _tables(regime: Regime, rng: np.random.Generator, study: str = "table", **options: Any) -> Study:
    cells = min(regime.cells, 8)
    names = ["a", "b", "c"] if regime.columns < 8 else ["a", "b", "c", "d"]
    data = {name: regime.codes(rng) * cells // regime.cells for name in names}
    facts = {"bounds": dict.fromkeys(names, (0, cells - 1)), "epsilon": regime.epsilon}
    pairs = list(itertools.combinations(names, 2))

    def counted(columns: Sequence[str]) -> list[int]:
        made = np.zeros((cells,) * len(columns), dtype=int)
        np.add.at(made, tuple(data[name] for name in columns), 1)
        return made.reshape(-1).tolist()

    whole = counted(names[:2]) if study == "table" else [each for pair in pairs for each in counted(pair)]

    def run() -> tuple[Any, Truths]:
        if study == "table":
            return st.table(data, names[:2], **facts), {"count": whole}
        return st.tables(data, pairs, **facts, **options), {"count": whole}

    return run


# -- populations: the rows are drawn anew in every run -------------------------------------------------

_POPULATION = 100_000


def _mean_interval(regime: Regime, rng: np.random.Generator) -> Study:
    population = regime.column(rng, _POPULATION)
    truth = float(population.mean())

    def run() -> tuple[Any, Truths]:
        sample = rng.choice(population, regime.rows)
        return st.mean_interval(sample, bounds=regime.bounds, epsilon=regime.epsilon), {"mean": [truth]}

    return run


def _proportion(regime: Regime, rng: np.random.Generator) -> Study:
    rate, _ = regime.rates()

    def run() -> tuple[Any, Truths]:
        sample = (rng.random(regime.rows) < rate).astype(int)
        return st.proportion(sample, bounds=(0, 1), epsilon=regime.epsilon), {"proportion": [rate]}

    return run


def _grouped(regime: Regime, rng: np.random.Generator, values: Any) -> dict[str, Any]:
    """Two groups, one three times the size of the other."""
    groups = np.where(rng.random(regime.rows) < 0.25, "a", "b")
    return {"x": values(groups), "g": groups}


def _compare(regime: Regime, rng: np.random.Generator) -> Study:
    populations = {"a": regime.column(rng, _POPULATION), "b": np.clip(0.8 * regime.column(rng, _POPULATION), 0, None)}
    truth = float(populations["a"].mean() - populations["b"].mean())

    def run() -> tuple[Any, Truths]:
        data = _grouped(
            regime,
            rng,
            lambda groups: np.where(
                groups == "a", rng.choice(populations["a"], len(groups)), rng.choice(populations["b"], len(groups))
            ),
        )
        facts = {"bounds": {"x": regime.bounds}, "values": {"g": ["a", "b"]}}
        return st.compare(data, by="g", epsilon=regime.epsilon, **facts), {"difference": [truth]}

    return run


def _ab_test(regime: Regime, rng: np.random.Generator) -> Study:
    first, second = regime.rates()

    def run() -> tuple[Any, Truths]:
        data = _grouped(
            regime, rng, lambda groups: (rng.random(len(groups)) < np.where(groups == "a", first, second)).astype(int)
        )
        facts = {"bounds": {"x": (0, 1)}, "values": {"g": ["a", "b"]}}
        found = st.ab_test(data, by="g", epsilon=regime.epsilon, **facts)
        return found, {"difference": [second - first], "lift": [second / first - 1]}

    return run


# -- graphs --------------------------------------------------------------------------------------------


def _graph(name: str, rng: np.random.Generator) -> tuple[int, list[tuple[int, int]]]:
    def drawn(nodes: int, chance: float) -> list[tuple[int, int]]:
        return [pair for pair in itertools.combinations(range(nodes), 2) if rng.random() < chance]

    kinds: dict[str, Callable[[], tuple[int, list[tuple[int, int]]]]] = {
        "plain": lambda: (30, drawn(30, 0.2)),
        "tiny n": lambda: (4, [(0, 1), (1, 2), (0, 2)]),
        "narrow": lambda: (40, [(i, i + 1) for i in range(39)]),
        "many columns": lambda: (60, drawn(60, 0.15)),
        "small epsilon": lambda: (30, drawn(30, 0.2)),
        "ties": lambda: (20, [(i, (i + step) % 20) for i in range(20) for step in (1, 2)]),
        "skew": lambda: (30, [(0, i) for i in range(1, 30)]),
    }
    return kinds[name]()


def _of_graph(
    study: Callable[..., Any], column: str, truth: Callable[..., Any], **options: Any
) -> Callable[..., Study]:
    def made(regime: Regime, rng: np.random.Generator) -> Study:
        nodes, edges = _graph(next(name for name, each in REGIMES.items() if each is regime), rng)
        adjacent = np.zeros((nodes, nodes))
        for one, other in edges:
            adjacent[one, other] = adjacent[other, one] = 1

        def run() -> tuple[Any, Truths]:
            found = study(edges, nodes=nodes, epsilon=regime.epsilon, **options)
            listed = truth(adjacent, found)
            return found, {column: listed if isinstance(listed, list) else [listed]}

        return run

    return made


def _tree(regime: Regime, rng: np.random.Generator) -> Study:
    nodes, edges = _graph(next(name for name, each in REGIMES.items() if each is regime), rng)
    costs = np.full((nodes, nodes), 5.0)
    weighted = [(one, other, float(rng.integers(1, 20)) / 4) for one, other in edges]
    for one, other, weight in weighted:
        costs[min(one, other), max(one, other)] = weight
    truth = float(minimum_spanning_tree(np.triu(costs, 1)).sum())

    def run() -> tuple[Any, Truths]:
        found = st.spanning_tree_cost(weighted, nodes=nodes, bounds=(0, 5), epsilon=regime.epsilon)
        return found, {"cost": [truth]}

    return run


# -- functions of one's own: run here, and not isolated, which is tested elsewhere ----------------------


class _Here:
    """In the place of a runner of isolated processes; keeps what it was told."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.told: list[Any] = []

    def run(self, blocks: list[Any]) -> list[Any]:
        self.told = [np.atleast_1d(np.asarray(self._function(each), dtype=float)).tolist() for each in blocks]
        return self.told


@contextlib.contextmanager
def _not_isolated() -> Iterator[list[_Here]]:
    from tacit.statistics.frameworks.isolated import Isolated

    made: list[_Here] = []

    @contextlib.contextmanager
    def ready(self: Any, *_: Any) -> Iterator[_Here]:
        made.append(_Here(self.function))
        yield made[-1]

    with mock.patch.object(Isolated, "ready", ready):
        yield made


def _mean_of(rows: Any) -> float:
    return float(np.mean(rows)) if len(rows) else 0.0


def _framework(make: Callable[[Regime], tuple[Any, str, Callable[[list[Any]], float]]], **options: Any) -> Any:
    def made(regime: Regime, rng: np.random.Generator) -> Study:
        rows = regime.column(rng)
        study, column, truth = make(regime)

        def run() -> tuple[Any, Truths]:
            with _not_isolated() as here:
                found = study.release(rows, bounds=regime.bounds, epsilon=regime.epsilon, **options)
            return found, {column: [truth(here[-1].told)]}

        return run

    return made


def _sum_of(rows: Any) -> float:
    """Over 10,000: its local sensitivity is the same everywhere."""
    return float(np.sum(rows)) / 1e4


def _moves(top: float, rows: Any, k: int) -> float:
    return top / 1e4


def _total(regime: Regime) -> tuple[Callable[[Any], float], Callable[[Any, int], float]]:
    return _sum_of, functools.partial(_moves, regime.bounds[1])


def _first(told: list[Any]) -> float:
    return float(told[0][0])


def _smooth(regime: Regime) -> Any:
    output = (-regime.bounds[1] * 10, regime.bounds[1] * 10)
    return st.SmoothSensitivity(*_total(regime), output), "value", _first


def _proposed(regime: Regime) -> Any:
    output, bound = (-regime.bounds[1] * 10, regime.bounds[1] * 10), regime.bounds[1] / 1e4
    return st.ProposeTestRelease(*_total(regime), bound, output, farthest=990), "value", _first


def _distance(regime: Regime) -> Any:
    return st.DistanceToProperty(len), "distance", _first


def _aggregated(aggregator: str) -> Any:
    def make(regime: Regime) -> Any:
        def truth(told: list[Any]) -> float:
            each = np.array([one[0] for one in told])
            return float(each.mean() if aggregator == "mean" else np.quantile(each, 0.5, method="inverted_cdf"))

        return st.SampleAndAggregate(_mean_of, 20, regime.bounds, aggregator=aggregator), "value", truth

    return make


# -- all of them ---------------------------------------------------------------------------------------

_THREE = ["0.1", "0.5", "0.9"]
_UP = [0.1, 0.5, 0.9]

CASES: dict[str, tuple[str, Callable[..., Study]]] = {
    # name of the public function, then options: (what its intervals are about, the study in a regime)
    "mean": ("rows", _one(st.mean, "mean", np.mean)),
    "mean, size": ("rows", _one(st.mean, "mean", np.mean, size=True)),
    "mean, delta": ("rows", _one(st.mean, "mean", np.mean, delta=1e-3)),
    "variance": ("rows", _one(st.variance, "variance", np.var)),
    "variance, size": ("rows", _one(st.variance, "variance", np.var, size=True)),
    "variance, delta": ("rows", _one(st.variance, "variance", np.var, delta=1e-3)),
    "covariance": ("rows", _several(st.covariance, "covariance", _covariances)),
    "covariance, delta": ("rows", _several(st.covariance, "covariance", _covariances, delta=1e-3)),
    "correlation": ("rows", _several(st.correlation, "correlation", _correlations)),
    "correlation, delta": ("rows", _several(st.correlation, "correlation", _correlations, delta=1e-3)),
    "pca": ("rows", _several(st.pca, "variance", _variances_along)),
    "linear_regression": ("rows", _lines()),
    "linear_regression, one": ("rows", _lines(columns=2)),
    "linear_regression, delta": ("rows", _lines(delta=1e-3)),
    "median": ("rows", _one(st.median, "median", _quantile(0.5))),
    "median, smooth": ("rows", _one(st.median, "median", _quantile(0.5), method="smooth")),
    "median, replace": ("rows", _one(st.median, "median", _quantile(0.5), neighbours="replace")),
    "quantile": ("rows", _one(st.quantile, "quantile", _quantile(0.9), q="0.9")),
    "quantiles": ("rows", _one(st.quantiles, "value", _quantile(_UP), q=_THREE)),
    "quartiles": ("rows", _one(st.quartiles, "value", _quantile([0.25, 0.5, 0.75]))),
    "minimum": ("rows", _one(st.minimum, "minimum", np.min)),
    "maximum": ("rows", _one(st.maximum, "maximum", np.max)),
    "interquartile_range": ("rows", _one(st.interquartile_range, "interquartile_range", _range)),
    "interquartile_range, smooth": (
        "rows",
        _one(st.interquartile_range, "interquartile_range", _range, method="smooth"),
    ),
    "trimmed_mean": ("rows", _one(st.trimmed_mean, "trimmed_mean", _trimmed)),
    "winsorised_mean": ("rows", _one(st.winsorised_mean, "winsorised_mean", _winsorised)),
    "robust_regression": ("rows", _robust),
    "histogram": ("rows", _counts(st.histogram)),
    "histogram, raw": ("rows", _counts(st.histogram, non_negative=False)),
    "histogram, private bins": ("rows", _private_bins),
    "sorted_histogram": ("rows", _counts(st.sorted_histogram, falling=True)),
    "density": ("rows", _density),
    "density, bins": ("rows", functools.partial(_density, bins=8)),
    "table": ("rows", _tables),
    "tables": ("rows", functools.partial(_tables, study="tables")),
    "tables, delta": ("rows", functools.partial(_tables, study="tables", delta=1e-3)),
    "top_k": ("rows", _top),
    "mean_interval": ("population", _mean_interval),
    "proportion": ("population", _proportion),
    "compare": ("population", _compare),
    "ab_test": ("population", _ab_test),
    "edge_count": ("rows", _of_graph(st.edge_count, "edges", lambda a, _: float(a.sum() / 2))),
    "degree_histogram": (
        "rows",
        _of_graph(
            st.degree_histogram,
            "at_least",
            lambda a, found: [int((a.sum(axis=0) >= each).sum()) for each in found["degree"]],
        ),
    ),
    "triangles": ("rows", _of_graph(st.triangles, "triangles", lambda a, _: float(np.trace(a @ a @ a) / 6))),
    "k_stars": (
        "rows",
        _of_graph(st.k_stars, "stars", lambda a, _: float((a.sum(axis=0) * (a.sum(axis=0) - 1) / 2).sum()), k=2),
    ),
    "spanning_tree_cost": ("rows", _tree),
    "SmoothSensitivity": ("rows", _framework(_smooth)),
    "ProposeTestRelease": ("rows", _framework(_proposed, delta=1e-3)),
    "DistanceToProperty": ("rows", _framework(_distance)),
    "SampleAndAggregate": ("rows", _framework(_aggregated("median"))),
    "SampleAndAggregate, mean": ("rows", _framework(_aggregated("mean"))),
    "SampleAndAggregate, smooth": ("rows", _framework(_aggregated("smooth"))),
}

WITHOUT: dict[str, str] = {
    "Column": "a part of a finding",
    "Content": "a part of a finding",
    "Finding": "what studies give",
    "Monitor": "answers yes or no",
    "ExpectedWidth": "how far off a study would be, before it is paid for",
    "Planned": "a study without its price",
    "planned": "a study without its price",
    "estimate": "a price, and nothing of the rows",
    "StudyEstimate": "a price, and nothing of the rows",
    "bernoulli_comparison": "uses no data",
    "bernoulli_parameter": "a draw; its note says how far it is off",
    "best_price": "a choice",
    "chi_square": "a p-value",
    "choose_hyperparameters": "a choice",
    "decide": "a choice",
    "digital_goods_auction": "a choice",
    "meeting_date": "a choice",
    "minimum_cut": "a choice",
    "mode": "a choice",
    "t_test": "a p-value",
}


@dataclass
class Tally:
    """How often intervals of one column held the truth, place by place."""

    held: NDArray[np.int64]
    shown: NDArray[np.int64]
    runs: int

    @property
    def coverage(self) -> float:
        """The share of shown intervals that held; 1 where none was shown."""
        return float(self.held.sum() / self.shown.sum()) if self.shown.sum() else 1.0

    @property
    def worst(self) -> float:
        """The same for the place where it is least."""
        return float((self.held / np.maximum(self.shown, 1))[self.shown > 0].min(initial=1.0))

    @property
    def share(self) -> float:
        """How many of the intervals were shown."""
        return float(self.shown.mean() / self.runs)


def _findings(run: Study, runs: int) -> Iterator[tuple[Any, Truths]]:
    with remembered():
        for _ in range(runs):
            yield run()


def sweep(name: str, regime: str, runs: int, seed: int = 0) -> dict[str, Tally]:
    """For each column of the case with intervals: how often they held."""
    known = REGIMES[regime]
    run = CASES[name][1](known, np.random.default_rng([seed, len(name), len(regime)]))
    close = CLOSE * (known.bounds[1] - known.bounds[0])
    found: dict[str, tuple[dict[int, int], dict[int, int]]] = {}
    for finding, truths in _findings(run, runs):
        intervals = finding.intervals()
        if not set(intervals) <= set(truths):
            raise AssertionError(f"{name} shows intervals for {set(intervals) - set(truths)}, and no truth is known.")
        for column, listed in truths.items():
            held, shown = found.setdefault(column, ({}, {}))
            for place, truth in enumerate(listed):
                held.setdefault(place, 0), shown.setdefault(place, 0)
                ends = intervals[column][place] if column in intervals else None
                if ends is not None:
                    shown[place] += 1
                    held[place] += bool(ends[0] - close <= truth <= ends[1] + close)
    return {
        column: Tally(np.array(list(held.values())), np.array(list(shown.values())), runs)
        for column, (held, shown) in found.items()
    }
