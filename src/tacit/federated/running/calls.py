"""What a coordinator tells a client at the beginning of a round: its number and the public state, under their tag.

    "tacit call" | round 4 | state (JSON) | tag 16          (bytes)

The state decides nothing about privacy: whatever it is, a client's vector is shortened and noised as the federation's
text says. The tag keeps an attacker on the network from steering the fit.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Final

from tacit.federated.aggregation.client import channel
from tacit.federated.aggregation.keys import TAG, Identity, is_tag, tag
from tacit.federated.aggregation.messages import SERVER
from tacit.federated.jobs.job import State
from tacit.federated.refusals import Refused
from tacit.federated.running.federation import Federation

_MAGIC: Final = b"tacit call"
_ROUND: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Call:
    """A round that begins."""

    round: int
    state: State


def called(federation: Federation, server: Identity, client: int, call: Call) -> bytes:
    """The call for one client."""
    body = _MAGIC + _ROUND.pack(call.round) + json.dumps(call.state, sort_keys=True, allow_nan=False).encode()
    setup = federation.setup(call.round)
    key = channel(setup, server.known_with(setup.clients[client]), client, SERVER)
    return body + tag(key, b"call", body)


def heard(federation: Federation, identity: Identity, client: int, text: bytes) -> Call:
    """The call in a message to a client; any other message is refused."""
    head = len(_MAGIC) + _ROUND.size
    if len(text) < head + TAG or not text.startswith(_MAGIC):
        raise Refused("This is no call to a round.")
    setup = federation.setup(_ROUND.unpack_from(text, len(_MAGIC))[0])
    key = channel(setup, identity.known_with(setup.server), client, SERVER)
    if not is_tag(text[-TAG:], key, b"call", text[:-TAG]):
        raise Refused("The call is not what the coordinator wrote for this client.")
    state = json.loads(text[head:-TAG])
    if not isinstance(state, dict):
        raise Refused("The call's state is not one.")
    return Call(_ROUND.unpack_from(text, len(_MAGIC))[0], state)
