"""How often intervals cover what noise chose, counted for every form and regime.

    python tests/curator/soak.py 400            so many answers for each form and regime; a minute or two

A line for each form: of 100 answers so many whose intervals all cover, by regime. All of them stay at 93 or above.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.curator.chosen_forms import FORMS, REGIMES, missed_keys, misses, size_of

LEAST = 0.93


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(runs: int) -> int:
    _say(f"{'':28}" + "".join(f"{name:>17}" for name in REGIMES))
    worst = 1.0
    for name, form in FORMS.items():
        size = size_of(form)
        shares = [1 - misses(form, make(size), runs) / runs for make in REGIMES.values()]
        _say(f"{name:28}" + "".join(f"{share:17.3f}" for share in shares))
        worst = min(worst, *shares)
    for units, keys in ((3, 50_000), (6, 20_000), (9, 2_000), (14, 500), (200, 500)):
        shown, missed = missed_keys([units] * keys, max(1, runs // 40))
        share = 1 - missed / max(shown, 1)
        _say(f"unknown keys of {units} units: {shown:,} shown, {share:.3f} covered")
        worst = min(worst, share if shown > 1_000 else 1.0)
    _say(f"at worst {worst:.3f}, at least {LEAST} is wanted")
    return 0 if worst >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
