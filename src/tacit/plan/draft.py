"""A plan in the making: what the rules have found so far. Each rule fills in its part and touches no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from tacit.loss.events import Composed, Event
from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan.formulas import Formula
from tacit.plan.plan import KeyColumn, MeasureKind, OutputPlan, RawKey, Sensitivity
from tacit.plan.scope import Scope
from tacit.policy import Policy
from tacit.question import tree


@dataclass(frozen=True, slots=True)
class Asked:
    """What the asker wants to pay: epsilon (with a delta), or rho; and how to share it."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    weights: Mapping[str, Fraction] | None


@dataclass(frozen=True, slots=True)
class Part:
    """A measure without its noise: an integer aggregate over the working copy."""

    kind: MeasureKind
    sql: exp.Expr
    centre: Fraction
    step: Fraction
    bound: int  # the most that one row adds, in grid units
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known of the plan."""

    question: tree.Question
    policy: Policy
    asked: Asked
    scope: Scope = field(default_factory=lambda: Scope({}))
    rows_per_unit: int = 1
    where: exp.Expr | None = None
    joins: tuple[exp.Join, ...] = ()
    key_columns: tuple[KeyColumn, ...] = ()
    key_sql: tuple[exp.Expr, ...] = ()
    cells: tuple[tuple[RawKey, ...], ...] | None = ((),)
    parts: tuple[Part, ...] = ()
    formulas: Mapping[tree.Aggregate, Formula] = field(default_factory=dict)
    outputs: tuple[OutputPlan, ...] = ()
    having: Formula | None = None
    order: tuple[tuple[Formula, bool, bool], ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    mechanisms: tuple[Laplace | Gaussian, ...] = ()
    selection: KeySelection | None = None
    event: Event = field(default_factory=lambda: Composed(()))
    query: exp.Select | None = None
    sentences: tuple[str, ...] = ()
