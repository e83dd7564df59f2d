"""From a source and the values that came with it to the answers that a deployment is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from locktender.cli.exits import CommandError, Exit
from locktender.cli.files import STDIN
from locktender.cli.forms.asking import ask
from locktender.cli.forms.fields import Form, fixed, missing
from locktender.cli.forms.terminal import Person
from locktender.cli.forms.values import Values, exposed, values_of
from locktender.cli.options import InputOptions, SourceOptions
from locktender.cli.output import Output
from locktender.cli.packages import form_of
from locktender.cli.request import Source, source_of
from locktender.cli.session import Session


@dataclass(frozen=True, slots=True)
class Filled:
    """A form with its answers.

    Attributes:
        form: None for a source that asks for nothing.
        answers: by input; those that were given and those of a person.
        hidden: inputs that are secret because of how they were given.
    """

    form: Form | None
    answers: Mapping[str, str] = field(repr=False)
    hidden: tuple[str, ...] = ()

    def added_to(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A create or a preview, with these inputs."""
        inputs = {"inputs": dict(self.answers)} if self.answers else {}
        return {**body, **inputs, **({"sensitiveKeys": list(self.hidden)} if self.hidden else {})}

    @property
    def lacking(self) -> list[str]:
        """Inputs that a run cannot do without, and has not got."""
        return [] if self.form is None else [each.key for each in missing(self.form, self.answers)]


def chosen(source: SourceOptions, inputs: InputOptions) -> tuple[Source | None, Values]:
    """The source that options name, None when they name none; and the values that they bring.

    Raises:
        CommandError: they cannot be understood or read, or want standard input for two things.
    """
    files = source.file or []
    if inputs.input_stdin is not None and STDIN in files:
        raise CommandError(Exit.USAGE, "standard input can be either the source or an input")
    return source_of(files, source.template), given_values(inputs)


def given_values(inputs: InputOptions) -> Values:
    """The values that options bring. Raises `CommandError` when one cannot be understood."""
    return values_of(inputs.inputs or [], inputs.inputs_file, inputs.input_stdin)


async def form_of_source(session: Session, source: Source, values: Values) -> Form | None:
    """What a source asks for; None for manifests, which ask for nothing. Warns of values that it does not ask for.

    Raises:
        CommandError: the catalogue does not have it, or manifests were given inputs.
    """
    if source.package is not None:
        form = form_of(source.package, {})
    elif source.template is not None:
        form = fixed((await session.api.template(source.template))["inputs"])
    elif values.given:
        raise CommandError(Exit.USAGE, "manifests take no inputs", "Inputs are for templates.")
    else:
        return None
    warn_of_ignored(session.output, form, values)
    return form


def filled(
    output: Output, form: Form | None, values: Values, somebody: Person | None, *, whole: bool = False
) -> Filled:
    """The values that were given, and what a person answers to the rest of the form; see `ask` for `whole`."""
    warn_of(output, form, values)
    if form is None or somebody is None:
        return Filled(form, values.given, values.hidden)
    return Filled(form, ask(form, values.given, somebody, whole=whole), values.hidden)


def warn_of(output: Output, form: Form | None, values: Values) -> None:
    """Warn of secrets that others can read."""
    warning = exposed(values, () if form is None else form(values.given))
    if warning is not None:
        output.warn(warning)


def warn_of_ignored(output: Output, form: Form, values: Values) -> None:
    """Warn of values that nobody asked for: a mistyped name would go unnoticed else."""
    asked = {field.key for field in form(values.given)}
    ignored = [key for key in values.given if key not in asked]
    if ignored:
        output.warn(
            f"ignored: {', '.join(ignored)}; the template does not ask for {'it' if len(ignored) == 1 else 'them'}"
        )
