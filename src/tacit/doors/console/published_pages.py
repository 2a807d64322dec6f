"""Pages of published statistics: what readers see, and the owner's form for publishing more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import parameters
from tacit.doors.console.page import Page, sentence
from tacit.doors.console.words import facts, tables_of
from tacit.doors.http import published
from tacit.doors.http.datasets import Seat
from tacit.doors.http.replies import Request
from tacit.errors import TacitError

_PUBLISH: Final = ("page", "title", "statistics", "epsilon", "delta")


def published_list(seat: Seat, request: Request) -> Page:
    """Every page that the owner published."""
    return Page("published.html", {"pages": published.pages(seat.dataset)})


def published_file(seat: Seat, request: Request) -> Page:
    """A published page, or one of its files."""
    name = request.path["file"]
    content, kind = published.file(seat.dataset, request.path["page"], name)
    return Page("", raw=(content, kind, "" if kind == "text/html" else name))


def publish_form(seat: Seat, request: Request) -> Page:
    """Statistics to be released together."""
    return _publish(seat, dict.fromkeys(_PUBLISH, ""))


def publish_now(seat: Seat, request: Request) -> Page:
    """Release them for one price, and show the page."""
    said = {name: request.query.get(name, "").strip()[:100_000] for name in _PUBLISH}
    try:
        folder = published.write_page(seat.dataset, said["page"])
        price: dict[str, Any] = {"delta": said["delta"]} if said["delta"] else {}
        title = said["title"] or "Statistics"
        seat.curator.publish(statistics_of(said["statistics"]), said["epsilon"], title=title, to=folder, **price)
    except TacitError as refusal:
        return _publish(seat, said, sentence(refusal, seat))
    return Page("", to=f"/published/{said['page']}/index.html")


def statistics_of(text: str) -> dict[str, object]:
    """One statistic a line: its name, a colon, and a question in SQL."""
    found: dict[str, object] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, sql = line.partition(":")
        if not colon or not name.strip() or not sql.strip() or name.strip() in found:
            raise parameters.refuse(
                "statistics", "lines such as Visits: SELECT count(*) FROM visits, each name once", line
            )
        found[name.strip()] = sql.strip()
    if not found:
        raise parameters.refuse("statistics", "at least one line such as Visits: SELECT count(*) FROM visits", text)
    return found


def _publish(seat: Seat, said: Mapping[str, str], refusal: str = "") -> Page:
    content = {"said": said, "tables": tables_of(seat.curator.policy), "policy": facts(seat), "refusal": refusal}
    return Page("publish.html", content)


PAGES: Final = {
    "page_published": published_list,
    "page_published_file": published_file,
    "page_publish": publish_form,
    "page_publish_now": publish_now,
}
