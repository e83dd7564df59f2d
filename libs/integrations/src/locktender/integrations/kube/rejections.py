"""400, 413, 415, 422 and their like under 500: what is wrong with an object, in words for people."""

import re

from locktender.integrations.kube.answers import WORDS, Refused, one_line
from locktender.integrations.kube.causes import withheld_words, worded
from locktender.integrations.kube.errors import InvalidCause, KubeImmutable, KubeInvalid
from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import as_text

# How API servers say that a field cannot change once the object exists.
_IMMUTABLE = re.compile(
    r"immutable|updates to \S+( spec for fields other than| are forbidden)|may not change fields other than|"
    r"may not (be changed in an update|change once set)|cannot change roleRef|can ?not be less than "
    r"(previous value|status.capacity)"
)
# A structural mistake in an applied object comes back as an internal error of the server.
_STRUCTURE = (
    "failed to create typed patch object",
    "failed to convert new object",
    "field not declared in schema",
)
# So does what the server behind the server finds too large.
_TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max", "Request entity too large")
_STRICT = re.compile(r"strict decoding error: (.*)", re.DOTALL)
_FIELD_FAULT = re.compile(r'(unknown|duplicate) field "([^"]{1,300})"')
_TYPED = re.compile(r"failed to create typed patch object \([^)]{0,600}\): (?:errors:)?\s*(.*)", re.DOTALL)
_NOT_DECLARED = re.compile(r"(\.\S{1,400}): field not declared in schema")
_WRONG_TYPE = re.compile(r"(\.\S{1,400}): expected ([a-z]{1,30})[^,]{0,60}, got &value")
_NO_KEY = re.compile(
    r'(\.\S{1,400}): element \d+: associative list with keys has an element that omits key field "(\w+)"'
)
_TWICE = re.compile(r"(\.\S{1,400}): duplicate entries for key (\[[^\]\n]{1,200}\])")
_UNMARSHAL = re.compile(
    r"json: cannot unmarshal (\w{1,30}) into Go (?:struct field|value) ?(\S{0,300}?) of type (\S{1,60})"
)
_GO_TYPES = {"string": "a text", "bool": "true or false", "int32": "a whole number", "int64": "a whole number",
             "intstr.IntOrString": "a whole number or a text", "float64": "a number"}  # fmt: skip
_SCHEMA_TYPES = {
    "numeric": "a number",
    "string": "a text",
    "boolean": "true or false",
    "map": "a mapping",
    "list": "a list",
}
_FAULTS_SHOWN = 5
_CORRECT = "correct the manifest and deploy again"


def is_rejection(refused: Refused) -> bool:
    """Whether an answer with a server error's code really says that the object is wrong: it will not heal."""
    return any(mistake in refused.said for mistake in (*_STRUCTURE, *_TOO_LARGE))


def rejection(refused: Refused) -> KubeInvalid:
    """What the refusal of an object amounts to."""
    what, said = refused.attempt.what, refused.said
    if refused.code == 413 or any(word in said for word in _TOO_LARGE):  # noqa: PLR2004 - HTTP
        return KubeInvalid(
            f"{what} is too large for the cluster{refused.quoted()}",
            hint="make it smaller: split it, or keep large content out of the cluster",
        )
    if refused.code in {406, 415}:
        return KubeInvalid(
            f"the cluster does not understand the request for {what}{refused.quoted()}",
            hint="server-side apply needs Kubernetes 1.22 or newer; check that the address is an API server",
        )
    if refused.causes:
        return _by_causes(refused)
    faults = _structural(refused)
    told = f": {'; '.join(faults[:_FAULTS_SHOWN])}{_more(len(faults))}" if faults else refused.quoted(_plain(said))
    kind = KubeImmutable if _IMMUTABLE.search(said) else KubeInvalid
    return kind(f"the cluster does not accept {what}{told}", hint=_hint(kind))


def _by_causes(refused: Refused) -> KubeInvalid:
    secret = refused.attempt.secret
    causes: dict[InvalidCause, None] = {}
    for cause in refused.causes:
        field = readable(as_text(cause.get("field")))
        said = as_text(cause.get("message"))
        message = withheld_words(said) if secret else worded(said, field)
        causes[InvalidCause(field, one_line(message, WORDS))] = None
    listed = list(causes)
    faults = [f"{each.field or 'it'} {each.message}" if each.message else each.field for each in listed]
    told = "; ".join(fault for fault in faults[:_FAULTS_SHOWN] if fault)
    kind = KubeImmutable if _IMMUTABLE.search(refused.told()) else KubeInvalid
    head = f"the cluster does not accept {refused.attempt.what}"
    return kind(f"{head}: {told}{_more(len(faults))}" if told else head, listed, hint=_hint(kind))


def _hint(kind: type[KubeInvalid]) -> str:
    if kind is KubeImmutable:
        return (
            "keep the field as it is in the cluster, or allow this kind to be replaced, which deletes the object first"
        )
    return _CORRECT


def _more(count: int) -> str:
    return f"; and {count - _FAULTS_SHOWN} more" if count > _FAULTS_SHOWN else ""


def readable(field: str) -> str:
    """A field path as people write it: no leading dot, and no `<nil>` for the object as a whole."""
    return "" if field in {"<nil>", "[]", ""} else shown(field.removeprefix("."), 200)


def _structural(refused: Refused) -> list[str]:
    """Every fault of a decoding or schema error, in words; values are not repeated."""
    said = refused.said
    strict, typed = _STRICT.search(said), _TYPED.search(said)
    if strict is not None:
        return [
            f"the field {readable(field)} is {'not known' if fault == 'unknown' else 'there twice'}"
            for fault, field in dict.fromkeys(_FIELD_FAULT.findall(strict.group(1)))
        ]
    if typed is not None:
        rest = typed.group(1)
        return [
            *(f"the field {readable(field)} is not known" for field in dict.fromkeys(_NOT_DECLARED.findall(rest))),
            *(
                f"{readable(field)} must be {_SCHEMA_TYPES.get(kind, kind)}"
                for field, kind in _WRONG_TYPE.findall(rest)
            ),
            *(f"an entry of {readable(field)} lacks its {key}" for field, key in _NO_KEY.findall(rest)),
            *(f"{readable(field)} has two entries with {shown(key[1:-1], 100)}" for field, key in _TWICE.findall(rest)),
        ]
    if "illegal base64 data" in said:
        return ["a value under data is not base64"]
    if "quantities must match the regular expression" in said or "unable to parse quantity" in said:
        return ["an amount of cpu, memory or storage is not one; amounts look like 500m, 0.5, 64Mi or 2Gi"]
    wrong = _UNMARSHAL.search(said)
    if wrong is not None:
        found, field, wanted = wrong.groups()
        place = readable(field.partition(".")[2]) or "a value"
        return [f"{place} must be {_GO_TYPES.get(wanted, 'another type')}, not a {found}"]
    return []


def _plain(said: str) -> str:
    """The server's words without the part that repeats what the object is called."""
    return re.sub(r'^\S{1,300} "[^"]{1,253}" is invalid: ', "", said)
