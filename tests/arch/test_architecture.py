"""What reviews should not have to look for: imports, sizes, names, and that what is generated is fresh."""

import subprocess
import sys
from pathlib import Path

import pytest

from locktender.contracts.cleanup.flow import CLEANUP_JOB
from locktender.contracts.deployments.events import KINDS
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK

_ROOT = Path(__file__).resolve().parents[2]
_SOURCES = [
    path for part in ("libs", "services", "tools", "tests") for path in (_ROOT / part).rglob("*.py")
    if "__pycache__" not in path.parts and "build" not in path.parts
]  # fmt: skip
_BANNED = {"utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "misc", "core", "lib"}
_LIMIT = 400


def _run(program: str, *arguments: str) -> str:
    """What a program of this environment says when it fails; nothing when it succeeds."""
    command = [str(Path(sys.executable).parent / program), *arguments]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=300, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_imports_go_only_where_they_may() -> None:
    assert _run("lint-imports", "--no-cache") == ""


def test_what_is_generated_is_fresh() -> None:
    assert _run("python", "tools/generate.py", "--check") == ""


def test_migrations_lock_nothing_for_long() -> None:
    files = (_ROOT / "libs/storage/src/locktender/storage/migrations/sql").glob("*.sql")
    assert _run("squawk", *map(str, files)) == ""


def test_a_file_fits_into_a_head() -> None:
    long = {str(path.relative_to(_ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in _SOURCES}
    assert {path: lines for path, lines in long.items() if lines > _LIMIT} == {}


def test_a_module_is_named_for_what_it_does() -> None:
    assert [str(path.relative_to(_ROOT)) for path in _SOURCES if path.stem in _BANNED] == []


def test_the_namespace_belongs_to_no_distribution() -> None:
    assert list(_ROOT.glob("*/*/src/locktender/__init__.py")) == []


# A job is finished by the statement that removes its subject.
_ELSEWHERE = {"cleanup_job.finish": "deployment_task.remove"}


@pytest.mark.parametrize(
    "name",
    [f"{machine.name}.{step.name}" for machine in (DEPLOYMENT_TASK, CLEANUP_JOB) for step in machine.transitions],
)
def test_every_transition_has_its_statement(name: str) -> None:
    page = _ROOT / "docs/generated/sql" / f"{_ELSEWHERE.get(name, name)}.sql"
    assert page.is_file()


def test_every_change_of_a_task_is_an_event_of_a_known_kind() -> None:
    changes = [step for step in DEPLOYMENT_TASK.transitions if step.target is not None]
    assert {step.event for step in changes} <= set(KINDS)
