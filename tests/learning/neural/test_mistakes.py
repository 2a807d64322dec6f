"""Mistakes that are easily made, and what is said of them; and what is no mistake and must train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import tacit
from tacit.errors import ParameterError, TacitError
from tacit.learning import neural
from tacit.learning.neural.gradients.hooked import row_losses
from tacit.learning.neural.modules import rehearsal
from tacit.learning.neural.modules.refused import refuse_mixing, single_precision
from tacit.learning.neural.people.batches import People, people_of
from tests.learning.neural.nets import entropy, squared
from tests.learning.neural.test_estimators import QUICK, data
from tests.learning.neural.test_trainer import net, people, trainer


def rows(wide: int = 5, many: int = 60) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(many, wide))
    return X, (X[:, 0] > 0).astype(int)


class Own(nn.Module):
    """A module with a forward pass of its own."""

    def __init__(self, forward: Callable[[Any, Any], Any], **layers: Any) -> None:
        super().__init__()
        for name, each in layers.items():
            setattr(self, name, each)
        self._how = forward

    def forward(self, x: Any) -> Any:
        return self._how(self, x)


def hidden(width: int) -> Any:
    torch.manual_seed(0)
    return Own(lambda s, x: s.b(torch.tanh(s.a(x))), a=nn.Linear(5, width), b=nn.Linear(width, 2))


# -- ordinary modules train, whatever their width --------------------------------------------------------------


@pytest.mark.parametrize("width", range(1, 41))
def test_ordinary_modules_of_any_width_train_person_by_person(width: int) -> None:
    own = trainer(hidden(width), data=rows(), loss=entropy, strict=True, size=60, steps=2)
    plain = trainer(hidden(width), data=rows(), loss=entropy, size=60, steps=2, exact=True)
    sums = [each._sum(np.arange(9)) * 2.0**-each._grid.exponent for each in (own, plain)]
    assert float((sums[0] - sums[1]).norm()) < 1e-4
    assert len(own.notes) == 1
    assert own.fit().steps_done == 2


def test_a_residual_module_learns_from_rows_of_a_curator() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": range(80), "age": rng.integers(18, 90, 80), "bmi": rng.uniform(15, 40, 80)})
    frame["smoker"] = np.where(frame.age > 50, "yes", "no")
    clinic = tacit.protect(
        frame,
        unit="who",
        columns={"age": tacit.between(0, 110), "bmi": tacit.between(10.0, 60.0), "smoker": tacit.one_of("no", "yes")},
        budget=tacit.Budget(epsilon=40, delta=1e-2),
    )

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Linear(2, 8), nn.Linear(8, 2), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            h = torch.tanh(self.a(x))
            return self.b(self.c(h) + h)

    model = neural.NeuralClassifier(Residual(), epsilon=2, delta=1e-6, rate=0.5, epochs=1)
    model.fit(clinic.rows("SELECT age, bmi, smoker FROM data"), "smoker")
    assert model.predict(frame[["age", "bmi"]]).shape == (80,)


@pytest.mark.parametrize("fails", [True, False])
def test_where_torch_func_does_not_serve_people_go_one_after_the_other_and_the_note_says_why(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    def first(module: Any, loss: Any) -> Any:
        def gradients(chunk: Any) -> Any:
            raise RuntimeError("none") if fails else TacitError(rehearsal.MIXES)

        return gradients

    monkeypatch.setattr(rehearsal, "per_sample", first)
    own = trainer(hidden(3), data=rows(), loss=entropy, strict=True, size=60, chunk=None)
    assert own.notes == ((rehearsal._ALONE if fails else rehearsal._ROUNDS),)
    assert own.chunk == 64
    monkeypatch.setattr(rehearsal, "one_by_one", first)
    with pytest.raises(TacitError, match="fails on made-up people" if fails else "mixes people") as refusal:
        trainer(hidden(3), data=rows(), loss=entropy, strict=True, size=60)
    assert type(refusal.value) is TacitError


def test_a_module_that_always_fails_is_refused_by_an_error_that_has_a_public_name() -> None:
    for changed in ({}, {"strict": True}, {"exact": True}):
        with pytest.raises(TacitError, match="fails on made-up people") as refusal:
            trainer(nn.Linear(4, 1), **changed)
        assert type(refusal.value) is TacitError


# -- modules that remember ------------------------------------------------------------------------------------


class Remembers(nn.Module):
    """Keeps a running mean in a plain attribute."""

    def __init__(self, training_only: bool) -> None:
        super().__init__()
        self.last, self.mean, self.training_only = nn.Linear(3, 2, bias=False), torch.zeros(3), training_only

    def forward(self, x: Any) -> Any:
        out = self.last(x - self.mean)
        if self.training or not self.training_only:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return out


@pytest.mark.parametrize("training_only", [True, False])
@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("changed", [{"exact": True}, {}, {"strict": True}])
def test_modules_that_remember_people_are_made_to_forget(changed: Any, training_only: bool, zeros: bool) -> None:
    module = Remembers(training_only)
    if zeros:
        nn.init.zeros_(module.last.weight)
    own = trainer(module, data=rows(3), loss=entropy, size=60, **changed)
    assert any("put back" in note for note in own.notes)
    assert torch.equal(module.mean, torch.zeros(3))  # a rehearsal leaves nothing in it
    module.mean = torch.ones(3)  # what the caller sets between two steps stays
    own.fit()
    assert torch.equal(module.mean, torch.ones(3))


class Keeps(nn.Module):
    """Remembers rows only where one of them has nothing but halves; torch.func cannot follow it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.seen = nn.Linear(3, 2), torch.zeros(())

    def forward(self, x: Any) -> Any:
        x.sum().item()
        self.seen = self.seen + torch.relu(1.0 - 100 * (x - 0.5).abs().sum(1)).sum().detach()
        return self.layer(x) * (1 + self.seen)


@pytest.mark.parametrize("ways", [{"strict": True}, {"exact": True}])
def test_a_module_of_others_that_goes_one_after_the_other_forgets_who_was_before(ways: dict[str, Any]) -> None:
    X, y = rows(3)
    X[5] = 0.5
    own = trainer(Keeps(), data=(X, y), loss=entropy, size=60, clipping="flat", clip=0.01, **ways)
    rest = np.arange(20, 50)
    moved = own._sum(np.append(5, rest)) - own._sum(rest)
    assert float(moved.norm()) <= float(own._grid.sigma / own.run.multiplier)


def test_dropout_and_normal_modules_are_exact() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 1))
    state = torch.random.get_rng_state()
    own = trainer(module, exact=True)
    assert torch.equal(state, torch.random.get_rng_state())
    own.fit()


def test_what_is_advised_is_allowed() -> None:
    """Who mixes people is told of exact=True, which takes their module."""
    module = Own(lambda s, x: s.a(x - x.mean(0)), a=nn.Linear(3, 2))
    with pytest.raises(TacitError, match="exact=True"):
        trainer(module, data=rows(3), loss=entropy, size=60)
    trainer(module, data=rows(3), loss=entropy, size=60, exact=True)


# -- the processor --------------------------------------------------------------------------------------------


@contextmanager
def threads(many: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(many)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("many", "seeds"), [(1, {1}), (2, {1}), (3, {1, 4, 7, 10})])
def test_more_people_are_compared_where_more_threads_share_the_work(
    monkeypatch: pytest.MonkeyPatch, many: int, seeds: set[int]
) -> None:
    made_up, met = People.made_up, set()

    def noted(self: People, places: int, seed: int = 0) -> Any:
        met.add(seed)
        return made_up(self, places, seed)

    own = people_of(*people())
    monkeypatch.setattr(People, "made_up", noted)
    with threads(many):
        rehearsal._same_bits(rehearsal.book_keeping(net(), squared), own, 32)
    assert met == seeds | {each + 1 for each in seeds}


def test_processors_that_take_small_numbers_for_zero_are_refused() -> None:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot")
    try:
        with pytest.raises(TacitError, match=r"set_flush_denormal\(False\)"):
            single_precision(net())
    finally:
        torch.set_flush_denormal(False)
    single_precision(net())


def test_lazy_layers_are_told_of_their_sizes_first() -> None:
    with pytest.raises(TacitError, match="Run one row through it first"):
        refuse_mixing(nn.Sequential(nn.LazyLinear(2)))
    X, y = data(40)
    module = nn.Sequential(nn.LazyLinear(2))
    with pytest.raises(TacitError, match="Run one row through it first"):
        neural.NeuralClassifier(module, classes=[0, 1], **QUICK).fit(X, y)


def test_a_module_in_which_nothing_learns_is_told_so() -> None:
    module = nn.Sequential(nn.Linear(3, 2)).requires_grad_(False)
    X, y = data(40)
    with pytest.raises(TacitError, match="no parameter that learns"):
        neural.NeuralClassifier(module, classes=[0, 1], **QUICK).fit(X, y)
    with pytest.raises(TacitError, match="no parameter that learns"):
        trainer(module)


# -- losses ---------------------------------------------------------------------------------------------------


def plain_squares(output: Any, target: Any) -> Any:
    return (output - target).square()


@pytest.mark.parametrize("changed", [{}, {"exact": True}, {"strict": True}])
def test_a_target_that_is_spread_over_pairs_of_rows_is_named_with_its_shape(changed: Any) -> None:
    with pytest.raises(TacitError, match=r"n x n numbers for n rows.*\(n, 1\) and the target \(n,\). Give y the shape"):
        trainer(loss=plain_squares, **changed)
    X, y = people()
    trainer(loss=plain_squares, data=(X, y[:, None]), **changed)


def test_as_many_losses_of_a_row_as_there_are_rows_are_no_pairs() -> None:
    for wide in (3, 4):
        X = np.random.default_rng(0).normal(size=(60, wide))
        trainer(nn.Linear(wide, wide), loss=plain_squares, data=(X, X), size=60, chunk=wide)


@pytest.mark.parametrize("where", ["loss", "module"])
def test_what_depends_on_how_many_people_there_are_is_told_so(where: str) -> None:
    module: Any = net()
    if where == "module":
        module = Own(lambda s, x: s.a(x) / x.shape[0], a=nn.Linear(3, 1))
    with pytest.raises(TacitError, match="how many people there are"):
        trainer(module, loss=(lambda o, t: squared(o, t) / len(o)) if where == "loss" else squared)


def test_losses_of_tokens_in_one_line_are_told_to_keep_people_apart() -> None:
    with pytest.raises(TacitError, match="first dimension"):
        row_losses(torch.zeros(12), 4)
    X = np.random.default_rng(0).integers(0, 5, size=(40, 6))

    def flat(output: Any, target: Any) -> Any:
        return functional.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="none")

    module = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    for changed in ({}, {"exact": True}, {"strict": True}):
        with pytest.raises(TacitError, match="6 of each in one line"):
            trainer(module, data=(X, X), loss=flat, size=40, **changed)


# -- what is given --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("layer", [nn.Linear(16, 2), nn.Conv1d(1, 2, 16)])
def test_whole_numbers_for_a_layer_of_real_ones_are_named(exact: bool, layer: Any) -> None:
    shape = (40, 16) if isinstance(layer, nn.Linear) else (40, 1, 16)
    X = np.random.default_rng(0).integers(0, 255, size=shape, dtype=np.uint8)
    module = nn.Sequential(layer, nn.Flatten())
    with pytest.raises(TacitError, match=r"X\.astype\('float32'\)"):
        trainer(module, data=(X, np.arange(40) % 2), loss=entropy, size=40, exact=exact)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, bool])
def test_whole_numbers_simply_work_in_the_network_that_is_made(kind: Any) -> None:
    X = np.random.default_rng(0).integers(0, 2, size=(40, 3)).astype(kind)
    neural.NeuralClassifier(classes=[0, 1], size=40, **QUICK).fit(X, X[:, 0].astype(int))


@pytest.mark.parametrize(("wrong", "words"), [(np.nan, "X contains NaN"), (np.inf, "infinity"), (1e300, "infinity")])
def test_arrays_with_what_is_no_number_are_refused(wrong: float, words: str) -> None:
    X, y = data(40)
    X = np.array(X, dtype=float)
    X[3, 1] = wrong
    with pytest.raises(ValueError, match=words):
        neural.NeuralClassifier(classes=[0, 1], **QUICK).fit(X, y)
    with pytest.raises(ValueError, match=words):
        neural.NeuralClassifier(classes=[0, 1], **QUICK).fit(torch.tensor(X), y)


@pytest.mark.parametrize("wrong", [np.nan, -np.inf])
def test_targets_that_are_no_numbers_are_refused(wrong: float) -> None:
    X, y = data(40)
    y = np.array(y, dtype=float)
    y[2] = wrong
    with pytest.raises(ValueError, match="Input y contains"):
        neural.NeuralRegressor(target_bounds=(0, 1), **QUICK).fit(X, y)


class Endless(IterableDataset[Any]):
    """Rows without places."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def test_loaders_are_asked_for_their_dataset_which_is_taken() -> None:
    X, y = data(40)
    own = TensorDataset(torch.tensor(np.asarray(X)).float(), torch.tensor(np.asarray(y)))
    model = neural.NeuralClassifier(classes=[0, 1], size=40, **QUICK)
    with pytest.raises(ParameterError, match=r"Give its \.dataset"):
        model.fit(DataLoader(own))
    for each in (Endless(), DataLoader(Endless())):
        with pytest.raises(ParameterError, match="by their places"):
            model.fit(each)
    assert model.fit(DataLoader(own).dataset).score(X, y) >= 0


def test_sparse_matrices_and_columns_of_text_are_named_with_what_is_allowed() -> None:
    X, y = data(40)
    model = neural.NeuralClassifier(classes=[0, 1], **QUICK)
    with pytest.raises(ParameterError, match=r"toarray\(\)"):
        model.fit(csr_matrix(X), y)
    frame = pd.DataFrame({"age": np.arange(40), "sex": ["F", "M"] * 20})
    with pytest.raises(ParameterError, match=r"no numbers in sex.*values=\{'sex'"):
        model.fit(frame, y)


def test_several_labels_of_a_row_are_refused() -> None:
    X, y = data(40)
    with pytest.raises(ParameterError, match=r"one label for each row.*argmax"):
        neural.NeuralClassifier(classes=[0, 1], **QUICK).fit(X, np.eye(2)[np.asarray(y)])
    with pytest.raises(ParameterError, match="one label for each row"):
        neural.NeuralRegressor(target_bounds=(0, 1), **QUICK).fit(X, np.zeros((40, 2)))
    neural.NeuralRegressor(target_bounds=(0, 1), size=40, **QUICK).fit(X, np.zeros((40, 1)))


# -- logs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "public", [np.zeros((5, 3)), (np.zeros((5, 3)), np.zeros(4)), (np.zeros((5, 3)),), (["a"], ["b"]), (1, 2)]
)
def test_a_log_looks_at_its_public_rows_when_it_is_made(public: Any) -> None:
    with pytest.raises(ParameterError, match="'public'"):
        neural.Log(public=public)


def test_a_log_whose_public_rows_do_not_fit_stops_no_run(tmp_path: Any) -> None:
    log = neural.Log(public=(np.zeros((5, 4)), np.zeros(5)))
    with pytest.warns(UserWarning, match="without public_loss"):
        assert trainer(steps=3).fit(log=log).steps_done == 3
    assert [sorted(each) for each in log.lines] == [["epsilon", "step"]] * 3
    log.save(tmp_path / "run.csv")
    log.save_page(tmp_path / "run.html")


@pytest.mark.parametrize("made", [neural.NeuralClassifier, neural.NeuralRegressor])
def test_predicting_before_a_fit_is_said_as_scikit_learn_does(made: Any) -> None:
    with pytest.raises(NotFittedError):
        made(epsilon=1).predict(np.ones((2, 2)))
