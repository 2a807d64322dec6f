"""A table of 1,000,000 rows and 20 columns: `mst` with all tables counted in an engine, and 1,000,000 rows drawn.

    python benchmarks/_synthesis_large.py duckdb|postgres|spark

Columns hang together in a chain: each repeats its neighbour's value in half of the rows. Setting up (reading the file
into the engine and registering it) is not counted; what the engine's own processes use is, but for a PostgreSQL server.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

import tacit
from _cost import measured, peak_of_tree
from _peers import tell
from tacit import synthesis

ROWS, COLUMNS, VALUES = 1_000_000, 20, 16
NAMES = [f"c{place}" for place in range(COLUMNS)]
POLICY = """
name = "large"
{source}

[budget]
epsilon = 10
delta = 1e-6

[questions]
largest_epsilon = 10

[tables.data]
{table}
unit = "row"

[tables.data.columns]
"""
SOURCES = {
    "duckdb": 'source = "data.parquet"',
    "postgres": 'source = "postgres:$TACIT_BENCH"\nworking_copy = "copied"',
    "spark": 'source = "local[2]"\nworking_copy = "copied"',
}
TABLES = {"duckdb": "", "postgres": "", "spark": 'table = "data.parquet"'}


def write(folder: Path, engine: str) -> Path:
    """The rows as a Parquet file, and the policy."""
    columns = ["CAST(hash(i * 31) % 16 AS INTEGER) AS c0"]
    for place in range(1, COLUMNS):
        fresh = f"CAST(hash(i * 31 + {place}) % 16 AS INTEGER)"
        columns.append(f"CASE WHEN hash(i * 37 + {place}) % 2 = 0 THEN c{place - 1} ELSE {fresh} END AS c{place}")
    with duckdb.connect() as connection:
        made = f"SELECT {', '.join(columns)} FROM range({ROWS}) AS t(i)"
        connection.execute(f"COPY ({made}) TO '{(folder / 'data.parquet').as_posix()}' (FORMAT parquet)")
    facts = [f'{name} = {{ type = "integer", between = [0, {VALUES - 1}], nullable = false }}' for name in NAMES]
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(source=SOURCES[engine], table=TABLES[engine]) + "\n".join(facts) + "\n")
    return policy


@contextlib.contextmanager
def served(folder: Path) -> Iterator[None]:
    """The rows in a PostgreSQL server of their own."""
    import psycopg

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.postgres_server import running

    with running(where=str(folder), fsync="off", synchronous_commit="off") as server:
        os.environ["TACIT_BENCH"] = server.url()
        with psycopg.connect(server.url(), autocommit=True) as connection, duckdb.connect() as reader:
            connection.execute(f"CREATE TABLE data ({', '.join(f'{name} INT' for name in NAMES)})")
            reader.execute(f"COPY (FROM '{folder / 'data.parquet'}') TO '{folder / 'data.csv'}' (HEADER false)")
            with connection.cursor().copy("COPY data FROM STDIN (FORMAT csv)") as copied:
                copied.write((folder / "data.csv").read_bytes())
            connection.execute("VACUUM ANALYZE data")
        yield


def main(engine: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # a database server runs as another user
        os.environ["TACIT_STATE"] = str(folder / "state")
        policy = write(folder, engine)
        with served(folder) if engine == "postgres" else contextlib.nullcontext(), tacit.open(policy) as curator:
            rows = curator.rows(f"SELECT {', '.join(NAMES)} FROM data")
            with measured() as cost:
                twin = synthesis.mst(rows, epsilon=1, delta="1e-9")
            memory = peak_of_tree() / 2**30
            with measured() as drawing:
                twin.sample(1_000_000)
        tell(engine=engine, wall=cost.wall, cpu=cost.cpu, memory=memory, drawing=drawing.cpu)
    tell(done=True)


if __name__ == "__main__":
    main(sys.argv[1])
