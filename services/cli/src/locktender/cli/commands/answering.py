"""`locktender deployments input`: answers what a deployment waits for."""

from typing import Any

from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.commands.deploy import gathered
from locktender.cli.connection import connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.following import Answering, detaching, exit_of, follow, submission, tell_end
from locktender.cli.forms.fields import fixed
from locktender.cli.forms.terminal import person
from locktender.cli.forms.values import values_of
from locktender.cli.options import (
    DEFAULT_WORKSPACE,
    InputOption,
    InputsFileOption,
    InputStdinOption,
    JsonOption,
    KubeconfigOption,
    NoPromptOption,
    TaskArgument,
    TokenOption,
    UrlOption,
    WaitOption,
    WorkspaceOption,
)
from locktender.cli.output import Output
from locktender.cli.render.words import status_text
from locktender.cli.request import known_kubeconfig
from locktender.cli.running import finish


def input_(
    task_id: TaskArgument,
    *,
    inputs: InputOption = None,
    inputs_file: InputsFileOption = None,
    input_stdin: InputStdinOption = None,
    no_prompt: NoPromptOption = False,
    kubeconfig: KubeconfigOption = None,
    wait: WaitOption = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer what a deployment waits for; it goes on then. What is not given is asked for at a terminal.

    Ends with 2 when the values will not do, and with 4 when the deployment does not wait for any, or somebody else was
    faster.
    """
    output = Output(as_json=as_json)

    async def work() -> Exit:
        values = values_of(inputs or [], inputs_file, input_stdin)
        connection = connect(url, token)
        somebody = person(output, prompts=not no_prompt)
        credentials = known_kubeconfig(kubeconfig, connection)
        async with open_client(connection, workspace) as api:
            asked = _asked((await api.snapshot(task_id))["task"])
            output.say(Text(str(asked["message"]), style="yellow"))
            answers = gathered(output, fixed(asked["inputs"]), values, somebody, whole=True)
            snapshot = await api.submit(task_id, submission(answers, credentials))
            output.say(Text.assemble("deployment ", (task_id, "bold"), " has its inputs and goes on"))
            if wait:
                with detaching(output, task_id):
                    answering = None if somebody is None else Answering(somebody, credentials)
                    snapshot = await follow(api, output, task_id, answering=answering)
        output.result(snapshot)
        if not wait:
            return Exit.OK
        tell_end(output, snapshot)
        return exit_of(snapshot)

    finish(output, work())


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
