"""The Spark worker: a process of its own that holds one Spark session and does one thing at a time.

Promise: what goes wrong here stays here. Spark's messages and logs go nowhere (this process has no output but the
wire); any failure is the single word "failed". Files that Spark makes are the owner's alone. A query runs under a tag
of its own and is cancelled when its time is up; as tasks may ignore that, the process then ends, and Spark with it.
Only queries are run, never commands: what comes is put inside a SELECT. The session's settings decide what SQL means
and how much is done for it, so each is set and read back; a session that refuses one is not used. With ANSI mode off no
arithmetic raises on a row; plans keep their numbers where nothing overflows.
"""

from __future__ import annotations

import os
import re
import select
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from decimal import Decimal
from io import StringIO
from typing import Any, BinaryIO, Final
from urllib.parse import unquote

from tacit.engines import wire
from tacit.engines.spark.settings import SETTINGS

_ATTEMPTS: Final = 10  # at cancelling a query, half a second apart
_CHAR: Final = "__CHAR_VARCHAR_TYPE_STRING"  # under which Spark remembers that a text was declared char(n)
_LINES: Final = {"lineSep": "\n", "wholetext": "false"}
_READABLE: Final = ("parquet", "orc")
_REMOTE: Final = "sc://"
_BY_CHANCE: Final = re.compile(
    r"\b(?:rand|randn|uuid|shuffle|randstr|uniform)\(|"
    r"^[\s:+*()\d-]*(?:Sample|CollectLimit|GlobalLimit|LocalLimit|CollectTail|TakeOrderedAndProject)\b",
    re.MULTILINE,
)


class Worker:
    """One session, and the views that have been opened in it."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._spark = _session(setup)
        self._remote = str(setup["master"]).startswith(_REMOTE)
        for key, value in SETTINGS.items():
            self._spark.conf.set(key, value)
            if str(self._spark.conf.get(key)).lower() != value.lower():
                raise ValueError("a setting was refused")
        self._open: set[str] = set()
        self._number = 0
        self.overrun = False  # whether a query had to be cancelled: tasks that ignored it may still be running

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What the request asks for."""
        return self._tasks()[request["task"]](request)

    def _tasks(self) -> Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {
            "describe": self._describe,
            "look": self._look,
            "tables": self._tables_of,
            "write": self._write,
            "open": self._open_views,
            "run": self._run,
        }

    def _describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Make a view of a source; the names and types of its columns, or Spark's name for the problem."""
        from pyspark.errors import PySparkException

        view, kind, place = request["view"], request["kind"], request["place"]
        try:
            frame = self._frame(kind, place)
            columns = [[name, _declared(field)] for name, field in zip(frame.columns, frame.schema, strict=True)]
            problem = _overlap(self._spark, frame, place) if kind == "parquet" else _unreadable(frame, kind)
        except PySparkException as failed:
            return {"problem": str(failed.getCondition() or "")}
        except Exception as failed:
            # Some of Spark's reasons arrive as the text of a Java exception only.
            named = re.search(r"\[([A-Z][A-Z_.]+)\]", str(failed))
            if named is None:
                raise
            return {"problem": named[1]}
        if problem is None and len({name.casefold() for name, _ in columns}) == len(columns):
            _filled_up(frame, columns).createOrReplaceTempView(view)
        return {"problem": problem, "columns": columns}

    def _frame(self, kind: str, place: str) -> Any:
        reader = self._spark.read
        if kind == "table":
            return reader.table(place)
        if kind == "csv":
            lines = reader.options(**_LINES).text(place)
            return lines.selectExpr("value", "_metadata.file_path AS file", "_metadata.file_block_start AS block")
        # All files are looked at: otherwise one of them would decide what is read from the others.
        return reader.option("mergeSchema", "true").parquet(place)

    def _look(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The first rows of a query, for the owner, while a policy is registered."""
        return {"rows": [list(row) for row in self._query(request["sql"]).take(request["most"])]}

    def _tables_of(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """The tables of the session's current catalog and schema."""
        return {"tables": [table.name for table in self._spark.catalog.listTables() if not table.isTemporary]}

    def _write(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Write a query's result to a folder, and make a view of what was written if one is wanted."""
        self._query(request["sql"]).write.mode("error").parquet(request["folder"])
        if request["view"]:
            self._spark.read.parquet(request["folder"]).createOrReplaceTempView(request["view"])
        return {"written": True}

    def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The keys and measures of a query over a working copy, which may take several steps."""
        self._view(request["views"])
        frame, rows = self._within(request["seconds"], lambda: self._stepped(request))
        if not isinstance(rows, list):
            return _words(rows, request)
        names = {name: place for place, name in enumerate(frame.columns)}
        keys = [[wire.key(_plain(row[names[name]])) for row in rows] for name in request["keys"]]
        measures = [[wire.measure(_plain(row[names[name]])) for row in rows] for name in request["measures"]]
        return {"rows": len(rows), "keys": keys, "measures": measures}

    def _stepped(self, request: Mapping[str, Any]) -> tuple[Any, Any]:
        """What the last step gives. Earlier results are kept until then; their sizes decide nothing about a plan."""
        names = [name for name, _ in request["steps"]]
        try:
            for name, sql in request["steps"]:
                self._kept(self._query(sql)).createOrReplaceTempView(name)
            frame = self._query(request["sql"])
            return frame, frame.toArrow() if _are_words(frame, request) else frame.collect()
        finally:
            for name in names:
                self._spark.catalog.dropTempView(name)
            if names and not self._remote:
                for kept in self._spark.sparkContext._jsc.getPersistentRDDs().values():
                    kept.unpersist()

    def _kept(self, frame: Any) -> Any:
        return frame.localCheckpoint()

    def _open_views(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Open the views of a working copy, and check that Spark's processes can read them."""
        self._view(request["views"])
        for view in request["views"]:
            self._spark.table(view).take(1)
        return {"open": True}

    def _view(self, views: Mapping[str, Any]) -> None:
        for view, (folder, columns) in views.items():
            if view not in self._open:
                self._spark.read.schema(columns).parquet(folder).createOrReplaceTempView(view)
                self._open.add(view)

    def _query(self, sql: str) -> Any:
        return self._spark.sql(f"SELECT * FROM ({sql}) AS tacit_result")  # noqa: S608  # from the plan or the policy

    def _within(self, seconds: float, work: Callable[[], Any]) -> Any:
        self._number += 1
        tag = f"tacit-{os.getpid()}-{self._number}"
        done = threading.Event()
        self._spark.addTag(tag)
        alarm = threading.Thread(target=self._cancel, args=(tag, seconds, done), daemon=True)
        alarm.start()
        try:
            return work()
        finally:
            done.set()
            alarm.join()
            self._spark.removeTag(tag)

    def _cancel(self, tag: str, seconds: float, done: threading.Event) -> None:
        """Cancel the tagged jobs once the time is up; repeatedly, as only jobs that have begun can be cancelled."""
        if done.wait(seconds):
            return
        self.overrun = True
        for _ in range(_ATTEMPTS):
            self._spark.interruptTag(tag)
            if done.wait(0.5):
                return
        end_everything()


def end_everything() -> None:
    """End this process, Spark's own, and whatever it is still busy with."""
    if os.getsid(0) == os.getpid():  # as its owner starts it, in a session of its own
        os.killpg(0, signal.SIGKILL)


def _declared(field: Any) -> str:
    """The type of a column as it was declared: Spark calls every text a string, and char(n) is compared otherwise."""
    return str(field.metadata.get(_CHAR) or field.dataType.simpleString())


def _filled_up(frame: Any, columns: list[list[str]]) -> Any:
    """The frame without the spaces that fill up a char(n): to Spark they are not part of it either."""
    from pyspark.sql import functions

    padded = [name for name, declared in columns if re.fullmatch(r"char\(\d+\)", declared)]
    return frame.withColumns({name: functions.rtrim(frame[_quoted(name)]) for name in padded}) if padded else frame


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _overlap(spark: Any, frame: Any, place: str) -> str | None:
    """A folder called `pid=7` would replace the column pid of the files inside it."""
    in_folders = {
        unquote(part.split("=", 1)[0]).casefold()
        for file in frame.inputFiles()
        for part in file.split("/")[:-1]
        if "=" in part
    }
    if in_folders:
        plain = spark.read.option("mergeSchema", "true").option("recursiveFileLookup", "true").parquet(place)
        both = in_folders & {name.casefold() for name in plain.columns}
        if both:
            return "FOLDER_REPEATS_COLUMN"
    return None


def _unreadable(frame: Any, kind: str) -> str | None:
    """Whether a table or a view reads rows by chance, or so that one row can change how another is read."""
    if kind != "table":
        return None
    with redirect_stdout(StringIO()) as shown:
        frame.explain()
    plan = shown.getvalue()
    formats = {found.lower() for found in re.findall(r"\bFileScan (\w+)", plan)}
    formats |= {found.lower() for found in re.findall(r"\bBatchScan (csv|json|text|xml|avro)\b", plan, re.IGNORECASE)}
    if re.search(r"\bScan hive\b", plan):
        formats.add("hive")
    if formats - set(_READABLE):
        return "UNREADABLE_FORMAT " + ", ".join(sorted(formats - set(_READABLE)))
    return "BY_CHANCE" if _BY_CHANCE.search(plan) else None


def end_with_the_owner() -> None:
    """End everything at once when the other end of the wire is gone, also in the middle of a query: it was killed."""
    waiting = select.poll()
    waiting.register(0, 0)  # registers for no event, but is told when the pipe has no writer left
    waiting.poll()
    end_everything()


def _session(setup: Mapping[str, Any]) -> Any:
    from pyspark.sql import SparkSession

    master, home = setup["master"], setup["home"]
    if master.startswith(_REMOTE):
        return SparkSession.builder.remote(master).getOrCreate()
    builder = SparkSession.builder.master(master).appName("tacit")
    builder = builder.config("spark.ui.enabled", "false").config("spark.eventLog.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", f"{home}/warehouse").config("spark.log.level", "OFF")
    builder = builder.config("spark.driver.memory", f"{setup['memory'] >> 20}m")
    # Spark's parser and planner recurse on nested expressions.
    options = f'-Xss16m -Duser.timezone=UTC "-Djava.io.tmpdir={home}" "-Dderby.system.home={home}"'
    builder = builder.config("spark.driver.extraJavaOptions", options)
    if master.startswith("local"):
        # Spark's own traffic on this machine is offered neither to the network nor to other users.
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.authenticate", "true").config("spark.local.dir", f"{home}/spill")
        builder = builder.config("spark.sql.shuffle.partitions", str(4 * setup["threads"]))
    return builder.getOrCreate()


def _are_words(frame: Any, request: Mapping[str, Any]) -> bool:
    """Whether all measures are whole numbers of 64 bits and all keys are whole numbers or texts: public facts."""
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    keys, measures = ({kinds.get(name) for name in request[part]} for part in ("keys", "measures"))
    return len(kinds) == len(frame.columns) and keys <= {"long", "integer", "string"} and measures == {"long"}


def _words(table: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The result column by column, without an object for every number: some groups are many."""
    import numpy as np

    measures = [
        table.column(name).combine_chunks().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        for name in request["measures"]
    ]
    keys = [table.column(name).to_pylist() for name in request["keys"]]
    return {"rows": table.num_rows, "keys": keys, "measures": measures}


def _plain(value: Any) -> Any:
    """A decimal without a fraction as a whole number; anything else unchanged."""
    return int(value) if isinstance(value, Decimal) and value == int(value) else value


def serve(incoming: BinaryIO, outgoing: BinaryIO, work: Callable[[Mapping[str, Any]], Worker] = Worker) -> None:
    """Read the set-up, start the session, then answer until the other end closes.

    An unexpected error ends the process, which the other end takes for a failure too. So does a query that had to be
    cancelled: it gets no reply, so that no one asks a process that is about to end.
    """
    setup = wire.receive(incoming)
    if setup is None:
        return
    foreseen = _errors_of_spark()
    try:
        worker = work(setup)
    except foreseen:
        wire.send(outgoing, {"failed": True})
        return
    wire.send(outgoing, {"ready": True})
    while (request := wire.receive(incoming)) is not None:
        try:
            reply = worker.answer(request)
        except foreseen:
            reply = {"failed": True}
        if worker.overrun:
            return
        wire.send(outgoing, reply)


def _errors_of_spark() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, OSError, RuntimeError, ValueError, TypeError, KeyError, MemoryError)


def main(work: Callable[[Mapping[str, Any]], Worker] = Worker) -> None:
    """Serve the process that started this one, and end with it."""
    # The wire is a private copy of standard output; what Spark prints goes nowhere.
    private = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.umask(0o077)
    threading.Thread(target=end_with_the_owner, daemon=True).start()
    with os.fdopen(0, "rb", closefd=False) as questions, os.fdopen(private, "wb") as answers:
        serve(questions, answers, work)
    end_everything()


if __name__ == "__main__":
    main()
