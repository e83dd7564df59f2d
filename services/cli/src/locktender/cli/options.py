"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
UrlOption = Annotated[str | None, typer.Option("--url", help="The API. Default: LOCKTENDER_URL, else the local one.")]
TokenOption = Annotated[
    str | None, typer.Option("--token", help="Bearer token. Default: LOCKTENDER_TOKEN, else the local one.")
]
WorkspaceOption = Annotated[
    str, typer.Option("--workspace", "-w", envvar="LOCKTENDER_WORKSPACE", help="The workspace.")
]
DEFAULT_WORKSPACE = "main"

TaskArgument = Annotated[str, typer.Argument(help="The id of a deployment.")]
FileOption = Annotated[list[str], typer.Option("-f", "--file", help="Manifests; - is standard input. May repeat.")]
SourceOption = Annotated[
    list[str] | None,
    typer.Option("-f", "--file", help="Manifests, or one template; - is standard input. Manifests may repeat."),
]
TemplateOption = Annotated[str | None, typer.Option("--template", help="A template of the catalogue.")]
ProjectOption = Annotated[str, typer.Option("-p", "--project", help="The project.")]
NamespaceOption = Annotated[str | None, typer.Option("-n", "--namespace", help="Default: the kubeconfig's.")]
KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", help="Default: the local system's, else KUBECONFIG.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Take fields over from other field managers. Recorded.")]
ReplaceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--replace",
        metavar="KIND",
        help="Delete and create objects of this kind anew where a field cannot change. May repeat. Recorded.",
    ),
]
DEFAULT_PROJECT = "default"

InputOption = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="KEY=VALUE", help="An input. Others see it in the list of processes. May repeat."),
]
InputsFileOption = Annotated[
    Path | None, typer.Option("--inputs-file", help="Inputs, as a mapping in YAML or JSON; --input goes before it.")
]
InputStdinOption = Annotated[
    str | None,
    typer.Option("--input-stdin", metavar="KEY", help="Read this input from standard input, and treat it as secret."),
]
NoPromptOption = Annotated[bool, typer.Option("--no-prompt", help="Never ask; what is missing is left out.")]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Follow it to its end; exit code 1 if it fails, 7 if it waits for inputs.")
]
