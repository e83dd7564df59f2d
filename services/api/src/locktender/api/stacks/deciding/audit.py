"""The audit channel: who commanded what. Scripts, variables and credentials never reach it."""

from collections.abc import Sequence
from uuid import UUID

import structlog

_NAME = "locktender.audit"
_log = structlog.stdlib.get_logger(_NAME)


def audit(kind: str, *, actor: str, workspace: str, stack: str, deployment: int) -> None:
    """Somebody commanded something of one deployment, and it was recorded."""
    _log.info(
        "a command on a stack",
        logger=_NAME,
        kind=kind,
        actor=actor,
        workspace=workspace,
        stack=stack,
        deployment=deployment,
    )


def audit_bulk(kind: str, *, actor: str, workspace: str, stack: str | None, deployments: Sequence[UUID]) -> None:
    """The same of several. `stack` is None where they are of the whole workspace."""
    told = [str(each) for each in deployments]
    _log.info(
        "a command on stacks", logger=_NAME, kind=kind, actor=actor, workspace=workspace, stack=stack, deployments=told
    )
