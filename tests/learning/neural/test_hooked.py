"""Norms and sums by book-keeping, against torch.func's gradients of each person."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import nn

from tacit.errors import TacitError
from tacit.learning.neural.gradients.gathered import room_of
from tacit.learning.neural.gradients.hooked import book_keeping, not_understood
from tacit.learning.neural.gradients.per_sample import one_by_one, per_sample
from tacit.learning.neural.modules.rehearsal import is_static
from tacit.learning.neural.people.batches import Chunk, Room
from tacit.learning.neural.sums.clipping import AUTOMATIC, FLAT, add_clipped, weights
from tests.effort import EXAMPLES
from tests.learning.neural.nets import Masked, builds, entropy, squared

EACH = max(3, EXAMPLES // 13)


@pytest.mark.parametrize("name", sorted(builds()))
@settings(max_examples=EACH, phases=[Phase.generate])
@given(data=st.data())
def test_norms_are_those_of_each_person_alone(name: str, data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31)))
    module, loss, chunk = builds()[name](lambda low, high: data.draw(st.integers(low, high)))
    assert not_understood(module) == []
    assert is_static(module)
    alone = one_by_one if name.startswith(("gru", "lstm")) else per_sample  # torch.func does not know how
    found, true = book_keeping(module, loss)(chunk), alone(module, loss)(chunk)
    explicit = torch.cat([each.rows().double() for each in true], dim=1)
    measured = sum(each.bounded()[0] for each in found).clamp(min=0).sqrt()
    above = sum(each.squares({}) for each in found).sqrt()
    lengths = explicit.norm(dim=1)
    # what vanishes in the sum of squares of all parameters is no part of what is asked
    assert torch.all((measured - lengths).abs() <= 1e-5 * lengths + 1e-7)
    assert torch.all(above >= lengths * (1 - 1e-6))
    assert torch.all(above <= lengths * 1.05 + 1e-3)
    for kind in (FLAT, AUTOMATIC):
        clip = 0.5 * float(lengths.median()) + 1e-3
        own, _ = weights(found, clip, kind)
        sizes = [math.prod(each.shape) for each in found]
        total = torch.zeros(sum(sizes), dtype=torch.float64)
        add_clipped(total, found, clip, kind, room_of(sizes))
        assert torch.allclose(total, own.double() @ explicit, rtol=1e-4, atol=1e-5 * clip)
        assert torch.all(own.double() * lengths <= clip * (1 + 1e-6))


IMAGES = [name for name in sorted(builds()) if name.startswith(("conv2d", "group", "instance"))]


@pytest.mark.parametrize("name", IMAGES)
@settings(max_examples=EACH, phases=[Phase.generate])
@given(data=st.data())
def test_channels_last_change_no_gradient(name: str, data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31)))
    module, loss, chunk = builds()[name](lambda low, high: data.draw(st.integers(low, high)))
    first, last = (book_keeping(module, loss, channels_last=each)(chunk) for each in (False, True))
    own = torch.rand(chunk.people)
    for left, right in zip(first, last, strict=True):
        assert left.shape == right.shape
        near = {"rtol": 1e-4, "atol": 1e-5 * (1 + float(left.rows().abs().max()))}
        assert torch.allclose(left.rows(), right.rows(), **near)
        assert torch.allclose(left.bounded()[0], right.bounded()[0], **near)
        assert torch.allclose(left.weighted(own), right.weighted(own), **near)
        some = torch.arange(chunk.people) == 0
        alone = right.without(some)
        assert torch.allclose(alone.weighted(own), alone.rows()[0].double() * own[0].double(), **near)
        assert not alone.rows()[1:].any()


@pytest.mark.parametrize("channels", [1, 3, 40])
def test_many_channels_and_positions_have_one_gradient_in_every_layout(channels: int) -> None:
    """Small weights are made person by person, large ones stay two factors: the layout changes neither."""
    torch.manual_seed(2)
    module = nn.Sequential(
        nn.Conv2d(channels, 5, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(5, 70, 5),
        nn.Flatten(),
        nn.Linear(280, 2),
    )
    people = Chunk(4, (torch.randn(4, channels, 7, 7),), torch.tensor([0, 1, 1, 0]), torch.ones(4))
    found, true = book_keeping(module, entropy, channels_last=True)(people), one_by_one(module, entropy)(people)
    for left, right in zip(found, true, strict=True):
        assert torch.allclose(left.rows(), right.rows(), rtol=1e-4, atol=1e-5)
        assert torch.allclose(left.weighted(torch.ones(4)), right.weighted(torch.ones(4)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["linear", "conv2d", "tied", "transformer"])
def test_torch_func_agrees_with_ordinary_backward_passes(name: str) -> None:
    torch.manual_seed(1)
    module, loss, chunk = builds()[name](lambda low, high: high)
    for own, true in zip(per_sample(module, loss)(chunk), one_by_one(module, loss)(chunk), strict=True):
        assert torch.allclose(own.rows(), true.rows(), rtol=1e-4, atol=1e-5)


def test_parameters_ask_for_gradients_again_afterwards_and_layers_are_as_they_were() -> None:
    for name in ("attention", "lstm", "frozen"):
        module, loss, chunk = builds()[name](lambda low, high: high)
        asked = [each.requires_grad for each in module.parameters()]
        book_keeping(module, loss)(chunk)
        assert [each.requires_grad for each in module.parameters()] == asked
        assert all("forward" not in vars(each) and not each._forward_hooks for each in module.modules())


def test_a_layer_with_a_forward_pass_of_its_own_keeps_it() -> None:
    module = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
    torchs = module[0].forward
    module[0].forward = lambda x: 2 * torchs(x)
    assert not_understood(module) == ["Linear"]
    people = Chunk(4, (torch.randn(4, 3),), torch.tensor([0, 1, 1, 0]), torch.ones(4))
    before = module(people.inputs[0])
    found, true = per_sample(module, entropy)(people), one_by_one(module, entropy)(people)
    assert "forward" in vars(module[0])
    assert torch.equal(module(people.inputs[0]), before)
    for left, right in zip(found, true, strict=True):
        assert torch.allclose(left.rows(), right.rows(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kept", [False, True])
def test_what_fails_on_the_way_leaves_layers_as_they_were(kept: bool) -> None:
    module = nn.Sequential(nn.Linear(3, 6), nn.LayerNorm(6), nn.Linear(6, 2))
    people = Chunk(4, (torch.randn(4, 3),), torch.tensor([0, 1, 1, 0]), torch.ones(4), {} if kept else None)
    gradients = book_keeping(module, entropy)
    gradients(people)
    module[2].forward = torch.sin
    with pytest.raises(TacitError, match="A Linear has another forward than when the run began"):
        gradients(people)
    assert [each for each in module.modules() if "forward" in vars(each)] == [module[2]]
    assert all(each.requires_grad for each in module.parameters())


@pytest.mark.parametrize("name", sorted(builds()))
def test_memory_that_a_chunk_writes_over_has_nothing_left_of_the_last_one(name: str) -> None:
    torch.manual_seed(4)
    module, loss, first = builds()[name](lambda low, high: high)
    second = replace(first, inputs=tuple(each.roll(1, 0) for each in first.inputs), weights=first.weights.roll(1, 0))
    gradients, room = book_keeping(module, loss), Room()
    for people in (first, second, first):
        found, fresh = gradients(replace(people, room=room)), gradients(people)
        for left, right in zip(found, fresh, strict=True):
            assert torch.equal(left.rows(), right.rows())


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_position_that_may_look_at_nothing_takes_nothing(dropout: float) -> None:
    """Somebody without a single position has a gradient all the same: what learns from the rest of the row."""
    torch.manual_seed(6)
    layer = nn.MultiheadAttention(8, 2, dropout=dropout, batch_first=True).eval()
    empty = torch.tensor([[False, True, True], [True, True, True]])

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x, x, x, key_padding_mask=empty, need_weights=False)[0].flatten(1)

    people = Chunk(2, (torch.randn(2, 3, 8),), torch.tensor([0, 1]), torch.ones(2))
    found = [each.rows() for each in book_keeping(Padded(), entropy)(people)]
    assert all(torch.isfinite(each).all() for each in found)
    weight, bias = found[2:]
    assert weight[0].any()
    assert not weight[1].any()  # nothing was taken, so nothing was given on but the bias
    assert bias[1].any()


def test_attention_that_forgets_at_random_has_the_slopes_of_what_it_gave() -> None:
    """With dropout a gradient is that of the same draw: compared with differences of the losses of that draw."""
    torch.manual_seed(7)
    module = Masked(4, shown=True, by_head=False, dropout=0.4).double()
    people = Chunk(3, (torch.randn(3, 4, 8, dtype=torch.float64),), torch.zeros(3).double(), torch.ones(3).double())
    seen: list[Any] = []

    def loss(output: Any, target: Any) -> Any:
        seen.append(squared(output, target))
        return seen[-1]

    gradients = book_keeping(module, loss)

    def drawn() -> Any:
        torch.manual_seed(8)
        return torch.cat([each.rows() for each in gradients(people)], dim=1)

    found, step = drawn(), 1e-6
    along = torch.randn(found.shape[1]).double()
    for sign in (1, -1):
        flat = nn.utils.parameters_to_vector(module.parameters()).detach() + sign * step * along
        nn.utils.vector_to_parameters(flat, module.parameters())
        drawn()
        nn.utils.vector_to_parameters(flat - sign * step * along, module.parameters())
    slope = (seen[1] - seen[2]) / (2 * step)
    assert torch.allclose(found @ along, slope.detach(), rtol=1e-5)
    assert not torch.allclose(found, torch.cat([each.rows() for each in gradients(people)], dim=1))  # another draw
