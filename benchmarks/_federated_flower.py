"""Flower's SecAgg+ in its own environment: CPU of one round, by its own workflow and its own client functions.

The stages of `SecAggPlusWorkflow` run as they are, but for the first, which only samples clients; a grid that stands in
for the network hands each message to the functions of Flower's client module, times them, and leaves out who vanished.
So the server's share is what the stages took, less what clients took. Prints one JSON line: milliseconds of the median
client that stayed, and of the server.

    .venv-flower/bin/python benchmarks/_federated_flower.py CLIENTS SHARES THRESHOLD DROPS LENGTH
"""

from __future__ import annotations

import importlib
import json
import logging
import statistics
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.common import Code, FitIns, FitRes, Status, ndarrays_to_parameters
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage
from flwr.compat.common import recorddict_compat as compat
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD
from flwr.server.workflow.constant import Key as WorkflowKey
from flwr.server.workflow.secure_aggregation.secaggplus_workflow import SecAggPlusWorkflow, WorkflowState
from flwr.supercore.task_identity import TaskIdentity

logging.getLogger("flwr").setLevel(logging.ERROR)
client = importlib.import_module("flwr.client.mod.secure_aggregation.secaggplus_mod")  # its package names a function so
STAGES = {Stage.SETUP: client._setup, Stage.SHARE_KEYS: client._share_keys, Stage.UNMASK: client._unmask}


class Grid:
    """All clients, in this process."""

    def __init__(self, clients: int, drops: int, length: int) -> None:
        self.states = {number: client.SecAggPlusState() for number in range(1, clients + 1)}
        self.spent = dict.fromkeys(self.states, 0.0)
        self.gone = set(range(1, drops + 1))
        values = np.random.default_rng(0).uniform(-1, 1, length)
        self._parameters = ndarrays_to_parameters([values])

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Message]:
        found = []
        for message in messages:
            number = message.metadata.dst_node_id
            configs = message.content.config_records[RECORD_KEY_CONFIGS]
            stage = str(configs[Key.STAGE])
            masked = stage == Stage.COLLECT_MASKED_VECTORS
            if number in self.gone and (masked or stage == Stage.UNMASK):
                continue
            plain = ConfigRecord({name: value for name, value in configs.items() if name != Key.STAGE})
            content = RecordDict()
            if masked:
                status = Status(Code.OK, "")
                content = compat.fitres_to_recorddict(FitRes(status, self._parameters, 1, {}), keep_input=True)
            state = self.states[number]
            began = time.process_time()
            if masked:
                answer = client._collect_masked_vectors(state, plain, 1, self._parameters)
            else:
                answer = STAGES[stage](state, plain)
            self.spent[number] += time.process_time() - began
            content.config_records[RECORD_KEY_CONFIGS] = ConfigRecord(answer, False)
            found.append(Message(content, reply_to=message))
        return found


def begun(grid: Grid, shares: int, threshold: int) -> WorkflowState:
    """What the first stage leaves: public keys, and a ring of neighbours."""
    numbers = list(grid.states)
    state = WorkflowState()
    state.num_shares, state.threshold = shares, threshold
    state.clipping_range, state.quantization_range, state.mod_range = 8.0, 1 << 22, 1 << 32
    state.max_weight = 1000.0
    settings = ConfigRecord(
        {
            Key.SAMPLE_NUMBER: len(numbers),
            Key.SHARE_NUMBER: shares,
            Key.THRESHOLD: threshold,
            Key.CLIPPING_RANGE: state.clipping_range,
            Key.TARGET_RANGE: state.quantization_range,
            Key.MOD_RANGE: state.mod_range,
            Key.MAX_WEIGHT: state.max_weight,
        }
    )
    fit = FitIns(ndarrays_to_parameters([]), {})
    for number, own in grid.states.items():
        own.nid = number
        began = time.process_time()
        keys = client._setup(own, settings)
        grid.spent[number] += time.process_time() - began
        state.nid_to_publickeys[number] = [keys[Key.PUBLIC_KEY_1], keys[Key.PUBLIC_KEY_2]]
        state.nid_to_fitins[number] = compat.fitins_to_recorddict(fit, True)
        state.nid_to_proxies[number] = None
    half = shares >> 1
    state.nid_to_neighbours = {
        number: {numbers[(place + offset) % len(numbers)] for offset in range(-half, half + 1)}
        for place, number in enumerate(numbers)
    }
    state.active_node_ids = set(numbers)
    state.sampled_node_ids = state.active_node_ids
    return state


def main(clients: int, shares: int, threshold: int, drops: int, length: int) -> None:
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    grid = Grid(clients, drops, length)
    state = begun(grid, shares, threshold)
    workflow = SecAggPlusWorkflow(shares, threshold)
    records = SimpleNamespace(config_records={MAIN_CONFIGS_RECORD: {WorkflowKey.CURRENT_ROUND: 1}}, array_records={})
    strategy = SimpleNamespace(aggregate_fit=lambda *_: (None, {}))
    context: Any = SimpleNamespace(state=records, strategy=strategy)
    before = sum(grid.spent.values())
    began = time.process_time()
    for stage in (workflow.share_keys_stage, workflow.collect_masked_vectors_stage, workflow.unmask_stage):
        if not stage(grid, context, state):
            raise SystemExit("the round ended without a result")
    server = time.process_time() - began - (sum(grid.spent.values()) - before)
    stayed = [spent for number, spent in grid.spent.items() if number not in grid.gone]
    print(json.dumps({"client": 1000 * statistics.median(stayed), "server": 1000 * server}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:6]))
