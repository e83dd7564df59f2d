"""`locktender deploy`: manifests, or a template with its inputs."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.client import ApiClient, open_client
from locktender.cli.connection import connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.following import Answering, detaching, exit_of, follow, tell_end
from locktender.cli.forms.asking import ask
from locktender.cli.forms.fields import Form, fixed, missing
from locktender.cli.forms.terminal import Person, person
from locktender.cli.forms.values import Values, exposed, values_of
from locktender.cli.options import (
    DEFAULT_PROJECT,
    DEFAULT_WORKSPACE,
    ForceOption,
    InputOption,
    InputsFileOption,
    InputStdinOption,
    JsonOption,
    KubeconfigOption,
    NamespaceOption,
    NoPromptOption,
    ProjectOption,
    ReplaceOption,
    SourceOption,
    TemplateOption,
    TokenOption,
    UrlOption,
    WaitOption,
    WorkspaceOption,
)
from locktender.cli.output import Output
from locktender.cli.packages import form_of
from locktender.cli.request import Given, Source, request_of, source_of, with_inputs
from locktender.cli.running import finish

_STILL_TO_ASK = frozenset({"queued", "running", "blocked"})


def deploy(
    *,
    file: SourceOption = None,
    template: TemplateOption = None,
    inputs: InputOption = None,
    inputs_file: InputsFileOption = None,
    input_stdin: InputStdinOption = None,
    no_prompt: NoPromptOption = False,
    project: ProjectOption = DEFAULT_PROJECT,
    namespace: NamespaceOption = None,
    name: Annotated[str | None, typer.Option("--name", help="A name for people. Default: the source's.")] = None,
    force: ForceOption = False,
    replace: ReplaceOption = None,
    kubeconfig: KubeconfigOption = None,
    key: Annotated[str | None, typer.Option("--idempotency-key", help="The same key never deploys twice.")] = None,
    wait: WaitOption = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deploy Kubernetes manifests or a template with your own kubeconfig.

    Inputs that a template needs and was not given are asked for at a terminal. Elsewhere the deployment waits for them:
    exit code 7, and `locktender deployments input` goes on.
    """
    output = Output(as_json=as_json)

    async def work() -> Exit:
        given = Given(file or [], project, namespace, kubeconfig, force, replace or [])
        source = wanted_source(given, template, input_stdin)
        values = values_of(inputs or [], inputs_file, input_stdin)
        connection = connect(url, token)
        body = request_of(given, source, connection) | {"displayName": name or source.title}
        somebody = person(output, prompts=not no_prompt)
        async with open_client(connection, workspace) as api:
            form = await form_of_source(api, source, values)
            answers = gathered(output, form, values, somebody)
            snapshot = await api.create(with_inputs(body, answers, values), idempotency_key=key)
            task_id = snapshot["task"]["id"]
            output.say(Text.assemble("deployment ", (task_id, "bold"), f" is {snapshot['task']['status']}"))
            if wait:
                with detaching(output, task_id):
                    answering = None if somebody is None else Answering(somebody, body["kubeconfig"])
                    snapshot = await follow(api, output, task_id, answering=answering)
        output.result(snapshot)
        if wait:
            tell_end(output, snapshot)
            return exit_of(snapshot)
        return will_wait(output, form, answers, snapshot)

    finish(output, work())


def wanted_source(given: Given, template: str | None, input_stdin: str | None) -> Source:
    """The source that options name.

    Raises:
        CommandError: they name none, or want standard input for two things.
    """
    check_stdin(given.files, input_stdin)
    source = source_of(given.files, template)
    if source is None:
        raise CommandError(Exit.USAGE, "nothing to deploy", "Give -f FILE or --template NAME.")
    return source


def check_stdin(files: Sequence[str], input_stdin: str | None) -> None:
    """Raises `CommandError` when standard input is wanted for two things."""
    if input_stdin is not None and "-" in files:
        raise CommandError(Exit.USAGE, "standard input can be either the source or an input")


async def form_of_source(api: ApiClient, source: Source, values: Values) -> Form | None:
    """What a source asks for; None for manifests, which ask for nothing.

    Raises:
        CommandError: the catalogue does not have it, or manifests were given inputs.
    """
    if source.package is not None:
        return form_of(source.package, {})
    if source.template is not None:
        return fixed((await api.template(source.template))["inputs"])
    if values.given:
        raise CommandError(Exit.USAGE, "manifests take no inputs")
    return None


def gathered(
    output: Output, form: Form | None, values: Values, somebody: Person | None, *, whole: bool = False
) -> dict[str, str]:
    """The values that were given, and what a person answers to the rest of the form; see `ask` for `whole`."""
    warning = exposed(values, () if form is None else form(values.given))
    if warning is not None:
        output.warn(warning)
    if form is None or somebody is None:
        return dict(values.given)
    return ask(form, values.given, somebody, whole=whole)


def will_wait(output: Output, form: Form | None, answers: dict[str, str], snapshot: dict[str, Any]) -> Exit:
    """Say so when a new deployment is going to wait for inputs."""
    lacking = [] if form is None else missing(form, answers)
    if not lacking or snapshot["task"]["status"] not in _STILL_TO_ASK:
        return Exit.OK
    task_id = snapshot["task"]["id"]
    output.say(f"it will wait for inputs: {', '.join(field.key for field in lacking)}")
    output.say(Text(f"Go on with: locktender deployments input {task_id}", style="dim"))
    return Exit.PARKED
