"""A process between people and the collector: it drops the order and the origin of reports. Standard library only.

    python -m tacit.local.shuffler survey.json --least 1000 < reports > shuffled

One report a line, as the hexadecimal digits of its bytes. What leaves is the same reports in an order drawn at random,
all of one length, each with a new ticket, and only once at least `least` of them have come. Lines that are not reports
of this survey, and reports whose ticket came before, are dropped and counted.

What it is for. `survey.shuffled(n)` prices what a collector learns who sees the batch alone: n is the number of
*honest* reports in it, because made-up ones hide no person. The shuffler itself sees every report with its origin:
against it, each person is protected by their own epsilon alone. It must not work for the collector.

Promise. Only the report's own bytes reach the output: not the line's place, its time or how it was written. A ticket,
which the sender knows, is replaced. The order is uniform (`secrets`).
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any

from tacit.local.checks import Refused
from tacit.local.client import Client, radices

_HEAD, _TICKET = 8, 8


class Shuffler:
    """Reports wait here until there are enough of them."""

    def __init__(self, description: str | Mapping[str, Any], least: int) -> None:
        if least < 2:
            raise Refused(f"A shuffler needs at least 2 reports to hide one among them. Got {least} instead.")
        client = Client(description)
        self.least, self.dropped = least, 0
        self._survey = bytes.fromhex(client.id)
        sizes = 1
        for size in radices(client.law):
            sizes *= size
        self._length = _HEAD + _TICKET + ((sizes - 1).bit_length() + 7) // 8
        self._waiting: list[bytes] = []
        self._seen: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, report: bytes) -> bool:
        """Take a report, or drop it."""
        ticket = report[_HEAD : _HEAD + _TICKET]
        if len(report) != self._length or report[:_HEAD] != self._survey or ticket in self._seen:
            self.dropped += 1
            return False
        self._seen.add(ticket)
        self._waiting.append(report[_HEAD + _TICKET :])
        return True

    def batch(self) -> list[bytes]:
        """All reports that wait, in a random order; refused while there are too few."""
        if len(self._waiting) < self.least:
            raise Refused(
                f"{len(self._waiting):,} reports have come, and {self.least:,} are needed. Nothing leaves yet."
            )
        batch = [self._survey + secrets.token_bytes(_TICKET) + told for told in self._waiting]
        secrets.SystemRandom().shuffle(batch)
        self._waiting = []
        return batch


def shuffle_lines(description: str, least: int, lines: Iterable[str], out: IO[str]) -> Shuffler:
    """Read reports, one a line, and write them in another order once all have come."""
    shuffler = Shuffler(description, least)
    for line in lines:
        try:
            shuffler.add(bytes.fromhex(line.strip()))
        except ValueError:
            shuffler.dropped += 1
    out.writelines(f"{report.hex()}\n" for report in shuffler.batch())
    return shuffler


def main(arguments: list[str]) -> int:
    """The program."""
    if len(arguments) != 3 or arguments[1] != "--least" or not arguments[2].isdecimal():
        sys.stderr.write("Usage: python -m tacit.local.shuffler SURVEY.json --least NUMBER < reports > shuffled\n")
        return 2
    try:
        with open(arguments[0]) as file:
            done = shuffle_lines(file.read(), int(arguments[2]), sys.stdin, sys.stdout)
    except (OSError, Refused, json.JSONDecodeError, KeyError) as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    sys.stderr.write(f"{done.dropped:,} lines were dropped.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
