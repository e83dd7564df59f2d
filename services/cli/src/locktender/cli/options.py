"""Options that several commands share. A dataclass is a group of them, which a command takes as one parameter."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_WORKSPACE = "main"
DEFAULT_PROJECT = "default"

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
TaskArgument = Annotated[str, typer.Argument(help="The id of a deployment.")]
ProjectOption = Annotated[str, typer.Option("-p", "--project", help="The project.")]
NoPromptOption = Annotated[bool, typer.Option("--no-prompt", help="Never ask; what is missing is left out.")]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Follow it to its end; exit code 1 if it fails, 7 if it waits for inputs.")
]
KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", help="Default: the local system's, else KUBECONFIG.")
]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Where the API is, what opens it, and for whom to print."""

    workspace: Annotated[
        str, typer.Option("--workspace", "-w", envvar="LOCKTENDER_WORKSPACE", help="The workspace.")
    ] = DEFAULT_WORKSPACE
    url: Annotated[str | None, typer.Option("--url", help="The API. Default: LOCKTENDER_URL, else the local one.")] = (
        None
    )
    token: Annotated[
        str | None, typer.Option("--token", help="Bearer token. Default: LOCKTENDER_TOKEN, else the local one.")
    ] = field(default=None, repr=False)
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What to deploy."""

    file: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", help="Manifests, or one template; - is standard input. Manifests may repeat."),
    ] = None
    template: Annotated[str | None, typer.Option("--template", help="A template of the catalogue.")] = None


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Values for the inputs of a template."""

    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="KEY=VALUE", help="An input. Others see it in the list of processes. May repeat."
        ),
    ] = field(default=None, repr=False)
    inputs_file: Annotated[
        Path | None, typer.Option("--inputs-file", help="Inputs, as a mapping in YAML or JSON; --input goes before it.")
    ] = None
    input_stdin: Annotated[
        str | None,
        typer.Option(
            "--input-stdin", metavar="KEY", help="Read this input from standard input, and treat it as secret."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Where to apply, how, and with which credentials."""

    namespace: Annotated[str | None, typer.Option("-n", "--namespace", help="Default: the kubeconfig's.")] = None
    force: Annotated[bool, typer.Option("--force", help="Take fields over from other field managers. Recorded.")] = (
        False
    )
    replace: Annotated[
        list[str] | None,
        typer.Option(
            "--replace",
            metavar="KIND",
            help="Delete and create objects of this kind anew where a field cannot change. May repeat. Recorded.",
        ),
    ] = None
    kubeconfig: KubeconfigOption = None
