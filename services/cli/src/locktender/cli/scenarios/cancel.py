"""A deployment that is stopped while it waits for its resources: what was applied stays, and is told item by item."""

import json
import secrets
from typing import Any

from rich.text import Text

from locktender.cli.scenarios.stage import Snapshot, Stage
from locktender.contracts.deployments.models import Timeline
from locktender.contracts.deployments.policy import itemised

_BEHAVIOUR = "sandbox.locktender.dev/behaviour"
_APPLIED = frozenset({"applied", "unchanged"})


async def cancel(stage: Stage) -> dict[str, Any]:
    """Deploy something that takes its time, and stop it as soon as everything is applied."""
    stage.tell("An application is deployed whose pods take two minutes to become ready.")
    name = f"slow-{secrets.token_hex(3)}"
    task_id = await stage.ask({"kind": "manifests", "manifests": _slow(name)}, displayName="Slow starter")
    await stage.seen(task_id, _waits_for_resources)
    stage.tell("Everything is applied and not ready yet. Now somebody cancels it.")
    asked = await stage.api.cancel(task_id)
    stage.output.say(f"cancel requested at {asked['task']['cancelRequestedAt']}")
    snapshot = await stage.followed(task_id, "cancelled")
    stage.tell("It has stopped. What it did and did not do, from its record:")
    sorts = itemised(Timeline.model_validate(snapshot["timeline"]))
    for sort, words in (("applied", "stays in the cluster"), ("unknown", "not known"), ("notApplied", "not applied")):
        for document in sorts[sort]:
            stage.output.say(Text.assemble("  ", document, (f"  {words}", "dim")))
    return stage.result("cancel", snapshot, outcome=sorts)


def _waits_for_resources(snapshot: Snapshot) -> bool:
    cards = snapshot["timeline"]["cards"]
    applied = bool(cards) and all(card["apply"] in _APPLIED for card in cards)
    return applied and snapshot["task"]["phase"] == "verify"


def _slow(name: str) -> str:
    labels = {"app": name}
    pods = {
        "metadata": {"labels": labels, "annotations": {_BEHAVIOUR: "slow:120"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example.com/slow:v1"}]},
    }
    documents = (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"GREETING": "patience"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
         "spec": {"selector": labels, "ports": [{"port": 80}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
         "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": pods}},
    )  # fmt: skip
    return "\n---\n".join(json.dumps(document) for document in documents)
