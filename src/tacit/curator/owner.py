"""For the owner: begin a policy, check one, register its tables anew.

Rows are looked at in three places: `describe_sources` looks at how a CSV file is written, for the owner to see and
correct; `refresh_policy` copies them as an opening does; and the findings of `check_data` are for the owner alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from tacit import parameters
from tacit.engines.check_rows import quality
from tacit.engines.copies import Progress
from tacit.engines.discover import discover
from tacit.engines.engine import describe, open_engine
from tacit.engines.quality import Quality
from tacit.policy import Policy, Source
from tacit.policy.check import check
from tacit.policy.read import format_of
from tacit.policy.read import parse as parse_policy
from tacit.policy.read import read as read_policy
from tacit.policy.write import write as write_policy


def suggested_name(paths: Sequence[str]) -> str:
    """A name for a policy of these files, or of this database, that a file and a schema can have.

    >>> suggested_name(["data/visits.csv"])
    'visits'
    """
    first = paths[0]
    if first.startswith(("postgres:", "postgresql:")):
        inside = first.removeprefix("postgres:$") if "$" in first else urlsplit(first).path
        return re.sub(r"\W+", "_", inside.lower()).strip("_") or "policy"
    if format_of(first) == "spark":
        first = paths[1] if len(paths) > 1 else "spark"
    return Path(first).name.split(".")[0] or "policy"


def describe_sources(paths: Iterable[str], *, name: str, directory: str = ".") -> str:
    """A policy to start from, for these files. It will lie in `directory`, and its paths are relative to that.

    >>> describe_sources(["visits.csv"], name="clinic").splitlines()[1]
    'name = "clinic"'
    """
    found, schema = discover(paths)

    return write_policy(name, {table: _moved(source, directory) for table, source in found.items()}, schema)


def _moved(source: Source, directory: str) -> Source:
    """The source as a policy in this folder names it."""
    if source.format == "spark":
        inside = str(source.table)
        is_file = "/" in inside or format_of(inside) is not None
        if not is_file or "://" in inside or os.path.isabs(inside):
            return source
        return replace(source, table=os.path.relpath(inside, directory))
    if source.format == "postgres" or os.path.isabs(source.path):
        return source
    return replace(source, path=os.path.relpath(source.path, directory))


def check_data(path: str | os.PathLike[str]) -> Quality:
    """How well the policy of this file fits its rows: exact, for the owner alone, and NOT FOR RELEASE.

    >>> str(check_data("clinic.toml")).splitlines()[1]
    'visits: 600 rows of 300 units'
    """
    return quality(check_policy(path))


def check_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of this file, if it is consistent and its tables and columns exist.

    >>> list(check_policy("clinic.toml").tables["visits"].columns)
    ['day', 'ward', 'charge']
    """
    policy = read_policy(Path(path))
    check(policy, describe(policy))
    return policy


def check_text(text: str, path: str | os.PathLike[str]) -> Policy:
    """The policy of this text, as if it were in that file. Only the sources that the file names are looked at.

    >>> text = Path("clinic.toml").read_text().replace("epsilon = 5", "epsilon = 3")
    >>> check_text(text, "clinic.toml").budget.epsilon
    Fraction(3, 1)
    """
    place = Path(path)
    now = read_policy(place)
    policy = parse_policy(text, file=place.name, directory=str(place.parent))
    known = {(each.source.format, each.source.path) for each in now.tables.values()}
    for name, table in policy.tables.items():
        if (table.source.format, table.source.path) not in known:
            how = "Put it into the file itself, and run: tacit check."
            raise parameters.refuse(
                f"source of table {name!r}", "one that the policy's file names", table.source.path, how
            )
    check(policy, describe(policy))
    return policy


def refresh_policy(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Policy:
    """Make the working copy of this policy anew, and remove the old one, whether or not a change was noticed.

    >>> refresh_policy("clinic.toml").name
    'clinic'
    """
    policy = read_policy(Path(path))
    refuse_refresh(policy)
    if policy.working_copy is None and not any(t.source.format == "postgres" for t in policy.tables.values()):
        raise parameters.refuse("working_copy", "a copy that is kept: one in memory is made at every opening", "memory")
    open_engine(policy, progress=progress, anew=True).close()
    return policy


def refuse_refresh(policy: Policy) -> None:
    """Refuse where there is no copy that could be made anew."""
    formats = {table.source.format for table in policy.tables.values()}
    if "frame" in formats:
        raise parameters.refuse("source", "files or a database: protect a table in memory again", "a table in memory")
    if "postgres" in formats and policy.working_copy == "query":
        raise parameters.refuse("working_copy", "a copy: without one, rows are read as they are", "query")
