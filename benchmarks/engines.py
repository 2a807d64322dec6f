"""PostgreSQL and Spark: pushed-down questions against the plain query on the same engine, 10,000,000 rows.

Bar: at most 2.5x. The four shapes of `_sql_data`, run through the engine (the ledger is measured in `sql`).
PostgreSQL is started from the machine's binaries without parallel workers, so that one process does the work and its
CPU can be read. Without a working copy (`working_copy = "query"`) contributions are bounded inside every question: bar
8x of the plain query, at half the rows. Spark runs locally in its own environment, where wall-clock time is compared.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _peers import Told, listen, python_of
from _sql_data import CATEGORIES, KEPT_PER_USER, MOST, REGIONS, ROWS, SHAPES, write

RUNS = 3
IN_QUESTION = 8.0
POLICY = """
name = "purchases"
source = "postgres:$TACIT_BENCH"
working_copy = "{copy}"

[budget]
epsilon = 100000

[questions]
largest_epsilon = 10

[tables.purchases]
unit = "user_id"
rows_per_unit = {kept}

[tables.purchases.columns]
category = {{ type = "integer", one_of = {categories}, nullable = false }}
region = {{ type = "text", one_of = {regions}, nullable = false }}
amount = {{ type = "real", between = [0.0, {most}], nullable = false }}
"""
FAST = {
    "shared_buffers": "2GB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "8GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_parallel_workers_per_gather": "0",
}


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], object], process: int) -> float:
    before = cpu_of(process)
    work()
    return cpu_of(process) - before


def postgres(folder: Path) -> list[str]:
    """The rows of the table in PostgreSQL."""
    import psycopg
    import pyarrow.parquet as parquet
    from tests.postgres_server import running

    from tacit.engines.postgres.engine import PostgresEngine
    from tacit.plan import make_plan
    from tacit.policy.read import parse
    from tacit.question import read

    with running(where=str(folder), **FAST) as server:
        url = os.environ["TACIT_BENCH"] = server.url()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE purchases (user_id BIGINT, category INT, region TEXT, amount DOUBLE PRECISION)"
            )
            with connection.cursor().copy("COPY purchases FROM STDIN") as copied:
                for batch in parquet.ParquetFile(folder / "purchases.parquet").iter_batches(100_000):
                    columns = [column.to_pylist() for column in batch.columns]
                    copied.write("".join(f"{a}\t{b}\t{c}\t{d}\n" for a, b, c, d in zip(*columns, strict=True)))
            connection.execute("VACUUM ANALYZE purchases")
        listed = {"categories": list(CATEGORIES), "regions": str(list(REGIONS)).replace("'", '"')}
        copied, queried = (
            parse(POLICY.format(copy=copy, kept=KEPT_PER_USER, most=MOST, **listed)) for copy in ("copied", "query")
        )
        started = time.perf_counter()
        engine = PostgresEngine.register(copied)
        took = time.perf_counter() - started
        lines = [f"Registration {took:.0f} s.", ""]
        with psycopg.connect(url, autocommit=True) as plain:
            plain.execute("SET jit = off")
            plain.execute("SET work_mem = '128MB'")
            plain.execute(f'VACUUM "{engine._found.copy.schema}".purchases')

            def compared(engine: PostgresEngine, policy: object, bar: float) -> list[str]:
                engine.is_stale()
                ours, theirs = engine._session._connection.info.backend_pid, plain.info.backend_pid
                found = ["| shape | pushed down | plain | ratio |", "|---|---|---|---|"]
                for name, text in SHAPES.items():
                    figures: list[tuple[float, float]] = []
                    for run in range(RUNS):
                        sql = text.format(limit=100 + run)
                        query = make_plan(read(sql), policy, epsilon=1).query  # type: ignore[arg-type]
                        mine = timed(lambda query=query: engine.run(query), ours)  # type: ignore[misc]
                        figures.append((mine, timed(lambda sql=sql: plain.execute(sql).fetchall(), theirs)))  # type: ignore[misc]
                    a, b = (median(each) for each in zip(*figures, strict=True))
                    met = "met" if a <= bar * b else "NOT MET"
                    found.append(f"| {name} | {a:.2f} s | {b:.2f} s | {a / b:.2f}x {met} |")
                engine.close()
                return found

            lines += compared(engine, copied, 2.5)
            plain.execute(f"DELETE FROM purchases WHERE user_id >= {ROWS // 20}")
            plain.execute("VACUUM FULL ANALYZE purchases")
            lines += ["", f"Without a working copy, on about {ROWS // 2:,} of the rows. Bar: {IN_QUESTION}x.", ""]
            lines += compared(PostgresEngine.register(queried), queried, IN_QUESTION)
    return lines


def spark(told: Told) -> list[str]:
    if told.trouble:
        return [f"Spark: {told.trouble}."]
    lines = [f"Registration {told.lines[0]['registration']:.0f} s.", "", "| shape | pushed down | plain | ratio |"]
    lines.append("|---|---|---|---|")
    for line in told.lines[1:-1]:
        a, b = line["ours"], line["plain"]
        verdict = "met" if a <= 2.5 * b else "NOT MET"
        lines.append(f"| {line['shape']} | {a:.2f} s | {b:.2f} s | {a / b:.2f}x {verdict} |")
    return lines


def main() -> str:
    with tempfile.TemporaryDirectory(prefix="tacit-engines-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server runs as another user where we are root
        write(folder, ROWS)
        on_postgres = postgres(folder)
        told = listen("_engines_spark.py", name, RUNS, python=python_of("spark"), seconds=1200.0)
    sections = [f"## Engines\n\n{ROWS:,} rows; medians of {RUNS} runs in turns. Bar: 2.5x."]
    sections += ["PostgreSQL, seconds of CPU. " + "\n".join(on_postgres)]
    sections += ["Spark (`local[2]`), seconds of wall clock. " + "\n".join(spark(told))]
    return "\n\n".join(sections)


if __name__ == "__main__":
    print(main())
