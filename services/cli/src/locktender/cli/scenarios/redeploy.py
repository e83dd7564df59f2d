"""A template that fails, and is mended: the redeploy goes on under the same instance name, in place of the first."""

from typing import Any

from rich.text import Text

from locktender.cli.scenarios.stage import Stage

# A name that no image can have fails at once, where a missing one is waited for.
_BROKEN, _MENDED = "Registry.example.com/Tea:v1", "registry.example.com/tea:v1"


async def redeploy(stage: Stage) -> dict[str, Any]:
    """Deploy a template with a bad image, then the same one with a good image in its place."""
    stage.tell("A template with a mistake in it is deployed: the name of its image cannot be one.")
    first_id = await stage.ask({"kind": "template", "text": _template(_BROKEN)}, displayName="Tea house")
    first = (await stage.followed(first_id, "failed"))["task"]
    outlook = await stage.api.redeployable(first_id)
    stage.tell("It can be redeployed. The one warning:")
    stage.output.say(Text(f"  {outlook['warning']}", style="yellow"))
    stage.tell("The template is mended, and deployed in the place of the failed one.")
    second_id = await stage.ask({"kind": "template", "text": _template(_MENDED)}, predecessorTaskId=first_id)
    snapshot = await stage.followed(second_id, "completed")
    second, before = snapshot["task"], (await stage.api.snapshot(first_id))["task"]
    stage.tell("Both have gone by one name, and each knows of the other:")
    for task in (before, second):
        line = Text.assemble("  ", (task["id"], "bold"), f"  {task['status']}  instance {task['instance']}")
        line.append(f"  superseded by {task['supersededBy']}" if task["supersededBy"] else "", style="dim")
        line.append(f"  in place of {task['predecessorId']}" if task["predecessorId"] else "", style="dim")
        stage.output.say(line)
    lineage = {"predecessorId": second["predecessorId"], "supersededBy": before["supersededBy"]}
    return stage.result(
        "redeploy",
        snapshot,
        failed={"deploymentId": first_id, "reason": first["failure"]["reason"], "instance": first["instance"]},
        instance=second["instance"],
        lineage=lineage,
    )


def _template(image: str) -> str:
    return f"""\
apiVersion: app.sealos.io/v1
kind: Template
metadata:
  name: tea-house
spec:
  title: Tea house
  description: One web server, for showing how a mistake is mended.
  defaults:
    app_name:
      type: string
      value: tea-house-${{{{ random(8) }}}}
  inputs: {{}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${{{{ defaults.app_name }}}}
data:
  MENU: tea
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${{{{ defaults.app_name }}}}
spec:
  replicas: 1
  selector:
    matchLabels:
      app: ${{{{ defaults.app_name }}}}
  template:
    metadata:
      labels:
        app: ${{{{ defaults.app_name }}}}
    spec:
      containers:
        - name: web
          image: {image}
"""
