"""A helper that is killed goes on where it was: no part is checked twice, no report counted twice, one release."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")

from tacit import Budget, federated
from tacit.errors import TacitError
from tacit.federated.prio.collection import Collection, Report
from tacit.federated.refusals import Refused
from tacit.federated.running.helper import Helper
from tacit.ledger import Failed, Ledger

KEY = bytes(range(32))


def steps() -> Collection:
    return Collection("steps", federated.Histogram(4), key=KEY, epsilon=1000)


def ledgers(folder: Path) -> list[Ledger]:
    return [Ledger.open(folder / f"l{place}", head=folder / f"h{place}", budget=Budget(2000)) for place in (0, 1)]


def handed(helpers: list[Helper], report: Report) -> None:
    for helper, part in zip(helpers, report.parts, strict=True):
        helper.take(report.nonce, report.public, part)


def counted(helpers: list[Helper], report: Report) -> None:
    shares = [dict(helper.shares(0))[report.nonce] for helper in helpers]
    for helper in helpers:
        helper.accept(report.nonce, shares)


def test_a_helper_that_is_killed_goes_on_with_what_it_had(tmp_path: Path) -> None:
    collection, kept = steps(), ledgers(tmp_path)
    reports = [collection.client().report(place) for place in (1, 1, 3)]
    for number, report in enumerate(reports):
        helpers = [Helper(collection, place, KEY, tmp_path, kept[place]) for place in (0, 1)]
        assert [each.accepted for each in helpers] == [number, number]
        handed(helpers, report)
        handed(helpers, report)  # sent twice
        before = [each.shares(0) for each in helpers]
        for each in helpers:
            each.close()  # killed before it is counted
        helpers = [Helper(collection, place, KEY, tmp_path, kept[place]) for place in (0, 1)]
        assert [each.shares(0) for each in helpers] == before
        counted(helpers, report)
        counted(helpers, report)
        for each in helpers:
            each.close()
    helpers = [Helper(collection, place, KEY, tmp_path, kept[place]) for place in (0, 1)]
    releases = [each.release() for each in helpers]
    assert collection.opened(releases) == pytest.approx([0, 2, 0, 1], abs=1)  # the noise is 0 with probability over .99
    for each in helpers:
        each.close()
    again = [Helper(collection, place, KEY, tmp_path, kept[place]) for place in (0, 1)]
    assert [each.release() for each in again] == releases
    with pytest.raises(Refused, match="closed"):
        handed(again, collection.client().report(0))


def test_after_a_restart_a_part_under_another_nonce_is_refused(tmp_path: Path) -> None:
    """Two checks of one part would open more of it than one."""
    collection, kept = steps(), ledgers(tmp_path)
    report = collection.client().report(2)
    with Helper(collection, 1, KEY, tmp_path, kept[1]) as helper:
        helper.take(report.nonce, report.public, report.parts[1])
    with Helper(collection, 1, KEY, tmp_path, kept[1]) as helper, pytest.raises(Refused, match="another nonce"):
        helper.take(os.urandom(16), report.public, report.parts[1])


def test_a_release_that_was_cut_off_after_its_charge_has_failed_and_is_never_drawn(tmp_path: Path) -> None:
    collection, (kept, _) = steps(), ledgers(tmp_path)
    kept.charge("federated", f"federated:{collection.id}:0", "as before a crash", collection.event)
    with Helper(collection, 0, KEY, tmp_path, kept) as helper, pytest.raises(Refused, match="never drawn again"):
        helper.release()
    assert isinstance(kept.answer(f"federated:{collection.id}:0"), Failed)


def test_a_record_of_another_place_is_refused(tmp_path: Path) -> None:
    collection, kept = steps(), ledgers(tmp_path)
    report = collection.client().report(2)
    with Helper(collection, 0, KEY, tmp_path, kept[0]) as helper:
        helper.take(report.nonce, report.public, report.parts[0])
    (tmp_path / "record-0").rename(tmp_path / "record-1")
    with pytest.raises(TacitError, match="something else"):
        Helper(collection, 1, KEY, tmp_path, kept[1])
