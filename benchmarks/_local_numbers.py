"""Numbers at home: measured variances against the law's own, means against the published randomisers, distributions
against the square wave as its paper has it.

No package that randomises numbers at home was found to install, so the peers are the papers: the variances of Duchi et
al. 2013, of the piecewise and hybrid mechanisms (Wang et al. 2019) and of Laplace noise are closed forms; the square
wave with expectation maximisation and smoothing (Li et al. 2020) is written out below, on 512 cells.

    python benchmarks/_local_numbers.py
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit import local
from tacit.local import contents, laws
from tacit.local.numbers import steps_told

EPSILONS = (0.5, 1.0, 4.0)
RUNS, PEOPLE = 20_000, 50
SHAPES = {
    "spread evenly": np.linspace(-1, 1, PEOPLE),
    "around the middle": np.linspace(-0.3, 0.3, PEOPLE),
    "at the ends": np.repeat([-1.0, 1.0], PEOPLE // 2),
}


def told(survey: Any, answers: Any, runs: int) -> Any:
    """What `runs` surveys of these answers tell, a row for each, in the unit of the answers."""
    steps = survey.description["question"]["steps"]
    reports = survey.simulate(np.tile(answers, runs)).reports
    return -1 + 2 * steps_told(survey.law, reports).reshape(runs, len(answers)) / steps


def variance_ratios() -> dict[str, float]:
    """Measured over stated variance of a mean, a variance and a vector."""
    found = {}
    answers = SHAPES["spread evenly"]
    for name in ("sign", "piecewise", "hybrid", "fitted", "distribution"):
        survey = local.Survey(tacit.between(-1, 1), epsilon=1, protocol=name)
        steps = survey.description["question"]["steps"]
        stated = np.mean([laws.told_variance(survey.law, (t + 1) / 2 * steps) for t in answers]) * 4 / steps**2
        # a number between two steps is rounded by chance, which adds a variance of its own
        part = (answers + 1) / 2 * steps % 1
        stated += np.mean(part * (1 - part)) * 4 / steps**2
        found[name] = float(np.var(told(survey, answers, RUNS).mean(axis=1)) * PEOPLE / stated)
    found["variance"] = variance_of_variances()
    survey = local.Survey(local.Vector(3), epsilon=2)
    true = np.array([0.6, 0.0, -0.3])
    batch = survey.simulate(np.tile(true, (3_000, 1)))
    from tacit.local import crowd

    each = crowd.directions(survey.law, batch.reports[:, 0].tolist(), batch.reports[:, 1].tolist())
    each = each / contents.shrunk(survey.law)
    stated_vector = 1 / contents.shrunk(survey.law) ** 2 - float(true @ true)
    found["vector"] = float(np.mean(np.sum((each - true) ** 2, axis=1))) / stated_vector
    return found


def variance_of_variances(runs: int = 8_000, people: int = 1_000) -> float:
    """Of the variance of a number: measured over V2 + 4 M1**2 V1 + 2 V1**2 of `contents`, from the laws alone.

    Answers are -.7 and .7, half each, so that M1 is 0 and all squares are equal: which half tells what adds to V1
    only, by half the variance of the answers (half of all people are drawn without putting back).
    """
    survey = local.Survey(tacit.between(-1, 1), epsilon=4, protocol="variance")
    answers = np.repeat([-0.7, 0.7], people // 2)
    found = [survey.collect(survey.simulate(answers))["variance"][0] for _ in range(runs)]
    first, second = survey.law["parts"]
    steps = first["steps"]

    def told_with(law: Any, t: float) -> float:
        """The variance of what is told of t steps, which are rounded to whole ones by chance."""
        return laws.told_variance(law, t) + t % 1 * (1 - t % 1)

    of_first = 4 / steps**2 * np.mean([told_with(first, (1 + x) / 2 * steps) for x in (-0.7, 0.7)]) + 0.7**2 / 2
    of_second = told_with(second, 0.49 * steps) / steps**2
    stated = of_second / (people / 2) + 2 * (of_first / (people / 2)) ** 2
    return float(np.var(found) / stated)


def published(epsilon: float, answers: Any) -> dict[str, float]:
    """Mean variances of what one person tells, by the formulas of the papers."""
    e, half, squares = math.exp(epsilon), math.exp(epsilon / 2), float(np.mean(answers**2))
    duchi = ((e + 1) / (e - 1)) ** 2 - squares
    piecewise = squares / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
    share = 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    return {
        "Duchi": duchi,
        "piecewise": piecewise,
        "hybrid": share * piecewise + (1 - share) * duchi,
        "Laplace": 8 / epsilon**2,
    }


def means() -> list[str]:
    """No randomiser is best for every crowd: each of ours stands beside the paper's, and `best` beside them all."""
    protocols = ("best", "sign", "piecewise", "hybrid")
    lines = [
        "| epsilon | answers | " + " | ".join(f"{name} (ours)" for name in protocols) + " | Duchi | piecewise | hybrid "
        "| Laplace | least of ours / least published |",
        "|---|---|" + "---|" * (len(protocols) + 5),
    ]
    for epsilon in EPSILONS:
        for shape, answers in SHAPES.items():
            ours = []
            for name in protocols:
                survey = local.Survey(tacit.between(-1, 1), epsilon=epsilon, protocol=name)
                ours.append(float(np.mean((told(survey, answers, RUNS // 4) - answers) ** 2)))
            theirs = list(published(epsilon, answers).values())
            figures = " | ".join(f"{each:.3f}" for each in (*ours, *theirs, min(ours) / min(theirs)))
            lines.append(f"| {epsilon:g} | {shape} | {figures} |")
    return lines


def square_wave(answers: Any, epsilon: float, rng: np.random.Generator, cells: int = 512) -> Any:
    """The published mechanism: continuous reports, cut into cells, then expectation maximisation with smoothing."""
    e = math.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    p, q = e / (2 * b * e + 1), 1 / (2 * b * e + 1)
    near = rng.random(len(answers)) < 2 * b * p
    outside = rng.random(len(answers))
    reports = np.where(
        near,
        answers + rng.uniform(-b, b, len(answers)),
        np.where(outside < answers, outside - b, outside + b),
    )
    counts = np.histogram(reports, bins=cells, range=(-b, 1 + b))[0]
    edges, width = np.linspace(-b, 1 + b, cells + 1), (1 + 2 * b) / cells
    middles = (np.arange(cells) + 0.5) / cells
    overlap = np.minimum(edges[1:, None], middles + b) - np.maximum(edges[:-1, None], middles - b)
    matrix = q * width + (p - q) * np.maximum(overlap, 0.0)
    found, likely = np.full(cells, 1 / cells), -math.inf
    for _ in range(10_000):
        expected = matrix @ found
        before, likely = likely, float(counts @ np.log(expected))
        if likely - before < 1e-3 * e:
            break
        found = found * (matrix.T @ (counts / expected))
        found /= found.sum()
        padded = np.concatenate([found[:1], found, found[-1:]])
        found = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        found /= found.sum()
    return found


def distributions(runs: int = 40, people: int = 20_000) -> list[str]:
    """Wasserstein distance of the whole distribution, and the mean error of nine deciles, in widths of the bounds."""
    lines = [
        "| epsilon | answers | ours | square wave | ours, deciles | square wave, deciles | at or below, within three "
        "sampling errors |",
        "|---|---|---|---|---|---|---|",
    ]
    rng = np.random.default_rng(3)
    shapes = {
        "beta(5, 2)": rng.beta(5, 2, people),
        "two hills": np.clip(
            np.where(rng.random(people) < 0.4, rng.normal(0.2, 0.05, people), rng.normal(0.7, 0.1, people)), 0, 1
        ),
    }
    at = np.linspace(0, 1, 2_001)
    deciles = np.arange(1, 10) / 10
    for epsilon in EPSILONS:
        for shape, answers in shapes.items():
            true = np.searchsorted(np.sort(answers), at, side="right") / people
            wanted = np.quantile(answers, deciles)
            off = []
            for _ in range(runs):
                survey = local.Survey(tacit.between(0, 1), epsilon=epsilon, protocol="distribution")
                finding = survey.collect(survey.simulate(answers), quantiles=[str(each) for each in deciles.round(1)])
                share = np.asarray(finding["distribution"])
                ends = (np.arange(len(share) + 1) - 0.5) / (len(share) - 1)
                own = np.interp(at, ends, np.concatenate([[0], np.cumsum(share)]))
                other = square_wave(answers, epsilon, rng)
                reached = np.concatenate([[0], np.cumsum(other)])
                steps = np.linspace(0, 1, len(other) + 1)
                theirs = np.interp(at, steps, reached)
                off.append(
                    [
                        np.abs(own - true).mean(),
                        np.abs(theirs - true).mean(),
                        np.abs(np.array(finding["quantiles"]) - wanted).mean(),
                        np.abs(np.interp(deciles, reached, steps) - wanted).mean(),
                    ]
                )
            mean, error = np.mean(off, axis=0), np.std(off, axis=0) / math.sqrt(runs)
            good = all(mean[k] - mean[k + 1] <= 3 * math.hypot(error[k], error[k + 1]) for k in (0, 2))
            figures = " | ".join(f"{each:.4f} +- {far:.4f}" for each, far in zip(mean, error, strict=True))
            lines.append(f"| {epsilon:g} | {shape} | {figures} | {'yes' if good else 'NO'} |")
    return lines


def main() -> list[str]:
    """All of it."""
    ratios = ", ".join(f"{name} {each:.3f}" for name, each in variance_ratios().items())
    return [
        f"Measured over stated variance of what numbers tell: {ratios}.",
        "",
        "Mean squared error of what one person tells of a number between -1 and 1:",
        "",
        *means(),
        "",
        "Whole distributions of 20,000 people, in widths of the bounds:",
        "",
        *distributions(),
    ]


if __name__ == "__main__":
    print("\n".join(main()))
