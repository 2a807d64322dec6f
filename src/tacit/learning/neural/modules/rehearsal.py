"""A module is tried on made-up people before anything is paid, and refused here if it does what it must not.

What is tried, on this module and this machine:
- the loss gives one number for each row, and none for pairs of rows;
- gradients by book-keeping are those of ordinary backward passes, person by person;
- a person's bits are the same when others are replaced, when they are taken out, and in whatever place (everyone in the
  chunk is compared in several); and in a last chunk with fewer places, or that size is not used. That is the assumption
  of `floats`. A layer that mixes people fails here too;
- all of this again with other weights, behind which nothing hides as it does behind zeros; and with layers in the modes
  in which they will train, random ones with the same draws each time;
- no buffer changes: it would keep what it saw of rows, without noise.
Made-up people are random numbers, some of them large, small, zero or one; and whole numbers 0 and 1. A test cannot
prove that the module behaves so for everyone; so modules must also have one fixed course of operations (`is_static`),
which values do not change. Where a module is not to be trusted at all, its layers must be known (`apart`), or gradients
are made person by person: by torch.func, or one person after the other where it fails or where its kernels round by who
else is there. There a module could still remember people, so it is compared in company all the same.
"""

from __future__ import annotations

import contextlib
import copy
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import fx, nn

from tacit.errors import TacitError
from tacit.learning.neural.gradients.forgetting import forgetting
from tacit.learning.neural.gradients.forms import Form
from tacit.learning.neural.gradients.gathered import gathered
from tacit.learning.neural.gradients.hooked import book_keeping, not_understood, row_losses
from tacit.learning.neural.gradients.per_sample import one_by_one, per_sample
from tacit.learning.neural.modules.apart import keeps_apart
from tacit.learning.neural.modules.courses import FixedCourse
from tacit.learning.neural.modules.draws import draws_of_several
from tacit.learning.neural.modules.mistakes import advice, refuse_pairs
from tacit.learning.neural.modules.quiet import Quiet, same_numbers
from tacit.learning.neural.people.batches import Chunk, People, fewer_than

Gradients = Callable[[Chunk], list[Form]]
Places = Callable[[int], Sequence[int]]
"""From how many numbers are held for a person to how many places a chunk may have, the best first."""
_FEW: Final = 3
_NEAR: Final = 1e-3
_ROUNDED: Final = 1e-5  # of the whole gradient: what rounding leaves of a parameter whose true gradient is 0
_LITTLE: Final = 2.0**-11
_SIZES: Final = (1.0, 1e3, 0.0, 1e-3, -1.0)
"""What rows of the company are multiplied by; below 0 they are made of -1 and 1."""
_HANDFUL: Final = 5
_PLACES_ALONE: Final = 64  # one person after the other gains nothing from more, and empty places cost as much
_SEEDS: Final = (1, 4, 7, 10)
_ALONE: Final = "Gradients of one person after the other, which is slowest: torch.func cannot follow the module."
_ROUNDS: Final = (
    "Gradients of one person after the other, which is slowest: this machine's kernels for torch.func round a person's "
    "numbers by who else is there."
)
_BY_PERSON: Final = "Gradients person by person, which is slower: "
MIXES: Final = (
    "A person's gradient changed with who else was there: the module or the loss mixes people or remembers them, or "
    "this machine's kernels round by the place."
)
_ADVICE: Final = "Where a chunk is given, take a multiple of 256. Where nobody is remembered, exact=True may be used."
_NOT_THOSE: Final = (
    "Gradients by book-keeping are not those of ordinary backward passes: a parameter is used outside of "
    "its own layer, or the first dimension is not people's rows. Use exact=True."
)
_FORGETS: Final = (
    "What the module keeps in its attributes while it computes is put back after each chunk: it may be of rows."
)
_SHARES: Final = "The module draws numbers that several people share: draw for each row."
_HOW_MANY: Final = (
    "The loss or the module depends on how many people there are: with twice as many, a row's loss is another. Give "
    "each row its own loss, and divide by nothing that counts rows: the trainer divides by the public size."
)


class _Fails(TacitError):
    """Computing fails on made-up people; it was not found to mix them."""


_FAILURES: Final = (RuntimeError, ValueError, TypeError, IndexError, AttributeError)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How gradients are made, what is noted about it, places of a chunk, and the error of float64 sums (E2).

    fewer: the places that the last chunk of a step may have instead.
    """

    gradients: Gradients
    notes: tuple[str, ...]
    places: int
    double_error: float
    fewer: tuple[int, ...]


def rehearsed(
    module: Any,
    loss: Callable[[Any, Any], Any],
    people: People,
    places: Places,
    changed: Callable[[Chunk], Chunk],
    *,
    strict: bool = False,
) -> Rehearsed:
    """Choose how gradients are made, and try it; or refuse. `changed`: what is done to a chunk before.

    strict: people are kept apart by how gradients are made, whatever the module does.
    """
    quiet = Quiet(module)
    strange = not_understood(module)
    if not strange and not is_static(module):
        strange = ["forward"]

    def tried(gradients: Gradients, note: str = "", *, apart: bool = False, alone: bool = False) -> Rehearsed:
        """These gradients, if they are right and each person's depend on that person alone; or a refusal.

        apart: each person's draws are their own however they are made; alone: so is everything else.
        """
        quiet.back()  # what was tried before may have left something

        def of_changed(chunk: Chunk) -> list[Form]:
            return gradients(changed(chunk))

        try:
            offered = places(_held(of_changed, people))
            offered = (_PLACES_ALONE,) if alone and len(offered) > 1 else offered
            fitting, error = _fitting(of_changed, people, offered)
            _same_gradients(module, loss, gradients, people)
            with _other_weights(module):
                _same_bits(of_changed, people, fitting)
                _same_gradients(module, loss, gradients, people)
            fewer = tuple(each for each in fewer_than(fitting) if _same_in_fewer(of_changed, people, fitting, each))
            with quiet.as_it_trains():
                if draws_of_several(of_changed, people) and not apart:
                    raise _Fails(_SHARES)
                _same_in_company(of_changed, people, fitting)
        except _FAILURES as wrong:
            raise _failing(wrong, people) from wrong
        return Rehearsed(gradients, (*((note,) if note else ()), *forgets), fitting, error, fewer)

    with quiet:
        forgets = _forgets(module, people, quiet)
        refuse_pairs(module, loss, [changed(people.made_up(many)) for many in (_FEW, _FEW + 1)])
        before: list[TacitError] = []
        if strange:
            words = f"{_BY_PERSON}{', '.join(strange)} is not understood as a product."
        elif strict and not (len(people.inputs) == 1 and keeps_apart(module, changed(people.made_up(_FEW)).inputs[0])):
            words = f"{_BY_PERSON}not all layers are known to keep people apart."
        else:
            # faster, unless the module looks at numbers in the order they lie in, or this machine's kernels mix people
            with contextlib.suppress(TacitError):
                return tried(book_keeping(module, loss, channels_last=True))
            try:
                return tried(book_keeping(module, loss))
            except TacitError as wrong:
                if not strict and not isinstance(wrong, _Fails):
                    raise (TacitError(f"{MIXES} {_ADVICE}") if str(wrong) == MIXES else wrong) from None
                before.append(wrong)
            words = f"{_BY_PERSON}a layer writes over what it was fed, draws for several at once, or fails otherwise."
            if not isinstance(before[0], _Fails):
                words = f"{_BY_PERSON}this machine's kernels round by the place."
        try:
            return tried(per_sample(module, loss), words, apart=True)
        except TacitError as wrong:
            before.append(wrong)
        try:
            words = _ALONE if isinstance(before[-1], _Fails) else _ROUNDS
            return tried(one_by_one(module, loss), words, apart=True, alone=True)
        except TacitError as wrong:
            before.append(wrong)
        found = next((each for each in reversed(before) if not isinstance(each, _Fails)), before[0])
        raise TacitError(str(found)) from found.__cause__


def rehearsed_alone(module: Any, loss: Callable[[Any, Any], Any], people: People) -> tuple[str, ...]:
    """Refuse a module that remembers people, where each person is computed alone: in whatever way. Returns notes."""
    gradients = one_by_one(module, loss)
    with (quiet := Quiet(module)):
        forgets = _forgets(module, people, quiet)
        refuse_pairs(module, loss, [people.made_up(many) for many in (_FEW, _FEW + 1)])
        try:
            _same_bits(gradients, people, _HANDFUL)
            with quiet.as_it_trains():
                draws_of_several(gradients, people)
                _same_in_company(gradients, people, _HANDFUL)
                with _other_weights(module):
                    _same_in_company(gradients, people, _HANDFUL)
            with _other_weights(module):
                _same_bits(gradients, people, _HANDFUL)
        except _FAILURES as wrong:
            raise TacitError(str(_failing(wrong, people))) from wrong
    return forgets


def _forgets(module: Any, people: People, quiet: Quiet) -> tuple[str, ...]:
    """A note, where the module writes to its own attributes."""
    told: list[str] = []
    with quiet.as_it_trains(), torch.no_grad(), contextlib.suppress(*_FAILURES), forgetting(module, told):
        module(*people.made_up(_FEW).inputs)
    return (_FORGETS,) if told else ()


def _failing(wrong: Exception, people: People) -> TacitError:
    """What torch said, and what may help; a refusal of ours as it is."""
    if isinstance(wrong, TacitError):
        return wrong
    whole = not all(each.dtype.is_floating_point for each in people.inputs)
    return _Fails(f"The module or the loss fails on made-up people of these shapes: {wrong}{advice(str(wrong), whole)}")


def is_static(module: Any) -> bool:
    """Whether the module is one fixed course of operations, whatever the values are."""
    if type(module) is FixedCourse:
        return True
    if type(module).__module__.startswith("torch.nn."):
        module = nn.Sequential(module)  # torch's own layers are traced as they are only inside another module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fx.symbolic_trace(copy.deepcopy(module))  # stand-ins may be left in what a forward pass changes
        except Exception:  # noqa: BLE001  # a forward pass may be any code
            return False
    return True


def _fitting(gradients: Gradients, people: People, places: Sequence[int]) -> tuple[int, float]:
    """The first of these sizes at which bits stay the same, and the error of its float64 sums.

    The error is paid for in noise and grows with the square of the size, so a size with an error above `_LITTLE` gives
    way to a smaller one, if there is one.
    """
    for place, size in enumerate(places[:-1]):
        with contextlib.suppress(TacitError):
            error = _same_bits(gradients, people, size)
            if error <= _LITTLE or places[place + 1] >= size or place + 2 == len(places):
                return size, error
    return places[-1], _same_bits(gradients, people, places[-1])


def _held(gradients: Gradients, people: People) -> int:
    """Numbers that are held for one person."""
    return sum(each.numel() for form in gradients(people.made_up(1)) for each in form.bits_of(0))


def _same_gradients(module: Any, loss: Callable[[Any, Any], Any], gradients: Gradients, people: People) -> None:
    chunk = people.made_up(_FEW)
    found, expected = gradients(chunk), one_by_one(module, loss)(chunk)
    whole = math.sqrt(sum(float(each.rows().double().norm()) ** 2 for each in expected))
    for own, true in zip(found, expected, strict=True):
        a, b = own.rows().double(), true.rows().double()
        if a.shape != b.shape or float((a - b).norm()) > _NEAR * (float(b.norm()) + 1e-6) + _ROUNDED * whole:
            raise TacitError(_HOW_MANY if _by_number(module, loss, chunk) else _NOT_THOSE)


def _by_number(module: Any, loss: Callable[[Any, Any], Any], chunk: Chunk) -> bool:
    """Whether a row's loss is another where everybody is there twice."""
    found = []
    for often in (1, 2):
        inputs, target = (each.repeat(often, *[1] * (each.dim() - 1)) for each in chunk.inputs), chunk.target
        with torch.no_grad(), forgetting(module):
            losses = loss(module(*inputs), target.repeat(often, *[1] * (target.dim() - 1)))
        found.append(row_losses(losses, often * chunk.rows)[: chunk.rows].nan_to_num())
    return not torch.allclose(*found, rtol=_NEAR)


def _same_bits(gradients: Gradients, people: People, places: int) -> float:
    """Compare everyone's bits in several places; returns the error of float64 sums."""
    # more threads cut tensors where few numbers are rounded in another way: more people meet such a place
    for seed in _SEEDS if torch.get_num_threads() > 2 else _SEEDS[:1]:
        first, forms, found = _same_in_company(gradients, people, places, seed)
        for by in sorted({1, places // 3, places // 2, places - 1} - {0, places}):
            again = _lines(gradients(_turned(first, by)))
            _must_be_same((own.roll(by, 0), other) for own, other in zip(found, again, strict=True))
    return sum(each.double_error for each in forms)


def _same_in_company(
    gradients: Gradients, people: People, places: int, seed: int = 1
) -> tuple[Chunk, list[Form], list[Any]]:
    """Compare bits where others are replaced, and where they are not there; random layers draw the same each time."""
    first, others = people.made_up(places, seed), _varied(people.made_up(places, seed + 1))

    def drawn(chunk: Chunk) -> list[Form]:
        torch.manual_seed(0)
        return gradients(chunk)

    forms = drawn(first)
    found = _lines(forms)
    for person in sorted({0, places // 2, places - 1}):
        for company in (_mixed(first, others, {person}), _emptied(first, {person})):
            again = _lines(drawn(company))
            _must_be_same((own[person], other[person]) for own, other in zip(found, again, strict=True))
    return first, forms, found


def _same_in_fewer(gradients: Gradients, people: People, places: int, fewer: int) -> bool:
    """Whether everyone's bits are the same in a chunk with fewer places, and do not depend on the place there."""
    try:
        _same_bits(gradients, people, fewer)
        whole = people.made_up(places, seed=1)
        found = _lines(gradients(whole))
        for start in sorted({0, (places - fewer) // 2, places - fewer}):
            again = _lines(gradients(_part(whole, start, fewer)))
            _must_be_same((own[start : start + fewer], other) for own, other in zip(found, again, strict=True))
    except TacitError:
        return False
    return True


def _lines(forms: Sequence[Form]) -> list[Any]:
    """What must be a person's own: what gradients are made of, and the bounds of their norms."""
    parts = [each for form in forms for each in form.parts]
    return [*parts, *(placed.form.squares({}) for placed in gathered(forms))]


def _must_be_same(pairs: Iterable[tuple[Any, Any]]) -> None:
    if not all(torch.equal(own, other) or same_numbers(own, other) for own, other in pairs):
        raise TacitError(MIXES)


def _varied(chunk: Chunk) -> Chunk:
    """Rows of the same shape that are large, small, zero, or of ones."""

    def varied(whole: Any) -> Any:
        if not whole.dtype.is_floating_point or whole.dim() < 2:
            return whole
        sizes = torch.tensor(_SIZES, dtype=whole.dtype).repeat(-(-len(whole) // len(_SIZES)))[: len(whole)]
        by_row = sizes.reshape(-1, *([1] * (whole.dim() - 1)))
        return torch.where(by_row < 0, whole.sign(), whole * by_row)

    return replace(chunk, inputs=tuple(varied(each) for each in chunk.inputs))


def _rows(chunk: Chunk, people: set[int]) -> Any:
    copies = chunk.rows // chunk.people
    return torch.tensor([place // copies in people for place in range(chunk.rows)])


def _mixed(chunk: Chunk, others: Chunk, kept: set[int]) -> Chunk:
    own = _rows(chunk, kept)

    def mixed(left: Any, right: Any) -> Any:
        return torch.where(own.reshape(-1, *([1] * (left.dim() - 1))), left, right)

    inputs = tuple(mixed(left, right) for left, right in zip(chunk.inputs, others.inputs, strict=True))
    return replace(chunk, inputs=inputs, target=mixed(chunk.target, others.target))


def _emptied(chunk: Chunk, kept: set[int]) -> Chunk:
    own = _rows(chunk, kept)
    nobody = Chunk(
        chunk.people,
        tuple(torch.zeros_like(each) for each in chunk.inputs),
        torch.zeros_like(chunk.target),
        torch.zeros_like(chunk.weights),
    )
    return replace(_mixed(chunk, nobody, kept), weights=torch.where(own, chunk.weights, torch.zeros(())))


def _part(chunk: Chunk, start: int, people: int) -> Chunk:
    """This many people of a chunk, from `start` on, as a chunk of their own."""
    copies = chunk.rows // chunk.people
    rows = slice(start * copies, (start + people) * copies)
    inputs = tuple(each[rows].clone() for each in chunk.inputs)
    return Chunk(people, inputs, chunk.target[rows].clone(), chunk.weights[rows].clone())


def _turned(chunk: Chunk, by: int) -> Chunk:
    rows = by * (chunk.rows // chunk.people)
    return replace(
        chunk,
        inputs=tuple(each.roll(rows, 0) for each in chunk.inputs),
        target=chunk.target.roll(rows, 0),
        weights=chunk.weights.roll(rows, 0),
    )


@contextlib.contextmanager
def _other_weights(module: Any) -> Iterator[None]:
    """Random ones, for a while: of a size at which numbers neither grow nor vanish from layer to layer."""
    learning = [each for each in module.parameters() if each.requires_grad]
    before = [each.detach().clone() for each in learning]
    drawn = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for each in learning:
            fed = each[0].numel() if each.dim() > 1 else 4
            each.copy_(torch.randn(each.shape, generator=drawn) / math.sqrt(max(fed, 1)))
    try:
        yield
    finally:
        with torch.no_grad():
            for each, own in zip(learning, before, strict=True):
                each.copy_(own)
