"""Sending a deployment off, and staying with it for as long as the command was told to."""

from typing import Any

from rich.text import Text

from locktender.cli.exits import Exit
from locktender.cli.filling import Filled
from locktender.cli.following import Answering, detaching, exit_of, follow, tell_end
from locktender.cli.forms.terminal import Person
from locktender.cli.session import Session

_STILL_TO_ASK = frozenset({"queued", "running", "blocked"})


async def launched(
    session: Session, body: dict[str, Any], form: Filled, somebody: Person | None, *, wait: bool, key: str | None = None
) -> Exit:
    """Create the deployment. Then follow it to its end, or say how it will go on."""
    output = session.output
    snapshot = await session.api.create(form.added_to(body), idempotency_key=key)
    task = snapshot["task"]
    output.say(Text.assemble("deployment ", (task["id"], "bold"), f" is {task['status']}"))
    if wait:
        return await stayed(session, task["id"], somebody, body["kubeconfig"])
    output.result(snapshot)
    if not form.lacking or task["status"] not in _STILL_TO_ASK:
        return Exit.OK
    output.say(f"it will wait for inputs: {', '.join(form.lacking)}")
    output.say(Text(f"Go on with: locktender deployments input {task['id']}", style="dim"))
    return Exit.PARKED


async def stayed(
    session: Session, task_id: str, somebody: Person | None, kubeconfig: str | None, *, stream_json: bool = False
) -> Exit:
    """Follow a deployment until it is over, or waits for inputs and nobody is there; the exit code for that.

    In JSON mode the last snapshot is printed, or with `stream_json` each one that comes.
    """
    answering = None if somebody is None else Answering(somebody, kubeconfig)
    with detaching(session.output, task_id):
        snapshot = await follow(session.api, session.output, task_id, stream_json=stream_json, answering=answering)
    if not stream_json:
        session.output.result(snapshot)
    tell_end(session.output, snapshot)
    return exit_of(snapshot)
