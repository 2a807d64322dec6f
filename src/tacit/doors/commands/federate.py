"""`tacit federate`: keys, the text that all agree on, and the processes: coordinator, client, helper, collector."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tacit import parameters
from tacit.doors.federate.settings import PRICE, SERVED, Key, read_identity, read_secret, read_settings, read_text
from tacit.errors import ParameterError, TacitError

federate = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Config = Annotated[Path, typer.Option("--config", metavar="FILE", help="The settings (TOML).")]
NEEDED: Final = "This needs Starlette, uvicorn and httpx, which are not installed: pip install 'tacit[server]'"
WAIT: Final = {"wait": Key(float, 30.0), "gather": Key(float, 120.0)}
TO_COORDINATOR: Final = {"coordinator": Key(str), "certificates": Key(Path, None), "token": Key(Path, None)}
OWN: Final = {"data": Key(Path), "record": Key(Path), **PRICE, "patience": Key(float, 600.0)}


@federate.command()
def key(
    file: Annotated[Path, typer.Argument(help="Where the secret is written; it must not be there yet.")],
) -> None:
    """Make a party's key; its public half is printed.  tacit federate key hospital-07.key > hospital-07.pub

    The file holds the secret: it stays with its party. The printed line is for everybody.
    """
    from tacit.doors.federate.settings import write_secret
    from tacit.federated.aggregation.keys import Identity

    made = Identity()
    write_secret(file, made.secret)
    typer.echo(made.public.hex())


@federate.command()
def plan(
    file: Annotated[Path, typer.Argument(help="What is computed, by whom, at which price (TOML).")],
    output: Annotated[Path, typer.Option(help="Where the text for all parties is written (JSON).")],
) -> None:
    """Write the text that all parties agree on.  tacit federate plan hospitals.toml --output hospitals.json

    What it promises is said in sentences. It costs nothing and reads no data.
    """
    from tacit.doors.federate.planning import planned, promises

    try:
        content = tomllib.loads(read_text(file))
    except tomllib.TOMLDecodeError as failure:
        raise ParameterError(f"{file.name} is no TOML: {failure}.") from None
    federation = planned(content, file.absolute().parent)
    output.write_text(federation.to_json() + "\n")
    for line in promises(federation):
        _said(line)


@federate.command()
def coordinator(config: Config) -> None:
    """Run the coordinator until the federation is over.  tacit federate coordinator --config coordinator.toml

    Killed and started again, it goes on where it was. The result is printed, and kept in its folder.
    """
    from tacit.federated.running.coordinator import Coordinator
    from tacit.federated.running.federation import Federation

    settings = read_settings(config, {"federation": Key(Path), "key": Key(Path), **SERVED, **WAIT, **PRICE})
    with _web_is_here():
        from tacit.doors.federate.coordinating import coordinate, result_text
    federation = Federation.from_json(read_text(settings["federation"]))
    folder = _folder(settings)
    wait, gather = float(settings["wait"]), float(settings["gather"])
    with (
        _ledger(folder, settings) as ledger,
        Coordinator(federation, read_identity(settings["key"]), folder, ledger, wait=wait, gather=gather) as running,
    ):
        place, token = _place(settings), _token(settings)
        _said(f"The federation {federation.name!r} is at {place.address}. Stop with Ctrl-C; it can go on later.")
        result = asyncio.run(coordinate(running, place, token, _said))
    if running.failed:
        raise TacitError("The federation failed: " + (running.lost[-1] if running.lost else "it failed before") + ".")
    if result is None:
        raise TacitError("The coordinator was stopped before the end. Start it again: it goes on where it was.")
    (folder / "result.json").write_text(result_text(result) + "\n")
    if federation.job.kind == "logistic regression":
        job: Any = federation.job
        price = {"epsilon": federation.epsilon, "delta": federation.delta, "rounds": str(federation.attempts)}
        job.model(result, price).save(folder / "model.json")
    typer.echo(result_text(result))


@federate.command()
def client(config: Config) -> None:
    """Take part with the rows of one file, which stay here.  tacit federate client --config hospital-07.toml

    What is told is written down first, and never beyond the budget in the settings. Ends when the federation does.
    """
    from tacit.federated.odometer import Odometer
    from tacit.federated.running.federation import Federation
    from tacit.federated.running.participant import Participant
    from tacit.loss.budget import Budget

    settings = read_settings(config, {"federation": Key(Path), "key": Key(Path), **TO_COORDINATOR, **OWN})
    with _web_is_here():
        from tacit.doors.federate.taking_part import Member, columns_of, web_to
    federation = Federation.from_json(read_text(settings["federation"]))
    columns, left_out = columns_of(settings["data"])
    if left_out:
        _said(f"{left_out:,} lines of {settings['data'].name} cannot be read and are left out. Nobody else is told.")
    odometer = Odometer(settings["record"], Budget(settings["epsilon"], settings["delta"]))
    member = Participant(federation, read_identity(settings["key"]), odometer, federation.job.read(columns))
    with web_to(settings["coordinator"], _token(settings), settings["certificates"]) as web:
        result = Member(member, web, float(settings["patience"]), _said).run()
    if result is None:
        raise TacitError("The federation failed: too many clients vanished. Nothing more is told.")
    typer.echo(json.dumps(result, sort_keys=True))


@federate.command()
def helper(config: Config) -> None:
    """Run one of the servers that reports are split between.  tacit federate helper --config helper-0.toml"""
    from tacit.federated.prio.collection import Collection
    from tacit.federated.running.helper import Helper

    known = {"collection": Key(Path), "secret": Key(Path), "place": Key(int), "collector": Key(Path, None)}
    settings = read_settings(config, {**known, **SERVED, **PRICE})
    with _web_is_here():
        from tacit.doors.federate.helping import app_of
        from tacit.doors.federate.wire import server_of
    collection, folder = Collection.from_json(read_text(settings["collection"]).strip()), _folder(settings)
    with (
        _ledger(folder, settings) as ledger,
        Helper(collection, settings["place"], read_secret(settings["secret"]), folder, ledger) as running,
    ):
        place = _place(settings)
        _said(f"Helper {running.place} of {collection.name!r} is at {place.address}. Stop with Ctrl-C.")
        app = app_of(running, _token(settings), _token(settings, "collector"), _said)
        asyncio.run(server_of(app, place).serve())


@federate.command()
def report(
    config: Config,
    measurement: Annotated[str, typer.Argument(help="What is reported: yes, no, a number, or a JSON list.")],
) -> None:
    """Report to helpers, none of whom sees it.  tacit federate report 3 --config me.toml"""
    from tacit.federated.odometer import Odometer
    from tacit.federated.prio.collection import Collection
    from tacit.loss.budget import Budget

    known = {"collection": Key(Path), "helpers": Key(list), "certificates": Key(Path, None), "token": Key(Path, None)}
    settings = read_settings(config, {**known, "record": Key(Path), **PRICE})
    with _web_is_here():
        from tacit.doors.federate.helping import hand_in
        from tacit.doors.federate.taking_part import web_to
    collection = Collection.from_json(read_text(settings["collection"]).strip())
    odometer = Odometer(settings["record"], Budget(settings["epsilon"], settings["delta"]))
    made = collection.client(odometer).report(_measured(measurement))
    with contextlib.ExitStack() as stack:
        ways = [web_to(each, _token(settings), settings["certificates"]) for each in settings["helpers"]]
        hand_in(made, [stack.enter_context(each) for each in ways])
    _said("Reported. Sent again, it counts once.")


@federate.command("collect")
def collect_command(config: Config) -> None:
    """Let helpers check and release, and open the sum.  tacit federate collect --config collector.toml"""
    from tacit.federated.prio.collection import Collection

    known = {"collection": Key(Path), "helpers": Key(list), "certificates": Key(Path, None), "token": Key(Path, None)}
    settings = read_settings(config, {**known, "least": Key(int), "seconds": Key(float, 3600.0)})
    with _web_is_here():
        from tacit.doors.federate.helping import collect
        from tacit.doors.federate.taking_part import web_to
    collection = Collection.from_json(read_text(settings["collection"]).strip())
    with contextlib.ExitStack() as stack:
        ways = [web_to(each, _token(settings), settings["certificates"]) for each in settings["helpers"]]
        webs = [stack.enter_context(each) for each in ways]
        found = collect(collection, webs, settings["least"], float(settings["seconds"]), _said)
    typer.echo(json.dumps({"sum": found, "within_95": float(collection.error("0.95"))}))


@federate.command()
def demo(
    clients: Annotated[int, typer.Option(help="How many hospitals, each a process.", min=6, max=200)] = 8,
    folder: Annotated[Path | None, typer.Option(help="Where files are kept; else in a folder that is removed.")] = None,
    rounds: Annotated[int, typer.Option(help="How many rounds.", min=1, max=50)] = 3,
) -> None:
    """Made-up hospitals train a model, and no file leaves its process.  tacit federate demo --clients 12"""
    with _web_is_here():
        import httpx  # noqa: F401 - the processes need it
    from tacit.doors.federate.demonstration import demonstrate

    typer.echo(demonstrate(clients, rounds, folder, _said))


# -- what the commands share -----------------------------------------------------------------------------------


def _said(text: str) -> None:
    from tacit.doors.commands.terminal import aside

    aside().print(text)


@contextlib.contextmanager
def _web_is_here() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError:
        raise TacitError(NEEDED) from None


def _place(settings: dict[str, Any]) -> Any:
    from tacit.doors.http.serving import Place

    if not 1 <= settings["port"] <= 65_535:
        raise parameters.refuse("port", "1 to 65535", settings["port"])
    return Place(settings["host"], settings["port"], settings["certificate"], settings["certificate_key"])


def _token(settings: dict[str, Any], name: str = "token") -> str | None:
    if settings[name] is None:
        return None
    text = read_text(settings[name]).strip()
    if len(text) < 16 or not text.isascii() or not text.isprintable():
        raise ParameterError(f"{settings[name].name} must hold a token: one line of at least 16 characters.")
    return text


def _folder(settings: dict[str, Any]) -> Path:
    folder: Path = settings["folder"]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _ledger(folder: Path, settings: dict[str, Any]) -> Any:
    from tacit.ledger import Ledger
    from tacit.loss.budget import Budget

    budget = Budget(settings["epsilon"], settings["delta"])
    return Ledger.open(folder / "ledger", head=folder / "head", budget=budget)


def _measured(text: str) -> Any:
    """The typed value, as a circuit takes it."""
    if text in ("yes", "no"):
        return int(text == "yes")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if type(found) is int or (isinstance(found, list) and all(type(each) is int for each in found)):
        return found
    raise parameters.refuse("measurement", "yes, no, a whole number, or a list of them like [1, 0, 2]", text)
