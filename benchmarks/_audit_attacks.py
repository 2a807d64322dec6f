"""Every attack at full size: against the naive target, against tacit, the ceiling, and how long it took.

    python benchmarks/_audit_attacks.py

Bars: each attack under 60 s; reconstruction recovers 95 % or more of 1,000 bits from lightly noised answers, and
60 % or less through the curator.
"""

from __future__ import annotations

from tacit.audit import attacks

SECONDS = 60.0


def main() -> str:
    """One Markdown section."""
    lines = [
        "| attack | epsilon | naive target | tacit | ceiling | guessing | trials | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    runs = [*attacks.ATTACKS, lambda: attacks.model_inversion(hidden=0)]
    found = []
    for attack in runs:
        one = attack()
        found.append(one)
        rates = " | ".join(f"{rate:.1%}" for rate in (one.naive, one.private, one.ceiling, one.guessing))
        lines.append(f"| {one.attack} | {one.epsilon:g} | {rates} | {one.trials:,} | {one.seconds:.1f} |")
        print(one, flush=True)
    rebuilt = next(one for one in found if one.attack == "reconstruction")
    slowest = max(one.seconds for one in found)
    lucky = all(one.private <= one.most_plausible(1e-9) for one in found)
    bars = [
        f"each attack under {SECONDS:.0f} s: {_met(slowest < SECONDS)} (slowest {slowest:.1f} s)",
        f"reconstruction of {rebuilt.trials:,} bits at 95 % or more from lightly noised answers: "
        f"{_met(rebuilt.naive >= 0.95)}",
        f"at 60 % or less through the curator: {_met(rebuilt.private <= 0.6)}",
        f"naive above the ceiling in all: {_met(all(one.naive > one.ceiling for one in found))}",
        f"tacit within chance of the ceiling in all: {_met(lucky)}",
    ]
    return "\n".join(["### Attacks", "", *lines, "", *(f"- {bar}" for bar in bars), "", f"{rebuilt.words}"])


def _met(kept: bool) -> str:
    return "met" if kept else "NOT MET"


if __name__ == "__main__":
    print(main())
