"""How many rows every operator of a query handed on, as DuckDB itself counted them."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import duckdb


def handled(connection: duckdb.DuckDBPyConnection, text: str, public: Collection[str]) -> int:
    """The rows that all operators handed on together, apart from those that see public tables alone."""
    found = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {text}").fetchone()
    assert found is not None
    profile = json.loads(found[1])
    return sum(_rows(node, public)[0] for node in profile.get("operator", profile.get("children", [])))


def _rows(node: dict[str, Any], public: Collection[str]) -> tuple[int, bool]:
    """The rows of an operator and of those below it, and whether a private table is among what they read."""
    children = [_rows(child, public) for child in node.get("children", [])]
    kind, extra = str(node.get("type", node.get("operator_name"))), node.get("extra_info", {})
    name = str(extra.get("Table", "")).split(".")[-1].strip('"')
    private = any(each for _, each in children) or (bool(name) and name not in public) or "CTE" in kind
    own = int(node.get("intermediate_rows", node.get("operator_cardinality", 0)))
    return sum(rows for rows, _ in children) + (own if private else 0), private
