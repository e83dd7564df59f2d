"""What an address of the API names, for people who are told that nothing is there."""

import re

_WORKSPACE = "/v1/workspaces/[^/]+"
_STACK = re.compile(_WORKSPACE + "/stacks/(?P<stack>[^/]+)(?:/deployments/(?P<number>[^/]+))?(?P<rest>/.*)?")
_GROUP = re.compile(_WORKSPACE + "/runner-groups/(?P<group>[^/]+)(?P<rest>/.*)?")
_OF_STACK = re.compile("|/deployments(:[a-z-]+)?|/variables|/resources|/outputs|/state/versions|/source-archives/[^/]+")
_OF_DEPLOYMENT = re.compile("|/[a-z]+")
"""What is there wherever the stack, or the deployment, is."""
_KIND = re.compile(_WORKSPACE + "/(?P<kind>[^/]+)")
_LISTS = {"runner-groups": "stack group list", "stacks": "stack list", "templates": "templates list"}


def missing(path: str) -> str | None:
    """What is not there, or hidden; None where the address names a part of something, which may be there itself."""
    if (found := _GROUP.fullmatch(path)) and found["rest"] in {None, "/rotate-token"}:
        return f"there is no runner group {found['group']}, or you may not see it"
    found, told = _STACK.fullmatch(path), None
    if found is not None and found["number"] and _OF_DEPLOYMENT.fullmatch(found["rest"] or ""):
        told = f"{found['stack']} #{found['number']}"
    elif found is not None and not found["number"] and _OF_STACK.fullmatch(found["rest"] or ""):
        told = f"stack {found['stack']}"
    return None if told is None else f"there is no {told}, or you may not see it"


def listing_of(path: str) -> str:
    """The command that lists what can be at such an address."""
    found = _STACK.fullmatch(path)
    if found is not None and found["number"]:
        return f"stack show {found['stack']}"
    # What follows the kind may be anything that somebody took for a name.
    kind = _KIND.match(path)
    return _LISTS.get(kind["kind"] if kind else "", "deployments list")
