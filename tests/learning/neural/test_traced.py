"""Modules of other people's making, on rows of a curator: what they fail at is not told, and they mix no one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import fx, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import tacit
from tacit.errors import TacitError
from tacit.learning import neural
from tacit.learning.neural.modules.apart import keeps_apart
from tacit.learning.neural.modules.traced import course_of, only_torch


class Splits(nn.Module):
    """Its halves do not fit together: torch's error has numbers in it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(x.view(-1, 3)[:, :2])


@pytest.mark.parametrize("again", [False, True])
def test_a_course_that_fails_prints_nothing(capfd: pytest.CaptureFixture[str], again: bool) -> None:
    """A copy of it neither, nor one that is called through torch.func."""
    course = only_torch(Splits())
    if again:
        course = only_torch(copy.deepcopy(course))
    for call in (course, copy.deepcopy(course), lambda x: torch.func.functional_call(course, {}, (x,))):
        with pytest.raises(RuntimeError, match="74"):
            call(torch.ones(37, 2))
    assert capfd.readouterr() == ("", "")
    assert torch.equal(course(torch.ones(3, 2)), course.forward(torch.ones(3, 2)))


@pytest.mark.parametrize("name", ["gather", "index_select"])
def test_operations_that_fail_at_some_values_are_refused(name: str) -> None:
    class Looks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            found = self.layer(x)
            return torch.gather(found, 1, x) if name == "gather" else torch.index_select(found, 1, x[0])

    with pytest.raises(TacitError, match=name):
        only_torch(Looks())


class Sums(nn.Module):
    """Adds up rows of everyone, as torch's operations can."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(x + 0 * x.clamp(0, 0).sum(0, keepdim=True))


def test_rows_of_a_curator_go_person_by_person_through_what_is_not_known_to_keep_them_apart() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"who": range(80), "a": rng.integers(0, 10, 80), "b": rng.integers(0, 10, 80), "s": ["no", "yes"] * 40}
    )
    columns = {"a": tacit.between(0, 9), "b": tacit.between(0, 9), "s": tacit.one_of("no", "yes")}
    clinic = tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=9, delta="1e-3"))
    noted = []
    for module in (Sums(), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))):
        model = neural.NeuralClassifier(module, epsilon=2, epochs=1, rate="1/4", size=80)
        model.fit(clinic.rows("SELECT a, b, s FROM data"), "s")
        noted.append([each for each in model.finding_.notes if "person by person" in each])
    assert len(noted[0]) == 1
    assert not noted[1]


class Writes(nn.Module):
    """Keeps rows in a parameter that does not learn."""

    def __init__(self) -> None:
        super().__init__()
        self.kept, self.layer = nn.Parameter(torch.zeros(4, 2), requires_grad=False), nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(torch.add(self.kept, x, out=self.kept))


class InPlace(nn.Module):
    """Writes over what it was fed."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(nn.functional.relu(x, True))


class Sneaky(str):
    """A text that would be code where a course is printed."""

    def __repr__(self) -> str:
        return "seen.append(1)"


class Speaks(nn.Module):
    """Writes code of its own into its course."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        y = self.layer(x) + 1.0
        y.node.args = (y.node.args[0], Sneaky("1"))
        return y


def test_what_would_write_or_run_something_else_is_refused() -> None:
    mine = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.0, batch_first=True, activation=lambda x: x)
    running = nn.Sequential(nn.Unflatten(1, (2, 1)), nn.InstanceNorm1d(2), nn.Flatten(), nn.Linear(2, 2))
    running[1].running_mean = nn.Parameter(torch.zeros(2), requires_grad=False)
    for module, said in (
        (Writes(), "add"),
        (InPlace(), "relu"),
        (Speaks(), "Sneaky"),
        (nn.Sequential(mine), "operations"),
        (running, "operations"),
    ):
        with pytest.raises(TacitError, match=said):
            only_torch(module)


def test_a_module_is_made_anew_with_nothing_but_its_numbers() -> None:
    given = nn.Sequential(nn.Linear(2, 4), nn.ReLU(inplace=True), nn.Dropout(0.5).eval(), nn.Linear(4, 2))
    given[0].requires_grad_(False)
    given[0]._call_impl = lambda *_: pytest.fail("seen")  # type: ignore[assignment]
    made = only_torch(given)
    assert type(made) is nn.Sequential
    assert all(torch.equal(each, made.state_dict()[name]) for name, each in given.state_dict().items())
    assert [each.requires_grad for each in made.parameters()] == [False, False, True, True]
    assert [each.training for each in made.modules()] == [each.training for each in given.modules()]
    assert "_call_impl" not in vars(made[0])
    assert not made[1].inplace
    over = nn.Softmax(-2)
    assert not keeps_apart(nn.Sequential(nn.Unflatten(1, (2, 1)), over, nn.Flatten(), over), torch.zeros(3, 2))
    course = only_torch(Sums())
    assert torch.equal(course(torch.ones(3, 2)), course.layer(torch.ones(3, 2)))


def test_scores_of_a_curators_rows_come_from_each_row_alone() -> None:
    class Together(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.layer(x) + 100 * torch.relu(x.sum(0, keepdim=True) - 5)

    X = np.random.default_rng(0).uniform(0, 1, size=(20, 2))
    model = neural.NeuralClassifier(Together(), epsilon=1, classes=[0, 1], epochs=1, rate="1/2", size=20, exact=True)
    model.fit(X, np.arange(20) % 2)
    own = model._without_own_code()
    alone = np.concatenate([own._outputs(X[place : place + 1]) for place in range(20)])
    assert np.allclose(own._outputs(X), alone)
    assert not np.allclose(model._outputs(X), alone)


def test_exact_is_refused_for_a_course_on_rows_of_a_curator() -> None:
    frame = pd.DataFrame({"who": range(8), "a": range(8), "b": range(8), "s": ["no", "yes"] * 4})
    columns = {"a": tacit.between(0, 9), "b": tacit.between(0, 9), "s": tacit.one_of("no", "yes")}
    clinic = tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=9, delta="1e-3"))
    model = neural.NeuralClassifier(Sums(), epsilon=2, epochs=1, rate="1/4", size=8, exact=True)
    with pytest.raises(TacitError, match="exact"):
        model.fit(clinic.rows("SELECT a, b, s FROM data"), "s")


SEEN: list[str] = []


class Equal:
    """Says that it is torch's relu."""

    __name__ = "relu"

    def __hash__(self) -> int:
        return hash(torch.relu)

    def __eq__(self, other: object) -> bool:
        return other is torch.relu or other is self

    def __call__(self, x: Any) -> Any:
        SEEN.append("called")
        return torch.relu(x)


class Named(nn.Module):
    """A sub-module whose name would be code, where a course becomes code."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.add_module(name, nn.Linear(2, 2))

    def forward(self, x: Any) -> Any:
        return self._modules[self.name](x) + 0 * x


def traced_with(function: Any = None, **told: str) -> Any:
    """A course of somebody's own making."""
    graph = fx.Graph()
    x = graph.placeholder(told.get("input", "x"))
    y = graph.call_module("layer", (x,))
    if function is not None:
        y = graph.create_node("call_function", function, (y,))
    if "method" in told:
        y = graph.create_node("call_method", told["method"], (y,))
    graph.output(y)
    return fx.GraphModule({"layer": nn.Linear(2, 2)}, graph)


class Op(str):
    """The word for a call, and any other word too."""

    def __eq__(self, other: object) -> bool:
        return other in ("output", "call_function")

    __hash__ = str.__hash__


def other_operation() -> Any:
    module = traced_with(torch.relu)
    node = next(each for each in module.graph.nodes if each.op == "call_function")
    object.__setattr__(node, "op", Op("call_function"))
    object.__setattr__(node, "target", Equal())
    return module


@pytest.mark.parametrize(
    "made",
    [
        lambda: traced_with(Equal()),
        lambda: traced_with(method="relu() or SEEN.append('method') and x"),
        lambda: traced_with(method="__class__"),
        lambda: traced_with(torch.linalg.inv),
        lambda: traced_with(print),
        other_operation,
    ],
)
def test_courses_of_somebodys_own_making_call_what_is_listed_and_nothing_else(made: Any) -> None:
    SEEN.clear()
    with pytest.raises((TacitError, SyntaxError)):
        only_torch(made())(torch.ones(3, 2))
    assert SEEN == []


@pytest.mark.parametrize("name", ["T', 1) or print('seen') or getattr(self, 'q", "a b", "x = 1; y"])
def test_names_are_names_and_never_code(name: str) -> None:
    SEEN.clear()
    given = Named(name)
    made = only_torch(given)
    assert torch.allclose(made(torch.ones(3, 2)), given(torch.ones(3, 2)))
    assert SEEN == []
    assert sorted(dict(made.named_parameters())) == sorted(dict(given.named_parameters()))


class Norms(nn.Module):
    """A norm of each row, of the order that is said."""

    def __init__(self, order: Any, by_name: bool = False) -> None:
        super().__init__()
        self.layer, self.order, self.by_name = nn.Linear(2, 2), order, by_name

    def forward(self, x: Any) -> Any:
        matrices = torch.stack([x, x * x + 1])
        found = matrices.norm(p=self.order, dim=(0, 2)) if self.by_name else torch.norm(matrices, self.order, (0, 2))
        return self.layer(x) * found[:, None]


@pytest.mark.parametrize("by_name", [False, True])
def test_the_nuclear_norm_fails_at_some_rows_and_is_refused(by_name: bool) -> None:
    with pytest.raises(TacitError, match="'p'"):
        only_torch(Norms("nuc", by_name))
    assert only_torch(Norms(2, by_name))(torch.ones(3, 2)).shape == (3, 2)


class Tied(nn.Module):
    """One weight in two places, a tensor beside it, an input with a default, and dropping out while it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x: Any, factor: float = 2.0) -> Any:
        kept = nn.functional.dropout(torch.tanh(self.first(x)), 0.5, self.training)
        return self.second(kept) * self.scale * factor


def test_a_course_keeps_what_is_tied_and_drops_out_only_while_it_trains() -> None:
    given = Tied()
    made = only_torch(given)
    assert made.first.weight is made.second.weight
    assert len(list(made.parameters())) == len(list(given.parameters())) == 4
    x = torch.randn(5, 2)
    assert torch.allclose(made.eval()(x), given.eval()(x))
    assert not torch.equal(made.train()(x), made(x))
    again = only_torch(copy.deepcopy(made).eval())
    assert not again.training
    assert again.first.weight is again.second.weight
    assert torch.equal(again(x), made.eval()(x))


def test_what_was_changed_in_a_course_is_looked_at_again() -> None:
    made = only_torch(Sums())
    made._steps[1][1] = "elsewhere"
    with pytest.raises(TacitError, match="elsewhere"):
        only_torch(made)
    made = only_torch(Sums())
    made.forward = lambda x: SEEN.append("seen")  # type: ignore[assignment]
    assert only_torch(made)(torch.ones(3, 2)).shape == (3, 2)


def test_scores_do_not_follow_from_how_many_rows_there_are_whatever_the_weights() -> None:
    """Weights that cancel make a rounding as large as anybody likes, and rounding follows from who else is there."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    model = neural.NeuralClassifier(epsilon=1, classes=[0, 1], epochs=1, rate="1/2", size=200)
    model.fit(X, np.arange(200) % 2)
    wide = nn.Linear(3, 400, bias=False)
    last = nn.Linear(400, 2, bias=False)
    with torch.no_grad():
        wide.weight[200:] = wide.weight[:200][torch.randperm(200)]
        last.weight.copy_(torch.cat([torch.ones(200), -torch.ones(200)])[None] * torch.tensor([[1e17], [-1e17]]))
    model.module_ = nn.Sequential(wide, last)
    own = model._without_own_code()._fixed()
    whole = own._outputs(X)
    assert np.abs(whole).max() > 0.1
    for many in (1, 2, 3, 17, 64, 199):
        assert np.array_equal(own._outputs(X[:many]), whole[:many])
        assert np.array_equal(own._outputs(X[-many:]), whole[-many:])


class Alike(type):
    """Classes that say that they are equal to any other."""

    def __eq__(cls, other: object) -> bool:
        return True

    __hash__ = type.__hash__


class Spies(torch.Tensor, metaclass=type("Both", (Alike, type(torch.Tensor)), {})):  # type: ignore[misc]
    """A tensor with code of its own."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class Shifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("by", torch.ones(2).as_subclass(Spies))

    def forward(self, x: Any) -> Any:
        return self.layer(x + self.by)


def test_a_class_is_what_it_is_and_not_what_it_says_it_is_equal_to() -> None:
    with pytest.raises(TacitError, match="no plain tensor"):
        only_torch(Shifted())


@pytest.mark.parametrize(
    "step",
    [
        ["step", 0, 0],
        ["call", "operator.add", [["step", -1], ["step", 0]], {}],
        ["call", "operator.add", [["step", 0]]],
        ["call", "operator.add", [["step", True], ["step", 0]], {}],
        ["call", "operator.neg", [["step", 0, 0]], {}],
        ["call", "operator.neg", [["step", 9]], {}],
        ["method", "norm", [["step", 0], ["kind", "int8"]], {}],
        [],
        3,
        None,
    ],
)
def test_steps_that_are_none_are_refused(step: Any) -> None:
    made = only_torch(Sums())
    made._steps.insert(1, step)
    with pytest.raises(TacitError):
        only_torch(made)
    nested: Any = []
    made._steps[1] = nested
    for _ in range(10_000):
        nested.append([])
        nested = nested[-1]
    with pytest.raises(TacitError, match="no course"):
        only_torch(made)


def test_names_of_layers_do_not_make_two_modules_one() -> None:
    """A name may have a line break in it."""
    first = only_torch(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Softsign()))
    line = course_of(first).splitlines()[0]
    other = nn.Sequential()
    for name, layer in (("0", nn.Linear(2, 2)), (f"1: Tanh\n{line}\n2", nn.Softsign())):
        other.add_module(name.replace(".", ""), layer)
    assert course_of(only_torch(other)) != course_of(first)


@pytest.mark.parametrize("watching", ["function", "dispatch", "saved"])
def test_what_watches_all_of_torch_is_refused(watching: str) -> None:
    class Functions(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    class Dispatches(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    saved = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)

    def begun() -> None:
        module = nn.Linear(2, 2)
        optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
        given: dict[str, Any] = {"epsilon": 1, "delta": 1e-5, "rate": 0.5, "steps": 2, "size": 8}
        neural.PrivateTrainer(module, lambda o, y: o[:, 0], optimiser, np.ones((8, 2)), np.ones(8), **given)

    on: Any = {"function": Functions(), "dispatch": Dispatches(), "saved": saved}[watching]
    with on, pytest.raises(TacitError, match="would see"):
        begun()
    with torch.device("cpu"):  # a mode, too, and a harmless one
        begun()
