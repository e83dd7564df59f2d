"""Values that were submitted to a task that waits for them: which can be used, and which are still missing."""

import json
from collections.abc import Mapping, Sequence

from locktender.api.deployments.examining.answers import Answered, answered
from locktender.api.deployments.examining.templated import stored_package
from locktender.api.http.body import pointer
from locktender.api.templates.packages import Packages
from locktender.contracts.deployments.inputs import Asked, Scalar
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import Checked, checked

_PLACE = "/values"


async def usable(packages: Packages, source: str, asked: Asked, given: Mapping[str, Scalar]) -> dict[str, str]:
    """The values for a run, as texts. Keys that are not asked for are ignored.

    Raises:
        Rejected: nothing was submitted, a value cannot be used, or a required one is missing. No value is told.
    """
    keys = {each.key for each in asked.inputs}
    values = {key: value for key, value in given.items() if key in keys}
    if not values:
        names = ", ".join(each.key for each in asked.inputs)[:400]
        raise Rejected([Finding(Pointer(_PLACE), f"nothing was submitted; asked for are {names}", "nothing-submitted")])
    stored = as_object(json.loads(source))
    if stored.get("kind") == "template":
        held = await _by_template(packages, stored, asked, values)
    else:
        held = answered(asked.inputs, values, _PLACE)
    findings = [*held.findings, *_missing(held.missing)]
    if findings:
        raise Rejected(findings)
    return {key: text for key, text in held.values.items() if key in values}


async def _by_template(
    packages: Packages, stored: JsonObject, asked: Asked, values: dict[str, Scalar]
) -> Checked | Answered:
    """Together with what is stored, since conditions and defaults may depend on it."""
    kept: dict[str, Scalar] = {key: as_text(value) for key, value in as_object(stored.get("inputs")).items()}
    variables = {key: as_text(value) for key, value in as_object(stored.get("variables")).items()}
    secret = {each.key for each in asked.inputs if each.sensitive}
    secret |= {as_text(name) for name in as_array(stored.get("sensitiveKeys"))}
    try:
        package = await stored_package(packages, stored)
        return await packages.worked(
            package.files,
            lambda: checked(package, kept | values, variables, pointer=_PLACE, declared_sensitive=secret),
        )
    except TemplateFault:
        # The run will say what is wrong with the template; here the form alone has to do.
        return answered(asked.inputs, values, _PLACE)


def _missing(keys: Sequence[str]) -> list[Finding]:
    return [Finding(Pointer(f"{_PLACE}{pointer(key)}"), f"{key[:60]} is required", "required") for key in keys]
