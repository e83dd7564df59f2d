"""What the commands that deploy send: a source, its inputs, the target, credentials, and how to apply."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from locktender.cli.connection import Connection
from locktender.cli.exits import CommandError, Exit
from locktender.cli.files import STDIN, text_of
from locktender.cli.options import ApplyOptions
from locktender.cli.packages import inline_template
from locktender.integrations.templates.package import Package

_SEPARATOR = "\n---\n"


@dataclass(frozen=True, slots=True)
class Source:
    """What to deploy.

    Attributes:
        body: as the API takes it.
        title: a name for people.
        package: the template in it, where it is one that is known here.
        template: the name of a template of the catalogue, where it is one.
    """

    body: dict[str, Any] = field(repr=False)
    title: str
    package: Package | None = None
    template: str | None = None

    @property
    def has_inputs(self) -> bool:
        """Whether it may ask for inputs."""
        return self.package is not None or self.template is not None


def source_of(files: Sequence[str], template: str | None) -> Source | None:
    """The source that options name: files with manifests, one file with a template, or a template of the catalogue.

    None when they name none.

    Raises:
        CommandError: they name several, or a file cannot be read.
    """
    if template is not None and files:
        raise CommandError(Exit.USAGE, "give either files or a template, not both")
    if template is not None:
        return Source({"kind": "template", "template": template}, template[:200], template=template)
    if not files:
        return None
    texts = [text_of(file) for file in files]
    packages = [inline_template(text) for text in texts]
    package = packages[0]
    if package is not None and len(files) == 1:
        return Source({"kind": "template", "text": texts[0]}, package.title[:200], package=package)
    if any(each is not None for each in packages):
        raise CommandError(Exit.USAGE, "a template is deployed alone", "Give one file.")
    return Source({"kind": "manifests", "manifests": _SEPARATOR.join(texts)}, _title_of(files))


def request_of(source: Source, project: str, options: ApplyOptions, connection: Connection) -> dict[str, Any]:
    """The body of a create or a preview, but for its inputs.

    Raises:
        CommandError: there is no kubeconfig, or it cannot be read.
    """
    return {
        "source": source.body,
        "target": {"project": project, "namespace": options.namespace},
        "apply": apply_of(options),
        "kubeconfig": kubeconfig_of(options.kubeconfig, connection),
    }


def apply_of(options: ApplyOptions) -> dict[str, Any]:
    """How to apply, as the API takes it."""
    return {"force": options.force, "replace": options.replace or []}


def kubeconfig_of(given: Path | None, connection: Connection) -> str:
    """The text of the kubeconfig to use.

    Raises:
        CommandError: there is none, or it cannot be read.
    """
    found = known_kubeconfig(given, connection)
    if found is None:
        raise CommandError(Exit.USAGE, "no kubeconfig", "Pass --kubeconfig FILE or set KUBECONFIG.")
    return found


def known_kubeconfig(given: Path | None, connection: Connection) -> str | None:
    """The same; None where there is none."""
    from_environment = os.environ.get("KUBECONFIG")
    chosen = given or connection.kubeconfig or (Path(from_environment) if from_environment else None)
    return None if chosen is None else text_of(chosen)


def _title_of(files: Sequence[str]) -> str:
    return "manifests" if files[0] == STDIN else Path(files[0]).stem[:200]
