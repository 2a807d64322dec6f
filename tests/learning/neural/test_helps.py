"""What raises accuracy, and what is shown: moved copies, corrected Adam, means of weights, warm starts, logs, bars."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tacit.errors import ParameterError, TacitError
from tacit.learning import neural
from tacit.learning.neural.people.batches import Chunk
from tacit.learning.neural.runs.averages import Average
from tests.learning.neural.nets import squared
from tests.learning.neural.test_estimators import QUICK, data
from tests.learning.neural.test_trainer import net, people, trainer, weights


def images(many: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(many, 1, 6, 6)), rng.normal(size=many)


def flat() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(32, 1))


# -- moved copies --------------------------------------------------------------------------------------------


def test_copies_hold_one_row_each_moved_by_at_most_so_many_pixels() -> None:
    torch.manual_seed(1)
    made = torch.zeros(3, 1, 7, 7)
    made[torch.arange(3), 0, 3, 3] = torch.tensor([1.0, 2.0, 3.0])
    chunk = Chunk(3, (made,), torch.arange(3.0), torch.tensor([1.0, 1.0, 0.0]))
    moved = neural.Shifted(copies=50, pixels=2, flip=True).moved(chunk)
    assert moved.inputs[0].shape == (150, 1, 7, 7)
    assert torch.equal(moved.target, torch.arange(3.0).repeat_interleave(50))
    assert torch.allclose(moved.weights.reshape(3, 50).sum(dim=1), chunk.weights)
    for person in range(3):
        own = moved.inputs[0][50 * person : 50 * person + 50, 0]
        assert torch.all(own.sum(dim=(1, 2)) == person + 1)
        places = {tuple((each == person + 1).nonzero()[0].tolist()) for each in own}
        assert len(places) > 10
        assert all(1 <= y <= 5 and 1 <= x <= 5 for y, x in places)


@pytest.mark.parametrize("exact", [False, True])
def test_a_person_with_copies_is_clipped_as_one(exact: bool) -> None:
    X, y = images()
    own = trainer(flat(), data=(X, y), size=60, augment=neural.Shifted(3, 1), exact=exact, clipping="flat", clip=0.5)
    alone = own._sum(np.array([4])) * 2.0**-own._grid.exponent
    assert 0 < float(alone.norm()) <= 0.5001
    still = trainer(flat(), data=(X, y), size=60, augment=neural.Shifted(3, 0), clipping="flat", clip=0.5)
    plain = trainer(flat(), data=(X, y), size=60, clipping="flat", clip=0.5)
    sums = [each._sum(np.arange(20)) * 2.0**-each._grid.exponent for each in (still, plain)]
    assert torch.allclose(*sums, atol=1e-4)  # copies that are not moved have the row's own mean
    own.fit()


def test_only_images_have_copies() -> None:
    with pytest.raises(ParameterError, match="augment"):
        trainer(augment=neural.Shifted())


# -- corrected Adam ------------------------------------------------------------------------------------------


def test_corrected_adam_takes_the_variance_of_the_noise_off_the_square() -> None:
    module = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(module.weight)
    own = neural.CorrectedAdam(module.parameters(), lr=0.1, betas=(0.0, 0.0), floor=0.01)
    own.param_groups[0]["noise_variance"] = 9.0
    module.weight.grad = torch.tensor([[5.0]])
    own.step()
    assert float(module.weight.detach()) == pytest.approx(-0.1 * 5 / 4)  # 25 - 9 = 16
    nn.init.zeros_(module.weight)
    module.weight.grad = torch.tensor([[1.0]])
    own.step()
    assert float(module.weight.detach()) == pytest.approx(-0.1 * 1 / 0.3)  # at least 0.01 times 9


def test_the_trainer_says_how_much_of_a_square_is_noise(tmp_path: Path) -> None:
    module = net()
    own = trainer(module, optimiser=neural.CorrectedAdam(module.parameters()), journal=tmp_path)
    own.step(next(iter(own)))
    deviation = float(own._grid.sigma) * 2.0**-own._grid.exponent / (200 * 0.1)
    assert own.optimiser.param_groups[0]["noise_variance"] == pytest.approx(deviation**2)
    own.close()
    again = trainer(net(), optimiser=None, journal=None)
    assert again.steps_done == 0
    with pytest.raises(ParameterError, match="CorrectedAdam"):
        trainer(module, optimiser=neural.CorrectedAdam(module.parameters()), sampling="fixed", rate=0.25)


@pytest.mark.parametrize("wrong", [{"lr": 0}, {"betas": (0.9, 1.0)}, {"floor": 0}])
def test_corrected_adam_refuses_what_has_no_meaning(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        neural.CorrectedAdam(net().parameters(), **wrong)


# -- means of weights, and where they start --------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "expected"), [("tail", 8.0), (None, 10.0)])
def test_means_are_over_the_later_half_of_the_steps(kind: Any, expected: float) -> None:
    module = nn.Linear(1, 1, bias=False)
    mean = Average(module, kind, 10)
    for step in range(1, 11):
        nn.init.constant_(module.weight, float(step))
        mean.take(step)
    mean.put()
    assert float(module.weight.detach()) == pytest.approx(expected)


def test_exponential_means_forget() -> None:
    module = nn.Linear(1, 1, bias=False)
    mean = Average(module, "exponential", 1000)
    for step in range(1, 1001):
        nn.init.constant_(module.weight, 5.0 if step <= 500 else 1.0)
        mean.take(step)
    mean.put()
    assert 1.0 < float(module.weight.detach()) < 1.1


@pytest.mark.parametrize(
    "changed",
    [
        {"averaging": "exponential", "optimiser": "corrected adam"},
        {"averaging": None, "clipping": "adaptive"},
        {"sampling": "fixed", "optimiser": "sgd"},
    ],
)
def test_estimators_take_what_trainers_take(changed: dict[str, Any]) -> None:
    X, y = data(200)
    model = neural.NeuralClassifier(classes=[0, 1], size=200, **QUICK, **changed).fit(X, y)
    assert model.score(X, y) > 0.5


def test_other_means_are_refused_before_anything_is_released() -> None:
    X, y = data(50)
    with pytest.raises(ParameterError, match="averaging"):
        neural.NeuralClassifier(classes=[0, 1], averaging="all", **QUICK).fit(X, y)


def test_a_run_starts_from_the_weights_that_it_is_given() -> None:
    """A warm start: public weights are the module's own."""
    X, y = data(100)
    module = nn.Sequential(nn.Linear(3, 2))
    nn.init.constant_(module[0].weight, 3.0)
    settings = {**QUICK, "learning_rate": 1e-9, "averaging": None}
    model = neural.NeuralClassifier(module, classes=[0, 1], size=100, **settings).fit(X, y)
    assert torch.allclose(model.module_[0].weight, torch.full((2, 3), 3.0), atol=1e-4)


# -- what is shown ---------------------------------------------------------------------------------------------


def test_a_log_has_steps_what_was_spent_and_the_loss_on_public_rows(tmp_path: Path) -> None:
    X, y = people(50)
    log = neural.Log(public=(X, y), every=2)
    own = trainer(steps=5).fit(log=log)
    assert [each["step"] for each in log.lines] == [2, 4, 5]
    spent = [each["epsilon"] for each in log.lines]
    assert spent == sorted(spent)
    assert spent[-1] <= 5
    with torch.no_grad():
        loss = squared(own.module(torch.tensor(X).float()), torch.tensor(y).float()).mean()
    assert log.lines[-1]["public_loss"] == pytest.approx(float(loss), rel=1e-5)
    rows = list(csv.DictReader(log.save(tmp_path / "run.csv").read_text().splitlines()))
    assert rows[0]["step"] == "2"
    assert json.loads(log.save(tmp_path / "run.json").read_text()) == log.lines
    page = log.save_page(tmp_path / "run.html").read_text()
    assert "public loss" in page
    assert "<svg" in page


def test_a_log_without_public_rows_shows_no_loss() -> None:
    log = neural.Log()
    trainer(steps=3).fit(log=log)
    assert all(set(each) == {"step", "epsilon"} for each in log.lines)


def test_a_bar_says_what_was_spent(capsys: pytest.CaptureFixture[str]) -> None:
    trainer(steps=3).fit(progress=True)
    shown = capsys.readouterr().out
    assert "3/3" in shown
    assert "epsilon" in shown


# -- losses and precision --------------------------------------------------------------------------------------


def test_several_losses_of_a_row_are_added() -> None:
    def two(output: Any, target: Any) -> Any:
        return torch.stack([squared(output, target), 2 * squared(output, target)], dim=1)

    def three(output: Any, target: Any) -> Any:
        return 3 * squared(output, target)

    sums = [trainer(loss=each)._sum(np.arange(20)) for each in (two, three)]
    assert torch.allclose(*sums, rtol=1e-4, atol=64)


def test_mixed_precision_is_refused() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(TacitError, match="Mixed precision"):
        trainer()
    own = trainer()
    batch = next(iter(own))
    before = weights(own.module)
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(TacitError, match="Mixed precision"):
        own.step(batch)
    assert torch.equal(before, weights(own.module))
    X, y = people()
    with pytest.raises(ParameterError, match="float32"):
        trainer(data=(torch.tensor(X).half(), y))
