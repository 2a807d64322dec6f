"""A plan in the making: what the rules have found so far. Each rule fills in its part and touches no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tacit.loss.events import Composed, Event
from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan.answers.formulas import Formula
from tacit.plan.answers.summaries import Summary
from tacit.plan.columns import KeyColumn, RawKey
from tacit.plan.levels import Levels
from tacit.plan.picks.part import PickMechanism, PickPart
from tacit.plan.plan import MeasureKind, OutputPlan, Sensitivity
from tacit.plan.sources.join_tables import Joined
from tacit.plan.together import Shape, Together
from tacit.plan.values.scope import Scope
from tacit.plan.work import NONE, Work
from tacit.policy import Policy
from tacit.question import tree


@dataclass(frozen=True, slots=True)
class Terms:
    """What will be paid: epsilon (with a delta), or rho; and how to share it."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    weights: Mapping[str, Fraction] | None
    rows_per_unit: int | None = None
    together: bool = True  # whether a count and the sums of a column may share one noise (`together`)


@dataclass(frozen=True, slots=True)
class Binned:
    """The bins of a histogram: `sql` is one of `values` on every row where `counted` is not NULL (None: on all)."""

    sql: exp.Expr
    counted: exp.Expr | None
    values: tuple[RawKey, ...]
    labels: tuple[Any, ...]  # the names of the bins in the answer
    kind: str  # of the labels


@dataclass(frozen=True, slots=True)
class Part:
    """A measure without its noise: an integer aggregate over the working copy.

    For measures that are released `together`, `sql` is the part that the engine adds up; the rest is about the measure.
    """

    kind: MeasureKind
    sql: exp.Expr
    centre: Fraction
    step: Fraction
    bound: int  # the most that one row adds, in grid units
    reason: str
    typical: Fraction = Fraction(1)  # what a row adds on average where values are spread evenly over their bounds
    additive: bool = True  # whether the number of a sum of cells is the sum of their numbers
    levels: Levels | None = None  # on which levels it is measured, where there are several
    block: int = 0  # 0 for the question itself, 1, 2, ... for the questions inside it, then for its histograms
    bins: Binned | None = None
    together: Together | None = None
    shape: Shape | None = None  # what a row adds, by where its value lies; None: the same everywhere


@dataclass(frozen=True)  # without slots, so that `changed` is quick
class Draft:
    """What is known of the plan so far."""

    question: tree.Question
    policy: Policy
    asked: Terms
    joined: Joined | None = None
    scope: Scope = field(default_factory=lambda: Scope({}))
    rows_per_unit: int = 1
    groups_per_unit: int | None = None
    where: exp.Expr | None = None
    key_columns: tuple[KeyColumn, ...] = ()
    key_sql: tuple[exp.Expr, ...] = ()
    cells: tuple[tuple[RawKey, ...], ...] | None = ((),)
    levels: Levels | None = None
    inner: tuple[Draft, ...] = ()
    parts: tuple[Part, ...] = ()
    pick_parts: tuple[PickPart, ...] = ()
    formulas: Mapping[tree.Aggregate, Formula] = field(default_factory=dict)
    totals: Mapping[tree.Total, Formula] = field(default_factory=dict)
    outputs: tuple[OutputPlan, ...] = ()
    having: Formula | None = None
    summary: Summary | None = None
    order: tuple[tuple[Formula, bool, bool], ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    mechanisms: tuple[Laplace | Gaussian | KeySelection, ...] = ()
    pick_mechanisms: tuple[PickMechanism, ...] = ()
    selection: KeySelection | None = None
    event: Event = field(default_factory=lambda: Composed(()))
    qualify: Formula | None = None
    query: exp.Select | None = None
    inner_queries: tuple[exp.Select, ...] = ()
    work: Work = NONE
    told: Callable[[], tuple[str, ...]] = tuple
    notes: tuple[str, ...] = ()  # the answer's notes: what was left out, what cannot be known

    def block(self, part: Part) -> Draft:
        """The draft that a part belongs to: this one, or that of a question inside."""
        return self if part.block == 0 or part.bins is not None else self.inner[part.block - 1]

    @property
    def shown_columns(self) -> tuple[KeyColumn, ...]:
        """The keys, then the values that are picked: what `KeyFormula` shows."""
        return (*self.key_columns, *(column for part in self.pick_parts for column in part.columns))

    @property
    def tables(self) -> tuple[str, ...]:
        """The private tables that are read: in FROM, in SELECTs that stand in conditions, in questions inside."""
        assert self.joined is not None
        named = [source for place in self.joined.places for source in place.sources]
        named += [source for opened in self.scope.opened.values() for source in opened.sources]
        return tuple(dict.fromkeys([*named, *(source for each in self.inner for source in each.tables)]))

    @property
    def unit_sql(self) -> exp.Expr:
        """The unit of a joined row."""
        assert self.joined is not None
        assert self.joined.unit_sql is not None
        return self.joined.unit_sql.copy()


if TYPE_CHECKING:
    from dataclasses import replace as changed
else:

    def changed(draft: Draft, /, **found: Any) -> Draft:
        """The draft with what a rule has found. `dataclasses.replace` would set all thirty fields one by one."""
        assert found.keys() <= draft.__dict__.keys()
        after = object.__new__(Draft)
        after.__dict__.update(draft.__dict__, **found)
        return after


__all__ = ["Binned", "Draft", "Part", "Terms", "changed"]
