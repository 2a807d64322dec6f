"""Released numbers as drawings for a page whose policy forbids styles inside its elements.

The drawings of `answer.drawings` place their bars by style attributes. Here each becomes a rule of one style sheet that
carries the page's own one-time word, so that the policy stays strict: text that slipped into a page draws nothing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup

from tacit.answer import Answer, Standing
from tacit.answer.drawings import drawings
from tacit.answer.report import html_table, reported

_STYLE = re.compile(r' style="([-\w:;.,%() ]*)"')


@dataclass(frozen=True, slots=True)
class Drawing:
    """Markup, and the rules that it needs."""

    body: Markup
    rules: Markup


def of_answer(answer: Answer) -> Drawing:
    """The drawings of an answer and its table. Text is escaped where these are made."""
    shown = reported(answer, 0.95)
    return unstyled("".join(drawings(shown.columns, shown.drawing)) + html_table(shown.columns))


def unstyled(body: str) -> Drawing:
    """The same markup with its style attributes as rules."""
    rules: dict[str, str] = {}

    def moved(found: re.Match[str]) -> str:
        name = rules.setdefault(found[1], f"s{len(rules)}")
        return f' data-s="{name}"'

    changed = _STYLE.sub(moved, body)
    sheet = "".join(f'[data-s="{name}"]{{{rule}}}' for rule, name in rules.items())
    return Drawing(Markup(changed), Markup(sheet))  # noqa: S704  # escaped where it was made; see `of_answer`


def share(standing: Standing) -> int:
    """How much of the budget the answers so far are worth, in thousandths, rounded up."""
    epsilon = standing.budget.epsilon
    part = Fraction(standing.worth) / epsilon if epsilon else Fraction(0)
    return min(1000, -(-1000 * part.numerator // part.denominator))


def bar(reach: float, usual: float) -> dict[str, int | bool]:
    """An error bar around the middle of a drawing that is 1,000 wide, on which the usual one takes half of the width.

    A bar that does not fit ends at the edges, and `beyond` says so.
    """
    half = round(250 * reach / usual) if math.isfinite(reach) else 500
    return {"from": 500 - min(half, 500), "to": 500 + min(half, 500), "beyond": half > 500}
