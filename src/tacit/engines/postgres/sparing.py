"""A table's rows bounded inside a question, where there is no copy: only units with too many rows are ranked.

Promise: the rows are those of `registration.copy_of`. All rows of a unit with at most `rows_per_unit` rows are kept, so
they need no ranks. `Sparing.copy` puts the copy together from the rows of both kinds of units; a sum over its rows is
also the sum over all rows less the sum over those which the bound cuts off (`additive`), which saves testing the kind
of every row.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tacit.engines.registration import (
    ROW,
    Flavour,
    bounded_rows,
    names_of,
    typed_rows,
    units_are_whole,
    whose,
    with_ranks,
)
from tacit.engines.sources import Relation
from tacit.plan.sources.scope import RANK
from tacit.policy.policy import Policy
from tacit.policy.units import ColumnUnit, RowUnit

_ONCE: Final = " OFFSET 0"  # keeps an optimiser from computing an expression where it is tested and where it is used


@dataclass(frozen=True, slots=True)
class Sparing:
    """A table's rows in parts, for an engine that has to bound them again for every question.

    `many` lists hashes of units, named `tacit_key`; the other parts read it under the name `tacit_many`. `every` is all
    rows, `few` those of units that are not listed, and `ranked` the others with their ranks. The first `rows` rows of
    each unit in `ranked` are kept; together with `few` they are the copy, and so is `every` without the ranks beyond.
    """

    many: str
    every: str
    few: str
    ranked: str
    rows: int

    def copy(self) -> str:
        """The rows of the copy, without ranks where none were needed."""
        return (
            f"WITH tacit_many AS MATERIALIZED ({self.many}) SELECT * FROM ({self.few}) AS tacit_few "
            f"UNION ALL SELECT * FROM ({self.ranked}) AS tacit_others WHERE {RANK} <= {self.rows:d}"
        )

    def cut(self) -> str:
        """The rows that the copy leaves out, where `tacit_many` is already named."""
        return f"SELECT * FROM ({self.ranked}) AS tacit_others WHERE {RANK} > {self.rows:d}"


def sparing_copy_of(
    policy: Policy,
    name: str,
    relations: Mapping[str, Relation],
    flavour: Flavour,
    hashed: Callable[[str, bool], str],
    long_keys: Flavour,
) -> Sparing | None:
    """The parts of `copy_of`: rows of units with too many rows are ranked, by the same rule, and no others.

    All rows of a unit with at most `rows_per_unit` rows are kept. Units are counted by a hash (`hashed` writes it, of
    whole numbers or of texts) and before anything is cleaned, which can only leave more units to be ranked. Counting is
    done by sorting hashes, which takes the same time in whatever order the rows came. A unit that is a column of the
    table is hashed as it is written there (`long_keys`), which costs less than the key it is compared by and
    distinguishes as many. A hash is NULL where the unit is NULL: testing that for a group costs less than for every
    row, whose unit may be a long expression. Returns None where one of the rows that share a key is kept, or nothing is
    bounded.

    The hash 0 is always listed, whether or not there is such a unit: with no units to rank, the server would not read
    the table for them, and the time would reveal one person with many rows.
    """
    table = policy.tables[name]
    if table.public or table.key is not None or isinstance(table.unit, RowUnit):
        return None
    unit, joins = whose(policy, table, relations, flavour)
    own = whose(policy, table, relations, long_keys)[0] if isinstance(table.unit, ColumnUnit) else unit
    found = hashed(own, units_are_whole(policy, relations))
    source = f"{relations[name].sql} AS {ROW}{joins}"
    many = (
        f"SELECT tacit_key FROM (SELECT {found} AS tacit_key FROM {source} ORDER BY 1{_ONCE}) AS tacit_all "
        f"GROUP BY tacit_key HAVING count(*) > {table.rows_per_unit:d} AND tacit_key IS NOT NULL UNION ALL SELECT 0"
    )
    columns = names_of(table, lead=", ")
    typed = typed_rows(table, relations[name], unit, joins, flavour)
    listed = f"{found} {{}} (SELECT tacit_key FROM tacit_many)"
    every, few, others = (
        bounded_rows(table, typed + where, flavour, False, _ONCE)
        for where in ("", f" WHERE {listed.format('NOT IN')}", f" WHERE {listed.format('IN')}")
    )
    unranked = f"SELECT tacit_unit, CAST(NULL AS INTEGER) AS {RANK}{columns} FROM ({{}}) AS tacit_unranked"
    ranked = with_ranks(table, others, flavour)
    return Sparing(many, unranked.format(every), unranked.format(few), ranked, table.rows_per_unit)
