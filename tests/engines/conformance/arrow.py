"""Tables of tests in memory: Arrow's types for the types that `Rows` names as DuckDB does."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tests.engines.conformance.tables import Rows

_KINDS = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "BOOLEAN": pa.bool_(),
}


def arrow(tables: Mapping[str, Rows]) -> dict[str, pa.Table]:
    """The tables by their names."""
    return {
        name: pa.Table.from_pylist(list(each.rows), schema=pa.schema([(c, _KINDS[k]) for c, k in each.types.items()]))
        for name, each in tables.items()
    }
