"""`locktender templates`: what can be deployed by name, what it asks for, and what it would come to."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import EXIT_CODES, CommandError, Exit
from locktender.cli.files import STDIN
from locktender.cli.filling import given_values, warn_of, warn_of_ignored
from locktender.cli.forms.fields import Form, fixed
from locktender.cli.forms.values import Values, pair_of
from locktender.cli.options import InputOptions
from locktender.cli.packages import form_of, package_at, render_here
from locktender.cli.render.facts import field_text
from locktender.cli.render.listing import Listing
from locktender.cli.session import Session, command
from locktender.integrations.kube.json_value import as_array

app = typer.Typer(no_args_is_help=True, help="Look at the catalogue of templates.", epilog=EXIT_CODES)

_SHORT = 12


@app.command(name="list")
@command
async def list_(
    session: Session,
    *,
    search: Annotated[str | None, typer.Option("--search", "-s", help="Only those with these words.")] = None,
) -> Exit:
    """The templates of the catalogue."""
    found = await session.api.templates(search)
    session.answer(found, _listed)
    if found.get("staleSince"):
        session.output.warn(f"the repository of the catalogue has not answered since {found['staleSince'][:19]}")
    return Exit.OK


@app.command()
@command
async def show(session: Session, name: Annotated[str, typer.Argument(help="A template of the catalogue.")]) -> Exit:
    """One template, and what it asks for."""
    session.answer(await session.api.template(name), _told)
    return Exit.OK


@app.command()
@command
async def render(
    session: Session,
    what: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A template: of the catalogue, or a file or folder.")
    ],
    *,
    inputs: InputOptions,
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Where it would be deployed.")] = "default",
    variable: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A platform variable, for a file. May repeat.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="With a file: show secret values, too. Nothing leaves this machine.")
    ] = False,
) -> Exit:
    """Print the YAML that a template comes to; deploys nothing. Values of secret inputs and of Secrets are withheld.

    A template of the catalogue is rendered by the API. One in a file or folder is rendered here, and never sent. Each
    rendering draws new random values, as each deployment does.
    """
    output, values = session.output, given_values(inputs)
    if _is_file(what):
        pairs = dict(pair_of(each, "--variable") for each in variable or [])
        found = await _rendered_here(session, what, values, {"SEALOS_NAMESPACE": namespace} | pairs, local=local)
    elif local:
        raise CommandError(Exit.USAGE, "--local is for a template in a file", "Give its path, such as ./template.yaml.")
    else:
        found = await _rendered_there(session, what, values, namespace)
    output.result(found)
    output.text(found["documents"])
    if found["missing"]:
        output.warn(f"nobody has set: {', '.join(found['missing'])}")
    for finding in found["findings"]:
        output.warn(f"left out: {finding['message']}")
    return Exit.USAGE if found["findings"] else Exit.OK


async def _rendered_there(session: Session, name: str, values: Values, namespace: str) -> dict[str, Any]:
    if values.given:
        _warn(session, fixed((await session.api.template(name))["inputs"]), values)
    body = {
        "inputs": dict(values.given),
        "sensitiveKeys": list(values.hidden),
        "target": {"namespace": namespace},
    }
    return await session.api.render(name, body)


async def _rendered_here(
    session: Session, path: str, values: Values, variables: dict[str, str], *, local: bool
) -> dict[str, Any]:
    package = package_at(path)
    _warn(session, form_of(package, variables), values)
    found = await render_here(package, values, variables, namespace=variables["SEALOS_NAMESPACE"], reveal=local)
    missing = [*found.missing, *found.unset]
    return {"instance": found.instance, "documents": found.yaml, "missing": missing, "findings": []}


def _warn(session: Session, form: Form, values: Values) -> None:
    warn_of(session.output, form, values)
    warn_of_ignored(session.output, form, values)


def _is_file(what: str) -> bool:
    """Names of the catalogue have no slash and no ending of a YAML file; what is there as a file is one."""
    return what == STDIN or "/" in what or what.endswith((".yaml", ".yml")) or Path(what).exists()


def _listed(found: dict[str, Any]) -> Listing | Text:
    if not found["templates"]:
        return Text("there are no such templates", style="dim")
    return Listing(("name", "title", "categories", "version", "description"), [*map(_row, found["templates"])])


def _row(entry: dict[str, Any]) -> tuple[str | Text, ...]:
    version = (entry.get("revision") or entry["digest"])[:_SHORT]
    said = Text(entry["fault"], style="red") if entry.get("fault") else Text(_first_line(entry["description"]))
    return entry["name"], entry["title"], ", ".join(entry["categories"]), version, said


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
