"""The shuffler: what leaves, in which order, and what is dropped."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tacit
from tacit import local
from tacit.local.checks import Refused
from tacit.local.shuffler import Shuffler, main, shuffle_lines

SURVEY = local.Survey(tacit.one_of("a", "b", "c"), epsilon=1, protocol="k-ary")


def _numbers(reports: list[bytes]) -> list[int]:
    return [report[16] for report in reports]


def test_the_same_reports_leave_with_new_tickets() -> None:
    shuffler = Shuffler(SURVEY.to_json(), 20)
    reports = [bytes(SURVEY.client().answer("abc"[place % 3])) for place in range(20)]
    assert all(shuffler.add(each) for each in reports)
    batch = shuffler.batch()
    assert Counter(_numbers(batch)) == Counter(_numbers(reports))
    assert not {each[8:16] for each in batch} & {each[8:16] for each in reports}
    assert len(SURVEY._read(batch).reports) == 20
    assert len(shuffler) == 0


@pytest.mark.statistical
def test_every_order_is_as_likely_as_every_other() -> None:
    """3 reports, 6,000 batches: each of 6 orders 1,000 times, within 6 deviations of 29: 1e-8 by chance."""
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(6_000):
        shuffler = Shuffler(SURVEY.description, 3)
        for number in range(3):
            shuffler.add(bytes.fromhex(SURVEY.id) + number.to_bytes(8, "big") + bytes([number]))
        found[tuple(_numbers(shuffler.batch()))] += 1
    assert len(found) == 6
    assert all(abs(many - 1_000) < 6 * 29 for many in found.values())


def test_what_is_no_report_comes_twice_or_belongs_elsewhere_is_dropped_and_counted() -> None:
    other = local.Survey(tacit.one_of("a", "b", "c"), epsilon=2, protocol="k-ary")
    good = bytes(SURVEY.client().answer("a"))
    more = bytes(SURVEY.client().answer("b"))
    hostile = [good, good + b"0", good[:-1], b"", bytes(other.client().answer("a"))]
    lines = [each.hex() for each in (good, more, *hostile)] + ["not hexadecimal", ""]
    out = io.StringIO()
    done = shuffle_lines(SURVEY.to_json(), 2, lines, out)
    assert done.dropped == 7
    assert len(out.getvalue().splitlines()) == 2


def test_too_few_reports_stay() -> None:
    shuffler = Shuffler(SURVEY.to_json(), 3)
    shuffler.add(bytes(SURVEY.client().answer("a")))
    with pytest.raises(Refused, match="1 reports have come, and 3 are needed"):
        shuffler.batch()
    with pytest.raises(Refused, match="at least 2"):
        Shuffler(SURVEY.to_json(), 1)


def test_the_program_reads_lines_and_needs_the_standard_library_alone(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text(SURVEY.to_json())
    reports = "".join(f"{bytes(SURVEY.client().answer('a')).hex()}\n" for _ in range(5))
    command = [sys.executable, "-m", "tacit.local.shuffler", str(path), "--least", "5"]
    done = subprocess.run(command, input=reports, capture_output=True, text=True, check=True)
    assert len(SURVEY._read([bytes.fromhex(each) for each in done.stdout.split()]).reports) == 5
    assert main([str(path), "--least", "x"]) == 2
    assert main([str(tmp_path / "gone.json"), "--least", "5"]) == 1
    light = "import sys, tacit.local.shuffler; print({'numpy', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", light], capture_output=True, text=True).stdout.strip() == "set()"
