"""Registration on Spark: Spark's words for `registration`, and the form of its tables.

Promise: that of `registration`. The SQL is the shared one, with names between backticks, as Spark reads them.
Two things are Spark's own. Its hash ignores NULL, so a row is hashed as JSON, in which missing values show.
And numbers for rows or units are not consecutive, only different, so that no single machine has to count them all;
units are numbered in a table that is written down before it is used, as a number computed twice could come out
differently.
"""

# ruff: noqa: S608  # this is where SQL is written; names and values come from the policy, through `spark.quoting`

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tacit.engines.cleaning import Words
from tacit.engines.registration import copy_of, units_are_whole, units_of
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation
from tacit.engines.spark import quoting
from tacit.engines.spark.cleaning import WORDS
from tacit.policy.policy import Policy, Table


@dataclass(frozen=True, slots=True)
class SparkFlavour:
    """Spark's words for a registration. None of them has a double quote: only names have, until they are rewritten."""

    secret: Secret

    @property
    def words(self) -> Words:
        """Casts that give NULL where they cannot."""
        return WORDS

    def digest(self, values: str) -> str:
        """64 bits."""
        return f"xxhash64(to_json(struct({values})))"

    def order(self, table: str) -> str:
        """An MD5 in hexadecimal digits."""
        key = quoting.text(self.secret.key_for(f"rank of {table}"))
        return f"md5(concat({key}, CAST(tacit_digest AS STRING), ':', CAST(tacit_twin AS STRING)))"

    def number(self) -> str:
        """Numbers with gaps, each once."""
        return "monotonically_increasing_id()"


@dataclass(frozen=True, slots=True)
class Step:
    """One table to write: the policy's table it is for, its query, and whether it is only needed on the way."""

    table: str
    sql: str
    passing: bool = False


def steps(policy: Policy, relations: Mapping[str, Relation], secret: Secret) -> Iterator[Step]:
    """Every table to write, in order. Later steps find a passing table under `tacit_units`."""
    flavour = SparkFlavour(secret)
    dense = not units_are_whole(policy, relations)
    if dense:
        units = f"SELECT key, {flavour.number()} AS id FROM ({units_of(policy, relations, flavour)}) AS tacit_distinct"
        yield Step(next(iter(policy.tables)), in_backticks(units), passing=True)
    for name in policy.tables:
        yield Step(name, in_backticks(copy_of(policy, name, relations, flavour, dense=dense)))


def in_backticks(sql: str) -> str:
    """The same text with its names quoted as Spark quotes them."""
    return re.sub(r'"((?:[^"]|"")*)"', lambda name: quoting.identifier(name[1].replace('""', '"')), sql)


def columns_of(table: Table) -> str:
    """The columns of a table of the copy with their types, as Spark reads them."""
    own = [] if table.public else ["tacit_unit BIGINT", "tacit_rank INT"]
    kept = [
        f"{quoting.identifier(name)} {'STRING' if column.kind == 'text' else 'BIGINT'}"
        for name, column in table.columns.items()
    ]
    return ", ".join([*own, *kept])
