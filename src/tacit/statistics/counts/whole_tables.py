"""Consistent tables in whole numbers: every table non-negative, and any two with the same marginal, exactly.

Theorem. Let I be the family of all intersections of asked sets (and the empty set, whose table is the total). Process I
and the asked sets by size. Give a set A whose largest proper subsets in I are
  * none but the empty set, or one set B: for each cell of B, whole numbers that add up to B's;
  * two sets B and C: for each cell of their intersection (in I, and done), a whole matrix with B's cells as row sums
    and C's as column sums; both add up to the intersection's cell, so such a matrix exists (the transportation
    problem); then the columns of A outside B and C as in the first case.
Any two asked tables then agree on the columns they share, because both agree with the table of their intersection.
With three or more largest subsets (all 3-way tables of 4 columns, say) whole tables with given marginals need not exist
even where real ones do. Then a whole joint table is looked for, where there are few enough cells, whose marginals are
always consistent. With too many cells the answer is `None`, and the caller keeps real numbers.

Each number is at least the floor of the real one where the given tables are consistent, and near to it: rests go to the
cells with the largest fractional parts. All of it is post-processing of released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.counts.marginals import Columns, Lattice, Table, marginal
from tacit.statistics.source import Whole

MOST_JOINT = 1 << 12


def whole_tables(lattice: Lattice, tables: Mapping[Columns, Table]) -> dict[Columns, Whole] | None:
    """Whole, non-negative, mutually consistent tables near `tables`; None where they cannot be found."""
    order = family(lattice.asked)
    if all(len(largest_inside(each, order)) <= 2 for each in order):
        return _by_size(lattice, tables, order)
    if math.prod(lattice.sizes) <= MOST_JOINT:
        return _by_joint(lattice, tables)
    return None


def family(asked: Sequence[Columns]) -> list[Columns]:
    """The asked sets and all their intersections, by size."""
    found = {frozenset(each) for each in asked} | {frozenset[int]()}
    while True:
        more = {one & other for one in found for other in found} - found
        if not more:
            return sorted((tuple(sorted(each)) for each in found), key=lambda each: (len(each), each))
        found |= more


def largest_inside(columns: Columns, sets: Sequence[Columns]) -> list[Columns]:
    """The sets strictly inside `columns` that lie in no other such set."""
    inside = [set(each) for each in sets if set(each) < set(columns)]
    return [tuple(sorted(each)) for each in inside if not any(each < other for other in inside)]


def _by_size(lattice: Lattice, tables: Mapping[Columns, Table], order: Sequence[Columns]) -> dict[Columns, Whole]:
    done: dict[Columns, Whole] = {}
    for columns in order:
        home = next(each for each in lattice.asked if set(columns) <= set(each))
        real = np.maximum(marginal(np.maximum(tables[home], 0.0), home, columns), 0.0)
        if not columns:
            done[columns] = np.asarray(np.rint(np.mean([tables[each].sum() for each in lattice.asked])), dtype=np.int64)
            done[columns] = np.maximum(done[columns], 0)
            continue
        known = largest_inside(columns, order)
        done[columns] = _fitted(real, columns, [(each, done[each]) for each in known])
    return {each: done[each] for each in lattice.asked}


def _fitted(real: Table, columns: Columns, known: Sequence[tuple[Columns, Whole]]) -> Whole:
    """A whole table near `real` with the known marginals, one or two of them."""
    rows = known[0][0]
    others = known[1][0] if len(known) == 2 else ()
    shared = tuple(place for place in rows if place in others)
    free = tuple(place for place in columns if place not in rows and place not in others)
    groups = (
        shared,
        tuple(place for place in rows if place not in shared),
        tuple(place for place in others if place not in shared),
        free,
    )
    order = [columns.index(place) for group in groups for place in group]
    shape = tuple(real.shape[axis] for axis in order)
    lengths = [math.prod(real.shape[columns.index(place)] for place in group) for group in groups]
    cube = np.transpose(real, order).reshape(lengths)
    row_sums = _arranged(known[0], groups[0] + groups[1]).reshape(lengths[0], lengths[1])
    if others:
        column_sums = _arranged(known[1], groups[0] + groups[2]).reshape(lengths[0], lengths[2])
        planes = [_matrix(cube[at].sum(axis=2), row_sums[at], column_sums[at]) for at in range(lengths[0])]
        targets = np.stack(planes)
    else:
        targets = row_sums[:, :, None]
    flat = _shared_out(cube.reshape(-1, lengths[3]), targets.reshape(-1))
    return np.ascontiguousarray(np.transpose(flat.reshape(shape), np.argsort(order)))


def _arranged(known: tuple[Columns, Whole], order: Columns) -> Whole:
    columns, table = known
    return np.transpose(table, [columns.index(place) for place in order]) if columns else table


def _shared_out(real: Table, totals: Whole) -> Whole:
    """Whole numbers for each row of `real` that add up to its total: floors, and the rest to the largest fractions."""
    if real.shape[1] == 1:
        return totals.reshape(-1, 1)
    found = np.floor(real).astype(np.int64)
    left = totals - found.sum(axis=1)
    ranked = np.argsort(np.argsort(found - real, axis=1, kind="stable"), axis=1)
    once, more = np.divmod(np.maximum(left, 0), real.shape[1])
    found += once[:, None] + (ranked < more[:, None])
    for row in np.flatnonzero(left < 0):  # floors above the total: only where the real table was not consistent
        _take(found[row], int(-left[row]))
    return found


def _take(row: NDArray[np.int64], excess: int) -> None:
    """Lower the largest numbers of the row, in place, by `excess` in all."""
    for place in np.argsort(-row, kind="stable"):
        taken = min(int(row[place]), excess)
        row[place] -= taken
        excess -= taken
        if not excess:
            return


def _matrix(real: Table, row_sums: Whole, column_sums: Whole) -> Whole:
    """A whole non-negative matrix near `real` with these sums, both of which have one total."""
    found = np.floor(real).astype(np.int64)
    for row in range(found.shape[0]):
        _take(found[row], max(int(found[row].sum() - row_sums[row]), 0))
    for column in range(found.shape[1]):
        _take(found[:, column], max(int(found[:, column].sum() - column_sums[column]), 0))
    rows, columns = (row_sums - found.sum(axis=1)).tolist(), (column_sums - found.sum(axis=0)).tolist()
    order = np.argsort((found - real).reshape(-1), kind="stable").tolist()
    width = found.shape[1]
    # one to each cell by its fraction, then the rest anywhere: rows and columns have equal rests
    for most in (1, None):
        for place in order:
            row, column = divmod(place, width)
            given = min(rows[row], columns[column]) if most is None else min(rows[row], columns[column], most)
            if given:
                found[row, column] += given
                rows[row] -= given
                columns[column] -= given
    return found


def _by_joint(lattice: Lattice, tables: Mapping[Columns, Table]) -> dict[Columns, Whole]:
    """Marginals of a whole joint table, grown one row at a time where the tables lack most."""
    whole = tuple(range(len(lattice.sizes)))
    total = max(round(float(np.mean([table.sum() for table in tables.values()]))), 0)
    joint = np.floor(_real_joint(lattice, tables, total)).astype(np.int64)
    lacks = {each: tables[each] - marginal(joint, whole, each) for each in lattice.asked}
    score = np.zeros(lattice.sizes)
    for each, lack in lacks.items():
        score += _lifted(lattice, each, lack)
    for _ in range(max(total - int(joint.sum()), 0)):
        place = np.unravel_index(int(np.argmax(score)), joint.shape)
        joint[place] += 1
        for each in lattice.asked:
            slots = tuple(place[axis] if axis in each else slice(None) for axis in whole)
            score[slots] -= 1.0
    return {each: marginal(joint, whole, each) for each in lattice.asked}


def _real_joint(lattice: Lattice, tables: Mapping[Columns, Table], total: int) -> Table:
    """A non-negative joint table whose marginals are near `tables`: scaled to each of them in turn, many times."""
    whole = tuple(range(len(lattice.sizes)))
    joint = np.full(lattice.sizes, total / math.prod(lattice.sizes))
    for _ in range(100):
        for each in lattice.asked:
            have = marginal(joint, whole, each)
            ratio = np.divide(np.maximum(tables[each], 0.0), have, out=np.zeros_like(have), where=have > 0)
            joint = joint * _lifted(lattice, each, ratio)
    if joint.sum() <= 0:  # no joint table has these zeros: begin with the even one
        return np.full(lattice.sizes, total / math.prod(lattice.sizes))
    return np.asarray(joint * (total / joint.sum()))


def _lifted(lattice: Lattice, columns: Columns, table: Table) -> Table:
    shape = tuple(size if place in columns else 1 for place, size in enumerate(lattice.sizes))
    return np.broadcast_to(table.reshape(shape), lattice.sizes)
