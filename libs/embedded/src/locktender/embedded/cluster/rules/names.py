"""Names, labels and annotations."""

import re
from collections.abc import Iterator

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.rules.faults import too_long, wrong
from locktender.embedded.cluster.shapes import Obj, labels_of, name_of, obj_at

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_DNS_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_DNS_1035}')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)
_PATH_RULES = {"/": "may not contain '/'", "%": "may not contain '%'"}
_PATH_NAMES = frozenset(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))
_SHORT, _LONG = 63, 253
_LIMITS = {"CronJob": 52, "Namespace": _SHORT, "Service": _SHORT}
_ANNOTATIONS = 256 * 1024


def metadata_rules(resource: Resource, obj: Obj) -> Iterator[Cause]:
    """What is wrong with the name, the labels and the annotations of an object."""
    kind = resource.kind if resource.builtin else ""
    yield from _name(kind, name_of(obj))
    yield from label_rules(labels_of(obj), "metadata.labels")
    annotations = obj_at(obj, "metadata", "annotations")
    for key in annotations:
        # Annotations may have capitals in the prefix of their keys.
        yield from key_rules(key.lower(), "metadata.annotations")
    if sum(len(key) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS:
        yield too_long("metadata.annotations", _ANNOTATIONS)


def _name(kind: str, name: str) -> Iterator[Cause]:
    where = "metadata.name"
    if kind in _PATH_NAMES:
        yield from (wrong(where, name, rule) for part, rule in _PATH_RULES.items() if part in name)
        return
    pattern, rule = {"Namespace": (_LABEL, _LABEL_RULE), "Service": (_DNS_1035, _DNS_1035_RULE)}.get(
        kind, (_SUBDOMAIN, _SUBDOMAIN_RULE)
    )
    if not re.fullmatch(pattern, name):
        yield wrong(where, name, rule)
    limit = _LIMITS.get(kind, _LONG)
    if len(name) > limit:
        yield wrong(where, name, f"must be no more than {limit} characters")


def label_rules(labels: Obj, where: str) -> Iterator[Cause]:
    for key, value in labels.items():
        yield from key_rules(key, where)
        if not isinstance(value, str):
            continue
        if len(value) > _SHORT:
            yield wrong(where, value, f"must be no more than {_SHORT} characters")
        elif not re.fullmatch(_VALUE, value):
            yield wrong(where, value, _VALUE_RULE)


def key_rules(key: str, where: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and (not re.fullmatch(_SUBDOMAIN, prefix) or len(prefix) > _LONG):
        yield wrong(where, key, f"prefix part {_SUBDOMAIN_RULE}")
    if not name:
        yield wrong(where, key, "name part must be non-empty")
    elif len(name) > _SHORT:
        yield wrong(where, key, f"name part must be no more than {_SHORT} characters")
    if name and not re.fullmatch(_KEY, name):
        yield wrong(where, key, _KEY_RULE)


def short_name_rules(name: str, where: str) -> Iterator[Cause]:
    """Rules of names of parts: containers, volumes, service ports."""
    if not re.fullmatch(_LABEL, name):
        yield wrong(where, name, _LABEL_RULE)
    elif len(name) > _SHORT:
        yield wrong(where, name, f"must be no more than {_SHORT} characters")


def host_rules(host: str, where: str) -> Iterator[Cause]:
    """Rules of host names, which may begin with a wildcard."""
    if not re.fullmatch(_SUBDOMAIN, host.removeprefix("*.")):
        yield wrong(where, host, _SUBDOMAIN_RULE)
