"""Chunks: how many places they have, and that padding is nobody."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binom

from tacit.learning.neural.floats import BLOCK, block_error
from tacit.learning.neural.gradients.forms import PerPerson, RankOne
from tacit.learning.neural.people.batches import fitting_places, people_of


@pytest.mark.parametrize(("mean", "rate", "numbers"), [(1024, 0.017, 1818), (8192, 0.137, 1818), (1024, 0.017, 30_000)])
def test_a_few_chunks_hold_nearly_every_sample(mean: float, rate: float, numbers: int) -> None:
    """On average at most an eighth of the places are for nobody, by the law of samples; and what is held is bounded."""
    places = fitting_places(mean, rate, numbers)
    sizes = np.arange(round(3 * mean))
    likely = binom.pmf(sizes, round(mean / rate), rate)
    assert float(np.sum(likely * np.ceil(sizes / places) * places)) <= 1.125 * mean
    assert places * numbers <= 2**23
    assert places % 32 == 0  # torch's kernels round the last numbers of a tensor in another way


@pytest.mark.parametrize("numbers", [1, 10**5, 10**9])
def test_without_a_public_size_a_chunk_is_at_most_a_block(numbers: int) -> None:
    assert 32 <= fitting_places(None, 0.1, numbers) <= BLOCK


@pytest.mark.parametrize("units", [None, np.array([0, 0, 1, 2, 2, 2, 3])])
def test_places_without_a_person_are_zeros_that_weigh_nothing(units: np.ndarray | None) -> None:
    X = np.arange(1, 15, dtype=np.float32).reshape(7, 2)
    people = people_of(X, X[:, 0], units, None if units is None else 2)
    order = np.arange(len(people.rows_of))
    whole, weights = [], []
    for chunk in people.chunks(order, 3):
        assert len(chunk.target) == 3 * people.copies
        assert not chunk.inputs[0][chunk.weights == 0].any()
        whole.append(chunk.inputs[0][chunk.weights == 1])
        weights.append(chunk.weights)
    kept = people.rows_of[people.rows_of >= 0]
    assert torch.equal(torch.cat(whole), torch.from_numpy(X[kept]))
    assert int(torch.cat(weights).sum()) == len(kept)


@pytest.mark.parametrize("people", [257, 700, 1120])
def test_sums_over_several_blocks_are_within_the_error_of_blocks(people: int) -> None:
    generator = torch.Generator().manual_seed(people)
    a, b = (torch.randn(people, width, generator=generator) for width in (20, 7))
    weights = torch.rand(people, generator=generator)
    reach = float((a.norm(dim=1) * b.norm(dim=1) * weights).max())  # the clipping norm that they keep
    blocks = -(-people // BLOCK)
    for form in (RankOne(a, b), PerPerson(torch.einsum("np,nd->npd", b, a))):
        exact = torch.einsum("n,np,nd->pd", weights.double(), b.double(), a.double()).reshape(-1)
        assert float((form.weighted(weights) - exact).norm()) <= blocks * block_error(people) * reach
