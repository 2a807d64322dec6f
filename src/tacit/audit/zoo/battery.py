"""The battery: every specimen must be caught, nothing sound may be flagged, and both rates are reported.

The share of failures that is accepted for the whole battery is divided among its runs on sound claims, so that one
false alarm or more in all of them together has at most that probability; the specimens are judged at the same
confidence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit import parameters
from tacit.audit.measuring import LEAST_SAMPLES
from tacit.audit.verdicts import Verdict, verify
from tacit.audit.zoo.ours import Sound
from tacit.audit.zoo.specimen import Specimen
from tacit.parameters import Number


@dataclass(frozen=True, slots=True)
class Rates:
    """How many of the broken ones were caught, and how many of the sound runs were flagged (in error).

    >>> print(Rates(25, 25, 0, 40, 80, 0.001, 60.0, (), ()))
    25 of 25 broken mechanisms caught; 0 of 80 runs on 40 sound ones flagged (one or more by chance: 0.001); 60 s
    """

    caught: int
    broken: int
    flagged: int
    sound: int
    runs: int
    false_alarm: float
    seconds: float
    missed: tuple[Verdict, ...]
    alarms: tuple[Verdict, ...]

    def __str__(self) -> str:
        return (
            f"{self.caught} of {self.broken} broken mechanisms caught; {self.flagged} of {self.runs} runs on "
            f"{self.sound} sound ones flagged (one or more by chance: {self.false_alarm:.2g}); {self.seconds:.0f} s"
        )


def run_battery(
    specimens: Sequence[Specimen],
    sound: Sequence[Sound],
    *,
    repetitions: int = 1,
    false_alarm: Number = "0.001",
    effort: float = 1.0,
    told: Callable[[Verdict], None] | None = None,
) -> Rates:
    """Judge every specimen once, and every sound claim `repetitions` times. `effort` scales the number of samples.

    >>> from tacit.audit import zoo
    >>> found = run_battery(zoo.SPECIMENS[:1], zoo.twins()[:1])
    >>> found.caught, found.broken
    (1, 1)
    """
    again = parameters.whole("repetitions", repetitions, least=1)
    accepted = parameters.open_probability("false_alarm", false_alarm)
    runs = max(1, len(sound) * again)
    confidence = 1 - accepted / runs
    start = time.monotonic()

    def judged(each: Sound, sure: Fraction) -> Verdict:
        verdict = verify(each.claim, samples=max(LEAST_SAMPLES, round(effort * each.samples)), confidence=sure)
        if told is not None:
            told(verdict)
        return verdict

    on_broken = [judged(Sound(each.broken, each.samples), confidence) for each in specimens]
    on_sound = [judged(each, confidence) for _ in range(again) for each in sound]
    missed = tuple(verdict for verdict in on_broken if verdict.outcome != "violated")
    alarms = tuple(verdict for verdict in on_sound if verdict.outcome == "violated")
    caught = len(on_broken) - len(missed)
    took = time.monotonic() - start
    return Rates(caught, len(on_broken), len(alarms), len(sound), len(on_sound), float(accepted), took, missed, alarms)
