"""How tasks are shown: the table that the API serves, for people who write a client."""

from locktender.contracts.deployments.presentation import PRESENTATIONS, Action, Attention, Presentation

_ATTENTION = {
    Attention.NONE: "none",
    Attention.NOTICE: "a brief notice",
    Attention.UNTIL_DISMISSED_OR_SUPERSEDED: "until somebody dismisses it, or another task is deployed in its place",
    Attention.ALWAYS: "for as long as it lasts",
}
_ACTIONS = {
    Action.CANCEL: "`POST …/cancel`",
    Action.INPUT: "`POST …/input`; not while submitted values wait for a runner",
    Action.REDEPLOY: "`POST …/deployment-tasks` with `predecessorTaskId`",
    Action.DISMISS: "hide it; the client remembers that, and asks nothing of the API",
}
_INTRODUCTION = (
    "Served at `GET /v1/presentation`, to everybody. A task names its row in `presentation`, and what can be done "
    "to it as it stands in `actions`. `cancelling` is a task whose runner has not confirmed a cancel yet."
)


def presentation_page() -> str:
    """The page."""
    return "\n".join([
        "# How tasks are shown",
        "",
        _INTRODUCTION,
        "",
        "| state | label | hue | asks for attention | actions |",
        "|---|---|---|---|---|",
        *(_row(each) for each in PRESENTATIONS.values()),
        "",
        "| action | how |",
        "|---|---|",
        *(f"| `{action}` | {words} |" for action, words in _ACTIONS.items()),
    ]) + "\n"  # fmt: skip


def _row(shown: Presentation) -> str:
    actions = ", ".join(f"`{action}`" for action in shown.actions) or "-"
    return f"| `{shown.state}` | {shown.label} | {shown.hue} | {_ATTENTION[shown.attention]} | {actions} |"
