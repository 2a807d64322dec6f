"""Rows for a study: a SELECT without aggregates, opened like any other, and the few queries that a study may ask of it.

A study that is not one SQL question (a smooth sensitivity, a set of tables, a spanning tree) starts from rows. It may
ask for tallies (distinct combinations of codes and how many rows have each) and for exact sums of products of codes;
all of it is whole numbers, made inside the engine. A column may be asked with its missing values (`OrMissing`): then
NULL has a code of its own, and leaves no row out.

Theorem. `rows_per_unit` is the promise of `scope.Place` for the SELECT as a whole: at most so many of its rows belong
to one unit, and they depend on that unit's rows in the working copy alone. Rows with NULL in a column that the study
uses are left out, or get the code of missing values, row by row. So neighbours differ in at most `rows_per_unit` rows
of what the study sees, added or removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from tacit import parameters
from tacit.errors import QuestionError
from tacit.plan.columns import RawKey
from tacit.plan.draft import Draft, Terms
from tacit.plan.plan import Query
from tacit.plan.rewrites.name_keys import name_keys
from tacit.plan.row_words import COUNT, WORD_BITS, Code, Digit, laid_out, numbered, packed
from tacit.plan.rules.build_query import from_sources, measure_column
from tacit.plan.rules.filter_rows import filter_rows
from tacit.plan.rules.open_sources import open_sources
from tacit.plan.rules.resolve import resolve
from tacit.plan.sources.opener import whole_table
from tacit.plan.values import arithmetic
from tacit.plan.values.hints import bound_here
from tacit.plan.values.intervals import Interval
from tacit.plan.values.scope import UNIT
from tacit.plan.values.translate import value_of
from tacit.plan.values.value import (
    EVERY_INTEGER,
    NARROW,
    Nothing,
    Number,
    Truth,
    Value,
    bare,
    cast_to,
    constant,
    truth_as_number,
)
from tacit.policy import Policy
from tacit.policy.check import did_you_mean
from tacit.question import canonical, read, tree

ROW_RULES = (open_sources, resolve, filter_rows)


@dataclass(frozen=True, slots=True)
class Variable:
    """The public facts about a column of the rows. A code means itself times `step`; a text is its own code.

    `low` and `high` bound the codes, where the policy states bounds; `values` lists all codes, where it lists them.
    """

    name: str
    meaning: str  # "number", "date", "timestamp", "boolean" or "text"
    step: Fraction
    low: int | None
    high: int | None
    values: tuple[RawKey, ...] | None
    rounded: bool  # the codes are of real numbers, on a grid as fine as the policy says
    nullable: bool = True  # whether a row may miss it


@dataclass(frozen=True, slots=True)
class Cut:
    """A variable cut at codes: a row's code is how many of the edges (ascending) are at or below it."""

    name: str
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OrMissing:
    """A variable, cut or not, whose missing values have a code too: one beyond the last (`missing_code`)."""

    asked: str | Cut

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.asked.name if isinstance(self.asked, Cut) else self.asked


Coded: TypeAlias = str | Cut | OrMissing
"""What can be asked of a row: a variable by its name, cut, or with a code where it is missing."""


def missing_code(variable: Variable, asked: str | Cut) -> int:
    """The code of missing values; for texts, also of all unlisted ones."""
    if isinstance(asked, Cut):
        return len(asked.edges) + 1
    if variable.meaning == "text":
        return len(variable.values or ())
    most = variable.high if variable.values is None else max(int(each) for each in variable.values if each is not None)
    assert most is not None
    return most + 1


def variable_name(asked: Coded) -> str:
    """The variable that is asked."""
    return asked if isinstance(asked, str) else asked.name


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where a variable has this code (a text is its own), and 0 elsewhere."""

    name: str
    code: int | str


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Rows that were asked for, before a study asks about them."""

    text: str  # canonical: equal for equal rows
    variables: tuple[Variable, ...]
    rows_per_unit: int
    tables: tuple[str, ...]
    _draft: Draft = field(repr=False)
    _values: Mapping[str, Value] = field(repr=False)

    def variable(self, name: str) -> Variable:
        """A column by its name."""
        for each in self.variables:
            if each.name.casefold() == str(name).casefold():
                return each
        names = [each.name for each in self.variables]
        hint = did_you_mean(str(name), names)
        raise QuestionError(f"Column {name!r} is not among the rows' columns: {', '.join(names)}.{hint}")

    def words(
        self, asked: Sequence[Coded], *, grouped: bool, part: tuple[int, int] | None = None
    ) -> tuple[Query, tuple[Digit, ...]]:
        """Every row's codes in machine words (`row_words`), and where each stands in them."""
        kept = {each.name for each in asked if isinstance(each, OrMissing)}
        rows = self._rows([variable_name(each) for each in asked], kept)
        return packed(rows, self._codes(asked), grouped=grouped, part=part)

    def unit_words(self, names: Sequence[str]) -> tuple[Query, tuple[Digit, ...]]:
        """The same for every row, and last a number that rows of one unit share; which number it is means nothing.

        With one unit less, others may have other numbers, so a study may only ask whether two of them are equal.
        """
        order = exp.Order(expressions=[exp.Ordered(this=exp.column(UNIT), nulls_first=False)])
        number = cast_to(exp.Window(this=exp.DenseRank(), order=order), "BIGINT")
        rows = self._rows(names, more=[exp.alias_(self._draft.unit_sql, UNIT)]).subquery("r1")
        columns = [_column(place) for place in range(len(names) + 1)]
        numbered = exp.select(*map(exp.column, columns[:-1]), exp.alias_(number, columns[-1])).from_(rows)
        own = Code(exp.column(columns[-1]), 0, (1 << WORD_BITS) - 1)
        return packed(numbered, [*self._codes(names), own], grouped=False)

    def size(self) -> tuple[Query, int]:
        """COUNT(*) of the first table, and a factor: there are at most the count times the factor rows here.

        A unit's rows here are at most its rows there times what the other tables, and copies of it, multiply by.
        """
        first = self._draft.policy.tables[self.tables[0]]
        query = exp.select(exp.alias_(exp.Count(this=exp.Star()), COUNT)).from_(whole_table(first, "r0"))
        return Query(query, (), (COUNT,), None), max(1, -(-self.rows_per_unit // first.rows_per_unit))

    def layout(self, asked: Sequence[Coded]) -> tuple[Digit, ...]:
        """The place that each code would have."""
        return laid_out(self._codes(asked))

    def _codes(self, asked: Sequence[Coded]) -> list[Code]:
        return [self._code(each, exp.column(_column(place))) for place, each in enumerate(asked)]

    def _code(self, each: Coded, column: exp.Expr) -> Code:
        if isinstance(each, OrMissing):
            return self._code_or_missing(each, column)
        if isinstance(each, Cut):
            return Code(_cut(column, each.edges), 0, len(each.edges))
        value = self._values[self.variable(each).name]
        if isinstance(value, Number):
            return Code(column, value.bounds.low, value.bounds.high)
        return numbered(column, self.variable(each).values or ())

    def _code_or_missing(self, each: OrMissing, column: exp.Expr) -> Code:
        known, code = self.variable(each.name), self._code(each.asked, column)
        missing = missing_code(known, each.asked)
        if known.meaning == "text" and not isinstance(each.asked, Cut):  # NULL is read as unlisted
            return Code(code.sql, 0, missing)
        is_missing = exp.Is(this=column.copy(), expression=exp.Null())
        case = exp.Case(ifs=[exp.If(this=is_missing, true=bare(missing))], default=code.sql)
        return Code(cast_to(case, "BIGINT"), code.low, max(code.high, missing))

    def totals(
        self, products: Sequence[Sequence[str | Indicator]], centres: Mapping[str, int], using: Sequence[str]
    ) -> Query:
        """COUNT(*), and for every product the sum over rows of the product of (code - centre) and of indicators.

        Rows with NULL in one of `using` are left out, for all sums alike.
        """
        rows = self._rows(using)
        places = {name: place for place, name in enumerate(using)}
        sums: list[exp.Expr] = []
        for place, product in enumerate(products):
            number: Number | None = None
            for name in product:
                if isinstance(name, Indicator):
                    own = _indicated(exp.column(_column(places[name.name])), name.code)
                else:
                    value = self._values[self.variable(name).name]
                    assert isinstance(value, Number)
                    own = replace(value, sql=exp.column(_column(places[name])), nullable=False, step=Fraction(1))
                    centre = centres.get(name, 0)
                    if centre:
                        own = arithmetic.subtract(own, constant(centre))
                number = own if number is None else arithmetic.multiply(number, own)
            assert number is not None
            nothing = cast_to(exp.Literal.number(0), "INT128")
            total = exp.Coalesce(this=exp.Sum(this=number.sql), expressions=[nothing])
            sums.append(exp.alias_(total, measure_column(place)))
        query = exp.select(exp.alias_(exp.Count(this=exp.Star()), COUNT), *sums).from_(rows.subquery("r0"))
        return Query(query, (), (COUNT, *(measure_column(place) for place in range(len(products)))), None)

    def _rows(self, names: Sequence[str], kept: Collection[str] = (), more: Sequence[exp.Expr] = ()) -> exp.Select:
        values = [self._values[self.variable(name).name] for name in names]
        selected = [exp.alias_(value.sql.copy(), _column(place), copy=False) for place, value in enumerate(values)]
        selected += more
        if not selected:
            selected = [exp.alias_(cast_to(exp.Literal.number(0), "BIGINT"), "nothing")]
        nullable = [value for name, value in zip(names, values, strict=True) if value.nullable and name not in kept]
        known = [exp.not_(exp.Is(this=exp.paren(value.sql.copy()), expression=exp.Null())) for value in nullable]
        return from_sources(self._draft, selected, known)


def plan_rows(sql: str, policy: Policy, rows_per_unit: int | None = None) -> RowPlan:
    """The rows of a SELECT without aggregates (GROUP BY the unit gives one row for each unit, and is understood)."""
    question = read(f"SELECT count(*) AS n FROM ({str(sql).strip().rstrip(';')}) AS study")  # noqa: S608  # is parsed
    question = name_keys(question, policy)
    if question.joins or not isinstance(question.source, tree.Derived) or question.where is not None:
        raise QuestionError("Rows for a study are one SELECT, e.g. SELECT age, charge FROM visits WHERE age > 17.")
    if question.privacy is not None:
        raise QuestionError("Rows have no price: leave out WITH PRIVACY, and give the study its epsilon.")
    if rows_per_unit is not None:
        question = replace(question, rows_per_unit=parameters.whole("rows_per_unit", rows_per_unit, least=1))
    draft = Draft(question, policy, Terms(None, None, Fraction(0), None, question.rows_per_unit))
    for rule in ROW_RULES:
        draft = rule(draft)
    assert draft.joined is not None
    (place,) = draft.joined.places
    values = {name: _settled(value_of(tree.Name(place.alias, name), draft.scope)) for name in place.columns}
    return RowPlan(
        text=canonical(draft.question),
        variables=tuple(_variable(name, value) for name, value in values.items()),
        rows_per_unit=draft.rows_per_unit,
        tables=place.sources,
        _draft=draft,
        _values=values,
    )


def _settled(value: Value) -> Value:
    return truth_as_number(value) if isinstance(value, Truth) else value


def _variable(name: str, value: Value) -> Variable:
    if isinstance(value, Nothing):
        raise QuestionError(f"Column {name!r} of the rows is NULL on every row. Leave it out.")
    if isinstance(value, Number):
        _must_fit(name, value)
        bounds = value.bounds if value.stated else None
        low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
        values: tuple[RawKey, ...] | None = value.points
        if value.meaning == "boolean" and values is None:
            values = (0, 1)
        return Variable(name, value.meaning, value.step, low, high, values, value.rounded, value.nullable)
    assert not isinstance(value, Truth)
    return Variable(name, "text", Fraction(1), None, None, value.values, False, value.nullable)


def _must_fit(name: str, value: Number) -> None:
    """Refuse codes (or differences of bounded ones) that a word may not hold: a failure would reveal a row."""
    low, high = value.bounds.low, value.bounds.high
    fits = value.bounds.size < NARROW if value.stated else EVERY_INTEGER.low <= low <= high <= EVERY_INTEGER.high
    if not fits:
        raise QuestionError(
            f"Column {name!r} of the rows may reach from {low:,} to {high:,} steps, too far for a study (2**62). Use "
            f"narrower bounds, fewer decimals or factors; or bound it here: {bound_here(0, 1000000)}."
        )


def _cut(column: exp.Expr, edges: Sequence[int]) -> exp.Expr:
    """How many edges are at or below the column: a tree of comparisons, as deep as the logarithm of their number."""

    def between(first: int, last: int) -> exp.Expr:
        if first == last:
            return bare(first)
        middle = (first + last) // 2
        below = exp.LT(this=column.copy(), expression=bare(edges[middle]))
        return exp.Case(ifs=[exp.If(this=below, true=between(first, middle))], default=between(middle + 1, last))

    return cast_to(between(0, len(edges)), "BIGINT")


def _indicated(column: exp.Expr, code: int | str) -> Number:
    wanted = exp.Literal.string(code) if isinstance(code, str) else bare(code)
    sql = exp.Case().when(exp.EQ(this=column, expression=wanted), bare(1)).else_(bare(0))
    return Number(cast_to(sql, "BIGINT"), Interval(0, 1), nullable=False)


def _column(place: int) -> str:
    return f"c{place}"
