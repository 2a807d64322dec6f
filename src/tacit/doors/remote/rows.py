"""Rows behind a server, and the studies of them: a name and options go there, and the released result comes back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tacit import parameters
from tacit.curator.elsewhere import ElsewhereRows, options_of
from tacit.doors.remote.line import plain
from tacit.doors.studies.running import read, read_estimate
from tacit.plan.row_plan import RowPlan, plan_rows
from tacit.question.pieces import name as quoted
from tacit.question.stack import room

if TYPE_CHECKING:
    from tacit.doors.connect import RemoteCurator


@dataclass(frozen=True, slots=True)
class About:
    """The data of a study: rows of a SELECT, or columns that it names itself."""

    curator: RemoteCurator
    sql: str | None = None
    rows_per_unit: int | None = None

    def studied(self, name: str, options: Mapping[str, Any]) -> Any:
        """The finding of the study of this name there."""
        said = dict(options)
        progress = said.pop("progress", None)
        path, body = f"/v1/studies/{quote(name, safe='')}", self.body(said)
        line = self.curator.line
        return read(line.post(path, body) if progress is None else line.job(path, body, progress))

    def fitted(self, model: Any, target: Any) -> Any:
        """A model like this one, fitted there."""
        return read(self.curator.line.post(f"/v1/studies/{type(model).__name__}", self.model_body(model, target)))

    def estimated(
        self, study: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any], rows: int | None
    ) -> Any:
        """What a study, or the `fit` of a model, would cost there; free."""
        model = getattr(study, "__self__", None)
        if inspect.ismethod(study) and study.__name__ == "fit":
            name, body = type(model).__name__, self.model_body(model, arguments[0] if arguments else options.get("y"))
        else:
            name, body = study.__name__, self.body(options_of(study, (None, *arguments), options))
        reply = self.curator.line.post(f"/v1/studies/{quote(name, safe='')}/estimate", {**body, "rows": rows})
        return read_estimate(reply)

    def body(self, options: dict[str, Any]) -> dict[str, Any]:
        """The request for a study."""
        self.curator.myself(options.pop("analyst", None))
        columns = options.pop("columns", None)
        listed = None if columns is None else [columns] if isinstance(columns, str) else [str(each) for each in columns]
        each_unit = options.pop("rows_per_unit", None)
        if self.sql is not None and each_unit is not None:
            raise parameters.refuse("rows_per_unit", "said where the rows are made: curator.rows(...)", each_unit)
        return {
            "sql": self.sql,
            "columns": listed,
            "rows_per_unit": self.rows_per_unit if self.sql is not None else each_unit,
            "options": {name: plain(name, each) for name, each in options.items()},
        }

    def model_body(self, model: Any, target: Any) -> dict[str, Any]:
        """The request for a model."""
        if target is not None and not isinstance(target, str):
            raise parameters.refuse("y", "the name of a column", target)
        options = {name: each for name, each in model.get_params(deep=False).items() if each is not None}
        return {**self.body(options), "target": target}


class RemoteRows(ElsewhereRows):
    """Rows of a database behind a server that a study may use. Making them sends no request and costs nothing."""

    def __init__(self, curator: RemoteCurator, plan: RowPlan, sql: str, rows_per_unit: int | None) -> None:
        self.curator, self.plan = curator, plan
        self.about = About(curator, sql, rows_per_unit)

    def studied(self, name: str, options: Mapping[str, Any]) -> Any:
        """The finding of the study of this name there."""
        return self.about.studied(name, options)

    def fitted(self, model: Any, target: Any) -> Any:
        """A model like this one, fitted there."""
        return self.about.fitted(model, target)

    def estimated(
        self, study: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any], rows: int | None
    ) -> Any:
        """What a study would cost there; free."""
        return self.about.estimated(study, arguments, options, rows)

    def __getattr__(self, habit: str) -> Any:
        # only reached for missing names
        raise AttributeError(
            f"Rows have no {habit!r}: they never leave. Studies take them: tacit.statistics.mean(rows, epsilon=0.1)."
        )

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.plan.variables)
        return f"Rows({names}; at most {self.plan.rows_per_unit:,} of one unit)"


def rows_behind(
    curator: RemoteCurator, sql: str, columns: Sequence[str] | None, rows_per_unit: int | None
) -> RemoteRows:
    """The rows of a SELECT; or, with columns, of a table. What the server would refuse is refused here."""
    text = str(sql)
    if columns is not None:
        listed = ", ".join(quoted(str(each)) for each in columns)
        text = f"SELECT {listed} FROM {quoted(text)}"  # noqa: S608  # quoted names, parsed again
    with room():
        return RemoteRows(curator, plan_rows(text, curator.policy, rows_per_unit), text, rows_per_unit)
