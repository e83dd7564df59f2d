"""Which engine there is: OpenTofu if it is on the PATH, else Terraform, or the one that a stack asks for."""

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never, cast

from locktender.contracts.stacks.vocabulary import EngineChoice
from locktender.integrations.tofu.failures import CommandUnstartable, EngineMissing, EngineUnusable, TooMuchOutput
from locktender.integrations.tofu.halting import Halt
from locktender.integrations.tofu.leftovers import Mark
from locktender.integrations.tofu.process import Command, Ran, run

TOFU = "tofu"
TERRAFORM = "terraform"

_VERSION_SECONDS = 20.0
_VERSION_BYTES = 1_000_000
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What a runner's operator decides about engines.

    Attributes:
        search_path: where engines, and the programs that they start, are looked for: the PATH of every run.
        cli_config: a CLI configuration (mirrors, registries) for every run; None means none, not the one in a home.
        plugin_cache: a directory in which runs share downloaded providers.
        passed_on: further variables for every run, such as a proxy's. Nothing else of the service is inherited.
    """

    search_path: str
    cli_config: Path | None = None
    plugin_cache: Path | None = None
    passed_on: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that answered. `tool` is `tofu` or `terraform`."""

    tool: str
    path: str
    version: str

    @property
    def can_exclude(self) -> bool:
        """Whether it knows `-exclude`: OpenTofu since 1.9."""
        return self.tool == TOFU and self._numbers >= (1, 9)

    @property
    def _numbers(self) -> tuple[int, int]:
        match = _NUMBERS.match(self.version)
        return (int(match[1]), int(match[2])) if match else (0, 0)


async def find_engine(
    choice: EngineChoice, *, search_path: str, directory: Path, environment: Mapping[str, str], mark: Mark
) -> Engine:
    """The engine that `choice` asks for, with the version that it gives itself. `directory` is where it is asked.

    Raises:
        EngineMissing: it is not on `search_path`.
        EngineUnusable: it does not say its version within twenty seconds.
    """
    tool, path = _located(choice, search_path)
    said = bytearray()

    async def complaint(chunk: bytes) -> None:
        said[:] = (said + chunk)[-400:]

    command = Command([path, "version", "-json"], directory, environment, captured=_VERSION_BYTES)
    try:
        async with asyncio.timeout(_VERSION_SECONDS):
            ran = await run(command, mark=mark, halt=Halt(), output=complaint)
    except TimeoutError as fault:
        raise EngineUnusable(path, f"no answer within {_VERSION_SECONDS:.0f} s") from fault
    except (CommandUnstartable, TooMuchOutput) as fault:
        raise EngineUnusable(path, str(fault)) from fault
    return Engine(tool=tool, path=path, version=_version(ran, path))


def _located(choice: EngineChoice, search_path: str) -> tuple[str, str]:
    match choice:
        case EngineChoice.AUTO:
            tools, asked = (TOFU, TERRAFORM), None
        case EngineChoice.TOFU:
            tools, asked = (TOFU,), TOFU
        case EngineChoice.TERRAFORM:
            tools, asked = (TERRAFORM,), TERRAFORM
        case _:
            assert_never(choice)
    for tool in tools:
        if path := shutil.which(tool, path=search_path):
            return tool, str(Path(path).absolute())
    raise EngineMissing(asked)


def _version(ran: Ran, path: str) -> str:
    if ran.code != 0:
        raise EngineUnusable(path, f"it ended with exit code {ran.code}")
    try:
        answer = cast("object", json.loads(ran.captured))
    except ValueError as fault:
        raise EngineUnusable(path, "its answer is no JSON") from fault
    # OpenTofu gives its own version under this name as well.
    version = cast("dict[str, object]", answer).get("terraform_version") if isinstance(answer, dict) else None
    if not isinstance(version, str) or not _NUMBERS.match(version):
        raise EngineUnusable(path, "its answer names no version")
    return version
