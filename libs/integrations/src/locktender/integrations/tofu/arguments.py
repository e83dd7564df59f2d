"""The arguments of every command that a run starts. Nothing secret is in them: any user of a machine can read them."""

import re
from collections.abc import Sequence
from typing import assert_never

from locktender.contracts.stacks.vocabulary import RunMode
from locktender.contracts.stacks.wire import Narrowing
from locktender.integrations.tofu.engine import Engine
from locktender.integrations.tofu.failures import ExcludesUnsupported, UnsafeAddress

_LOCK_SECONDS = 60
_LONGEST_ADDRESS = 2000
_NAME = r"[^\W\d][\w-]*"
_INDEX = r"""(?:\[(?:\d+|"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*")\])?"""
_ADDRESS = re.compile(
    rf"(?:module\.{_NAME}{_INDEX}\.)*(?:module\.{_NAME}{_INDEX}|(?:data\.|ephemeral\.)?{_NAME}\.{_NAME}{_INDEX})"
)


def init(engine: Engine) -> list[str]:
    """Fetch providers and modules, and connect to the backend."""
    return [engine.path, "init", "-input=false", "-no-color"]


def plan(engine: Engine, mode: RunMode, narrowing: Narrowing, plan_file: str) -> list[str]:
    """Plan in one of the plan-style modes. Exit codes: 0 no changes, 2 changes, everything else an error.

    The state is not locked: the lane of the stack is the lock, and a plan that holds no lane only looks.

    Raises:
        ExcludesUnsupported: the engine cannot leave resources out.
        UnsafeAddress: what should be an address is none.
        ValueError: the mode is not plan-style.
    """
    if narrowing.excludes and not engine.can_exclude:
        raise ExcludesUnsupported(f"{engine.tool} {engine.version}")
    return [
        engine.path,
        "plan",
        "-input=false",
        "-no-color",
        "-lock=false",
        "-detailed-exitcode",
        f"-out={plan_file}",
        *_of_mode(mode),
        *_of_addresses("-target", "targets", narrowing.targets),
        *_of_addresses("-exclude", "excludes", narrowing.excludes),
        *_of_addresses("-replace", "replaces", narrowing.replaces),
    ]


def show_plan(engine: Engine, plan_file: str) -> list[str]:
    """The plan as JSON. It holds sensitive values in clear."""
    return [engine.path, "show", "-json", "-no-color", plan_file]


def show_state(engine: Engine) -> list[str]:
    """The state as JSON, in the form for readers. It holds sensitive values in clear."""
    return [engine.path, "show", "-json", "-no-color"]


def pull_state(engine: Engine) -> list[str]:
    """The state as it is kept, with its lineage and serial; nothing where there is no state yet."""
    return [engine.path, "state", "pull"]


def apply(engine: Engine, plan_file: str) -> list[str]:
    """Apply exactly what a plan file holds."""
    return [engine.path, "apply", "-input=false", "-no-color", f"-lock-timeout={_LOCK_SECONDS}s", plan_file]


def raw(shell: str, script_file: str) -> list[str]:
    """A script of the user, traced. Its text stays in the file."""
    return [shell, "-x", script_file]


def _of_mode(mode: RunMode) -> list[str]:
    match mode:
        case RunMode.PLAN:
            return []
        case RunMode.DESTROY:
            return ["-destroy"]
        case RunMode.REFRESH:
            return ["-refresh-only"]
        case RunMode.APPLY | RunMode.RAW:
            raise ValueError(f"{mode} does not plan")
        case _:
            assert_never(mode)


def _of_addresses(option: str, listed_as: str, addresses: Sequence[str]) -> list[str]:
    for place, address in enumerate(addresses):
        if len(address) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(address):
            raise UnsafeAddress(listed_as, place)
    return [f"{option}={address}" for address in addresses]
