"""A state machine as a diagram and a table."""

from enum import StrEnum
from typing import TypeVar

from locktender.contracts.kernel.machine import Fence, Machine, in_order

S = TypeVar("S", bound=StrEnum)

_FENCES = {
    Fence.NONE: "none",
    Fence.ACQUIRE: "takes the lease, epoch + 1",
    Fence.KEEP: "none; the lease stays with its holder",
    Fence.HOLD: "only under the present epoch",
    Fence.RELEASE: "only under the present epoch; the lease ends",
    Fence.BREAK: "takes the lease away, epoch + 1",
}


def state_page(machine: Machine[S]) -> str:
    """The page of one machine, in Markdown."""
    lines = [
        f"# `{machine.name}`",
        "",
        "```mermaid",
        "stateDiagram-v2",
        f"    [*] --> {machine.initial}",
        *_arrows(machine),
        *(f"    {state} --> [*]" for state in in_order(machine.terminal)),
        "```",
        "",
        (
            f"Somebody holds the row in: {_list(in_order(machine.leased)) or 'no state'}. "
            f"Final: {_list(in_order(machine.terminal))}."
        ),
        "",
        "| transition | from | to | by | lease | event |",
        "|---|---|---|---|---|---|",
    ]
    for step in machine.transitions:
        target = "stays" if step.target is None else f"`{step.target}`"
        event = "" if step.event is None else f"`{step.event}`"
        sources = _list(in_order(step.sources))
        lines.append(f"| `{step.name}` | {sources} | {target} | {step.actor} | {_FENCES[step.fence]} | {event} |")
    return "\n".join(lines) + "\n"


def _arrows(machine: Machine[S]) -> list[str]:
    """One arrow an edge, however many transitions take it."""
    names: dict[tuple[S, S], list[str]] = {}
    for step in machine.transitions:
        for source in in_order(step.sources):
            if step.target is not None:
                names.setdefault((source, step.target), []).append(step.name)
    return [f"    {source} --> {target}: {', '.join(steps)}" for (source, target), steps in names.items()]


def _list(states: list[S]) -> str:
    return ", ".join(f"`{state}`" for state in states)
