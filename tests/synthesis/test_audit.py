"""Canaries through the whole of a synthesis: what can be told from the model is below what was claimed.

Canary i is a row with value i in the first column, and i modulo 2 in the second. A canary seems to be in where the
model expects many rows in its cell. The bound holds with probability .999 for a true claim; it exceeds epsilon in less
than one of 1,000 runs only if the claim is false, and then by the size of a lie: the claim is checked against 4 times
epsilon, where chance is below 1e-9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.audit import one_run
from tests.synthesis.test_linked import MOST, POLICY

CANARIES = 60


def audited(method: Any, epsilon: str) -> float:
    def trainer(included: list[int]) -> Any:
        always = np.arange(CANARIES)  # a row of every canary's value that is always there
        first = np.concatenate([always, np.array(included, dtype=np.int64)])
        data = {"which": first, "parity": first % 2}
        made = method(data, epsilon=epsilon, delta="1e-6", bounds={"which": (0, CANARIES - 1), "parity": (0, 1)})
        return made.probabilities("which", "parity") * made.total

    return one_run(
        trainer, lambda table, canary: float(table[canary, canary % 2]), list(range(CANARIES)), delta="1e-6"
    ).epsilon


@pytest.mark.parametrize("method", [synthesis.independent, synthesis.mst, synthesis.aim, synthesis.residual])
def test_canaries_tell_no_more_than_was_claimed(method: Any) -> None:
    assert audited(method, "1") <= 4


@pytest.mark.parametrize("method", [synthesis.independent, synthesis.mst, synthesis.aim, synthesis.residual])
def test_canaries_are_seen_where_there_is_hardly_any_noise(method: Any) -> None:
    assert max(audited(method, "2000") for _ in range(2)) > 1


def audited_units(folder: Path, epsilon: str) -> float:
    """Canary i is a person of age i with as many visits as one may have, all of them in one cell."""
    text = POLICY.format(most=MOST).replace("between = [0, 9] }\nsex", f"between = [0, {CANARIES - 1}] }}\nsex")
    text = text.replace("epsilon = 40", "epsilon = 5000")

    def trainer(included: list[int]) -> Any:
        ages = [*range(CANARIES), *included]
        people = pd.DataFrame({"who": range(len(ages)), "age": ages, "sex": "F"})
        visits = pd.DataFrame({"patient": np.repeat(range(len(ages)), MOST), "ward": "a", "cost": 1.0, "sex": "F"})
        for name, frame in (("people", people), ("visits", visits), ("wards", pd.DataFrame({"beds": [1]}))):
            frame.to_csv(folder / f"{name}.csv", index=False)
        (folder / "clinic.toml").write_text('ledger = "memory"\nworking_copy = "memory"\n' + text)
        with tacit.open(folder / "clinic.toml") as clinic:
            twins = synthesis.linked(clinic, "people", "visits", epsilon=epsilon, delta="1e-6", bins={"cost": 3})
        return sum(each.probabilities("age") * each.total for each in (twins.parents, twins.children))

    return one_run(trainer, lambda table, canary: float(table[canary]), list(range(CANARIES)), delta="1e-6").epsilon


def test_a_person_with_all_their_visits_tells_no_more_than_was_claimed(tmp_path: Path) -> None:
    assert audited_units(tmp_path, "1") <= 4


def test_a_person_with_all_their_visits_is_seen_where_there_is_hardly_any_noise(tmp_path: Path) -> None:
    assert max(audited_units(tmp_path, "2000") for _ in range(2)) > 1
