"""Questions that are not texts: an Ibis expression, by the SQL that Ibis itself writes for it.

Promise: there is no second path into a plan. The expression becomes a text, the text is read like any other, and the
reader refuses what it does not know. Ibis is not imported unless the object came from it.
"""

from __future__ import annotations

import sys
from typing import Any

from tacit.errors import QuestionError


def sql_of(asked: object) -> Any:
    """The text to read: a text as it is, an Ibis expression as DuckDB's SQL; anything else for the reader to refuse."""
    if isinstance(asked, str) or type(asked).__module__.partition(".")[0] != "ibis":
        return asked
    ibis = sys.modules["ibis"]  # a caller with one of its objects has imported it
    try:
        return str(ibis.to_sql(asked, dialect="duckdb"))
    except (ibis.common.exceptions.IbisError, AttributeError, TypeError, ValueError) as bad:
        said = " ".join(str(bad).split())[:200]
        raise QuestionError(
            f"Ibis could not write this {type(asked).__name__} as SQL: {said} Ask with an expression over "
            "ibis.table(schema, name=...), such as table.count(), or in SQL."
        ) from None
