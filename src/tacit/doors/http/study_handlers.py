"""What the routes for studies, publications and watches do, for one seat. As every handler, they name no analyst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.nested import plain
from tacit.curator import Publication
from tacit.curator.watching import Period
from tacit.doors.http import bodies, wire
from tacit.doors.http.datasets import Seat
from tacit.doors.http.published import write_page
from tacit.doors.http.replies import Reply, Request
from tacit.doors.studies.registry import Named, named, registry
from tacit.doors.studies.running import Wanted, estimate_content, finding_content, price, run
from tacit.statistics import planned
from tacit.statistics.finding import Finding


def studies(seat: Seat, request: Request) -> Reply:
    """Every statistic, model and kind of synthetic data that can be named, with what it takes; free."""
    return Reply({"studies": [_described(each) for each in registry().values()]})


def study(seat: Seat, request: Request) -> Reply:
    """A study, a model or synthetic data by name, paid for; or the stored one, free."""
    wanted, _ = _wanted(request, bodies.STUDY)
    made = run(wanted, seat.curator, request.progress)
    return Reply(made.content(), made.table)


def study_estimate(seat: Seat, request: Request) -> Reply:
    """What a study would cost, and how far it would be off; free."""
    wanted, said = _wanted(request, bodies.STUDY_ESTIMATE)
    return Reply(estimate_content(price(wanted, seat.curator, said.get("rows"))))


def publish(seat: Seat, request: Request) -> Reply:
    """Questions and studies released together for one price; with `page`, by the owner, also as a page for readers."""
    said = bodies.read(request.body, bodies.PUBLICATION, "statistics", "epsilon")
    page, title = said.pop("page", None), said.pop("title", "Statistics")
    if page is not None and not seat.is_owner:
        raise parameters.refuse("page", "left out: what readers see is for the owner to say", page)
    statistics = _statistics(said.pop("statistics"), seat)
    level = said.pop("level", parameters.LEVEL)
    to = None if page is None else write_page(seat.dataset, page)
    made = seat.curator.publish(statistics, **said, level=level, title=title, to=to)
    return Reply(publication_content(made))


def watch(seat: Seat, request: Request) -> Reply:
    """Totals of a growing table after every period, paid for once: all periods that are over by now."""
    said = bodies.read(request.body, bodies.WATCH, "sql", "epsilon", "every")
    watched = seat.curator.watch(said.pop("sql"), said.pop("epsilon"), **said)
    try:
        periods = watched.catch_up()
        return Reply(
            {"periods": [_period(each) for each in periods], "over": watched.counted, "in_all": watched.periods}
        )
    finally:
        watched.close()


def publication_content(made: Publication) -> dict[str, Any]:
    """A publication as JSON: every result by its name, and the one receipt."""
    results = [{"name": name, **_result(each)} for name, each in made.results.items()]
    return {"results": results, "receipt": dict(made.receipt), "repeated": made.repeated}


def _result(found: Any) -> dict[str, Any]:
    if isinstance(found, Answer):
        return {"kind": "answer", **wire.answer_out(found)}
    assert isinstance(found, Finding)
    return {"kind": "finding", **finding_content(found)}


def _described(each: Named) -> dict[str, Any]:
    return {
        "name": each.name,
        "room": each.room,
        "says": each.says,
        "takes_target": each.takes_target,
        "takes_columns": each.takes_columns,
        "options": [
            {"name": one.name, "kind": one.kind, "needed": one.needed, "default": _plain(one.default)}
            for one in each.parameters
        ],
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _wanted(request: Request, known: Mapping[str, bodies.Read]) -> tuple[Wanted, dict[str, Any]]:
    said = bodies.read(request.body, known)
    found = Wanted(
        named(request.path["name"]),
        said.get("sql"),
        tuple(said.get("columns", ())),
        said.get("rows_per_unit"),
        said.get("target"),
        said.get("options", {}),
    )
    return found, said


def _statistics(listed: list[dict[str, Any]], seat: Seat) -> dict[str, object]:
    """Each statistic by its name: a question in SQL, or a study and what it is about."""
    found: dict[str, object] = {}
    for each in listed:
        said = bodies.taken(each, bodies.STATISTIC, "name")
        if said["name"] in found:
            raise parameters.refuse("names of statistics", "all different", said["name"])
        found[said["name"]] = _statistic(said, seat)
    return found


def _statistic(said: Mapping[str, Any], seat: Seat) -> object:
    if "study" not in said:
        if "sql" not in said:
            raise parameters.refuse("sql", "given where no study is named", None)
        return said["sql"]
    one = named(said["study"])
    if one.room != "statistics":
        raise parameters.refuse("study", "a statistic: models and synthetic data are no tables", one.name)
    options = {name: value for name, value in said.get("options", {}).items() if value is not None}
    known = {each.name: each for each in one.parameters}
    read = {name: known[name].read(value) if name in known else value for name, value in options.items()}
    if "sql" in said:
        rows = seat.curator.rows(said["sql"], rows_per_unit=said.get("rows_per_unit"))
        return planned(one.made, rows, **read)
    if not said.get("columns"):
        raise parameters.refuse("columns", 'given with a study, written "table.column", or rows as sql', None)
    more = {} if said.get("rows_per_unit") is None else {"rows_per_unit": said["rows_per_unit"]}
    columns = said["columns"]
    return planned(one.made, columns[0] if len(columns) == 1 else columns, **read, **more)


def _period(each: Period) -> dict[str, Any]:
    return {
        "number": each.number,
        "start": each.start.isoformat(),
        "end": each.end.isoformat(),
        "keys": [list(map(plain, key)) for key in each.keys],
        "names": list(each.names),
        "totals": each.totals,
        "new": each.new,
        "within_95": each.within_95,
    }


STUDY_HANDLERS: Final = {each.__name__: each for each in (studies, study, study_estimate, publish, watch)}
