"""The text of a federation from an owner's TOML file, and what it promises in sentences.

name = "readmissions"
server = "server.pub"                    # a public key, or the file that holds one
clients = "keys"                         # a folder of NAME.pub files, or a table of names and keys
epsilon = 1
delta = 1e-6
vanish = 2                               # how many clients may be missing in a round
collude = 1                              # how many may work with the coordinator
spare = 1                                # rounds that may be lost
[job]
kind = "logistic regression"
target = "readmitted"
classes = ["no", "yes"]
rounds = 4
[job.features]
age = [0, 100]
ward = ["A", "B"]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tacit import parameters
from tacit.doors.federate.settings import read_text
from tacit.errors import ParameterError
from tacit.federated.aggregation.keys import KEY
from tacit.federated.jobs.described import job_of
from tacit.federated.jobs.job import Job
from tacit.federated.running.federation import Federation

_KEYS: Final = {"name", "server", "clients", "epsilon", "delta", "vanish", "collude", "spare", "degree", "job"}
_NEEDED: Final = ("name", "server", "clients", "epsilon", "delta", "job")
_DESCENT: Final = ("rounds", "norm", "rate", "momentum", "local_steps")


def planned(content: Mapping[str, Any], folder: Path) -> Federation:
    """The federation of an owner's file; paths are relative to it."""
    unknown = sorted(set(content) - _KEYS)
    if unknown:
        raise ParameterError(f"The plan has the unknown key {unknown[0]!r}. Keys: {', '.join(sorted(_KEYS))}.")
    missing = [name for name in _NEEDED if name not in content]
    if missing:
        raise ParameterError(f"The plan lacks {missing[0]!r}. Needed: {', '.join(_NEEDED)}.")
    clients = _clients(content["clients"], folder)
    job = _job(content["job"], len(clients))
    numbers = {name: content[name] for name in ("vanish", "collude", "spare", "degree") if name in content}
    price = {name: content[name] for name in ("epsilon", "delta")}
    return Federation(content["name"], job, _key(content["server"], folder), clients, **price, **numbers)


def promises(federation: Federation) -> Iterator[str]:
    """What the text promises, in sentences."""
    one, many = federation.asked, len(federation.clients)
    yield f"{federation.name}: {federation.job.kind}, {many} clients, {federation.attempts} rounds at most."
    yield (
        f"Everything that leaves tells at most epsilon {federation.epsilon} at delta {federation.delta} of a whole "
        f"client, if at most {federation.collude} others work with the coordinator."
    )
    yield f"A round needs {many - federation.vanish} clients; up to {federation.vanish} may vanish from each."
    spread = (many * float(one.shares.variance)) ** 0.5 * one.task.unit(many)
    yield f"The noise of each opened number has a standard deviation of {spread:.3g}."
    yield "Give the text to all parties by a way that they trust: whoever changes it changes who takes part."


def _job(content: Any, among: int) -> Job:
    if not isinstance(content, dict):
        raise ParameterError("The plan's [job] must be a table with a kind.")
    made = dict(content)
    if made.get("kind") == "logistic regression":
        made["descent"] = {name: made.pop(name) for name in _DESCENT if name in made}
        features = made.get("features")
        if not isinstance(features, dict):
            raise ParameterError("[job.features] must give (low, high) or listed texts for each column.")
        made["features"], made["among"] = [[name, fact] for name, fact in features.items()], among
    return job_of(made)


def _clients(given: Any, folder: Path) -> dict[str, bytes]:
    if isinstance(given, dict):
        return {str(name): _key(key, folder) for name, key in given.items()}
    if not isinstance(given, str) or not (folder / given).is_dir():
        raise parameters.refuse("clients", "a folder of NAME.pub files, or a table of names and keys", given)
    found = {path.stem: _key(path.name, path.parent) for path in sorted((folder / given).glob("*.pub"))}
    if not found:
        raise ParameterError(f"The folder {given} has no NAME.pub files. tacit federate key NAME.key > NAME.pub")
    return found


def _key(given: Any, folder: Path) -> bytes:
    if not isinstance(given, str):
        raise parameters.refuse("key", "a public key, or the file that holds one", given)
    text = given if len(given) == 2 * KEY else read_text(folder / given).strip()
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise ParameterError(f"{given} holds no public key: {2 * KEY} hexadecimal digits.")
    return key
