"""Requests put together at random, for every route: a refusal in a sentence, or an answer; never a mistake of ours.

The long form: `python -m tests.doors.http.test_fuzz 10000 7`.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

from tacit.doors.http.roles import ROUTES
from tests.doors.http.serving import COUNT, Served, Visitor

TEXTS = [
    *("", " ", "x", COUNT, "0.01", "1/3", "1e-400", "1e400", "-1", "nan", "inf", "5%", "visits.charge", "owner", "bob"),
    *(
        "\x00",
        "\r\nSet-Cookie: a=b",
        "<script>",
        "../../etc/passwd",
        "%2e%2e",
        "é" * 50,
        "\ud800",
        "(" * 200,
        "9" * 400,
    ),
    "SELECT * FROM visits",
    "SELECT avg(charge) FROM visits GROUP BY department",
    "'; DROP TABLE visits; --",
    "WITH x AS (SELECT 1) SELECT",
    "SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM patients",
    "SELECT count(*) FROM visits WHERE charge > 1e308 * 10",
]
KEYS = [
    *("sql", "epsilon", "delta", "rho", "within", "rows", "weights", "rows_per_unit", "groups_per_unit", "questions"),
    *("column", "analyst", "entry", "nonsense", ""),
]
FINE = {200, 303, 400, 401, 402, 403, 404, 406, 408, 409, 413, 415, 429, 503}


def value(rng: random.Random, depth: int = 0) -> Any:
    """Anything that JSON can say, and more."""
    plain = [
        lambda: rng.choice(TEXTS),
        lambda: rng.choice([0, 1, -1, 2**63, 10**40, 0.1, 1e-9, 1e308, True, False, None]),
        lambda: rng.randrange(-5, 100),
    ]
    nested = [
        lambda: [value(rng, depth + 1) for _ in range(rng.randrange(4))],
        lambda: {rng.choice(KEYS + TEXTS): value(rng, depth + 1) for _ in range(rng.randrange(4))},
    ]
    return rng.choice(plain * 3 + nested if depth < 3 else plain)()


def body(rng: random.Random) -> bytes:
    """A body that may be right, nearly right, or none."""
    content = {key: value(rng) for key in rng.sample(KEYS, rng.randrange(5))}
    if rng.random() < 0.7:
        content["sql"] = rng.choice(TEXTS)
    if rng.random() < 0.3:
        content["questions"] = [rng.choice(TEXTS) for _ in range(3)]
    text = json.dumps(content if rng.random() < 0.9 else value(rng)).encode()
    if rng.random() < 0.2:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + bytes([rng.randrange(256)]) + text[place + rng.randrange(2) :]
    return text


def one(served: Served, visitor: Visitor, rng: random.Random) -> int:
    """One request, and the status that came."""
    route = rng.choice(ROUTES)
    path = route.path
    for name in ("entry", "ending", "name"):
        path = path.replace(
            f"{{{name}}}", rng.choice(["1", "2", "csv", "%00", "..%2f", "9" * 50, "x%0d%0ay", "console.css"])
        )
    if rng.random() < 0.3:
        path += "?" + "&".join(
            f"{rng.choice(KEYS)}={rng.choice(['1', '%ff', '-1', 'ana', 'bob', '%3Cb%3E'])}" for _ in range(2)
        )
    headers = served.headers(rng.choice(["ana", "bob", "aud", "owner"])) if rng.random() < 0.9 else {}
    headers["Accept"] = rng.choice(["*/*", "text/csv", "", "x/y", "application/json;q=0.1, text/csv", ",,;"])
    headers["Content-Type"] = rng.choice(
        ["application/json"] * 6 + ["text/plain", "application/x-www-form-urlencoded", ""]
    )
    if route.page and rng.random() < 0.8:
        fields = {name: rng.choice(TEXTS).encode("utf-8", "replace").decode() for name in rng.sample(KEYS[:5], 3)}
        return int(visitor.send(route.method, path, **fields).status_code)
    method = (
        route.method if rng.random() < 0.9 else rng.choice(["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "GET", "POST"])
    )
    content = body(rng) if method in ("POST", "PUT", "PATCH") else None
    return int(served.client.request(method, path, headers=headers, content=content).status_code)


def fuzz(served: Served, count: int, seed: int) -> Counter[int]:
    """So many requests; what came."""
    rng, seen = random.Random(seed), Counter[int]()
    visitor = Visitor(served)
    visitor.log_in("ana")
    for _ in range(count):
        status = one(served, visitor, rng)
        seen[status] += 1
        assert status in FINE, (status, served.mistakes)
    assert served.mistakes == []
    return seen


def test_whatever_is_sent_a_refusal_or_an_answer_comes(served: Served) -> None:
    seen = fuzz(served, 250, 1)
    assert {200, 400, 401, 403, 404} <= set(seen)
    assert served.get("/v1/ledger/check", "owner").json()["sound"]


if __name__ == "__main__":
    import os
    import tempfile
    from pathlib import Path

    from tests.doors.http.serving import served_at

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TACIT_STATE"] = f"{folder}/state"
        for clinic in served_at(Path(folder)):
            sys.stdout.write(f"{fuzz(clinic, int(sys.argv[1]), int(sys.argv[2]))}\n")
