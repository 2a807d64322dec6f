"""`tacit serve` and `tacit token`: datasets for people and programs without the files, and who may come in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from tacit.doors.commands.formats import AsJson, Form, Format, chosen, show
from tacit.doors.commands.prices import Analyst
from tacit.doors.commands.terminal import PolicyFile, aside, out, read_policy
from tacit.errors import TacitError

MISSING: Final = "This needs FastAPI, uvicorn and Jinja2, which are not installed: pip install 'tacit[server]'"

token = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def serve(
    policies: Annotated[list[Path], typer.Argument(metavar="POLICY...", help="The policy files (TOML).")],
    host: Annotated[str, typer.Option(help="Where to listen. Without TLS: this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=1, max=65535)] = 8400,
    certificate: Annotated[Path | None, typer.Option(help="A certificate for TLS (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")] = None,
    open_questions: Annotated[
        int, typer.Option(help="How many questions one person may have open at once.", min=1, max=64)
    ] = 4,
    workers: Annotated[
        int, typer.Option(help="How many queries a dataset runs at once; each has memory of its own.", min=1, max=32)
    ] = 2,
    openid: Annotated[
        Path | None, typer.Option(help="Who may log in with an account of a provider of OpenID Connect (TOML).")
    ] = None,
) -> None:
    """Let others ask over HTTP, each with a token of their own.  tacit serve clinic.toml

    Make tokens with tacit token add. Ask with tacit.connect("http://127.0.0.1:8400", token="...").
    """
    try:
        from tacit.doors.http.app import Limits
        from tacit.doors.http.serving import Place, serve
    except ModuleNotFoundError:
        raise TacitError(MISSING) from None
    limits = Limits(open_each=open_questions, workers=workers)
    serve(policies, Place(host, port, certificate, key), limits, aside().print, openid)


def mcp(
    policy: PolicyFile,
    analyst: Analyst = "owner",
    limit: Annotated[
        str | None, typer.Option(help="The epsilon that one conversation may spend; else the policy's largest.")
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Over HTTP, each agent with a token of tacit token add.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen. Without TLS: this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=1, max=65535)] = 8401,
    certificate: Annotated[Path | None, typer.Option(help="A certificate for TLS (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")] = None,
) -> None:
    """Tools for an AI analyst, over standard input and output (MCP).  tacit mcp clinic.toml --analyst ana --limit 0.5

    Started by the program that the agent runs in. Each start is one conversation, with a limit of its own. With --http
    a server for agents elsewhere, at http://127.0.0.1:8401/mcp: each token is one conversation, charged to its name.
    tacit mcp clinic.toml --http --limit 0.5
    """
    if http:
        _mcp_over_http(policy, analyst, limit, (host, port, certificate, key))
        return
    try:
        from tacit.doors.mcp.server import make_server
    except ModuleNotFoundError:
        raise TacitError("This needs the package mcp, which is not installed: pip install 'tacit[mcp]'") from None
    from tacit.doors.lasting import open_lasting
    from tacit.doors.mcp.tools import Tools

    with open_lasting(policy, analyst=analyst) as curator:
        make_server(Tools(curator, limit), curator.policy.name).run()


def _mcp_over_http(
    policy: Path, analyst: str, limit: str | None, listens: tuple[str, int, Path | None, Path | None]
) -> None:
    if analyst != "owner":
        raise TacitError("Over HTTP the token says who asks: tacit token add makes one. Leave out --analyst.")
    try:
        from tacit.doors.http.app import Limits
        from tacit.doors.http.serving import Place
        from tacit.doors.mcp.serving import serve
    except ModuleNotFoundError:
        raise TacitError(
            "This needs the package mcp, FastAPI and uvicorn, which are not installed: pip install 'tacit[mcp,server]'"
        ) from None
    serve([policy], Place(*listens), Limits(), limit, aside().print)


@token.command("add")
def add_token(
    policy: PolicyFile,
    name: Annotated[str, typer.Argument(help="Whose it is; an analyst is charged under this name.")],
    role: Annotated[str, typer.Option(help="analyst, auditor or owner.")] = "analyst",
    days: Annotated[int, typer.Option(help="How long it is good for.", min=1, max=3650)] = 90,
) -> None:
    """Make a token. It is shown now and never again.  tacit token add clinic.toml ana --days 30"""
    from tacit import parameters
    from tacit.doors.http.roles import Role
    from tacit.doors.http.tokens import TokenFile

    if role not in set(Role):
        raise parameters.refuse("role", f"one of {', '.join(Role)}", role)
    analysts = read_policy(policy).analysts
    if role == Role.ANALYST and analysts and name not in analysts:
        how = f"Whoever asks needs a budget of their own here: [analysts.{name}]."
        raise parameters.refuse("name", f"one of the policy's analysts ({', '.join(analysts)})", name, how)
    made, text = TokenFile(policy.absolute()).add(name, Role(role), days)
    typer.echo(text)
    aside().print(
        f"A token for {made.name} ({made.role}), number {made.id}, until {made.expires[:10]}. "
        "Hand it over safely: it is not shown again."
    )


@token.command("list")
def list_tokens(policy: PolicyFile, form: Form = Format.TABLE, as_json: AsJson = False) -> None:
    """Every token that was not revoked; no secret is shown.  tacit token list clinic.toml"""
    wanted = chosen(form, as_json=as_json)
    from tacit.doors import tables
    from tacit.doors.http.tokens import TokenFile

    read_policy(policy)
    found = TokenFile(policy.absolute()).all()
    fields = ("id", "name", "role", "created", "expires")

    def table() -> None:
        shown = tables.table("number", "name", "role", "made", "until", texts=range(5))
        for each in found:
            over = " (over)" if each.is_over() else ""
            shown.add_row(each.id, tables.plain(each.name), each.role, each.created[:10], each.expires[:10] + over)
        console = out()
        console.print(tables.fit(console, shown))

    show(
        wanted,
        table=table,
        content=lambda: {"tokens": [{name: str(getattr(each, name)) for name in fields} for each in found]},
        columns=lambda: [(name, "text", [str(getattr(each, name)) for each in found]) for name in fields],
    )


@token.command("revoke")
def revoke_token(
    policy: PolicyFile, number: Annotated[str, typer.Argument(help="The token's number, as tacit token list tells.")]
) -> None:
    """Take a token back, from the next request on.  tacit token revoke clinic.toml 0f3c9a1b2d4e"""
    from tacit.doors.http.tokens import TokenFile

    gone = TokenFile(policy.absolute()).revoke(number)
    aside().print(f"Revoked: the token {gone.id} of {gone.name} ({gone.role}).")
