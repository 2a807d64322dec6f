"""Structural zeros: combinations of cells that no row can have, by public rules such as "age >= 16 OR income = 0".

Promise: rules are public, so they cost nothing, and they hold in every row that is drawn. A rule is read as a condition
of SQL and decided on the cells of its columns: bins are cut at the rule's constants, so that a cell keeps the rule as a
whole or breaks it as a whole; a rule that still cuts a bin is refused. The rule's columns become one clique of the
model, in which broken cells have potential minus infinity, and the model is fitted again to what was measured. All of
it happens after the release, on released numbers: post-processing.

Where the cliques would grow too large together, measured tables are left out of the second fit, the latest first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tacit import parameters
from tacit.errors import QuestionError
from tacit.policy.check import did_you_mean
from tacit.question import read, tree
from tacit.question.limits import check_text
from tacit.question.read import syntax_of
from tacit.statistics.domains import Bins
from tacit.statistics.source import Source
from tacit.synthesis.asking.points import axis_of, code_of
from tacit.synthesis.bought import public_and_bought, with_bought
from tacit.synthesis.cells import Field, Layout, layout_of
from tacit.synthesis.drawn import for_duckdb
from tacit.synthesis.merging import Merge, plain
from tacit.synthesis.model.fitting import Fitted, Measured, fit, started
from tacit.synthesis.model.marginals import marginal
from tacit.synthesis.model.tables import Columns, Table, beside
from tacit.synthesis.model.trees import Tree, cells_with, neighbours_of, tree_of
from tacit.synthesis.priors import Prior, prior_of
from tacit.synthesis.released import Release

_MOST_POINTS: Final = 1 << 20
_MOST_CELLS: Final = 1 << 22
_POINTS: Final = 2
_STEPS: Final = 400
_SCALED: Final = 50
_LEAST: Final = -50.0  # a cell that scaling empties stays possible
_UNTIL: Final = 0.7  # of the noise: the model starts further off than one without rules
_UNTIL_PRIOR: Final = 1.0  # a good prior starts as near as the truth would be


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A condition, its columns (ascending), and for each of their cells whether it holds."""

    text: str
    columns: Columns
    holds: NDArray[np.bool_]


def ruled_layout(
    source: Source,
    bins: Mapping[str, Bins] | int | str | None,
    values: Any,
    constraints: Any,
    prior: Any,
    nulls: Any = None,
) -> tuple[Layout, tuple[Rule, ...], Prior | None]:
    """The cells of a source's columns, cut where rules want it, the rules on them, and public rows to start from.

    With a prior no rare values are merged: it says more about them than the noise hides.
    """
    public, bought = public_and_bought(source, bins)
    texts = _listed(constraints)
    if bought and (texts or prior is not None):
        hint = "State the edges, or leave the others out."
        raise parameters.refuse("bins", "public where there are constraints or a prior", "private", hint)
    layout, rules = _ruled_cells(source, public, values, texts, nulls)
    layout = with_bought(layout, bought)
    before = prior_of(prior, layout.fields)
    return (layout if before is None else replace(layout, kept=frozenset(range(len(layout.fields))))), rules, before


def _ruled_cells(
    source: Source, bins: Mapping[str, Bins] | int | None, values: Any, texts: Sequence[str], nulls: Any
) -> tuple[Layout, tuple[Rule, ...]]:
    first = layout_of(source, bins, values, nulls=nulls)
    if not texts:
        return first, ()
    conditions = [_condition(text) for text in texts]
    cuts = {
        each.name: {cut for condition in conditions for cut in _cuts(condition, each)}
        for each in first.fields
        if each.values is None
    }
    layout = layout_of(source, bins, values, cuts, nulls)
    rules = tuple(_rule(text, each, layout.fields) for text, each in zip(texts, conditions, strict=True))
    return replace(layout, kept=frozenset(place for rule in rules for place in rule.columns)), rules


def kept_apart(merges: Sequence[Merge], layout: Layout) -> tuple[Merge, ...]:
    """Rare values of a rule's columns are not merged: the rule may hold for one and not for another."""
    return tuple(plain(len(own.codes)) if place in layout.kept else own for place, own in enumerate(merges))


def named_rules(rules: Sequence[Rule], prior: Prior | None = None) -> dict[str, Any]:
    """The part of them that belongs to the key of a release: another rule, or another prior, is another synthesis."""
    named: dict[str, Any] = {"constraints": [rule.text for rule in rules]} if rules else {}
    return named if prior is None else named | prior.named()


def ruled(release: Release, known: Sequence[Measured], rules: Sequence[Rule], prior: Prior | None = None) -> Release:
    """The release with a model that keeps the rules and starts from a prior, fitted to what was measured (`known`)."""
    if not rules and prior is None:
        return release
    sizes = [each.size for each in release.merges]
    before = None if prior is None else prior.over(release.merges)
    model, used = _tree([rule.columns for rule in rules], known, sizes, () if before is None else before.pairs(sizes))
    masks = [_mask(model, rules, place) for place in range(len(model.cliques))]
    total = release.fitted.total
    until = _UNTIL if before is None else _UNTIL_PRIOR
    start = _started(model, release.fitted, rules) if before is None else before.potentials(model)
    begun = [own + mask for own, mask in zip(start, masks, strict=True)]
    found = fit(model, used, total, before=Fitted(model, tuple(begun), total), steps=_STEPS, until=until)
    potentials = tuple(own + mask for own, mask in zip(found.potentials, masks, strict=True))
    facts = {**release.facts, **named_rules(rules, prior)}
    return replace(release, fitted=Fitted(model, potentials, total), facts=facts)


def _started(model: Tree, before: Fitted, rules: Sequence[Rule]) -> list[Table]:
    """The earlier model, with each rule's table replaced by one that keeps the rule and has the same columns.

    Only leaving out broken cells would take rows from one side: without children who have an income, there would be too
    few children.
    """
    found = started(model, before)
    tables = before.cliques()
    for rule in rules:
        old = marginal(before.tree, tables, rule.columns)
        place = model.holder(rule.columns)
        assert place is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.where(rule.holds & (old > 0), np.log(_keeping(old, rule.holds)) - np.log(old), 0.0)
        found[place] = found[place] + beside(np.maximum(moved, _LEAST), rule.columns, model.cliques[place])
    return found


def _keeping(table: Table, holds: NDArray[np.bool_]) -> Table:
    """The table without the broken cells, scaled until its columns are as before (iterative proportional fitting)."""
    axes = range(table.ndim)
    singles = [table.sum(axis=tuple(other for other in axes if other != axis), keepdims=True) for axis in axes]
    found = np.where(holds, table, 0.0)
    for _ in range(_SCALED):
        for axis in axes:
            own = found.sum(axis=tuple(other for other in axes if other != axis), keepdims=True)
            found = found * np.divide(singles[axis], own, out=np.zeros_like(own), where=own > 0)
    return np.asarray(found)


def _tree(
    sets: list[Columns], known: Sequence[Measured], sizes: Sequence[int], more: Sequence[Columns]
) -> tuple[Tree, list[Measured]]:
    kept, used = list(sets), []
    for each in known:
        if _fits(kept, each.columns, sizes):
            kept.append(each.columns)
            used.append(each)
    for columns in more:
        if _fits(kept, columns, sizes):
            kept.append(columns)
    return tree_of(kept, sizes), used


def _fits(kept: Sequence[Columns], columns: Columns, sizes: Sequence[int]) -> bool:
    return cells_with(neighbours_of(kept, len(sizes)), columns, sizes) <= _MOST_CELLS


def _mask(model: Tree, rules: Sequence[Rule], place: int) -> Table:
    """0 where all rules of this clique hold, minus infinity elsewhere."""
    clique = model.cliques[place]
    found = np.zeros(tuple(model.sizes[each] for each in clique))
    for rule in rules:
        if model.holder(rule.columns) == place:
            found = found + np.where(beside(rule.holds, rule.columns, clique), 0.0, -np.inf)
    return found


# -- reading -----------------------------------------------------------------------------------------------


def _listed(constraints: Any) -> list[str]:
    if constraints is None:
        return []
    given = [constraints] if isinstance(constraints, str) else constraints
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise parameters.refuse("constraints", 'conditions in SQL, e.g. ["age >= 16 OR income = 0"]', constraints)
    texts = list(given)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise parameters.refuse("constraints", 'conditions in SQL, e.g. ["age >= 16 OR income = 0"]', text)
    return texts


def _condition(text: str) -> tree.Scalar:
    try:
        alone, _ = syntax_of(check_text(text))  # read by itself, so that its brackets do not reach beyond it
    except QuestionError:
        alone = []
    if len(alone) != 1 or not isinstance(alone[0], exp.Condition):
        raise QuestionError(f"A constraint is one condition in SQL, such as age >= 16 OR income = 0. Got {text!r}.")
    question = read(f"SELECT count(*) FROM the_rows WHERE ({text})")  # noqa: S608  # read, never run as it is
    plain_table = isinstance(question.source, tree.Named) and not question.joins and not question.keys
    if not plain_table or question.where is None or len(question.outputs) != 1 or question.privacy is not None:
        raise QuestionError(f"A constraint is one condition on a row, and {text!r} is more.")
    for node in tree.walk(question.where):
        if isinstance(node, (tree.InRows, tree.Inner, tree.Exists, tree.Over, tree.Total, tree.Aggregate)):
            raise QuestionError(f"A constraint is a condition on one row: no SELECT stands in {text!r}.")
    return question.where


def _cuts(condition: tree.Scalar, field: Field) -> Iterable[int]:
    for node in tree.walk(condition):
        if isinstance(node, tree.Literal):
            yield from code_of(field, node.value) or ()


def _rule(text: str, condition: tree.Scalar, fields: Sequence[Field]) -> Rule:
    known = {each.name.casefold(): place for place, each in enumerate(fields)}
    columns = set()
    for node in tree.walk(condition):
        if isinstance(node, tree.Name):
            if node.column.casefold() not in known:
                names = [each.name for each in fields]
                hint = did_you_mean(node.column, names)
                raise QuestionError(f"Column {node.column!r} of {text!r} is not among {', '.join(names)}.{hint}")
            columns.add(known[node.column.casefold()])
    places = tuple(sorted(columns))
    if not places or math.prod(fields[place].size for place in places) > _MOST_CELLS:
        raise QuestionError(f"Constraint {text!r} must name columns with at most {_MOST_CELLS:,} cells together.")
    return Rule(text, places, _holds(text, places, fields))


def _holds(text: str, places: Columns, fields: Sequence[Field]) -> NDArray[np.bool_]:
    """For each cell whether the condition holds; refused where a bin has values of both kinds."""
    axes = [axis_of(fields[place], (), _POINTS) for place in places]
    shape = tuple(len(axis.cells) for axis in axes)
    if math.prod(shape) > _MOST_POINTS:
        raise QuestionError(f"Constraint {text!r} is about too many cells. Cut its columns into fewer bins.")
    grid = np.indices(shape).reshape(len(axes), -1)
    arrays: dict[str, Any] = {f"c{at}": for_duckdb(axis.values[own]) for at, (axis, own) in _numbered(axes, grid)}
    named = ", ".join(
        f'{f"CAST(c{at} AS DATE)" if fields[place].kind == "date" else f"c{at}"} AS "{_quoted(fields[place].name)}"'
        for at, place in enumerate(places)
    )
    try:
        with duckdb.connect(config={"enable_external_access": "false"}) as connection:
            connection.register("tacit_arrays", {**arrays, "tacit_at": np.arange(grid.shape[1])})
            unknown = str(any(fields[place].nullable for place in places)).lower()  # for missing values, as in a CHECK
            query = f"SELECT coalesce(({text}), {unknown}) AS holds FROM (SELECT {named}, tacit_at FROM tacit_arrays)"  # noqa: S608  # read before
            told = np.asarray(connection.execute(f"{query} ORDER BY tacit_at").fetchnumpy()["holds"], dtype=bool)
    except duckdb.Error as problem:
        raise QuestionError(f"Constraint {text!r} cannot be decided: {str(problem).splitlines()[0]}") from None
    sizes = tuple(fields[place].size for place in places)
    cells = np.ravel_multi_index(tuple(axis.cells[own] for axis, own in zip(axes, grid, strict=True)), sizes)
    points, true = (np.bincount(cells, weights, minlength=math.prod(sizes)) for weights in (None, told))
    if np.any((true > 0) & (true < points)):
        hint = "Compare columns in bins with constants, or give the edges: bins={...}."
        raise QuestionError(f"Constraint {text!r} holds for a part of a bin only. {hint}")
    if not true.any():
        raise QuestionError(f"Constraint {text!r} holds for no row at all.")
    return np.asarray(true > 0).reshape(sizes)


def _numbered(axes: Sequence[Any], grid: Any) -> Iterable[tuple[int, tuple[Any, Any]]]:
    return enumerate(zip(axes, grid, strict=True))


def _quoted(name: str) -> str:
    return name.replace('"', '""')
