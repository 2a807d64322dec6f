"""`make_plan`: the rules, in order, from a question to its plan. Pure: it reads the policy and never a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from tacit import parameters
from tacit.loss.targets import epsilon_of_concentrated
from tacit.mechanisms import Gaussian
from tacit.parameters import Number
from tacit.plan.asked import Asked, check_unit
from tacit.plan.deviation import deviation
from tacit.plan.draft import Draft, Terms, changed
from tacit.plan.plan import KnownKeys, Measure, Plan, Query, UnknownKeys
from tacit.plan.rewrites.name_keys import name_keys
from tacit.plan.rewrites.summarise import summarise
from tacit.plan.rules.add_noise import add_noise, wants_apart
from tacit.plan.rules.bins import bins, bins_of
from tacit.plan.rules.bound_change import bound_change
from tacit.plan.rules.bound_groups import bound_groups
from tacit.plan.rules.bound_sizes import bound_sizes
from tacit.plan.rules.bound_work import bound_work
from tacit.plan.rules.build_query import UNIT_COUNT, build_query, key_column, measure_column
from tacit.plan.rules.choose_levels import choose_levels
from tacit.plan.rules.explain import explain
from tacit.plan.rules.filter_rows import filter_rows
from tacit.plan.rules.find_keys import find_keys
from tacit.plan.rules.inner_questions import inner_questions
from tacit.plan.rules.measure import measure
from tacit.plan.rules.note import note
from tacit.plan.rules.open_sources import open_sources
from tacit.plan.rules.outputs import outputs
from tacit.plan.rules.pick import pick, picks_of
from tacit.plan.rules.resolve import resolve
from tacit.plan.rules.sum_up import sum_up
from tacit.policy import Policy
from tacit.question import tree

REWRITES: tuple[Callable[[tree.Question, Policy], tree.Question], ...] = (name_keys, summarise)
"""What is done to the question itself, before there is a draft."""

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
    build_query,
    add_noise,
    bound_work,
    note,
    explain,
)

BEFORE_NOISE = RULES[: RULES.index(add_noise)]
"""The rules that do not depend on how much may be spent."""

AFTER_NOISE = RULES[RULES.index(add_noise) + 1 :]
"""What is done once for a plan, when its noise is chosen."""

_FEW = 1_000  # rows that travel as digits
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
    asked = Asked.of(
        epsilon,
        delta=delta,
        rho=rho,
        weights=weights,
        rows_per_unit=rows_per_unit,
        groups_per_unit=groups_per_unit,
    )
    return plan_asked(question, policy, asked)


def plan_asked(question: tree.Question, policy: Policy, asked: Asked) -> Plan:
    """The plan that answers `question` as it is asked."""
    return Planning(question, policy).plan(asked)


class Planning:
    """One question under one policy, planned for any number of prices: what no price changes is done once."""

    def __init__(self, question: tree.Question, policy: Policy) -> None:
        self.question, self.policy = question, policy
        self._prepared: dict[tuple[int | None, int | None, bool], Prepared] = {}

    def plan(self, asked: Asked) -> Plan:
        """The plan at a price that is said."""
        said = asked.with_words_of(self.question.privacy)
        terms = terms_of(self.policy, said)
        plan = self.prepared(said, terms).plan(terms)
        check_unit(self.question.privacy, plan.tables, self.policy)
        return plan

    def prepared(self, said: Asked, terms: Terms) -> Prepared:
        """All that is planned before there is noise. Of the terms it depends on nothing but whether there is a rho."""
        kind = (said.rows_per_unit, said.groups_per_unit, terms.rho is None)
        if kind not in self._prepared:
            self._prepared[kind] = prepare(self.question, self.policy, said, terms)
        return self._prepared[kind]


def prepare(question: tree.Question, policy: Policy, asked: Asked, terms: Terms) -> Prepared:
    """All that is planned before there is noise, for whatever price of this kind."""
    question = asked.bounded(question)
    for rewrite in REWRITES:
        question = rewrite(question, policy)
    return Prepared(question, policy, terms)


class Prepared:
    """A question up to its noise: every rule before `add_noise` is done once, whatever epsilon then comes."""

    def __init__(self, question: tree.Question, policy: Policy, terms: Terms) -> None:
        self._draft = Draft(question, policy, replace(terms, rows_per_unit=question.rows_per_unit))

    def plan(self, terms: Terms) -> Plan:
        """The whole plan."""
        return _finished(self._better(terms))

    def outline(self, terms: Terms) -> Plan:
        """The plan without its words, and without asking whether its work is bounded: what its errors follow from."""
        return _plan(self._better(terms))

    def _better(self, terms: Terms) -> Draft:
        """With measures released together or each by itself, whichever has less noise."""
        together = self._at(terms, self._together)
        if wants_apart(together):
            return self._with_noise_apart(terms)
        noisy = add_noise(together)
        if terms.delta == 0 or all(part.together is None for part in noisy.parts):
            return noisy
        apart = self._with_noise_apart(terms)
        return apart if _is_less_noisy(_plan(apart), _plan(noisy)) else noisy

    def _with_noise_apart(self, terms: Terms) -> Draft:
        return add_noise(self._at(terms, self._apart))

    @cached_property
    def _together(self) -> Draft:
        return _before_noise(self._draft)

    @cached_property
    def _apart(self) -> Draft:
        return _before_noise(changed(self._draft, asked=replace(self._draft.asked, together=False)))

    @staticmethod
    def _at(terms: Terms, draft: Draft) -> Draft:
        own = draft.asked
        return changed(draft, asked=replace(terms, rows_per_unit=own.rows_per_unit, together=own.together))


def _before_noise(draft: Draft) -> Draft:
    for rule in BEFORE_NOISE:
        draft = rule(draft)
    return draft


def _finished(noisy: Draft) -> Plan:
    for rule in AFTER_NOISE:
        noisy = rule(noisy)
    return _plan(noisy)


def _is_less_noisy(gaussian: Plan, plan: Plan) -> bool:
    """Whether Gaussian noise, a share for each measure, is less over all outputs than noise on them together."""
    if not all(isinstance(each.mechanism, Gaussian) for each in gaussian.measures):
        return False
    spreads = [{each.name: each.deviation for each in one.errors_at(_MADE_UP)} for one in (gaussian, plan)]
    return sum(math.log(spreads[0][name] / spreads[1][name]) for name in spreads[1] if spreads[1][name] > 0) < 0


def terms_of(policy: Policy, asked: Asked) -> Terms:
    """The price in full: the policy's default where none was given, and refused where the policy does not allow it."""
    delta = Fraction(0) if asked.delta is None else asked.delta
    if delta == 1:
        raise parameters.refuse("delta", "a number of at least 0 and below 1", delta)
    if asked.rho is not None:
        if asked.epsilon is not None:
            raise parameters.refuse("epsilon or rho", "given as one of the two", "both")
        if delta == 0:
            raise parameters.refuse("delta", "above 0 where rho is given, to say what rho is worth", delta)
        affordable(policy, epsilon_of_concentrated(asked.rho, delta), "rho", asked.rho)
        return Terms(None, asked.rho, delta, asked.weights)
    epsilon = policy.default_epsilon if asked.epsilon is None else asked.epsilon
    affordable(policy, epsilon, "epsilon", asked.epsilon)
    return Terms(epsilon, None, delta, asked.weights)


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
        UNIT_COUNT if draft.cells is None else None,
        draft.cells is not None and len(draft.cells) <= _FEW,
    )
    inner = tuple(
        Query(tree_of, (), tuple(each.name for each in measures if each.block == block), None, True)
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
        told=draft.told,
        notes=draft.notes,
    )
