"""A package to the documents of one instance, whatever its form: named, labelled, and free of what only servers set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.sensitive import is_sensitive_name
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates import helm, kustomize
from locktender.integrations.templates.expression import Scope
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import SHORTEST_SECRET, is_sensitive
from locktender.integrations.templates.labels import prepared
from locktender.integrations.templates.package import (
    Package,
    PackageForm,
    declared_inputs,
    template_of,
    template_text,
)
from locktender.integrations.templates.render import Allocated, Rendered, allocated, render
from locktender.integrations.templates.template import APP_NAME
from locktender.integrations.templates.tools import Tools, found_tools
from locktender.integrations.templates.worth import complete, drawn

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_LETTERS, _LONGEST_RELEASE = 8, 53
_LARGE = 65_536
"""Characters of a template from which on it is rendered beside the event loop."""


class Recorded(Protocol):
    """What was kept of an instance."""

    @property
    def name(self) -> str: ...
    @property
    def defaults(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a package: its name, and everything random about it.

    Attributes:
        name: a DNS label; for a chart it is the name of the release.
        seed: what its random letters come from. Secret: whoever has it can tell its generated passwords.
        defaults: `spec.defaults` worked out, secret ones included. Empty for the other forms.
        variables: the platform's, with which they were worked out.
    """

    name: str
    seed: bytes = field(repr=False)
    defaults: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class RenderedPackage:
    """What a package came to.

    Attributes:
        documents: plain JSON values, in order.
        missing: names that expressions asked for in vain; each left nothing behind.
    """

    documents: list[JsonObject] = field(repr=False)
    missing: tuple[str, ...] = ()


def allocate(package: Package, variables: Mapping[str, str], seed: bytes, recorded: Recorded | None) -> Instance:
    """The instance that `seed` stands for: equal seeds make equal ones. What was recorded of it already wins.

    Raises:
        TemplateFault: a default cannot be worked out, or the name cannot be one.
    """
    if package.form is PackageForm.TEMPLATE:
        kept = {} if recorded is None else {**recorded.defaults, APP_NAME: recorded.name}
        worked_out = allocated(template_of(package), variables, seed, kept)
        name, defaults = worked_out.app_name, worked_out.defaults
    else:
        name, defaults = _release(package.name, seed) if recorded is None else recorded.name, dict[str, str]()
    if not _LABEL.fullmatch(name):
        told = f"the instance would be named `{name[:80]}`; a name is lower-case letters, digits and dashes, at most 63"
        raise TemplateFault("bad-instance-name", told)
    return Instance(name, seed, defaults, variables)


def kept_defaults(package: Package, instance: Instance) -> dict[str, str]:
    """The defaults of an instance that may be recorded: none whose name says that it is secret."""
    del package
    return {key: value for key, value in instance.defaults.items() if not is_sensitive_name(key)}


def secret_values(package: Package, instance: Instance, values: Mapping[str, str]) -> list[str]:
    """Texts that must not appear in what is kept or shown, given the values that were entered.

    They are the values of sensitive inputs, entered or by default, and of defaults whose names say so. Those of less
    than 4 characters are left out: they would be found everywhere.
    """
    declared = declared_inputs(package)
    worth = dict(values)
    if package.form is PackageForm.TEMPLATE:
        letters = drawn(instance.seed)
        scope = Scope(instance.variables, {"defaults": instance.defaults}, letters(""))
        worth |= complete(declared, values, scope, letters).values
    names = {each.key for each in declared if is_sensitive(each)} | {key for key in worth if is_sensitive_name(key)}
    found = [value for key, value in worth.items() if key in names]
    found += [value for key, value in instance.defaults.items() if is_sensitive_name(key)]
    return list(dict.fromkeys(value for value in found if len(value) >= SHORTEST_SECRET))


async def rendered(
    package: Package,
    instance: Instance,
    variables: Mapping[str, str],
    inputs: Mapping[str, str],
    *,
    namespace: str | None,
    clock: Clock,
    tools: Tools | None = None,
    deadline: float = 30.0,
) -> RenderedPackage:
    """The documents of one instance, each with the label `locktender.dev/instance`.

    Inputs that are not given have their defaults; others than declared are ignored. A template comes out the same for
    the same arguments. So does a kustomization; a chart may draw new random values each time.

    `tools` are what is found on the PATH unless told otherwise. `deadline` is in seconds, for a program of others.

    Raises:
        TemplateFault: it cannot be rendered, or the program for it is missing. Never tells a value of `secret_values`.
    """
    del clock  # The event loop's own time bounds a program.
    match package.form:
        case PackageForm.TEMPLATE:
            found = await _template(package, instance, variables, inputs)
            return RenderedPackage(prepared(found.documents, instance.name), found.missing)
        case PackageForm.KUSTOMIZE:
            kubectl = (tools or found_tools()).kubectl
            documents = await kustomize.built(package.files, kubectl=kubectl, seconds=deadline)
        case PackageForm.HELM:
            documents = await helm.templated(
                package.files,
                inputs,
                helm.Release(instance.name, namespace, tuple(secret_values(package, instance, inputs))),
                program=(tools or found_tools()).helm,
                seconds=deadline,
            )
        case _:
            assert_never(package.form)
    return RenderedPackage(prepared(documents, instance.name))


async def _template(
    package: Package, instance: Instance, variables: Mapping[str, str], inputs: Mapping[str, str]
) -> Rendered:
    def work() -> Rendered:
        return render(template_of(package), Allocated(instance.defaults), variables, inputs, seed=instance.seed)

    return await in_thread(work) if len(template_text(package)) > _LARGE else work()


def _release(name: str, seed: bytes) -> str:
    """The name of a package and eight letters, as a name of a release may be."""
    letters = drawn(seed)("instance")(_LETTERS)
    plain = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[: _LONGEST_RELEASE - _LETTERS - 1].strip("-")
    return f"{plain or 'instance'}-{letters}"
