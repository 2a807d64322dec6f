"""The epsilon that an accuracy needs: `plan_within(planning, asked)`.

Promise: the plan made with the epsilon returned has every noisy output within the goal (95 of 100 times, in a cell with
`rows` rows), while an epsilon that is a hundredth smaller has not, unless the policy's largest is not enough, which is
refused. A goal is a number in the output's own unit, or a share such as "5%" of the largest value that rows of a cell
can give. The error falls as epsilon grows, roughly like 1/epsilon, and only the noise is planned anew for each epsilon
tried.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

from tacit import parameters
from tacit.errors import QuestionError
from tacit.parameters import Number
from tacit.plan.answers.formulas import Linear, Mean, Variance
from tacit.plan.answers.nested import MapFormula
from tacit.plan.answers.roots import Root
from tacit.plan.asked import Asked, check_unit
from tacit.plan.draft import Terms
from tacit.plan.make import Planning, Prepared, terms_of
from tacit.plan.plan import Plan
from tacit.plan.rules.measure import PICKS
from tacit.policy import Policy
from tacit.question import tree

_CLOSE = Fraction(991, 1_000)
_LEAST = Fraction(1, 10**9)
"""The steps in which an epsilon is looked for. At this epsilon an answer is only noise."""


def plan_within(planning: Planning, asked: Asked) -> Plan:
    """The plan for the least epsilon (to a hundredth) at which the answer is within the goal (`asked.within`)."""
    assert asked.within is not None
    question, policy = planning.question, planning.policy
    said = asked.with_words_of(question.privacy)
    for name, value in (("epsilon", said.epsilon), ("rho", said.rho), ("weights", said.weights)):
        if value is not None:
            raise parameters.refuse(name, "left out where within is given", value)
    terms = terms_of(policy, replace(said, epsilon=policy.largest_epsilon))
    prepared = planning.prepared(said, terms)
    epsilon = _epsilon_for(prepared, terms, policy, asked.within, said.rows, question)
    plan = prepared.plan(replace(terms, epsilon=epsilon))
    check_unit(question.privacy, plan.tables, policy)
    return plan


def _epsilon_for(
    prepared: Prepared, terms: Terms, policy: Policy, within: Number, rows: int | None, question: tree.Question
) -> Fraction:
    share = isinstance(within, str) and within.strip().endswith("%")
    if share:
        goal = parameters.positive("within", str(within).strip()[:-1]) / 100
    else:
        goal = parameters.positive("within", within)

    nodes = (node for each in question.outputs for node in tree.walk(each.expression))
    if any(isinstance(node, tree.Aggregate) and node.kind in PICKS for node in nodes):
        raise QuestionError(
            "How far a quantile, min, max or mode is off depends on the data, in its own unit. Ask with an epsilon; "
            "explain says how many ranks it may be off."
        )

    @cache
    def misses(epsilon: Fraction) -> float:
        return _worst(prepared.outline(replace(terms, epsilon=epsilon)), rows, share) / float(goal)

    largest = policy.largest_epsilon
    if misses(largest) > 1:
        raise QuestionError(
            f"Within {within} needs more than epsilon {parameters.as_text(largest)}, the policy's largest for one "
            f"question. Ask for less accuracy, fewer outputs, larger cells, or fewer rows of each unit."
        )
    low, high = Fraction(0), largest
    while high - low > high / 100:
        # Errors go roughly like 1/epsilon: an epsilon slightly above that estimate is enough, and a hundredth less is
        # too little.
        near = high * Fraction(misses(high)).limit_denominator(10**6) * Fraction(1_003, 1_000)
        middle = max(near, high / 10**6) if near < high * _CLOSE else high * _CLOSE
        short = _rounded(middle)
        if not low < short < high:  # otherwise an epsilon that is too small is doubled, and bisection does the rest
            short = _rounded(min(2 * low, (low + high) / 2) if low else high / 2)
        if not low < short < high:
            break
        if short == _LEAST and misses(short) <= 1:
            raise QuestionError(
                f"Within {within} is met by nothing but noise: the bounds of the columns are nearer to each other than "
                "that. Ask for more accuracy, or give an epsilon."
            )
        if misses(short) > 1:
            low = short
        else:
            high = short
    return high


def _rounded(epsilon: Fraction) -> Fraction:
    return max(round(epsilon / _LEAST), 1) * _LEAST


def _worst(plan: Plan, rows: int | None, share: bool) -> float:
    """The largest error over the outputs, in their own unit or as a share of their largest value."""
    noisy = [output for output in plan.outputs if output.formula.measures]
    for output in noisy:
        if rows is None and (share or not isinstance(output.formula, (Linear, MapFormula))):
            raise QuestionError(
                f"How exact {output.name!r} is depends on how many rows a cell has. Say about how many: rows=1000."
            )
    worst, errors = 0.0, {each.name: each for each in plan.errors_at(rows or 1)}
    if noisy and not errors:
        listed = ", ".join(repr(output.name) for output in noisy)
        raise QuestionError(f"How far {listed} may be off is not known before: there is no +/-. Ask with an epsilon.")
    for output in noisy:
        if output.name not in errors:  # a rank, a yes or no: it is decided by noisy numbers, and has no +/-
            continue
        found = errors[output.name]
        error = found.within_95 if found.at_most_95 is None else found.at_most_95  # wherever the values lie
        worst = max(worst, error / (_size(plan, output.formula, rows or 1) if share else 1.0))
    return worst


def _size(plan: Plan, formula: object, rows: int) -> float:
    """The largest size of an output over `rows` rows."""
    if isinstance(formula, Linear):
        per_row = sum(
            abs(factor) * (plan.measures[place].largest if plan.measures[place].kind == "sum" else 1)
            for place, factor in formula.terms
        )
        return float(per_row) * rows
    if isinstance(formula, Mean):
        return float(max(abs(formula.low), abs(formula.high)))
    if isinstance(formula, Variance):
        return float(formula.largest)
    if isinstance(formula, Root):
        return math.sqrt(_size(plan, formula.inside, rows))
    raise QuestionError('A share ("5%") is understood for counts, sums, means and variances. Give a number instead.')
