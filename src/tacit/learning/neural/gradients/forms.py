"""How people's gradients of one parameter are held: each form knows their norms, and their weighted sum.

Promise (theorem: `floats`): `squares` are upper bounds of the squared L2 norms of the gradients that the form defines,
one for each person; `weighted` is the sum of weight times gradient, within the error that the form states. No form but
`PerPerson` has a gradient for each person in memory, and it only holds small ones.

N people, T positions (of a sequence, of an image, or rows of one person), d inputs of the layer, p outputs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch

from tacit.learning.neural.floats import TOGETHER, VANISHING, block_of, double_error, norm_factor, spread
from tacit.learning.neural.gradients.blocks import SHORT, add_blocks, groups, room_for
from tacit.learning.neural.gradients.products import for_each, is_wide, product

Known: TypeAlias = dict[tuple[Any, ...], Any]
"""Upper bounds of norms, by the tensor whose norms they bound, while it is held."""
_SMALL: Final = 1 << 14
"""The size of a parameter up to which a gradient for each person is computed, where that is less work."""


class Form(ABC):
    """Gradients of one parameter, one for each person, of the parameter's shape."""

    shape: tuple[int, ...]

    @abstractmethod
    def bounded(self) -> tuple[Any, Any]:
        """The squared norms as computed, and upper bounds of them: float64, one for each person."""

    def squares(self, known: Known) -> Any:
        """The upper bounds alone; `known` are bounds of norms that other forms of these people have found."""
        return self.bounded()[1]

    @abstractmethod
    def add_to(self, total: Any, weights: Any, room: Any) -> None:
        """Add the sum of weight times gradient to `total`, flat and float64; `room` (`room_for`) is overwritten."""

    def weighted(self, weights: Any) -> Any:
        """The sum of weight times gradient, flat and in float64."""
        many = math.prod(self.shape)
        total = torch.zeros(many, dtype=torch.float64)
        self.add_to(total, weights, room_for(many))
        return total

    @abstractmethod
    def rows(self) -> Any:
        """The gradients themselves, one line for each person: for small parameters, and for tests."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Any, ...]:
        """The computed tensors that define gradients, one line for each person."""

    def bits_of(self, person: int) -> list[Any]:
        """The lines of one person."""
        return [each[person] for each in self.parts]

    @abstractmethod
    def without(self, kept: Any) -> Form:
        """The same form, in which people who are not kept have only zeros."""

    @property
    def double_error(self) -> float:
        """E2 of the theorem; 0 for what is added in float32 blocks."""
        return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class RankOne(Form):
    """b (x) a with one position: the weight of a linear layer."""

    a: Any  # N x d
    b: Any  # N x p

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """p x d."""
        return (self.b.shape[1], self.a.shape[1])

    def bounded(self) -> tuple[Any, Any]:
        """|a|**2 |b|**2."""
        (a, above_a), (b, above_b) = norms(self.a), norms(self.b)
        return (a * b) ** 2, (above_a * above_b) ** 2

    def squares(self, known: Known) -> Any:
        """Those of `bounded`."""
        return (above(self.a, known) * above(self.b, known)).square_()

    def add_to(self, total: Any, weights: Any, room: Any) -> None:
        """Products of blocks in float32, from numbers in one layout, which `without` may have changed."""
        if not (self.a.is_contiguous() and self.b.is_contiguous()):
            RankOne(self.a.contiguous(), self.b.contiguous()).add_to(total, weights, room)
            return
        if len(total) > SHORT and is_wide():
            self._add_wide(total, weights)
            return
        weighted: list[Any] = []  # the first part is the longest

        def product(part: slice, many: int, out: Any) -> None:
            if not weighted:
                weighted.append(torch.empty((part.stop - part.start, self.b.shape[1]), dtype=torch.float32))
            own = torch.mul(self.b[part], weights[part, None], out=weighted[0][: part.stop - part.start])
            a, b = (each.reshape(many, -1, each.shape[1]) for each in (self.a[part], own))
            torch.bmm(b.mT, a, out=out.view(many, *self.shape))

        add_blocks(total, room, len(self.b), product)

    def _add_wide(self, total: Any, weights: Any) -> None:
        """The same, block after block, by the faster product."""
        length = block_of(len(self.b))
        for part, _ in groups(len(self.b), TOGETHER):
            blocks = zip(*(each[part].split(length) for each in (self.a, self.b, weights)), strict=True)
            # written the way round in which they are multiplied
            products = (product(torch.mul(b.mT, w, out=b.new_empty(b.mT.shape)), a.mT) for a, b, w in blocks)
            group = next(products)
            for each in products:
                group.add_(each)
            total.add_(group.view(-1))

    def rows(self) -> Any:
        """The outer products."""
        return torch.einsum("np,nd->npd", self.b, self.a).reshape(len(self.b), -1)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is people's own."""
        return (self.a, self.b)

    def without(self, kept: Any) -> RankOne:
        """Zeros for the others."""
        return RankOne(_zeroed(self.a, kept), _zeroed(self.b, kept))


@dataclass(frozen=True, slots=True, eq=False)
class Ghost(Form):
    """The sum over positions of b (x) a, which is never written down."""

    a: Any  # N x T x d
    b: Any  # N x T x p

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """p x d."""
        return (self.b.shape[2], self.a.shape[2])

    @property
    def _spread(self) -> float:
        return spread(self.a.shape[2], self.b.shape[2])

    @property
    def double_error(self) -> float:
        """Added in float64."""
        return double_error(self.a.shape[0], self.a.shape[1], self._spread)

    def bounded(self) -> tuple[Any, Any]:
        """The sum over pairs of positions of (a_t . a_s)(b_t . b_s), and e M**2."""
        return _paired(for_each(self.a, self.a.mT), for_each(self.b, self.b.mT), self._spread)

    def add_to(self, total: Any, weights: Any, room: Any) -> None:
        """In float64."""
        b = (self.b * weights[:, None, None]).flatten(0, 1).double()
        total.view(self.shape).addmm_(b.T, self.a.flatten(0, 1).double())

    def rows(self) -> Any:
        """The sums of outer products."""
        return (self.b.mT @ self.a).flatten(1)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is people's own."""
        return (self.a, self.b)

    def without(self, kept: Any) -> Ghost:
        """Zeros for the others."""
        return Ghost(_zeroed(self.a, kept), _zeroed(self.b, kept))


@dataclass(frozen=True, slots=True, eq=False)
class Lookup(Form):
    """Slopes added to the lines of a table that a person's positions name: an embedding."""

    places: Any  # N x T, whole numbers
    b: Any  # N x T x d
    lines: int

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """lines x d."""
        return (self.lines, self.b.shape[2])

    @property
    def _spread(self) -> float:
        return spread(1, self.b.shape[2])

    @property
    def double_error(self) -> float:
        """Added in float64."""
        return double_error(self.b.shape[0], self.b.shape[1], self._spread)

    def bounded(self) -> tuple[Any, Any]:
        """The sum over pairs of positions with one line of b_t . b_s, and e M**2."""
        same = self.places[:, :, None] == self.places[:, None, :]
        return _paired(same.to(self.b.dtype), for_each(self.b, self.b.mT), self._spread)

    def add_to(self, total: Any, weights: Any, room: Any) -> None:
        """In float64."""
        b = (self.b * weights[:, None, None]).flatten(0, 1).double()
        total.view(self.shape).index_add_(0, self.places.reshape(-1), b)

    def rows(self) -> Any:
        """A whole table for each person."""
        table = torch.zeros((len(self.b), *self.shape), dtype=self.b.dtype)
        where = self.places[:, :, None].expand_as(self.b)
        return table.scatter_add_(1, where, self.b).flatten(1)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is people's own."""
        return (self.places, self.b)

    def without(self, kept: Any) -> Lookup:
        """Zeros for the others."""
        return Lookup(self.places, _zeroed(self.b, kept), self.lines)


@dataclass(frozen=True, slots=True, eq=False)
class PerPerson(Form):
    """A computed tensor for each person."""

    own: Any  # N x shape
    order: tuple[int, ...] | None = None
    """Which axes of a person's tensor are those of the parameter, where the order is another."""

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """That of the parameter."""
        sizes = tuple(self.own.shape[1:])
        return sizes if self.order is None else tuple(sizes[axis] for axis in self.order)

    def bounded(self) -> tuple[Any, Any]:
        """Short stretches in float32, their squares in float64."""
        parts = [norms(part) for part in self._stretches()]
        found, upper = (sum(each.square().sum(dim=1) for each in side) for side in zip(*parts, strict=True))
        return found, upper

    def squares(self, known: Known) -> Any:
        """Those of `bounded`."""
        if self.own.dim() == 2 and self.own.shape[1] <= _STRETCH:
            return above(self.own, known).square()
        return self.bounded()[1]

    def _stretches(self) -> Iterator[Any]:
        """N x stretches x numbers: the full stretches, and the remainder."""
        flat = _flat(self.own)
        whole = flat.shape[1] // _STRETCH * _STRETCH
        if whole:
            yield flat[:, :whole].unflatten(1, (-1, _STRETCH))
        if whole < flat.shape[1] or not whole:
            yield flat[:, None, whole:]

    def add_to(self, total: Any, weights: Any, room: Any) -> None:
        """Blocks in float32."""
        flat = _flat(self.own)

        def product(part: slice, many: int, out: Any) -> None:
            own, w = flat[part].reshape(many, -1, flat.shape[1]), weights[part].view(many, 1, -1)
            torch.bmm(w, own, out=out.view(many, 1, -1))

        if self.order is None:
            add_blocks(total, room, len(flat), product)
            return
        moved = torch.zeros_like(total)
        add_blocks(moved, room, len(flat), product)
        total.view(self.shape).add_(self._ordered(moved.view(self.own.shape[1:])))

    def rows(self) -> Any:
        """The tensors that are held are the gradients."""
        return _flat(self.own) if self.order is None else torch.stack([*map(self._ordered, self.own)]).flatten(1)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is people's own."""
        return (self.own,)

    def without(self, kept: Any) -> PerPerson:
        """Zeros for the others."""
        return PerPerson(_zeroed(self.own, kept), self.order)

    def _ordered(self, one: Any) -> Any:
        """A person's tensor, with the parameter's order of axes."""
        return one if self.order is None else one.permute(self.order)


_STRETCH: Final = 1 << 12


def outer(a: Any, b: Any, multiplied: Callable[[Any, Any], Any] = for_each) -> Form:
    """The form of a weight that people's positions multiply: the one with the least work, by public sizes alone.

    multiplied: the product of each person's matrices, where one is written down.
    """
    positions, inner, given = a.shape[1], a.shape[2], b.shape[2]
    if positions == 1:
        return RankOne(a[:, 0], b[:, 0])
    if inner * given <= _SMALL or inner * given <= positions * positions:
        return PerPerson(multiplied(b.mT, a))
    return Ghost(a, b)


def joined(forms: list[Form], shape: tuple[int, ...]) -> Form:
    """One form for all uses of one parameter: a weight that is used again counts once, with all its slopes."""
    if len(forms) == 1:
        return forms[0]
    if all(isinstance(each, (RankOne, Ghost)) for each in forms):
        parts = [_positions(each) for each in forms]
        return outer(torch.cat([a for a, _ in parts], dim=1), torch.cat([b for _, b in parts], dim=1))
    if all(isinstance(each, Lookup) for each in forms):
        tables: list[Any] = forms
        return Lookup(
            torch.cat([each.places for each in tables], dim=1),
            torch.cat([each.b for each in tables], dim=1),
            tables[0].lines,
        )
    total = forms[0].rows()
    for each in forms[1:]:
        total = total + each.rows()
    return PerPerson(total.reshape(len(total), *shape))


def _positions(form: Any) -> tuple[Any, Any]:
    return (form.a[:, None], form.b[:, None]) if isinstance(form, RankOne) else (form.a, form.b)


def norms(vectors: Any) -> tuple[Any, Any]:
    """The norms of float32 lines as computed, and upper bounds of them, in float64."""
    found = torch.linalg.vector_norm(vectors, dim=-1).double()
    return found, found * norm_factor(vectors.shape[-1]) + VANISHING


def above(vectors: Any, known: Known) -> Any:
    """The upper bounds alone. What a weight and its bias share is computed once."""
    key = (vectors.data_ptr(), tuple(vectors.shape), vectors.stride())
    if key not in known:
        own = torch.linalg.vector_norm(vectors, dim=-1).double()
        known[key] = own.mul_(norm_factor(vectors.shape[-1])).add_(VANISHING)
    return known[key]


def _paired(first: Any, second: Any, e: float) -> tuple[Any, Any]:
    """The sum over pairs of the products of two matrices of inner products, and e M**2, M from their diagonals."""
    found = (first * second).flatten(1).sum(dim=1, dtype=torch.float64)
    sizes = [torch.diagonal(each, dim1=1, dim2=2).clamp(min=0).double().sqrt() + VANISHING for each in (first, second)]
    reach = (sizes[0] * sizes[1]).sum(dim=1) * (1 + 64 * e)
    return found, found.clamp(min=0) + e * reach**2 * (1 + 64 * e)


def _flat(own: Any) -> Any:
    """A line for each person, also of tensors that are one number."""
    return own.reshape(len(own), -1)


def _zeroed(tensor: Any, kept: Any) -> Any:
    return torch.where(kept.reshape(-1, *([1] * (tensor.dim() - 1))), tensor, torch.zeros((), dtype=tensor.dtype))
