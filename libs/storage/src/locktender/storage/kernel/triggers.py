"""The second guard: a trigger that knows the transition table, so that not even psql can take an illegal edge."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from locktender.contracts.kernel.machine import Fence, Machine, in_order
from locktender.storage.kernel.clock import SCHEMA
from locktender.storage.kernel.tables import quoted

S = TypeVar("S", bound=StrEnum)

ILLEGAL_EDGE, STALE_EPOCH, FINAL_ROW = "LT001", "LT002", "LT003"
"""The SQLSTATEs with which the trigger refuses."""


def guard_trigger(machine: Machine[S], columns: Sequence[str] = ()) -> list[str]:
    """The statements that (re)create the trigger of one machine's table, which bears the machine's name.

    Where `columns` are given, a write to none of them is let through, also to a row that is final.
    """
    table = f"{SCHEMA}.{machine.name}"
    edges = ", ".join(
        f"('{source}', '{target}')"
        for source in in_order(machine.states)
        for target in in_order(t for s, t in machine.edges() if s is source)
    )
    function = f"""create or replace function {table}_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception '{machine.name} must start as {machine.initial}, not %', new.status
      using errcode = '{ILLEGAL_EDGE}';
  end if;
  if old.status in ({quoted(machine.terminal)}) then
    raise exception '{machine.name} % is % and final', old.id, old.status using errcode = '{FINAL_ROW}';
  end if;
  if old.status <> new.status and (old.status, new.status) not in ({edges}) then
    raise exception '{machine.name} % cannot go from % to %', old.id, old.status, new.status
      using errcode = '{ILLEGAL_EDGE}';
  end if;
{_epoch_guard(machine)}  return new;
end $$;"""
    starts = f"""create trigger {machine.name}_starts before insert on {table} for each row
  when (new.status <> '{machine.initial}') execute function {table}_guard();"""
    update = f"update of {', '.join(columns)}" if columns else "update"
    moves = f"""create trigger {machine.name}_moves before {update} on {table} for each row
  when (old.status <> new.status{_older_epoch(machine)}
    or old.status in ({quoted(machine.terminal)})) execute function {table}_guard();"""
    return [function, starts, moves]


def _older_epoch(machine: Machine[S]) -> str:
    return " or new.lease_epoch < old.lease_epoch" if machine.leased else ""


def _epoch_guard(machine: Machine[S]) -> str:
    if not machine.leased:
        return ""
    takes = sorted(
        {
            (str(s), str(step.target))
            for step in machine.transitions
            if step.fence is Fence.ACQUIRE
            for s in step.sources
        }
    )
    acquiring = ", ".join(f"('{source}', '{target}')" for source, target in takes)
    return f"""  if new.lease_epoch < old.lease_epoch
     or ((old.status, new.status) in ({acquiring}) and new.lease_epoch <> old.lease_epoch + 1) then
    raise exception '{machine.name} % is at epoch %, not %', old.id, old.lease_epoch, new.lease_epoch
      using errcode = '{STALE_EPOCH}';
  end if;
"""
