"""A course that makes whole numbers of rows is refused: operations on those fail at some values, and failing tells.

Theorem. Of the operations that a course may have (`traced`), those on tensors of real numbers and truth values fail or
succeed by shapes and kinds alone: dividing by zero gives infinity, and what is no number goes on as such. With whole
numbers it is otherwise: dividing by zero raises, and so does a line that a table does not have. Shapes and kinds do not
depend on values, so made-up rows show them all.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import fx

from tacit.errors import TacitError


def refuse_whole_numbers(course: Any, rows: Any) -> None:
    """Refuse the course where something that depends on rows is neither a real number nor a truth value.

    rows: made-up ones, of the shape and the kind that the course is to be fed.
    """
    with torch.no_grad(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _Followed(course).run(rows)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as wrong:
            raise TacitError(f"The module fails on made-up rows of the shape {tuple(rows.shape)}: {wrong}") from None


class _Followed(fx.Interpreter):
    """Runs a course operation by operation, and knows which results depend on rows."""

    def __init__(self, course: Any) -> None:
        super().__init__(course, garbage_collect_values=False)
        self.extra_traceback = False
        self._of_rows: set[Any] = set()

    def run_node(self, n: Any) -> Any:
        """The result of one operation."""
        found = super().run_node(n)
        tensors = [each for each in (found if isinstance(found, (tuple, list)) else (found,)) if torch.is_tensor(each)]
        if tensors and (n.op == "placeholder" or any(each in self._of_rows for each in n.all_input_nodes)):
            self._of_rows.add(n)
            for each in tensors:
                if not (each.dtype.is_floating_point or each.dtype == torch.bool):
                    name = n.target if isinstance(n.target, str) else getattr(n.target, "__name__", n.target)
                    raise TacitError(
                        f"The forward pass makes {each.dtype} of rows where it calls {name!r}. Operations on whole "
                        "numbers fail at some values, which would tell that there are such rows. Use .float() before."
                    )
        return found
