"""Every answer of the API that is not a success, as the `Status` object Kubernetes clients expect."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from locktender.contracts.kernel.errors import LocktenderError
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj

Cause: TypeAlias = tuple[str, str, str]
"""A broken rule: field, reason, message."""


class Refusal(LocktenderError):
    """The request cannot be served. Nothing was changed by it.

    Attributes:
        code: HTTP status.
        reason: machine-readable reason as Kubernetes spells it, "" for none.
        headers: extra response headers.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.headers = dict(headers or {})

    def status(self) -> Obj:
        """The body of the answer."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }


def _about(resource: Resource, name: str) -> Obj:
    return {"name": name, "group": resource.group, "kind": resource.plural}


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Resource, name: str, why: str, *, details: Obj | None = None) -> Refusal:
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    about = _about(resource, name) | (details or {})
    return Refusal(403, "Forbidden", f"{subject} is forbidden: {why}", details=about)


def no_such_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource")


def not_found(resource: Resource, name: str) -> Refusal:
    message = f'{resource.qualified} "{name}" not found'
    return Refusal(404, "NotFound", message, details=_about(resource, name))


def method_not_allowed() -> Refusal:
    return Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def already_exists(resource: Resource, name: str) -> Refusal:
    message = f'{resource.qualified} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, details=_about(resource, name))


def conflict(resource: Resource, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=_about(resource, name))


def modified(resource: Resource, name: str) -> Refusal:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def apply_conflict(message: str, causes: Sequence[Obj]) -> Refusal:
    return Refusal(409, "Conflict", message, details={"causes": list(causes)})


def expired(asked: int, oldest: int) -> Refusal:
    return Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")


def continue_expired() -> Refusal:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
    return Refusal(410, "Expired", message)


def too_new(asked: int, current: int) -> Refusal:
    message = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details: Obj = {"causes": [cause], "retryAfterSeconds": 1}
    return Refusal(504, "Timeout", message, details=details, headers={"retry-after": "1"})


def too_large(limit: int) -> Refusal:
    message = f"Request entity too large: limit is {limit}"
    return Refusal(413, "RequestEntityTooLarge", message)


def not_acceptable(served: Sequence[str]) -> Refusal:
    message = f"only the following media types are accepted: {', '.join(served)}"
    return Refusal(406, "NotAcceptable", message)


def unsupported_media(content_type: str, accepted: Sequence[str]) -> Refusal:
    message = (
        f"the body of the request was in an unknown format ({content_type or 'none'}) "
        f"- accepted media types include: {', '.join(accepted)}"
    )
    return Refusal(415, "UnsupportedMediaType", message)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> Refusal:
    """The object breaks rules of its kind; `causes` are (field, reason, message)."""
    told = [f"{field}: {message}" for field, _, message in causes]
    listing = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details: Obj = {
        "name": name,
        "group": resource.group,
        "kind": resource.kind,
        "causes": [{"reason": reason, "message": message, "field": field} for field, reason, message in causes],
    }
    return Refusal(422, "Invalid", f'{kind} "{name}" is invalid: {listing}', details=details)


def no_typed_patch(resource: Resource, config: Obj, faults: Sequence[str]) -> Refusal:
    """An applied configuration does not fit the schema of its kind."""
    metadata: Obj = config.get("metadata") or {}
    what = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {resource.api_version}, Kind={resource.kind}"
    told = faults[0] if len(faults) == 1 else "errors:\n  " + "\n  ".join(faults)
    return Refusal(500, "", f"failed to create typed patch object ({what}): {told}")


def rejected(why: str) -> Refusal:
    """The request was read, and cannot be done with this object."""
    cause = {"reason": "UnexpectedServerResponse", "message": why}
    message = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", message, details={"causes": [cause]})


def internal() -> Refusal:
    return Refusal(500, "InternalError", "Internal error occurred: the sandbox cluster hit a bug")
