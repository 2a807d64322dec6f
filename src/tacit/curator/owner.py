"""For the owner, before the questions: begin a policy, check one, and look at how it fits the rows.

Only `check_data` reads a row, and what it finds is for the owner alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tacit.engines.discover import discover
from tacit.engines.engine import describe
from tacit.engines.quality import Quality, quality
from tacit.policy import Policy, Source
from tacit.policy.check import check
from tacit.policy.read import read as read_policy
from tacit.policy.write import write as write_policy


def describe_sources(paths: Iterable[str], *, name: str, directory: str = ".") -> str:
    """A policy to start from, for these files. It will lie in `directory`, and its paths are relative to that."""
    found, schema = discover(paths)

    def fixed(source: Source) -> bool:
        return source.format == "postgres" or os.path.isabs(source.path)

    moved = {
        table: source if fixed(source) else replace(source, path=os.path.relpath(source.path, directory))
        for table, source in found.items()
    }
    return write_policy(name, moved, schema)


def check_data(path: str | os.PathLike[str]) -> Quality:
    """How well the policy of this file fits its rows: exact, for the owner alone, and NOT FOR RELEASE."""
    return quality(check_policy(path))


def check_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of this file, if it holds together and speaks of tables and columns that are there."""
    policy = read_policy(Path(path))
    check(policy, describe(policy))
    return policy
