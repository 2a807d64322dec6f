"""The trainer: batches of random size, exact noise, the price, and what is refused before it."""

from __future__ import annotations

import contextlib
import copy
import math
import os
import pickle
import signal
import threading
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.errors import ParameterError, TacitError
from tacit.learning.neural import PrivateTrainer
from tacit.learning.neural.floats import block_error
from tacit.learning.neural.people.batch import Batch
from tacit.loss import compose
from tests.learning.neural.nets import Odd, squared


def net(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


def people(many: int = 200) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(many, 3))
    return X, X @ [1.0, -1.0, 0.5]


def trainer(module: Any = None, **changed: Any) -> PrivateTrainer:
    module = net() if module is None else module
    X, y = people()
    given: dict[str, Any] = {"epsilon": 5, "delta": 1e-5, "rate": 0.1, "steps": 8, "size": 200, "chunk": 16}
    given |= changed
    data = given.pop("data", (X, y))
    loss = given.pop("loss", squared)
    optimiser = given.pop("optimiser", None) or torch.optim.SGD(module.parameters(), lr=0.1)
    return PrivateTrainer(module, loss, optimiser, *data, **given)


def batch_of(own: PrivateTrainer, chosen: Any) -> Batch:
    """These people, as the batch of the next step."""
    return Batch(chosen, (own._name, own._begun))


def weights(module: Any) -> Any:
    return torch.cat([each.detach().reshape(-1) for each in module.parameters()])


def test_the_price_is_within_the_target_and_near_it() -> None:
    run = trainer().run
    spent = compose([run.event]).epsilon(run.delta)
    assert 4.99 < spent <= 5.0000001
    assert run.price.epsilon == 5


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("clipping", ["flat", "automatic"])
def test_what_is_released_is_the_sum_of_clipped_gradients_with_noise_of_the_stated_width(
    exact: bool, clipping: str
) -> None:
    module = net()
    own = trainer(module, rate=1, steps=1, clip=0.7, clipping=clipping, exact=exact, epsilon=1)
    X, y = people()
    lengths, explicit = [], torch.zeros(sum(each.numel() for each in module.parameters()), dtype=torch.float64)
    for row, aim in zip(torch.tensor(X).float(), torch.tensor(y).float(), strict=True):
        slopes = torch.autograd.grad(squared(module(row[None]), aim[None]).sum(), list(module.parameters()))
        slope = torch.cat([each.reshape(-1) for each in slopes]).double()
        lengths.append(float(slope.norm()))
        explicit += slope * (0.7 / (lengths[-1] + 0.01) if clipping == "automatic" else min(1, 0.7 / lengths[-1]))
    exact_sum = own._sum(np.arange(200)) * 2.0**-own._grid.exponent
    assert torch.allclose(exact_sum, explicit, atol=2e-3 * float(explicit.norm()))
    # the noise is at least the multiplier times the clipping norm, and not much more
    deviation = float(own._grid.sigma) * 2.0**-own._grid.exponent
    least = float(own.run.multiplier) * 0.7
    assert least <= deviation <= least * (1 + 4 * block_error(16) + 1e-3)


@pytest.mark.statistical
def test_noise_has_its_deviation() -> None:
    """False alarms: below 1e-9, six deviations of a sample variance of 8 x 33 normal draws and more."""
    module = net()
    start = weights(module)
    released = []
    own = trainer(module, steps=60, rate=1e-6, clip=1, epsilon=1)
    for batch in own:
        own.step(batch)
        released.append(weights(module) - start)
        start = weights(module)
    drawn = torch.cat(released).double() / 0.1 * (own.size * 1e-6)
    assert own.size == 1e6  # nobody can be expected to be in, so steps are scaled for one
    expected = float(own._grid.sigma) * 2.0**-own._grid.exponent
    ratio = float(drawn.square().mean().sqrt()) / expected
    assert abs(ratio - 1) < 6 / math.sqrt(2 * drawn.numel())


def test_an_empty_batch_is_a_step_like_any_other() -> None:
    module = net()
    own = trainer(module)
    before = weights(module)
    own.step(batch_of(own, np.zeros(0, dtype=np.int64)))
    assert not torch.equal(before, weights(module))
    assert own.steps_done == 1


def test_a_run_is_neither_copied_nor_pickled_nor_forked() -> None:
    own = trainer()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TacitError, match="neither copied nor pickled"):
            copied(own)
    own._process += 1  # as in a child of this process
    with pytest.raises(TacitError, match="another process"):
        own.step(next(iter(own)))


def test_steps_end_where_the_price_ends() -> None:
    own = trainer(steps=3).fit()
    assert own.steps_done == 3
    with pytest.raises(TacitError, match="All 3 steps"):
        own.step(batch_of(own, np.zeros(0, dtype=np.int64)))
    assert list(own) == []
    before = own.spent()
    assert own.go_on(2).fit().steps_done == 5
    assert own.spent().epsilon > before.epsilon
    assert own.spent().epsilon == own.run.price.epsilon
    with pytest.raises(ParameterError, match="fixed order"):
        trainer(sampling="fixed", rate=0.25).go_on(1)


def test_a_batch_is_used_once_and_tells_nothing() -> None:
    own = trainer()
    batch = next(iter(own))
    own.step(batch)
    with pytest.raises(TacitError, match="used before"):
        own.step(batch)
    assert repr(batch) == "Batch(of a private size)"


def test_a_batch_is_of_one_step_of_one_run() -> None:
    """Another run chose people with another rate, which is what it paid for."""
    own, other = trainer(rate=0.1), trainer(rate=1)
    before = weights(own.module)
    with pytest.raises(TacitError, match="another run"):
        own.step(next(iter(other)))
    later = iter(own)
    first = next(later)
    own.step(batch_of(own, np.arange(3)))
    with pytest.raises(TacitError, match="another step"):
        own.step(first)
    assert not torch.equal(weights(own.module), before)
    assert own.steps_done == 1


def test_what_changed_since_the_run_began_is_refused_before_its_step() -> None:
    """Bits were compared with so many threads, and for these layers."""
    own, threads = trainer(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))), torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        with pytest.raises(ParameterError, match="threads"):
            own.fit()
    finally:
        torch.set_num_threads(threads)
    own._waiting = False
    own.module[1] = nn.BatchNorm1d(4, affine=False, track_running_stats=False)
    with pytest.raises(TacitError, match="BatchNorm"):
        own.fit()
    assert own.steps_done == 0


def test_runs_in_several_threads_take_turns() -> None:
    """Each sum is of its own step, and no step is made twice."""
    own = trainer(steps=40, rate=1, clipping="automatic")
    longest = 200 * 1.05 / float(own.run.rate) / own.size + 100
    found: list[float] = []
    apply = own._apply
    own._apply = lambda released, per: found.append(float(released.norm())) or apply(released, per)  # type: ignore[method-assign, func-returns-value]

    def steps() -> None:
        while own.steps_done < 40:
            with contextlib.suppress(TacitError):
                own.step(batch_of(own, np.arange(200)))

    running = [threading.Thread(target=steps) for _ in range(4)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert own.steps_done == len(found) == 40
    assert max(found) < longest


def test_an_interrupt_waits_for_the_end_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    own = trainer()
    total = own._summing.total

    def interrupted(*given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return total(*given)

    monkeypatch.setattr(own._summing, "total", interrupted)
    before = weights(own.module)
    with pytest.raises(KeyboardInterrupt):
        own.fit()
    assert own.steps_done == 1
    assert torch.is_grad_enabled()
    assert not torch.equal(weights(own.module), before)
    assert not any("forward" in vars(layer) for layer in own.module.modules())
    monkeypatch.undo()
    assert own.fit().steps_done == len(own)


def test_what_a_run_costs_cannot_be_replaced() -> None:
    own = trainer()
    with pytest.raises(AttributeError):
        own.run = trainer(steps=100).run  # type: ignore[misc]
    with pytest.raises(ParameterError, match="size"):
        trainer(size=10**400)


def test_a_loop_that_forgets_to_step_is_told() -> None:
    with pytest.raises(TacitError, match="not used"):
        for _ in trainer():
            pass


def test_what_was_spent_grows_and_never_passes_the_whole() -> None:
    own = trainer(steps=20, epsilon=3)
    seen = [float(own.spent().epsilon)]
    for batch in own:
        own.step(batch)
        seen.append(float(own.spent().epsilon))
    assert seen == sorted(seen)
    assert seen[0] < seen[1] <= seen[-1] <= 3
    assert seen[-1] >= compose([own.run.event]).epsilon(own.run.delta) - 1e-6 or seen[-1] == 3


def test_a_count_is_bought_where_the_size_is_private() -> None:
    own = trainer(size=None, epsilon=1)
    assert own.run.count_sigma is not None
    assert own.size != 200
    assert compose([own.run.event]).epsilon(own.run.delta) <= 1.0000001


def test_a_person_without_a_finite_gradient_counts_as_nothing() -> None:
    X, y = people()
    X[3], y[5], X[7] = np.nan, np.inf, 1e38
    own = trainer(data=(X, y))
    plain = trainer(data=(np.delete(X, [3, 5, 7], axis=0), np.delete(y, [3, 5, 7])))
    chosen = np.arange(16)
    left = np.arange(13)
    assert torch.all(torch.isfinite(own._sum(chosen)))
    difference = (own._sum(chosen) - plain._sum(left)).norm() * 2.0**-own._grid.exponent
    assert float(difference) < 1e-4


@pytest.mark.parametrize("chunk", [1, 8, 64])
def test_the_sum_does_not_depend_on_how_it_is_cut(chunk: int) -> None:
    chosen = np.arange(40)
    sums = [trainer(chunk=each)._sum(chosen) for each in (chunk, 40)]
    grids = [2.0 ** -trainer(chunk=each)._grid.exponent for each in (chunk, 40)]
    assert float((sums[0] * grids[0] - sums[1] * grids[1]).norm()) < 1e-3


def test_people_with_several_rows_are_clipped_together() -> None:
    X, y = people()
    units = np.repeat(np.arange(50), 4)
    own = trainer(data=(X, y), units=units, rows_per_unit=3, size=50, clip=1, clipping="flat")
    assert own._people.copies == 3
    alone = own._sum(np.array([7])) * 2.0**-own._grid.exponent
    assert float(alone.norm()) <= 1.0001
    module = own.module
    slopes = torch.autograd.grad(
        squared(module(torch.tensor(X[28:31]).float()), torch.tensor(y[28:31]).float()).sum(), list(module.parameters())
    )
    slope = torch.cat([each.reshape(-1) for each in slopes]).double()
    assert torch.allclose(alone, slope / max(1.0, float(slope.norm())), atol=1e-4)


def test_a_layer_that_is_not_understood_is_noted_and_trained_person_by_person() -> None:
    own = trainer(Odd(3))
    assert "Odd is not understood" in own.notes[0]
    own.fit()


def test_exact_mode_assumes_nothing_and_gives_the_same_sum() -> None:
    fast, exact = trainer(), trainer(exact=True)
    chosen = np.arange(20)
    sums = [each._sum(chosen) * 2.0**-each._grid.exponent for each in (fast, exact)]
    assert float((sums[0] - sums[1]).norm()) < 1e-4


def mean_loss(output: Any, target: Any) -> Any:
    return squared(output, target).mean()


class Mixing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.layer(x - x.mean(dim=0))


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.layer(x))).mul_(2.0)


@pytest.mark.parametrize(
    ("module", "changed", "said"),
    [
        (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), {}, "Use GroupNorm"),
        (
            nn.Sequential(nn.Unflatten(1, (3, 1)), nn.InstanceNorm1d(3, affine=True, track_running_stats=True)),
            {},
            "running statistics",
        ),
        (nn.Sequential(nn.Embedding(3, 4, max_norm=1.0)), {}, "max_norm"),
        (None, {"loss": mean_loss}, 'reduction="none"'),
        (Mixing(), {}, "mixes people"),
        (InPlace(), {}, "overwritten in place"),
        (nn.Sequential(nn.Linear(3, 1)).double(), {}, "float32"),
        (None, {"rate": 1.5}, "rate"),
        (None, {"rate": 0}, "rate"),
        (None, {"delta": 0}, "delta"),
        (None, {"steps": 0}, "steps"),
        (None, {"clip": 0}, "clip"),
        (None, {"clipping": "none"}, "clipping"),
        (None, {"size": 0}, "size"),
        (None, {"units": np.zeros(200)}, "rows_per_unit"),
        (None, {"chunk": 2**20 + 1}, "chunk"),
        (None, {"data": (people()[0], people()[1][:9])}, "of one length"),
        (None, {"data": (torch.empty(200, 3, device="meta"), people()[1])}, "on the processor"),
    ],
)
def test_bad_input_is_refused_before_the_first_step(module: Any, changed: dict[str, Any], said: str) -> None:
    with pytest.raises((TacitError, ParameterError), match=said):
        trainer(module, **changed)


def test_a_layers_output_that_is_overwritten_at_once_is_trained_person_by_person() -> None:
    class AtOnce(InPlace):
        def forward(self, x: Any) -> Any:
            return self.last(self.layer(x).mul_(2.0))

    own = trainer(AtOnce())
    assert any("writes over" in note for note in own.notes)
    assert own.fit().steps_done == len(own)


def test_an_optimiser_of_another_module_is_refused() -> None:
    with pytest.raises(ParameterError, match="optimiser"):
        trainer(net(), optimiser=torch.optim.SGD(net().parameters(), lr=0.1))


def test_shortened_products_are_refused() -> None:
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ParameterError, match="precision of products"):
            trainer()
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("place", ["", ".mkldnn", ".mkldnn.matmul", ".mkldnn.conv"])
@pytest.mark.parametrize("short", ["bf16", "tf32"])
def test_products_shortened_by_the_newer_settings_are_refused(place: str, short: str) -> None:
    own = attrgetter(f"backends{place}")(torch)
    try:
        own.fp32_precision = short
    except RuntimeError:
        pytest.skip("this torch has no such setting")
    try:
        with pytest.raises(ParameterError, match="precision of products"):
            trainer()
    finally:
        own.fp32_precision = "none"
    trainer()


@pytest.mark.parametrize("name", ["ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"])
def test_products_shortened_by_the_environment_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "BF16")
    with pytest.raises(ParameterError, match=name):
        trainer()
    monkeypatch.setenv(name, "STRICT")
    trainer()


def test_neighbours_differ_by_no_more_than_the_sensitivity() -> None:
    """Sums with and without one person, on many samples: within what was paid for, in any order."""
    rng = np.random.default_rng(1)
    own = trainer(clip=Fraction(1, 2))
    reach = float(own._grid.sigma / own.run.multiplier)
    for _ in range(20):
        chosen = rng.permutation(200)[: rng.integers(1, 60)]
        place = int(rng.integers(0, len(chosen)))
        with_one = np.append(chosen, chosen[place])  # the displaced one goes to the end
        with_one[place] = (chosen[place] + 1) % 200
        assert float((own._sum(with_one) - own._sum(chosen)).norm()) <= reach
