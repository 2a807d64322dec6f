"""A person's own ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import tacit
from tacit import local
from tacit.local.checks import Refused


def _survey(name: str, epsilon: str = "1") -> local.Survey:
    return local.Survey(tacit.one_of(*range(64)), epsilon=epsilon, name=name)


def test_a_survey_is_answered_once_and_asked_again_gets_the_same_report(tmp_path: Path) -> None:
    odometer = local.Odometer(tmp_path / "told.json", limit=3)
    client = _survey("colour").client(odometer)
    first = client.answer(7)
    assert {bytes(client.answer(7)) for _ in range(20)} == {bytes(first)}
    assert bytes(_survey("colour").client(local.Odometer(tmp_path / "told.json", limit=3)).answer(9)) == bytes(first)
    assert odometer.spent == 1


def test_what_all_surveys_tell_stays_within_the_limit(tmp_path: Path) -> None:
    odometer = local.Odometer(tmp_path / "told.json", limit="2.5")
    for name in ("a", "b"):
        _survey(name).client(odometer).answer(1)
    with pytest.raises(Refused, match=r"would tell epsilon 1; 0\.5 is left of 2\.5\. Nothing was sent"):
        _survey("c").client(odometer).answer(1)
    _survey("d", "0.5").client(odometer).answer(1)
    assert odometer.spent == 2.5


def test_bits_that_are_kept_are_shown_anew_and_an_answer_that_changed_is_not_told(tmp_path: Path) -> None:
    odometer = local.Odometer(tmp_path / "told.json", limit=3)
    client = local.Survey(tacit.one_of(*range(16)), epsilon=1, protocol="rappor").client(odometer)
    reports = {client.answer(3).numbers for _ in range(30)}
    assert len(reports) > 20  # 16 coins each time
    assert odometer.spent == 1
    kept = (tmp_path / "told.json").read_text()
    client.answer(4)
    assert (tmp_path / "told.json").read_text() == kept  # new bits would tell everybody that the answer changed
    assert odometer.spent == 1


def test_a_report_is_on_the_disk_before_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odometer = local.Odometer(tmp_path / "told.json", limit=3)
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            _survey("a").client(odometer).answer(1)
    assert odometer.spent == 0


def test_a_limit_must_be_above_zero(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="above 0"):
        local.Odometer(tmp_path / "told.json", limit=0)
