"""`tacit train --module mine.py:Net`, and what follows: a file that predicts and is scored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from tacit.learning import neural
from tests.doors.shell import run

POLICY = """
name = "clinic"
budget = { epsilon = 20, delta = 1e-5 }
ledger = "spent.ledger"

[questions]
largest_epsilon = 15

[tables.visits]
source = "visits.csv"
unit = "who"
rows_per_unit = 2

[tables.visits.columns]
who = { type = "integer" }
age = { type = "integer", between = [0, 110] }
charge = { type = "integer", between = [0, 400] }
smoker = { type = "text", one_of = ["no", "yes"] }
"""
MINE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = nn.Linear(inputs, 8)
        self.last = nn.Linear(8, outputs)

    def forward(self, x):
        return self.last(torch.tanh(self.layer(x)))

def small(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4), nn.Tanh(), nn.Linear(4, outputs))

number = 7
"""
ROWS = "SELECT age, charge, smoker FROM visits"
QUICK = ("--option", "epochs=2", "--option", "rate=0.2", "--delta", "1e-6", "--epsilon", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [f"{who // 2},{who % 90},{who % 90 * 4},{'yes' if who % 90 < 45 else 'no'}" for who in range(240)]
    (tmp_path / "visits.csv").write_text("who,age,charge,smoker\n" + "\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("age,charge\n20,10\n85,300\n")
    (tmp_path / "clinic.toml").write_text(POLICY)
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def train(module: str, *more: str, code: int = 0) -> Result:
    given = ("train", "clinic.toml", ROWS, "--module", module, "--target", "smoker", "--to", "n.safetensors")
    return run(*given, *QUICK, *more, code=code)


def test_a_module_of_ones_own_is_trained_predicts_and_is_scored(folder: Path) -> None:
    assert "Would cost epsilon 2" in train("mine.py:Net", "--estimate").stdout
    assert not (folder / "n.safetensors").exists()
    assert "Wrote n.safetensors" in train("mine.py:Net").stderr
    assert json.loads(train("mine.py:Net", "--json").stdout)["repeated"]  # the same again is stored, free
    said = run("predict", "n.safetensors", "new.csv", "--module", "mine.py:Net", "--format", "csv")
    assert said.stdout.splitlines()[0] == "prediction,probability_of_no,probability_of_yes"
    scored = run("evaluate", "n.safetensors", "clinic.toml", ROWS, "--epsilon", "1", "--module", "mine.py:Net")
    assert "accuracy" in scored.stdout
    run("predict", "n.safetensors", "new.csv", code=2)


def test_a_function_of_torchs_layers_needs_no_module_afterwards() -> None:
    train("mine.py:small")
    run("predict", "n.safetensors", "new.csv")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("mine.py", "FILE.py:NAME"),
        ("none.py:Net", "is no file"),
        ("mine.py:Other", "has no"),
        ("mine.py:number", "int"),
    ],
)
def test_mistakes_have_a_sentence_and_cost_nothing(folder: Path, module: str, said: str) -> None:
    assert said in train(module, code=2).output
    assert not (folder / "spent.ledger").exists()


def test_a_network_of_arrays_predicts_for_a_file_of_as_many_numbers(folder: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = neural.NeuralClassifier(epsilon=2, classes=[0, 1], epochs=1, rate="1/2", size=60)
    model.fit(X, np.arange(60) % 2).save(folder / "a.safetensors")
    (folder / "x.csv").write_text("a,b,c\n" + "\n".join(",".join(map(repr, map(float, row))) for row in X[:5]) + "\n")
    said = run("predict", "a.safetensors", "x.csv", "--format", "csv").stdout.splitlines()
    assert [line.split(",")[0] for line in said[1:]] == [str(each) for each in model.predict(X[:5])]
    for text, words in (("a,b\n1,2\n", "3 columns"), ("a,b,c\n1,2,x\n", "3 numbers"), ("a,b,c\n1,2\n", "3 numbers")):
        (folder / "y.csv").write_text(text)
        assert words in run("predict", "a.safetensors", "y.csv", code=2).output
