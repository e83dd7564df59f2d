"""`locktender templates`: what can be deployed by name, what it asks for, and what it would come to."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.connection import connect
from locktender.cli.exits import EXIT_CODES, CommandError, Exit
from locktender.cli.files import STDIN
from locktender.cli.forms.values import Values, exposed, values_of
from locktender.cli.options import (
    DEFAULT_WORKSPACE,
    InputOption,
    InputsFileOption,
    InputStdinOption,
    JsonOption,
    TokenOption,
    UrlOption,
    WorkspaceOption,
)
from locktender.cli.output import Output
from locktender.cli.packages import package_at, render_here
from locktender.cli.render.facts import field_text
from locktender.cli.running import finish
from locktender.integrations.kube.json_value import as_array

app = typer.Typer(no_args_is_help=True, help="Look at the catalogue of templates.", epilog=EXIT_CODES)

_SHORT = 12


@app.command(name="list")
def list_(
    *,
    search: Annotated[str | None, typer.Option("--search", "-s", help="Only those with these words.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """The templates of the catalogue."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            found = await api.templates(search)
        output.result(found)
        if not as_json:
            output.console.print(_table(found["templates"]))
            if found.get("staleSince"):
                output.warn(f"the repository of the catalogue has not answered since {found['staleSince'][:19]}")
        return Exit.OK

    finish(output, work())


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A template of the catalogue.")],
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """One template, and what it asks for."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            found = await api.template(name)
        output.result(found)
        if not as_json:
            output.say(_told(found))
        return Exit.OK

    finish(output, work())


@app.command()
def render(
    what: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A template: of the catalogue, or a file or folder.")
    ],
    *,
    inputs: InputOption = None,
    inputs_file: InputsFileOption = None,
    input_stdin: InputStdinOption = None,
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Where it would be deployed.")] = "default",
    variable: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A platform variable, for a file. May repeat.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="With a file: show secret values, too. Nothing leaves this machine.")
    ] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the YAML that a template comes to; deploys nothing. Values of secret inputs and of Secrets are withheld.

    A template of the catalogue is rendered by the API. One in a file or folder is rendered here, and never sent. Each
    rendering draws new random values, as each deployment does.
    """
    output = Output(as_json=as_json)

    async def work() -> Exit:
        values = values_of(inputs or [], inputs_file, input_stdin)
        if (warning := exposed(values)) is not None:
            output.warn(warning)
        if _is_file(what):
            pairs = values_of(variable or [], None, None).given
            found = await _rendered_here(what, values, {"SEALOS_NAMESPACE": namespace} | dict(pairs), local=local)
        elif local:
            raise CommandError(
                Exit.USAGE, "--local is for a template in a file", "Give its path, such as ./template.yaml."
            )
        else:
            body = {
                "inputs": dict(values.given),
                "sensitiveKeys": list(values.hidden),
                "target": {"namespace": namespace},
            }
            async with open_client(connect(url, token), workspace) as api:
                found = await api.render(what, body)
        output.result(found)
        output.text(found["documents"])
        if found["missing"]:
            output.warn(f"nobody has set: {', '.join(found['missing'])}")
        for finding in found["findings"]:
            output.warn(f"left out: {finding['message']}")
        return Exit.USAGE if found["findings"] else Exit.OK

    finish(output, work())


async def _rendered_here(path: str, values: Values, variables: dict[str, str], *, local: bool) -> dict[str, Any]:
    package = package_at(path)
    found = await render_here(package, values, variables, namespace=variables["SEALOS_NAMESPACE"], reveal=local)
    missing = [*found.missing, *found.unset]
    return {"instance": found.instance, "documents": found.yaml, "missing": missing, "findings": []}


def _is_file(what: str) -> bool:
    """Names of the catalogue have no slash and no ending of a YAML file; what is there as a file is one."""
    return what == STDIN or "/" in what or what.endswith((".yaml", ".yml")) or Path(what).exists()


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("name", "title", "categories", "version", "description"):
        table.add_column(title, no_wrap=title in {"name", "version"}, overflow="ellipsis")
    for entry in entries:
        version = (entry.get("revision") or entry["digest"])[:_SHORT]
        said = Text(entry["fault"], style="red") if entry.get("fault") else Text(_first_line(entry["description"]))
        table.add_row(entry["name"], entry["title"], ", ".join(entry["categories"]), version, said)
    return table


def _told(found: dict[str, Any]) -> Text:
    lines = [Text.assemble((found["title"], "bold"), (f"  {found['form']} {found['digest'][:_SHORT]}", "dim"))]
    lines += [Text(found["description"].strip())] if found["description"].strip() else []
    about = {key: value for key, value in found["about"].items() if key not in {"title", "description", "icon"}}
    for key, value in about.items():
        said = ", ".join(map(str, as_array(value))) or str(value)
        lines.append(Text.assemble((f"{key}: ", "dim"), _first_line(said)))
    lines.append(Text(""))
    lines.append(Text("inputs:" if found["inputs"] else "it asks for nothing", style="dim"))
    lines += [Text.assemble("  ", field_text(field)) for field in found["inputs"]]
    lines += [Text(""), Text(f"deploy with: locktender deploy --template {found['name']}", style="dim")]
    return Text("\n").join(lines)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
