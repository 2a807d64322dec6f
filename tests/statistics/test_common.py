"""What all studies promise, asserted for every one of them: one that joins the room is held to it as well.

Priced before a row is read and for nothing (`estimate`), at the price that was written; refused in a sentence before
anything is charged; charged once, before a row is read, for an event that is worth no more than was asked; stored, and
free when asked again; with an interval or a note on how far it is off; and whatever the rows are, even none, something
is released that looks the same.
"""

from __future__ import annotations

import contextlib
import html
import warnings
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tacit
from tacit import statistics
from tacit.curator import Curator, open_policy
from tacit.curator.till import Purchase, Till
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import BudgetExceeded, ParameterError, TacitError
from tacit.loss import compose, events
from tacit.loss.events import Event
from tacit.loss.filters import Spent, choose_filter
from tacit.statistics.finding import Finding
from tests.statistics.studies import NO_STUDIES, PLAIN, STUDIES, no_processes, people, policy_of, priced

BUYING: Mapping[str, Callable[..., Any]] = {
    **STUDIES,  # and what else takes a price
    "ask": lambda at, **price: at.ask("SELECT count(*) FROM data", **price),
    "ask, averaged": lambda at, **price: at.ask("SELECT sex, avg(age), stddev(pay) FROM data GROUP BY sex", **price),
    "ask, picked": lambda at, **price: at.ask("SELECT quantile_cont(age, 0.3) FROM data", **price),
    "ask_all": lambda at, **price: at.ask_all(["SELECT count(*) FROM data", "SELECT sum(pay) FROM data"], **price),
    "union": lambda at, **price: at.ask("SELECT count(*) FROM data UNION ALL SELECT sum(age) FROM data", **price),
    "publish": lambda at, **price: at.publish(
        ["SELECT count(*) FROM data", statistics.planned(statistics.mean, PLAIN)], **price
    ),
    "suggest": lambda at, **price: at.suggest("data.new", **price),
}
NEEDS_DELTA = {"ProposeTestRelease"}
WITHOUT_INTERVALS = {
    "Monitor",
    "bernoulli_parameter",
    "best_price",
    "chi_square",
    "choose_hyperparameters",
    "decide",
    "digital_goods_auction",
    "meeting_date",
    "minimum_cut",
    "mode",
    "t_test",
}
OWN_FUNCTIONS = {"DistanceToProperty", "ProposeTestRelease", "SampleAndAggregate", "SmoothSensitivity"}
"""They run in a process of their own, which takes a second to start: `test_isolated` releases them."""
RELEASED = sorted(set(STUDIES) - OWN_FUNCTIONS - {"Monitor"})  # a monitor stays open: `test_monitor`


class Reached(Exception):  # nothing is wrong
    """It would be charged now."""


@pytest.fixture(scope="module")
def clinic() -> Iterator[Curator]:
    with open_policy(policy_of(*people())) as curator:
        yield curator


@pytest.fixture(scope="module")
def nobody() -> Iterator[Curator]:
    """The same clinic without any rows."""
    with open_policy(policy_of(*people(0))) as curator:
        yield curator


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """Tables of the same names, and no column that a study asks for."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "rows.csv").write_text("who,height\n1,2\n")
    column = 'columns.height = { type = "integer", between = [0, 9] }'
    tables = "".join(
        f'[tables.{name}]\nsource = "rows.csv"\nunit = "who"\nrows_per_unit = 1\n{column}\n'
        for name in ("data", "edges")
    )
    (folder / "policy.toml").write_text(f'name = "elsewhere"\nbudget.epsilon = 9\n{tables}')
    with open_policy(str(folder / "policy.toml")) as curator:
        yield curator


def charges(curator: Curator) -> int:
    return sum(each.kind == "charged" for each in curator.ledger())


def event_of(clinic: Curator, name: str, **price: Any) -> Event:
    """What a study would be charged; it is stopped where it would be."""
    reached: list[Purchase] = []

    def stop(till: Till, purchase: Purchase, *given: Any) -> Any:
        reached.append(purchase)
        raise Reached

    with no_processes(), patch.object(Till, "buy", stop), patch.object(Till, "open", stop), pytest.raises(Reached):
        BUYING[name](clinic, **price)
    return reached[0].event


def test_every_study_is_here() -> None:
    assert priced() - NO_STUDIES == set(STUDIES)


# -- before the charge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUYING)
def test_ten_times_a_tenth_fit_in_one_and_the_eleventh_does_not(clinic: Curator, name: str) -> None:
    tenth = event_of(clinic, name, epsilon=0.1)
    for same in ("0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)):
        assert event_of(clinic, name, epsilon=same) == tenth
    if name in NEEDS_DELTA:
        return
    rule = choose_filter(tacit.Budget(1))
    cost = rule.price(tenth)
    assert cost is not None
    assert Spent(10 * cost.loss, cost.delta).within(rule.limit)
    assert not Spent(11 * cost.loss, cost.delta).within(rule.limit)


NOBODY_MEANS: tuple[Any, ...] = (
    *(1e-320, "1e400", "1e-400", 10**400, 10**5000, Fraction(1, 10**400), Fraction(10**5000, 3), "1e999999", 1e308),
    *(float("inf"), float("nan"), 0, -1, "ten", "", Decimal("1e400"), Decimal("NaN"), Fraction(10**5000 + 1, 10**5000)),
)


@pytest.mark.parametrize("name", BUYING)
def test_a_price_that_nobody_means_is_refused_in_a_sentence(clinic: Curator, name: str) -> None:
    before = len(clinic.ledger())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epsilon in NOBODY_MEANS:
            with pytest.raises((ParameterError, BudgetExceeded), match="epsilon"):
                BUYING[name](clinic, epsilon=epsilon)
    assert len(clinic.ledger()) == before


@pytest.mark.parametrize("name", sorted(set(STUDIES) - {"Monitor"}))  # a monitor is asked about rows later
def test_a_column_that_is_not_there_is_refused_with_those_that_are_and_costs_nothing(
    elsewhere: Curator, name: str
) -> None:
    with no_processes(), pytest.raises(TacitError, match=r"(?s)is not .*height"):
        STUDIES[name](elsewhere, epsilon=1)
    assert charges(elsewhere) == 0


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_is_estimated_at_the_price_that_it_would_be_charged(clinic: Curator, name: str) -> None:
    before = clinic.ledger()

    def read(*_: object, **__: object) -> None:
        raise AssertionError("rows were read")

    with no_processes(), patch.object(DuckDBEngine, "run", read):
        found = statistics.estimate(STUDIES[name], clinic, epsilon="0.1")
    assert clinic.ledger() == before
    assert found.event.to_dict()["kind"] == event_of(clinic, name, epsilon="0.1").to_dict()["kind"]
    assert found.asked.epsilon == Fraction(1, 10)
    assert found.fits is not None
    assert found.fits > 1
    assert "Nothing was charged" in str(found)
    assert all(html.escape(line) in found._repr_html_() for line in str(found).split("\n"))
    assert found.errors or found.notes, "nothing is said about how far it would be off"
    assert bool(found.errors) == (name not in WITHOUT_INTERVALS | OWN_FUNCTIONS)
    assert all(each.half_width > 0 for each in found.errors)


# -- the charge, and what is released ------------------------------------------------------------------------


@contextlib.contextmanager
def watched(curator: Curator) -> Iterator[list[int]]:
    """How many charges there were whenever a query was run."""
    seen: list[int] = []
    engine = curator._till.engine
    snapshot = engine.snapshot

    @contextlib.contextmanager
    def watching() -> Iterator[Any]:
        with snapshot() as run:

            def asked(query: Any) -> Any:
                seen.append(charges(curator))
                return run(query)

            yield asked

    with patch.object(engine, "snapshot", watching):
        yield seen


@pytest.mark.parametrize("name", RELEASED)
def test_a_study_is_charged_once_before_a_row_is_read_and_free_when_asked_again(clinic: Curator, name: str) -> None:
    before = charges(clinic)
    with watched(clinic) as seen:
        first = STUDIES[name](clinic, epsilon="0.5")
    assert seen
    assert min(seen) == charges(clinic) == before + 1
    event = events.from_json(first.receipt["event"])
    epsilon, delta = Fraction(first.receipt["epsilon"]), Fraction(first.receipt["delta"])
    assert epsilon == Fraction("0.5")
    assert compose([event]).delta(epsilon) <= delta
    with watched(clinic) as seen:
        again = STUDIES[name](clinic, epsilon="0.5")
    assert seen == []
    assert charges(clinic) == before + 1
    assert again.repeated
    assert again.to_bytes() == first.to_bytes() == Finding.from_bytes(first.to_bytes()).to_bytes()
    assert any(first.intervals().values()) or first.notes, "nothing is said about how far it is off"


@pytest.mark.parametrize("name", RELEASED)
def test_what_a_study_of_nobody_releases_looks_like_what_one_of_many_does(
    clinic: Curator, nobody: Curator, name: str
) -> None:
    many, none = (STUDIES[name](curator, epsilon="0.5") for curator in (clinic, nobody))
    assert shape(none) == shape(many)
    assert none.arrays.keys() == many.arrays.keys()
    assert none.receipt["event"] == many.receipt["event"]


def shape(finding: Finding) -> list[tuple[str, str]]:
    """Names and kinds of columns. A released number may be whole by chance."""
    return [(each.name, each.kind.replace("integer", "real")) for each in finding.columns]
