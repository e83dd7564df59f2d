"""What has to be true of stacks after every commit, asked of the tables alone, and of processes, asked of the system.

Independent of the product's own reconcilers on purpose: what they overlook, this must find.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

_WORDS = {
    "ended": "('finished', 'failed', 'cancelled', 'skipped')",
    "over": "('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded')",
    "leased": "('running', 'requested_cancellation', 'cancelling')",
    "newest": "select x.id, x.number, x.mode, x.status, x.created_at, x.completed_at"
    " from locktender.stack_deployment x where x.stack_id = s.id and x.mode <> 'plan_unlocked'"
    " order by x.created_at desc, x.id desc limit 1",
}

_RULES: Mapping[str, str] = {
    "two deployments at work in one lane": """
        select d.stack_id from locktender.stack_deployment d where d.mode <> 'plan_unlocked'
        and d.status not in ('queued', 'finished', 'failed', 'cancelled', 'skipped')
        group by d.stack_id having count(*) > 1""",
    "a deployment at work without the lane": """
        select d.id from locktender.stack_deployment d join locktender.stack s on s.id = d.stack_id
        where d.mode <> 'plan_unlocked' and d.status <> 'queued' and d.status not in $ended
        and s.lane_holder is distinct from d.id""",
    "a lane held by what has ended, is queued or only looks": """
        select s.id from locktender.stack s join locktender.stack_deployment d on d.id = s.lane_holder
        where d.status in $ended or d.status = 'queued' or d.mode = 'plan_unlocked' or d.stack_id <> s.id""",
    "a free lane with an heir": """
        select s.id from locktender.stack s where s.lane_holder is null and exists (
          select from locktender.stack_deployment d where d.stack_id = s.id and d.status = 'queued'
          and d.mode <> 'plan_unlocked')""",
    "what only looks waits for a lane": """
        select d.id from locktender.stack_deployment d where d.mode = 'plan_unlocked'
        and d.status in ('queued', 'waiting', 'applying')""",
    "a run that nobody accepted is being cancelled": """
        select r.id from locktender.stack_run r where r.status in ('requested_cancellation', 'cancelling')
        and (r.started_at is null or r.lease_epoch = 0)""",
    "a lease, a token or a start beside the status": """
        select r.id from locktender.stack_run r where (r.status in $leased) <> (r.token_hash is not null)
        or (r.status in $leased) <> (r.lease_owner is not null) or r.lease_epoch > 2
        or (r.status in ('queued', 'pending', 'assigned', 'startup_timeout', 'discarded') and r.lease_epoch > 0)""",
    "an ended deployment with an open run or stage": """
        select d.id from locktender.stack_deployment d where d.status in $ended and (
          exists (select from locktender.stack_run r where r.deployment_id = d.id and r.status not in $over)
          or exists (select from locktender.stack_stage g where g.deployment_id = d.id
                     and g.status not in ('done', 'failed', 'cancelled', 'skipped')))""",
    "an open deployment whose run does not say the same": """
        select d.id from locktender.stack_deployment d where d.status not in $ended and d.status <> 'waiting'
        and 1 <> (select count(*) from locktender.stack_run r where r.deployment_id = d.id and case d.status
          when 'queued' then r.status = 'queued' when 'pending' then r.status in ('pending', 'assigned')
          when 'planning' then r.status = 'running' when 'applying' then r.status in ('pending', 'assigned', 'running')
          else r.status = d.status end)""",
    "a wait for a person without a question, or with a run": """
        select d.id from locktender.stack_deployment d where d.status = 'waiting' and (
          exists (select from locktender.stack_run r where r.deployment_id = d.id and r.status not in $over)
          or 1 <> (select count(*) from locktender.stack_stage g where g.deployment_id = d.id
                   and g.kind = 'confirmation' and g.status = 'running'))""",
    "several acts on a deployment in one transaction": """
        select a.deployment_id from locktender.stack_activity a group by a.deployment_id, a.transaction
        having count(*) > 1""",
    "an automatic apply of what was not measured, or destroys": """
        select a.deployment_id from locktender.stack_activity a
        join locktender.stack_deployment d on d.id = a.deployment_id join locktender.stack s on s.id = d.stack_id
        where a.kind = 'auto_applied' and (d.mode <> 'plan' or s.auto_approve = 'manual' or s.auto_approve =
          'non_destructive' and not exists (
            select from locktender.stack_run r join locktender.stack_run p on p.id = r.plan_run_id
            where r.deployment_id = d.id and p.summary->'gaps' = '[]'
            and (p.summary->'counts'->>'delete')::int + (p.summary->'counts'->>'replace')::int = 0))""",
    "an apply nobody agreed to": """
        select r.id from locktender.stack_run r where r.mode = 'apply' and not exists (
          select from locktender.stack_activity a where a.deployment_id = r.deployment_id
          and a.kind in ('auto_applied', 'confirmed_apply'))""",
    "an apply on an uncertain stack that is no refresh": """
        select r.id from locktender.stack_run r join locktender.stack s on s.id = r.stack_id
        join locktender.stack_deployment d on d.id = r.deployment_id
        where s.uncertain_since is not null and r.mode = 'apply' and d.mode <> 'refresh'
        and r.status not in $over""",
    "two applies of one plan": """
        select r.plan_run_id from locktender.stack_run r where r.plan_run_id is not null
        group by r.plan_run_id having count(*) > 1""",
    "a summary that is not what it is derived from": """
        select s.id from locktender.stack s left join lateral ($newest) n on true
        where (s.latest_deployment_id, s.latest_deployment_number, s.latest_deployment_mode,
               s.latest_deployment_status, s.latest_deployment_created_at, s.latest_deployment_completed_at)
        is distinct from (n.id, n.number, n.mode, n.status, n.created_at, n.completed_at)""",
    "a lock on the state that no live run holds": """
        select s.id from locktender.stack s where s.state_lock is not null and not exists (
          select from locktender.stack_run r where r.id = s.state_lock_run_id and r.status in $leased)""",
}  # fmt: skip
_ALL = Template(
    " union all ".join(
        f"select '{name}' as rule, (found.*)::text as row from ({rule}) found"  # noqa: S608 - ours, all of it
        for name, rule in _RULES.items()
    )
).substitute(_WORDS)

_LANES = """
select s.id, s.lane_holder, s.lane_taken_at, coalesce((
  select array_agg(d.id order by d.prioritized_at asc nulls last, d.created_at, d.id)
  from locktender.stack_deployment d where d.stack_id = s.id and d.status = 'queued' and d.mode <> 'plan_unlocked'
), '{}') as queue from locktender.stack s
"""
_PLACE = "select prioritized_at, created_at, id from locktender.stack_deployment where id = $1"


class Lane(NamedTuple):
    """Who holds the lane of a stack since when, and who waits, first come first."""

    holder: UUID | None
    since: datetime | None
    queue: tuple[UUID, ...]


async def broken_rules(connection: "asyncpg.Connection[asyncpg.Record]") -> list[tuple[str, str]]:
    """What is not as it has to be at this commit: the rule, and the key of the row."""
    return [(row["rule"], row["row"]) for row in await connection.fetch(_ALL)]


async def lanes(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[UUID, Lane]:
    """The lanes of all stacks."""
    rows = await connection.fetch(_LANES)
    return {row["id"]: Lane(row["lane_holder"], row["lane_taken_at"], tuple(row["queue"])) for row in rows}


async def assert_order_kept(
    connection: "asyncpg.Connection[asyncpg.Record]", before: Mapping[UUID, Lane], after: Mapping[UUID, Lane]
) -> None:
    """Fail if a lane was given to one while another had come before it, and still waits."""
    for stack, lane in after.items():
        if lane.holder is None or not lane.queue or (stack in before and before[stack].holder == lane.holder):
            continue
        new, first = [await connection.fetchrow(_PLACE, each) for each in (lane.holder, lane.queue[0])]
        assert _place(new) < _place(first), f"{lane.holder} has the lane of {stack}, and {lane.queue[0]} came before it"


def _place(row: Any) -> tuple[object, ...]:
    return row["prioritized_at"] is None, row["prioritized_at"] or row["created_at"], row["created_at"], row["id"]


def processes_about(*words: str) -> dict[int, str]:
    """The live processes besides this one whose environment or arguments have one of `words`, or that work below it."""
    found: dict[int, str] = {}
    wanted = [word.encode() for word in words]
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                continue
            place = os.fsencode((entry / "cwd").readlink())
            told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes() + place
            if any(word in told for word in wanted):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found
