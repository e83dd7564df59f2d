"""State machines as data: one declaration feeds SQL guards, checks, triggers, documents and tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

S = TypeVar("S", bound=StrEnum)


class Actor(StrEnum):
    """Who may take a transition."""

    API = "api"
    RUNNER = "runner"
    REAPER = "reaper"


class Fence(StrEnum):
    """What a transition asks of the lease on the row, and does to it."""

    NONE = "none"
    """Asks nothing, changes nothing."""
    ACQUIRE = "acquire"
    """Takes a free row: epoch + 1, an owner and a deadline."""
    KEEP = "keep"
    """Moves a leased row for somebody else than its holder; epoch and lease stay."""
    HOLD = "hold"
    """Only the current epoch may write; the lease stays."""
    RELEASE = "release"
    """Only the current epoch may write; the lease ends."""
    BREAK = "break"
    """Takes the row from its holder: epoch + 1, no owner. What must be true first is the sweep's condition."""


@dataclass(frozen=True, slots=True)
class Transition(Generic[S]):
    """One legal move. `target` None means the status stays (a note on a live row)."""

    name: str
    sources: frozenset[S]
    target: S | None
    actor: Actor
    fence: Fence
    event: str | None
    """The event kind that the same statement records, or None where nothing is worth telling."""

    def edges(self) -> frozenset[tuple[S, S]]:
        """The status changes this transition can make; none for a note."""
        if self.target is None:
            return frozenset()
        return frozenset((source, self.target) for source in self.sources)


class InvalidMachine(ValueError):
    """A declaration that cannot be a sound state machine."""


@dataclass(frozen=True, slots=True)
class Machine(Generic[S]):
    """A set of states and the only moves between them.

    Raises:
        InvalidMachine: at import, when names repeat, a state cannot be reached, a lease is taken in a state
            that is not `leased`, or a terminal state is left.
    """

    name: str
    states: type[S]
    initial: S
    leased: frozenset[S]
    transitions: tuple[Transition[S], ...]

    def __post_init__(self) -> None:
        names = [step.name for step in self.transitions]
        if len(set(names)) != len(names):
            raise InvalidMachine(f"{self.name}: transition names repeat")
        if missing := set(self.states) - self._reachable():
            raise InvalidMachine(f"{self.name}: unreachable states {sorted(missing)}")
        for step in self.transitions:
            self._check_fence(step)

    @property
    def terminal(self) -> frozenset[S]:
        """States that no status change leaves."""
        left = {source for source, _ in self.edges()}
        return frozenset(state for state in self.states if state not in left)

    @property
    def active(self) -> frozenset[S]:
        """States that are not terminal."""
        return frozenset(self.states) - self.terminal

    def edges(self) -> frozenset[tuple[S, S]]:
        """Every legal status change."""
        return frozenset(edge for step in self.transitions for edge in step.edges())

    def _check_fence(self, step: Transition[S]) -> None:
        lands = step.sources if step.target is None else frozenset({step.target})
        leased_after = step.fence in {Fence.ACQUIRE, Fence.HOLD, Fence.KEEP}
        if step.fence is Fence.NONE:
            sound = step.target is None or not (step.sources | lands) & self.leased
        else:
            leased_before = step.fence is not Fence.ACQUIRE
            sound = (step.sources <= self.leased) is leased_before and (lands <= self.leased) is leased_after
        if not sound:
            raise InvalidMachine(f"{self.name}: {step.name} does not fit its fence {step.fence}")

    def _reachable(self) -> set[S]:
        seen, frontier = {self.initial}, [self.initial]
        while frontier:
            here = frontier.pop()
            fresh = {target for source, target in self.edges() if source is here} - seen
            seen |= fresh
            frontier.extend(fresh)
        return seen


def in_order(states: Iterable[S]) -> list[S]:
    """States in the order of their declaration, so that what is derived from a set is stable."""
    chosen = set(states)
    return [state for state in type(next(iter(chosen))) if state in chosen] if chosen else []
