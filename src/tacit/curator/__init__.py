"""The curator: where all rooms meet, and a question walks through them in one direction.

    question = read(sql)                      text to a small tree; unknown things are refused here
    plan     = make_plan(question, policy)    pure, reads no row: sensitivity, noise, loss, expected error
    receipt  = ledger.charge(plan)            durable BEFORE any row is read
    exact    = engine.run(plan.query)         one pushed-down query; exact whole numbers come back
    answer   = release(plan, exact)           noise, then everything that is free; stored before it is sent

`Planner` walks as far as the plan, `Curator` all the way. `open_policy` and `protect` make a curator. An owner's other
work (beginning and checking a policy, looking at a ledger) reads no row.
"""

from tacit.curator.curator import Curator
from tacit.curator.keys import Price
from tacit.curator.ledgers import adopt_ledger, open_ledger, resume_ledger, verify_ledger
from tacit.curator.opening import open_policy, protect
from tacit.curator.owner import check_data, check_policy, check_text, describe_sources, refresh_policy, suggested_name
from tacit.curator.planner import Planner
from tacit.curator.publish import Publication
from tacit.curator.studies import Rows
from tacit.curator.suggest import Suggestion

__all__ = [
    "Curator",
    "Planner",
    "Price",
    "Publication",
    "Rows",
    "Suggestion",
    "adopt_ledger",
    "check_data",
    "check_policy",
    "check_text",
    "describe_sources",
    "open_ledger",
    "open_policy",
    "protect",
    "refresh_policy",
    "resume_ledger",
    "suggested_name",
    "verify_ledger",
]


def __dir__() -> list[str]:
    return __all__
