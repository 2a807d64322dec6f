"""Folders that do not outlive their makers: swept when these are gone, and never before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tacit.engines import leases

CHILD = """
import sys, time
from pathlib import Path
from tacit.engines import leases
lease = leases.make(Path(sys.argv[1]), "t-")
(lease.path / "rows").write_text("private")
shared = leases.share(Path(sys.argv[2]))
print(lease.path, flush=True)
time.sleep(600)
"""


def test_what_a_killed_process_leaves_is_swept_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    ours = leases.make(tmp_path, "t-")
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path), str(ours.path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    theirs = Path(process.stdout.readline().decode().strip())
    leases.sweep(tmp_path, "t-")
    assert ours.path.exists()
    assert (theirs / "rows").exists()
    ours.close()  # the other still shares it
    leases.sweep(tmp_path, "t-")
    assert ours.path.exists()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert (theirs / "rows").exists()
    leases.sweep(tmp_path, "t-")
    assert list(tmp_path.iterdir()) == []


def test_only_what_was_leased_is_ever_removed(tmp_path: Path) -> None:
    (tmp_path / "t-mine").mkdir()
    (tmp_path / "t-mine" / "thesis").write_text("irreplaceable")
    (tmp_path / "t-empty").mkdir()
    lease = leases.make(tmp_path, "other-")
    lease.close()
    elsewhere = leases.make(tmp_path, "kept-")
    elsewhere.close()
    (tmp_path / "t-link").symlink_to(elsewhere.path)
    leases.sweep(tmp_path, "t-")
    leases.sweep(tmp_path / "nowhere", "t-")
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"t-mine", "t-link", lease.path.name, elsewhere.path.name}
    assert (tmp_path / "t-mine" / "thesis").exists()


def test_a_lease_on_what_is_gone_is_none(tmp_path: Path) -> None:
    lease = leases.make(tmp_path, "t-")
    assert lease.path.stat().st_mode & 0o077 == 0
    lease.remove()
    assert leases.share(lease.path) is None
    lease.remove()  # a second time does nothing


def test_one_at_a_time(tmp_path: Path) -> None:
    waiting = f"""
from pathlib import Path
from tacit.engines import leases
with leases.alone(Path({str(tmp_path / "lock")!r})):
    print("in", flush=True)
"""
    with leases.alone(tmp_path / "lock"):
        process = subprocess.Popen([sys.executable, "-c", waiting], stdout=subprocess.PIPE)
        try:
            process.wait(1.0)
            raise AssertionError("it did not wait")
        except subprocess.TimeoutExpired:
            pass
    said, _ = process.communicate(timeout=60)
    assert said == b"in\n"
