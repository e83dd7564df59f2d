"""I01: every transition was told, or waits to be told with a named reason, and in its order."""

from sqlalchemy import Text, and_, cast, exists, func, select

from locktender.storage.deployments.tables import deployment_event, deployment_task
from locktender.storage.kernel.statement import constant
from locktender.storage.kernel.tables import outbox
from locktender.storage.verify.check import check, overdue, recent

_e, _t, _o = deployment_event.c, deployment_task.c, outbox.c
_earlier, _later = outbox.alias("earlier"), outbox.alias("later")

_subject = cast(_e.task_id, Text).label("subject")
_at_revision = func.concat(constant("revision "), _e.revision, constant(", "), _e.kind).label("detail")
_its_row = and_(_o.aggregate == cast(_e.task_id, Text), _o.revision == _e.revision, recent(_o.created_at))

# A redriven row has been told before, so it counts as one that was tried and says nothing about the order.
_out_of_order = and_(
    _later.c.aggregate == _earlier.c.aggregate,
    _later.c.seq > _earlier.c.seq,
    _later.c.published_at.is_not(None),
    recent(_earlier.c.created_at),
    recent(_later.c.created_at),
    _earlier.c.revision.is_not(None),
    _earlier.c.attempts == constant(0),
    _earlier.c.published_at.is_(None) | (_earlier.c.published_at > _later.c.published_at),
)

CHECKS = (
    check(
        "I01", "an outbox row waits and nothing says why",
        select(
            _o.aggregate.label("subject"),
            func.concat(constant("seq "), _o.seq, constant(", "), _o.type).label("detail"),
        )
        .where(_o.published_at.is_(None), _o.last_error.is_(None), overdue(_o.created_at, "publish"))
        .order_by(_o.seq),
    ),
    check(
        "I01", "a recorded event has no outbox row",
        select(_subject, _at_revision)
        .where(recent(_e.created_at), ~exists().where(_its_row))
        .order_by(_e.task_id, _e.revision),
    ),
    check(
        "I01", "an event was told that is not recorded",
        select(_o.aggregate.label("subject"), func.concat(constant("revision "), _o.revision).label("detail"))
        .where(
            recent(_o.created_at),
            _o.revision.is_not(None),
            ~_o.tombstone,
            exists().where(cast(_t.id, Text) == _o.aggregate),
            ~exists().where(cast(_e.task_id, Text) == _o.aggregate, _e.revision == _o.revision),
        )
        .order_by(_o.seq),
    ),
    check(
        "I01", "an event was told before the one that precedes it",
        select(
            _earlier.c.aggregate.label("subject"),
            func.concat(
                constant("revision "), _earlier.c.revision, constant(" after "), _later.c.revision
            ).label("detail"),
        )
        .where(_out_of_order)
        .order_by(_earlier.c.seq),
    ),
)  # fmt: skip
"""The ways in which telling can go wrong."""
