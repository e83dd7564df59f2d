"""Templates in a request, or that of a predecessor: values that may be stored, and values for memory alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from locktender.api.deployments.examining.answers import as_input
from locktender.api.deployments.examining.examined import (
    Before,
    Examined,
    Place,
    Redeploys,
    Templated,
    compact,
    custody_of,
    finding,
    options_of,
    target_of,
)
from locktender.api.deployments.examining.withholding import repeats, scrubbed
from locktender.api.templates.packages import Found, Packages
from locktender.api.templates.platforms import PlatformSettings
from locktender.contracts.deployments.inputs import Scalar
from locktender.contracts.deployments.models import CreateTask, RunnerKind, Step, TemplateSource, Timeline
from locktender.contracts.kernel.errors import Finding, Rejected
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import Checked, checked
from locktender.integrations.templates.package import Package, declared_inputs

TIMELINE = Timeline(
    steps=(
        Step(id="prepare-template", label="Prepare template"),
        Step(id="create-resources", label="Create resources"),
    )
)
_TIMELINE_TEXT = TIMELINE.model_dump_json(by_alias=True)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request says about a template, its predecessor's part included."""

    found: Found
    given: Mapping[str, Scalar] = field(repr=False)
    withheld: frozenset[str]
    """Inputs that are secret although the template may not say so."""
    owed: frozenset[str]
    """Inputs that the predecessor was given, and whose values nobody kept."""
    alike: bool
    """It is the template that the predecessor deployed, though perhaps at another revision."""


class TemplateExaminer:
    """Examines deployments of templates."""

    def __init__(self, *, packages: Packages, platforms: PlatformSettings, max_secret_bytes: int) -> None:
        self._packages = packages
        self._platforms = platforms
        self._max_secret_bytes = max_secret_bytes

    async def examine(self, request: CreateTask, access: ClusterAccess, before: Before | None) -> Examined:
        """What the request, or else its predecessor, deploys.

        Raises:
            Rejected: there is no such template, it is broken, or a value cannot be used.
            Unavailable: the catalogue cannot be read.
        """
        asked = await self._asked(request, before)
        place = target_of(request, access, before)
        variables = dict(self._platforms.of(place.server, place.namespace))
        package = asked.found.package
        try:
            held = await self._packages.worked(
                package.files,
                lambda: checked(package, asked.given, variables, pointer="/inputs", declared_sensitive=asked.withheld),
            )
        except TemplateFault as fault:
            raise Rejected([fault.finding("/source")]) from None
        if held.findings:
            raise Rejected(held.findings)
        return self._examined(request, access, before, asked, held, place, variables)

    async def _asked(self, request: CreateTask, before: Before | None) -> _Asked:
        stored = before.source if before is not None and before.kind == "template" else None
        if isinstance(request.source, TemplateSource):
            found = await self._found(request.source)
            alike = stored is not None and await self._alike(stored, found)
            inherit = alike and "inputs" not in request.model_fields_set
        else:
            found = await self._kept(stored or {})
            alike = inherit = stored is not None
        owed = frozenset(map(as_text, as_array((stored or {}).get("sensitiveKeys")))) if alike else frozenset[str]()
        kept = as_object((stored or {}).get("inputs")) if inherit else {}
        given: dict[str, Scalar] = {key: as_text(value) for key, value in kept.items()}
        return _Asked(found, given | request.inputs, owed | frozenset(request.sensitive_keys), owed, alike)

    async def _alike(self, stored: JsonObject, found: Found) -> bool:
        if stored.get("template") != found.name or stored.get("form") != found.package.form:
            return False
        try:
            return found.name is not None or (await self._kept(stored)).package.name == found.package.name
        except Rejected:
            return False

    async def _found(self, source: TemplateSource) -> Found:
        if (source.template is None) == (source.text is None):
            message = "give either `template`, a name in the catalogue, or `text`, the template itself"
            raise Rejected([finding("/source", message, "template-or-text")])
        try:
            if source.template is not None:
                return await self._packages.named(source.template)
            return await self._packages.inline(source.text or "")
        except TemplateFault as fault:
            raise Rejected([fault.finding("/source/text" if source.template is None else "/source/template")]) from None

    async def _kept(self, stored: JsonObject) -> Found:
        name, revision = as_text(stored.get("template")) or None, as_text(stored.get("revision")) or None
        try:
            return Found(await stored_package(self._packages, stored), name, revision)
        except TemplateFault as fault:
            raise Rejected([fault.finding("/source")]) from None

    def _examined(
        self,
        request: CreateTask,
        access: ClusterAccess,
        before: Before | None,
        asked: _Asked,
        held: Checked,
        place: Place,
        variables: dict[str, str],
    ) -> Examined:
        found = asked.found
        told = [as_input(value) for key, value in asked.given.items() if key in held.sensitive]
        texts = [*access.secrets(), *told]
        secret, public = _divided(held, texts)
        _refuse_written_down(found, secret, access)
        title = request.display_name or (before.row.display_name if before else "") or _on_one_line(found.package.title)
        title = scrubbed(title or found.package.name, texts)[:200]
        declared = {each.key for each in declared_inputs(found.package)}
        apply = options_of(request, before)
        source: dict[str, object] = {
            "kind": "template",
            "template": found.name,
            "form": found.package.form.value,
            "files": dict(found.package.files),
            "digest": found.package.digest,
            "revision": found.revision,
            "inputs": dict(public),
            "sensitiveKeys": sorted(secret.keys() | (asked.owed & declared)),
            "variables": dict(variables),
            "apply": apply.model_dump(mode="json", by_alias=True),
        }
        kubeconfig = request.kubeconfig.get_secret_value() if request.kubeconfig else ""
        redeploys = _redeploys(request, before, asked, public, place)
        # What the catalogue holds, and how the platform is set, may change between two sendings of one request.
        fixed = [source[name] for name in ("template", "inputs", "sensitiveKeys", "apply")]
        own = found.package.digest if found.name is None else None
        return Examined(
            runner=RunnerKind.TEMPLATE,
            place=place,
            display_name=title,
            source=compact(source),
            timeline=TIMELINE,
            timeline_text=_TIMELINE_TEXT,
            compared=compact([*fixed, own, place.project, place.namespace, title]),
            facts={"template": found.name, "form": source["form"], "digest": source["digest"],
                   "revision": found.revision, "sensitiveKeys": source["sensitiveKeys"]},
            words=f"template {found.name or found.package.name}",
            redeploys=redeploys,
            apply=apply,
            template=Templated(found.package, variables, public | secret, tuple(secret.values()), held.missing),
            access=access,
            secrets=custody_of(kubeconfig, {}, secret, self._max_secret_bytes, "/inputs"),
        )  # fmt: skip


async def stored_package(packages: Packages, stored: JsonObject) -> Package:
    """The package in a stored source.

    Raises:
        TemplateFault: this version cannot read it.
    """
    files = {path: as_text(text) for path, text in as_object(stored.get("files")).items()}
    return await packages.read(files, as_text(stored.get("template")) or None)


def _divided(held: Checked, texts: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Values for memory alone, and values that may be stored. What repeats a secret value is secret as well."""
    secret = {key: value for key, value in held.values.items() if key in held.sensitive}
    public = {key: value for key, value in held.values.items() if key not in secret}
    telling = {key: value for key, value in public.items() if repeats(value, texts)}
    return secret | telling, {key: value for key, value in public.items() if key not in telling}


def _refuse_written_down(found: Found, secret: Mapping[str, str], access: ClusterAccess) -> None:
    """A template that was sent as text is stored as it is: a secret value in it would be, too."""
    if found.name is not None:
        return
    text = "\n".join(found.package.files.values())
    told = [key for key, value in secret.items() if repeats(text, [value])]
    faults: list[Finding] = []
    if told:
        words = f"the values of {', '.join(told)[:200]} stand in the text of the template, which is stored"
        faults.append(finding("/source/text", f"{words}; refer to them as `inputs.NAME` there", "secret-in-template"))
    elif repeats(text, access.secrets()):
        words = "credentials of the kubeconfig stand in the text of the template, which is stored; take them out"
        faults.append(finding("/source/text", words, "secret-in-template"))
    if faults:
        raise Rejected(faults)


def _redeploys(
    request: CreateTask, before: Before | None, asked: _Asked, public: Mapping[str, str], place: Place
) -> Redeploys | None:
    if before is None:
        return None
    edited = request.source is not None or as_object(before.source.get("inputs")) != public
    return Redeploys(before.row.id, edited=edited, inherits=asked.alike and place == before.place)


def _on_one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()
