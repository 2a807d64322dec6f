"""A Spark worker that can also be told to make tables, views and files: what a test needs and an engine never does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.engines.spark import worker as spark_worker


class Worker(spark_worker.Worker):
    """The worker itself, and commands."""

    def _tasks(self) -> Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {**super()._tasks(), "command": self._command, "profile": self._profile}

    def _command(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"rows": [[_plain(value) for value in row] for row in self._spark.sql(request["sql"]).collect()]}

    def _profile(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run a query over a working copy, and say what Spark did: final plans, rows by operator, jobs and tasks."""
        self._view(request["views"])
        context, group = self._spark.sparkContext, f"profile {self._profiled}"
        self._profiled += 1
        context.setJobGroup(group, group)
        self._frames = []
        frame, _ = self._stepped(request)
        tracker = context.statusTracker()
        jobs: list[Any] = []
        while not jobs or any(job is None or job.status == "RUNNING" for job in jobs):
            time.sleep(0.05)  # what keeps count hears of tasks, and of the end of their job, a little later
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        # Jobs that run side by side may wait for one stage, which then is in the list of each: it ran once.
        stages = [tracker.getStageInfo(stage) for stage in {stage for job in jobs for stage in job.stageIds}]
        ran = [stage.numCompletedTasks for stage in stages if stage is not None and stage.numCompletedTasks]
        plans = [each._jdf.queryExecution().executedPlan() for each in (*self._frames, frame)]
        self._frames = None
        return {
            "plan": "\n".join(plan.toString() for plan in plans),
            "operators": [operator for plan in plans for operator in _operators(plan)],
            "jobs": len(jobs),
            "stages": len(ran),
            "tasks": sum(ran),
        }

    def _kept(self, frame: Any) -> Any:
        if self._frames is not None:
            self._frames.append(frame)
        return super()._kept(frame)

    # The steps of what is profiled now. Java keeps the plans of every frame that is held here: of all that was asked,
    # they filled its memory within a hundred questions, and each took longer than the one before.
    _frames: list[Any] | None = None
    _profiled = 0


def _operators(plan: Any) -> list[list[Any]]:
    """Each operator of an executed plan, from the top: its name, and how many rows it gave (-1: it does not say)."""
    found, waiting = [], [plan]
    while waiting:
        node = waiting.pop()
        name = str(node.nodeName())
        if name.startswith("AdaptiveSparkPlan"):
            waiting.append(node.executedPlan())
            continue
        if name.endswith("QueryStage"):
            waiting.append(node.plan())
            continue
        if name.startswith("Scan parquet"):  # which table of the copy, by the name of its folder
            name = "Scan " + "".join(re.findall(r"/(\d+\.parquet)\]", str(node.toString()))[:1])
        metrics = node.metrics()
        rows = metrics.apply("numOutputRows").value() if metrics.contains("numOutputRows") else -1
        found.append([name, int(rows)])
        inside = node.children()
        waiting += [inside.apply(place) for place in reversed(range(inside.size()))]
    return found


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, str)) else str(value)


def command(session: Any, sql: str) -> Sequence[Sequence[Any]]:
    """What a command gives, run in the session of a test."""
    rows: Sequence[Sequence[Any]] = session.worker.ask({"task": "command", "sql": sql}, 600.0)["rows"]
    return rows


if __name__ == "__main__":
    spark_worker.main(Worker)
