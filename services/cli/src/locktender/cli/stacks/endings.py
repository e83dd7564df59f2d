"""The exit code of a command that was about a deployment."""

from typing import Any

from locktender.cli.exits import Exit
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, DeploymentStatus

Json = dict[str, Any]

LIKE_TERRAFORM = Exit.USAGE
"""`--detailed-exitcode`: 2 for a plan with changes, where the wrapped tool says so as well."""


def is_over(deployment: Json) -> bool:
    """Whether it has ended."""
    return deployment["status"] in STACK_DEPLOYMENT.terminal


def waits(deployment: Json) -> bool:
    """Whether it waits for a person to confirm it."""
    return deployment["status"] == DeploymentStatus.WAITING


def exit_of(deployment: Json, *, detailed: bool = False) -> Exit:
    """0 for a deployment that finished or still runs, 7 (or 2) for one that waits for a person, 8 for a skipped one."""
    match deployment["status"]:
        case DeploymentStatus.FAILED | DeploymentStatus.CANCELLED:
            return Exit.FAILED
        case DeploymentStatus.SKIPPED:
            return Exit.SKIPPED
        case DeploymentStatus.WAITING:
            return LIKE_TERRAFORM if detailed else Exit.PARKED
        case _:
            return Exit.OK
