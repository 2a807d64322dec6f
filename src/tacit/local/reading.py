"""Reports as they arrive, from people beyond control: each is read by itself, and wrong ones are counted, not raised.

Promise: a report is taken only if it names this survey, has its own length or fields, and every number lies below its
bound; the first report with a ticket is taken, and later ones with the same ticket are not. The refused ones are
counted by kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.local.client import Report, radices

_TICKET = 8
_HEAD = 16


@dataclass(frozen=True, slots=True)
class Read:
    """The reports that were taken, as `crowd` wants them, and how many were refused, by reason."""

    reports: Any
    refused: Counter[str]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was refused, in words."""
        return tuple(f"{many:,} refused: {why}." for why, many in sorted(self.refused.items()))


def read_reports(survey: str, law: Mapping[str, Any], reports: Iterable[Any]) -> Read:
    """All reports that belong to the survey."""
    taken: list[tuple[int, ...]] = []
    seen: set[bytes] = set()
    refused: Counter[str] = Counter()
    sizes = radices(law)
    for report in reports:
        found = _read(report, sizes)
        if isinstance(found, str):
            refused[found] += 1
            continue
        name, ticket, numbers = found
        if name != survey:
            refused["of another survey"] += 1
        elif any(not 0 <= number < size for number, size in zip(numbers, sizes, strict=True)) or not _fits(
            law, numbers
        ):
            refused["numbers out of range"] += 1
        elif ticket in seen:
            refused["came before"] += 1
        else:
            seen.add(ticket)
            taken.append(numbers)
    return Read(_arranged(law, taken), refused)


def _read(report: Any, sizes: tuple[int, ...]) -> tuple[str, bytes, tuple[int, ...]] | str:
    if isinstance(report, Report):
        return report.survey, report.ticket, report.numbers
    if isinstance(report, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(report), sizes)
    try:
        content = json.loads(report) if isinstance(report, str) else report
        name, ticket, numbers = content["survey"], bytes.fromhex(content["ticket"]), tuple(content["report"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "malformed"
    whole = all(type(number) is int for number in numbers)
    if len(numbers) != len(sizes) or not whole or len(ticket) != _TICKET or not isinstance(name, str):
        return "malformed"
    return name, ticket, numbers


def _from_bytes(report: bytes, sizes: tuple[int, ...]) -> tuple[str, bytes, tuple[int, ...]] | str:
    whole = 1
    for size in sizes:
        whole *= size
    if len(report) != _HEAD + ((whole - 1).bit_length() + 7) // 8:
        return "of a wrong length"
    left, numbers = int.from_bytes(report[_HEAD:], "big"), []
    if left >= whole:
        return "numbers out of range"
    for size in reversed(sizes):
        left, number = divmod(left, size)
        numbers.append(number)
    return report[:8].hex(), report[8:_HEAD], tuple(reversed(numbers))


def _fits(law: Mapping[str, Any], numbers: tuple[int, ...]) -> bool:
    """Checks that bounds do not make: a set has its size, a number belongs to the part that the coin chose."""
    if law["kind"] == "subset":
        return bool(numbers[0].bit_count() == law["size"])
    if law["kind"] in ("either", "moments"):
        return bool(numbers[1] < radices(law["parts"][numbers[0]])[0])
    return True


def _arranged(law: Mapping[str, Any], taken: list[tuple[int, ...]]) -> Any:
    if law["kind"] in ("unary", "subset", "rappor"):
        width = -(-law.get("kept", law)["options"] // 8)
        return np.frombuffer(b"".join(one[0].to_bytes(width, "little") for one in taken), dtype=np.uint8).reshape(
            len(taken), width
        )
    if law["kind"] == "hashing":
        return np.array(taken, dtype=np.uint64).reshape(len(taken), 3)
    if law["kind"] == "prefixes":
        return np.array(taken, dtype=np.uint64).reshape(len(taken), 4)
    if law["kind"] == "nearest":
        return np.array(taken, dtype=np.uint64).reshape(len(taken), 2)
    if law["kind"] in ("either", "moments"):
        return np.array(taken, dtype=np.int64).reshape(len(taken), 2)
    return np.array([one[0] for one in taken], dtype=np.int64)
