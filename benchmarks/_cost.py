"""What work costs: CPU seconds and the most memory of this process and everything it started, from /proc.

`resource.RUSAGE_CHILDREN` knows children only after they ended; a worker or a Java machine lives on. Linux gives every
process a CPU clock, to the nanosecond, which others may read too. Children that have ended are in their parent's
statistics, in hundredths of a second.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Cost:
    """CPU and wall-clock seconds, filled in when the work is done."""

    cpu: float = 0.0
    wall: float = 0.0


@contextlib.contextmanager
def measured() -> Iterator[Cost]:
    """What the body costs this process and its descendants; looking for them is not counted."""
    cost = Cost()
    before = {pid: _cpu_of(pid) for pid in tree()}
    before[os.getpid()], wall = _cpu_of(os.getpid()), time.perf_counter()
    yield cost
    cost.wall = time.perf_counter() - wall
    after = {pid: _cpu_of(pid) for pid in before}
    after |= {pid: _cpu_of(pid) for pid in tree() if pid not in before}
    cost.cpu = sum(after.values()) - sum(before.values())


def peak_of_tree() -> int:
    """Bytes of resident memory: each process's own highest, added up, so at least what they ever held together."""
    return sum(_peak_of(pid) for pid in tree())


def tree() -> list[int]:
    """This process and its living descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found = [os.getpid()]
    for pid in found:  # grows while it is walked
        found += children.get(pid, [])
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the program's name, or none where the process has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu_of(pid: int) -> float:
    fields = _stat(pid)
    if not fields:
        return 0.0
    ended = (int(fields[13]) + int(fields[14])) / _TICKS
    try:
        # The kernel's number for "the CPU clock of process pid, as the scheduler counts it".
        return time.clock_gettime((~pid << 3) | 2) + ended
    except OSError:
        return ended


def _peak_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
