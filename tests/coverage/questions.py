"""Questions that analysts write, by theme, and what comes of each: an answer, or a refusal.

`plain` is the same question in DuckDB's own words where ours differ (DuckDB has no width_bucket, say); "" where no plain
query says what is right. `empty` marks questions whose answer also lists keys that no row has.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the list."""

    theme: str
    sql: str
    plain: str | None = None
    empty: bool = False
    refused: bool = False


_PER_PATIENT = "SELECT patient_id, sum(charge) AS total, count(*) AS times FROM visits GROUP BY patient_id"
_BUCKET = "CASE WHEN charge >= 1000 THEN 6 ELSE CAST(floor(charge / 200) AS BIGINT) + 1 END"

_ANSWERED: dict[str, list[str | tuple[str, str] | tuple[str, None]]] = {
    "Counts and sums": [
        "SELECT count(*) FROM visits",
        "SELECT count(*) AS n, sum(charge) AS total, avg(charge) AS mean FROM visits",
        "SELECT count(nights) FROM visits",
        "SELECT count(DISTINCT patient_id) FROM visits",
        "SELECT count(DISTINCT department) FROM visits",
        "SELECT variance(charge), stddev(charge), var_pop(charge), stddev_pop(charge) FROM visits",
        "SELECT sum(charge) / count(*) FROM visits",
        "SELECT avg(nights), sum(nights) FROM visits",
        "SELECT bool_or(urgent), bool_and(urgent) FROM visits",
        "SELECT avg(birth_year) FROM patients",
    ],
    "Two columns": [
        "SELECT corr(charge, nights) FROM visits",
        "SELECT covar_pop(charge, nights), covar_samp(charge, nights) FROM visits",
        "SELECT regr_slope(charge, nights), regr_intercept(charge, nights), regr_r2(charge, nights) FROM visits",
    ],
    "Quantiles and extremes": [
        ("SELECT median(charge) FROM visits", "SELECT quantile_disc(charge, 0.5) FROM visits"),
        ("SELECT quantile(charge, 0.9) FROM visits", "SELECT quantile_disc(charge, 0.9) FROM visits"),
        (
            "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY charge) FROM visits",
            "SELECT quantile_disc(charge, 0.25) FROM visits",
        ),
        "SELECT percentile_disc(0.75) WITHIN GROUP (ORDER BY charge) FROM visits",
        "SELECT min(charge), max(charge) FROM visits",
        "SELECT max(birth_year), min(birth_year) FROM patients",
        "SELECT mode(department) FROM visits",
        ("SELECT department, median(nights) FROM visits GROUP BY department",
         "SELECT department, quantile_disc(nights, 0.5) FROM visits GROUP BY department"),
        "SELECT min(day), max(day) FROM visits",
    ],
    "Conditions": [
        "SELECT count(*) FROM visits WHERE charge > 500",
        "SELECT count(*) FROM visits WHERE department = 'surgery' AND urgent",
        "SELECT count(*) FROM visits WHERE department IN ('surgery', 'emergency') OR nights > 5",
        "SELECT count(*) FROM visits WHERE nights IS NULL",
        "SELECT count(*) FROM visits WHERE nights IS NOT NULL AND NOT urgent",
        "SELECT count(*) FROM visits WHERE charge BETWEEN 100 AND 200",
        "SELECT count(*) FROM visits WHERE charge NOT BETWEEN 100 AND 200",
        "SELECT count(*) FROM patients WHERE town LIKE '%e%'",
        "SELECT count(*) FROM patients WHERE town NOT LIKE 'A%'",
        "SELECT count(*) FROM patients WHERE town ILIKE 'b%'",
        "SELECT count(*) FROM patients WHERE town NOT IN ('Ayr', 'Bern')",
        "SELECT count(*) FROM visits WHERE nights IS DISTINCT FROM 3",
        "SELECT count(*) FROM visits WHERE nights IS NOT DISTINCT FROM NULL",
        "SELECT count(*) FROM visits WHERE urgent IS TRUE",
        "SELECT count(*) FROM visits WHERE (charge > 100 AND urgent) OR (nights = 0 AND NOT urgent)",
        "SELECT count(*) FROM visits WHERE nights * 100 > charge",
    ],
    "Keys": [
        "SELECT department, count(*) FROM visits GROUP BY department",
        "SELECT department AS d, count(*) AS n FROM visits GROUP BY d",
        "SELECT department, urgent, avg(charge) FROM visits GROUP BY 1, 2",
        "SELECT department, count(*) FROM visits GROUP BY ALL",
        "SELECT town, count(*) FROM patients GROUP BY town",
        "SELECT town, sex, count(DISTINCT patient_id) FROM patients GROUP BY town, sex",
        "SELECT floor(charge / 100) * 100 AS bucket, count(*) FROM visits GROUP BY bucket",
        ("SELECT width_bucket(charge, 0, 1000, 5) AS bucket, count(*) FROM visits GROUP BY bucket",
         f"SELECT {_BUCKET} AS bucket, count(*) FROM visits GROUP BY bucket"),
        "SELECT birth_year // 10 * 10 AS decade, count(*) FROM patients GROUP BY decade",
        "SELECT CASE WHEN charge < 250 THEN 'low' WHEN charge < 750 THEN 'middle' ELSE 'high' END AS band, count(*) "
        "FROM visits GROUP BY band",
        "SELECT charge > 500 AS dear, count(*) FROM visits GROUP BY dear",
        "SELECT upper(sex) AS s, count(*) FROM patients GROUP BY s",
        "SELECT nights, count(*) FROM visits GROUP BY nights",
        "SELECT coalesce(nights, -1) AS n, count(*) FROM visits GROUP BY n",
    ],
    "Arithmetic": [
        "SELECT sum(charge * 1.19) FROM visits",
        "SELECT avg(charge / (nights + 1)) FROM visits",
        "SELECT sum(abs(charge - 500)) FROM visits",
        "SELECT avg(2024 - birth_year) FROM patients",
        "SELECT sum(round(charge)) FROM visits WHERE charge % 1 <> 0.5",
        "SELECT sum(least(charge, 300)), sum(greatest(nights, 2)) FROM visits WHERE nights IS NOT NULL",
        "SELECT sum(power(nights, 2)) FROM visits",
        "SELECT avg(sqrt(charge)) FROM visits",
        "SELECT avg(ln(charge)) FROM visits",
        "SELECT avg(log10(charge + 1)) FROM visits",
        "SELECT sum(exp(-nights)) FROM visits",
        "SELECT sum(CAST(charge AS DECIMAL(10, 1))) FROM visits WHERE charge % 0.5 = 0",
        "SELECT sum(nights::DOUBLE / 7) FROM visits",
        "SELECT sum(nights % 3), sum(nights // 3) FROM visits",
        "SELECT avg(coalesce(nights, 0)), avg(nullif(nights, 0)) FROM visits",
        "SELECT sum(CAST(urgent AS INTEGER)) FROM visits",
        "SELECT sum(sign(nights - 3)), sum(ceil(charge)) FROM visits",
        "SELECT sum(trunc(charge)) FROM visits",
    ],
    "Dates and times": [
        "SELECT count(*) FROM visits WHERE day >= DATE '2024-07-01'",
        "SELECT count(*) FROM visits WHERE day BETWEEN '2024-03-01' AND '2024-03-31'",
        ("SELECT date_trunc('month', day) AS month, count(*) FROM visits GROUP BY month",
         "SELECT CAST(date_trunc('month', day) AS DATE) AS month, count(*) FROM visits GROUP BY month"),
        "SELECT month(day) AS m, sum(charge) FROM visits GROUP BY m",
        "SELECT extract(quarter FROM day) AS q, avg(charge) FROM visits GROUP BY q",
        "SELECT dayofweek(day) AS d, count(*) FROM visits GROUP BY d",
        "SELECT dayname(day) AS d, count(*) FROM visits GROUP BY d",
        "SELECT monthname(day) AS m, count(*) FROM visits GROUP BY m",
        "SELECT week(day) AS w, count(*) FROM visits GROUP BY w HAVING count(*) > 0.5",
        "SELECT date_part('month', day) AS m, count(*) FROM visits GROUP BY m",
        "SELECT strftime(day, '%Y-%m') AS m, count(*) FROM visits GROUP BY m",
        "SELECT hour(seen) AS h, count(*) FROM visits GROUP BY h",
        "SELECT date_trunc('hour', seen) = TIMESTAMP '2024-05-01 10:00:00' AS then, count(*) FROM visits GROUP BY then",
        "SELECT count(*) FROM visits WHERE day + INTERVAL 7 DAY > DATE '2024-12-31'",
        "SELECT count(*) FROM visits WHERE day - INTERVAL '2 months' < DATE '2024-02-01'",
        "SELECT count(*) FROM visits WHERE seen + INTERVAL 90 MINUTE > TIMESTAMP '2024-06-30 12:00:00'",
        "SELECT avg(date_diff('day', day, DATE '2024-12-31')) FROM visits",
        "SELECT avg(date_diff('month', DATE '2023-06-15', day)) FROM visits",
        "SELECT avg(date_diff('hour', TIMESTAMP '2024-01-01 00:30:00', seen)) FROM visits",
        "SELECT avg(day - DATE '2024-01-01') FROM visits",
        "SELECT count(*) FROM visits WHERE last_day(day) = day",
        "SELECT avg(extract(epoch FROM seen) - 1704067200) FROM visits",
        "SELECT count(*) FROM visits WHERE year(seen) = 2024 AND minute(seen) < 30",
        "SELECT count(*) FROM visits WHERE seen::DATE = DATE '2024-02-29' OR day = '2024-02-28'",
    ],
    "Texts": [
        "SELECT avg(length(town)) FROM patients",
        "SELECT left(town, 1) AS letter, count(*) FROM patients GROUP BY letter",
        "SELECT right(department, 2) AS ending, count(*) FROM visits GROUP BY ending",
        "SELECT substring(code, 1, 1) AS chapter, count(*) FROM diagnoses GROUP BY chapter",
        "SELECT sex || '-' || CAST(insured AS INTEGER) AS class, count(*) FROM patients GROUP BY class",
        "SELECT concat(sex, ': ', town) AS who, count(*) FROM patients GROUP BY who",
        "SELECT replace(department, 'ology', '.') AS short, count(*) FROM visits GROUP BY short",
        "SELECT count(*) FROM patients WHERE trim(lower(town)) = 'bern'",
        "SELECT count(*) FROM patients WHERE starts_with(town, 'D') OR contains(town, 'yr')",
        "SELECT count(*) FROM patients WHERE strpos(town, 'r') > 2",
        "SELECT count(*) FROM diagnoses WHERE code BETWEEN 'E' AND 'J'",
    ],
    "Conditional aggregates": [
        "SELECT count(*) FILTER (WHERE urgent) FROM visits",
        "SELECT sum(charge) FILTER (WHERE department = 'surgery') FROM visits",
        "SELECT sum(CASE WHEN urgent THEN 1 ELSE 0 END) FROM visits",
        "SELECT sum(CASE WHEN urgent THEN charge END) / sum(charge) FROM visits",
        "SELECT count_if(charge > 500) FROM visits",
        "SELECT count(CASE WHEN nights > 2 THEN 1 END) FROM visits",
        ("SELECT sum_if(charge, urgent) FROM visits", "SELECT sum(charge) FILTER (WHERE urgent) FROM visits"),
        "SELECT department, avg(charge) FILTER (WHERE urgent) AS urgent, avg(charge) FILTER (WHERE NOT urgent) AS calm "
        "FROM visits GROUP BY department",
        "SELECT 100.0 * count(*) FILTER (WHERE urgent) / count(*) FROM visits",
    ],
    "Sorting and choosing answers": [
        "SELECT department, count(*) AS n FROM visits GROUP BY department ORDER BY n DESC",
        "SELECT department, sum(charge) AS total FROM visits GROUP BY department ORDER BY total DESC LIMIT 2",
        "SELECT department, count(*) FROM visits GROUP BY department HAVING count(*) > 75",
        "SELECT department, avg(charge) AS mean FROM visits GROUP BY 1 HAVING mean > 400 ORDER BY 2",
        "SELECT department, round(avg(charge), 1) AS mean FROM visits GROUP BY 1 ORDER BY department",
        "SELECT department, sum(charge) / nullif(count(nights), 0) AS dear FROM visits GROUP BY 1",
        "SELECT department, CASE WHEN count(*) > 75 THEN 'busy' ELSE 'calm' END AS state FROM visits GROUP BY 1",
        "SELECT coalesce(sum(charge), 0) FROM visits",
    ],
    "Private with public tables": [
        "SELECT d.wing, count(*) FROM visits v JOIN departments d ON v.department = d.department GROUP BY d.wing",
        "SELECT d.wing, sum(v.charge) / sum(d.beds) FROM visits v JOIN departments d USING (department) GROUP BY 1",
        "SELECT count(*) FROM visits v LEFT JOIN departments d ON v.department = d.department AND d.beds > 15 "
        "WHERE d.department IS NULL",
        "SELECT c.chapter, avg(g.severity) FROM diagnoses g JOIN codes c ON c.code = g.code GROUP BY 1",
        "SELECT count(*) FROM diagnoses WHERE code IN (SELECT code FROM codes WHERE chronic)",
        "SELECT count(*) FROM visits v WHERE EXISTS "
        "(SELECT 1 FROM departments d WHERE d.department = v.department AND d.wing = 'north')",
        "SELECT count(*) FROM visits, departments WHERE visits.department = departments.department AND beds > 25",
    ],
    "Private with private tables": [
        "SELECT p.sex, count(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex",
        "SELECT p.sex, avg(v.charge) FROM patients p JOIN visits v USING (patient_id) WHERE p.birth_year < 1980 GROUP BY 1",
        "SELECT g.code, sum(v.charge) FROM diagnoses g JOIN visits v ON g.visit_id = v.visit_id GROUP BY g.code",
        "SELECT p.town, count(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id WHERE v.urgent GROUP BY 1",
        "SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.charge > 900 "
        "WHERE v.patient_id IS NULL",
        "SELECT p.sex, g.code, count(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id "
        "JOIN diagnoses g ON g.visit_id = v.visit_id GROUP BY 1, 2",
        "SELECT d.wing, p.sex, sum(v.charge) FROM visits v JOIN patients p ON p.patient_id = v.patient_id "
        "JOIN departments d ON d.department = v.department GROUP BY 1, 2",
    ],
    "SELECTs inside": [
        "SELECT count(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE department = 'surgery')",
        "SELECT count(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE urgent)",
        "SELECT count(*) FROM patients p WHERE EXISTS "
        "(SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.charge > 900)",
        "SELECT count(*) FROM patients p WHERE NOT EXISTS "
        "(SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.nights > 5)",
        "SELECT avg(charge) FROM (SELECT * FROM visits WHERE urgent) AS u",
        "SELECT band, count(*) FROM (SELECT floor(charge / 250) AS band FROM visits) GROUP BY band",
        "SELECT dear, avg(nights) FROM (SELECT charge > 500 AS dear, nights FROM visits WHERE nights IS NOT NULL) t "
        "GROUP BY dear",
    ],
    "One row for each patient": [
        f"SELECT avg(total) FROM ({_PER_PATIENT})",
        f"SELECT times, count(*) FROM ({_PER_PATIENT}) GROUP BY times",
        f"SELECT count(*) FROM ({_PER_PATIENT}) WHERE total > 1000",
        "SELECT avg(most) FROM (SELECT patient_id, max(charge) AS most FROM visits GROUP BY patient_id)",
        f"SELECT p.sex, avg(t.total) FROM patients p JOIN ({_PER_PATIENT}) t ON t.patient_id = p.patient_id GROUP BY 1",
        "SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(*) >= 3)",
        "SELECT avg(kinds) FROM (SELECT patient_id, count(DISTINCT department) AS kinds FROM visits GROUP BY patient_id)",
    ],
    "WITH": [
        "WITH urgent AS (SELECT * FROM visits WHERE urgent) SELECT department, count(*) FROM urgent GROUP BY department",
        f"WITH t AS ({_PER_PATIENT}), big AS (SELECT * FROM t WHERE total > 800) SELECT count(*), avg(times) FROM big",
        "WITH counts AS (SELECT department, count(*) AS n FROM visits GROUP BY department) "
        "SELECT department, n FROM counts ORDER BY n DESC LIMIT 3",
        "WITH a AS (SELECT patient_id FROM visits WHERE department = 'surgery') "
        "SELECT sex, count(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM a) GROUP BY sex",
    ],
    "UNION ALL and DISTINCT": [
        "SELECT count(*) FROM (SELECT patient_id, charge FROM visits WHERE urgent UNION ALL "
        "SELECT patient_id, charge FROM visits WHERE charge > 500)",
        "SELECT kind, sum(x) FROM (SELECT 'nights' AS kind, nights AS x FROM visits UNION ALL "
        "SELECT 'born', birth_year FROM patients) GROUP BY kind",
        "SELECT DISTINCT department FROM visits",
        "SELECT DISTINCT town FROM patients",
        "SELECT count(*) FROM (SELECT DISTINCT patient_id, department FROM visits)",
    ],
    "Totals and subtotals": [
        "SELECT department, urgent, count(*) FROM visits GROUP BY ROLLUP (department, urgent)",
        "SELECT department, urgent, sum(charge) FROM visits GROUP BY CUBE (department, urgent)",
        "SELECT department, urgent, count(*) FROM visits GROUP BY GROUPING SETS ((department), (urgent), ())",
        "SELECT department, grouping(department), count(*) FROM visits GROUP BY ROLLUP (department)",
    ],
    "Windows over answers": [
        "SELECT department, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS place FROM visits GROUP BY department",
        "SELECT department, 100.0 * sum(charge) / sum(sum(charge)) OVER () AS share FROM visits GROUP BY department",
        "SELECT month(day) AS m, sum(count(*)) OVER (ORDER BY month(day)) AS so_far FROM visits GROUP BY m",
        "SELECT month(day) AS m, count(*) - lag(count(*)) OVER (ORDER BY month(day)) AS change FROM visits GROUP BY m",
        "SELECT month(day) AS m, avg(sum(charge)) OVER (ORDER BY month(day) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) "
        "FROM visits GROUP BY m",
        "SELECT department, count(*) AS n FROM visits GROUP BY department "
        "QUALIFY row_number() OVER (ORDER BY count(*) DESC) <= 2",
    ],
    "Questions inside questions": [
        "SELECT department, avg(charge) - (SELECT avg(charge) FROM visits) AS above FROM visits GROUP BY department",
        "SELECT count(*) / (SELECT count(*) FROM patients) FROM visits",
        "SELECT department, count(*) FROM visits GROUP BY department "
        "HAVING avg(charge) > (SELECT avg(charge) FROM visits)",
    ],
    "Price and bounds in the question": [
        ("SELECT WITH PRIVACY (epsilon = 10000000) count(*) FROM visits", "SELECT count(*) FROM visits"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 10000000, delta = 0.000001) sum(nights) FROM visits",
         "SELECT sum(nights) FROM visits"),
        ("SELECT count(*) FROM visits(tacit_rows_per_unit => 1)", "SELECT count(DISTINCT patient_id) FROM visits"),
    ],
}

_REFUSED: dict[str, list[str]] = {
    "Single rows": [
        "SELECT * FROM visits",
        "SELECT charge FROM visits ORDER BY charge DESC LIMIT 10",
        "SELECT patient_id, sum(charge) FROM visits GROUP BY patient_id",
        "SELECT count(*) FROM patients WHERE patient_id = 17",
        "SELECT charge, rank() OVER (ORDER BY charge) FROM visits",
        "SELECT any_value(town) FROM patients",
        "SELECT array_agg(charge) FROM visits",
        "SELECT string_agg(town, ',') FROM patients",
        "SELECT arg_max(town, birth_year) FROM patients",
    ],
    "What other people's rows decide": [
        "SELECT avg(charge) FROM (SELECT charge FROM visits ORDER BY day LIMIT 100)",
        "SELECT count(*) FROM (SELECT department FROM visits UNION SELECT town FROM patients)",
        "SELECT sum(DISTINCT charge) FROM visits",
        "SELECT count(*) FROM visits a JOIN visits b ON a.day = b.day",
        "SELECT avg(charge) FROM visits WHERE charge > (SELECT avg(charge) FROM visits)",
        "SELECT avg(r) FROM (SELECT row_number() OVER (ORDER BY charge) AS r FROM visits)",
    ],
    "No bounds, no keys": [
        "SELECT sum(visit_id) FROM visits",
        "SELECT avg(town) FROM patients",
        "SELECT charge, count(*) FROM visits GROUP BY charge",
    ],
    "Not on the list": [
        "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM patients WHERE regexp_matches(town, '^[AB]')",
        "SELECT count(*) FROM visits WHERE day > current_date",
        "SELECT count(*) FROM visits TABLESAMPLE 10 PERCENT",
        "SELECT count(*) FROM read_csv('patients.csv')",
        "SELECT kurtosis(charge) FROM visits",
        "DELETE FROM visits",
    ],
}
EMPTY = ("nights, count", "coalesce(nights", "width_bucket", "decade", "times, count")
"""Their keys lie between bounds that are wider than what occurs."""


def _answered() -> list[Asked]:
    found = []
    for theme, listed in _ANSWERED.items():
        for item in listed:
            sql, plain = item if isinstance(item, tuple) else (item, None)
            found.append(Asked(theme, sql, plain, any(part in sql for part in EMPTY)))
    return found


QUESTIONS: tuple[Asked, ...] = (
    *_answered(),
    *(Asked(theme, sql, refused=True) for theme, listed in _REFUSED.items() for sql in listed),
)
