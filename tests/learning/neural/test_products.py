"""Products by the faster library: right, and nobody's row depends on the others'."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from tacit.learning.neural.gradients import products
from tacit.learning.neural.gradients.products import for_each, is_wide, linear, product

SHAPES = [(8, 1, 1), (16, 3, 2), (72, 10, 7), (129, 33, 100), (216, 256, 10), (552, 64, 16), (1088, 784, 33)]


@pytest.fixture(params=[True, False])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the faster library, where it is there, and without."""
    if not request.param:
        monkeypatch.setattr(products, "is_wide", lambda: False)
    elif not is_wide():
        pytest.skip("this torch has one library alone")


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("fed", "weight"),
    [(torch.ones(4, 9), torch.ones(5, 7)), (torch.ones(4, 7, dtype=torch.long), torch.ones(5, 7))],
)
def test_what_does_not_fit_is_said_in_torchs_words(fed: Any, weight: Any) -> None:
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied|same dtype"):
        product(fed, weight)


def test_it_is_used_where_torch_was_built_with_it() -> None:
    assert is_wide() == (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise"))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_within_what_rounding_can_do(shape: tuple[int, int, int]) -> None:
    """As the theorem of `floats` has it: (k + 1) roundings, in any order."""
    people, inner, given = shape
    torch.manual_seed(people)
    fed, weight, bias = torch.randn(people, inner), torch.randn(given, inner), torch.randn(given)
    for each in (weight, weight.mT.contiguous().mT):
        for shift in (None, bias):
            own = torch.zeros(given) if shift is None else shift
            true = fed.double() @ each.double().mT + own.double()
            sizes = fed.double().abs() @ each.double().abs().mT + own.double().abs()
            assert torch.all((product(fed, each, shift).double() - true).abs() <= (inner + 2) * 2.0**-24 * sizes)
    apart = torch.randn(given, 2)[:, 0]  # a bias with a stride, and one that is expanded
    for shift in (apart, torch.randn(1).expand(given)):
        true = fed.double() @ weight.double().mT + shift.double()
        assert torch.allclose(product(fed, weight, shift).double(), true, rtol=1e-4, atol=1e-3)
    blocks = product(fed.mT, torch.randn(given, people), None)  # as sums over people are made
    assert blocks.shape == (inner, given)


@pytest.mark.usefixtures("either")
def test_slopes_go_to_what_was_fed_alone() -> None:
    fed = torch.randn(5, 2, 3, requires_grad=True)
    weight, bias = torch.randn(4, 3), torch.randn(4)
    own, true = linear(fed, weight, bias), functional.linear(fed, weight, bias)
    slopes = torch.randn_like(own)
    assert torch.allclose(own, true, atol=1e-5)
    found, expected = (torch.autograd.grad(each, fed, slopes)[0] for each in (own, true))
    assert torch.allclose(found, expected, atol=1e-5)
    assert not linear(fed.detach(), weight, bias).requires_grad
    assert linear(torch.empty(0, 3), weight, bias).shape == (0, 4)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_bit_of_a_row_depends_on_the_others_or_on_its_place(shape: tuple[int, int, int]) -> None:
    """The other library does not keep this for all shapes: where it is used, rehearsals have more to refuse."""
    if not is_wide():
        pytest.skip("this torch has one library alone")
    people, inner, given = shape
    torch.manual_seed(people)
    fed, weight = torch.randn(people, inner), torch.randn(given, inner)
    whole = product(fed, weight)
    order = torch.randperm(people)
    assert torch.equal(product(fed[order], weight), whole[order])
    others = torch.randn(people, inner)
    others[people // 2] = fed[people // 2]
    assert torch.equal(product(others, weight)[people // 2], whole[people // 2])
    others[0] = float("nan")
    assert torch.equal(product(others, weight)[people // 2], whole[people // 2])


@pytest.mark.parametrize(
    "shape", [(16, 48, 9, 2), (9, 13, 11, 3), (20, 300, 17, 1), (24, 25, 27, 6), (72, 64, 64, 192)]
)
@pytest.mark.parametrize("last", [False, True])
def test_no_bit_of_somebodys_own_product_depends_on_the_place(shape: tuple[int, int, int, int], last: bool) -> None:
    """Nine times two numbers do not fill a line of the cache; torch.bmm alone rounds them by where they stand."""
    people, positions, inner, given = shape
    torch.manual_seed(people)
    a, b = torch.randn(people, positions, inner), torch.randn(people, positions, given)
    left = b.mT if last else b.mT.contiguous()
    found = for_each(left, a)
    assert torch.allclose(found, torch.einsum("ntp,ntd->npd", b, a), rtol=1e-4, atol=1e-4)
    for _ in range(3):
        order = torch.randperm(people)
        assert torch.equal(for_each(left[order], a[order]), found[order])


def test_a_product_that_is_not_right_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(fed: Any, weight: Any, bias: Any, *_: Any) -> Any:
        return functional.linear(fed.bfloat16(), weight.bfloat16()).float() + (0 if bias is None else bias)

    def missing(*_: Any) -> Any:
        raise NotImplementedError

    for broken in (short, missing):
        is_wide.cache_clear()
        monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", broken, raising=False)
        assert not is_wide()
    monkeypatch.undo()
    is_wide.cache_clear()
