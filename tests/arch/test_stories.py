"""Every story of what a deployment task is for its people has a test that proves it, by name, where people stand."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_TESTS = _ROOT / "tests"
_EXECUTORS = _ROOT / "services/runner/src/locktender/runner/executors"
_SEAMS = {"api", "broker", "chaos", "e2e"}
"""Kinds of tests that ask over HTTP, or run the services themselves."""


@dataclass(frozen=True, slots=True)
class Story:
    """What somebody can rely on.

    Attributes:
        later: why it has no test yet.
        inside: it is about how the product is built, so that no caller can see it.
    """

    says: str
    later: str | None = None
    inside: bool = False


STORIES = {
    1: Story("A run that a restart cut off is told as interrupted, and never shown as running for ever."),
    2: Story("Cancelling what has not begun, or waits for inputs, ends it at once, and nothing happens."),
    3: Story("Cancelling a run really stops it, within seconds."),
    4: Story("A run that waits for readiness can be cancelled instead of sitting out the wait."),
    5: Story("Cancelling deletes nothing and takes nothing back."),
    6: Story("A cancelled deployment itemises what was applied, what was not, and what is not known."),
    7: Story("Between the click and the stop everybody is shown that it is being cancelled."),
    8: Story("A cancel that no runner hears ends as cancelled all the same, by a deadline."),
    9: Story("A failed deployment is redeployed with one request that repeats nothing."),
    10: Story("Settings can be changed in the same move as redeploying."),
    11: Story("A redeploy goes on under the names that the first run took, along any chain; no second instance comes."),
    12: Story("Who redeploys over applied objects is warned once that edits by hand are overwritten."),
    13: Story("What waits for a person waits without end, and keeps its reminder."),
    14: Story("Submitted secrets are in no row, event, stream, log or file."),
    15: Story("A redeploy asks again; it offers declared defaults, never what somebody submitted."),
    16: Story("Completed is said only once everything required is ready."),
    17: Story("What does not get ready in time fails with the reason, and stays in place."),
    18: Story("Of two who act on one task at once, one wins and the other is shown how it stands."),
    19: Story("Cancelling twice is silent, and answered alike."),
    20: Story("Cancelling what has finished says that it has finished, and how."),
    21: Story("Records of finished deployments go after thirty days."),
    22: Story("A failure asks to be noticed until it is dismissed or redeployed."),
    23: Story("What one has cancelled oneself asks for no attention."),
    24: Story("A redeploy takes the reminder off the deployment in whose place it comes."),
    25: Story("Cancelling and redeploying are offered wherever a deployment is shown; the API says where."),
    26: Story(
        "The menu of a placeholder on the canvas offers to cancel.", later="the canvas has no menus to put it in"
    ),
    27: Story("A chat deploys, cancels and explains through the same life as every other client."),
    28: Story("The answer to a request to deploy is what is stored."),
    29: Story("The machine of a finished run is paused, also when its server died.", later="no run has a machine yet"),
    30: Story("Every status is written by one guarded transition under its epoch.", inside=True),
    31: Story("Whatever carries out a run touches its state through its handle alone.", inside=True),
    32: Story("Progress and answers are the same at every process of the API."),
    33: Story("A run that makes no progress fails after a bounded time; waiting for a person does not count."),
    34: Story("Of two who redeploy one failure at once, exactly one makes a task."),
}


def _proofs() -> Iterator[tuple[int, str]]:
    """Each story that a test says it proves, and the kind of that test."""
    for path in sorted(_TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.story":
                    [number] = [ast.literal_eval(argument) for argument in mark.args]
                    yield number, path.relative_to(_TESTS).parts[0]


PROOFS = list(_proofs())


@pytest.mark.parametrize("number", STORIES)
def test_a_story_has_a_test_where_people_stand_or_a_reason_why_not_yet(number: int) -> None:
    story, kinds = STORIES[number], {kind for proven, kind in PROOFS if proven == number}
    if story.later is not None:
        assert not kinds, f"story {number} has a test, so it is not for later: {story.says}"
    elif story.inside:
        assert kinds, f"no test proves story {number}: {story.says}"
    else:
        assert kinds & _SEAMS, f"no test over HTTP proves story {number}: {story.says}"


def test_no_test_claims_a_story_that_nobody_told() -> None:
    assert {number for number, _ in PROOFS} <= STORIES.keys()


@pytest.mark.story(31)
def test_an_executor_sees_of_its_run_the_handle_and_nothing_else() -> None:
    """That storage is out of its reach, also by detours, is a contract of the imports."""
    known: set[str] = set()
    for path in _EXECUTORS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                known |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path.name} imports by a relative name"
                known.add(node.module or "")
    assert any(name.startswith("locktender.runner.executors") for name in known)
    reached = {name for name in known if name.startswith(("locktender.runner", "locktender.storage"))}
    assert {name for name in reached if not name.startswith("locktender.runner.executors")} == set()
    assert {name for name in known if name.partition(".")[0] in {"asyncpg", "nats", "sqlalchemy"}} == set()
