"""What people write with Ibis about the visits of a clinic. `python -m tests.curator.ibis_expressions` writes the texts
that Ibis makes of it to `tests/fixtures/ibis.json`, so that the reader is tested also where Ibis is not installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).parent.parent / "fixtures" / "ibis.json"


def expressions() -> dict[str, Any]:
    """Each expression by what it is."""
    import ibis
    from ibis import _

    v = ibis.table(
        {
            "patient": "int64",
            "sex": "string",
            "age": "int64",
            "charge": "float64",
            "day": "date",
            "seen": "timestamp",
            "ward": "string",
            "member": "boolean",
        },
        name="visits",
    )
    w = ibis.table({"ward": "string", "kind": "string"}, name="wards")
    return {
        "count": v.count(),
        "count of a filtered table": v.filter(v.age > 30).count(),
        "named count": v.aggregate(n=v.count()),
        "mean": v.age.mean(),
        "sum by sex": v.group_by("sex").agg(total=v.charge.sum()),
        "several aggregates": v.group_by("sex").agg(n=_.count(), mean=_.age.mean(), sd=_.age.std(), var=_.age.var()),
        "population deviation": v.aggregate(sd=v.age.std(how="pop")),
        "conditional count": v.aggregate(n=v.count(where=v.age > 30)),
        "conditional mean": v.aggregate(m=v.age.mean(where=v.sex == "F")),
        "nunique of the unit": v.aggregate(n=v.patient.nunique()),
        "nunique of a column": v.aggregate(n=v.ward.nunique()),
        "mutate then aggregate": v.mutate(decade=(v.age // 10) * 10).group_by("decade").agg(n=_.count()),
        "expression key": v.group_by(old=v.age > 60).agg(n=_.count()),
        "year key": v.group_by(year=v.day.year()).agg(n=_.count()),
        "truncated date key": v.group_by(month=v.day.truncate("M")).agg(n=_.count()),
        "between and isin": v.filter(v.age.between(20, 40), v.sex.isin(["F", "M"])).count(),
        "not and or": v.filter(~(v.sex == "F") | (v.age < 10)).count(),
        "null test": v.filter(v.charge.notnull()).count(),
        "date literal": v.filter(v.day >= ibis.date("2024-01-01")).count(),
        "timestamp literal": v.filter(v.seen < ibis.timestamp("2024-06-01 12:00:00")).count(),
        "like": v.filter(v.ward.like("A%")).count(),
        "startswith": v.filter(v.ward.startswith("A")).count(),
        "contains": v.filter(v.ward.contains("A")).count(),
        "upper": v.group_by(w=v.ward.upper()).agg(n=_.count()),
        "substr": v.group_by(w=v.ward.substr(0, 2)).agg(n=_.count()),
        "strlen": v.aggregate(n=v.ward.length().mean()),
        "cases": v.mutate(band=ibis.cases((v.age < 18, "child"), (v.age < 65, "adult"), else_="old"))
        .group_by("band")
        .agg(n=_.count()),
        "ifelse sum": v.aggregate(n=ibis.ifelse(v.age > 30, 1, 0).sum()),
        "boolean sum": v.aggregate(n=(v.age > 30).sum()),
        "boolean mean": v.aggregate(n=(v.age > 30).mean()),
        "any": v.aggregate(n=(v.age > 100).any()),
        "all": v.aggregate(n=(v.age > 1).all()),
        "cast": v.aggregate(m=v.age.cast("float64").mean()),
        "cast to int": v.group_by(c=v.charge.cast("int64")).agg(n=_.count()),
        "fill_null": v.aggregate(m=v.charge.fill_null(0).mean()),
        "nullif": v.aggregate(m=v.charge.nullif(0).mean()),
        "coalesce": v.aggregate(m=ibis.coalesce(v.charge, 0.0).mean()),
        "clip": v.aggregate(m=v.charge.clip(0, 100).mean()),
        "round": v.group_by(r=v.charge.round(-2)).agg(n=_.count()),
        "floor": v.group_by(r=(v.charge / 100).floor()).agg(n=_.count()),
        "abs": v.aggregate(m=v.charge.abs().mean()),
        "arithmetic of aggregates": v.aggregate(ratio=v.charge.sum() / v.count()),
        "order and limit": v.group_by("sex").agg(n=_.count()).order_by(ibis.desc("n")).limit(3),
        "order by key": v.group_by("sex").agg(n=_.count()).order_by("sex"),
        "having": v.group_by("sex").agg(n=_.count()).filter(_.n > 10),
        "group having": v.group_by("sex").having(_.count() > 10).agg(n=_.count()),
        "value_counts": v.sex.value_counts(),
        "distinct": v.select("sex").distinct(),
        "inner join": v.join(w, "ward").group_by("kind").agg(n=_.count()),
        "left join": v.left_join(w, "ward").group_by("kind").agg(n=_.count()),
        "join with predicates": v.join(w, v.ward == w.ward).group_by(w.kind).agg(n=_.count()),
        "semi join": v.semi_join(w.filter(w.kind == "acute"), "ward").count(),
        "isin of a table": v.filter(v.ward.isin(w.filter(w.kind == "acute").ward)).count(),
        "median": v.age.median(),
        "quantile": v.aggregate(q=v.age.quantile(0.9)),
        "min and max": v.aggregate(lo=v.age.min(), hi=v.age.max()),
        "mode": v.sex.mode(),
        "topk": v.ward.topk(3),
        "covariance": v.aggregate(c=v.age.cov(v.charge)),
        "correlation": v.aggregate(c=v.age.corr(v.charge, how="pop")),
        "window share": v.group_by("sex").agg(n=_.count()).mutate(share=_.n / _.n.sum()),
        "rank over results": v.group_by("sex")
        .agg(n=_.count())
        .mutate(r=ibis.row_number().over(order_by=ibis.desc("n"))),
        "per unit then mean": v.group_by("patient").agg(n=_.count()).aggregate(m=_.n.mean()),
        "union": v.select("patient", "age").union(v.select("patient", "age")).aggregate(n=_.count()),
        "rows": v.select("age").limit(5),
        "histogram": v.mutate(b=v.charge.histogram(binwidth=100, base=0)).group_by("b").agg(n=_.count()),
        "bucket": v.mutate(b=v.age.bucket([0, 18, 65, 110])).group_by("b").agg(n=_.count()),
        "drop_null": v.drop_null(["charge"]).count(),
        "rename": v.rename(years="age").aggregate(m=_.years.mean()),
        "drop": v.drop("ward").aggregate(m=_.age.mean()),
        "count by two": v.group_by(["sex", "ward"]).agg(n=_.count()),
        "size": v.group_by("sex").size(),
        "hour": v.group_by(h=v.seen.hour()).agg(n=_.count()),
        "weekday": v.group_by(d=v.day.day_of_week.index()).agg(n=_.count()),
        "date of timestamp": v.group_by(d=v.seen.date()).agg(n=_.count()),
        "power": v.aggregate(m=(v.charge**2).mean()),
        "log": v.aggregate(m=v.charge.log().mean()),
        "endswith": v.filter(v.ward.endswith("B")).count(),
        "nunique where": v.aggregate(n=v.patient.nunique(where=v.age > 30)),
        "anti join": v.anti_join(w.filter(w.kind == "acute"), "ward").count(),
        "rounded mean": v.group_by("sex").agg(m=_.age.mean().round(1)),
        "dense rank": v.group_by("sex").agg(n=_.count()).mutate(r=ibis.dense_rank().over(order_by=ibis.desc("n"))),
        "sample": v.sample(0.1).count(),
        "distinct rows counted": v.distinct().count(),
        "month": v.group_by(m=v.day.month()).agg(n=_.count()),
        "truncated timestamp": v.group_by(m=v.seen.truncate("D")).agg(n=_.count()),
        "modulo": v.group_by(m=v.age % 10).agg(n=_.count()),
        "sqrt": v.aggregate(m=v.charge.sqrt().mean()),
        "text filled in": v.mutate(s=v.sex.fill_null("?")).group_by("s").agg(n=_.count()),
        "boolean filter": v.filter(v.member).count(),
        "boolean filter turned": v.filter(~v.member, v.age > 3).count(),
        "text joined": v.group_by(s=v.sex + "-" + v.ward).agg(n=_.count()),
        "days between": v.aggregate(m=(v.day - ibis.date("2023-01-01")).cast("int64").mean()),
        "share of a condition": v.group_by("sex").agg(m=(_.member).mean()),
        "pivot": v.group_by("ward").agg(f=_.count(where=_.sex == "F"), m=_.count(where=_.sex == "M")),
        "two levels": v.group_by("patient").agg(total=_.charge.sum()).filter(_.total > 100).count(),
        "self join on the unit": v.join(v.view().select("patient", other="age"), "patient").count(),
        "argmax": v.aggregate(m=v.sex.argmax(v.age)),
        "string agg": v.aggregate(m=v.sex.group_concat()),
        "collect": v.aggregate(m=v.age.collect()),
        "cumulative": v.mutate(c=v.charge.cumsum()).aggregate(m=_.c.mean()),
        "regex": v.filter(v.ward.re_search("^A")).count(),
        "negative": v.aggregate(m=(-v.age).mean()),
        "least and greatest": v.aggregate(m=ibis.least(v.age, 50).mean(), k=ibis.greatest(v.age, 50).mean()),
        "having then order": v.group_by("ward")
        .agg(n=_.count(), m=_.charge.mean())
        .filter(_.n > 5)
        .order_by(_.m.desc()),
        "select then aggregate": v.select("sex", "age").group_by("sex").agg(m=_.age.mean()),
        "approx nunique": v.aggregate(n=v.ward.approx_nunique()),
    }


def main() -> None:
    import ibis

    written = {name: str(ibis.to_sql(each, dialect="duckdb")) for name, each in expressions().items()}
    TEXTS.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
