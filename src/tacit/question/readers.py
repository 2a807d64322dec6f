"""All readers of expressions, by the parser's kind of node: one list, file by file.

Promise: a kind of node that no file lists is refused (`scalars.unknown`), and none is listed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import aggregates, dates, groups, inner_selects, picks, rewritten, scalars, texts, windows
from tacit.question.read import READERS_OF_SELECTS
from tacit.question.scalars import Reader

LISTS: tuple[Mapping[type[exp.Expr], Reader], ...] = (
    scalars.READERS,
    dates.READERS,
    texts.READERS,
    rewritten.READERS,
    aggregates.READERS,
    picks.READERS,
    windows.READERS,
    groups.READERS,
    inner_selects.READERS,
    READERS_OF_SELECTS,
)
READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType({kind: own[kind] for own in LISTS for kind in own})
