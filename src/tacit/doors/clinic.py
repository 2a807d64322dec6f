"""A made-up clinic for the demo: no one in it exists.

Promise: `make(folder)` writes patients.csv, visits.csv, diagnoses.csv and clinic.toml, and returns the exact figures
that the demo compares with; the same seed gives the same clinic. Older people come more often, charges differ between
departments, and diagnoses follow the department, so that there is something to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

PATIENTS: Final = 60_000
MOST_VISITS: Final = 6
DEPARTMENTS: Final = ("cardiology", "dermatology", "emergency", "paediatrics", "surgery")
TOWNS: Final = 40
FIRST_BIRTH: Final = 1925
LAST_BIRTH: Final = 2024
_MEAN_CHARGE: Final = np.array([210.0, 90.0, 160.0, 70.0, 480.0])
_CODES: Final = ("I10", "L20", "T14", "J45", "K35", "E11")
_USUAL_CODE: Final = np.array([0, 1, 2, 3, 4])  # the code that each department writes most often

POLICY: Final = """\
name = "clinic"
ledger = "memory"         # a demo leaves nothing behind; a real clinic names a file here
working_copy = "memory"

[budget]                  # for everyone together, for ever
epsilon = 2
delta = 1e-6

[questions]
default_epsilon = 0.1
largest_epsilon = 1

[tables.patients]
source = "patients.csv"
unit = "patient_id"       # one person, all their rows, is what is protected
rows_per_unit = 1
[tables.patients.columns]
sex = { type = "text", one_of = ["F", "M"], nullable = false }
birth_year = { type = "integer", between = [1920, 2029], nullable = false }
town = { type = "text" }  # which towns there are is not public

[tables.visits]
source = "visits.csv"
unit = "patient_id"
rows_per_unit = 6
[tables.visits.columns]
department = { type = "text", nullable = false, one_of = [
  "cardiology", "dermatology", "emergency", "paediatrics", "surgery"] }
day = { type = "date", between = [2024-01-01, 2024-12-31] }
charge = { type = "real", between = [0, 1000], nullable = false }

[tables.diagnoses]
source = "diagnoses.csv"
unit = { key = "visit_id", table = "visits" }   # a diagnosis belongs to whoever came
rows_per_unit = 6
[tables.diagnoses.columns]
code = { type = "text", one_of = ["I10", "L20", "T14", "J45", "K35", "E11"], nullable = false }
"""


@dataclass(frozen=True, slots=True)
class Clinic:
    """Where the clinic lies, how large it is, and exact figures, which the demo may show: no one in it exists."""

    policy: Path
    rows: dict[str, int]
    diagnoses_by_code: dict[str, int]


def make(folder: Path, *, patients: int = PATIENTS, seed: int = 2024, keeps: bool = False) -> Clinic:
    """Write the clinic into this folder. `keeps`: its policy names files for the ledger and the working copy."""
    random = np.random.default_rng(seed)  # for made-up people alone, never for noise
    born = random.integers(FIRST_BIRTH, LAST_BIRTH + 1, patients)
    sex = np.array(["F", "M"])[(random.random(patients) < 0.48).astype(int)]
    town = np.minimum(random.geometric(0.12, patients), TOWNS)
    _write(
        folder / "patients.csv",
        patient_id=np.arange(patients),
        sex=sex,
        birth_year=born,
        town=np.char.add("town ", town.astype(str)),
    )
    times = 1 + random.binomial(MOST_VISITS - 1, 0.25 + 0.4 * (LAST_BIRTH - born) / 100)
    who = np.repeat(np.arange(patients), times)
    young = born[who] > 2008
    department = random.choice(5, len(who), p=[0.28, 0.17, 0.27, 0.06, 0.22])
    department[young] = random.choice(5, int(young.sum()), p=[0.02, 0.16, 0.22, 0.52, 0.08])
    charge = np.minimum(random.gamma(3.0, _MEAN_CHARGE[department] / 3.0), 1000.0).round(2)
    day = np.datetime64("2024-01-01") + random.integers(0, 366, len(who))
    _write(
        folder / "visits.csv",
        visit_id=np.arange(len(who)),
        patient_id=who,
        department=np.array(DEPARTMENTS)[department],
        day=day,
        charge=charge,
    )
    usual = random.random(len(who)) < 0.7
    code = np.where(usual, _USUAL_CODE[department], random.integers(0, len(_CODES), len(who)))
    noted = np.flatnonzero(random.random(len(who)) < 0.8)
    _write(folder / "diagnoses.csv", visit_id=noted, code=np.array(_CODES)[code[noted]])
    policy = folder / "clinic.toml"
    policy.write_text(_in_files(POLICY) if keeps else POLICY, encoding="utf-8")
    counts = np.bincount(code[noted], minlength=len(_CODES)).tolist()
    rows = {"patients": patients, "visits": len(who), "diagnoses": len(noted)}
    return Clinic(policy, rows, dict(zip(_CODES, counts, strict=True)))


def _in_files(policy: str) -> str:
    """The policy of a clinic that is kept."""
    head, rest = policy.split("\n\n", 1)
    name = head.splitlines()[0]
    return f'{name}\nledger = "clinic.ledger"       # what has been spent\nworking_copy = "clinic.copy"\n\n{rest}'


def _write(path: Path, **columns: Any) -> None:
    texts = [column.astype(str).tolist() for column in columns.values()]
    lines = [",".join(columns), *map(",".join, zip(*texts, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
