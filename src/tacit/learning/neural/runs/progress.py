"""How a run goes: a bar with what was spent so far, a log as CSV or JSON, and a page with its curves.

    log = neural.Log(public=(images, labels))
    trainer.fit(progress=True, log=log)
    log.save("run.csv"); log.save_page("run.html")

Promise: all of it is public: the number of the step, what was spent so far, and the loss on rows that are public (or on
none). The training loss is private, and is not shown.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch

from tacit import parameters
from tacit.answer.drawings import Drawn, drawings
from tacit.answer.pages import page

_LINES: Final = 200
_PART: Final = 1 << 12


class Log:
    """Lines of a run: `step`, `epsilon` spent so far, and `public_loss` where public rows were given.

    public: rows and targets that are public, as the trainer takes them. every: how many steps from line to line;
    without it there are about 200 lines.
    """

    def __init__(self, public: tuple[Any, Any] | None = None, every: int | None = None) -> None:
        self._public = None if public is None else _pair(public)
        self._every = None if every is None else parameters.whole("every", every, least=1)
        self.lines: list[dict[str, float]] = []

    def note(self, trainer: Any) -> None:
        """A line, if it is time for one."""
        every = self._every or max(1, trainer.run.steps // _LINES)
        if trainer.steps_done % every and trainer.steps_done != trainer.run.steps:
            return
        line = {"step": trainer.steps_done, "epsilon": float(trainer.spent().epsilon)}
        if self._public is not None:
            try:
                line["public_loss"] = public_loss(trainer.module, trainer.loss, *self._public)
            except Exception as wrong:  # noqa: BLE001  # the steps so far are paid for: the run goes on without it
                self._public = None
                words = f"The log goes on without public_loss: the module or the loss fails on its public rows: {wrong}"
                warnings.warn(words, stacklevel=2)
        self.lines.append(line)

    def save(self, path: str | Path) -> Path:
        """As CSV, or as JSON where the name ends so."""
        target = Path(path)
        if target.suffix == ".json":
            target.write_text(json.dumps(self.lines, indent=1), encoding="utf-8")
            return target
        text = io.StringIO()
        names = list(self.lines[0]) if self.lines else ["step", "epsilon"]
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.lines)
        target.write_text(text.getvalue(), encoding="utf-8")
        return target

    def page(self) -> str:
        """The curves over the steps, as HTML."""
        if not self.lines:
            raise parameters.refuse("log", "one with lines", "none yet", "Give it to trainer.fit(log=log).")
        steps = Drawn("step", [each["step"] for each in self.lines])
        parts = []
        for name in [each for each in self.lines[-1] if each != "step"]:
            drawn = Drawn(name.replace("_", " "), [each[name] for each in self.lines])
            parts += [f"<h2>{drawn.name}</h2>", *drawings([steps, drawn], "line")]
        return page("A private training run", "<h1>A private training run</h1>" + "".join(parts))

    def save_page(self, path: str | Path) -> Path:
        """Write the curves to a file."""
        target = Path(path)
        target.write_text(self.page(), encoding="utf-8")
        return target


def _pair(public: Any) -> tuple[Any, Any]:
    """Public rows and their targets as tensors, of one length."""
    allowed, hint = "a pair of rows and their targets, of one length", "Write Log(public=(X, y))."
    if not isinstance(public, (tuple, list)) or len(public) != 2:
        raise parameters.refuse("public", allowed, type(public).__name__, hint)
    try:
        inputs, target = (torch.as_tensor(each) for each in public)
    except (RuntimeError, ValueError, TypeError) as wrong:
        raise parameters.refuse("public", f"{allowed}, as arrays or tensors", str(wrong), hint) from None
    if not inputs.dim() or not target.dim() or len(inputs) != len(target):
        found = f"the shapes {tuple(inputs.shape)} and {tuple(target.shape)}"
        raise parameters.refuse("public", allowed, found, hint)
    return inputs, target


def public_loss(module: Any, loss: Callable[[Any, Any], Any], X: Any, y: Any) -> float:  # noqa: N803
    """The mean loss on public rows; layers that are random in training are not random here."""
    inputs, target = torch.as_tensor(X), torch.as_tensor(y)
    inputs = inputs.float() if inputs.dtype.is_floating_point else inputs.long()
    target = target.float() if target.dtype.is_floating_point else target.long()
    modes = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            pairs = zip(inputs.split(_PART), target.split(_PART), strict=True)
            return float(sum(loss(module(a), b).double().sum() for a, b in pairs)) / max(len(target), 1)
    finally:
        for each, mode in modes:
            each.training = mode


@contextmanager
def shown(trainer: Any, progress: bool) -> Iterator[Callable[[], None]]:
    """A bar with steps and what was spent so far, if one is wanted."""
    if not progress:
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("epsilon 0", total=trainer.run.steps, completed=trainer.steps_done)
        every = max(1, trainer.run.steps // _LINES)

        def moved() -> None:
            if trainer.steps_done % every == 0 or trainer.steps_done == trainer.run.steps:
                said = f"epsilon {float(trainer.spent().epsilon):.3g}"
                bar.update(task, completed=trainer.steps_done, description=said)

        yield moved
