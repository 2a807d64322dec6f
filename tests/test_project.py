"""The project around the rooms: set-up, lock files, layers, the benchmark file, and the demo."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import tacit

ROOT = Path(__file__).resolve().parent.parent
LOCK_FILES = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)==([0-9][0-9a-z.!+-]*) \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def load(path: Path) -> ModuleType:
    """A module of this project that is not part of the package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their own module up by name
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


@pytest.fixture
def go() -> ModuleType:
    return load(ROOT / "go.py")


def pins(path: Path) -> dict[str, str]:
    return dict(match.groups() for match in map(PIN.fullmatch, path.read_text().splitlines()) if match)


# -- lock files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOCK_FILES, ids=lambda path: path.stem)
def test_a_lock_file_holds_versions_and_hashes_and_names_no_registry_or_path(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert not line or line.startswith("#") or PIN.fullmatch(line) or HASH.fullmatch(line), line
        assert "/" not in line or line.startswith("#"), line


@pytest.mark.parametrize("path", LOCK_FILES, ids=lambda path: path.stem)
def test_every_locked_package_has_a_hash(path: Path) -> None:
    assert pins(path)
    blocks = re.split(r"(?m)^(?=[a-z0-9])", path.read_text())[1:]
    assert len(blocks) == len(pins(path))
    assert all("--hash=sha256:" in block for block in blocks)


def test_there_is_a_lock_file_for_every_purpose(go: ModuleType) -> None:
    assert {path.stem for path in LOCK_FILES} == set(go.LOCKED_GROUPS)


def test_every_direct_dependency_is_locked(go: ModuleType) -> None:
    groups = {"run": PROJECT["project"]["dependencies"], **PROJECT["dependency-groups"]}
    for name, parts in go.LOCKED_GROUPS.items():
        wanted = {re.split(r"[<>=!~ \[]", requirement)[0] for part in parts for requirement in groups[part]}
        assert wanted <= set(pins(ROOT / "requirements" / f"{name}.txt"))


def test_what_runs_is_what_is_tested_and_measured() -> None:
    run = pins(ROOT / "requirements" / "run.txt")
    for name in ("test", "bench"):
        other = pins(ROOT / "requirements" / f"{name}.txt")
        assert {package: other.get(package) for package in run} == run


def test_every_dependency_has_an_upper_bound() -> None:
    requirements = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    assert all("<" in requirement for requirement in requirements)


# -- go.py -----------------------------------------------------------------------------------------


def test_go_uses_the_standard_library_only() -> None:
    tree = ast.parse((ROOT / "go.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def run_go(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "go.py", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_help_shows_every_command_with_examples(go: ModuleType) -> None:
    shown = run_go("--help")
    assert shown.returncode == 0
    assert all(f"  {command} " in shown.stdout for command in go.COMMANDS)
    assert "python3 go.py test -k laplace" in shown.stdout


def test_an_unknown_command_is_refused_with_the_list_of_commands() -> None:
    refused = run_go("tset")
    assert refused.returncode == 2
    assert "There is no command 'tset'. Commands: demo, test" in refused.stderr


@pytest.fixture
def scratch(go: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """go.py on an empty project, with the slow steps of the set-up written down instead of taken."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "run.txt").write_text("numpy==2.0.0 \\\n")
    (tmp_path / "requirements" / "test.txt").write_text("numpy==2.0.0 \\\npytest==9.0.0 \\\n")
    (tmp_path / "pyproject.toml").write_text("[build-system]\n[project]\n[tool.hatch]\n")
    monkeypatch.setattr(go, "ROOT", tmp_path)
    monkeypatch.setattr(go, "LOCKS", tmp_path / "requirements")
    monkeypatch.setattr(go, "PYPROJECT", tmp_path / "pyproject.toml")
    go.taken = []

    def must(*command: str) -> None:
        go.taken.append(command)
        if "venv" in command:
            (tmp_path / ".venv" / "bin").mkdir(parents=True)
            (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
            (tmp_path / ".venv" / "pyvenv.cfg").write_text(f"command = python -m venv {tmp_path / '.venv'}")

    monkeypatch.setattr(go, "must", must)
    return go


def installs(scratch: ModuleType) -> int:
    return sum("install" in command for command in scratch.taken)


def test_a_finished_environment_is_reused(scratch: ModuleType) -> None:
    scratch.prepare(scratch.RUN)
    assert installs(scratch) == 2
    scratch.prepare(scratch.RUN)
    assert installs(scratch) == 2


def test_packages_are_installed_with_hashes_and_without_building(scratch: ModuleType) -> None:
    scratch.prepare(scratch.RUN)
    (packages,) = (command for command in scratch.taken if "-r" in command)
    assert {"--require-hashes", "--only-binary"} <= set(packages)


def test_a_package_published_as_source_only_is_built_with_the_locked_setuptools(scratch: ModuleType) -> None:
    (scratch.LOCKS / "run.txt").write_text("numpy==2.0.0 \\\n    --hash=a\nsetuptools==80.0.0 \\\n    --hash=b\n")
    scratch.prepare(dataclasses.replace(scratch.RUN, built_here=("pyspark",)))
    first, second = (command for command in scratch.taken if "-r" in command)
    assert "--no-binary" not in first
    assert second[second.index("--no-binary") + 1] == "pyspark"
    assert "--no-build-isolation" in second
    assert all({"--require-hashes", "--only-binary", ":all:"} <= set(command) for command in (first, second))


def test_a_package_whose_builds_have_different_hashes_is_installed_after_the_locked_ones(scratch: ModuleType) -> None:
    scratch.prepare(dataclasses.replace(scratch.RUN, apart=("torch==2.13.0",)))
    steps = [command for command in scratch.taken if "install" in command]
    assert ["-r" in command for command in steps] == [True, False, False]
    assert steps[1][-1] == "torch==2.13.0"
    assert "--only-binary" in steps[1]
    assert not scratch.is_ready(scratch.RUN)  # the stamp says which version it was


def test_the_lines_of_one_locked_package_are_found(go: ModuleType) -> None:
    locked = "# made\na==1 \\\n    --hash=a \\\n    --hash=b\n# unsafe\nsetuptools==80 \\\n    --hash=c\n"
    assert go.locked_block(locked, "a") == "a==1 \\\n    --hash=a \\\n    --hash=b\n"
    assert go.locked_block(locked, "setuptools") == "setuptools==80 \\\n    --hash=c\n"


def test_a_benchmark_prepares_the_environments_of_its_own_peers_only(
    go: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []
    monkeypatch.setattr(go, "prepare", lambda environment: prepared.append(environment.lock))
    monkeypatch.setattr(go, "run", lambda *_: 0)
    go.bench(["noise"])
    assert prepared == ["bench"]
    prepared.clear()
    go.bench(["noise", "sql"])
    assert prepared == ["bench", "tumult"]
    prepared.clear()
    go.bench([])
    assert set(prepared) == {"bench", *(peer.lock for peers in go.PEERS.values() for peer in peers)}
    assert len(prepared) == len(set(prepared))


def test_every_benchmark_with_peers_of_its_own_exists(go: ModuleType) -> None:
    assert set(go.PEERS) <= set(load(ROOT / "benchmarks" / "run.py").names())


def test_an_interrupted_environment_is_made_again_from_nothing(
    scratch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = scratch.must

    def interrupted(*command: str) -> None:
        if "-r" in command:
            raise KeyboardInterrupt
        finish(*command)

    monkeypatch.setattr(scratch, "must", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scratch.prepare(scratch.RUN)
    left_over = scratch.RUN.path / "left-over"
    left_over.write_text("")
    assert not scratch.is_ready(scratch.RUN)
    monkeypatch.setattr(scratch, "must", finish)
    scratch.prepare(scratch.RUN)
    assert scratch.is_ready(scratch.RUN)
    assert not left_over.exists()


def environments_made(scratch: ModuleType) -> int:
    return sum("venv" in command for command in scratch.taken)


def test_a_changed_lock_file_is_installed_again(scratch: ModuleType) -> None:
    scratch.prepare(scratch.RUN)
    scratch.RUN.lock_file.write_text("numpy==2.0.1 \\\n")
    assert not scratch.is_ready(scratch.RUN)
    scratch.prepare(scratch.RUN)
    assert installs(scratch) == 4
    assert environments_made(scratch) == 1


def test_the_tests_grow_from_the_demo_environment_and_replace_its_stamp(scratch: ModuleType) -> None:
    scratch.prepare(scratch.RUN)
    scratch.prepare(scratch.TEST)
    assert environments_made(scratch) == 1
    assert scratch.is_ready(scratch.TEST)
    assert not scratch.is_ready(scratch.RUN)


def test_an_environment_made_by_hand_is_filled_and_not_thrown_away(scratch: ModuleType) -> None:
    scratch.must("venv")
    own = scratch.RUN.path / "own"
    own.write_text("")
    scratch.prepare(scratch.RUN)
    assert scratch.is_ready(scratch.RUN)
    assert own.exists()


@pytest.mark.parametrize("spoil", ["other Python", "moved", "broken"])
def test_an_environment_that_cannot_be_used_is_made_again(scratch: ModuleType, spoil: str) -> None:
    scratch.prepare(scratch.RUN)
    python, settings = scratch.RUN.python, scratch.RUN.path / "pyvenv.cfg"
    if spoil == "moved":
        settings.write_text("command = python -m venv /elsewhere/.venv")
    else:
        python.unlink()
        python.write_text("#!/bin/sh\necho 3.10.1 True\n" if spoil == "other Python" else "")
        python.chmod(0o755)
    scratch.RUN.stamp.unlink()
    scratch.prepare(scratch.RUN)
    assert environments_made(scratch) == 2
    assert scratch.is_ready(scratch.RUN)


def test_one_failing_step_fails_the_whole_and_is_named(go: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    good, bad = [sys.executable, "-c", "pass"], [sys.executable, "-c", "raise SystemExit(3)"]
    assert go.steps({"first": bad, "second": good}) == 1
    assert "FAILED  first" in (shown := capfd.readouterr().out)
    assert "passed  second" in shown
    assert "1 of 2 failed: first." in shown
    assert go.steps({"first": good, "second": good}) == 0


def test_steps_that_run_two_at_once_are_all_run_and_what_failed_is_named(
    go: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    says = {
        name: [sys.executable, "-c", f"print('this is {name}'); raise SystemExit({code})"]
        for name, code in (("first", 0), ("second", 3), ("third", 0))
    }
    outcomes = go.two_at_once(says)
    assert {name: code for name, (code, _) in outcomes.items()} == {"first": 0, "second": 3, "third": 0}
    shown = capfd.readouterr().out
    assert all(f"== {name}\nthis is {name}" in shown for name in says)
    assert go.steps({}, before=outcomes) == 1
    assert "1 of 3 failed: second." in capfd.readouterr().out


def test_an_interrupt_gives_one_line_and_code_130(
    go: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(go.COMMANDS, "demo", interrupted)
    assert go.main(["demo"]) == 130
    assert capsys.readouterr().err.strip().count("\n") == 0


def test_a_python_without_venv_is_told_what_to_install(scratch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "has_module", lambda name: name == "pip")
    with pytest.raises(scratch.Stop, match="apt install python3-venv"):
        scratch.prepare(scratch.RUN)


def test_a_python_without_ensurepip_is_served_by_the_pip_outside(
    scratch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "has_module", lambda name: name != "ensurepip")
    scratch.prepare(scratch.RUN)
    made, packages, _ = scratch.taken
    assert "--without-pip" in made
    assert packages[:3] == (sys.executable, "-m", "pip")
    assert "--python" in packages


# -- the rest --------------------------------------------------------------------------------------


def test_ci_runs_the_same_command() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 go.py test" in script.read_text()


def test_the_version_is_the_same_everywhere() -> None:
    assert tacit.__version__ == PROJECT["project"]["version"]
    assert f"## {tacit.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_room_has_its_place_in_the_layers() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (each for each in contracts if each["type"] == "layers" and each["containers"] == ["tacit"])
    named = {room.strip(" ()") for layer in layers["layers"] for room in layer.split("|")}
    package = ROOT / "src" / "tacit"
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} <= named
    assert layers["exhaustive"] is True


def _stories() -> set[Path]:
    """The test modules that docs/architecture.md lists as stories."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"(?m)^\| `(tests/[\w/]*)` \| (.+) \|$", page.partition("### Where a test stands")[2])
    return {ROOT / folder / f"test_{name}.py" for folder, names in rows for name in names.split(", ")}


def _mirrors(test: Path) -> bool:
    """Whether a module or a package has this path and this name, which an aspect may follow."""
    name, folder = test.stem.removeprefix("test_"), test.parent.relative_to(ROOT / "tests")
    package = ROOT / "src" / "tacit" / folder
    if not (package / "__init__.py").exists():
        return False
    if name in ("common", folder.name):
        return True
    if folder == Path("learning", "neural"):  # one folder, so that one conftest says what needs torch
        return any(path.stem == name for path in package.rglob("*.py"))
    words = name.split("_")
    begun = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    return any((package / f"{each}.py").exists() or (package / each / "__init__.py").exists() for each in begun)


def test_every_test_module_mirrors_a_module_or_is_a_story_that_is_listed() -> None:
    tests = set((ROOT / "tests").rglob("test_*.py"))
    stories = _stories()
    assert stories - tests == set()
    assert {test for test in tests - stories if not _mirrors(test)} == set()
    assert {test for test in stories if _mirrors(test)} == set()


def test_no_file_of_the_package_is_too_long_to_read_in_one_sitting() -> None:
    """Examples do not count: they are looked up, not read through."""
    package = ROOT / "src" / "tacit"

    def length(text: str) -> int:
        return len(re.sub(r'\n\n +>>> .*?(?=\n\n|""")', "", text, flags=re.DOTALL).splitlines())

    lengths = {str(path.relative_to(package)): length(path.read_text()) for path in package.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_running_one_benchmark_again_leaves_the_other_figures_alone() -> None:
    replace = load(ROOT / "benchmarks" / "run.py").replace_section
    text = replace(replace("# Results\n", "noise", "## Noise\n\nold"), "loss", "## Loss\n\nkept")
    again = replace(text, "noise", "## Noise\n\nnew")
    assert "old" not in again
    assert "new" in again
    assert "## Loss\n\nkept" in again
    assert again.index("## Noise") < again.index("## Loss")
    assert again == replace(again, "noise", "## Noise\n\nnew")


def test_the_small_examples_run_without_a_terminal_and_show_every_lecture_figure() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "tacit.demo", "mechanisms"], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for figure in ("scale 10", "1.0986", "0.0577", "0.0270", "AB-", "basic", "10.000"):
        assert figure in done.stdout, figure


def _pip_that_would_install(
    go: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, version: str, code: int = 0
) -> None:
    """Stands in for pip: says what it would install, and ends with this code."""
    pip = folder / "pip.py"
    pip.write_text(
        "import json, sys\n"
        "where = sys.argv[sys.argv.index('--report') + 1]\n"
        f"json.dump({{'install': [{{'metadata': {{'version': {version!r}}}}}]}}, open(where, 'w'))\n"
        f"sys.exit({code})\n"
    )
    monkeypatch.setattr(go, "pip_for", lambda environment: [sys.executable, str(pip)])
    monkeypatch.setattr(go, "is_ready", lambda environment: False)


@pytest.mark.parametrize(("version", "code"), [("2.13.0", 0), ("2.13.0+cu130", 0), ("2.13.0+cpu", 1)])
def test_a_torch_for_graphics_cards_is_not_fetched_for_the_default_run(
    go: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    version: str,
    code: int,
) -> None:
    _pip_that_would_install(go, monkeypatch, tmp_path, version, code)
    monkeypatch.setattr(go, "prepare", lambda environment: pytest.fail("something is fetched"))
    assert go.neural_steps() == {}
    assert capsys.readouterr().out.count("\n") == 1


def test_a_torch_for_processors_is_fetched_for_the_default_run(
    go: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = []
    _pip_that_would_install(go, monkeypatch, tmp_path, "2.13.0+cpu")
    monkeypatch.setattr(go, "prepare", made.append)
    (step,) = go.neural_steps().values()
    assert made == [go.NEURAL]
    assert step[0] == go.NEURAL.tool("pytest")


def test_where_the_environment_of_torch_cannot_be_made_the_default_run_goes_on(
    go: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def full(environment: object) -> None:
        raise go.Stop("No space left on device")

    _pip_that_would_install(go, monkeypatch, tmp_path, "2.13.0+cpu")
    monkeypatch.setattr(go, "prepare", full)
    assert go.neural_steps() == {}
    said = capsys.readouterr().out
    assert "No space left on device" in said
    assert "Left out: tests that need torch" in said


def test_the_short_selection_of_neural_tests_is_there(go: ModuleType) -> None:
    assert all((ROOT / "tests" / "learning" / "neural" / name).exists() for name in go.NEURAL_SHORT)


def test_tests_of_networks_that_run_everywhere_import_no_torch() -> None:
    """They are collected also where there is none, which does not show where there is one."""
    folder = ROOT / "tests" / "learning" / "neural"
    everywhere = re.search(r"WITHOUT_TORCH = \{(.*)\}", (folder / "conftest.py").read_text())
    assert everywhere is not None
    for name in re.findall(r'"(.+?)"', everywhere[1]):
        for node in ast.walk(ast.parse((folder / name).read_text())):
            found = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            assert not any(each.split(".")[0] == "torch" for each in found), name
