"""Questions meant to cost much where one person is in the tables and little where not.

Each is refused by the plan, before anything is paid, or answered alike with and without that person. `REFUSED` are too
much for one unit; `ANSWERED` come as near to what is allowed as was found, or look dangerous and are not.
"""

from __future__ import annotations

from itertools import pairwise

RARE = "(SELECT pid, vid, age, cost, note FROM visits WHERE age = 101)"


def copies(count: int, columns: str = "pid, age") -> str:
    """UNION ALL of the bomber's rows."""
    return " UNION ALL ".join([f"SELECT {columns} FROM visits WHERE age = 101"] * count)


def joined(count: int, source: str = RARE, head: str = "SELECT count(*) FROM") -> str:
    """A source joined with itself on the unit."""
    rest = " ".join(f"JOIN {source} AS a{n} ON a{n}.pid = a0.pid" for n in range(1, count))
    return f"{head} {source} AS a0 {rest}"


def summed(count: int) -> str:
    """A condition on all of them, which no join can decide."""
    return " WHERE " + " + ".join(f"a{n}.age" for n in range(count)) + " > 0"


def nested(function: str, times: int, inside: str = "note") -> str:
    """f(f(f(x)))."""
    for _ in range(times):
        inside = function.format(inside)
    return inside


def cases(count: int, otherwise: str = "0") -> str:
    """A CASE with many branches, of which only the bomber's rows see the last."""
    return "CASE " + " ".join(f"WHEN cost * {n} = -1 THEN {n}" for n in range(1, count)) + f" ELSE {otherwise} END"


def polynomial(terms: int) -> str:
    """Much arithmetic."""
    return " + ".join(f"(age * {n} + cost) % {n + 2}" for n in range(1, terms))


GROWN = nested("replace({}, 'a', '" + "a" * 900 + "')", 4)
LISTED = ", ".join(map(str, range(1, 1_000)))
WORDS = ", ".join(f"'{'a' * 990}{n}'" for n in range(60))

REFUSED = {
    "joins": [
        f"WITH t AS ({copies(8)}) " + joined(10, "t") + summed(10),
        joined(4) + summed(4),
        joined(5),
        joined(11),
        joined(4, "visits"),
        joined(6, "visits") + " WHERE a0.age = 101",
        joined(8, "visits"),
        f"SELECT count(*) FROM people p JOIN {RARE} a ON a.pid = p.pid JOIN {RARE} b ON b.pid = p.pid "
        f"JOIN {RARE} c ON c.pid = p.pid JOIN {RARE} d ON d.pid = p.pid",
        f"SELECT sum(a.cost * b.cost * c.cost * d.cost) FROM {RARE} a, {RARE} b, {RARE} c, {RARE} d "
        "WHERE a.pid = b.pid AND a.pid = c.pid AND a.pid = d.pid",
        f"SELECT count(*) FROM {RARE} a FULL JOIN {RARE} b ON a.pid = b.pid FULL JOIN {RARE} c ON a.pid = c.pid "
        f"FULL JOIN {RARE} d ON a.pid = d.pid",
        f"SELECT count(*) FROM {RARE} a LEFT JOIN {RARE} b ON a.pid = b.pid AND a.vid < b.vid "
        f"LEFT JOIN {RARE} c ON a.pid = c.pid AND a.vid > c.vid LEFT JOIN {RARE} d ON a.pid = d.pid AND d.vid = a.vid",
        f"SELECT count(*) FROM {RARE} a RIGHT JOIN {RARE} b ON a.pid = b.pid RIGHT JOIN {RARE} c ON b.pid = c.pid "
        f"RIGHT JOIN {RARE} d ON c.pid = d.pid",
        "SELECT count(*) FROM visits v JOIN wards a ON a.ward = v.ward JOIN wards b ON b.ward = v.ward "
        "JOIN wards c ON c.ward = v.ward JOIN wards d ON d.ward = v.ward JOIN wards e ON e.ward = v.ward "
        "JOIN wards f ON f.ward = v.ward JOIN wards g ON g.ward = v.ward WHERE v.age = 101",
        joined(3, "visits", "SELECT a0.ward, a1.ward AS w1, avg(a2.cost) FROM").replace(
            "AS a2 ON", "AS a2 ON a2.age = a1.age AND"
        )
        + " JOIN wards w ON w.ward = a0.ward JOIN wards x ON x.ward = a1.ward GROUP BY a0.ward, w1",
    ],
    "unions under joins": [
        f"WITH t AS ({copies(12)}) " + joined(2, "t"),
        f"WITH t AS ({copies(6)}) " + joined(3, "t"),
        f"WITH t AS ({copies(2)}), u AS (SELECT pid, age FROM t UNION ALL SELECT pid, age FROM t), "
        "w AS (SELECT pid, age FROM u UNION ALL SELECT pid, age FROM u) " + joined(3, "w"),
        f"WITH t AS ({copies(3)}) SELECT count(DISTINCT a.pid) FROM t a JOIN t b ON a.pid = b.pid "
        "JOIN t c ON a.pid = c.pid",
        f"WITH t AS ({copies(4)}) SELECT median(a.age) FROM t a JOIN t b ON a.pid = b.pid",
    ],
    "what a condition above does not undo": [
        f"SELECT count(*) FROM (SELECT a.pid FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid JOIN {RARE} c "
        f"ON a.pid = c.pid JOIN {RARE} d ON a.pid = d.pid GROUP BY a.pid)",
        f"SELECT count(*) FROM people WHERE pid IN (SELECT a.pid FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid "
        f"JOIN {RARE} c ON a.pid = c.pid JOIN {RARE} d ON a.pid = d.pid)",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits a JOIN visits b ON a.pid = b.pid "
        "JOIN visits c ON a.pid = c.pid JOIN visits d ON a.pid = d.pid WHERE a.pid = p.pid AND a.age = 101)",
        f"SELECT count(*) FROM (SELECT DISTINCT a.pid FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid JOIN {RARE} c "
        f"ON a.pid = c.pid JOIN {RARE} d ON a.pid = d.pid)",
        f"SELECT count(*), (SELECT count(*) FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid JOIN {RARE} c "
        f"ON a.pid = c.pid JOIN {RARE} d ON a.pid = d.pid) FROM people",
        f"SELECT count(*) FROM (SELECT a.pid, a.age FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid JOIN {RARE} c "
        f"ON a.pid = c.pid JOIN {RARE} d ON a.pid = d.pid WHERE a.age > 200) WHERE age > 300",
        f"SELECT avg(n) FROM (SELECT a.pid, count(*) AS n FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid JOIN {RARE} c "
        f"ON a.pid = c.pid JOIN {RARE} d ON a.pid = d.pid GROUP BY a.pid, a.vid)",
    ],
    "picks and histograms over joins": [
        joined(3, head="SELECT median(a0.cost) FROM"),
        joined(3, head="SELECT quantile_disc(a0.cost, 0.1), quantile_disc(a1.cost, 0.9), max(a2.cost) FROM"),
        joined(3, head="SELECT histogram(a0.age), histogram(a1.age), histogram(a2.age), mode(a0.age) FROM"),
        joined(3, head="SELECT min(a0.cost), max(a1.cost) FROM"),
    ],
    "texts": [
        f"SELECT count(*) FROM visits WHERE age = 101 AND {GROWN} = 'x'",
        f"SELECT count(*) FROM visits WHERE age = 101 AND length({GROWN}) > 3",
        f"SELECT sum(length({GROWN})) FROM visits WHERE age = 101",
        f"SELECT sum(CASE WHEN age = 101 THEN length({GROWN}) ELSE 0 END) FROM visits",
        f"SELECT count(DISTINCT {GROWN}) FROM visits WHERE age = 101",
        f"SELECT count(*) FROM (SELECT pid, {GROWN} AS g FROM visits WHERE age = 101) WHERE g LIKE '%b'",
        "SELECT count(*) FROM visits WHERE age = 101 AND " + nested("upper(lower({}))", 45) + " = 'x'",
        "SELECT count(*) FROM visits WHERE age = 101 AND "
        + " AND ".join(f"position('b{n}' IN note) = 0" for n in range(200)),
        "SELECT count(*) FROM visits WHERE age = 101 AND " + "concat(" + ", ".join(["note"] * 20) + ") = 'x'",
        f"SELECT count(*) FROM visits WHERE age = 101 AND replace(note, 'a', '{'b' * 1_000}') = 'x'",
        f"SELECT max(length(g)) FROM (SELECT pid, replace(note, 'a', '{'b' * 800}') AS g FROM visits)",
        joined(3, head="SELECT count(DISTINCT a0.note || a1.note || a2.note) FROM"),
        "SELECT count(*) FROM visits WHERE age = 101 AND " + nested("upper(lower({}))", 5) + " = 'x'",
        f"SELECT count(*) FROM people WHERE born = 1900 AND replace(name, 'a', '{'b' * 300}') = 'x'",
    ],
    "patterns": [
        "SELECT count(*) FROM visits WHERE note LIKE '%a_%a_%a_%a_%b'",
        "SELECT count(*) FROM visits WHERE age = 101 AND note LIKE '%a%a%a%a%a%a%b'",
        "SELECT count(*) FROM visits WHERE age = 101 AND note ILIKE '%A%A%A%b'",
        "SELECT count(*) FROM visits WHERE age = 101 AND note LIKE '%_a%_a%_b'",
        "SELECT count(*) FROM visits WHERE age = 101 AND upper(note) LIKE '%A%A%A%A%B'",
        "SELECT count(*) FROM visits WHERE age = 101 AND note NOT LIKE '%a_%a_%b%'",
        "SELECT sum(CASE WHEN note LIKE '%a%a%a%a%b' THEN 1 ELSE 0 END) FROM visits WHERE age = 101",
    ],
    "expressions": [
        joined(3, head=f"SELECT sum({polynomial(40).replace('age', 'a0.age').replace('cost', 'a1.cost')}) FROM"),
        joined(3, head=f"SELECT sum({polynomial(60).replace('age', 'a0.age').replace('cost', 'a1.cost')}) FROM"),
        joined(3) + " WHERE " + " AND ".join(f"a0.age + a1.age + a2.age <> {n}" for n in range(200)),
    ],
}  # fmt: skip

ANSWERED = {
    "joins": [
        joined(2) + summed(2),
        joined(3) + summed(3),
        joined(3, head="SELECT sum(a0.cost + a1.cost - a2.cost) FROM"),
        f"SELECT count(*) FROM {RARE} a FULL JOIN {RARE} b ON a.pid = b.pid",
        f"SELECT count(*) FROM {RARE} a LEFT JOIN {RARE} b ON a.pid = b.pid AND a.cost < b.cost",
        f"SELECT count(*) FROM {RARE} a RIGHT JOIN {RARE} b ON a.pid = b.pid AND a.cost < b.cost",
        "SELECT count(*) FROM bills b JOIN visits v ON b.vid = v.vid WHERE v.age = 101",
        "SELECT count(*) FROM visits v JOIN wards w ON w.ward = v.ward WHERE v.age = 101",
        "SELECT count(*) FROM visits v JOIN wards a ON a.ward = v.ward JOIN wards b ON b.ward = v.ward "
        "JOIN wards c ON c.ward = v.ward WHERE v.age = 101",
        f"SELECT count(*) FROM people p JOIN {RARE} a ON a.pid = p.pid JOIN {RARE} b ON b.pid = p.pid",
    ],
    "unions": [
        f"SELECT count(*) FROM ({copies(30)}) AS t",
        f"SELECT avg(age) FROM ({copies(30)}) AS t WHERE age > 100",
        f"WITH t AS ({copies(3)}) " + joined(2, "t"),
        f"SELECT count(DISTINCT pid) FROM ({copies(20)}) AS t",
    ],
    "inside": [
        f"SELECT avg(n) FROM (SELECT a.pid, count(*) AS n FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid GROUP BY a.pid)",
        f"SELECT count(*) FROM people WHERE pid IN (SELECT a.pid FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid)",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.age = 101)",
        "SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.age = 101)",
        "SELECT count(*) / (SELECT count(*) FROM visits WHERE age = 101) FROM people",
        f"SELECT count(*) FROM (SELECT DISTINCT pid, age, cost, note FROM {RARE})",
        "SELECT avg(most) FROM (SELECT pid, max(cost) AS most FROM visits WHERE age = 101 GROUP BY pid, ward, day)",
    ],
    "picks": [
        "SELECT median(cost) FROM visits WHERE age = 101",
        "SELECT quantile_disc(cost, 0.1), quantile_disc(cost, 0.5), quantile_disc(cost, 0.9) FROM visits",
        "SELECT min(cost), max(cost) FROM visits WHERE age = 101",
        "SELECT mode(ward) FROM visits WHERE age = 101",
        joined(2, head="SELECT max(a0.cost + a1.cost) FROM"),
    ],
    "histograms and levels": [
        "SELECT histogram(age) FROM visits WHERE age = 101",
        "SELECT histogram(cost, [1, 10, 100, 1000]) FROM visits",
        "SELECT ward, age, count(*) FROM visits GROUP BY CUBE (ward, age)",
        "SELECT ward, count(*), avg(cost) FROM visits WHERE age = 101 GROUP BY ROLLUP (ward)",
        "SELECT ward, age, sum(cost) FROM visits GROUP BY GROUPING SETS ((ward), (age), (ward, age), ())",
    ],
    "texts": [
        "SELECT count(*) FROM visits WHERE note = 'x'",
        "SELECT count(*) FROM visits WHERE age = 101 AND lower(upper(note)) = 'x'",
        "SELECT sum(length(replace(note, 'a', 'bbb'))) FROM visits",
        "SELECT count(*) FROM visits WHERE note LIKE '%a%b'",
        "SELECT count(*) FROM visits WHERE note ILIKE '%FOOT%'",
        "SELECT count(*) FROM visits WHERE age = 101 AND note LIKE 'a%a_b'",
        "SELECT count(*) FROM people WHERE name || name || name = 'x'",
        "SELECT count(DISTINCT note) FROM visits WHERE age = 101",
        f"SELECT count(*) FROM visits WHERE note IN ({WORDS})",
        "SELECT count(*) FROM visits WHERE position('went' IN note) > 0 AND right(trim(note), 4) = 'foot'",
        "SELECT count(*) FROM visits WHERE age = 101 AND " + nested("upper(lower({}))", 1) + " = 'x'",
        f"SELECT count(*) FROM people WHERE born = 1900 AND replace(name, 'a', '{'b' * 80}') = 'x'",
    ],
    "expressions": [
        joined(3, head=f"SELECT sum({polynomial(10).replace('age', 'a0.age').replace('cost', 'a1.cost')}) FROM"),
        f"SELECT count(*) FROM visits WHERE cost IN ({LISTED})",
        f"SELECT count(*) FROM visits WHERE age = 101 AND age NOT IN ({LISTED})",
        f"SELECT sum(CASE WHEN age = 101 THEN {polynomial(40)} ELSE 0 END) FROM visits",
        f"SELECT sum({cases(100, 'age')}) FROM visits WHERE age = 101",
        f"SELECT sum({polynomial(60)}) FROM visits WHERE age = 101",
        "SELECT sum(sqrt(cost) + ln(cost + 1) + exp(age / 100)) FROM visits WHERE age = 101",
        "SELECT stddev(cost), corr(cost, age), covar_pop(age, cost) FROM visits WHERE age = 101",
        "SELECT strftime(day, '%Y-%m-%d'), count(*) FROM visits WHERE age = 101 GROUP BY 1",
    ],
    "windows and what is computed from answers": [
        "SELECT ward, count(*), rank() OVER (ORDER BY count(*) DESC) FROM visits WHERE age = 101 GROUP BY ward",
        "SELECT ward, sum(count(*)) OVER (ORDER BY ward) FROM visits WHERE age = 101 GROUP BY ward",
        "SELECT count(*) FROM visits WHERE age = 101 UNION ALL SELECT count(*) FROM people WHERE born = 1900",
        " UNION ALL ".join([f"SELECT count(*) FROM visits WHERE age = {n}" for n in range(95, 103)]),
    ],
}  # fmt: skip

# rows for studies: (SELECT, column)
STUDIES_REFUSED = [
    f"SELECT a.pid, a.cost FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid JOIN {RARE} c ON a.pid = c.pid "
    f"JOIN {RARE} d ON a.pid = d.pid",
    f"WITH t AS ({copies(12)}) SELECT a.pid, a.age AS cost FROM t a JOIN t b ON a.pid = b.pid",
    f"SELECT pid, length({GROWN}) AS cost FROM visits WHERE age = 101",
]
STUDIES_ANSWERED = [
    "SELECT pid, cost FROM visits WHERE age = 101",
    f"SELECT a.pid, a.cost FROM {RARE} a JOIN {RARE} b ON a.pid = b.pid",
    "SELECT pid, length(note) AS cost FROM visits WHERE age = 101",
]


def every(questions: dict[str, list[str]]) -> list[str]:
    """All of them, each once."""
    found = [sql for some in questions.values() for sql in some]
    assert all(one != other for one, other in pairwise(sorted(found)))
    return found
