"""What is known of a plan and of a state after OpenTofu or Terraform described them. JSON is camelCase.

Everything here is safe to store and to show: what the engine marks as sensitive was replaced where the run took place.
"""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MASKED = "(sensitive value)"
"""What stands for a value that is withheld."""


class AnalysisPart(BaseModel):
    """The ground under every object here: camelCase outside, immutable.

    Unknown members are ignored, not refused: a newer runner may say more than this reader knows.
    """

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True
    )


class GapReason(StrEnum):
    """Why the numbers of a plan do not describe all of it.

    A reason that this version does not know reads as `UNKNOWN`, so that it still counts as a gap.
    """

    ANALYSIS_FAILED = "analysis_failed"
    NARROWED = "narrowed"
    DEFERRED = "deferred"
    INCOMPLETE = "incomplete"
    ERRORED = "errored"
    UNKNOWN_ACTION = "unknown_action"
    UNKNOWN = "unknown"

    @property
    def label(self) -> str:
        """The reason in plain words, as the end of a sentence."""
        return _LABELS[self]

    @classmethod
    def _missing_(cls, value: object) -> "GapReason | None":
        return cls.UNKNOWN if isinstance(value, str) else None


_LABELS = {
    GapReason.ANALYSIS_FAILED: "the plan could not be analysed",
    GapReason.NARROWED: "the plan was narrowed to some resources",
    GapReason.DEFERRED: "some changes are deferred to a later plan",
    GapReason.INCOMPLETE: "the engine says that the plan is not complete",
    GapReason.ERRORED: "planning ended with an error",
    GapReason.UNKNOWN_ACTION: "the plan holds an action that is not known here",
    GapReason.UNKNOWN: "incomplete analysis",
}


class PlanGap(AnalysisPart):
    """One reason, and the resource that it concerns; no address means the plan as a whole."""

    reason: GapReason
    address: str | None = None


class PlanCounts(AnalysisPart):
    """Resources by what would happen to them.

    `imports` and `moves` overlap with the others: what is imported and updated counts in both. A resource that is
    created while its predecessor is forgotten counts as created and as forgotten. What changed outside of the engine
    counts nowhere, because no apply will do it.
    """

    create: int = 0
    update: int = 0
    delete: int = 0
    replace: int = 0
    read: int = 0
    forget: int = 0
    imports: int = 0
    moves: int = 0
    outputs_changed: int = 0

    @property
    def destroyed(self) -> int:
        """How many existing objects would cease to exist."""
        return self.delete + self.replace


class PlanSummary(AnalysisPart):
    """A plan in numbers, which mean nothing without their gaps.

    `has_changes` is the engine's exit code and holds whatever the numbers say.
    """

    has_changes: bool
    counts: PlanCounts = PlanCounts()
    gaps: tuple[PlanGap, ...] = ()

    @property
    def counts_complete(self) -> bool:
        """Whether the numbers describe the whole plan."""
        return not self.gaps

    @property
    def destructive(self) -> bool:
        """Whether the plan is seen to delete or replace. False proves nothing unless `counts_complete`."""
        return self.counts.destroyed > 0

    def gap_reasons(self) -> tuple[GapReason, ...]:
        """Each reason once, in the order of first mention."""
        return tuple(dict.fromkeys(gap.reason for gap in self.gaps))


_NUMBERS = (
    ("create", "to create"),
    ("update", "to update"),
    ("replace", "to replace"),
    ("delete", "to delete"),
    ("forget", "to forget"),
    ("read", "to read"),
    ("imports", "imported"),
    ("moves", "moved"),
    ("outputs_changed", "outputs changed"),
)


def describe(summary: PlanSummary) -> str:
    """The plan in one line, numbers never without their gaps.

    Such as `2 to create, 1 to replace.` or `At least 2 to create: the plan was narrowed to some resources.`
    """
    numbers = ", ".join(
        f"{number} {words if number != 1 else words.replace('outputs', 'output')}"
        for name, words in _NUMBERS
        if (number := getattr(summary.counts, name))
    )
    reasons = "; ".join(reason.label for reason in summary.gap_reasons())
    if not numbers:
        numbers = "Changes that no number describes" if summary.has_changes else "No changes"
        return f"{numbers}, as far as is known: {reasons}." if reasons else f"{numbers}."
    return f"At least {numbers}: {reasons}." if reasons else f"{numbers}."


class ChangeAction(StrEnum):
    """What would happen to one resource or output."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REPLACE = "replace"
    READ = "read"
    FORGET = "forget"
    """It leaves the state and lives on."""
    NO_OP = "no-op"
    """Nothing but its place in the state changes; see the state operations."""
    UNKNOWN = "unknown"
    """The engine named an action that is not known here."""


class StateOpKind(StrEnum):
    """What happens to the state beside, or instead of, the action."""

    IMPORT = "import"
    MOVE = "move"
    FORGET = "forget"


class StateOp(AnalysisPart):
    """One operation on the state. `id` is set for imports whose id is known, `from_address` for moves."""

    kind: StateOpKind
    id: str | None = None
    from_address: str | None = None


class PlanChange(AnalysisPart):
    """One resource of a plan, or one that was found changed outside of it.

    `diff` is a text in lines, without colours: the same document always gives the same lines. `elided` counts the
    lines that were left out because of the limit; the last line of `diff` then says so as well.
    """

    address: str
    module: str | None = Field(default=None, description="The module's address; absent for the root module.")
    mode: str = Field(default="managed", description="`managed` or `data`.")
    type: str
    name: str
    provider: str | None = None
    deposed: str | None = Field(default=None, description="The key of a deposed object, if it is one.")
    action: ChangeAction
    create_first: bool = Field(default=False, description="For a replacement: the new one is made before.")
    state_ops: tuple[StateOp, ...] = ()
    reason: str | None = Field(default=None, description="Why the engine chose the action, in plain words.")
    diff: tuple[str, ...] = ()
    elided: int = 0


class OutputChange(AnalysisPart):
    """One output of the root module that changes."""

    name: str
    action: ChangeAction
    sensitive: bool = False
    diff: tuple[str, ...] = ()
    elided: int = 0


class CheckResult(AnalysisPart):
    """What a check, a condition or a validation said: `pass`, `fail`, `error` or `unknown`."""

    address: str
    status: str
    messages: tuple[str, ...] = ()


class PlanChanges(AnalysisPart):
    """What an apply of the plan would do, in the order of the engine.

    `drift` happened already and is no part of it; neither is `deferred`, which a later plan takes up.
    """

    resources: tuple[PlanChange, ...] = ()
    outputs: tuple[OutputChange, ...] = ()
    drift: tuple[PlanChange, ...] = ()
    deferred: tuple[PlanChange, ...] = ()
    checks: tuple[CheckResult, ...] = ()


class StateResource(AnalysisPart):
    """One object of the state.

    `attributes` hold `(sensitive value)` in place of what is withheld; `sensitive` is a parallel tree in which `true`
    marks those places.
    """

    address: str
    module: str | None = None
    mode: str = "managed"
    type: str
    name: str
    provider: str | None = None
    deposed: str | None = None
    tainted: bool = False
    depends_on: tuple[str, ...] = ()
    attributes: dict[str, Any] = Field(default_factory=dict)
    sensitive: Any = False


class StateOutput(AnalysisPart):
    """One output of the root module; a sensitive one has `(sensitive value)` for a value."""

    name: str
    sensitive: bool = False
    value: Any = None
    type: Any = Field(default=None, description="The type as the engine spells it in JSON.")


class StateInventory(AnalysisPart):
    """All that a state holds. Empty means that the state is empty."""

    resources: tuple[StateResource, ...] = ()
    outputs: tuple[StateOutput, ...] = ()


class GraphNode(AnalysisPart):
    """A resource as it is configured: one node, however many instances it has."""

    address: str
    module: str | None = None
    mode: str = "managed"
    type: str
    name: str


class GraphEdge(AnalysisPart):
    """`source` needs `target`. `explicit`: by `depends_on`; else by a reference in an expression."""

    source: str
    target: str
    explicit: bool = False


class ResourceGraph(AnalysisPart):
    """How the resources of the configuration depend on each other.

    Local values are not part of what the engine tells, so dependencies through them are missing; `partial` names the
    nodes that this may concern.
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    partial: tuple[str, ...] = ()


class RunAnalysis(AnalysisPart):
    """All that a run found out. An absent section means that it is not known; an empty one, that there is nothing.

    So nothing may be removed because of an absent section.
    """

    plan_changes: PlanChanges | None = None
    state_resources: StateInventory | None = None
    resource_graph: ResourceGraph | None = None
