"""What is counted and logged of requests: the route, the role and the status. Questions and answers are not.

Promise: neither a metric nor a line of the log holds a duration, a size, a question, a value, a path as it was sent, or
a header. How long an answer took may depend on a row, so it is not measured. A request is counted and logged when it
comes in, and its status when it leaves; the sender knows both anyway.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import Final, TextIO

_HEAD: Final = "# HELP tacit_requests_total Requests by route, role and status.\n# TYPE tacit_requests_total counter\n"


class Counters:
    """The counters of a server, and its access log: one JSON object a line."""

    def __init__(self, log: TextIO | None = None) -> None:
        self._log = log
        self._requests: Counter[tuple[str, str, str, str, int]] = Counter()

    def note(self, method: str, route: str, dataset: str, role: str, name: str, status: int) -> None:
        """A request was answered. `route` is the table's path, not the one that was sent."""
        self._requests[(dataset, method, route, role, status)] += 1
        if self._log is not None:
            line = {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "dataset": dataset,
                "name": name,
                "role": role,
                "method": method,
                "route": route,
                "status": status,
            }
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()

    def exposition(self, dataset: str) -> str:
        """The counters of one dataset, as Prometheus reads them."""
        lines = [
            f'tacit_requests_total{{method="{method}",route="{route}",role="{role}",status="{status}"}} {count}'
            for (where, method, route, role, status), count in sorted(self._requests.items())
            if where == dataset
        ]
        return _HEAD + "".join(f"{line}\n" for line in lines)


def to_stderr() -> TextIO:
    """Where the access log of `tacit serve` goes."""
    return sys.stderr
