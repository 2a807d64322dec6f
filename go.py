#!/usr/bin/env python3
"""One command sets up everything it needs, then does one job.

Promise: on a machine with Python 3.11 and pip, and nothing else, each command makes its own virtual
environment beside this file, installs exactly the versions and hashes of `requirements/*.txt`, and
runs. A finished environment carries a stamp (a digest of all it was made from); while the stamp holds,
the next run starts at once. One that is out of date is brought up to date; one that was interrupted on
the way, or belongs to another Python, is made again from nothing. Standard library only.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python should read a sentence, not a traceback
    sys.exit("tacit needs Python 3.11 or newer; this is %d.%d. Try: python3.11 go.py" % sys.version_info[:2])  # noqa: UP031

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent
LOCKS = ROOT / "requirements"
PYPROJECT = ROOT / "pyproject.toml"

USAGE = """\
python3 go.py COMMAND [ARGUMENTS]

  demo              a made-up clinic: register it, ask, see the budget; `demo mechanisms` for the noise,
                    `demo --serve` to see it in a browser
  test [PYTEST...]  ruff, mypy --strict, import-linter, the documentation, the walk and pytest; fails if any of
                    them fails. With arguments for pytest, only the first three and pytest
  spark [PYTEST...] the tests of the Spark engine, which need Java 17 or newer
  fuzz [REQUESTS]   ten thousand requests that Schemathesis makes up for a served clinic
  browser [PYTEST.] the console in Debian's chromium: every page and flow, by day and by night, with script and without
  neural [PYTEST..] the tests of neural networks, which need torch
  check             ruff, mypy --strict and import-linter
  bench [NAME...]   measure against peers and write benchmarks/RESULTS.md
  docs              build the documentation into docs/_build/html; a warning is an error
  walk [PAGE...]    follow README and the tutorials, command by command, in a fresh copy with nothing installed
  mutants [ARG...]  break the code on purpose, one constant at a time, and see the tests notice
  lock [NAME...]    find new versions and write requirements/*.txt

Each command sets up what it needs the first time and reuses it afterwards. Examples:

  python3 go.py demo
  python3 go.py test -k laplace
  python3 go.py test -n 0 -x tests/loss
  python3 go.py bench noise
"""


class Stop(Exception):
    """The run ends here, with one sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One virtual environment, and the lock file that fills it."""

    folder: str
    lock: str
    holds_tacit: bool = True
    built_here: tuple[str, ...] = ()  # locked packages that are published as source only
    apart: tuple[str, ...] = ()  # versions without hashes, installed after the lock file with what they need

    @property
    def path(self) -> Path:
        return ROOT / self.folder

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def lock_file(self) -> Path:
        return LOCKS / f"{self.lock}.txt"

    @property
    def stamp(self) -> Path:
        return self.path / f".stamp-{self.lock}"

    @property
    def unfinished(self) -> Path:
        return self.path / ".unfinished"

    def tool(self, name: str) -> str:
        return str(self.path / "bin" / name)


# What the tests need includes all that the demo needs, in the same versions, so the two share a folder. The
# others stay apart: a peer in a benchmark may hold back a version that everyday work should not have to share.
RUN = Environment(".venv", "run")
TEST = Environment(".venv", "test")
DOCS = Environment(".venv-docs", "docs", holds_tacit=False)
BENCH = Environment(".venv-bench", "bench")
SPARK = Environment(".venv-spark", "spark", built_here=("pyspark",))
# One version of torch has many builds (for processors alone, for graphics cards, for each system), each with a hash and
# with needs of its own. A lock file made where one of them is offered would refuse the others, so it leaves torch out.
NEURAL = Environment(".venv-neural", "neural", apart=("torch==2.13.0",))
# Opacus, beside which neural networks are measured; in one environment, so that both run on one torch.
OPACUS = Environment(".venv-opacus", "opacus", apart=("torch==2.13.0", "opacus==1.6.0"))
TUMULT = Environment(".venv-tumult", "tumult", holds_tacit=False, built_here=("pyspark",))
SMARTNOISE = Environment(".venv-smartnoise", "smartnoise", holds_tacit=False, built_here=("antlr4-python3-runtime",))
DIFFPRIVLIB = Environment(".venv-diffprivlib", "diffprivlib", holds_tacit=False)
LDP = Environment(".venv-ldp", "ldp", holds_tacit=False, built_here=("multi-freq-ldpy",))
DPMM = Environment(".venv-dpmm", "dpmm", holds_tacit=False)
FLOWER = Environment(".venv-flower", "flower", holds_tacit=False)
JAX = Environment(".venv-jax", "jax", holds_tacit=False)
BROWSER = Environment(".venv-browser", "browser")
SCHEMATHESIS = Environment(".venv-schemathesis", "schemathesis", holds_tacit=False)
LOCK = Environment(".venv-lock", "lock", holds_tacit=False)

# Which groups of pyproject.toml go into which lock file; "run" and "build" are what tacit itself needs.
LOCKED_GROUPS = {
    "run": ("run", "build"),
    "test": ("run", "build", "test"),
    "bench": ("run", "build", "bench"),
    "spark": ("run", "build", "test", "spark"),
    "neural": ("run", "build", "test", "neural"),
    "opacus": ("run", "build", "neural", "opacus"),
    "tumult": ("tumult",),
    "smartnoise": ("smartnoise",),
    "diffprivlib": ("diffprivlib",),
    "ldp": ("ldp",),
    "dpmm": ("dpmm",),
    "flower": ("flower",),
    "jax": ("jax",),
    "browser": ("run", "build", "browser"),
    "schemathesis": ("schemathesis",),
    "docs": ("docs",),
    "lock": ("lock",),
}

# Peers that cannot share an environment with tacit: a benchmark starts them as programs of their own.
PEERS: dict[str, tuple[Environment, ...]] = {
    "sql": (TUMULT,),
    "wide": (TUMULT,),
    "quantiles": (TUMULT,),
    "engines": (SPARK,),
    "accuracy": (TUMULT, SMARTNOISE),
    "statistics": (DIFFPRIVLIB, TUMULT),
    "learning": (DIFFPRIVLIB,),
    "local": (LDP,),
    "neural": (OPACUS,),
    "federated": (FLOWER,),
    "streaming": (JAX,),
    "server": (TEST,),
    "synthesis": (DPMM,),
    "synthesis_large": (SPARK,),
}


# -- setting up ------------------------------------------------------------------------------------


def say(text: str) -> None:
    print(text, flush=True)


def digest(environment: Environment) -> str:
    """What the environment was made from: this Python, this folder, the lock file, and how tacit is packaged."""
    project = tomllib.loads(PYPROJECT.read_text())
    packaging = [project["build-system"], project["project"], project["tool"]["hatch"]]
    made_from = [sys.version, str(ROOT), environment.lock_file.read_text(), packaging, *environment.apart]
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()


def is_ready(environment: Environment) -> bool:
    try:
        return environment.stamp.read_text() == digest(environment) and environment.python.exists()
    except OSError:
        return False


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two commands started together take turns at setting up; the lock goes away with the process."""
    with open(__file__) as this_file:
        fcntl.flock(this_file, fcntl.LOCK_EX)
        yield


def prepare(environment: Environment) -> None:
    """Make the environment ready, or leave it marked as unfinished."""
    if is_ready(environment):
        return
    if not environment.lock_file.exists():
        raise Stop(f"{environment.lock_file.relative_to(ROOT)} is missing. Take it from version control.")
    with one_at_a_time():
        if not is_ready(environment):
            started = time.monotonic()
            fill(environment)
            say(f"Ready after {time.monotonic() - started:.0f} s; the next run starts at once.\n")


def fill(environment: Environment) -> None:
    """Install what the lock file says. Until the last line, an interruption leaves the mark behind."""
    pip = pip_for(environment)
    if not is_usable(environment):
        if environment.path.exists():
            say(f"{environment.folder} is unfinished, or was made by another Python: making it again.")
            shutil.rmtree(environment.path)
        environment.path.mkdir()
        environment.unfinished.touch()
        say(f"Making {environment.folder} with Python {sys.version.split()[0]} ...")
        without_pip = [] if has_module("ensurepip") else ["--without-pip"]
        must(sys.executable, "-m", "venv", *without_pip, str(environment.path))
    environment.unfinished.touch()
    for stamp in environment.path.glob(".stamp-*"):
        stamp.unlink()
    packages = sum("==" in line for line in environment.lock_file.read_text().splitlines())
    say(f"Installing {packages} locked packages into {environment.folder} ...")
    locked = environment.lock_file.read_text()
    if environment.built_here:
        # Building without isolation uses the locked setuptools; pip would fetch one that nobody checked.
        install_locked(pip, locked_block(locked, "setuptools"))
        sources = ["--no-binary", ",".join(environment.built_here), "--no-build-isolation", "--use-pep517"]
        install_locked(pip, locked, *sources)
    else:
        install_locked(pip, locked)
    if environment.apart:
        say(f"Installing {', '.join(environment.apart)}, in the build that is offered for this machine ...")
        must(*pip, "install", "--only-binary", ":all:", "--no-compile", *environment.apart)
    compile_all(environment)
    if environment.holds_tacit:
        say("Installing tacit itself ...")
        must(*pip, "install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    environment.stamp.write_text(digest(environment))
    environment.unfinished.unlink()


def install_locked(pip: list[str], locked: str, *options: str) -> None:
    """Install packages by version and hash, and build none but those the options name."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(locked)
        file.flush()
        # A lock file is complete, so there is nothing to resolve. Compiling comes later, on all cores.
        exactly = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile"]
        must(*pip, "install", *exactly, *options, "-r", file.name)


def compile_all(environment: Environment) -> None:
    """Compile what was installed, but for the packages' own tests, which nobody runs here: half of the work."""
    say("Compiling ...")
    for packages in environment.path.glob("lib/python3*/site-packages"):
        # What is compiled already stays. A file that does not compile is its package's own affair.
        subprocess.run(
            [environment.python, "-m", "compileall", "-qq", "-j", "0", "-x", r"/(tests?|pip)/", str(packages)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def locked_block(locked: str, package: str) -> str:
    """The lines of a lock file that belong to one package."""
    lines = locked.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"{package}=="))
    last = next((n for n in range(first + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return "\n".join(lines[first:last]) + "\n"


def is_usable(environment: Environment) -> bool:
    """Whether pip may install into the folder as it is: finished once, made here, and by this very Python."""
    if environment.unfinished.exists():
        return False
    ask = "import sys, importlib.util as u; print(sys.version, u.find_spec('pip') is not None)"
    try:
        settings = (environment.path / "pyvenv.cfg").read_text()
        told = subprocess.run([environment.python, "-c", ask], capture_output=True, text=True).stdout.strip()
    except OSError:
        return False
    moved = str(environment.path) not in settings  # its scripts still name the old place
    has_pip = told.endswith("True") or not has_module("ensurepip")
    return told.startswith(sys.version) and has_pip and not moved


def pip_for(environment: Environment) -> list[str]:
    """Some systems ship Python without ensurepip; there, the pip outside fills the environment."""
    if has_module("venv") and has_module("ensurepip"):
        return [str(environment.python), "-m", "pip"]
    if has_module("venv") and has_module("pip"):
        return [sys.executable, "-m", "pip", "--python", str(environment.python)]
    raise Stop(
        "This Python cannot make a virtual environment: it has no 'venv', or neither 'ensurepip' nor 'pip'.\n"
        "Install them (on Debian and Ubuntu: apt install python3-venv) and run the same command again."
    )


def has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def must(*command: str) -> None:
    """Run one step of the set-up and say how far it has come; its whole output is shown only if it fails."""
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    lines: list[str] = []
    progress = Progress()
    with subprocess.Popen(
        command, cwd=ROOT, env=quiet, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line)
            progress.read(line)
    progress.end()
    if child.returncode != 0:
        output = "".join(lines)
        raise Stop(f"{output}\nThis step failed: {' '.join(command)}\nMend it, then run the same command again.")


class Progress:
    """What pip is doing, in one line: rewritten in place on a terminal, and said now and then where there is none."""

    EVERY = 5.0  # seconds between two lines in a log file

    def __init__(self) -> None:
        self.in_place = sys.stdout.isatty()
        self.said_at = time.monotonic()
        self.packages = 0

    def read(self, line: str) -> None:
        if found := re.match(r"Collecting ([\w.-]+)==(\S+)", line):
            self.packages += 1
            self.tell(f"  package {self.packages}: {found[1]} {found[2]}")
        elif found := re.match(r"\s+Downloading (?:\S+/)?(\S+?)-\d\S* \((.+)\)", line):
            self.tell(f"  package {self.packages}: {found[1]}, fetching {found[2]}")
        elif line.startswith("Installing collected packages"):
            self.tell(f"  unpacking {self.packages} packages")

    def tell(self, text: str) -> None:
        now = time.monotonic()
        if self.in_place:
            print(f"\r\x1b[K{text}", end="", flush=True)
        elif now - self.said_at >= self.EVERY:
            self.said_at = now
            say(text)

    def end(self) -> None:
        if self.in_place:
            print("\r\x1b[K", end="", flush=True)


# -- the jobs --------------------------------------------------------------------------------------


def run(*command: str) -> int:
    """Run one tool in the foreground. Ctrl-C reaches it directly; it is given time to tidy up after itself."""
    with subprocess.Popen(command, cwd=ROOT) as child:
        try:
            return child.wait()
        except KeyboardInterrupt:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=5)
            child.kill()
            raise


Outcomes = dict[str, tuple[int, float]]
"""Of every step its exit code and its seconds."""


def steps(named: dict[str, Sequence[str]], before: Outcomes | None = None) -> int:
    """Run every step even if one fails; say at the end which did, also of those that were run `before`."""
    outcomes: Outcomes = dict(before or {})
    for name, command in named.items():
        say(f"== {name}")
        started = time.monotonic()
        outcomes[name] = (run(*command), time.monotonic() - started)
    say("")
    for name, (code, seconds) in outcomes.items():
        say(f"{'passed' if code == 0 else 'FAILED'}  {name}  ({seconds:.1f} s)")
    failed = [name for name, (code, _) in outcomes.items() if code != 0]
    say(f"\n{len(failed)} of {len(outcomes)} failed: {', '.join(failed)}." if failed else "\nAll passed.")
    return 1 if failed else 0


def two_at_once(named: dict[str, Sequence[str]]) -> Outcomes:
    """Run steps that do not need each other, two at a time; what one prints is shown when it ends."""
    waiting, outcomes = list(named.items()), Outcomes()
    running: dict[str, tuple[subprocess.Popen[bytes], Path, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            while waiting or running:
                while waiting and len(running) < 2:
                    name, command = waiting.pop(0)
                    told = Path(scratch) / str(len(waiting))
                    with told.open("wb") as printed:
                        child = subprocess.Popen(command, cwd=ROOT, stdout=printed, stderr=subprocess.STDOUT)
                    running[name] = child, told, time.monotonic()
                for name, (child, told, started) in list(running.items()):
                    if child.poll() is not None:
                        outcomes[name] = (child.returncode, time.monotonic() - started)
                        del running[name]
                        say(f"== {name}\n{told.read_text(errors='replace').rstrip()}")
                time.sleep(0.05)
        finally:  # Ctrl-C reaches them directly; they are given time to tidy up
            for child, _, _ in running.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=5)
                child.kill()
    return {name: outcomes[name] for name in named}


def lint_steps() -> dict[str, Sequence[str]]:
    return {
        "ruff check": [TEST.tool("ruff"), "check", "."],
        "ruff format": [TEST.tool("ruff"), "format", "--check", "."],
        "mypy --strict": [TEST.tool("mypy")],
        "import-linter": [TEST.tool("lint-imports"), "--no-logo"],
    }


def demo(arguments: list[str]) -> int:
    if "--serve" in arguments:  # what a server needs is an extra, which the tests have too
        prepare(TEST)
    elif not is_ready(TEST):
        prepare(RUN)
    return run(str(RUN.python), "-m", "tacit.demo", *arguments)


def test(arguments: list[str]) -> int:
    """Everything, or with arguments for pytest: the checks of the source, and the tests they choose."""
    prepare(TEST)
    pytest: dict[str, Sequence[str]] = {"pytest": [TEST.tool("pytest"), "-n", "2", *arguments]}
    if arguments:
        return steps({**lint_steps(), **pytest})
    pages: dict[str, Sequence[str]] = {
        "docs": [sys.executable, __file__, "docs"],
        "walk": [sys.executable, "tests/walk.py"],
    }
    return steps({**pytest, **neural_steps()}, before=two_at_once({**pages, **lint_steps()}))


SHORT_LOOK = 60.0
"""Seconds that may pass until pip has said which build of torch it would install."""

# What says most about networks in the least time; `python3 go.py neural` runs all of it.
NEURAL_SHORT = (
    "test_hooked.py", "test_trainer.py", "test_batches.py", "test_features.py", "test_traced.py", "test_kinds.py",
    "test_summing.py",
)  # fmt: skip


def neural_steps() -> dict[str, Sequence[str]]:
    """The tests that say most of networks, where torch is there or a build for processors alone can be had."""
    if not is_ready(NEURAL):
        if not offers_small_torch():
            say("Left out: tests that need torch. `python3 go.py neural` makes their environment and runs them.")
            return {}
        try:
            prepare(NEURAL)
        except Stop as why:
            say(f"{why}\nLeft out: tests that need torch, because their environment could not be made.")
            return {}
    files = [f"tests/learning/neural/{name}" for name in NEURAL_SHORT]
    return {"neural, in short": [NEURAL.tool("pytest"), "-n", "0", *files]}


def offers_small_torch() -> bool:
    """Whether pip would install a torch for processors alone. Those for graphics cards take gigabytes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        ask = ["install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps", "--only-binary", ":all:"]
        try:
            subprocess.run(
                [*pip_for(TEST), *ask, "--report", str(report), *NEURAL.apart],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SHORT_LOOK,
                check=True,
            )
            found = [each["metadata"]["version"] for each in json.loads(report.read_text())["install"]]
        except (subprocess.SubprocessError, OSError, ValueError, LookupError):
            return False  # offline, say: whoever wants them says so, and then sees what is wrong
    return bool(found) and all(version.endswith("+cpu") for version in found)


def spark(arguments: list[str]) -> int:
    prepare(SPARK)
    return run(SPARK.tool("pytest"), "-m", "spark", *arguments)


def browser(arguments: list[str]) -> int:
    """The console's pages in a browser, which is installed where this may be done."""
    prepare(BROWSER)
    if shutil.which("chromium") is None:
        install_chromium()
    # what all other tests rely on (tests/conftest.py) needs packages that a browser does without
    return run(BROWSER.tool("pytest"), "tests/browser", "--confcutdir", "tests/browser", *arguments)


def fuzz(arguments: list[str]) -> int:
    """Requests made up from the server's OpenAPI description, ten thousand unless another number is said."""
    prepare(TEST)
    prepare(SCHEMATHESIS)
    wanted = arguments or ["10000"]
    return run(str(TEST.python), "-m", "tests.doors.http.schema_fuzz", SCHEMATHESIS.tool("schemathesis"), *wanted)


def install_chromium() -> None:
    """Debian's chromium, by apt; where that is not possible, one line says what is missing."""
    missing = "The tests of the console need chromium: apt-get install chromium, then run the same command again."
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise Stop(missing)
    say("Installing chromium ...")
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            raise Stop(missing)


def neural(arguments: list[str]) -> int:
    prepare(NEURAL)
    return run(NEURAL.tool("pytest"), *(arguments or ["tests/learning/neural"]))


def check(arguments: list[str]) -> int:
    if arguments:
        raise Stop(f"'check' takes no arguments. Got {' '.join(arguments)!r}.")
    prepare(TEST)
    return steps(lint_steps())


def bench(arguments: list[str]) -> int:
    prepare(BENCH)
    for environment in dict.fromkeys(peer for name in arguments or PEERS for peer in PEERS.get(name, ())):
        prepare(environment)
    return run(str(BENCH.python), "benchmarks/run.py", *arguments)


def docs_steps(arguments: Sequence[str] = ()) -> dict[str, Sequence[str]]:
    """The reference is written by a Python that has tacit and every extra; Sphinx has an environment of its own."""
    sphinx = [DOCS.tool("sphinx-build"), "-W", "-E", "--keep-going", "-q", *arguments, "docs", "docs/_build/html"]
    return {"reference": [str(TEST.python), "docs/reference.py"], "docs": sphinx}


def docs(arguments: list[str]) -> int:
    prepare(TEST)
    prepare(DOCS)
    code = steps(docs_steps(arguments))
    if code == 0:
        say("Built: open docs/_build/html/index.html")
    return code


def walk(arguments: list[str]) -> int:
    return run(sys.executable, "tests/walk.py", *arguments)


def mutants(arguments: list[str]) -> int:
    prepare(TEST)
    return run(str(TEST.python), "tests/mutants/run.py", *arguments)


def lock(arguments: list[str]) -> int:
    """Write the lock files anew. "run" comes first, and every other file that contains it agrees with it."""
    unknown = sorted(set(arguments) - set(LOCKED_GROUPS))
    if unknown:
        raise Stop(f"There is no lock file {', '.join(unknown)}. Lock files: {', '.join(LOCKED_GROUPS)}.")
    prepare(LOCK)
    project = tomllib.loads(PYPROJECT.read_text())
    groups = {"run": project["project"]["dependencies"], **project["dependency-groups"]}
    for name, parts in LOCKED_GROUPS.items():
        if not arguments or name in arguments:
            wanted = [requirement for part in parts for requirement in groups[part]]
            agrees = [f"-c {LOCKS / 'run.txt'}"] if name != "run" and "run" in parts else []
            write_lock(name, wanted + agrees)
    return 0


def write_lock(name: str, wanted: list[str]) -> None:
    """One lock file: versions and hashes only. No registry, mirror or path of this machine may stand in it."""
    say(f"Resolving requirements/{name}.txt ...")
    with tempfile.TemporaryDirectory() as scratch:
        source, result = Path(scratch) / "wanted.in", Path(scratch) / "locked.txt"
        source.write_text("".join(f"{line}\n" for line in wanted))
        must(
            LOCK.tool("pip-compile"),
            *("--quiet", "--upgrade", "--generate-hashes", "--allow-unsafe", "--strip-extras"),
            *("--no-header", "--no-annotate", "--no-emit-options", "--no-emit-index-url", "--no-emit-find-links"),
            *("--no-emit-trusted-host", "--output-file", str(result), str(source)),
        )
        locked = result.read_text()
    (LOCKS / f"{name}.txt").write_text(f"# Written by `python3 go.py lock {name}` from pyproject.toml.\n{locked}")


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "demo": demo,
    "test": test,
    "spark": spark,
    "browser": browser,
    "fuzz": fuzz,
    "neural": neural,
    "check": check,
    "bench": bench,
    "docs": docs,
    "walk": walk,
    "mutants": mutants,
    "lock": lock,
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        say(USAGE)
        return 0 if arguments else 2
    command, rest = arguments[0], arguments[1:]
    if command not in COMMANDS:
        print(f"There is no command {command!r}. Commands: {', '.join(COMMANDS)}.\n\n{USAGE}", file=sys.stderr)
        return 2
    try:
        return COMMANDS[command](rest)
    except Stop as stop:
        print(stop, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. Run the same command again to go on.", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
