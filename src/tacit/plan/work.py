"""How much work the rows of one unit can cause, bounded before anything is paid: rows, values and characters.

Why. If an answer takes longer, or fails for lack of time or memory, because one person is in the tables, it reveals
that they are. So the plan counts what one unit's rows can cause at worst in all steps of all its queries, from the
policy and the question alone, and refuses beyond a public limit.

Rows. A SELECT whose sources hold r1, ..., rn rows of one unit handles at most J rows of it in any one step, with J the
greatest product of rows of some of its sources: joins keep pairs within one unit, and engines join in any order, so
every set of sources counts, even one that the question never joins by itself. A public source counts its fan-out; one
side of a FULL JOIN one row more, for rows that meet none; and a source that is joined along a key counts 1 wherever the
source that leads to it is in the set. There are a step for each join and at most `STEPS` others (filter, compute, group
or rank, filter, compute), and what the sources themselves took. A condition above (WHERE, a rank, GROUP BY the unit)
does not undo the work below it. Rows of UNION ALL add up.

Values and characters. A row costs one value for each node of the expressions computed from it, and the characters
that its texts can have wherever they are read or written. All branches of a CASE count: the branch that a row's values
choose must not matter.

The limits. Every question must read the rows that the owner promised, and that costs the same for every unit. `plain`
counts it: the same steps, if each join kept as many rows as its sources have. The work beyond `plain` is the question's
own, and must stay within `MOST_ROWS`, `MOST_VALUES` and `MOST_CHARACTERS`: each about a millisecond, or a few on an
engine that computes row by row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.question.sql_nodes import below, every_node

MOST_ROWS = 25_000
MOST_VALUES = 250_000
MOST_CHARACTERS = 250_000
STEPS = 5
DISTINCT_STEPS = 10
VALUES_A_ROW, CHARACTERS_A_ROW = 100, 4_000
"""What each row of each plain step may cost in addition."""
_DIGITS = 45
_LETTERS, _AT_ONCE = 4, 8  # the cost of changing a letter's case, and of comparing, relative to reading or writing one
_FEW_STRETCHES = 2


@dataclass(frozen=True, slots=True)
class Work:
    """The work that the rows of one unit can cause."""

    rows: int = 0
    plain: int = 0
    values: int = 0
    characters: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.rows + other.rows,
            self.plain + other.plain,
            self.values + other.values,
            self.characters + other.characters,
        )

    def times(self, count: int) -> Work:
        """The work, this many times."""
        return Work(self.rows * count, self.plain * count, self.values * count, self.characters * count)

    @property
    def limits(self) -> Work:
        """The most work that is allowed for a question that reads as much as this one."""
        return Work(
            max(MOST_ROWS, self.plain),
            self.plain,
            max(MOST_VALUES, VALUES_A_ROW * self.plain),
            max(MOST_CHARACTERS, CHARACTERS_A_ROW * self.plain),
        )


NONE = Work()


@dataclass(frozen=True, slots=True)
class Step:
    """A source of a FROM: the most rows of one unit that it holds, or that it makes of one row where it is public.

    `parent` is the place of the source whose rows each meet at most one row of this one.
    """

    rows: int
    private: bool = True
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """What expressions cost on one row; `longest` is how long a text they give, `lists` how many SELECTs they ask."""

    values: int = 0
    characters: int = 0
    longest: int = 0
    lists: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.values + other.values,
            self.characters + other.characters,
            max(self.longest, other.longest),
            self.lists + other.lists,
        )


def held(work: Work) -> Work:
    """The work, or a refusal that says what was found and what is allowed."""
    most = work.limits
    if work.rows > most.rows:
        raise QuestionError(
            f"The rows of one unit could become {_shown(work.rows)} rows of work in this question, and {most.rows:,} "
            "are allowed: how long an answer takes must not tell who is in the tables. Join fewer sources, or read "
            "fewer rows of each unit: tacit_rows_per_unit."
        )
    if work.values > most.values:
        raise QuestionError(
            f"This question could compute {_shown(work.values)} values from the rows of one unit, and {most.values:,} "
            "are allowed. Use smaller expressions, or read fewer rows of each unit: tacit_rows_per_unit."
        )
    if work.characters > most.characters:
        raise QuestionError(
            f"This question could handle {_shown(work.characters)} characters of text for one unit, and "
            f"{most.characters:,} are allowed. Cut texts first (left(x, 20)), use fewer functions of texts or simpler "
            "patterns, or read fewer rows of each unit: tacit_rows_per_unit."
        )
    return work


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"over 10**{len(str(number)) - 1}"


def read(rows: int) -> Work:
    """Reading a table's rows, and leaving out those beyond a rank."""
    return Work(2 * rows, 2 * rows)


def union_of_rows(parts: Sequence[Work], rows: int) -> Work:
    """UNION ALL of `rows` rows in all."""
    return sum(parts, NONE) + Work(STEPS * rows, STEPS * rows)


def joined(sources: Sequence[Work], steps: Sequence[Step]) -> Work:
    """The sources of one FROM, put together, and the steps of the SELECT above them."""
    count = len(steps) - 1 + STEPS
    together = sum(step.rows for step in steps if step.private)
    return sum(sources, NONE) + Work(count * most_rows(steps), count * together)


def most_rows(steps: Sequence[Step]) -> int:
    """The greatest number of rows of one unit that joining some of the sources can give."""
    if all(step.parent is None for step in steps):
        return math.prod(max(step.rows, 1) for step in steps)
    below: dict[int | None, list[int]] = {}
    for place, step in enumerate(steps):
        below.setdefault(step.parent, []).append(place)
    roots = below.get(None, [])
    if _reached(roots, below) < len(steps):
        raise ValueError("sources that lead to each other in a circle")
    return math.prod(_most_of(place, steps, below)[0] for place in roots)


def _most_of(place: int, steps: Sequence[Step], below: Mapping[int | None, list[int]]) -> tuple[int, int]:
    """The most rows that a source and all that it leads to can give; and the most where its parent is among the chosen.

    The choices below one source do not depend on those below another, so each is made by itself.
    """
    pairs = [_most_of(child, steps, below) for child in below.get(place, [])]
    without, led = math.prod(pair[0] for pair in pairs), math.prod(pair[1] for pair in pairs)
    return max(without, max(steps[place].rows, 1) * led), max(without, led)


def _reached(roots: Sequence[int], below: Mapping[int | None, list[int]]) -> int:
    stack, count = list(roots), 0
    while stack:
        count += 1
        stack += below.get(stack.pop(), [])
    return count


def computed(rows: int, effort: Effort, lists: Work) -> Work:
    """Expressions on this many rows; `lists` is the most that a SELECT in a condition takes."""
    return Work(values=rows * effort.values, characters=rows * effort.characters) + lists.times(effort.lists)


def counted_once(count: int, most: int, together: int) -> Work:
    """This many count(DISTINCT ...): engines may count each by itself, and join the results."""
    steps = DISTINCT_STEPS * (count + 1) if count else 0
    return Work(steps * most, steps * together)


def distinct_in(sqls: Sequence[exp.Expr]) -> int:
    """How many count(DISTINCT ...) there are."""
    return sum([isinstance(node, exp.Distinct) for sql in sqls for node in every_node(sql)])


# -- what an expression costs ------------------------------------------------------------------------------


def effort_of(sqls: Sequence[exp.Expr], lengths: Mapping[tuple[str, str], int]) -> Effort:
    """What these cost on one row. `lengths` says how long the texts of columns can be, by alias and name.

    A text in the result is kept, compared or sorted by, so it counts once more.
    """
    each = [_effort(sql, lengths) for sql in sqls]
    return sum(each, Effort(characters=sum(effort.longest for effort in each)))


def longest_of(sql: exp.Expr, lengths: Mapping[tuple[str, str], int]) -> int:
    """How long a text this gives can be."""
    return _effort(sql, lengths).longest


def _effort(root: exp.Expr, lengths: Mapping[tuple[str, str], int]) -> Effort:
    """From below, without recursion: conditions can be thousands deep."""
    found: dict[int, Effort] = {}
    order: list[tuple[exp.Expr, list[exp.Expr]]] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, _LEAVES):
            found[id(node)] = _of_leaf(node, lengths)
        else:
            order.append((node, [node.this] if _asks_a_list(node) else below(node)))
            stack += order[-1][1]
    for node, children in reversed(order):
        found[id(node)] = _own(node, [found[id(child)] for child in children], found)
    return found[id(root)]


def _of_leaf(node: exp.Expr, lengths: Mapping[tuple[str, str], int]) -> Effort:
    if isinstance(node, exp.Column):
        return Effort(1, 0, lengths.get((node.table, node.name), 0))
    if isinstance(node, exp.Literal):
        return Effort(1, 0, len(node.this) if node.is_string else 0)
    return Effort()


def _own(node: exp.Expr, parts: Sequence[Effort], found: Mapping[int, Effort]) -> Effort:
    lists = _asks_a_list(node)
    lengths_read = [part.longest for part in parts]
    if not any(lengths_read) and not isinstance(node, _OF_TEXTS):  # mostly there are only numbers below
        values, characters, asked = 1, 0, int(lists)
        for part in parts:
            values, characters, asked = values + part.values, characters + part.characters, asked + part.lists
        return Effort(values, characters, 0, asked)
    longest = _longest(node, found, parts)
    if isinstance(node, _COMPARED):
        handled = _compared(node, found, lengths_read)
    elif isinstance(node, (exp.Like, exp.ILike)):
        handled = sum(lengths_read) + _matching(node, found[id(node.this)].longest)
    else:
        handled = (sum(lengths_read) + longest) * (_LETTERS if isinstance(node, (exp.Lower, exp.Upper)) else 1)
    characters = sum(part.characters for part in parts) + handled
    return Effort(1 + sum(part.values for part in parts), characters, longest, sum(p.lists for p in parts) + lists)


def _compared(node: exp.Expr, found: Mapping[int, Effort], lengths: Sequence[int]) -> int:
    """Texts are compared up to where the shorter one ends, many characters at once."""
    if isinstance(node, exp.In):
        own = found[id(node.this)].longest
        return -(-sum(min(own, length) for length in lengths) // _AT_ONCE)
    return -(-2 * min(lengths, default=0) // _AT_ONCE)


def _asks_a_list(node: exp.Expr) -> bool:
    return isinstance(node, exp.In) and node.args.get("query") is not None


def _longest(node: exp.Expr, found: Mapping[int, Effort], parts: Sequence[Effort]) -> int:
    """How long a text the node gives can be: 0 where it gives none."""
    if isinstance(node, (exp.DPipe, exp.Concat)):
        return sum(part.longest for part in parts)
    if isinstance(node, _NO_TEXTS):
        return 0
    most = max((part.longest for part in parts), default=0)
    if isinstance(node, exp.Cast):
        return (most or _DIGITS) if node.to.this == exp.DType.TEXT else 0
    if isinstance(node, exp.Replace):
        return _replaced(node, found[id(node.this)].longest)
    if isinstance(node, (exp.Substring, exp.Right)):
        cut = node.args.get("length") if isinstance(node, exp.Substring) else node.expression
        whole = found[id(node.this)].longest
        return min(whole, int(cut.this)) if isinstance(cut, exp.Literal) else whole
    return most


def _replaced(node: exp.Replace, longest: int) -> int:
    before, after = (len(node.args[name].this) for name in ("expression", "replacement"))
    return longest if after <= before else (longest // before) * after + longest % before


def _matching(node: exp.Expr, longest: int) -> int:
    """How many characters a pattern can look at: engines try every place for each % that something follows.

    Where it has nothing but % and plain characters, and few of them, all engines find the pieces one after the other.
    """
    pattern = str(node.expression.this)
    pieces = [piece for piece in pattern.split("%") if piece]
    tries = len(pieces) - (not pattern.startswith("%"))  # the first piece is looked for in one place only
    simple = isinstance(node, exp.Like) and "_" not in pattern
    # at every place a piece is compared until a character differs: one after the other, or some at once
    piece = max((len(each) if not simple else -(-len(each) // _AT_ONCE) for each in pieces), default=1)
    if tries <= 1 or (simple and tries <= _FEW_STRETCHES):
        return longest * max(tries, 1) * piece
    return int(longest**tries) * piece


_LEAVES = (exp.Column, exp.Literal, exp.DataType, exp.Identifier)
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is)
_OF_TEXTS = (exp.Cast, exp.Like, exp.ILike, exp.Replace)
"""Nodes that cost characters even where nothing below them has any."""
_NO_TEXTS = (
    exp.Binary,
    exp.Length,
    exp.StrPosition,
    exp.In,
    exp.Is,
    exp.Not,
    exp.And,
    exp.Or,
    exp.Count,
    exp.Sum,
    exp.Abs,
    exp.Neg,
    exp.Between,
)
