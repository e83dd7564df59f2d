"""Options that several commands share."""

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
