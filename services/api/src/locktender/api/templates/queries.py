"""The use cases of the catalogue. They only look: nothing is stored, and no cluster is asked."""

from collections.abc import Mapping

from locktender.api.http.faults import validated
from locktender.api.http.problems import ProblemError
from locktender.api.templates import views
from locktender.api.templates.packages import Found, Packages
from locktender.api.templates.platforms import PlatformSettings
from locktender.api.templates.provisional import Provisional, ProvisionalRenderer
from locktender.contracts.deployments.catalogue import (
    InputFault,
    RenderedTemplate,
    RenderTemplate,
    TemplateDetail,
    TemplateList,
)
from locktender.contracts.deployments.inputs import InputField
from locktender.contracts.kernel.errors import Rejected
from locktender.contracts.kernel.problems import Problem
from locktender.integrations.kube.json_value import JsonObject, as_object
from locktender.integrations.kube.secrets import is_secret, withheld
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import checked, form
from locktender.integrations.templates.written import written
from locktender.runtime.scrub import Scrubber


class TemplateQueries:
    """Looks at the templates that can be deployed."""

    def __init__(self, packages: Packages, platforms: PlatformSettings, renderer: ProvisionalRenderer) -> None:
        self._packages = packages
        self._platforms = platforms
        self._renderer = renderer

    async def list(self, search: str | None) -> TemplateList:
        """The templates, or those in which every word of `search` occurs. Broken ones are among them, with their fault.

        Raises:
            Unavailable: the catalogue cannot be read.
        """
        shelf = await self._packages.shelf()
        return views.listed(shelf, shelf.entries() if search is None else shelf.matching(search))

    async def detail(self, name: str) -> TemplateDetail:
        """One template, and what it asks for on a platform without a server of its own settings.

        Raises:
            ProblemError: there is no such template, or it is broken.
        """
        found = await self._found(name)
        return views.detail(name, found.package, found.revision, await self._form(found))

    async def schema(self, name: str) -> views.Schema:
        """The JSON Schema of the inputs of a template. Raises like `detail`."""
        found = await self._found(name)
        return views.input_schema(found.package.title, await self._form(found))

    async def render(self, name: str, document: dict[str, object]) -> RenderedTemplate:
        """What a template would come to with some inputs. Values that cannot be used are told and left out.

        Raises:
            Rejected: the request cannot be read, or the template cannot be rendered with these inputs.
            ProblemError: as `detail`.
        """
        request, findings = validated(RenderTemplate, document, scalars=("inputs",))
        if request is None:
            raise Rejected(findings)
        found = await self._found(name)
        variables = self._platforms.of(request.target.server, request.target.namespace)
        try:
            held = await self._packages.worked(
                found.package.files,
                lambda: checked(
                    found.package,
                    request.inputs,
                    variables,
                    pointer="/inputs",
                    declared_sensitive=request.sensitive_keys,
                ),
            )
            made = await self._renderer(found.package, variables, held.values, request.target.namespace)
        except TemplateFault as fault:
            raise Rejected([fault.finding("")]) from None
        secret = [value for key, value in held.values.items() if key in held.sensitive]
        return RenderedTemplate(
            instance=made.instance,
            documents=_shown(made, secret),
            missing=tuple(dict.fromkeys((*held.missing, *made.unset))),
            findings=tuple(InputFault(pointer=each.pointer, message=each.message, code=each.code)
                           for each in held.findings),
        )  # fmt: skip

    async def _found(self, name: str) -> Found:
        try:
            return await self._packages.named(name)
        except TemplateFault as fault:
            if fault.code == "unknown-template":
                raise ProblemError(Problem.NOT_FOUND, str(fault)) from None
            raise _broken(fault) from None

    async def _form(self, found: Found) -> tuple[InputField, ...]:
        variables: Mapping[str, str] = self._platforms.of(None, None)
        try:
            return await self._packages.worked(found.package.files, lambda: form(found.package, {}, variables))
        except TemplateFault as fault:
            raise _broken(fault) from None


def _broken(fault: TemplateFault) -> ProblemError:
    return ProblemError(Problem.INVALID_REQUEST, f"the template is broken: {fault}", [fault.finding("")])


def _shown(made: Provisional, secret: list[str]) -> str:
    scrubber = Scrubber([*made.secrets, *secret])
    safe: list[JsonObject] = [
        as_object(scrubber.structure(withheld(each) if is_secret(each) else each)) for each in made.documents
    ]
    return written(safe)
