"""`make_plan`: the rules, in order, from a question to its plan. Pure: it reads the policy and never a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from tacit import parameters
from tacit.loss.targets import epsilon_of_concentrated
from tacit.mechanisms import Gaussian
from tacit.parameters import Number
from tacit.plan.add_noise import add_noise, wants_apart
from tacit.plan.bins import bins, bins_of
from tacit.plan.bound_change import bound_change
from tacit.plan.bound_groups import bound_groups
from tacit.plan.bound_sizes import bound_sizes
from tacit.plan.bound_work import bound_work
from tacit.plan.build_query import UNITS, build_query, key_column, measure_column
from tacit.plan.choose_levels import choose_levels
from tacit.plan.deviation import deviation
from tacit.plan.draft import Asked, Draft
from tacit.plan.explain import explain
from tacit.plan.filter_rows import filter_rows
from tacit.plan.find_keys import find_keys
from tacit.plan.inner_questions import inner_questions
from tacit.plan.levers import Levers, check_unit, merged
from tacit.plan.measure import measure
from tacit.plan.name_keys import name_keys
from tacit.plan.note import note
from tacit.plan.open_sources import open_sources
from tacit.plan.outputs import outputs
from tacit.plan.over_answers import over_answers
from tacit.plan.pick import pick, picks_of
from tacit.plan.plan import KnownKeys, Measure, Plan, Query, UnknownKeys
from tacit.plan.resolve import resolve
from tacit.plan.sum_up import sum_up
from tacit.policy import Policy
from tacit.question import tree

RULES: tuple[Callable[[Draft], Draft], ...] = (
    open_sources,
    resolve,
    inner_questions,
    filter_rows,
    find_keys,
    measure,
    pick,
    bins,
    outputs,
    sum_up,
    choose_levels,
    bound_groups,
    bound_change,
    bound_sizes,
    add_noise,
    build_query,
    bound_work,
    note,
    explain,
)

INNER_RULES = (open_sources, resolve, filter_rows, find_keys, measure, pick, outputs)
"""What is done for a question inside another; its noise is planned together with the outer one's."""

_MADE_UP = 1_000  # rows of the cell at which two plans of one question are compared


def make_plan(
    question: tree.Question,
    policy: Policy,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    weights: Mapping[str, Number] | None = None,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
) -> Plan:
    """The plan that answers `question` for epsilon (and delta), or for rho; the policy's default without either."""
    privacy = question.privacy
    question, levers = merged(question, Levers(epsilon, delta, rows_per_unit, groups_per_unit))
    if levers.groups_per_unit is not None:
        groups = parameters.whole("groups_per_unit", levers.groups_per_unit, least=1)
        question = replace(question, groups_per_unit=groups)
    if levers.rows_per_unit is not None:
        question = replace(question, rows_per_unit=parameters.whole("rows_per_unit", levers.rows_per_unit, least=1))
    question = over_answers(name_keys(question, policy), policy)
    asked = _asked(policy, levers.epsilon, rho, levers.delta or 0, weights)
    asked = replace(asked, rows_per_unit=question.rows_per_unit)
    plan = _planned(Draft(question, policy, asked))
    if plan is None or (plan.bundles and plan.delta > 0):
        apart = _planned(Draft(question, policy, replace(asked, together=False)))
        assert apart is not None
        plan = apart if plan is None or _is_less_noisy(apart, plan) else plan
    check_unit(privacy, plan.tables, policy)
    return plan


def _planned(draft: Draft) -> Plan | None:
    """The plan by all rules; None where one that is released with others was given far more weight than they."""
    for rule in RULES:
        if rule is add_noise and wants_apart(draft):
            return None
        draft = rule(draft)
    return _plan(draft)


def _is_less_noisy(gaussian: Plan, plan: Plan) -> bool:
    """Whether Gaussian noise, a share for each measure, is less than what measures have together: over all outputs."""
    if not all(isinstance(each.mechanism, Gaussian) for each in gaussian.measures):
        return False
    spreads = [{each.name: each.deviation for each in one.errors_at(_MADE_UP)} for one in (gaussian, plan)]
    return sum(math.log(spreads[0][name] / spreads[1][name]) for name in spreads[1] if spreads[1][name] > 0) < 0


def _asked(
    policy: Policy, epsilon: Number | None, rho: Number | None, delta: Number, weights: Mapping[str, Number] | None
) -> Asked:
    exact_delta = parameters.probability("delta", delta)
    if exact_delta == 1:
        raise parameters.refuse("delta", "a number of at least 0 and below 1", delta)
    shares = (
        None if weights is None else {name: parameters.positive("weights", weight) for name, weight in weights.items()}
    )
    if rho is not None:
        if epsilon is not None:
            raise parameters.refuse("epsilon or rho", "given as one of the two", "both")
        exact_rho = parameters.positive("rho", rho)
        if exact_delta == 0:
            raise parameters.refuse("delta", "above 0 where rho is given, to say what rho is worth", delta)
        affordable(policy, epsilon_of_concentrated(exact_rho, exact_delta), "rho", rho)
        return Asked(None, exact_rho, exact_delta, shares)
    exact = policy.default_epsilon if epsilon is None else parameters.positive("epsilon", epsilon)
    affordable(policy, exact, "epsilon", epsilon)
    return Asked(exact, None, exact_delta, shares)


def affordable(policy: Policy, epsilon: Fraction, name: str, given: object) -> None:
    """Refuse more at once than the owner allows."""
    if epsilon > policy.largest_epsilon:
        allowed = f"worth at most epsilon {parameters.as_digits(policy.largest_epsilon)}, the policy's largest"
        hint = f"This one is worth epsilon {parameters.as_digits(epsilon)}." if name == "rho" else ""
        raise parameters.refuse(name, allowed, given, hint or "The owner may raise largest_epsilon under [questions].")


def _plan(draft: Draft) -> Plan:
    assert draft.query is not None
    assert draft.joined is not None
    measures = tuple(
        Measure(
            name=measure_column(place),
            kind=part.kind,
            centre=part.centre,
            step=part.step,
            sensitivity=each,
            mechanism=mechanism,
            deviation=deviation(mechanism) * (1.0 if part.together is None else part.together.spread(place)),
            typical=part.typical,
            block=part.block,
            levels=part.levels,
            bins=bins_of(part, place, draft),
            together=part.together,
            largest=part.bound,
            shape=part.shape,
        )
        for place, (part, each, mechanism) in enumerate(
            zip(draft.parts, draft.sensitivities, draft.mechanisms, strict=True)
        )
    )
    keys: KnownKeys | UnknownKeys
    if draft.cells is not None:
        keys = KnownKeys(draft.key_columns, draft.cells, draft.levels)
    else:
        assert draft.selection is not None
        keys = UnknownKeys(draft.key_columns, draft.selection)
    query = Query(
        draft.query,
        tuple(key_column(place) for place in range(len(draft.key_sql))),
        tuple(each.name for each in measures if each.block == 0),
        UNITS if draft.cells is None else None,
    )
    inner = tuple(
        Query(tree_of, (), tuple(each.name for each in measures if each.block == block), None)
        for block, tree_of in enumerate(draft.inner_queries, start=1)
    )
    return Plan(
        question=draft.question,
        query=query,
        inner=inner,
        keys=keys,
        measures=measures,
        picks=picks_of(draft),
        outputs=draft.outputs,
        having=draft.having,
        qualify=draft.qualify,
        order=draft.order,
        limit=draft.question.limit,
        offset=draft.question.offset,
        summary=draft.summary,
        rows_per_unit=draft.rows_per_unit,
        tables=draft.tables,
        epsilon=draft.asked.epsilon,
        delta=draft.asked.delta,
        event=draft.event,
        work=draft.work,
        sentences=draft.sentences,
        notes=draft.notes,
    )
