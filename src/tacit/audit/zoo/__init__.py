"""The zoo: mechanisms that are broken, each in one way that was found in the wild, and each with a sound twin.

    for specimen in zoo.SPECIMENS:
        print(specimen.name, specimen.wrong, verify(specimen.broken, samples=specimen.samples).outcome)

An audit that does not catch all of them is blind; one that flags a twin, or one of our own mechanisms, gives false
alarms. `run_battery` measures both.
"""

from tacit.audit.zoo import choices, data, noise, sparse_vector, totals
from tacit.audit.zoo.battery import Rates, run_battery
from tacit.audit.zoo.ours import Sound, our_mechanisms
from tacit.audit.zoo.specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = (
    *noise.SPECIMENS,
    *choices.SPECIMENS,
    *data.SPECIMENS,
    *sparse_vector.SPECIMENS,
    *totals.SPECIMENS,
)


def twins() -> tuple[Sound, ...]:
    """The sound version of every specimen.

    >>> len(twins()) == len(SPECIMENS)
    True
    """
    return tuple(Sound(each.sound, each.sound_samples) for each in SPECIMENS)


__all__ = ["SPECIMENS", "Rates", "Sound", "Specimen", "our_mechanisms", "run_battery", "twins"]


def __dir__() -> list[str]:
    return __all__
