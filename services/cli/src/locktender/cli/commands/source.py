"""`locktender deployments source`: what was deployed, to edit and redeploy."""

from locktender.cli.exits import CommandError, Exit
from locktender.cli.options import TaskArgument
from locktender.cli.session import Session, command


@command
async def source(session: Session, task_id: TaskArgument) -> Exit:
    """What a deployment deploys, as it is stored: secrets are withheld. Edit it for `redeploy -f`."""
    found = await session.api.source(task_id)
    session.output.result(found)
    if not session.output.as_json:
        stored = found["source"]
        text = stored.get("manifests") or stored.get("text")
        if text is None and stored.get("template"):
            raise CommandError(
                Exit.CONFLICT,
                f"it is the template {stored['template']} of the catalogue, which has no text of its own here",
                f"See: locktender templates show {stored['template']}",
            )
        session.output.text(text or "")
    return Exit.OK
