"""Nobody's contribution depends on who else is there: bits compared with one person removed, replaced or moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.errors import TacitError
from tacit.learning.neural import PrivateTrainer, Shifted
from tacit.learning.neural.floats import BLOCK
from tacit.learning.neural.gradients.forms import Ghost, Lookup
from tacit.learning.neural.gradients.hooked import book_keeping
from tacit.learning.neural.modules.rehearsal import rehearsed
from tacit.learning.neural.people.batches import Chunk, People, fewer_than, people_of
from tacit.learning.neural.sums.summing import FAILED
from tests.learning.neural.nets import builds, entropy
from tests.learning.neural.test_trainer import net, people, trainer

WILD = [float("nan"), float("inf"), -3e38, 1e-42, 0.0]


def bits(forms: Any, person: int) -> list[bytes]:
    return [each.detach().contiguous().numpy().tobytes() for form in forms for each in form.bits_of(person)]


def spoilt(chunk: Chunk, person: int, value: float) -> Chunk:
    copies = chunk.rows // chunk.people
    inputs = chunk.inputs[0].clone()
    inputs[person * copies : (person + 1) * copies] = value if inputs.dtype.is_floating_point else 0
    return replace(chunk, inputs=(inputs,))


IMAGES = [name for name in sorted(builds()) if name.startswith(("conv2d", "group", "instance"))]


@pytest.mark.parametrize(
    ("name", "last"), [(name, False) for name in sorted(builds())] + [(name, True) for name in IMAGES]
)
def test_a_wild_person_changes_no_bit_of_another(name: str, last: bool) -> None:
    torch.manual_seed(3)
    module, loss, chunk = builds()[name](lambda low, high: high)
    gradients = book_keeping(module, loss, channels_last=last)
    before = gradients(chunk)
    for person in range(chunk.people):
        for value in WILD:
            after = gradients(spoilt(chunk, person, value))
            for other in set(range(chunk.people)) - {person}:
                assert bits(before, other) == bits(after, other)


@pytest.mark.parametrize("changed", [{}, {"exact": True}, {"clipping": "flat"}, {"clipping": "adaptive"}])
@pytest.mark.parametrize("value", WILD)
def test_a_wild_person_moves_a_sum_by_no_more_than_anybody_may(changed: dict[str, Any], value: float) -> None:
    X, y = people()
    plain = trainer(data=(X, y), **changed)
    X = X.copy()
    X[3] = value
    wild = trainer(data=(X, y), **changed)
    reach = float(wild._grid.sigma / wild.run.multiplier)
    rest = np.array([1, 9, 30, 44])
    for chosen in ([3, 1, 9, 30, 44], [1, 9, 30, 44, 3], [1, 9, 3, 30, 44]):
        moved = wild._sum(np.array(chosen)) - wild._sum(rest)
        assert torch.all(torch.isfinite(moved))
        assert float(moved.norm()) <= reach
    assert torch.equal(wild._sum(rest), plain._sum(rest))  # memory that a wild person was in is clean afterwards


@pytest.mark.parametrize("exact", [False, True])
def test_a_person_at_whom_torch_fails_counts_as_nothing_and_nobody_hears_of_it(exact: bool) -> None:
    X, _ = people()
    y = (X[:, 0] > 0).astype(int)
    wrong = y.copy()
    wrong[[3, 8]] = (7, -5)  # classes that are none of two outputs

    def own(target: Any) -> Any:
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        return trainer(module, data=(X, target), loss=entropy, exact=exact, rate=0.5, steps=3)

    plain, spoiled = own(y), own(wrong)
    rest = np.array([0, 1, 2, 4, 5])
    for chosen in (np.array([0, 1, 2, 3, 4, 5, 8]), np.array([3, 0, 1, 2, 8, 4, 5])):
        left, right = plain._sum(rest), spoiled._sum(chosen)
        # places differ, and so may the order of addition
        assert float((left - right).norm()) * 2.0**-plain._grid.exponent < 1e-4
    assert spoiled._summing.total(np.array([3]), spoiled._clip, spoiled._grid)[1] == 0
    assert spoiled.fit().steps_done == 3


def test_a_chunk_written_over_another_has_nothing_left_of_it() -> None:
    """Also where persons have different numbers of rows, and where the last chunk is nearly empty."""
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    X = rng.normal(size=(len(units), 3))
    own: People = people_of(X, X[:, 0], units, 3)
    room: dict[int, Any] = {}
    for size in (30, 7, 1, 12, 30, 3):
        chosen = rng.permutation(30)[:size]
        kept = [(each.inputs[0].clone(), each.target.clone(), each.weights) for each in own.chunks(chosen, 8, room)]
        fresh = [(each.inputs[0], each.target, each.weights) for each in own.chunks(chosen, 8)]
        assert len(kept) == len(fresh)
        for left, right in zip(kept, fresh, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("size", [40, 41])
def test_one_person_more_moves_a_sum_over_many_chunks_and_spans_by_no_more_than_the_sensitivity(size: int) -> None:
    own = trainer(chunk=2)  # a span is eight chunks: 40 people are three spans
    reach = float(own._grid.sigma / own.run.multiplier)
    chosen = np.random.default_rng(5).permutation(200)[:size]
    before = own._sum(chosen)
    for place in range(0, size, 5):
        more = np.append(chosen, chosen[place])  # who stood there goes to the end
        more[place] = 199 if 199 not in chosen else int(np.setdiff1d(np.arange(200), chosen)[0])
        assert 0 < float((own._sum(more) - before).norm()) <= reach


def test_copies_of_one_person_are_drawn_whoever_else_is_there() -> None:
    rng = np.random.default_rng(1)
    images = rng.normal(size=(20, 1, 6, 6))
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 2))
    own = PrivateTrainer(
        module,
        entropy,
        torch.optim.SGD(module.parameters(), lr=0.1),
        images,
        np.zeros(20, dtype=int),
        epsilon=1,
        delta=1e-5,
        rate=0.5,
        steps=2,
        size=20,
        augment=Shifted(3, 1),
    )
    chunk = next(own._people.chunks(np.arange(5), own.chunk))
    other = spoilt(chunk, 2, 7.0)
    found = []
    for each in (chunk, other):
        torch.manual_seed(11)
        found.append(Shifted(3, 1).moved(each).inputs[0])
    same = [torch.equal(found[0][3 * place : 3 * place + 3], found[1][3 * place : 3 * place + 3]) for place in range(5)]
    assert same == [True, True, False, True, True]


def test_modules_learn_the_same_whether_or_not_a_chunk_was_tried_before() -> None:
    """A rehearsal leaves no trace in the module, its modes or torch's random state."""
    torch.manual_seed(9)
    module = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    before = [each.detach().clone() for each in module.parameters()]
    state = torch.random.get_rng_state()
    trainer(module)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
    assert module[1].training
    assert all(each.grad is None for each in net().parameters())


class Views(nn.Module):
    """Looks at its numbers in the order they lie in, which channels last do not allow."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.last = nn.Conv2d(2, 3, 3), nn.Linear(48, 2)

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.image(x)).view(-1, 48))


def test_a_module_that_views_its_images_as_numbers_is_trained_with_channels_first() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2, 6, 6)), np.arange(60) % 2
    own = trainer(Views(), data=(X, y), loss=entropy, size=60)
    assert own.notes == ()
    own.fit()


@pytest.mark.parametrize("activation", [nn.Sigmoid, nn.SiLU, nn.ELU, nn.Softplus, nn.Mish])
@pytest.mark.parametrize("rate", [0.004, 0.02, 0.05, 0.3])
def test_what_is_accepted_rounds_nobody_by_the_place(activation: Any, rate: float) -> None:
    """Layers of odd width: torch's kernels round the last numbers of a tensor in another way. Looked at anew."""
    torch.manual_seed(5)
    X, y = np.random.default_rng(1).normal(size=(800, 3)), np.arange(800) % 2
    module = nn.Sequential(nn.Linear(3, 7), activation(), nn.Linear(7, 5), activation(), nn.Linear(5, 2))
    own = trainer(module, data=(X, y), loss=entropy, size=800, rate=rate, chunk=None)
    chunk = people_of(X, y).made_up(own.chunk, seed=77)
    gradients = own._summing._gradients
    before = gradients(chunk)
    for by in (1, 5, own.chunk // 2 + 3):
        turned = [each.roll(by, 0) for each in (*chunk.inputs, chunk.target, chunk.weights)]
        after = gradients(Chunk(chunk.people, (turned[0],), turned[1], turned[2]))
        for left, right in zip(before, after, strict=True):
            assert all(torch.equal(a.roll(by, 0), b) for a, b in zip(left.parts, right.parts, strict=True))
            assert torch.equal(left.squares({}).roll(by, 0), right.squares({}))


def test_a_chunk_of_two_is_turned_too() -> None:
    """A layer that gives the second place more is noticed, wherever it is."""

    class ByPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.last(x * torch.linspace(1.0, 1.5, x.shape[0]).reshape(-1, 1))

    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    for places in (2, 3, 5):
        with pytest.raises(TacitError):
            trainer(ByPlace(), data=(X, y), loss=entropy, size=60, chunk=places)


def test_bounds_of_norms_do_not_depend_on_the_place() -> None:
    """Sums over pairs of three positions do not fill lines of the cache: clipping would depend on the place."""
    torch.manual_seed(0)
    a, b = torch.randn(48, 3, 130), torch.randn(48, 3, 129)
    places = torch.randint(0, 9, (48, 3))
    made_of: list[Any] = [lambda o: Ghost(a[o], b[o]), lambda o: Lookup(places[o], b[o], 9)]
    for made in made_of:
        whole = made(torch.arange(48))
        for _ in range(3):
            order = torch.randperm(48)
            assert torch.equal(made(order).squares({}), whole.squares({})[order])


@pytest.mark.parametrize("law", ["logits", "rate"])
def test_a_loss_that_refuses_a_row_is_silent_about_it(law: str) -> None:
    """torch's distributions raise ValueError and print what they were given."""

    def loss(output: Any, target: Any) -> Any:
        if law == "logits":
            return -torch.distributions.Categorical(logits=output).log_prob(target)
        return -torch.distributions.Poisson(torch.exp(output[:, 0])).log_prob(target)

    X, y = people()
    y = (X[:, 0] > 0).astype(int)
    plain = trainer(nn.Linear(3, 2), data=(X, y), loss=loss, rate=1, steps=2, size=len(y))
    X, y = X.copy(), y.copy()
    X[3] = float("nan")
    if law == "rate":
        y[3] = -1
    spoilt = trainer(nn.Linear(3, 2), data=(X, y), loss=loss, rate=1, steps=2, size=len(y))
    spoilt.module.load_state_dict(plain.module.state_dict())
    others = np.delete(np.arange(len(y)), 3)
    assert float((spoilt._sum(np.arange(len(y))) - plain._sum(others)).norm()) * 2.0**-plain._grid.exponent < 1e-4
    spoilt.fit()


def test_a_step_that_fails_for_everybody_says_one_sentence() -> None:
    fails = [False]

    def loss(output: Any, target: Any) -> Any:
        if fails:
            raise ValueError(f"rows {target.tolist()}")
        return entropy(output, target)

    fails.clear()
    X, y = people()
    own = trainer(nn.Linear(3, 2), data=(X, (X[:, 0] > 0).astype(int)), loss=loss, size=len(y), rate=1, steps=2)
    fails.append(True)
    with pytest.raises(TacitError) as refusal:
        own.fit()
    assert str(refusal.value) == FAILED
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("places", [64, 96])
def test_the_last_chunk_has_the_fewest_places_that_are_enough(places: int) -> None:
    X = np.random.default_rng(2).normal(size=(200, 3))
    own = people_of(X, X[:, 0])
    fewer = fewer_than(places)
    assert fewer
    for size in (1, 32, 33, 64, 65, 96, 97, 128, 160, 200):
        sizes = [each.people for each in own.chunks(np.arange(size), places, fewer=fewer)]
        rest = size % places
        assert sizes == [places] * (size // places) + [min(s for s in (*fewer, places) if s >= rest)] * (rest > 0)


def test_a_chunk_of_several_blocks_has_no_smaller_ones_behind_it() -> None:
    """Of another size it would be cut into other blocks, and more than two of them would change with one person."""
    assert fewer_than(BLOCK) == [64, 128, 192]
    assert fewer_than(BLOCK + 32) == fewer_than(32) == fewer_than(2) == []


@pytest.mark.parametrize("name", sorted(builds()))
def test_bits_in_a_last_chunk_of_fewer_places_are_those_of_a_full_one(name: str) -> None:
    """Where they are not, there are no chunks with fewer places."""
    module, loss, chunk = builds()[name](lambda low, high: low)
    own = People((*chunk.inputs,), chunk.target, np.arange(chunk.rows).reshape(chunk.people, -1))
    found = rehearsed(module, loss, own, lambda numbers: (64,), lambda each: each)
    whole = own.made_up(64, seed=9)
    copies = whole.rows // 64
    for fewer in found.fewer:
        part = slice(20 * copies, (20 + fewer) * copies)
        few = Chunk(fewer, tuple(each[part] for each in whole.inputs), whole.target[part], whole.weights[part])
        for left, right in zip(found.gradients(whole), found.gradients(few), strict=True):
            assert all(torch.equal(a[20 : 20 + fewer], b) for a, b in zip(left.parts, right.parts, strict=True))


@pytest.mark.parametrize("size", [31, 32, 33, 63, 64, 65, 128])
def test_one_person_more_moves_a_sum_whose_last_chunk_changes_its_size_by_no_more_than_the_sensitivity(
    size: int,
) -> None:
    own = trainer(chunk=64)
    assert own._summing._fewer == (32,)
    reach = float(own._grid.sigma / own.run.multiplier)
    chosen = np.random.default_rng(6).permutation(200)[:size]
    before = own._sum(chosen)
    for place in range(0, size, 7):
        more = np.append(chosen, chosen[place])
        more[place] = int(np.setdiff1d(np.arange(200), chosen)[0])
        assert 0 < float((own._sum(more) - before).norm()) <= reach
