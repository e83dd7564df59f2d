"""A template of the catalogue that asks for something: it waits, is answered, and goes on."""

import secrets
from typing import Any

from rich.text import Text

from locktender.cli.following import submission
from locktender.cli.render.facts import asked_lines
from locktender.cli.scenarios.stage import Stage

_TEMPLATE = "guestbook"
_ASKED = "contact"


async def template(stage: Stage) -> dict[str, Any]:
    """Deploy the guestbook with one input left out, which it then asks for."""
    stage.tell(f"The template {_TEMPLATE} is deployed, reachable from outside. Whom visitors write to is left out.")
    secret = secrets.token_urlsafe(12)
    source = {"kind": "template", "template": _TEMPLATE}
    task_id = await stage.ask(source, inputs={"expose": True, "replicas": 3, "admin_password": secret})
    snapshot = await stage.followed(task_id, "blocked")
    stage.tell("It waits, for as long as it takes. Nothing is applied, and nothing holds a runner.")
    for line in asked_lines(snapshot["task"]):
        stage.output.say(line)
    asked = [field["key"] for field in snapshot["task"]["asked"]["inputs"]]
    stage.tell(f"Somebody answers. The password is given again, since it is kept nowhere: {_ASKED}, admin_password.")
    answers = {_ASKED: "guests@example.com", "admin_password": secret}
    await stage.api.submit(task_id, submission(answers, stage.kubeconfig))
    snapshot = await stage.followed(task_id, "completed")
    instance = snapshot["task"]["instance"]
    stage.output.say(Text(f"\ncompleted: the guestbook runs as {instance}", style="green"))
    return stage.result("template", snapshot, asked=asked, instance=instance)
