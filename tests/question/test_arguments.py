"""No argument is dropped: one more of them changes what is read, or is refused."""

from __future__ import annotations

import pytest

from tacit.errors import QuestionError
from tacit.question import read
from tacit.question.arguments import _MOST
from tacit.question.functions import FUNCTIONS

AGGREGATES = (
    "sum", "avg", "min", "max", "median", "mode", "variance", "stddev", "var_pop", "quantile", "quantile_cont",
    "quantile_disc", "approx_quantile", "approx_top_k", "approx_count_distinct", "bool_and", "bool_or", "count_if",
    "corr", "covar_pop", "covar_samp", "regr_slope", "regr_r2", "percentile_cont", "percentile_disc",
)  # fmt: skip
OTHERS = (
    "mod", "nullif", "date_add", "date_sub", "datediff", "datetrunc", "strptime", "ltrim", "rtrim", "trunc", "log10",
    "log2", "log", "len", "strlen", "char_length", "position", "instr", "week", "isodow", "date_part", "extract",
    "to_days", "make_date", "if", "iff", "try_cast", "starts_with", "prefix", "suffix", "contains", "concat_ws",
)  # fmt: skip
POOLS = (
    ("x", "0.5", "0.6", "0.7", "0.8"),
    ("'day'", "when", "later", "latest", "last"),
    ("when", "'%Y'", "'%m'", "'%d'", "'%H'"),
    ("name", "1", "2", "3", "4"),
    ("name", "'a'", "'b'", "'c'", "'d'"),
    ("x", "2", "3", "4", "5"),
)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *AGGREGATES, *OTHERS, *_MOST}))
def test_one_more_argument_is_another_question_or_is_refused(name: str) -> None:
    for pool in POOLS:
        for form in ("{}", "sum({})"):
            seen = []
            for count in range(1, len(pool) + 1):
                written = form.format(f"{name}({', '.join(pool[:count])})")
                try:
                    seen.append(read(f"SELECT {written} AS n FROM t").outputs[0].expression)
                except QuestionError:
                    continue
            assert len({*seen}) == len(seen), (name, pool)


def test_commas_of_other_brackets_are_not_counted() -> None:
    read("SELECT sum(mod(least(x, 3, 4), 2)), quantile(greatest(x, 1), 0.5) FROM t")
    read("SELECT count(*) FROM t WHERE name = 'mod' OR mod IN (1, 2, 3)")


def test_the_refusal_says_which_and_where() -> None:
    with pytest.raises(QuestionError, match=r"quantile_disc takes at most 2 arguments and got 3 \(line 1, column 8\)"):
        read("SELECT quantile_disc(x, 0.5, 0.6) FROM t")
