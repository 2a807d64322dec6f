"""`independent`: every column by itself. The floor that every other method must beat.

Theorem. A unit with at most r rows moves the counts of all d columns together by d r in L1 and r d**(1/2) in L2 at most
(`counting`). They get discrete Laplace or discrete Gaussian noise, whichever is smaller for the budget
(`statistics.counts.counting_noise`); the model is post-processing.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts are public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator.elsewhere import passed_on
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.counts.counting_noise import least_noise, price_of, variance_of
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, source_of
from tacit.synthesis.bought import edges_by_epsilon
from tacit.synthesis.constraints import named_rules, ruled, ruled_layout
from tacit.synthesis.counting import Tables
from tacit.synthesis.merging import plain
from tacit.synthesis.model.fitting import Measured, alone, total_of
from tacit.synthesis.released import Measurement, Release
from tacit.synthesis.synthetic import Synthetic, synthesised


@passed_on
def independent(
    data: Any,
    *,
    epsilon: Number,
    delta: Number = 0,
    bins: Mapping[str, Bins] | int | str | None = None,
    bounds: Any = None,
    values: Any = None,
    nulls: Any = None,
    constraints: Any = None,
    prior: Any = None,
    analyst: str | None = None,
) -> Synthetic:
    """A table whose columns have the distributions of the data's columns, and are independent of each other.

    data: rows of a curator, or arrays with `bounds` and `values`. bins: how columns of many numbers are cut: numbers,
    edges, or "private" for quantiles that a tenth of the budget buys.
    nulls: columns whose missing values are kept, or True for all that may miss one.
    constraints: public conditions that every drawn row keeps. prior: public rows to start from.

    >>> twin = independent({"sex": ["F", "M", "F"]}, values={"sex": ["F", "M"]}, epsilon=1)
    >>> twin.columns, len(twin.sample(10))
    (('sex',), 10)
    """
    source = source_of(data, bounds=bounds, values=values)
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    layout, rules, before = ruled_layout(source, bins, values, constraints, prior, nulls)
    count, rows = len(layout.sizes), source.rows_per_unit
    edges, left = edges_by_epsilon(source, layout, exact_epsilon)
    noise = least_noise(count * rows, count * rows**2, sum(layout.sizes), left, exact_delta)

    def compute(opened: Opened, bits: BitSource) -> Release:
        settled = edges.settled(opened, layout, bits)
        exact = Tables(opened, settled)
        joined = np.concatenate([exact.table((place,)) for place in range(count)])
        noisy = np.split(np.asarray(noise.release(joined, bits=bits)), np.cumsum(settled.sizes)[:-1])
        sigma = variance_of(noise) ** 0.5
        measured = tuple(Measurement((place,), own, sigma) for place, own in enumerate(noisy))
        known = [Measured(each.columns, each.noisy.astype(np.float64), 1 / sigma**2) for each in measured]
        merges = tuple(plain(size) for size in settled.sizes)
        facts = {"noise": "laplace" if isinstance(noise, Laplace) else "gaussian"}
        release = Release("independent", settled.fields, measured, alone(known, total_of(known)), merges, facts)
        return ruled(release, known, rules, before)

    asked = {"study": "synthesis", "method": "independent", "cells": layout.described(), **edges.named()}
    asked |= named_rules(rules, before)
    price = price_of(exact_epsilon, exact_delta, *edges.events, noise.event)
    return synthesised(source, asked, price, compute, analyst)
