"""The zoo, in its short form: every broken mechanism is caught, no sound one is flagged.

False alarms: the sound ones share 1e-8. Misses: at the battery's own confidence every specimen breaks its claim by more
than five sampling errors (nearly all by more than ten) at the number of samples it names. The draws are seeded.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tacit import mechanisms
from tacit.audit import Claim, zoo
from tacit.audit.zoo.noise import sound_count
from tacit.audit.zoo.specimen import specimen

ALARM = "1e-8"
CONVICTED = "0.001"


@pytest.mark.statistical
@pytest.mark.parametrize("each", zoo.SPECIMENS, ids=lambda each: each.name)
def test_a_broken_mechanism_is_caught(each: zoo.Specimen) -> None:
    rates = zoo.run_battery([each], [], false_alarm=CONVICTED)
    assert rates.missed == ()
    assert (rates.caught, rates.broken) == (1, 1)


@pytest.mark.statistical
def test_no_sound_twin_is_flagged() -> None:
    rates = zoo.run_battery([], zoo.twins(), false_alarm=ALARM, effort=0.1)
    assert rates.alarms == ()
    assert rates.runs == rates.sound == len(zoo.SPECIMENS)


@pytest.mark.statistical
def test_none_of_our_own_mechanisms_is_flagged() -> None:
    rates = zoo.run_battery([], zoo.our_mechanisms(), false_alarm=ALARM, effort=0.1)
    assert rates.alarms == ()
    assert rates.sound >= 30


def test_there_are_enough_specimens_and_each_says_what_is_wrong() -> None:
    assert len(zoo.SPECIMENS) >= 20
    assert max(Counter(each.name for each in zoo.SPECIMENS).values()) == 1
    assert sum("sparse vector" in each.name for each in zoo.SPECIMENS) >= 3
    for each in zoo.SPECIMENS:
        assert each.wrong.endswith(".")
        assert each.broken.mechanism is not each.sound.mechanism
        assert (each.broken.epsilon, each.broken.delta) == (each.sound.epsilon, each.sound.delta)


def test_every_mechanism_of_ours_is_among_the_sound_ones() -> None:
    tried = " ".join(each.claim.name for each in zoo.our_mechanisms())
    kinds = set(mechanisms.__all__) - {"Mechanism", "Refused", "declared_public"}
    assert {kind for kind in kinds if kind not in tried} == set()


@pytest.mark.statistical
def test_a_battery_tells_misses_and_false_alarms() -> None:
    # a specimen that is sound is missed, and a sound claim that is broken is an alarm
    harmless = specimen("harmless", "Nothing.", sound_count, sound_count, 0, 1, 1)
    wrong = zoo.Sound(Claim(lambda x, *, size: [x] * size, 0, 1, 1, name="bare", vectorised=True), 1000)
    rates = zoo.run_battery([harmless], [wrong], repetitions=3, false_alarm=ALARM)
    assert (rates.caught, rates.flagged, rates.runs) == (0, 3, 3)
    assert [each.name for each in rates.missed] == ["harmless"]
    assert {each.name for each in rates.alarms} == {"bare"}
    assert "0 of 1 broken mechanisms caught; 3 of 3 runs on 1 sound ones flagged" in str(rates)
