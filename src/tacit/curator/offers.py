"""What a curator offers besides answers to questions: rows for studies, bounds, publications and watches.

Promise: each of them is done in a file of its own, as it is for a caller here, and pays at the same till.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tacit.curator.publish import Publication, publish
from tacit.curator.studies import Rows, rows_of
from tacit.curator.suggest import BoundsWanted, Suggestion, bought
from tacit.curator.watching import Watch, watch
from tacit.parameters import Number
from tacit.plan.asked import Asked

if TYPE_CHECKING:
    from tacit.curator.curator import Curator


class Offers:
    """The part of a `Curator` that hands on; nothing else is made of it."""

    def rows(self, sql: str, columns: Sequence[str] | None = None, *, rows_per_unit: int | None = None) -> Rows:
        """Rows for a study: `clinic.rows("SELECT age FROM visits")`, or `clinic.rows("visits", ["age"])`. Free.

        >>> from tacit import statistics
        >>> found = statistics.histogram(clinic.rows("SELECT ward FROM visits"), epsilon="0.1")
        >>> found["ward"]
        ('north', 'south')
        """
        return rows_of(_curator(self), sql, columns, rows_per_unit)

    def publish(
        self,
        statistics: Mapping[str, object] | Iterable[object],
        epsilon: Number,
        *,
        delta: Number = 0,
        to: str | Path | None = None,
        title: str = "Statistics",
        level: Number = "0.95",
        analyst: str | None = None,
    ) -> Publication:
        """Release questions in SQL and planned studies together, for one charge, and write them `to` a folder.

        There: index.html with drawings, statistics.json with all intervals, and a CSV for each statistic.

        >>> found = clinic.publish({"visits": "SELECT count(*) AS n FROM visits WHERE ward = 'north'"}, "0.1")
        >>> found
        Publication(visits; epsilon 0.1)
        """
        return publish(_curator(self), statistics, epsilon, delta, to, title, level, analyst)

    def watch(
        self,
        sql: str,
        epsilon: Number,
        *,
        every: str,
        delta: Number = 0,
        since: Any = None,
        until: Any = None,
        time: str | None = None,
        wait: str | None = None,
        analyst: str | None = None,
    ) -> Watch:
        """Counts, sums and means of a table that grows in time, told after every period and paid for once.

        Periods begin at `since` and end at `until` (the bounds of the `time` column, unless said), and are counted when
        they are over, `wait` later where rows come late. The same watch again goes on where it was.

        >>> watch = clinic.watch("SELECT count(*) AS n FROM visits", "0.1", every="28 days", until="2024-12-01")
        >>> watch
        Watch(0 of 12 periods counted)
        """
        return watch(_curator(self), sql, epsilon, delta, every, since, until, time, wait, analyst)

    def suggest(
        self,
        column: str,
        epsilon: Number | None = None,
        *,
        rows_per_unit: int | None = None,
        analyst: str | None = None,
    ) -> Suggestion:
        """Bounds for a column that has none yet, bought: `clinic.suggest("visits.charge", epsilon=0.1)`.

        >>> clinic.suggest("visits.charge", "0.4").line  # to put into the policy  # doctest: +ELLIPSIS
        'charge = { type = "real", between = [...] }'
        """
        asked = Asked.of(epsilon, rows_per_unit=rows_per_unit, analyst=analyst)
        return bought(_curator(self), BoundsWanted.of(_curator(self), column), asked)


def _curator(part: Offers) -> Curator:
    return cast("Curator", part)
