"""The hard tests of the ledger, in a process that may fork and kill. The suite runs each of them short.

    python tests/ledger/soak.py kills 2000             children killed with -9 at random moments
    python tests/ledger/soak.py processes 16 500       concurrent processes on one ledger, up to the cap
    python tests/ledger/soak.py faults [charge] ["register:kill"] ...   every call made to fail, in five ways
    python tests/ledger/soak.py crashes 20 --store postgres             the server's plug pulled while they charge

Each prints one JSON object: what was done, and `problems`, which must be empty. `--disk FOLDER` for a real disk.
`--store postgres` starts a server and puts the ledger there; every process then has a head of its own, as if it were a
host. `faults` is about files, `crashes` about servers.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Ledger
from tacit.ledger.head import HeadFile
from tacit.loss import Budget
from tacit.loss.events import Pure
from tests.ledger.children import Heard, child, listen, reported
from tests.ledger.faults import KINDS, Faults, fast_folder, installed
from tests.ledger.homes import address, beside, settle
from tests.postgres_server import Server, running

TENTH = Pure("1/10")


def opened(folder: Path, budget: Budget | None = None, head: str = "head") -> Ledger:
    """Patient: on a busy machine many processes may wait long for one lock."""
    return Ledger.open(address(folder), head=folder / head, budget=budget, patience=600)


def own_head(folder: Path, host: int) -> str:
    """The name of a head for this host: a copy of the first one. Processes that share a file share its head."""
    if isinstance(address(folder), Path):
        return "head"
    shutil.copy(folder / "head", folder / f"head-{host}")
    return f"head-{host}"


def sealed_by(folder: Path, head: str = "head") -> int:
    """How far this head reaches."""
    return HeadFile(folder / head, 1.0).read().sequence


def unsealed(folder: Path, head: str, lines: list[str]) -> list[str]:
    """What a host acknowledged that its own head does not reach."""
    reach = sealed_by(folder, head)
    with opened(folder) as ledger:
        sequence = {f"{entry.kind} {entry.key}": entry.sequence for entry in ledger.entries()}
    return [f"not sealed on {head}: {line}" for line in lines if sequence.get(line, 0) > reach]


def wrong(folder: Path, acknowledged: list[str]) -> list[str]:
    """What is wrong with the ledger, given the lines ("charged KEY", "answered KEY") that were reported."""
    heads = [path.name for path in folder.glob("head*") if path.suffix != ".lock"]
    sealed = max(sealed_by(folder, head) for head in heads)
    try:
        ledger = opened(folder)
    except LedgerError as failure:
        return [f"cannot be opened: {failure}"]
    with ledger:
        entries = ledger.entries()
        by_kind = {(entry.kind, entry.key): entry for entry in entries}
        problems = list(ledger.verify().findings)
        for line in acknowledged:
            kind, key = line.split()
            entry = by_kind.get((kind, key))
            if entry is None:
                problems.append(f"lost: {line}")
            elif entry.sequence > sealed:
                problems.append(f"not sealed: {line}")
            if kind == "answered":
                if ("charged", key) not in by_kind:
                    problems.append(f"an answer without a charge: {key}")
                if ledger.answer(key) != f"answer to {key}".encode():
                    problems.append(f"another answer: {key}")
        charged = [entry.key for entry in entries if entry.kind == "charged"]
        if len(charged) != len(set(charged)):
            problems.append("a key was charged twice")
        if ledger.spent().loss != len(charged) * TENTH.epsilon:
            problems.append(f"{len(charged)} charges of a tenth add up to {ledger.spent().loss}")
    return problems


# -- kill -9 ---------------------------------------------------------------------------------------


def kills(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Two children ask and answer on one ledger until they are killed at random moments."""
    chance = random.Random(seed)
    problems: list[str] = []
    acknowledged: list[str] = []
    total = killed = 0
    home = folder
    while killed < count and not problems:
        if killed % 20 == 0:
            total, acknowledged = total + len(acknowledged), []
            home = beside(folder, f"{killed}")

        def ask(report: Callable[[str], None], number: int, home: Path = home, born: int = killed) -> None:
            ledger = opened(home, Budget(10**6))  # the first children are also killed while they register
            for question in range(10**6):
                key = f"{born}-{number}-{question}"
                receipt = ledger.charge("ana", key, "SELECT count(*) FROM t", TENTH)
                report(f"charged {key}")
                ledger.store_answer(receipt, f"answer to {key}".encode())
                report(f"answered {key}")

        children = [Heard(*child(partial(ask, number=number))) for number in range(2)]
        for each in children:
            few = chance.randrange(8)  # none: it is killed while it opens the ledger
            listen([each], lambda each=each, few=few: len(each.lines) >= few)  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.02 if isinstance(address(home), Path) else 0.1))
            os.kill(each.pid, signal.SIGKILL)
        for each in children:
            status = each.status()
            acknowledged += each.lines
            killed += 1
            if os.WTERMSIG(status) != signal.SIGKILL:
                problems.append(f"a child ended by itself: {status}")
        opened(home, Budget(10**6)).close()  # a registration that was cut short is taken up
        problems += wrong(home, acknowledged)
    return {"killed": killed, "acknowledged": total + len(acknowledged), "seed": seed, "problems": problems[:20]}


# -- many processes ----------------------------------------------------------------------------------


def processes(folder: Path, count: int, charges: int) -> dict[str, Any]:
    """Each process charges its own keys and, for a fifth of them, keys that all share; the cap is below the sum."""
    shared = charges // 5
    keys = count * (charges - shared) + shared
    cap = keys - keys // 10
    opened(folder, Budget(TENTH.epsilon * cap)).close()
    heads = [own_head(folder, name) for name in range(count)]

    def ask(report: Callable[[str], None], name: int) -> None:
        ledger = opened(folder, head=heads[name])
        order = [f"shared-{n}" for n in range(shared)] + [f"{name}-{n}" for n in range(charges - shared)]
        random.Random(name).shuffle(order)
        for key in order:
            try:
                receipt = ledger.charge("ana", key, "SELECT count(*) FROM t", TENTH)
                report(f"{'repeated' if receipt.repeated else 'charged'} {key}")
            except BudgetExceeded:
                report(f"refused {key}")
        ledger.close()

    start = time.perf_counter()
    children = [child(partial(ask, name=name)) for name in range(count)]
    ends = [reported(pid, reader) for pid, reader in children]
    seconds = time.perf_counter() - start
    lines = [line for lines, _ in ends for line in lines]
    charged = [line for line in lines if line.startswith("charged ")]
    problems = [f"a process ended with {status}" for _, status in ends if status]
    problems += wrong(folder, charged)
    for head, (mine, _) in zip(heads, ends, strict=True):
        problems += unsealed(folder, head, mine)
    if len(lines) != count * charges:
        problems.append(f"{len(lines)} reports")
    if len(charged) != len(set(charged)):
        problems.append("a key was charged to two processes")
    if len(charged) != cap:
        problems.append(f"{len(charged)} charges, not {cap}")
    with opened(folder) as ledger:
        if ledger.remaining().loss != 0:
            problems.append(f"{ledger.remaining().loss} is left")
    outcomes = {kind: sum(line.startswith(kind) for line in lines) for kind in ("charged", "repeated", "refused")}
    return {**outcomes, "cap": cap, "seconds": round(seconds, 2), "problems": problems[:20]}


# -- the server falls ------------------------------------------------------------------------------------


def crashes(folder: Path, count: int, seed: int, server: Server) -> dict[str, Any]:
    """Four hosts ask and answer while the server is stopped without flushing, again and again."""
    chance = random.Random(seed)
    opened(folder, Budget(10**6)).close()
    heads = [own_head(folder, name) for name in range(4)]

    def ask(report: Callable[[str], None], name: int) -> None:
        ledger = opened(folder, head=heads[name])
        for question in range(10**6):
            key = f"{name}-{question}"
            try:
                receipt = ledger.charge("ana", key, "SELECT count(*) FROM t", TENTH)
                report(f"charged {key}")
                ledger.store_answer(receipt, f"answer to {key}".encode())
                report(f"answered {key}")
            except LedgerError:
                report(f"refused {key}")
                time.sleep(0.02)

    children = [Heard(*child(partial(ask, name=name))) for name in range(4)]

    def heard(*kinds: str) -> int:
        return sum(line.startswith(kinds) for each in children for line in each.lines)

    def work(least: int) -> None:
        """Until so much more was acknowledged, and some time longer."""
        goal = heard("charged", "answered") + least
        listen(children, lambda: heard("charged", "answered") >= goal)
        time.sleep(chance.uniform(0, 0.3))

    for _ in range(count):
        work(chance.randrange(10, 40))
        before = heard("refused")
        server.stop(immediate=True)
        listen(children, lambda before=before: heard("refused") > before)  # type: ignore[misc]
        server.start()
    work(10)
    for each in children:
        os.kill(each.pid, signal.SIGKILL)
    ends = [(each.status(), each.lines)[::-1] for each in children]
    problems = [f"a host ended by itself: {status}" for _, status in ends if os.WTERMSIG(status) != signal.SIGKILL]
    told = [[line for line in lines if not line.startswith("refused")] for lines, _ in ends]
    problems += wrong(folder, [line for lines in told for line in lines])
    for head, mine in zip(heads, told, strict=True):
        problems += unsealed(folder, head, mine)
    refused = sum(line.startswith("refused") for lines, _ in ends for line in lines)
    acknowledged = sum(len(lines) for lines in told)
    return {"crashes": count, "acknowledged": acknowledged, "refused": refused, "seed": seed, "problems": problems[:20]}


# -- every call fails ----------------------------------------------------------------------------------


def register(folder: Path) -> None:
    """Nothing is there yet."""


def registered(folder: Path) -> None:
    with opened(folder, Budget(1)) as ledger:
        ledger.charge("ana", "before", "SELECT 1", TENTH)


def charged(folder: Path) -> None:
    with opened(folder, Budget(1)) as ledger:
        ledger.charge("ana", "now", "SELECT 2", TENTH)


def do_register(folder: Path, faults: Faults, report: Callable[[str], None]) -> None:
    faults.armed = True
    opened(folder, Budget(1)).close()


def do_charge(folder: Path, faults: Faults, report: Callable[[str], None]) -> None:
    ledger = opened(folder)
    faults.armed = True
    ledger.charge("ana", "now", "SELECT 2", TENTH)
    report("charged now")


def do_answer(folder: Path, faults: Faults, report: Callable[[str], None]) -> None:
    ledger = opened(folder)
    receipt = ledger.charge("ana", "now", "SELECT 2", TENTH)
    faults.armed = True
    ledger.store_answer(receipt, b"answer to now")
    report("answered now")


def do_all(folder: Path, faults: Faults, report: Callable[[str], None]) -> None:
    faults.armed = True
    ledger = opened(folder)
    receipt = ledger.charge("ana", "now", "SELECT 2", TENTH)
    report("charged now")
    ledger.store_answer(receipt, b"answer to now")
    report("answered now")
    ledger.close()


STAGES = {
    "register": (register, do_register),
    "charge": (registered, do_charge),
    "answer": (charged, do_answer),
    "open, charge, answer, close": (registered, do_all),
}


def one_fault(folder: Path, stage: str, kind: str, at: int) -> tuple[bool, list[str]]:
    """Whether the fault was reached, and what is wrong afterwards."""
    prepare, act = STAGES[stage]
    folder.mkdir()
    prepare(folder)

    def work(report: Callable[[str], None]) -> None:
        sys.unraisablehook = lambda _: None  # SQLite cannot pass on what fails in a close
        with installed(Faults(kind, at)) as faults:
            try:
                act(folder, faults, report)
            except LedgerError:
                report("refused -")
            finally:
                faults.armed = False
                report(f"calls {faults.calls}")

    lines, status = reported(*child(work))
    calls = [int(line.split()[1]) for line in lines if line.startswith("calls ")]
    acknowledged = [line for line in lines if line.startswith(("charged", "answered"))]
    problems = [] if os.WIFSIGNALED(status) or status == 0 else [f"ended with {status}, not with a refusal"]
    with opened(folder, Budget(1)) as ledger:  # the disk is well again: the same question can be asked and answered
        entries = {entry.key for entry in ledger.entries() if entry.kind == "charged"}
        if {"before"} - entries and prepare is registered:
            problems.append("an earlier entry is lost")
        if ledger.charge("ana", "now", "SELECT 2", TENTH).repeated != ("now" in entries):
            problems.append("charged twice")
        ledger.store_answer(ledger.charge("ana", "now", "SELECT 2", TENTH), b"answer to now")
    problems += wrong(folder, acknowledged)
    return not calls or calls[0] >= at, [f"{stage}, {kind} at call {at}: {problem}" for problem in problems]


def faults(folder: Path, chosen: list[tuple[str, str]]) -> dict[str, Any]:
    """Each chosen kind of fault, in its stage, at call 1, 2, 3, ... until the work is done before the fault comes."""
    problems: list[str] = []
    reached: dict[str, int] = {}
    for stage, kind in chosen:
        at, more = 0, True
        while more:
            at += 1
            more, found = one_fault(folder / f"{stage}-{kind}-{at}", stage, kind, at)
            problems += found
        reached[f"{stage}, {kind}"] = at - 1
    return {"calls": reached, "injected": sum(reached.values()), "problems": problems[:20]}


def option(arguments: list[str], name: str, default: str | None) -> str | None:
    """The value behind an option, which is taken away."""
    if name not in arguments:
        return default
    at = arguments.index(name)
    value = arguments[at + 1]
    del arguments[at : at + 2]
    return value


def main(arguments: list[str]) -> int:
    where = option(arguments, "--disk", fast_folder())
    store = option(arguments, "--store", "sqlite")
    what, *rest = arguments
    seed = int(rest[1]) if what in ("kills", "crashes") and rest[1:] else random.SystemRandom().getrandbits(32)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=where)))
        if store == "postgres":
            server = stack.enter_context(running(where))
            settle(folder, server.database("soak"))
        if what == "kills":
            result = kills(folder, int(rest[0]), seed)
        elif what == "processes":
            result = processes(folder, int(rest[0]), int(rest[1]))
        elif what == "crashes":
            result = crashes(folder, int(rest[0]), seed, server)
        else:
            all_faults = [(stage, kind) for stage in STAGES for kind in KINDS]
            result = faults(
                folder, [pair for pair in all_faults if not rest or pair[0] in rest or ":".join(pair) in rest]
            )
    sys.stdout.write(f"{json.dumps(result)}\n")
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
