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

FileOption = Annotated[list[str], typer.Option("-f", "--file", help="Manifests; - is standard input. May repeat.")]
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
