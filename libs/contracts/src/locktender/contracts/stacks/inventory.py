"""What is known of a stack as it is now: its resources, its outputs, its graph. Unknown is never shown as empty."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from pydantic import Field

from locktender.contracts.stacks.analysis import ResourceGraph, StateOutput
from locktender.contracts.stacks.models import StackWire
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin, RunMode

TELLS_STATE: Final = frozenset({DeploymentMode.PLAN, DeploymentMode.DESTROY, DeploymentMode.REFRESH})
"""Deployments whose runs say what the state holds. Without the lane a run might look in the middle of an apply, and a
script says nothing; whatever the source, the state is the same one."""

TELLS_GRAPH: Final = frozenset({Origin.MANUAL, Origin.RETRY, Origin.SCM, Origin.DEPENDENCY})
"""Origins that run what the stack is configured to run: the graph is of the source, which a pull request changes."""

MOST_ADDRESSES: Final = 100
LONGEST_ADDRESS: Final = 1000


class FoundBy(StackWire):
    """The run that found something out."""

    run_id: UUID
    run_mode: RunMode = Field(description="An apply saw the state that it left; every other run the one it found.")
    deployment_number: int
    commit: str
    completed_at: datetime


class Knowledge(StackWire):
    """What is known, and by whom. Where it is not, `reason` says so, and what would be shown is null, not empty."""

    known: bool
    reason: str | None = Field(description="Null where it is known.")
    source: FoundBy | None = Field(description="Null where it is not known.")


class StateKnowledge(Knowledge):
    """What is known of a state."""

    outdated: str | None = Field(
        description="Why the state may hold something else by now. Null: no write is known that came after."
    )


class ResourceShown(StackWire):
    """One object of the state. `attributes` and `sensitive` are absent unless the resource was asked for by address."""

    address: str
    module: str | None = None
    mode: str = Field(default="managed", description="`managed` or `data`.")
    type: str
    name: str
    provider: str | None = None
    deposed: str | None = None
    tainted: bool = False
    depends_on: tuple[str, ...] = ()
    attributes: dict[str, Any] | None = Field(
        default=None, description="`(sensitive value)` stands for what is withheld."
    )
    sensitive: Any = Field(default=None, description="A parallel tree in which `true` marks what is withheld.")


class StackResources(StateKnowledge):
    """The inventory of a stack, or those of its resources that were asked for."""

    resources: tuple[ResourceShown, ...] | None


class StackOutputs(StateKnowledge):
    """The outputs of a stack, sensitive ones withheld."""

    outputs: tuple[StateOutput, ...] | None


class StackGraph(Knowledge):
    """How the resources of a stack's configuration depend on each other."""

    graph: ResourceGraph | None
