"""Where a policy says that its ledger lies: a file, or a database that several hosts share."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import tacit
from tacit.curator import open_ledger, open_policy, verify_ledger
from tacit.curator.ledgers import head_of
from tacit.errors import LedgerError, PolicyError
from tacit.policy.read import parse
from tests.postgres_server import Server

POLICY = """
name = "clinic"
source = "people.csv"
working_copy = "memory"
ledger = {ledger}
[budget]
epsilon = 1
[tables.people]
unit = "id"
rows_per_unit = 1
[tables.people.columns]
age = {{ type = "integer", between = [0, 110] }}
"""
COUNT = "SELECT count(*) FROM people"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("id,age\n" + "".join(f"{number},{number % 90}\n" for number in range(100)))
    (tmp_path / "clinic.toml").write_text(POLICY.format(ledger='"postgres:$CLINIC_LEDGER"'))
    return tmp_path / "clinic.toml"


def test_two_hosts_spend_from_one_ledger_in_a_database(
    policy: Path, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINIC_LEDGER", postgres.database("clinic_of_two_hosts"))
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("TACIT_STATE", str(first))
    with open_policy(policy) as here:
        answer = here.ask(COUNT, epsilon="1/2")
    monkeypatch.setenv("TACIT_STATE", str(second))
    with pytest.raises(LedgerError, match="begins with a copy of another host's head") as refusal:
        open_policy(policy)
    (head,) = first.glob("*.head")
    assert str(second / head.name) in str(refusal.value)  # the refusal names the file that has to be copied
    shutil.copy(head, second / head.name)
    with open_policy(policy) as there:
        assert there.remaining().loss == Fraction(1, 2)
        again = there.ask(COUNT, epsilon="1/2")
        assert again.repeated
        assert again.columns == answer.columns
        with pytest.raises(tacit.BudgetExceeded):
            there.ask("SELECT sum(age) FROM people", epsilon="3/5")
    with open_ledger(parse(policy.read_text(), directory=str(tmp_path))) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["registered", "charged", "answered"]
    assert verify_ledger(parse(policy.read_text(), directory=str(tmp_path))).sound
    postgres.drop("clinic_of_two_hosts")


def test_a_password_in_the_policy_is_refused() -> None:
    for address in ("postgresql://ana:secret@host/clinic", "postgresql://host/clinic?password=secret"):
        with pytest.raises(PolicyError, match="password must not stand in a policy") as refusal:
            parse(POLICY.format(ledger=f'"{address}"'))
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("content", [None, "", "clinic.ledger"])
def test_a_variable_without_an_address_is_refused(
    policy: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    monkeypatch.delenv("CLINIC_LEDGER", raising=False)
    if content is not None:
        monkeypatch.setenv("CLINIC_LEDGER", content)
    with pytest.raises(PolicyError, match="the environment variable CLINIC_LEDGER holds no address"):
        open_ledger(parse(policy.read_text()))


def test_the_head_of_a_database_is_found_by_its_place_whoever_connects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path))
    head = head_of("postgresql://ana:secret@host:5432/clinic?options=-csearch_path%3Da&sslmode=require")
    assert head == head_of("postgres://bo@host:5432/clinic?options=-csearch_path%3Da&password=other")
    others = ("host2:5432/clinic?options=-csearch_path%3Da", "host:5432/clinic", "host:5432/shop", "host:5433/clinic")
    assert len({head, *(head_of(f"postgresql://{other}") for other in others)}) == 5
