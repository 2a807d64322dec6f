"""EXISTS and semi-joins with a public table: true or false on every row, also beside NULL, as DuckDB has it."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

from tacit.curator import Curator
from tacit.errors import QuestionError
from tacit.loss import Budget
from tacit.policy import ColumnUnit, Policy, Source, Table, anything
from tests.memory import fresh

VISITS = pa.table({"patient": list(range(8)), "ward": ["A", "A", "B", None, None, "C", "C", "C"]})
PUBLIC = {
    "plain": pa.table({"ward": ["A", "B"]}),
    "with a NULL": pa.table({"ward": ["A", None]}),
    "of twins": pa.table({"ward": ["A", "A", "C"]}),
}
INSIDE = "(SELECT 1 FROM wards w WHERE w.ward = v.ward)"
QUESTIONS = (
    f"SELECT count(*) FROM visits v WHERE EXISTS {INSIDE}",
    f"SELECT count(*) FROM visits v WHERE NOT EXISTS {INSIDE}",
    f"SELECT count(*) FROM visits v WHERE NOT (EXISTS {INSIDE} AND v.ward = 'A')",
    f"SELECT count(*) FROM visits v WHERE CASE WHEN EXISTS {INSIDE} THEN 1 ELSE 0 END = 0",
    "SELECT count(*) FROM visits v WHERE ward IN (SELECT ward FROM wards)",
    "SELECT count(*) FROM visits v WHERE ward NOT IN (SELECT ward FROM wards)",
    "SELECT count(*) FROM visits v SEMI JOIN wards w ON v.ward = w.ward",
    "SELECT count(*) FROM visits v ANTI JOIN wards w ON v.ward = w.ward",
    "SELECT count(*) FROM visits v ANTI JOIN wards w ON v.ward = w.ward WHERE v.ward = 'C' OR v.ward IS NULL",
)


def opened(wards: pa.Table) -> Curator:
    ward = {"ward": anything().column("ward", "text")}
    tables = {
        "visits": Table("visits", Source("frame", "visits"), ColumnUnit("patient"), 1, ward),
        "wards": Table("wards", Source("frame", "wards"), None, 1, ward, public=True),
    }
    policy = Policy("clinic", tables, Budget(10**9), largest_epsilon=Fraction(10**9))
    return Curator(policy, frames={"visits": VISITS, "wards": wards})


@pytest.mark.parametrize("name", PUBLIC)
def test_rows_are_kept_as_duckdb_keeps_them(name: str) -> None:
    # so much is spent that no noise is left: another number than the true one has probability below e**-1,000,000
    with fresh() as database, opened(PUBLIC[name]) as curator:
        database.register("visits", VISITS)
        database.register("wards", PUBLIC[name])
        for sql in QUESTIONS:
            assert curator.ask(sql, 10**6)["count"] == database.execute(sql).fetchone(), sql


def test_a_semi_join_before_another_join_or_without_a_condition_is_refused() -> None:
    with opened(PUBLIC["plain"]) as curator:
        for sql in (
            "SELECT count(*) FROM visits v SEMI JOIN wards w ON v.ward = w.ward JOIN wards u ON v.ward = u.ward",
            "SELECT count(*) FROM visits v SEMI JOIN wards w",
            "SELECT count(*) FROM visits v SEMI JOIN wards w USING (ward)",
        ):
            with pytest.raises(QuestionError):
                curator.plan(sql, 1)
