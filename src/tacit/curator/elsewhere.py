"""Rows that lie behind a server: a study of them runs there, and is called here like any other.

    clinic = tacit.connect("https://host", token="...")
    statistics.median(clinic.rows("SELECT age FROM visits"), epsilon=0.5)      # the name and the options go there

Promise: a study that is handed `Elsewhere` computes nothing here. Its name, its options and the description of its rows
are passed on, and the result that was released there comes back. Studies know where rows lie by this class alone.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tacit.errors import QuestionError
from tacit.plan.row_plan import RowPlan

Study = TypeVar("Study", bound=Callable[..., Any])


class Elsewhere(ABC):
    """A database, or rows of one, that another machine holds."""

    @abstractmethod
    def studied(self, name: str, options: Mapping[str, Any]) -> Any:
        """The finding of the study of this name there, with these options."""

    @abstractmethod
    def fitted(self, model: Any, target: Any) -> Any:
        """A model like this one, fitted there."""

    @abstractmethod
    def estimated(
        self, study: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any], rows: int | None
    ) -> Any:
        """What a study, or the `fit` of a model, would cost there; free."""


def must_be_here(data: Any) -> None:
    """Refuse what is possible only where the rows lie, as it takes several steps, or a model's own code."""
    if isinstance(data, Elsewhere):
        raise QuestionError(
            "This is not offered over a connection: it is done where the rows lie. Run it there, with "
            "tacit.open(policy), or use a study, a model or a question, which are passed on."
        )


class ElsewhereRows(Elsewhere):
    """Rows of a database that another machine holds."""

    plan: RowPlan


def passed_on(study: Study) -> Study:
    """The same study, which is passed on where its data lie elsewhere."""
    if "data" not in inspect.signature(study).parameters:
        return study

    @functools.wraps(study)
    def called(*arguments: Any, **options: Any) -> Any:
        data = arguments[0] if arguments else options.get("data")
        if isinstance(data, Elsewhere):
            return data.studied(study.__name__, options_of(study, arguments, options))
        return study(*arguments, **options)

    return called  # type: ignore[return-value]  # it has the signature of what it wraps


def options_of(study: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """A study's arguments by name, without its data; refused as Python refuses what a function does not take."""
    bound = inspect.signature(study).bind(*arguments, **options)
    found = dict(bound.arguments)
    for each in bound.signature.parameters.values():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            found |= found.pop(each.name, {})
    found.pop("data", None)
    return {name: value for name, value in found.items() if value is not None}
