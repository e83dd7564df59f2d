"""`locktender deployments redeploy`: another deployment in the place of one that failed or was cancelled."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from locktender.cli.client import ApiClient
from locktender.cli.connection import Connection
from locktender.cli.exits import CommandError, Exit
from locktender.cli.filling import chosen, filled, form_of_source
from locktender.cli.forms.asking import confirmed
from locktender.cli.forms.fields import Form, fixed
from locktender.cli.forms.terminal import Person
from locktender.cli.launching import launched
from locktender.cli.options import (
    ApplyOptions,
    InputOptions,
    NoPromptOption,
    SourceOptions,
    TaskArgument,
    WaitOption,
)
from locktender.cli.output import Output
from locktender.cli.request import Source, apply_of, kubeconfig_of
from locktender.cli.session import Session, command


@command
async def redeploy(
    session: Session,
    task_id: TaskArgument,
    *,
    wanted: SourceOptions,
    inputs: InputOptions,
    no_prompt: NoPromptOption = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to overwrite what was applied.")] = False,
    name: Annotated[str | None, typer.Option("--name", help="A name for people. Default: the same.")] = None,
    project: Annotated[str | None, typer.Option("-p", "--project", help="Default: where it was.")] = None,
    apply: ApplyOptions,
    wait: WaitOption = False,
) -> Exit:
    """Deploy again, as it was or edited (-f, --template, --input), in the place of a deployment that did not complete.

    Into the same target it goes on under the same instance name, so it changes what is there instead of adding to it.
    Secret inputs are never stored, and are asked for again. Ends with 4 when it cannot be redeployed, or somebody else
    has just done so.
    """
    source, values = chosen(wanted, inputs)
    body = _request(task_id, source, project, apply, session.connection) | ({"displayName": name} if name else {})
    somebody = session.somebody(no_prompt=no_prompt)
    known = await session.api.redeployable(task_id)
    _check(known, source)
    _warn(session.output, known["warning"], None if yes else somebody)
    if source is None:
        form = fixed(known["asks"])
    else:
        form = await form_of_source(session, source, values)
        kept = {} if form is None else await _kept(session.api, task_id, source, form)
        values = replace(values, given=kept | dict(values.given))
    return await launched(session, body, filled(session.output, form, values, somebody), somebody, wait=wait)


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


def _request(
    task_id: str, source: Source | None, project: str | None, options: ApplyOptions, connection: Connection
) -> dict[str, Any]:
    """A create that takes everything which is not given from its predecessor."""
    named = {"project": project, "namespace": options.namespace}
    target = {key: value for key, value in named.items() if value is not None}
    return {
        "predecessorTaskId": task_id,
        "kubeconfig": kubeconfig_of(options.kubeconfig, connection),
        **({} if source is None else {"source": source.body}),
        **({"target": target} if target else {}),
        **({"apply": apply_of(options)} if options.force or options.replace else {}),
    }
