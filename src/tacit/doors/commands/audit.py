"""`tacit audit run | check`: try a policy's own questions in a sandbox, and check a signed report of such a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tacit.doors.commands.formats import AsJson, Columns, Form, Format, chosen, show
from tacit.doors.commands.prices import Epsilon
from tacit.doors.commands.terminal import REFUSED, PolicyFile, aside, out, read_policy
from tacit.errors import ParameterError

if TYPE_CHECKING:
    from tacit.audit import Report


class RunFirst(TyperGroup):
    """`tacit audit POLICY` stands for `tacit audit run POLICY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not {"--help", *self.commands} & set(args[:1]):
            args = ["run", *args]
        return super().parse_args(ctx, args)


audit = typer.Typer(cls=RunFirst, no_args_is_help=True, rich_markup_mode=None)


@audit.command("run")
def run_audit(
    policy: PolicyFile,
    samples: Annotated[int, typer.Option(help="Draws of every question, on each of two neighbours.")] = 1_000,
    confidence: Annotated[str, typer.Option(help="Of the whole report.")] = "0.999",
    epsilon: Epsilon = None,
    key: Annotated[
        Path | None, typer.Option(help="The private key to sign with (PEM), made if it is not there.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write the signed report.")] = None,
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Try the policy's questions on made-up rows; no real row is read.  tacit audit clinic.toml --output audit.json"""
    from tacit.audit import audit_policy, check_report, sign_report

    wanted = chosen(form, as_json=as_json)
    known = read_policy(policy)
    with _watched() as told:
        report = audit_policy(known, samples=samples, confidence=confidence, epsilon=epsilon, told=told)
    signed = sign_report(report, key)
    check_report(signed)
    if output is not None:
        _write(output, signed)
    _show(report, wanted)
    if output is not None:
        aside().print(f"Wrote {output}. Check it with: tacit audit check {output}")
    if report.violated:
        raise typer.Exit(REFUSED)


@audit.command("check")
def check_audit(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A signed report.")],
    public_key: Annotated[str | None, typer.Option(help="The key (hex) that you know the auditor by.")] = None,
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Is this report what was signed?  tacit audit check audit.json"""
    from tacit.audit import check_report

    wanted = chosen(form, as_json=as_json)
    try:
        text = report.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{report} cannot be read: {getattr(error, 'strerror', None) or 'not a text'}.") from None
    found = check_report(text, public_key)
    _show(found, wanted)
    if wanted is Format.TABLE:
        aside().print(f"Signed on {found.made} with tacit {found.version}; the signature holds.")


def _show(report: Report, form: Format) -> None:
    def content() -> object:
        import json

        return json.loads(report.to_json())

    def columns() -> Columns:
        yield "claim", "text", [each.name for each in report.tried]
        yield "outcome", "text", [each.outcome for each in report.tried]
        yield "epsilon_claimed", "real", [each.epsilon for each in report.tried]
        yield "epsilon_found", "real", [each.found for each in report.tried]
        yield "delta", "real", [each.delta for each in report.tried]
        yield "samples_needed", "integer", [each.needed for each in report.tried]

    show(form, table=lambda: out().print(str(report), soft_wrap=True), content=content, columns=columns)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}.") from None


@contextmanager
def _watched() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal; nothing elsewhere."""
    console = aside()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")

        def told(name: str, done: int, total: int) -> None:
            bar.update(task, description=name, completed=done, total=total)

        yield told
