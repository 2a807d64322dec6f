"""What comments and docstrings name is there: modules move, and the words about them must move along."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "tacit").rglob("*.py"))
NAMED = re.compile(r"`((?:tests|benchmarks|docs)/[\w/.]+\.(?:py|md)|[a-z_]+(?:[./][a-z_]\w*)+)`")
VALUES = {"keys.cells", "keys.selection", "clinic.watch"}  # attributes of something that is called like a module
ROOMS = {path.stem for path in (ROOT / "src" / "tacit").iterdir()} | {path.stem for path in SOURCES}


@cache
def places() -> tuple[str, ...]:
    """Every module and package as a path, from its room on."""
    return tuple(str(path.with_suffix("")).removesuffix("/__init__") for path in SOURCES)


def is_there(name: str) -> bool:
    """A file of the project; a module or a package; or a word in the module or the package before the last dot."""
    if name.startswith(("tests/", "benchmarks/", "docs/")):
        return (ROOT / name).exists()
    path = name.removesuffix(".py").removeprefix("tacit.").replace(".", "/")
    if any(place.endswith(f"/{path}") for place in places()):
        return True
    before, _, last = path.rpartition("/")
    if before.split("/")[0] not in ROOMS:
        return True  # something else, such as scipy.special
    homes = [place for place in places() if place.endswith(f"/{before}")]
    return any(re.search(rf"\b{last}\b", text) for place in homes for text in _texts(place))


def _texts(place: str) -> list[str]:
    paths = [Path(f"{place}.py"), Path(place) / "__init__.py"]
    return [path.read_text() for path in paths if path.exists()]


def test_every_module_that_is_named_is_there() -> None:
    named = ((str(path), name) for path in SOURCES for name in NAMED.findall(path.read_text()))
    assert [(path, name) for path, name in named if not is_there(name) and name not in VALUES] == []
