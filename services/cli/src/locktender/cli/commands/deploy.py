"""`locktender deploy`: manifests, or a template with its inputs."""

from typing import Annotated

import typer

from locktender.cli.exits import CommandError, Exit
from locktender.cli.filling import chosen, filled, form_of_source
from locktender.cli.launching import launched
from locktender.cli.options import (
    DEFAULT_PROJECT,
    ApplyOptions,
    InputOptions,
    NoPromptOption,
    ProjectOption,
    SourceOptions,
    WaitOption,
)
from locktender.cli.request import request_of
from locktender.cli.session import Session, command


@command
async def deploy(
    session: Session,
    *,
    wanted: SourceOptions,
    inputs: InputOptions,
    no_prompt: NoPromptOption = False,
    name: Annotated[str | None, typer.Option("--name", help="A name for people. Default: the source's.")] = None,
    project: ProjectOption = DEFAULT_PROJECT,
    apply: ApplyOptions,
    key: Annotated[str | None, typer.Option("--idempotency-key", help="The same key never deploys twice.")] = None,
    wait: WaitOption = False,
) -> Exit:
    """Deploy Kubernetes manifests or a template with your own kubeconfig.

    Inputs that a template needs and was not given are asked for at a terminal. Elsewhere the deployment waits for them:
    exit code 7, and `locktender deployments input` goes on.
    """
    source, values = chosen(wanted, inputs)
    if source is None:
        raise CommandError(Exit.USAGE, "nothing to deploy", "Give -f FILE or --template NAME.")
    body = request_of(source, project, apply, session.connection) | {"displayName": name or source.title}
    somebody = session.somebody(no_prompt=no_prompt)
    form = filled(session.output, await form_of_source(session, source, values), values, somebody)
    return await launched(session, body, form, somebody, wait=wait, key=key)
