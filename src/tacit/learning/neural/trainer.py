"""`PrivateTrainer`: private training for people who write their own loop.

    trainer = PrivateTrainer(module, loss, optimiser, X, y, epsilon=3, delta=1e-5, rate=0.02, steps=1000)
    for batch in trainer:
        trainer.step(batch)

Theorem. Each step is the sum over a Poisson sample (`sampling`) of gradients clipped to C, on a grid, with exact noise
(`grid`), so the run costs what `pricing` says; with sampling="fixed" it is the sum over a group that is fixed
beforehand, with noise that is correlated over steps, and the run costs what `ordered` says. Everything that is done
with noisy gradients (optimisers, averages, schedules) is post-processing. What floating point does is bounded and paid
for (`floats`). Neighbours: one person's rows, added or removed; a person is a row, or the rows of one of `units`,
sampled and clipped together.

Promise: the price is known before the first step, and everything that can be refused is refused before it. Batches have
the size that sampling gives them, and may be empty. The training loss is private, so it is not shown. Two things follow
the data without noise: how long a step takes (`batches`), and what the caller does with a batch.
Source: Abadi et al. 2016 (noisy SGD); Bu, Wang, Zha, Karypis 2023 (book-keeping).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.errors import TacitError
from tacit.learning.neural.floats import BLOCK, block_error
from tacit.learning.neural.gradients.hooked import trained
from tacit.learning.neural.gradients.per_sample import one_by_one
from tacit.learning.neural.modules.refused import refuse_mixing, single_precision
from tacit.learning.neural.modules.rehearsal import Rehearsed, rehearsed, rehearsed_alone
from tacit.learning.neural.people.augmented import Shifted
from tacit.learning.neural.people.batch import Batch
from tacit.learning.neural.people.batches import FEWER_PLACES, MANY_PLACES, Chunk, evened, fitting_places, people_of
from tacit.learning.neural.people.chances import ALONE
from tacit.learning.neural.people.sampling import poisson_sample, random_order
from tacit.learning.neural.runs.corrected import CorrectedAdam
from tacit.learning.neural.runs.interrupts import put_back_torch, uninterrupted
from tacit.learning.neural.runs.journal import Journal
from tacit.learning.neural.runs.ordered import BITS, Correlated, OrderedRun, plan_ordered
from tacit.learning.neural.runs.pricing import Run, plan_run
from tacit.learning.neural.runs.progress import Log, shown
from tacit.learning.neural.runs.states import put_back, state_of
from tacit.learning.neural.sums.adaptive import followed, multiplier_beside_count, noisy_count
from tacit.learning.neural.sums.alone import exact_grid
from tacit.learning.neural.sums.clipping import ADAPTIVE, AUTOMATIC, checked
from tacit.learning.neural.sums.grid import Grid, grid_for
from tacit.learning.neural.sums.summing import Summing, SummingAlone, keep_freed_memory
from tacit.loss import Budget

_LEAST_CLIP: Final = Fraction(1, 1 << 16)
_MOST_CLIP: Final = 1 << 64
_MOST_CHUNK: Final = 1 << 20
_MOST_PEOPLE: Final = 1 << 53
_MOST_ERROR: Final = 0.05
POISSON: Final = "poisson"
FIXED: Final = "fixed"


def planned(sampling: Any, epsilon: Any, delta: Any, *, rate: Any, steps: Any, buys_count: bool) -> Run | OrderedRun:
    """What a run costs, however people are chosen."""
    if sampling not in (POISSON, FIXED):
        raise parameters.refuse("sampling", f"{POISSON!r} or {FIXED!r}", sampling)
    plan = plan_ordered if sampling == FIXED else plan_run
    return plan(epsilon, delta, rate=rate, steps=steps, buys_count=buys_count)


class PrivateTrainer:
    """Noisy steps of `optimiser`, a torch.optim optimiser of the module's parameters.

    loss(output, target) gives one number for each row. rate: the share of people in a step; steps: how many of them.
    clip: the norm that gradients are clipped to; clipping: "automatic" brings all of them to it, "flat" only longer
    ones; "adaptive" also only longer ones, to a norm that begins with `clip` and follows the people's (`adaptive`).
    size: how many people there are, where that is public; without it a noisy count is bought. units: the person of each
    row, with at most `rows_per_unit` rows of one person. exact: each person's gradient is computed alone. sampling:
    "poisson", or "fixed": groups in a fixed order, 1/rate of them, with correlated noise (`ordered`). augment: copies
    of images, moved, whose mean gradient counts (`augmented`). chunk: how many people are computed at a time; where
    left out, as many as suit the module. journal: a folder from which a run goes on after a crash. strict: for modules
    that others wrote: where layers are not known to keep people apart, gradients are made person by person.
    """

    def __init__(
        self,
        module: Any,
        loss: Callable[[Any, Any], Any],
        optimiser: Any,
        X: Any,  # noqa: N803
        y: Any,
        *,
        epsilon: parameters.Number,
        delta: parameters.Number,
        rate: parameters.Number,
        steps: int,
        clip: parameters.Number = 1,
        clipping: str = AUTOMATIC,
        size: int | None = None,
        units: Any = None,
        rows_per_unit: int | None = None,
        exact: bool = False,
        sampling: str = POISSON,
        augment: Shifted | None = None,
        chunk: int | None = None,
        journal: Any = None,
        strict: bool = False,
    ) -> None:
        refuse_mixing(module)
        single_precision(module)
        self.module, self.optimiser = module, optimiser
        self._loss, self._exact, self._kind = loss, bool(exact), checked(clipping)
        self._strict = bool(strict)
        self._clip = parameters.positive("clip", clip)
        if not _LEAST_CLIP <= self._clip <= _MOST_CLIP:
            raise parameters.refuse("clip", "from 2**-16 to 2**64", clip)
        self._order = trained(module)
        _same_parameters(self._order, optimiser)
        self._people = people_of(X, y, units, rows_per_unit)
        self._run = planned(sampling, epsilon, delta, rate=rate, steps=steps, buys_count=size is None)
        self._augment = augment
        if augment is not None:
            augment.must_fit(self._people.inputs)
        if isinstance(self.run, OrderedRun):
            _fits_order(journal, self._kind, optimiser)
        self._public = None if size is None else parameters.whole("size", size, least=1)
        if self._public is not None and self._public > _MOST_PEOPLE:
            raise parameters.refuse("size", f"at most {_MOST_PEOPLE:,}", size)
        self._places = _places(chunk)
        self.notes: tuple[str, ...] = ()
        self._grid_at: Callable[[Fraction], Grid]
        self._threads = torch.get_num_threads()
        with ALONE, put_back_torch():
            self._summing = self._tried()
        self._grid = self._grid_at(self._clip)
        self._journal = None if journal is None else Journal(journal)
        self._bits = noise.secure
        self._groups: NDArray[np.int64] | None = None
        if isinstance(self.run, OrderedRun):
            self._groups = noise.uniform_below(self.run.groups, len(self._people.rows_of), self._bits())
            self._correlated = Correlated(self.run.band)
        self._begun, self._waiting, self._process, self._name = 0, False, os.getpid(), object()
        self.size = self._counted(self._public)
        if self._journal is not None:
            self._resume()

    # -- before the first step -----------------------------------------------------------------------

    def _tried(self) -> Summing:
        sizes = [each.numel() for each in self._order]
        multiplier = self.run.multiplier
        if self._kind == ADAPTIVE:
            multiplier = multiplier_beside_count(multiplier)
        still, moved = (_unchanged, _unchanged) if self._augment is None else (self._augment.still, self._augment.moved)
        if self._exact:
            self._places = self._places or BLOCK
            self._grid_at = lambda clip: exact_grid(clip, multiplier, sum(sizes))
            self.notes = rehearsed_alone(self.module, self._loss, self._people)
            alone = one_by_one(self.module, self._loss)
            return SummingAlone(alone, self._people, self._places, sizes, self._kind, moved)
        keep_freed_memory()
        found: Rehearsed = rehearsed(self.module, self._loss, self._people, self._fitting, still, strict=self._strict)
        self.notes, self._places = found.notes, found.places
        error = block_error(self._places) + found.double_error
        if error > _MOST_ERROR:
            hint = "Take a smaller chunk, or exact=True."
            raise parameters.refuse("chunk", "one whose sums have a small error", f"an error of {error:.2g}", hint)
        self._grid_at = lambda clip: grid_for(clip, multiplier, sum(sizes), error)
        return Summing(found.gradients, self._people, self._places, sizes, self._kind, moved, found.fewer)

    def _fitting(self, numbers: int) -> Sequence[int]:
        """Places of a chunk: as given; or by the number of people in a step and of numbers held for each."""
        if self._places:
            return (self._places,)
        rate = float(self.run.rate)
        mean = None if self._public is None else rate * self._public
        # large chunks are for layers whose sums allow them; kernels may be more reproducible at the size of a block
        sizes = [fitting_places(mean, rate, numbers, largest) for largest in (MANY_PLACES, FEWER_PLACES)]
        return *sizes, BLOCK

    def _counted(self, size: int | None) -> float:
        """How many people there are: as the caller says, as bought before, or bought now."""
        facts = self._facts()
        stored = None if self._journal is None else self._journal.facts
        if stored is not None:
            if {name: own for name, own in stored.items() if name != "size"} != facts:
                raise TacitError("The journal is of another run. Give this one a folder of its own.")
            return float(stored["size"])
        if size is not None:
            found = float(size)
        else:
            assert self.run.count_sigma is not None
            found = float(len(self._people.rows_of) + noise.rounded_normal(self.run.count_sigma, None, noise.secure()))
        found = max(found, 1.0 / float(self.run.rate))
        if self._journal is not None:
            self._journal.start({**facts, "size": found})
        return found

    def _facts(self) -> dict[str, Any]:
        return {
            "event": self.run.event.to_dict(),
            "clip": str(self._clip),
            "clipping": self._kind,
            "exponent": self._grid.exponent,
            "sigma": str(self._grid.sigma),
            "coordinates": self._grid.coordinates,
        }

    def _resume(self) -> None:
        assert self._journal is not None
        self._begun = self._journal.begun
        if self._begun > self.run.steps:
            raise TacitError(f"The journal has {self._begun:,} steps, and the run {self.run.steps:,}: it is damaged.")
        state = self._journal.load()
        if state is not None:
            put_back(self.module, self.optimiser, state[0], state[1]["optimiser"])
            self._follow(Fraction(state[1]["clip"]))

    # -- the loop ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.run.steps

    def __iter__(self) -> Iterator[Batch]:
        while self._begun < self.run.steps:
            if self._waiting:
                raise TacitError("The last batch was not used. Call trainer.step(batch) for each of them.")
            chosen = self._chosen()
            self._waiting = True
            yield Batch(chosen, (self._name, self._begun))

    def _chosen(self) -> NDArray[np.int64]:
        """Who is in the next step, in random order."""
        if self._groups is None:
            return poisson_sample(len(self._people.rows_of), self.run.rate, self._bits())
        assert isinstance(self.run, OrderedRun)
        own = np.flatnonzero(self._groups == self._begun % self.run.groups).astype(np.int64)
        return own[random_order(len(own), self._bits())]

    def step(self, batch: Batch) -> None:
        """One noisy step of the optimiser. Threads take turns, and Ctrl-C waits until it is done."""
        with ALONE, uninterrupted():
            self._step(batch)

    def _step(self, batch: Batch) -> None:
        if self._begun >= self.run.steps:
            raise TacitError(f"All {self.run.steps:,} steps of this run are done. More of them cost more: `go_on`.")
        if self._process != os.getpid():
            raise TacitError("This run belongs to another process: two would draw two noises for one step.")
        if self._groups is not None and self._correlated.time != self._begun:
            raise TacitError("A step of this run failed, and its order is lost. Begin another run.")
        if self._threads != torch.get_num_threads():
            found, hint = torch.get_num_threads(), f"Use torch.set_num_threads({self._threads}), or begin another run."
            raise parameters.refuse("number of torch's threads", f"{self._threads}, as the run began", found, hint)
        refuse_mixing(self.module)
        single_precision(self.module)
        self._waiting = False
        chosen = batch._taken((self._name, self._begun))
        if self._journal is None:
            self._begun += 1
        else:
            try:
                self._journal.begin()
            finally:
                self._begun = self._journal.begun
        drawing = self._grid.draw(self._bits, 0 if self._groups is None else BITS)
        total, within = self._summing.total(chosen, self._clip, self._grid)
        per = self.size * float(self.run.rate)
        if self._groups is None:
            released = self._grid.released(total, drawing.take(), per)
        else:
            released = self._correlated.released(total, drawing.take(), 2.0**-self._grid.exponent / per)
        self._apply(released, per)
        if self._kind == ADAPTIVE:
            self._follow(followed(self._clip, noisy_count(within, self.run.multiplier, self._bits()), per))
        if self._journal is not None:
            tensors, plain = state_of(self.module, self.optimiser)
            facts = {"optimiser": plain, "step": str(self._begun), "clip": str(self._clip)}
            self._journal.save(tensors, facts)

    def fit(self, *, progress: bool = False, log: Log | None = None) -> PrivateTrainer:
        """All steps that are left; with a bar, with a log."""
        try:
            with shown(self, progress) as moved:
                for batch in self:
                    self.step(batch)
                    moved()
                    if log is not None:
                        log.note(self)
        finally:
            self._waiting = False  # whoever interrupts it never had the batch
        return self

    def go_on(self, steps: int) -> PrivateTrainer:
        """So many steps more than were planned, decided on the way: `run.price` and `spent` say what that costs."""
        if isinstance(self._run, OrderedRun):
            raise parameters.refuse("sampling", "'poisson' to go on: a fixed order is one release", FIXED)
        if self._journal is not None:
            raise parameters.refuse("journal", "left out to go on: it is of one run", str(self._journal.folder))
        self._run = self._run.longer(steps)
        return self

    def _follow(self, clip: Fraction) -> None:
        """The clipping norm of the next step: released."""
        self._clip, self._grid = clip, self._grid_at(clip)

    @property
    def run(self) -> Run | OrderedRun:
        """What the run costs, and how much noise that takes: decided before its first step."""
        return self._run

    @property
    def clip(self) -> float:
        """The clipping norm of the next step."""
        return float(self._clip)

    @property
    def loss(self) -> Callable[[Any, Any], Any]:
        """The loss that was given."""
        return self._loss

    def _sum(self, chosen: NDArray[np.int64]) -> Any:
        """The sum of clipped gradients on the grid: exact, and private."""
        return self._summing.total(chosen, self._clip, self._grid)[0].clone()

    def _apply(self, released: Any, per: float) -> None:
        """A step of the optimiser along a noisy gradient: post-processing."""
        flat, start = released.float(), 0
        for each in self._order:
            each.grad = flat[start : start + each.numel()].view(each.shape)
            start += each.numel()
        for group in self.optimiser.param_groups:
            if "noise_variance" in group:  # it is public
                group["noise_variance"] = (float(self._grid.sigma) * 2.0**-self._grid.exponent / per) ** 2
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    # -- what it cost --------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """How many people are computed at a time."""
        return self._places

    @property
    def steps_done(self) -> int:
        """Steps that were begun: each is spent, even one that a crash lost."""
        return self._begun

    def spent(self) -> Budget:
        """A bound on what was spent so far, however the moment to look was chosen; never more than the whole run."""
        return Budget(Fraction(self.run.spent_so_far(self._begun)), self.run.delta)

    def __reduce__(self) -> NoReturn:
        raise TacitError("A run can be neither copied nor pickled: a step is paid for once. Copy its module.")

    def close(self) -> None:
        """Release the journal's folder."""
        if self._journal is not None:
            self._journal.close()


def _unchanged(chunk: Chunk) -> Chunk:
    return chunk


def _fits_order(journal: Any, kind: str, optimiser: Any) -> None:
    """Refuse what has no meaning in a fixed order."""
    if journal is not None:
        hint = "It would hold exact sums, which are private."
        raise parameters.refuse("journal", "left out in a fixed order", str(journal), hint)
    if kind == ADAPTIVE:
        raise parameters.refuse("clipping", "one fixed norm in a fixed order", kind)
    if isinstance(optimiser, CorrectedAdam):
        raise parameters.refuse("optimiser", "one that expects no independent noise", "CorrectedAdam")


def _places(chunk: Any) -> int:
    """The number that the caller gave, or a few more (`evened`); 0 where it was left out."""
    if chunk is None:
        return 0
    places = parameters.whole("chunk", chunk, least=1)
    if places > _MOST_CHUNK:
        raise parameters.refuse("chunk", f"at most {_MOST_CHUNK:,}", chunk)
    return evened(places)


def _same_parameters(order: list[Any], optimiser: Any) -> None:
    groups = getattr(optimiser, "param_groups", None)
    if groups is None:
        raise parameters.refuse("optimiser", "one of torch.optim, of the module's parameters", type(optimiser).__name__)
    theirs = {id(each) for group in groups for each in group["params"]}
    if not theirs or not theirs <= {id(each) for each in order}:
        hint = "Leave out what does not learn (requires_grad is False)."
        raise parameters.refuse("optimiser", "one of this module's parameters that learn", "one of others", hint)
