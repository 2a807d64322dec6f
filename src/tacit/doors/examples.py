"""`tacit demo mechanisms`: the mechanisms on small, well-known examples.

Promise: real mechanisms and real randomness; figures are computed, not quoted; it takes a few seconds at most, and is
plain text when the output is not a terminal. The people in it are made up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from rich.console import Console, RenderableType
from rich.text import Text

from tacit.doors.tables import is_plain, table
from tacit.loss import compose
from tacit.mechanisms import Exponential, Laplace, RandomizedResponse

CONFIDENCE = 0.95
BLOOD_GROUPS = {"O+": 38, "O-": 7, "A+": 34, "A-": 6, "B+": 9, "B-": 2, "AB+": 3, "AB-": 1}
DONORS = 2_000
CHOICES = 5_000
QUESTIONS = 100
DELTA = 1e-6
BAR_WIDTH = 48


def blue_eyes() -> Iterator[RenderableType]:
    """The error of a count does not depend on how many people are counted."""
    count = Laplace(sensitivity=1, epsilon=0.1)
    yield f"Laplace(sensitivity=1, epsilon=0.1): noise of scale {count.scale:.0f}, whatever the population."
    shown = table("people", "with blue eyes", "released", "off by", "of the people")
    for people in (1_000, 1_000_000, 80_000_000):
        truth = people * 8 // 100
        released = count.release(truth)
        error = abs(released - truth)
        shown.add_row(f"{people:,}", f"{truth:,}", f"{released:,}", f"{error}", f"{error / people:.6%}")
    yield shown
    most, nearly_all = count.error(0.63), count.error(CONFIDENCE)
    yield f"Off by at most {most} people 63 times in 100, by at most {nearly_all} 95 times in 100."


def coin() -> Iterator[RenderableType]:
    """Each person lies a little, and no answer proves anything."""
    answer = RandomizedResponse(truth="1/2")
    same, other = Fraction(answer.truth + answer.other), Fraction(answer.other)
    yield "Heads: tell the truth. Tails: toss again, and say what the coin says."
    shown = table("", "says yes", "says no")
    shown.add_row("truth is yes", str(same), str(other))
    shown.add_row("truth is no", str(other), str(same))
    yield shown
    prior, posterior = 0.02, answer.posterior(0.02, report=1)
    yield f"epsilon = ln {same / other} = {float(answer.event.epsilon):.4f}."
    yield f"A yes moves the belief in a rare disease from {prior} to {posterior:.4f}, and no further."


def hair() -> Iterator[RenderableType]:
    """Choosing the most frequent colour is nearly always right."""
    counts = {"brown": 500, "blond": 400, "black": 70, "red": 30}
    colours, scores = list(counts), list(counts.values())
    choice = Exponential(sensitivity=1, epsilon=0.1)
    chosen = [choice.choose(colours, scores=scores) for _ in range(CHOICES)]
    yield f"Exponential(sensitivity=1, epsilon=0.1), {CHOICES:,} times over to see how it does:"
    shown = table("colour", "people", "chosen")
    for colour, people in counts.items():
        shown.add_row(colour, f"{people}", f"{chosen.count(colour):,}")
    yield shown
    missed = sum(colour != "brown" for colour in chosen) / CHOICES
    bound = len(colours) * math.exp(-(500 - 400) / choice.scale)
    yield f"Not the best: {missed:.4f} of the time. The theorem says at most 4 exp(-5) = {bound:.4f}."


def histogram(plain: bool) -> Iterator[RenderableType]:
    """One person stands in one cell, so all cells together cost as much as one."""
    block, line, middle = ("#", "-", "+") if plain else ("█", "─", "┼")
    groups = Laplace(sensitivity=1, epsilon=0.1)
    truth = np.array([DONORS * percent // 100 for percent in BLOOD_GROUPS.values()])
    released = groups.release(truth)
    error = groups.error(CONFIDENCE)
    people_per_mark = float(max(released) + error) / BAR_WIDTH
    shown = table("group", "truth", "released", "")
    shown.columns[3].justify = "left"
    for name, true_count, value in zip(BLOOD_GROUPS, truth, released, strict=True):
        low, here, high = (max(0, round(float(value + side) / people_per_mark)) for side in (-error, 0, error))
        bar = Text(block * low, style="cyan") + Text(
            line * (here - low) + middle + line * (high - here), style="yellow"
        )
        shown.add_row(name, f"{true_count}", f"{value}", bar)
    yield f"{DONORS:,} donors, epsilon 0.1 for all eight cells together; lines are +/- {error} (95 %)."
    yield shown


def many() -> Iterator[RenderableType]:
    """What a hundred such questions cost, by better and better theorems."""
    total = compose([Laplace(sensitivity=1, epsilon=0.1).event] * QUESTIONS)
    prices = {
        "basic": total.by("basic"),
        "advanced": total.by("advanced"),
        "zCDP": total.by("zcdp"),
        "tight": total.by("tight"),
    }
    yield f"Each at epsilon 0.1; together, at delta {DELTA:g}:"
    shown = table("theorem", "epsilon")
    for name, price in prices.items():
        shown.add_row(name, f"{price.epsilon(DELTA):.3f}")
    yield shown
    yield "All are upper bounds of the same truth."


def main() -> None:
    """Print every example."""
    console = Console(highlight=False)
    sections = {
        "How many people have blue eyes?": blue_eyes(),
        "Did you ever ...? Randomised response": coin(),
        "Which hair colour is the most frequent?": hair(),
        "A histogram of blood groups": histogram(is_plain(console)),
        f"And {QUESTIONS} such questions?": many(),
    }
    for number, (title, parts) in enumerate(sections.items(), start=1):
        console.print(f"\n[bold]{number}. {title}[/bold]\n")
        for part in parts:
            console.print(part)
    console.print()
