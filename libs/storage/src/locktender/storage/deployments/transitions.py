"""Every transition of a deployment task as one prepared statement, and every sweep of the reaper."""

from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Text, Uuid, cast, func, null, select
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.deployments import flow
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK as MACHINE
from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.kernel.subjects import DEPLOYMENT_COMMAND_PREFIX
from locktender.storage.deployments.tables import DEPLOYMENTS, deployment_task
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.guarded import Command, Guarded, sweep_statement
from locktender.storage.kernel.statement import Statement, constant, parameter

_t = deployment_task.c


def _phase(phase: TaskPhase) -> dict[str, object]:
    return {"phase": constant(phase.value)}


_CLAIMED = ("namespace", "runner", "source", "timeline", "custodian", "identity", "asked")
_NO_RESUME: dict[str, object] = {"resume_requested_at": null(), "resume_requested_by": null()}

CLAIM = Guarded(DEPLOYMENTS, MACHINE, flow.CLAIM, constants=_phase(TaskPhase.PREPARE), returning=_CLAIMED)
RESUME = Guarded(
    DEPLOYMENTS, MACHINE, flow.RESUME,
    constants=_phase(TaskPhase.CONFIGURE) | _NO_RESUME,
    only_if=_t.resume_requested_at.is_not(None),
    returning=_CLAIMED,
)  # fmt: skip
CLAIMED = Statement(
    "deployment_task.claimed",
    select(_t.id, _t.workspace, _t.project, _t.lease_epoch, *[_t[name] for name in _CLAIMED]).where(
        _t.id == func.any(parameter("id", ARRAY(Uuid()))),
        _t.status == constant(flow.TaskStatus.RUNNING.value),
        _t.lease_owner == parameter("owner", Text()),
        _t.lease_claimed_at >= db_now() - seconds("since"),
    ),
)
"""What an owner has claimed in the last moments: the answer to a claim whose own answer was lost."""
RENEW = Guarded(
    DEPLOYMENTS, MACHINE, flow.RENEW,
    constants={"lease_expires_at": db_now() + seconds("ttl")},
    returning=("cancel_requested_at",),
)  # fmt: skip
RECORD = Guarded(DEPLOYMENTS, MACHINE, flow.RECORD, sets=("phase", "timeline"), returning=("cancel_requested_at",))
BEGIN_APPLYING = Guarded(
    DEPLOYMENTS, MACHINE, flow.BEGIN_APPLYING, sets=("timeline",), constants=_phase(TaskPhase.APPLY),
    returning=("cancel_requested_at",),
)  # fmt: skip
REQUEST_INPUTS = Guarded(
    DEPLOYMENTS, MACHINE, flow.REQUEST_INPUTS, sets=("timeline", "asked"),
    constants=_phase(TaskPhase.CONFIGURE) | {"custodian": null()},
    only_if=_t.cancel_requested_at.is_(None),
)  # fmt: skip
SUBMIT_INPUT = Guarded(
    DEPLOYMENTS, MACHINE, flow.SUBMIT_INPUT, sets=("resume_requested_by", "custodian"),
    constants={"resume_requested_at": db_now(), "hinted_at": db_now()},
    only_if=_t.resume_requested_at.is_(None),
    command=Command(DEPLOYMENT_COMMAND_PREFIX, "runner"),
)  # fmt: skip
ALLOCATE = Guarded(
    DEPLOYMENTS, MACHINE, flow.ALLOCATE, sets=("identity", "timeline"), returning=("cancel_requested_at",)
)
CLEAN_UP = Guarded(
    DEPLOYMENTS, MACHINE, flow.CLEAN_UP, sets=("timeline",), only_if=_t.cancel_requested_at.is_(None),
    returning=("cancel_requested_at",),
)  # fmt: skip
PLACE = Guarded(DEPLOYMENTS, MACHINE, flow.PLACE, sets=("canvas",))
PLACE_IF_EMPTY = Guarded(
    DEPLOYMENTS, MACHINE, flow.PLACE, sets=("canvas",), only_if=_t.canvas.is_(None), name="place_if_empty"
)
COMPLETE = Guarded(
    DEPLOYMENTS, MACHINE, flow.COMPLETE, sets=("timeline",), constants=_phase(TaskPhase.COMPLETED),
    only_if=_t.cancel_requested_at.is_(None),
)  # fmt: skip
FAIL = Guarded(DEPLOYMENTS, MACHINE, flow.FAIL, sets=("timeline", "failure"), only_if=_t.cancel_requested_at.is_(None))
ACKNOWLEDGE_CANCEL = Guarded(DEPLOYMENTS, MACHINE, flow.ACKNOWLEDGE_CANCEL, sets=("timeline",))
CANCEL = Guarded(
    DEPLOYMENTS, MACHINE, flow.CANCEL, sets=("cancel_requested_by",),
    constants={"cancel_requested_at": db_now()} | _NO_RESUME,
)  # fmt: skip
REQUEST_CANCEL = Guarded(
    DEPLOYMENTS, MACHINE, flow.REQUEST_CANCEL, sets=("cancel_requested_by",),
    constants={"cancel_requested_at": db_now()}, only_if=_t.cancel_requested_at.is_(None),
)  # fmt: skip

TRANSITIONS = (
    CLAIM, RESUME, RENEW, RECORD, ALLOCATE, CLEAN_UP, REQUEST_INPUTS, SUBMIT_INPUT, PLACE, BEGIN_APPLYING, COMPLETE,
    FAIL, ACKNOWLEDGE_CANCEL, CANCEL, REQUEST_CANCEL,
)  # fmt: skip

_asked = _t.cancel_requested_at.is_not(None)
_not_asked = _t.cancel_requested_at.is_(None)
_expired = _t.lease_expires_at <= db_now()


def _verdict(reason: str, status: str, message: str) -> ColumnElement[Any]:
    return cast(
        func.jsonb_build_object(
            constant("reason"), constant(reason), constant("verdict"), constant(status),
            constant("message"), constant(message),
        ),
        JSONB,
    )  # fmt: skip


def _failure(reason: FailureReason, message: str) -> dict[str, object]:
    return {
        "failure": func.jsonb_build_object(
            constant("reason"), constant(reason.value), constant("message"), constant(message)
        )
    }


_OVERDUE = "the runner did not confirm the cancel in time; the engine ended the task"
_INTERRUPTED_CANCEL = "the runner was lost after the cancel was asked for; nothing more is applied"
_OVERRUN = "the run took longer than it may"
_LOST = "the runner stopped answering; what was applied stays in the cluster"
_UNSTARTED = "no runner took the task in time"

SWEEPS = {
    "cancel-ack-deadline": sweep_statement(
        DEPLOYMENTS, MACHINE, flow.CANCEL_OVERDUE,
        due=_t.cancel_requested_at <= db_now() - seconds("patience"), order=_t.cancel_requested_at,
        message=_OVERDUE, payload=_verdict("cancel-ack-deadline", "cancelled", _OVERDUE),
    ),
    "interrupted-with-cancel": sweep_statement(
        DEPLOYMENTS, MACHINE, flow.CANCEL_INTERRUPTED,
        due=_asked & _expired, order=_t.lease_expires_at,
        message=_INTERRUPTED_CANCEL, payload=_verdict("interrupted-with-cancel", "cancelled", _INTERRUPTED_CANCEL),
    ),
    "timeout": sweep_statement(
        DEPLOYMENTS, MACHINE, flow.OVERRUN,
        due=_not_asked & (_t.lease_claimed_at <= db_now() - seconds("patience")), order=_t.lease_claimed_at,
        constants=_failure(FailureReason.TIMEOUT, _OVERRUN),
        message=_OVERRUN, payload=_verdict("timeout", "failed", _OVERRUN),
    ),
    "interrupted": sweep_statement(
        DEPLOYMENTS, MACHINE, flow.INTERRUPT,
        due=_not_asked & _expired, order=_t.lease_expires_at,
        constants=_failure(FailureReason.INTERRUPTED, _LOST),
        message=_LOST, payload=_verdict("interrupted", "failed", _LOST),
    ),
    "never-started": sweep_statement(
        DEPLOYMENTS, MACHINE, flow.NEVER_STARTED,
        due=_t.created_at <= db_now() - seconds("patience"), order=_t.created_at,
        constants=_failure(FailureReason.NEVER_STARTED, _UNSTARTED),
        message=_UNSTARTED, payload=_verdict("never-started", "failed", _UNSTARTED),
    ),
}  # fmt: skip
"""The reaper's verdicts by reason, in the order in which a pass runs them."""

HINT = sweep_statement(
    DEPLOYMENTS, MACHINE, flow.HINT,
    due=_t.hinted_at <= db_now() - seconds("patience"), order=_t.hinted_at,
    constants={"hinted_at": db_now()},
    command=Command(DEPLOYMENT_COMMAND_PREFIX, "runner"),
)  # fmt: skip

HINT_RESUME = sweep_statement(
    DEPLOYMENTS, MACHINE, flow.HINT_RESUME,
    due=_t.resume_requested_at.is_not(None) & (_t.hinted_at <= db_now() - seconds("patience")),
    order=_t.resume_requested_at,
    constants={"hinted_at": db_now()},
    command=Command(DEPLOYMENT_COMMAND_PREFIX, "runner"),
)  # fmt: skip

_UNTAKEN = "no runner took the inputs in time; they are forgotten, please submit them again"

WITHDRAW_INPUT = sweep_statement(
    DEPLOYMENTS, MACHINE, flow.WITHDRAW_INPUT,
    due=_t.resume_requested_at <= db_now() - seconds("patience"), order=_t.resume_requested_at,
    constants=_NO_RESUME | {"custodian": null()},
    message=_UNTAKEN, payload=_verdict("never-started", "blocked", _UNTAKEN),
)  # fmt: skip
"""Inputs that nobody took: the task is simply blocked again, and asks for them."""
