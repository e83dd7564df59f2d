"""The lane's second guard: at a commit, nothing that ended holds a lane, and no lane is free while somebody waits."""

from locktender.contracts.kernel.machine import in_order
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, DeploymentStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.clock import SCHEMA
from locktender.storage.kernel.tables import quoted

LANE_HELD_BY_ENDED, LANE_FREE_WITH_HEIR = "LT004", "LT005"
"""The SQLSTATEs with which the trigger refuses a commit."""


def lane_guard() -> list[str]:
    """The statements that (re)create the trigger. It runs when a transaction commits, so a command may pass through."""
    ended = quoted(in_order(STACK_DEPLOYMENT.terminal))
    # The text is made of our own constants.
    function = f"""create or replace function {SCHEMA}.stack_lane_guard() returns trigger language plpgsql as $$
declare
  holder uuid;
begin
  select s.lane_holder into holder from {SCHEMA}.stack s where s.id = new.stack_id;
  if holder is not null then
    if exists (select from {SCHEMA}.stack_deployment d where d.id = holder and d.status in ({ended})) then
      raise exception 'deployment % has ended and holds the lane of stack %', holder, new.stack_id
        using errcode = '{LANE_HELD_BY_ENDED}';
    end if;
  elsif exists (select from {SCHEMA}.stack_deployment d where d.stack_id = new.stack_id
                and d.status = '{DeploymentStatus.QUEUED}' and d.mode <> '{DeploymentMode.PLAN_UNLOCKED}') then
    raise exception 'the lane of stack % is free while a deployment waits for it', new.stack_id
      using errcode = '{LANE_FREE_WITH_HEIR}';
  end if;
  return null;
end $$;"""  # noqa: S608 - no value of anybody's is in it
    trigger = f"""create constraint trigger stack_lane_guard after insert or update of status
  on {SCHEMA}.stack_deployment deferrable initially deferred
  for each row execute function {SCHEMA}.stack_lane_guard();"""
    return [function, trigger]
