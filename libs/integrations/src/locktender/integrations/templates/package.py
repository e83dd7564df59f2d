"""A package: the files of one template, of whichever form, and what can be told of it without rendering it."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import assert_never

from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text
from locktender.integrations.templates import chart, kustomization
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.template import Declared, Template, read_template

MOST_FILES = 200
"""Files of a package, at most."""
LARGEST = 1_048_576
"""Bytes of a package, at most, all files together."""

TEMPLATE_FILES = ("index.yaml", "index.yml", "template.yaml")
"""Where the text of a template is looked for, in this order."""

_KIND = re.compile(r"^kind:[ \t]*['\"]?Template\b", re.MULTILINE)
_LONGEST_TEXT, _MOST_TEXTS = 4_000, 50
NOTHING = "nothing-to-render"
"""The code of the fault that there is no template of any form."""


class PackageForm(StrEnum):
    """What renders a package."""

    TEMPLATE = "template"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


@dataclass(frozen=True, slots=True)
class Package:
    """The files of one template, checked.

    Attributes:
        name: what it goes by, in the catalogue where it is from one.
        about: author, icon, categories and the like, as written: texts and lists of texts only.
        files: by path, the ones that rendering needs.
        digest: SHA-256, in hex, of the paths and texts of `files`. Equal files have equal digests, whatever the name.
        template: the declarations, for the form `template`.
    """

    form: PackageForm
    name: str
    title: str
    description: str
    about: JsonObject
    files: Mapping[str, str] = field(repr=False)
    digest: str
    template: Template | None = field(default=None, repr=False, compare=False)


def read_package(files: Mapping[str, str], *, name: str | None = None) -> Package:
    """Read a package from its files, by path with slashes.

    Its form is told by what is there: `index.yaml`, `index.yml`, `template.yaml` or a single YAML file whose first
    document is a `Template`; else a kustomization; else a `Chart.yaml`.

    Raises:
        TemplateFault: there is no such file at its top, there are more than 200 files or 1 MiB, a path leads outside,
            or what the files declare cannot be read.
    """
    _check(files)
    fault = None
    for path in _candidates(files):
        try:
            return _of_template(path, files[path], name)
        except TemplateFault as found:
            if is_meant_as_template(files[path]):
                raise
            fault = fault or found
    if (path := kustomization.top(files)) is not None:
        return _of_kustomization(files, path, name)
    if chart.CHART in files:
        return _of_chart(files, name)
    if fault is not None:
        raise fault
    wanted = "an index.yaml with a Template, a kustomization.yaml or a Chart.yaml"
    raise TemplateFault(NOTHING, f"there is no template here; add {wanted}")


def declared_inputs(package: Package) -> tuple[Declared, ...]:
    """The inputs as their author declared them, in order. A kustomization has none.

    Raises:
        TemplateFault: they cannot be read.
    """
    match package.form:
        case PackageForm.TEMPLATE:
            return tuple(template_of(package).inputs)
        case PackageForm.KUSTOMIZE:
            return ()
        case PackageForm.HELM:
            return chart.declared(package.files)
        case _:
            assert_never(package.form)


def template_of(package: Package) -> Template:
    """The declarations of a package of the form `template`.

    Raises:
        TemplateFault: they cannot be read.
        ValueError: it has another form.
    """
    if package.form is not PackageForm.TEMPLATE:
        raise ValueError(package.form)
    return package.template or read_template(template_text(package))


def template_text(package: Package) -> str:
    """The text of a package of the form `template`."""
    return next(iter(package.files.values()))


def is_meant_as_template(text: str) -> bool:
    """Whether a file that cannot be read as a template was meant to be one, or is just called like one."""
    return _KIND.search(text) is not None


def is_inside(path: str) -> bool:
    """Whether `path` is a plain relative path that stays where it begins."""
    parts = path.split("/")
    return (
        path.isprintable()
        and "\\" not in path
        and all(part not in {"", ".", ".."} for part in parts)
        and len(path) < 256  # noqa: PLR2004 - what file systems take
    )


def _check(files: Mapping[str, str]) -> None:
    if len(files) > MOST_FILES:
        raise TemplateFault("too-many-files", f"there are more than {MOST_FILES} files")
    if sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values()) > LARGEST:
        raise TemplateFault("too-large", f"the files have more than {LARGEST} bytes together")
    for path in files:
        if not is_inside(path):
            shown = "".join(c if c.isprintable() else "?" for c in path[:80])
            raise TemplateFault("bad-path", f"the path {shown} is not a plain path within the template")


def _candidates(files: Mapping[str, str]) -> list[str]:
    found = [path for path in TEMPLATE_FILES if path in files]
    if not found and len(files) == 1:
        taken = {chart.CHART, *kustomization.NAMES}
        found = [path for path in files if path.endswith((".yaml", ".yml")) and "/" not in path and path not in taken]
    return found


def _of_template(path: str, text: str, name: str | None) -> Package:
    template = read_template(text)
    # The other files of its folder, such as a logo, take no part in rendering.
    files = {path: text}
    return Package(
        form=PackageForm.TEMPLATE,
        name=name or template.name or PurePosixPath(path).stem,
        title=as_text(template.about.get("title")) or name or template.name,
        description=as_text(template.about.get("description")),
        about=_plain(template.about),
        files=files,
        digest=_digest(files),
        template=template,
    )


def _of_kustomization(files: Mapping[str, str], path: str, name: str | None) -> Package:
    about = kustomization.about(files, path)
    named = name or as_text(about.get("name")) or "kustomization"
    return _described(PackageForm.KUSTOMIZE, files, named, about)


def _of_chart(files: Mapping[str, str], name: str | None) -> Package:
    about = chart.about(files)
    return _described(PackageForm.HELM, files, name or as_text(about.get("name")), about)


def _described(form: PackageForm, files: Mapping[str, str], name: str, about: JsonObject) -> Package:
    return Package(
        form=form,
        name=name,
        title=as_text(about.get("title")) or name,
        description=as_text(about.get("description")),
        about=_plain(about),
        files=dict(files),
        digest=_digest(files),
    )


def _plain(about: JsonObject) -> JsonObject:
    """What is said about a template, without what nests and within bounds."""
    plain: JsonObject = {}
    for key, value in list(about.items())[:_MOST_TEXTS]:
        texts = _texts(value)
        if isinstance(value, list) and texts:
            plain[key] = list[Json](texts)
        elif isinstance(value, str):
            plain[key] = value[:_LONGEST_TEXT]
    return plain


def _texts(value: Json) -> list[str]:
    return [as_text(item)[:_LONGEST_TEXT] for item in as_array(value)[:_MOST_TEXTS] if as_text(item)]


def categories(package: Package) -> tuple[str, ...]:
    """The categories that its author put it in."""
    value = as_object(package.about).get("categories")
    return (value,) if isinstance(value, str) and value else tuple(_texts(value))


def _digest(files: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        for part in (path, files[path]):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return digest.hexdigest()
