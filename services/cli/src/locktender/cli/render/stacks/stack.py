"""Stacks in the terminal."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.words import lasting, mode_word, shown_as, visible, when

Json = dict[str, Any]

_UNCERTAIN = "? uncertain"
_APPROVES = {"manual": "never", "auto": "always", "non_destructive": "if nothing is destroyed"}


def stacks_listing(page: Json) -> Listing | Text:
    """Many stacks: what each is at, who holds its lane, and whether anything about it is unknown."""
    if not page["stacks"]:
        return Text("there are no stacks here; make one with: locktender stack create NAME", style="dim")
    rows = [
        (
            *(stack["name"], stack["project"], latest_text(stack), _holder(stack), stack["engine"]),
            _remark(stack),
        )
        for stack in page["stacks"]
    ]
    return Listing(("name", "project", "latest", "lane", "engine", "now / note"), rows)


def latest_text(stack: Json) -> Text:
    """The newest deployment, in its hue. An uncertain stack is marked whatever came after."""
    latest: Json | None = stack["latestDeployment"]
    told = Text("never deployed", style="dim")
    if latest is not None:
        told = Text.assemble(f"#{latest['number']} ", shown_as(latest["status"]))
    if stack["uncertain"]:
        told.append(f" {_UNCERTAIN}", style="bold red")
    return told


def stack_lines(stack: Json) -> Iterator[Text]:
    """One stack, all of it."""
    yield Text.assemble((stack["name"], "bold"), f"  project {stack['project']}  ", latest_text(stack))
    if stack["description"]:
        yield Text(visible(stack["description"]))
    if stack["uncertain"]:
        since = when(stack["uncertain"]["since"])
        yield Text(f"uncertain since {since} UTC: {visible(stack['uncertain']['message'])}", style="red")
        yield Text(f"Look with: locktender stack refresh {stack['name']}", style="dim")
    for title, told in _facts(stack):
        yield Text.assemble((f"{title}: ", "dim"), visible(told))


def engine_of(stack: Json) -> str:
    """Which tool, as it was chosen."""
    return "tofu or terraform" if stack["engine"] == "auto" else str(stack["engine"])


def source_of(source: Json) -> str:
    """Where the configuration comes from."""
    if source["kind"] == "git":
        return f"{source['url']} {source['ref']} folder {source['path']}"
    return f"archive {(source['sha256'] or 'not uploaded yet')[:16]} folder {source['path']}"


def _facts(stack: Json) -> Iterator[tuple[str, str]]:
    yield "source", source_of(stack["source"]) + (" (with a token)" if stack["hasGitToken"] else "")
    labels = f" with {', '.join(stack['labels'])}" if stack["labels"] else ""
    yield "runs on", f"{engine_of(stack)}, runner group {stack['runnerGroup']}{labels}"
    yield "applies by itself", _APPROVES.get(stack["autoApprove"], str(stack["autoApprove"]))
    yield "skips by itself", "; ".join(_policy(stack["policy"])) or "never"
    lane: Json | None = stack["lane"]
    yield "lane", "free" if lane is None else f"{_holder(stack)} since {when(lane['since'])} UTC"
    if stack["blockedBy"]:
        yield "now", stack["blockedBy"]["message"]
    state, lock = stack["state"], stack["stateLock"]
    yield "state", "none yet" if state is None else f"serial {state['serial']}, lineage {state['lineage']}"
    if lock is not None:
        yield "state lock", f"{lock['id']} held by {lock['who'] or 'somebody'} since {when(lock['since'])} UTC"
    yield "made by", f"{stack['createdBy']}, {when(stack['createdAt'])} UTC"


def _policy(policy: Json) -> Iterator[str]:
    if policy["confirmationTimeoutSeconds"] is not None:
        yield f"what waits {lasting(policy['confirmationTimeoutSeconds'])} for a confirmation"
    if policy["queuedTimeoutSeconds"] is not None:
        yield f"what waits {lasting(policy['queuedTimeoutSeconds'])} behind others"
    if policy["supersedeAfterSeconds"] is not None:
        at_least = policy["supersedeAfterSeconds"]
        older = f"what waits for at least {lasting(at_least)}" if at_least else "all that waits"
        yield f"{older} when a new one comes"


def _holder(stack: Json) -> str:
    lane: Json | None = stack["lane"]
    return "free" if lane is None else f"#{lane['number']} {mode_word(lane['mode'])}"


def _remark(stack: Json) -> str:
    if stack["uncertain"]:
        return visible(stack["uncertain"]["message"])
    return visible(stack["blockedBy"]["message"] if stack["blockedBy"] else stack["description"])
