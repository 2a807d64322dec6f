"""Make the pictures of the documentation again.

    python docs/pictures/make.py            the drawings: a session, curves of epsilon, who sees what, prices of trust
    python docs/pictures/make.py shots      screenshots of pages too; needs Chromium, and `python3 go.py docs` before

Run with a Python that has tacit. What a session shows is what the commands printed; the curves are computed by tacit.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

import tacit
from tacit import federated, local
from tacit.local import laws
from tacit.loss import Budget, belief_after, compose
from tacit.mechanisms import Laplace

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
STYLE = (
    "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}"
    ".w text,text.w{font-family:system-ui,sans-serif}.ink{fill:#1b1f24}.soft{fill:#57606a}.paper{fill:#fff}"
    ".rule{stroke:#d0d7de}.bar{stroke:#3f77a8}.second{stroke:#b3562b}.dot{fill:#3f77a8}.dot2{fill:#b3562b}"
    "@media(prefers-color-scheme:dark){.ink{fill:#e6edf3}.soft{fill:#9da7b1}.paper{fill:#0d1117}.rule{stroke:#3d444d}"
    ".bar{stroke:#6ba3d6}.second{stroke:#e08e5e}.dot{fill:#6ba3d6}.dot2{fill:#e08e5e}}</style>"
)
SESSION = (
    'tacit estimate clinic.toml "SELECT sex, avg(2024 - birth_year) AS age FROM patients GROUP BY sex" --rows 30000',
    'tacit ask clinic.toml "SELECT sex, count(*) AS n, avg(2024 - birth_year) AS age FROM patients GROUP BY sex"',
    'tacit ask clinic.toml "SELECT * FROM patients"',
)
WIDE, LINE, CHARACTER = 700, 18, 7.82


def svg(width: int, height: int, inside: str, words: str) -> str:
    """A drawing with its own colours for day and night."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(words)}">{STYLE}{inside}</svg>\n'
    )


# -- a session -------------------------------------------------------------------------------------


def session() -> str:
    """The commands above, typed one after the other, and what they print."""
    columns = int((WIDE - 40) / CHARACTER)
    lines: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "clinic"
        typed("tacit demo --to clinic", Path(scratch), columns)
        for command in SESSION:
            for number, part in enumerate(wrapped(command, columns - 2)):
                lines.append(("ink", ("$ " if number == 0 else "    ") + part))
            for line in typed(command, folder, columns).splitlines():
                lines += [("soft", part) for part in wrapped(line.rstrip(), columns)]
            lines.append(("soft", ""))
    lines.pop()
    height = LINE * len(lines) + 52
    dots = "".join(f'<circle cx="{22 + 18 * n}" cy="18" r="5" class="soft" opacity=".4"/>' for n in range(3))
    rows = "".join(
        f'<text x="20" y="{50 + LINE * n}" class="{kind}"{bold(kind)}>{escape(line)}</text>'
        for n, (kind, line) in enumerate(lines)
    )
    frame = f'<rect x=".5" y=".5" width="{WIDE - 1}" height="{height - 1}" rx="8" class="paper rule"/>'
    return svg(WIDE, height, frame + dots + rows, "A session in a terminal: an estimate, an answer, a refusal")


def bold(kind: str) -> str:
    return ' font-weight="600"' if kind == "ink" else ""


def typed(command: str, folder: Path, columns: int) -> str:
    """What a command prints, on both streams, in the order of a terminal without colours."""
    words = [sys.executable, "-m", "tacit.doors.cli", *map(str, arguments(command))]
    variables = {**os.environ, "COLUMNS": str(columns), "TACIT_STATE": str(folder.parent / "state")}
    done = subprocess.run(words, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def arguments(command: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)][1:]


def wrapped(line: str, columns: int) -> list[str]:
    """A long line in several, broken between words."""
    if len(line) <= columns:
        return [line]
    place = line.rfind(" ", 0, columns - 4)
    return [line[:place], *wrapped(line[place + 1 :], columns - 4)] if place > 0 else [line]


# -- epsilon ---------------------------------------------------------------------------------------


def epsilon() -> str:
    """What an attacker can come to believe, and how far off a count is, over the same axis."""
    steps = [0.05 * 1.04**n for n in range(int(math.log(200) / math.log(1.04)) + 1)]  # 0.05 to 10
    beliefs = [belief_after(0.5, Budget(each)).upper for each in steps]
    # the continuous law, so that the curve has no steps; the dots below are the mechanism's own figures
    errors = [math.log(20) / each for each in steps]
    marks = (0.1, 0.5, 1, 3, 10)
    known = [(each, belief_after(0.5, Budget(each)).upper) for each in marks]
    counted = [(each, float(Laplace(sensitivity=1, epsilon=each).error(0.95))) for each in (0.1, 0.5, 1, 3)]
    left = panel(
        20,
        "A belief of 50 % becomes at most",
        "bar",
        [(at, 100 * value) for at, value in zip(steps, beliefs, strict=True)],
        (50, 60, 70, 80, 90, 100),
        "{:.0f} %",
        [(at, 100 * value, f"{100 * value:.0f} %" if value < 0.995 else "") for at, value in known],
    )
    right = panel(
        470,
        "A count is off by at most, 95 of 100 times",
        "second",
        [(at, value) for at, value in zip(steps, errors, strict=True)],
        (0, 10, 20, 30, 40, 50, 60),
        "{:.0f}",
        [(at, value, f"{value:.0f}") for at, value in counted],
    )
    frame = '<rect x=".5" y=".5" width="899" height="329" rx="8" class="paper rule"/>'
    return svg(900, 330, f'{frame}<g class="w">{left}{right}</g>', "Belief and error over epsilon")


def panel(
    x: int,
    title: str,
    colour: str,
    points: Sequence[tuple[float, float]],
    ticks: Sequence[int],
    shown: str,
    dots: Sequence[tuple[float, float, str]],
) -> str:
    """One curve over epsilon, whose axis is logarithmic."""
    left, right, top, bottom = x + 50, x + 395, 60, 270

    def across(at: float) -> float:
        return left + (right - left) * math.log(at / 0.05) / math.log(200)

    def down(value: float) -> float:
        return bottom - (bottom - top) * (min(value, ticks[-1]) - ticks[0]) / (ticks[-1] - ticks[0])

    parts = [f'<text x="{x + 10}" y="34" class="ink w" font-weight="600">{escape(title)}</text>']
    for tick in ticks:
        y = down(tick)
        parts.append(f'<path d="M{left},{y:.1f}H{right}" class="rule" fill="none"/>')
        said = escape(shown.format(tick))
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" class="soft w" text-anchor="end">{said}</text>')
    for at in (0.05, 0.1, 0.5, 1, 3, 10):
        place = across(at)
        parts.append(f'<text x="{place:.1f}" y="{bottom + 22}" class="soft w" text-anchor="middle">{at:g}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 46}" class="soft w" text-anchor="middle">epsilon</text>')
    inside = [(at, value) for at, value in points if value <= ticks[-1]]
    line = " ".join(f"{across(at):.1f},{down(value):.1f}" for at, value in inside)
    parts.append(f'<polyline points="{line}" class="{colour}" fill="none" stroke-width="2.5"/>')
    for at, value, said in dots:
        kind = "dot" if colour == "bar" else "dot2"
        parts.append(f'<circle cx="{across(at):.1f}" cy="{down(value):.1f}" r="4" class="{kind}"/>')
        side = ("end", -8, -8) if colour == "bar" else ("start", 8, -8)
        parts.append(
            f'<text x="{across(at) + side[1]:.1f}" y="{down(value) + side[2]:.1f}" class="ink w" '
            f'text-anchor="{side[0]}">{escape(said)}</text>'
        )
    return "".join(parts)


# -- trust ------------------------------------------------------------------------------------------


def trust() -> str:
    """How far a count of one answer is off (one standard deviation), for each party that need not be trusted."""
    sizes = [10.0**power for power in range(3, 7)]
    curves = {
        "at home": [math.sqrt(size * laws.variance(asked_at_home(1).law, 0.5, 1)) for size in sizes],
        "shuffled": [shuffled(round(size)) for size in sizes],
        "noise from clients": [from_clients(round(size)) for size in sizes],
        "two servers": [math.sqrt(2) * central()] * len(sizes),
        "a trusted curator": [central()] * len(sizes),
    }
    left, right, top, bottom = 70, 560, 60, 330

    def across(size: float) -> float:
        return left + (right - left) * math.log10(size / 1e3) / 3

    def down(value: float) -> float:
        return bottom - (bottom - top) * math.log10(value) / 4

    words = "A count is off by (standard deviation), epsilon 1, delta 1e-6"
    parts = [f'<text x="20" y="34" class="ink w" font-weight="600">{words}</text>']
    for power in range(5):
        y = down(10**power)
        parts.append(f'<path d="M{left},{y:.1f}H{right}" class="rule" fill="none"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" class="soft w" text-anchor="end">{10**power:,}</text>')
    for size in sizes:
        parts.append(
            f'<text x="{across(size):.1f}" y="{bottom + 22}" class="soft w" text-anchor="middle">{size:,.0f}</text>'
        )
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 46}" class="soft w" text-anchor="middle">people</text>')
    beside: list[float] = []
    for name, values in curves.items():
        line = " ".join(f"{across(size):.1f},{down(value):.1f}" for size, value in zip(sizes, values, strict=True))
        colour = "bar" if name == "a trusted curator" else "second"
        parts.append(f'<polyline points="{line}" class="{colour}" fill="none" stroke-width="2.5"/>')
        beside.append(max(down(values[-1]) + 4, beside[-1] + 17 if beside else 0))
        parts.append(f'<text x="{right + 10}" y="{beside[-1]:.1f}" class="ink w">{name}: {values[-1]:,.1f}</text>')
    frame = '<rect x=".5" y=".5" width="799" height="389" rx="8" class="paper rule"/>'
    return svg(800, 390, f'{frame}<g class="w">{"".join(parts)}</g>', "The error of a count, by who is trusted")


def central() -> float:
    """Of discrete Laplace noise at epsilon 1."""
    return math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1))


def from_clients(people: int) -> float:
    """A tenth may vanish, a tenth may collude."""
    asked = federated.PrivateSum(
        federated.Tally(("yes",)), people, vanish=people // 10, collude=people // 10, epsilon=1, delta=1e-6
    )
    return float(asked.finding([0], people).deviation)


def asked_at_home(epsilon: float) -> local.Survey:
    return local.Survey(tacit.one_of("yes", "no"), epsilon=epsilon)


def shuffled(people: int) -> float:
    """Randomised at home with the largest epsilon that a shuffler makes 1 of."""
    low, high = 1.0, 16.0
    for _ in range(10):
        middle = (low + high) / 2
        within = compose([asked_at_home(round(middle, 3)).shuffled(people)]).epsilon(1e-6) <= 1
        low, high = (middle, high) if within else (low, middle)
    return math.sqrt(people * laws.variance(asked_at_home(round(low, 3)).law, 0.5, 1))


# -- what each party sees ------------------------------------------------------------------------------

SEEN = (
    (
        "A trusted curator",
        ("a person", ["own row"]),
        ("the curator", ["every row, as it is"]),
        ("the analyst", ["noisy answers"]),
    ),
    (
        "Noise from the clients, one server",
        ("a client", ["own vector, own noise;", "sealed shares of neighbours' keys"]),
        ("the server", ["masked vectors, each uniform;", "who stayed"]),
        ("the server", ["one noisy sum a round,", "of those who stayed"]),
    ),
    (
        "Reports split between two servers",
        ("a client", ["own measurement"]),
        ("each server", ["a uniform share of a report;", "that it is valid"]),
        ("the collector", ["noisy sums of both servers,", "which add up to the answer"]),
    ),
    (
        "At home",
        ("a person", ["own answer"]),
        ("whoever listens", ["the answer, randomised"]),
        ("the collector", ["every answer, randomised"]),
    ),
)


def seen() -> str:
    """What each party sees of one person, from left to right as it travels."""
    parts, wide, high, step = [], 236, 62, 104
    for row, (way, *boxes) in enumerate(SEEN):
        y = 24 + row * step
        parts.append(f'<text x="20" y="{y}" class="ink w" font-weight="600">{escape(way)}</text>')
        for column, (party, words) in enumerate(boxes):
            x, top = 20 + column * (wide + 26), y + 10
            parts.append(f'<rect x="{x}" y="{top}" width="{wide}" height="{high}" rx="6" class="paper rule"/>')
            parts.append(f'<text x="{x + 10}" y="{top + 19}" class="ink w">{escape(party)} sees</text>')
            for line, text in enumerate(words):
                parts.append(f'<text x="{x + 10}" y="{top + 37 + 16 * line}" class="soft w">{escape(text)}</text>')
            if column:
                middle = top + high / 2
                way_to = f"M{x - 24},{middle}H{x - 4}m-6,-4l6,4l-6,4"
                parts.append(f'<path d="{way_to}" class="bar" fill="none" stroke-width="1.5"/>')
    height = 24 + len(SEEN) * step
    frame = f'<rect x=".5" y=".5" width="799" height="{height - 1}" rx="8" class="paper rule"/>'
    return svg(800, height, f'{frame}<g class="w">{"".join(parts)}</g>', "What each party sees")


# -- screenshots -----------------------------------------------------------------------------------


def shots() -> None:
    """The pages that the owner's tutorial makes, and pages of the documentation, on a phone and on a wide screen."""
    from browser import Browser

    site = DOCS / "_build" / "html"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "clinic"
        folder.mkdir()
        for name, body in re.findall(
            r"```\w+\n# file: (\S+)\n(.*?)```", (DOCS / "tutorials/owner.md").read_text(), re.S
        ):
            (folder / name).write_text(body)
        subprocess.run([sys.executable, "make_visits.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        typed("tacit risk visits.csv --columns sex,birth_year,town --person patient --html risk.html", folder, 100)
        typed("tacit publish visits.toml site.toml --epsilon 1 --to site", folder, 100)
        pages = {
            "publish": folder / "site" / "index.html",
            "risk": folder / "risk.html",
            "home": site / "index.html",
        }
        browser = Browser()
        for name, page in pages.items():
            for width in (390, 1280):
                # a picture of a wide screen is laid out for it, and kept smaller
                scale = 0.65 if width == 1280 and name == "home" else 1.0
                for light in ("light", "dark"):
                    picture = HERE / f"{name}-{width}-{light}.png"
                    browser.shot(page, picture, width=width, height=800, dark=light == "dark", scale=scale)
        browser.close()


def main(wanted: list[str]) -> None:
    (HERE / "epsilon.svg").write_text(epsilon(), encoding="utf-8")
    (HERE / "trust.svg").write_text(trust(), encoding="utf-8")
    (HERE / "seen.svg").write_text(seen(), encoding="utf-8")
    (HERE / "session.svg").write_text(session(), encoding="utf-8")
    if "shots" in wanted:
        shots()


if __name__ == "__main__":
    main(sys.argv[1:])
