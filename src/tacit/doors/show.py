"""`tacit demo`: a private database from nothing to an empty budget, on a made-up clinic.

Promise: everything shown is computed as it is shown, by the same curator that a real policy gets: real noise, a real
ledger. It takes some seconds, leaves nothing behind, and is plain text when the output is not a terminal.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.answer import Answer
from tacit.answer.standing import three_digits
from tacit.curator import Curator, open_policy
from tacit.doors import clinic, tables
from tacit.doors.commands.registering import registering
from tacit.errors import BudgetExceeded, TacitError

BAR_WIDTH: Final = 36
MOST_TRIES: Final = 30


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question of the demo, and what it may cost. `rows` is a guess of a cell's rows, for the estimate of means."""

    title: str
    sql: str
    budget: Mapping[str, Any]
    rows: int | None = None


QUESTIONS: Final = (
    ShownQuestion("How many patients are there?", "SELECT count(*) AS patients FROM patients", {"epsilon": "0.02"}),
    ShownQuestion(
        "How old are they?",
        "SELECT sex, count(*) AS patients, avg(2024 - birth_year) AS age FROM patients GROUP BY sex",
        {"epsilon": "0.1"},
        rows=30_000,
    ),
    ShownQuestion(
        "Which department is visited most, and what does it charge?",
        "SELECT department, count(*) AS visits, avg(charge) AS charge FROM visits "
        "GROUP BY department ORDER BY visits DESC",
        {"epsilon": "0.5"},
        rows=20_000,
    ),
    ShownQuestion(
        "Diagnoses are people's through their visits. Within 2,000 will do",
        "SELECT code, count(*) AS diagnoses FROM diagnoses GROUP BY code",
        {"within": 2000},
    ),
    ShownQuestion(
        "Patients by decade of birth: public groups from a public range",
        "SELECT floor(birth_year / 10) * 10 AS decade, count(*) AS patients FROM patients GROUP BY decade",
        {"epsilon": "0.1"},
    ),
    ShownQuestion(
        "The largest towns. Their names are secret too: that takes a delta",
        "SELECT town, count(*) AS patients FROM patients GROUP BY town ORDER BY patients DESC LIMIT 6",
        {"epsilon": "0.2", "delta": "1e-7"},
    ),
)
AGAIN: Final = "select DEPARTMENT, count(*) as n, avg(charge) as mean from Visits v group by department order by n desc"
REFUSED: Final = ("SELECT * FROM patients", "SELECT count(*) FROM visits WHERE patient_id = 17")
GREEDY: Final = "SELECT count(*) AS visits FROM visits WHERE charge > {}"


class Show:
    """The stages of the demo, printed to one console."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = tables.is_plain(console)

    def heading(self, text: str) -> None:
        """Begin a stage."""
        self.console.print(f"\n{text}\n", style="bold")

    def say(self, text: str, style: str = "") -> None:
        """A sentence or two."""
        self.console.print(text, style=style, markup=False)

    def question(self, curator: Curator, asked: ShownQuestion) -> Answer:
        """Estimate, ask, answer."""
        self.say(f"> {asked.sql}", "cyan")
        options = dict(asked.budget)
        estimated = curator.estimate(asked.sql, options.pop("epsilon", None), rows=asked.rows, **options)
        expected = ", ".join(f"{each.name} +/- {each.within_95:,.3g}" for each in estimated.errors)
        cost = estimated.plan.epsilon
        assert cost is not None
        self.say(f"Estimate, free: epsilon {tables.exact(cost)} gives {expected}.", "dim")
        start = time.perf_counter()
        answer = curator.ask(asked.sql, **asked.budget)
        self.console.print(tables.answer(answer))
        self.say(f"{tables.footer(answer)} ({(time.perf_counter() - start) * 1e3:.0f} ms)", "dim")
        return answer

    def chart(self, answer: Answer, key: str, measure: str, exact: Mapping[str, int]) -> Table:
        """Bars with error lines, and the exact figure, which only a made-up clinic may show."""
        block, line, middle = ("#", "-", "+") if self.plain else ("█", "─", "┼")
        intervals = answer.intervals()[measure]
        most = max(interval[1] for interval in intervals if interval is not None)
        shown = tables.table(key, "released", "exact", "", texts=(0, 3))
        for name, number, interval in zip(answer[key], answer[measure], intervals, strict=True):
            assert interval is not None
            low, here, high = (max(0, round(each / most * BAR_WIDTH)) for each in (interval[0], number, interval[1]))
            bar = Text(block * low, style="cyan") + Text(
                line * (here - low) + middle + line * (high - here), style="yellow"
            )
            shown.add_row(name, f"{number:,}", f"{exact[name]:,}", bar)
        return shown

    def refusals(self, curator: Curator) -> None:
        """Show what cannot be asked."""
        for sql in REFUSED:
            self.say(f"> {sql}", "cyan")
            try:
                curator.ask(sql)
            except TacitError as refusal:
                self.say(str(refusal), "red")

    def run_out(self, curator: Curator) -> None:
        """Ask until the budget does not cover the next question."""
        for number in range(1, MOST_TRIES):
            sql = GREEDY.format(25 * number)
            try:
                answer = curator.ask(sql, "0.3")
            except BudgetExceeded as refusal:
                self.say(f"> {sql}", "cyan")
                self.say(str(refusal), "red")
                return
            self.say(f"> {sql}", "cyan")
            left = f"worth epsilon {three_digits(curator.budget().worth)} so far."
            self.say(f"{tables.noisy(answer['visits'][0], answer.intervals()['visits'][0])}   {left}", "dim")

    def ledger(self, curator: Curator) -> None:
        """Show who asked what."""
        self.console.print(tables.ledger(curator.ledger(), last=100))
        self.say(str(curator.budget()))


def main(patients: int = clinic.PATIENTS) -> None:
    """Run the demo."""
    console = Console(highlight=False)
    show = Show(console)
    with tempfile.TemporaryDirectory(prefix="tacit-demo-") as folder:
        show.heading("A made-up clinic")
        with console.status("Making up people..."):
            made = clinic.make(Path(folder), patients=patients)
        show.say(", ".join(f"{rows:,} {name}" for name, rows in made.rows.items()) + ". Its policy begins:")
        show.say("\n".join(f"    {line}" for line in clinic.POLICY.split("\n\n")[1].splitlines()), "dim")
        start = time.perf_counter()
        with registering(console) as progress:
            curator = open_policy(made.policy, progress=progress)
        with curator:
            console.print(tables.policy(curator.policy))
            show.say(f"Registered in {time.perf_counter() - start:.1f} s: bounded, and read only once.", "dim")
            _answers(show, curator, made)


def _answers(show: Show, curator: Curator, made: clinic.Clinic) -> None:
    for number, asked in enumerate(QUESTIONS, start=1):
        show.heading(f"{number}. {asked.title}")
        answer = show.question(curator, asked)
        if "code" in answer.names:
            show.console.print()
            show.console.print(show.chart(answer, "code", "diagnoses", made.diagnoses_by_code))
    show.heading("The same question in other words is free")
    show.say(f"> {AGAIN}", "cyan")
    again = curator.ask(AGAIN, "0.5")
    show.say(tables.footer(again))
    show.heading("Rows never leave, and nobody can be singled out")
    show.refusals(curator)
    show.heading("Running out of budget, on purpose")
    show.run_out(curator)
    show.heading("The ledger")
    show.ledger(curator)
    show.say("\nNext: tacit init yourdata.csv, or tacit demo mechanisms.\n")
