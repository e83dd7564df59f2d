"""What a variable of each kind may be called and hold."""

import re

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.kernel.sensitive import is_sensitive_name
from locktender.contracts.stacks.requests import VariableSet
from locktender.contracts.stacks.views import VariableKind

LONGEST_BYTES = 100_000
"""A process cannot be given more in one variable."""
_OURS = re.compile(r"TF_(HTTP_.*|CLI_.*|VAR_.*|DATA_DIR|WORKSPACE|INPUT|IN_AUTOMATION|PLUGIN_CACHE_DIR)|LOCKTENDER_.*")
_INPUT = "TF_VAR_"
_AUDIENCE = re.compile(r"[\x21-\x7e]{1,255}")
_IN_ENVIRONMENT = (VariableKind.ENVIRONMENT, VariableKind.TOKEN, VariableKind.TOKEN_FILE)


def check(kind: VariableKind, name: str, asked: VariableSet) -> None:
    """See whether a stack may have this variable.

    Raises:
        Rejected: the name is ours or none for this kind, the value is too long or no audience, or an audience was
            called sensitive.
    """
    text = asked.value.get_secret_value()
    # A token in an input variable is how providers take it that have no environment variable for it.
    as_input = kind is VariableKind.TOKEN and name.startswith(_INPUT) and name != _INPUT
    if kind in _IN_ENVIRONMENT and not as_input and _OURS.fullmatch(name):
        raise _no(
            "this name is taken by what runs the engine; input variables have a kind of their own", "reserved-name"
        )
    if kind in _IN_ENVIRONMENT and "-" in name:
        raise _no("the environment has no names with dashes", "invalid-name")
    if kind.signed and asked.sensitive:
        raise _no("an audience is no secret; the token that is signed for it always is", "not-sensitive", "/sensitive")
    if kind.signed and _AUDIENCE.fullmatch(text) is None:
        raise _no("an audience has 1 to 255 visible ASCII characters, without spaces", "invalid-audience", "/value")
    if len(text.encode()) > LONGEST_BYTES:
        raise _no(f"a value has up to {LONGEST_BYTES} bytes", "too-long", "/value")


def sensitive(kind: VariableKind, name: str, asked: VariableSet) -> bool:
    """Whether the value is kept encrypted. What is stored of a token is its audience, whatever the name sounds like."""
    return not kind.signed and (asked.sensitive or is_sensitive_name(name))


def rivals_of(kind: VariableKind, name: str) -> list[tuple[str, str]]:
    """The variables that would come to runs in the same place: the same name in the environment, or the same input."""
    if kind is VariableKind.VARIABLE:
        return [(VariableKind.TOKEN.value, _INPUT + name)]
    rivals = [(each.value, name) for each in _IN_ENVIRONMENT if each is not kind]
    if kind is VariableKind.TOKEN and name.startswith(_INPUT):
        rivals.append((VariableKind.VARIABLE.value, name.removeprefix(_INPUT)))
    return rivals


def _no(message: str, code: str, place: str = "") -> Rejected:
    return Rejected([Finding(Pointer(place), message, code)])
