"""`locktender deployments input`: answers what a deployment waits for."""

from typing import Any

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.filling import filled, given_values, warn_of_ignored
from locktender.cli.following import submission
from locktender.cli.forms.fields import fixed
from locktender.cli.launching import stayed
from locktender.cli.options import InputOptions, KubeconfigOption, NoPromptOption, TaskArgument, WaitOption
from locktender.cli.render.words import status_text
from locktender.cli.request import known_kubeconfig
from locktender.cli.session import Session, command


@command
async def input_(
    session: Session,
    task_id: TaskArgument,
    *,
    inputs: InputOptions,
    no_prompt: NoPromptOption = False,
    kubeconfig: KubeconfigOption = None,
    wait: WaitOption = False,
) -> Exit:
    """Answer what a deployment waits for; it goes on then. What is not given is asked for at a terminal.

    Ends with 2 when the values will not do, and with 4 when the deployment does not wait for any, or somebody else was
    faster.
    """
    output, values = session.output, given_values(inputs)
    credentials = known_kubeconfig(kubeconfig, session.connection)
    asked = _asked((await session.api.snapshot(task_id))["task"])
    form, somebody = fixed(asked["inputs"]), session.somebody(no_prompt=no_prompt)
    warn_of_ignored(output, form, values)
    if somebody is not None and any(field.key not in values.given for field in form(values.given)):
        output.say(Text(str(asked["message"]), style="yellow"))
    answers = filled(output, form, values, somebody, whole=True).answers
    snapshot = await session.api.submit(task_id, submission(answers, credentials))
    output.say(Text.assemble("deployment ", (task_id, "bold"), " has its inputs and goes on"))
    if wait:
        return await stayed(session, task_id, somebody, credentials)
    output.result(snapshot)
    return Exit.OK


def _asked(task: dict[str, Any]) -> dict[str, Any]:
    """The form of a task that waits.

    Raises:
        CommandError: it does not wait for inputs.
    """
    asked: dict[str, Any] | None = task.get("asked")
    if asked is None or task.get("resumeRequestedAt"):
        told = "has its inputs already" if task.get("resumeRequestedAt") else f"is {status_text(task).plain}"
        raise CommandError(Exit.CONFLICT, f"the deployment does not wait for inputs; it {told}")
    return asked
