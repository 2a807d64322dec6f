"""A course that could fail at some rows and not at others is refused: failing tells.

Theorem. Of the operations that a course may have (`operations`), those on tensors of real numbers and truth values fail
or succeed by shapes and kinds alone: dividing by zero gives infinity, and what is no number goes on as such. With whole
numbers it is otherwise: dividing by zero raises, and so does a line that a table does not have. Neither shapes nor
kinds depend on values: `torch.func.vmap` refuses to make a shape, or a number outside of tensors, of what it is fed. So
made-up rows show them all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch

from tacit.errors import TacitError
from tacit.learning.neural.modules.courses import INPUT, FixedCourse, taken
from tacit.learning.neural.modules.operations import ATTENTION, DROPOUT


def refuse_failing(course: FixedCourse, rows: Any) -> None:
    """Refuse a course that makes whole numbers of rows, or shapes.

    rows: made-up ones, of the shape and the kind that the course is to be fed.
    """
    of_rows: set[int] = set()

    def watch(what: Sequence[Any], place: int, made: Any) -> None:
        found = [each for each in (made if isinstance(made, (tuple, list)) else (made,)) if torch.is_tensor(each)]
        begins = what[0] in (INPUT, "layer") or what[1] in (DROPOUT, ATTENTION)  # chances may fail as rows may
        if not found or not (begins or of_rows & taken(what[1:])):
            return
        of_rows.add(place)
        for each in found:
            if not (each.dtype.is_floating_point or each.dtype == torch.bool):
                raise TacitError(
                    f"The forward pass makes {each.dtype} of rows where it calls {what[1]!r}. Operations on whole "
                    "numbers fail at some values, which would tell that there are such rows. Use .float() before."
                )

    with torch.no_grad(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            course.followed(rows, watch)
            torch.func.vmap(lambda row: course(row[None])[0], randomness="different")(rows)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as wrong:
            shape = tuple(rows.shape)
            raise TacitError(f"The module fails on made-up rows of the shape {shape}, or alone: {wrong}") from None
