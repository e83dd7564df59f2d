"""Templates in files of this machine: told from manifests, read, and rendered here."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from locktender.cli.exits import CommandError, Exit
from locktender.cli.files import STDIN, text_of
from locktender.cli.forms.fields import Form
from locktender.cli.forms.values import Values
from locktender.contracts.deployments.inputs import InputField
from locktender.integrations.kube.json_value import JsonObject, as_object
from locktender.integrations.kube.secrets import is_secret, withheld
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import checked, form
from locktender.integrations.templates.package import LARGEST, MOST_FILES, Package, read_package
from locktender.integrations.templates.rendering import allocate, rendered, secret_values
from locktender.integrations.templates.written import written
from locktender.runtime.clock import SystemClock
from locktender.runtime.scrub import Scrubber

_NO_TEMPLATE = frozenset({"no-template", "nothing-to-render", "malformed-yaml"})


@dataclass(frozen=True, slots=True)
class RenderedHere:
    """What a package came to on this machine.

    Attributes:
        instance: the name that was drawn.
        yaml: the documents, as one stream.
        missing: required inputs without a value.
        unset: names that expressions asked for in vain.
    """

    instance: str
    yaml: str = field(repr=False)
    missing: tuple[str, ...]
    unset: tuple[str, ...]


def inline_template(text: str) -> Package | None:
    """The template that a text is; None when it is anything else, such as manifests.

    Raises:
        CommandError: it is a template that cannot be used.
    """
    if "Template" not in text:
        return None
    try:
        return read_package({"template.yaml": text})
    except TemplateFault as fault:
        if fault.code in _NO_TEMPLATE:
            return None
        raise CommandError(Exit.USAGE, f"the template cannot be used: {fault}") from None


def package_at(path: str) -> Package:
    """The template in a file or folder; `-` is standard input.

    Raises:
        CommandError: it cannot be read, or is no template.
    """
    place = Path(path)
    folder = path != STDIN and place.is_dir()
    files = _files(place) if folder else {"template.yaml": text_of(path)}
    try:
        return read_package(files, name=place.resolve().name if folder else None)
    except TemplateFault as fault:
        raise CommandError(Exit.USAGE, f"{path} cannot be used: {fault}") from None


def form_of(package: Package, variables: Mapping[str, str]) -> Form:
    """What a package asks for; its texts follow the answers."""

    def fields(given: Mapping[str, str]) -> Sequence[InputField]:
        try:
            return form(package, given, variables)
        except TemplateFault as fault:
            raise CommandError(Exit.USAGE, f"the template cannot be used: {fault}") from None

    return fields


async def render_here(
    package: Package, values: Values, variables: Mapping[str, str], *, namespace: str | None, reveal: bool
) -> RenderedHere:
    """A new instance of a package, as it would be deployed. Without `reveal`, no secret value is in it.

    Raises:
        CommandError: a value will not do, or the package cannot be rendered.
    """
    try:
        accepted = checked(package, values.given, variables, pointer="", declared_sensitive=values.hidden)
        if accepted.findings:
            told = "\n".join(f"  {finding.pointer}: {finding.message}" for finding in accepted.findings)
            raise CommandError(Exit.USAGE, f"inputs cannot be used:\n{told}")
        instance = allocate(package, variables, secrets.token_bytes(32), None)
        found = await rendered(
            package, instance, variables, accepted.values, namespace=namespace, clock=SystemClock()
        )  # fmt: skip
    except TemplateFault as fault:
        raise CommandError(Exit.USAGE, f"it cannot be rendered: {fault}") from None
    documents = found.documents
    if not reveal:
        hidden = [accepted.values[key] for key in accepted.sensitive if key in accepted.values]
        hidden += secret_values(package, instance, accepted.values)
        documents = _without(documents, Scrubber(hidden))
    return RenderedHere(instance.name, written(documents), accepted.missing, found.missing)


def _without(documents: list[JsonObject], scrubber: Scrubber) -> list[JsonObject]:
    safe = [withheld(document) if is_secret(document) else document for document in documents]
    return [as_object(scrubber.structure(document)) for document in safe]


def _files(folder: Path) -> dict[str, str]:
    """The text files of a folder, without what hides; no more of it than a template may have."""
    found: dict[str, str] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_symlink() or not path.is_file() or any(part.startswith(".") for part in inside.parts):
            continue
        size += path.stat().st_size
        if size > LARGEST or len(found) > MOST_FILES:
            raise CommandError(Exit.USAGE, f"{folder} is larger than a template may be")
        try:
            found[inside.as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            # A logo, say. Nothing that renders reads it.
            continue
        except OSError as error:
            raise CommandError(Exit.USAGE, f"{path} cannot be read: {error.strerror}") from error
    return found
