from pathlib import Path

import pytest

from locktender.contracts.stacks.vocabulary import EngineChoice
from locktender.integrations.tofu.engine import Engine, find_engine
from locktender.integrations.tofu.failures import EngineMissing, EngineUnusable
from locktender.integrations.tofu.leftovers import Mark

MARK = Mark("11111111-1111-4111-8111-111111111111", 1)


def installed(directory: Path, tool: str, script: str) -> None:
    program = directory / tool
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def answering(version: str) -> str:
    return f"""echo '{{"terraform_version": "{version}"}}'; echo 'Warning: old' >&2"""


async def found(choice: EngineChoice, directory: Path) -> Engine:
    return await find_engine(choice, search_path=str(directory), directory=directory, environment={}, mark=MARK)


async def test_opentofu_is_preferred_unless_the_stack_asks_for_terraform(tmp_path: Path) -> None:
    installed(tmp_path, "terraform", answering("1.11.4"))
    assert (await found(EngineChoice.AUTO, tmp_path)).tool == "terraform"
    installed(tmp_path, "tofu", answering("1.10.0"))
    assert await found(EngineChoice.AUTO, tmp_path) == Engine("tofu", str(tmp_path / "tofu"), "1.10.0")
    assert (await found(EngineChoice.TERRAFORM, tmp_path)).version == "1.11.4"


async def test_the_engine_that_a_stack_asks_for_is_never_replaced_by_the_other(tmp_path: Path) -> None:
    installed(tmp_path, "terraform", answering("1.11.4"))
    with pytest.raises(EngineMissing, match="the runner has no tofu; install it"):
        await found(EngineChoice.TOFU, tmp_path)


@pytest.mark.parametrize(
    ("script", "why"), [("exit 3", "exit code 3"), ("echo v1", "no JSON"), ("echo [1]", "names no version")]
)
async def test_a_program_that_does_not_say_its_version_is_no_engine(tmp_path: Path, script: str, why: str) -> None:
    installed(tmp_path, "tofu", script)
    with pytest.raises(EngineUnusable, match=why):
        await found(EngineChoice.AUTO, tmp_path)


@pytest.mark.parametrize(
    ("tool", "version", "can"),
    [("tofu", "1.9.0", True), ("tofu", "1.10.3", True), ("tofu", "1.8.9", False), ("terraform", "1.11.4", False)],
)
def test_only_a_recent_opentofu_can_exclude(tool: str, version: str, *, can: bool) -> None:
    assert Engine(tool, "/bin/x", version).can_exclude is can
