"""What a column of each kind may be read from, the same on every engine; each engine reads it in its own way.

Promise: the kinds that can be read are listed once. An engine that lacks a reader does not start, because every reader
is an argument here; and a column that is stated as one kind and found as another is refused in the same words
everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from tacit.engines.sources import kind_of
from tacit.errors import PolicyError
from tacit.policy.columns import Column, Kind

R = TypeVar("R")
Readers: TypeAlias = Mapping[tuple[Kind, Kind], R]
"""Readers by the kind that the policy states and the kind that the source holds."""


def readers(
    *,
    integer: R,
    whole_of_real: R,
    whole_of_text: R,
    truth: R,
    truth_in_text: R,
    zero_or_one: R,
    double: R,
    days_of_date: R,
    days_of_timestamp: R,
    days_of_text: R,
    micros_of_timestamp: R,
    micros_of_date: R,
    micros_of_text: R,
    text: R,
) -> Readers[R]:
    """The readers of an engine."""
    return {
        ("integer", "integer"): integer,
        ("integer", "real"): whole_of_real,
        ("integer", "text"): whole_of_text,
        ("integer", "boolean"): truth,
        ("real", "integer"): double,
        ("real", "real"): double,
        ("real", "text"): double,
        ("boolean", "boolean"): truth,
        ("boolean", "integer"): zero_or_one,
        ("boolean", "real"): zero_or_one,
        ("boolean", "text"): truth_in_text,
        ("date", "date"): days_of_date,
        ("date", "timestamp"): days_of_timestamp,
        ("date", "text"): days_of_text,
        ("timestamp", "timestamp"): micros_of_timestamp,
        ("timestamp", "date"): micros_of_date,
        ("timestamp", "text"): micros_of_text,
        ("text", "text"): text,
        ("text", "integer"): text,
        ("text", "real"): text,
        ("text", "boolean"): text,
        ("text", "date"): text,
        ("text", "timestamp"): text,
    }


def reader_of(known: Readers[R], column: Column, engine_type: str) -> R:
    """The reader for a column that the source holds as this type, or a refusal."""
    source = kind_of(engine_type)
    reader = known.get((column.kind, source)) if source else None
    if reader is None:
        raise PolicyError(f"Column {column.name!r} is stated as {column.kind}, but the source holds {engine_type}.")
    return reader
