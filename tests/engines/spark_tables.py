"""A Spark worker that can also be told to make tables, views and files: what a test needs and an engine never does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.engines import spark_worker


class Worker(spark_worker.Worker):
    """The worker itself, and commands."""

    def _tasks(self) -> Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {**super()._tasks(), "command": self._command}

    def _command(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"rows": [[_plain(value) for value in row] for row in self._spark.sql(request["sql"]).collect()]}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, str)) else str(value)


def command(session: Any, sql: str) -> Sequence[Sequence[Any]]:
    """What a command gives, run in the session of a test."""
    rows: Sequence[Sequence[Any]] = session.worker.ask({"task": "command", "sql": sql}, 600.0)["rows"]
    return rows


if __name__ == "__main__":
    spark_worker.main(Worker)
