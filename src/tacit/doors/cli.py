"""The command line: `tacit demo | init | check | refresh | estimate | ask | explain | publish | ledger | ...`.

Promise: what was asked for goes to standard output (a table, or JSON or CSV to be read by a program), everything else
to standard error. A mistake gives a sentence and no stack trace; a true bug shows its trace, without local variables,
because those may hold exact results. Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the budget does not cover it,
130 interrupted. It works without a terminal.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from tacit import __version__
from tacit.doors.commands.audit import audit
from tacit.doors.commands.completion import completion
from tacit.doors.commands.demo import demo
from tacit.doors.commands.federate import federate
from tacit.doors.commands.learning import evaluate, predict, train
from tacit.doors.commands.ledger import ledger
from tacit.doors.commands.policy import check, init
from tacit.doors.commands.publish import publish
from tacit.doors.commands.question import ask, estimate, explain, suggest
from tacit.doors.commands.refresh import refresh
from tacit.doors.commands.risk import risk
from tacit.doors.commands.server import mcp, serve, token
from tacit.doors.commands.survey import survey
from tacit.doors.commands.synthesis import synthesise
from tacit.doors.commands.terminal import REFUSED, aside
from tacit.doors.commands.watch import watch
from tacit.errors import BudgetExceeded, ParameterError, TacitError

WRONG_USAGE: Final = 2
OUT_OF_BUDGET: Final = 3
INTERRUPTED: Final = 130


def _code(refusal: TacitError) -> int:
    if isinstance(refusal, BudgetExceeded):
        return OUT_OF_BUDGET
    return WRONG_USAGE if isinstance(refusal, ParameterError) else REFUSED


class Door(TyperGroup):
    """All commands. A refusal becomes a red sentence and a code; anything else is a bug and shows itself."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except TacitError as refusal:
            aside().print(str(refusal), style="red")
            raise typer.Exit(_code(refusal)) from None
        except KeyboardInterrupt:
            aside().print("Interrupted. What was charged stays charged, and is not drawn again.", style="red")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Door,
    name="tacit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Ask about everyone, learn little about anyone: a differentially private database.",
    epilog="Start with: tacit demo. Then: tacit init visits.csv, fill in the policy, tacit check visits.toml, "
    'tacit ask visits.toml "SELECT count(*) FROM visits".',
)
app.add_typer(
    ledger,
    name="ledger",
    help="What has been spent, by whom, for what.  tacit ledger clinic.toml",
    epilog="Examples: tacit ledger clinic.toml, tacit ledger verify clinic.toml, "
    "tacit ledger export clinic.toml --format csv, tacit ledger resume clinic.toml --analyst ana, "
    "tacit ledger adopt clinic.toml --moved-from old/spent.ledger.",
)
app.add_typer(
    audit,
    name="audit",
    help="Does it keep its word? Measured on made-up rows, signed.  tacit audit clinic.toml",
    epilog="Examples: tacit audit clinic.toml --output audit.json --key auditor.pem, tacit audit check audit.json.",
)
app.add_typer(
    token,
    name="token",
    help="Who may come in to a served dataset.  tacit token add clinic.toml ana",
    epilog="Examples: tacit token add clinic.toml ana --days 30, tacit token add clinic.toml owner --role owner, "
    "tacit token list clinic.toml, tacit token revoke clinic.toml 0f3c9a1b2d4e.",
)
app.add_typer(
    survey,
    name="survey",
    help="Answers that are randomised at home: a page to try it, and a shuffler.  tacit survey demo",
    epilog="Examples: tacit survey demo, tacit survey demo drinks.json --port 0, "
    "tacit survey shuffle drinks.json --least 1000 < reports > shuffled.",
)
app.add_typer(
    federate,
    name="federate",
    help="Models and sums of data that nobody sees: coordinator, clients, helpers.  tacit federate demo",
    epilog="Examples: tacit federate demo, tacit federate key hospital-07.key > keys/hospital-07.pub, "
    "tacit federate plan hospitals.toml --output hospitals.json, "
    "tacit federate coordinator --config coordinator.toml, tacit federate client --config hospital-07.toml, "
    "tacit federate helper --config helper-0.toml.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _tacit(
    version: Annotated[
        bool, typer.Option("--version", help="The version, and nothing else.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command()(demo)
app.command()(init)
app.command()(check)
app.command()(estimate)
app.command()(explain)
app.command()(ask)
app.command()(suggest)
app.command()(publish)
app.command()(train)
app.command()(predict)
app.command()(evaluate)
app.command()(synthesise)
app.command()(watch)
app.command()(refresh)
app.command()(risk)
app.command()(serve)
app.command()(mcp)
app.command()(completion)


def main() -> None:
    """The entry point."""
    app(prog_name="tacit")


if __name__ == "__main__":
    main()
