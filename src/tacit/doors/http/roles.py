"""Who may do what: one table of routes and roles. The server is made from it, and nothing else opens a route.

    owner     everything that anyone may do; asks as `owner`
    analyst   asks, and pays; sees the budget, and the ledger's entries of its own
    auditor   sees the whole ledger and checks it; asks nothing
    reader    sees the pages that the owner published, and nothing else

Promise: a route that is not in the table does not exist, and a role that is not named for a route is refused there
before the request is read. A question is charged to the token's name, whatever the request says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal


class Role(StrEnum):
    """What a token is good for."""

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    READER = "reader"


Kind = Literal["open", "free", "paid"]
"""Whether it needs no token, costs nothing, or may charge: the last two wait in queues of their own."""

EVERYONE: Final = frozenset(Role)
INSIDERS: Final = EVERYONE - {Role.READER}
ASKERS: Final = frozenset({Role.OWNER, Role.ANALYST})
OWNERS: Final = frozenset({Role.OWNER})
CHECKERS: Final = frozenset({Role.OWNER, Role.AUDITOR})


@dataclass(frozen=True, slots=True)
class Route:
    """A way in: the function of `handlers` that serves it, by name, and the roles that may use it."""

    method: Literal["GET", "POST"]
    path: str
    does: str
    roles: frozenset[Role]
    kind: Kind = "free"
    page: bool = False
    """Whether it is a page of the console, for people who are logged in, and not a route for programs."""


ROUTES: Final = (
    Route("GET", "/v1/health", "health", frozenset(), "open"),
    Route("GET", "/v1/openapi.json", "described", frozenset(), "open"),
    Route("GET", "/v1/me", "me", EVERYONE),
    Route("GET", "/v1/tables", "tables", ASKERS),
    Route("POST", "/v1/estimate", "estimate", ASKERS),
    Route("POST", "/v1/explain", "explain", ASKERS),
    Route("POST", "/v1/ask", "ask", ASKERS, "paid"),
    Route("POST", "/v1/ask_all", "ask_all", ASKERS, "paid"),
    Route("POST", "/v1/suggest", "suggest", ASKERS, "paid"),
    Route("GET", "/v1/budget", "budget", INSIDERS),
    Route("GET", "/v1/ledger", "ledger", INSIDERS),
    Route("GET", "/v1/ledger/check", "check", CHECKERS),
    Route("GET", "/v1/answers/{entry}", "answers", ASKERS),
    Route("POST", "/v1/resume", "resume", OWNERS),
    Route("GET", "/v1/studies", "studies", ASKERS),
    Route("POST", "/v1/studies/{name}/estimate", "study_estimate", ASKERS),
    Route("POST", "/v1/studies/{name}", "study", ASKERS, "paid"),
    Route("POST", "/v1/publish", "publish", ASKERS, "paid"),
    Route("POST", "/v1/watch", "watch", ASKERS, "paid"),
    Route("GET", "/v1/jobs", "jobs", ASKERS),
    Route("GET", "/v1/jobs/{job}", "job", ASKERS),
    Route("GET", "/v1/jobs/{job}/events", "job_events", ASKERS),
    Route("GET", "/v1/jobs/{job}/result", "job_result", ASKERS),
    Route("POST", "/v1/jobs/{job}/cancel", "job_cancel", ASKERS),
    Route("GET", "/v1/published", "published", EVERYONE),
    Route("GET", "/v1/published/{page}/{file}", "published_file", EVERYONE),
    Route("GET", "/v1/metrics", "metrics", CHECKERS),
    Route("GET", "/login", "page_login", frozenset(), "open", page=True),
    Route("POST", "/login", "page_logged_in", frozenset(), "open", page=True),
    Route("POST", "/logout", "page_logged_out", frozenset(), "open", page=True),
    Route("GET", "/login/openid", "page_openid", frozenset(), "open", page=True),
    Route("GET", "/login/back", "page_openid_back", frozenset(), "open", page=True),
    Route("GET", "/static/{name}", "page_static", frozenset(), "open", page=True),
    Route("GET", "/", "page_overview", INSIDERS, page=True),
    Route("GET", "/ask", "page_ask", ASKERS, page=True),
    Route("POST", "/ask/estimate", "page_estimate", ASKERS, page=True),
    Route("POST", "/ask/preview", "page_preview", ASKERS, page=True),
    Route("POST", "/ask", "page_asked", ASKERS, "paid", page=True),
    Route("GET", "/answers/{entry}", "page_stored", ASKERS, page=True),
    Route("GET", "/answers/{entry}/{ending}", "page_download", ASKERS, page=True),
    Route("GET", "/ledger", "page_ledger", INSIDERS, page=True),
    Route("GET", "/studies", "page_studies", ASKERS, page=True),
    Route("GET", "/studies/{name}", "page_study", ASKERS, page=True),
    Route("POST", "/studies/{name}/estimate", "page_study_estimate", ASKERS, page=True),
    Route("POST", "/studies/{name}", "page_study_run", ASKERS, "paid", page=True),
    Route("GET", "/jobs", "page_jobs", ASKERS, page=True),
    Route("GET", "/jobs/{job}", "page_job", ASKERS, page=True),
    Route("POST", "/jobs/{job}/cancel", "page_job_cancel", ASKERS, page=True),
    Route("GET", "/jobs/{job}/{ending}", "page_job_file", ASKERS, page=True),
    Route("GET", "/watch", "page_watch", ASKERS, page=True),
    Route("POST", "/watch", "page_watched", ASKERS, "paid", page=True),
    Route("GET", "/published", "page_published", EVERYONE, page=True),
    Route("GET", "/published/{page}/{file}", "page_published_file", EVERYONE, page=True),
    Route("GET", "/publish", "page_publish", OWNERS, page=True),
    Route("POST", "/publish", "page_publish_now", OWNERS, "paid", page=True),
    Route("GET", "/policy", "page_policy", OWNERS, page=True),
    Route("POST", "/policy", "page_policy_checked", OWNERS, page=True),
    Route("GET", "/risk", "page_risk", OWNERS, page=True),
    Route("POST", "/risk", "page_risk_measured", OWNERS, page=True),
    Route("GET", "/audit", "page_audit", OWNERS, page=True),
    Route("POST", "/audit", "page_audit_run", OWNERS, page=True),
    Route("GET", "/people", "page_people", OWNERS, page=True),
    Route("POST", "/people/add", "page_people_add", OWNERS, page=True),
    Route("POST", "/people/revoke", "page_people_revoke", OWNERS, page=True),
)
