"""Products of float32 matrices, by the faster of the two libraries that torch brings.

torch hands float32 products to MKL, which on many processors uses half of their width, while its convolutions go to
oneDNN, which uses all of it. oneDNN's product, which torch's compiler calls, is called here where this build has it.

Products of each person's matrices go through torch. MKL rounds their sums by where matrices begin in memory, so each
begins at a line of the processor's cache: otherwise a person's bits would depend on the place in the chunk.

Promise: what comes back is fed weight' + bias, rounded as the theorem of `floats` assumes: in any order, fused or not,
and never through shorter numbers (`refused.single_precision`). The machine and torch's build decide which library is
used, rows never do. A library that is wrong on made-up numbers is not used.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import torch
from torch.nn import functional

_LINE: Final = 16
"""Numbers of float32 in a line of the processor's cache."""
_NEAR: Final = 2.0**-20
"""A share of the sum of sizes: above the error of so few roundings in any order, far below that of shorter numbers."""


def linear(fed: Any, weight: Any, bias: Any) -> Any:
    """fed weight' + bias; slopes of the output go back to `fed`, and to nothing else."""
    return _Linear.apply(fed, weight, bias)


def product(fed: Any, weight: Any, bias: Any = None) -> Any:
    """fed weight' + bias, without slopes."""
    if not (is_wide() and fed.numel() and weight.numel() and _fits(fed, weight)):
        return functional.linear(fed, weight, bias)  # its error says best what does not fit
    shift = None if bias is None else bias.contiguous()  # oneDNN assumes that it is
    return torch.ops.mkldnn._linear_pointwise(fed, weight, shift, "none", [], "")


def _fits(fed: Any, weight: Any) -> bool:
    """Whether these can be multiplied, as float32."""
    single = fed.dtype == weight.dtype == torch.float32
    return single and weight.dim() == 2 and bool(fed.shape[-1] == weight.shape[-1])


def for_each(left: Any, right: Any, scale: float = 1.0, *, out: Any = None) -> Any:
    """The product of two matrices for each person by themselves; `out`: as `room_for_each`."""
    if out is None:
        out = room_for_each(len(left), left.shape[1], right.shape[2], left.dtype)
    return torch.baddbmm(out, _in_lines(left), _in_lines(right), beta=0, alpha=scale, out=out)


def multiplied(left: Any, right: Any) -> Any:
    """`for_each`, with slopes of both matrices."""
    return _ForEach.apply(left, right)


def _in_lines(each: Any) -> Any:
    """The same matrices, each of which begins at a line of the cache."""
    if each.stride(0) % _LINE == 0 and each.data_ptr() % (4 * _LINE) == 0:
        return each
    if each.stride(1) == 1 and each.stride(2) != 1 and each.shape[1] > 1:  # stored by columns, and stays so
        return _in_lines(each.mT).mT
    return room_for_each(len(each), each.shape[1], each.shape[2], each.dtype).copy_(each)


def room_for_each(people: int, lines: int, numbers: int, kind: Any) -> Any:
    """Memory for one matrix of each person, each of which begins at a line of the cache."""
    apart = -(-lines * numbers // _LINE) * _LINE
    return torch.empty(people * apart, dtype=kind).as_strided((people, lines, numbers), (apart, numbers, 1))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fed: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(weight)
        return product(fed, weight, bias)

    @staticmethod
    def backward(ctx: Any, slopes: Any) -> Any:
        (weight,) = ctx.saved_tensors
        return product(slopes, weight.mT), None, None


class _ForEach(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Any, right: Any) -> Any:
        ctx.save_for_backward(left, right)
        return for_each(left, right)

    @staticmethod
    def backward(ctx: Any, slopes: Any) -> Any:
        left, right = ctx.saved_tensors
        return for_each(slopes, right.mT), for_each(left.mT, slopes)


@cache
def is_wide() -> bool:
    """Whether oneDNN's product is in this build of torch, and right on this machine, as it is called here."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    made = torch.Generator().manual_seed(0)
    fed, weight = (torch.randn(shape, generator=made, dtype=torch.float32) for shape in ((96, 80), (48, 80)))
    bias = torch.randn(48, generator=made, dtype=torch.float32)
    cases = ((fed, weight, bias), (fed, weight, None), (fed.mT, weight.new_ones(7, 96), None), (weight, fed, None))
    try:
        return all(_is_right(*case) for case in (*cases, (fed, weight.T.contiguous().T, bias)))
    except (RuntimeError, TypeError, NotImplementedError):  # a build whose product takes other arguments
        return False


def _is_right(fed: Any, weight: Any, bias: Any) -> bool:
    found = torch.ops.mkldnn._linear_pointwise(fed, weight, bias, "none", [], "")
    shift = torch.zeros(()) if bias is None else bias
    true = fed.double() @ weight.double().T + shift.double()
    sizes = fed.double().abs() @ weight.double().abs().T + shift.double().abs()
    return found.dtype == torch.float32 and bool(torch.all((found.double() - true).abs() <= _NEAR * sizes))
