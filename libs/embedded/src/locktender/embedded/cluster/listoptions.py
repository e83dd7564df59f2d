"""The parameters of lists and watches that exclude or need each other."""

from collections.abc import Iterator

from locktender.embedded.cluster.refusal import Refusal, bad_request

_MATCHES = ("Exact", "NotOlderThan")


def check_list_options(query: dict[str, str], *, watching: bool) -> None:
    """Pass, or refuse.

    Raises:
        Refusal: 400 for a version that is no number, 422 for parameters that do not go together.
    """
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if version and not version.isdigit():
        raise bad_request(f'resourceVersion: Invalid value: "{version[:40]}": strconv.ParseUint: invalid syntax')
    faults = list(_watch(query, match) if watching else _list(query, version, match))
    if faults:
        told = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
        raise Refusal(422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {told}')


def _list(query: dict[str, str], version: str, match: str) -> Iterator[str]:
    if "sendInitialEvents" in query:
        yield "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"
    if not match:
        return
    if not version:
        yield "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    if query.get("continue"):
        yield "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
    if match not in _MATCHES:
        yield f'resourceVersionMatch: Unsupported value: "{match[:40]}": supported values: "Exact", "NotOlderThan", ""'
    if match == "Exact" and version == "0":
        yield 'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'


def _watch(query: dict[str, str], match: str) -> Iterator[str]:
    initial = "sendInitialEvents" in query
    if match and not initial:
        told = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        yield f"resourceVersionMatch: Forbidden: {told}"
    if initial and match != "NotOlderThan":
        told = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        yield f"resourceVersionMatch: Forbidden: {told}"
    if query.get("continue"):
        yield "continue: Forbidden: continue is forbidden for watch"
