"""The stored source of a template task: everything that rendering needs, as it was asked for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from locktender.integrations.kube.json_value import as_array, as_object, as_text
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates.package import Package, read_package
from locktender.runner.executors.documents import SourceUnreadable

_LARGE = 65_536
"""Characters of a package from which on it is read beside the event loop."""


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """What a template task was asked to deploy.

    Attributes:
        name: in the catalogue; None for one that was sent as text.
        inputs: the values that may be kept.
        sensitive: names of the inputs whose values were withheld.
        variables: the platform's, as they were when the task was created.
    """

    name: str | None
    files: Mapping[str, str] = field(repr=False)
    inputs: Mapping[str, str] = field(repr=False)
    sensitive: frozenset[str]
    variables: Mapping[str, str]

    async def package(self) -> Package:
        """The package that the files are.

        Raises:
            TemplateFault: they cannot be read.
        """
        if sum(map(len, self.files.values())) <= _LARGE:
            return read_package(self.files, name=self.name)
        return await in_thread(lambda: read_package(self.files, name=self.name))


def stored_template(source: str) -> StoredTemplate:
    """The stored source (JSON text) of a template task.

    Raises:
        SourceUnreadable: it is none, or says it in a way that is not known.
    """
    stored = as_object(json.loads(source))
    files = _texts(stored.get("files"))
    if stored.get("kind") != "template" or not files:
        raise SourceUnreadable("the stored template cannot be read by this runner; deploy again")
    return StoredTemplate(
        name=as_text(stored.get("template")) or None,
        files=files,
        inputs=_texts(stored.get("inputs")),
        sensitive=frozenset(as_text(name) for name in as_array(stored.get("sensitiveKeys"))),
        variables=_texts(stored.get("variables")),
    )


def _texts(value: object) -> dict[str, str]:
    return {key: text for key, text in as_object(value).items() if isinstance(text, str)}
