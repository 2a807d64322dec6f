"""Runs that go on after a crash: every step is spent once, and no noise is drawn twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tacit.errors import TacitError
from tests.learning.neural.test_trainer import net, trainer, weights


def started(folder: Path, **changed: Any) -> Any:
    module = net()
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    return trainer(module, optimiser=optimiser, journal=folder, **changed)


def test_a_run_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    first = started(tmp_path, size=None)
    for _, batch in zip(range(3), first, strict=False):
        first.step(batch)
    size, saved = first.size, weights(first.module)
    first.close()
    again = started(tmp_path, size=None)
    assert again.steps_done == 3
    assert again.size == size  # the count was bought once
    assert torch.equal(weights(again.module), saved)
    assert again.optimiser.state_dict()["state"][0]["step"] == 3
    again.fit()
    assert again.steps_done == 8
    again.close()
    assert started(tmp_path, size=None).fit().steps_done == 8


def test_a_step_that_was_begun_and_not_saved_is_spent_and_lost(tmp_path: Path) -> None:
    first = started(tmp_path)
    first.step(next(iter(first)))
    saved = weights(first.module)
    first._journal.begin()  # and then the machine went down
    first.close()
    again = started(tmp_path)
    assert again.steps_done == 2
    assert torch.equal(weights(again.module), saved)
    assert sum(1 for batch in again if again.step(batch) is None) == 6


def test_a_line_that_was_cut_off_was_never_acted_upon(tmp_path: Path) -> None:
    started(tmp_path).close()
    with open(tmp_path / "journal.jsonl", "ab") as file:
        file.write(b'{"beg')
    again = started(tmp_path)
    assert again.steps_done == 0
    again.step(next(iter(again)))
    again.close()
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert lines[1:] == [{"begun": 1}]


@pytest.mark.parametrize("changed", [{"steps": 9}, {"clip": 2}, {"epsilon": 4}, {"clipping": "flat"}, {"rate": 0.2}])
def test_a_journal_of_another_run_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    started(tmp_path).close()
    with pytest.raises(TacitError, match="another run"):
        started(tmp_path, **changed)


def test_a_journal_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    first = started(tmp_path)
    with pytest.raises(TacitError, match="in use by another run"):
        started(tmp_path)
    first.close()


def test_a_copy_of_a_journal_is_refused_and_a_folder_may_be_moved(tmp_path: Path) -> None:
    first = started(tmp_path / "one")
    first.step(next(iter(first)))
    first.close()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with pytest.raises(TacitError, match="is a copy"):
        started(tmp_path / "two")
    (tmp_path / "one").rename(tmp_path / "three")
    again = started(tmp_path / "three")
    assert again.steps_done == 1
    again.close()


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    started(tmp_path).close()
    with open(tmp_path / "journal.jsonl", "ab") as file:
        file.write(b'{"begun": 7}\n')
    with pytest.raises(TacitError, match="not in order"):
        started(tmp_path)


def test_killed_runs_have_spent_once_for_each_step() -> None:
    """Five kills; `python -m tests.learning.neural.crashes 100` has a hundred."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.learning.neural.crashes", "5"],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "every step spent once" in done.stdout
