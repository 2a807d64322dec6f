"""Runs that go on after a crash: every step is spent once, and no noise is drawn twice."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tacit.errors import ParameterError, TacitError
from tacit.learning.neural.runs.journal import Journal
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


FIRST = '{"file": %s, "run": {"size": %s}}'
GOOD = b'{"begun": 1}'


def written(folder: Path, first: str, *lines: bytes, size: str = "200.0") -> None:
    """A journal of these lines, in a file whose own numbers fit."""
    folder.mkdir(exist_ok=True)
    path = folder / "journal.jsonl"
    path.touch()
    about = path.stat()
    head = first.replace("%s", str(about.st_ino), 1).replace("%s", size, 1).encode()
    path.write_bytes(b"".join(line + b"\n" for line in (head, *lines)))


def test_a_journal_that_is_whole_is_read(tmp_path: Path) -> None:
    written(tmp_path, FIRST, GOOD, b'{"begun": 2}')
    with closing(Journal(tmp_path)) as journal:
        assert journal.begun == 2
        assert journal.facts == {"size": 200.0}


@pytest.mark.parametrize("size", ["0", "-5", "NaN", "Infinity", "1e999", '"x"', "null", "true", "9" * 400, "[1]"])
def test_a_size_that_is_no_finite_number_above_zero_is_damage(tmp_path: Path, size: str) -> None:
    written(tmp_path, FIRST, GOOD, size=size)
    with pytest.raises(TacitError, match=r"is damaged\. Start the run again"):
        Journal(tmp_path)


@pytest.mark.parametrize(
    "first",
    [
        "[]", "null", "3", '"x"', "", "{", "[" * 100_000, '{"file": %s}', '{"file": %s, "run": null}',
        '{"file": %s, "run": []}', '{"file": %s, "run": {}}', '{"file": "3", "run": {"size": 1}}',
        '{"file": %s, "run": {"size": 1}, "more": 1}', '{"file": [true, 1.5], "run": {"size": 1}}',
    ],
)  # fmt: skip
def test_a_first_line_of_another_form_is_damage(tmp_path: Path, first: str) -> None:
    written(tmp_path, first, GOOD)
    with pytest.raises(TacitError, match=r"is damaged\. Start the run again"):
        Journal(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b'{"begun": 7}', b'{"begun": 1}', b'{"begun": 2.0}', b'{"begun": 2.9}', b'{"begun": "2"}', b'{"begun": true}',
        b"", b"[2]", b"\xff\xfe", b'{"begun": ' + b"9" * 5000 + b"}", b"[" * 100_000, b'{"begun": null}', b"\0" * 20,
    ],
)  # fmt: skip
def test_a_line_that_is_not_the_next_step_is_damage(tmp_path: Path, line: bytes) -> None:
    written(tmp_path, FIRST, GOOD, line)
    with pytest.raises(TacitError, match=r"is damaged\. Start the run again"):
        Journal(tmp_path)


def test_a_folder_that_is_none_has_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder" / "journal.jsonl").mkdir(parents=True)
    for wrong in (tmp_path / "file", tmp_path / "folder", "/proc/nope", 3, None, "a\0b"):
        with pytest.raises(ParameterError, match="a folder that can be written"):
            Journal(wrong)  # type: ignore[arg-type]


def failing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write, sync = os.write, os.fsync

    def stopped(*given: Any) -> Any:
        raise KeyboardInterrupt

    def broken(*given: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    def synced(file: int) -> None:
        sync(file)
        raise KeyboardInterrupt

    own: dict[str, tuple[str, Any]] = {
        "stopped before": ("write", stopped),
        "full": ("write", broken),
        "in part": ("write", lambda file, payload: write(file, payload[:5])),
        "stopped after": ("fsync", synced),
        "not on disk": ("fsync", broken),
    }
    name, made = own[kind]
    monkeypatch.setattr(os, name, made)


@pytest.mark.parametrize(
    ("kind", "begun"), [("stopped before", 2), ("full", 2), ("in part", 2), ("stopped after", 3), ("not on disk", 3)]
)
def test_after_a_line_that_failed_the_journal_is_closed_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, begun: int
) -> None:
    first = started(tmp_path)
    for _, batch in zip(range(2), first, strict=False):
        first.step(batch)
    batches = iter(first)
    batch = next(batches)
    with monkeypatch.context() as patch:
        failing(kind, patch)
        with pytest.raises(KeyboardInterrupt if "stopped" in kind else TacitError):
            first.step(batch)
    for _ in range(2):
        with pytest.raises(TacitError, match="Make the trainer again"):
            first._journal.begin()
    again = started(tmp_path)
    assert again.steps_done == begun  # a whole line that may be on disk counts
    again.fit()
    again.close()
    lines = (tmp_path / "journal.jsonl").read_bytes().splitlines()[1:]
    assert lines == [b'{"begun": %d}' % step for step in range(1, 9)]


def test_a_journal_that_somebody_else_changed_is_closed(tmp_path: Path) -> None:
    def appended() -> None:
        with open(tmp_path / "journal.jsonl", "ab") as file:
            file.write(b'{"begun": 2}\n')

    def deleted() -> None:
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        (tmp_path / "journal.jsonl").touch()

    for change in (appended, deleted):
        journal = Journal(tmp_path)
        journal.start({"size": 1.0}) if journal.facts is None else None
        journal.begin()
        change()
        with pytest.raises(TacitError, match="could not be written: somebody else changed it"):
            journal.begin()
        with pytest.raises(TacitError, match="is closed"):
            journal.begin()


def test_a_state_that_cannot_be_written_has_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = started(tmp_path)
    batch = next(iter(first))

    def broken(*given: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        with pytest.raises(TacitError, match="The step was made and is spent"):
            first.step(batch)
    first.close()
    assert started(tmp_path).steps_done == 1


def changed_state(folder: Path, kind: str) -> None:
    path = folder / "state.safetensors"
    with safe_open(path, framework="pt") as file:
        facts, tensors = dict(file.metadata()), {name: file.get_tensor(name) for name in list(file.keys())}
    plain = json.loads(facts["optimiser"])
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:100])
        return
    if kind == "empty":
        path.write_bytes(b"")
        return
    if kind == "folder":
        path.unlink()
        path.mkdir()
        return
    if kind.startswith("clip "):
        facts["clip"] = kind.removeprefix("clip ")
    elif kind.startswith("step "):
        facts["step"] = kind.removeprefix("step ")
    elif kind.startswith("plain "):
        facts["optimiser"] = kind.removeprefix("plain ")
    elif kind == "no facts":
        facts = {}
    elif kind == "pace":
        plain["groups"][0]["lr"] = "x"
        facts["optimiser"] = json.dumps(plain)
    elif kind == "place":
        plain["state"]["99"] = {}
        facts["optimiser"] = json.dumps(plain)
    elif kind == "memory":
        tensors["optimiser.0.exp_avg"] *= float("nan")
    elif kind == "strange":
        tensors["strange.0"] = torch.zeros(1)
    elif kind == "nan":
        tensors["module.0.weight"] *= float("nan")
    elif kind == "double":
        tensors["module.0.weight"] = tensors["module.0.weight"].double()
    save_file(tensors, path, facts or None)


@pytest.mark.parametrize(
    "kind",
    [
        "cut", "empty", "folder", "no facts", "clip 0", "clip -1", "clip x", "clip 1e400", "clip 1/0",
        "clip 9" + "9" * 399,
        "plain {", "plain 3", "plain {}", "plain " + "[" * 100_000, 'plain {"groups": [], "state": {}}', "pace",
        "place", "memory", "strange", "nan", "double",
    ],
)  # fmt: skip
def test_a_damaged_state_has_one_sentence(tmp_path: Path, kind: str) -> None:
    first = started(tmp_path)
    first.step(next(iter(first)))
    first.close()
    changed_state(tmp_path, kind)
    with pytest.raises(TacitError, match=r"damaged.* Start the run again in another folder"):
        started(tmp_path)


@pytest.mark.parametrize("step", ["2", "99", "0", "-1", "x", "1.0", "", "9" * 5000])
def test_a_state_of_a_step_that_was_not_begun_is_of_another_journal(tmp_path: Path, step: str) -> None:
    first = started(tmp_path)
    first.step(next(iter(first)))
    first.close()
    changed_state(tmp_path, f"step {step}")
    with pytest.raises(TacitError, match="belongs to another journal"):
        started(tmp_path)


def test_without_its_state_a_run_has_spent_what_it_began(tmp_path: Path) -> None:
    first = started(tmp_path)
    start = weights(first.module)
    first.step(next(iter(first)))
    first.close()
    (tmp_path / "state.safetensors").unlink()
    again = started(tmp_path)
    assert again.steps_done == 1
    assert torch.equal(weights(again.module), start)


def test_weights_in_any_order_of_memory_are_saved(tmp_path: Path) -> None:
    def turned() -> Any:
        module = net()
        module[0].weight = torch.nn.Parameter(module[0].weight.detach().t().contiguous().t())
        return module

    module = turned()
    first = trainer(module, journal=tmp_path)
    first.step(next(iter(first)))
    first.close()
    again = turned()
    trainer(again, journal=tmp_path).close()
    assert torch.equal(weights(again), weights(module))


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
