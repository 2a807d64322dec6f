"""The audit room: attack everything, and measure what leaks, through the public surface only.

    audit.lower_bound(mechanism, 0, 1, samples=10**6)            # epsilon is at least this, with confidence 0.999
    audit.verify(audit.Claim(mechanism, 0, 1, epsilon=1))        # consistent, violated, or inconclusive

The rest of the house does not trust this room, and this room does not trust it: a mechanism is a function that is
called.
"""

from tacit.audit import attacks, zoo
from tacit.audit.anonymity import Anonymity, anonymity
from tacit.audit.beliefs import Posterior, posterior
from tacit.audit.bounds import Bound
from tacit.audit.canaries import OneRun, one_run
from tacit.audit.exact import exact_epsilon
from tacit.audit.measuring import lower_bound
from tacit.audit.neighbours import WorstNeighbour, worst_neighbour
from tacit.audit.questions import question
from tacit.audit.reports import Report, check_report, sign_report
from tacit.audit.risk import Harm, Risk, SmallClass, risk
from tacit.audit.risk_report import html_report
from tacit.audit.sandbox import audit_policy
from tacit.audit.verdicts import Claim, Verdict, verify

__all__ = [
    "Anonymity",
    "Bound",
    "Claim",
    "Harm",
    "OneRun",
    "Posterior",
    "Report",
    "Risk",
    "SmallClass",
    "Verdict",
    "WorstNeighbour",
    "anonymity",
    "attacks",
    "audit_policy",
    "check_report",
    "exact_epsilon",
    "html_report",
    "lower_bound",
    "one_run",
    "posterior",
    "question",
    "risk",
    "sign_report",
    "verify",
    "worst_neighbour",
    "zoo",
]


def __dir__() -> list[str]:
    return __all__
