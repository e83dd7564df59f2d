"""`locktender deployments redeploy`: another deployment in the place of one that failed or was cancelled."""

from dataclasses import replace as replace_values
from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.client import ApiClient, open_client
from locktender.cli.commands.deploy import check_stdin, form_of_source, gathered, will_wait
from locktender.cli.connection import Connection, connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.following import Answering, detaching, exit_of, follow, tell_end
from locktender.cli.forms.asking import confirmed
from locktender.cli.forms.fields import Form, fixed
from locktender.cli.forms.terminal import Person, person
from locktender.cli.forms.values import values_of
from locktender.cli.options import (
    DEFAULT_WORKSPACE,
    ForceOption,
    InputOption,
    InputsFileOption,
    InputStdinOption,
    JsonOption,
    KubeconfigOption,
    NamespaceOption,
    NoPromptOption,
    ReplaceOption,
    SourceOption,
    TaskArgument,
    TemplateOption,
    TokenOption,
    UrlOption,
    WaitOption,
    WorkspaceOption,
)
from locktender.cli.output import Output
from locktender.cli.request import Given, Source, kubeconfig_of, source_of, with_inputs
from locktender.cli.running import finish


def redeploy(
    task_id: TaskArgument,
    *,
    file: SourceOption = None,
    template: TemplateOption = None,
    inputs: InputOption = None,
    inputs_file: InputsFileOption = None,
    input_stdin: InputStdinOption = None,
    no_prompt: NoPromptOption = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to overwrite what was applied.")] = False,
    project: Annotated[str | None, typer.Option("-p", "--project", help="Default: where it was.")] = None,
    namespace: NamespaceOption = None,
    name: Annotated[str | None, typer.Option("--name", help="A name for people. Default: the same.")] = None,
    force: ForceOption = False,
    replace: ReplaceOption = None,
    kubeconfig: KubeconfigOption = None,
    wait: WaitOption = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deploy again, as it was or edited (-f, --template, --input), in the place of a deployment that did not complete.

    Into the same target it goes on under the same instance name, so it changes what is there instead of adding to it.
    Secret inputs are never stored, and are asked for again. Ends with 4 when it cannot be redeployed, or somebody else
    has just done so.
    """
    output = Output(as_json=as_json)

    async def work() -> Exit:
        files = file or []
        check_stdin(files, input_stdin)
        given = Given(files, project, namespace, kubeconfig, force, replace or [])
        source, values = source_of(files, template), values_of(inputs or [], inputs_file, input_stdin)
        connection = connect(url, token)
        somebody = person(output, prompts=not no_prompt)
        async with open_client(connection, workspace) as api:
            known = await api.redeployable(task_id)
            _check(known, source)
            _warn(output, known["warning"], None if yes else somebody)
            form = fixed(known["asks"]) if source is None else await form_of_source(api, source, values)
            kept = {} if form is None or source is None else await _kept(api, task_id, source, form)
            answers = gathered(output, form, replace_values(values, given=kept | dict(values.given)), somebody)
            body = _request(task_id, given, source, connection) | ({"displayName": name} if name else {})
            snapshot = await api.create(with_inputs(body, answers, values))
            new = snapshot["task"]["id"]
            output.say(Text.assemble("deployment ", (new, "bold"), f" is {snapshot['task']['status']}"))
            if wait:
                with detaching(output, new):
                    answering = None if somebody is None else Answering(somebody, body["kubeconfig"])
                    snapshot = await follow(api, output, new, answering=answering)
        output.result(snapshot)
        if wait:
            tell_end(output, snapshot)
            return exit_of(snapshot)
        return will_wait(output, form, answers, snapshot)

    finish(output, work())


def _check(known: dict[str, Any], source: Source | None) -> None:
    """Raises `CommandError` when it cannot be redeployed, or not without its source."""
    if not known["allowed"]:
        raise CommandError(Exit.CONFLICT, str(known["reason"] or "it cannot be redeployed"))
    if known["sourceNeeded"] and source is None:
        raise CommandError(
            Exit.USAGE, "what it deployed had secrets, which are never stored", "Give its source again with -f FILE."
        )


def _warn(output: Output, warning: str | None, somebody: Person | None) -> None:
    """Tell once what would be overwritten, and let a person decide.

    Raises:
        CommandError: the person says no.
    """
    if warning is None:
        return
    output.warn(f"warning: {warning}")
    if somebody is not None and not confirmed("go on?", somebody):
        raise CommandError(Exit.INTERRUPTED, "nothing was deployed")


async def _kept(api: ApiClient, task_id: str, source: Source, form: Form) -> dict[str, str]:
    """The inputs that the same template was given before, as far as it still asks for them; secrets are never kept."""
    stored = (await api.source(task_id))["source"]
    if stored["kind"] != "template" or stored["template"] != source.template:
        return {}
    declared = {field.key for field in form({})}
    return {key: value for key, value in stored["inputs"].items() if key in declared}


def _request(task_id: str, given: Given, source: Source | None, connection: Connection) -> dict[str, Any]:
    """A create that takes everything which is not given from its predecessor."""
    body: dict[str, Any] = {
        "predecessorTaskId": task_id,
        "kubeconfig": kubeconfig_of(given.kubeconfig, connection),
    }
    if source is not None:
        body["source"] = source.body
    if given.project is not None or given.namespace is not None:
        named = {"project": given.project, "namespace": given.namespace}
        body["target"] = {key: value for key, value in named.items() if value is not None}
    if given.force or given.replace:
        body["apply"] = {"force": given.force, "replace": list(given.replace)}
    return body
