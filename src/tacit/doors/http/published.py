"""Pages for readers: publications that the owner put in a folder next to the policy.

    clinic.toml has clinic.published/, and in it a folder for each page: index.html, statistics.json, a CSV for each

Promise: a reader sees released numbers and the words that the owner wrote, and nothing else. Pages and files are looked
up among the existing names, so that no name in a request ever becomes a path.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tacit import parameters
from tacit.doors.http.datasets import Dataset
from tacit.doors.http.problems import Problem

KINDS: Final = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_NOTHING: Final = "There is no such page. GET /v1/published lists those that there are."


def folder_of(policy: Path) -> Path:
    """Where the pages of a dataset are."""
    return policy.with_suffix(".published")


def write_page(dataset: Dataset, name: str) -> Path:
    """The folder that a page of this name is written to."""
    if not _NAME.match(name):
        raise parameters.refuse("page", "a name of at most 64 small letters, digits and hyphens", name[:80])
    return folder_of(dataset.path) / name


def pages(dataset: Dataset) -> dict[str, list[str]]:
    """Every page, and its files."""
    top = folder_of(dataset.path)
    if not top.is_dir():
        return {}
    there = sorted(each for each in top.iterdir() if each.is_dir() and not each.is_symlink() and _NAME.match(each.name))
    return {each.name: _files(each) for each in there}


def file(dataset: Dataset, page: str, name: str) -> tuple[bytes, str]:
    """A file of a page, and its media type."""
    if name not in pages(dataset).get(page, ()):
        raise Problem(404, "nothing here", _NOTHING)
    found = folder_of(dataset.path) / page / name
    return found.read_bytes(), KINDS[found.suffix]


def _files(folder: Path) -> list[str]:
    return sorted(
        each.name for each in folder.iterdir() if each.is_file() and not each.is_symlink() and each.suffix in KINDS
    )
