"""How often intervals hold the truth, of studies and of SQL, in seven regimes: `python3 go.py bench coverage`.

Bar: in no regime are intervals held less often than their level less two points. A cell has 400 runs (`TACIT_RUNS`);
one that comes out below 94 % is run five times as long before it is judged, so that a study just at its level fails
in one of 50,000 cells. Several intervals of one finding count together; a column's worst place is judged where chance
would put it below the bar in one of 10,000 cells. An interval that is not shown counts for nothing, and how many are
shown is said. More than the level is no fault where intervals are conservative by design: such cells are listed.

The cases and their truths are in `_coverage_cases.py`, `_coverage_sql.py`, `_coverage_rooms.py` (scores, synthetic
data, watches, streams, surveys, collections) and `_coverage_lines.py` (coefficients of `learning.LinearRegression`, in
regimes of their own). `TACIT_ONLY=pca,mean,SQL,rooms,LinearRegression` runs some. With
`TACIT_KEPT=FILE` each cell is written to that file as it is done, and cells that are in it are not run again: a sweep
that was stopped goes on. The file knows nothing of the code; take its lines out for what was changed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from scipy import stats

import _coverage_cases as studies
import _coverage_lines as fits
import _coverage_rooms as rooms
import _coverage_sql as sql
from _coverage_cases import CASES, REGIMES, Tally

LEVEL, BAR, AGAIN, FAR = 0.95, 0.93, 0.94, 0.99
RUNS = int(os.environ.get("TACIT_RUNS", "400"))
ONLY = [each for each in os.environ.get("TACIT_ONLY", "").split(",") if each]
KEPT = Path(os.environ["TACIT_KEPT"]) if os.environ.get("TACIT_KEPT") else None


def kept() -> dict[tuple[str, str], dict[str, Tally]]:
    """The cells that were written down, by case and regime."""
    lines = KEPT.read_text().splitlines() if KEPT is not None and KEPT.exists() else []
    found = {}
    for each in map(json.loads, lines):
        columns = {
            column: Tally(np.array(held), np.array(shown), runs)
            for column, (held, shown, runs) in each["columns"].items()
        }
        found[each["case"], each["regime"]] = columns
    return found


def keep(name: str, regime: str, columns: dict[str, Tally]) -> None:
    """Write a cell down, where a file was named."""
    if KEPT is None:
        return
    plain = {column: (each.held.tolist(), each.shown.tolist(), each.runs) for column, each in columns.items()}
    with KEPT.open("a") as file:
        file.write(json.dumps({"case": name, "regime": regime, "columns": plain}) + "\n")


LINE = "LinearRegression"


def sweep(name: str, regime: str, runs: int, seed: int = 0) -> dict[str, Tally]:
    """Of a study, of a question in SQL, of another room, or of a line."""
    if name == LINE:
        return {"coefficient": fits.sweep(regime, runs, seed)}
    if name in rooms.CASES:
        return rooms.sweep(name, regime, runs, seed)
    room = studies if name in CASES else sql
    return room.sweep(name, regime, runs, seed)


def judged(name: str, regime: str, runs: int) -> dict[str, Tally]:
    """The cell, with more runs where the first ones leave it open."""
    found = sweep(name, regime, runs)
    if min(each.coverage for each in found.values()) >= AGAIN:
        return found
    more = sweep(name, regime, 4 * runs, seed=1)
    return {column: _together(each, more[column]) if column in more else each for column, each in found.items()}


def _together(one: Tally, other: Tally) -> Tally:
    size = max(len(one.held), len(other.held))
    held, shown = (
        np.pad(a, (0, size - len(a))) + np.pad(b, (0, size - len(b)))
        for a, b in ((one.held, other.held), (one.shown, other.shown))
    )
    return Tally(held, shown, one.runs + other.runs)


def met(tally: Tally) -> bool:
    """Whether the bar is met, by all intervals together and at the worst place."""
    chance = stats.binom.cdf(tally.held, tally.shown, BAR)
    return tally.coverage >= BAR and bool(np.all((tally.shown == 0) | (chance > 1e-4 / len(tally.held))))


def written(tally: Tally) -> str:
    """A cell of the table."""
    share = f" ({100 * tally.share:.0f} % shown)" if tally.share < 0.995 else ""
    text = "none shown" if not tally.shown.sum() else f"{100 * tally.coverage:.1f}{share}"
    return text if met(tally) else f"**{text}**"


def main() -> str:
    names = [name for name in CASES if not ONLY or name.partition(",")[0] in ONLY]
    names += [name for name in rooms.CASES if not ONLY or "rooms" in ONLY]
    names += [name for name in sql.FORMS if not ONLY or "SQL" in ONLY]
    lines = ["| study | holds | column | " + " | ".join(REGIMES) + " |", "|---|---|---|" + "---|" * len(REGIMES)]
    failed, wide = [], []
    done = kept()
    for regime in REGIMES:  # one regime's tables are opened at a time
        for name in (each for each in names if each in sql.FORMS and (each, regime) not in done):
            done[name, regime] = judged(name, regime, RUNS)
            keep(name, regime, done[name, regime])
            print(regime, name, {law: round(each.coverage, 3) for law, each in done[name, regime].items()}, flush=True)
    sql.opened.close()
    for name in names:
        cells: dict[str, list[str]] = {}
        for regime in REGIMES:
            found = done.get((name, regime))
            if found is None:
                found = judged(name, regime, RUNS)
                keep(name, regime, found)
            for column, tally in found.items():
                good = met(tally)
                cells.setdefault(column, []).append(written(tally))
                label = f"{name} ({regime})"
                failed += [] if good else [label]
                wide += [label] if tally.shown.sum() and tally.coverage >= FAR else []
        about = CASES[name][0] if name in CASES else "rows" if name in rooms.CASES else "SQL, rows"
        lines += [f"| {name} | {about} | {column} | {' | '.join(row)} |" for column, row in cells.items()]
        print(lines[-1], flush=True)
    own = ["| LinearRegression, of a population | intercept and slopes | worst of them |", "|---|---|---|"]
    for regime in fits.POPULATIONS if not ONLY or LINE in ONLY else ():
        if (LINE, regime) not in done:
            done[LINE, regime] = judged(LINE, regime, RUNS)
            keep(LINE, regime, done[LINE, regime])
        tally = done[LINE, regime]["coefficient"]
        failed += [] if met(tally) else [f"{LINE} ({regime})"]
        wide += [f"{LINE} ({regime})"] if tally.shown.sum() and tally.coverage >= FAR else []
        own.append(f"| {regime} | {written(tally)} | {100 * tally.worst:.1f} |")
        print(own[-1], flush=True)
    return "\n".join(
        [
            "## Coverage",
            "",
            f"Percent of {100 * LEVEL:g} % intervals that held the truth, over {RUNS} runs a cell (five times as many "
            f"where the first came out below {100 * AGAIN:g}). Bar: {100 * BAR:g}. Truth: of the rows that were given, "
            "or of the population they were drawn from."
            + (
                f" Only some of the cases were run ({len(names)} of {len(CASES) + len(rooms.CASES) + len(sql.FORMS)})."
                if ONLY
                else ""
            ),
            "",
            *lines,
            "",
            *own,
            "",
            f"Below the bar: {', '.join(failed) if failed else 'none'}.",
            "",
            f"At {100 * FAR:g} or more, conservative by design: {', '.join(wide) if wide else 'none'}.",
        ]
    )


if __name__ == "__main__":
    print(main())
