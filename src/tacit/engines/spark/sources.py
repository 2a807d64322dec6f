"""Spark's sources: which session reads a policy's tables, where they lie, and whether they changed.

Promise: nothing here looks at a value. A source names the session (a master such as "local[4]" or "spark://host:7077",
or "sc://host:15002" for Spark Connect), and in `table` either a table of its catalog ("shop.visits") or files
("data/visits.parquet", "s3a://bucket/visits/*.csv"): anything with a slash or a known ending means files. CSV is read
as text throughout, line by line (`spark.csv`); other formats are refused. Files of this machine have a fingerprint, in
which every file below a folder counts; other sources have none, and are registered anew each time.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from typing import Any, Final, Literal

from tacit.errors import PolicyError
from tacit.policy.policy import Policy, Source
from tacit.policy.read import format_of

Place = tuple[Literal["table", "csv", "parquet"], str]
_OTHERS: Final = (".json", ".jsonl", ".ndjson", ".orc", ".avro", ".xml", ".txt", ".text", ".json.gz", ".txt.gz")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def master_of(policy: Policy) -> str:
    """The one session that reads all tables of the policy."""
    found = sorted({(table.source.format, table.source.path) for table in policy.tables.values()})
    if len(found) != 1 or found[0][0] != "spark":
        shown = ", ".join(f"{kind} {path}" for kind, path in found)
        raise PolicyError(f"All tables of a policy on Spark are read by one Spark session. Sources here: {shown}.")
    master = found[0][1]
    if "token=" in master.lower():
        raise PolicyError(
            "A token must not stand in a policy, which is passed around. "
            "Keep it in the variable SPARK_CONNECT_AUTHENTICATE_TOKEN."
        )
    return master


def place_of(source: Source, directory: str) -> Place:
    """What Spark is told to read."""
    inside = str(source.table)
    kind = format_of(inside)
    if source.is_csv:
        return "csv", _address(inside, directory)
    if kind not in ("parquet", None) or inside.lower().endswith(_OTHERS):
        raise PolicyError(
            f"Spark reads Parquet, CSV or a table of its catalog here. Got {inside!r} instead: make it Parquet."
        )
    if kind == "parquet" or "/" in inside:
        return "parquet", _address(inside, directory)
    return "table", inside


def fingerprint(policy: Policy) -> str | None:
    """A digest that changes when a file does; None where a source lies elsewhere and cannot be watched."""
    seen: dict[str, Any] = {}
    for name, table in policy.tables.items():
        kind, place = place_of(table.source, policy.directory)
        if kind == "table" or _SCHEME.match(place):
            return None
        found = _stats(str(table.source.table), policy.directory)
        if not found:
            return None  # Spark may find files where Python's wildcards find none
        seen[name] = found
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def literally(path: str) -> str:
    """A path in which Spark sees no wildcard."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _address(inside: str, directory: str) -> str:
    if _SCHEME.match(inside) or os.path.isabs(os.path.expanduser(inside)):
        return os.path.expanduser(inside)
    return os.path.join(literally(os.path.abspath(directory)), inside)


def _stats(inside: str, directory: str) -> list[list[Any]]:
    """What the file system knows of every file behind a path; nothing where Spark reads the path in its own way."""
    if re.search(r"[\[\]{}\\]", inside):
        return []
    path = os.path.expanduser(inside)
    pattern = path if os.path.isabs(path) else os.path.join(glob.escape(os.path.abspath(directory)), path)
    found: list[list[Any]] = []
    for start in sorted(glob.glob(pattern, recursive=True)):
        _add(start, found, set())
    return sorted(found)


def _add(path: str, found: list[list[Any]], above: set[str]) -> None:
    """Every file below. Links are followed, except links to a folder above."""
    try:
        stats = os.stat(path)
        if not os.path.isdir(path):
            found.append([os.path.abspath(path), stats.st_size, stats.st_mtime_ns, stats.st_ino])
            return
        real = os.path.realpath(path)
        for name in sorted(os.listdir(path)) if real not in above else ():
            _add(os.path.join(path, name), found, above | {real})
    except OSError:
        found.append([os.path.abspath(path), -1, -1, -1])  # it was just removed: that is a change too
