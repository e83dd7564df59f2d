"""Values of Secrets leave what is stored, and are handed over in full."""

import base64
import json

from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.secrets import LAST_APPLIED, WITHHELD, is_withheld, split_secrets


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "db",
        "annotations": {
            LAST_APPLIED: json.dumps({"kind": "Secret", "data": {"password": encoded("canary-older")}}),
            "note": "kept",
        },
    },
    "data": {
        "password": encoded("canary-data"),
        "binary": base64.b64encode(b"\xff\xfe\x00").decode(),
        ".dockerconfigjson": encoded(json.dumps({"auths": {"r": {"password": "canary-inner"}}})),
    },
    "stringData": {"token": "canary-string", "empty": ""},
}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1e10", "b": "visible"}}


def parsed(*bodies: object) -> list:
    return parse_manifests("\n---\n".join(json.dumps(body) for body in bodies))


def test_what_is_stored_has_the_names_and_none_of_the_values() -> None:
    documents, values = split_secrets(parsed(SECRET, CONFIG))
    stored = "\n".join(documents)
    assert json.loads(documents[0])["data"] == dict.fromkeys(SECRET["data"], WITHHELD)
    assert json.loads(documents[0])["metadata"]["annotations"] == {"note": "kept"}
    assert json.loads(documents[1]) == CONFIG
    for canary in ("canary-data", "canary-string", "canary-inner", "canary-older"):
        assert canary not in stored
        assert encoded(canary) not in stored
        assert canary in values
    assert encoded("canary-data") in values
    assert "" not in values


def test_the_manifest_itself_keeps_what_has_to_be_applied() -> None:
    manifests = parsed(SECRET)
    split_secrets(manifests)
    assert manifests[0].body["stringData"] == SECRET["stringData"]


def test_what_is_stored_reads_back_as_the_same_objects() -> None:
    documents, _ = split_secrets(parsed(SECRET, CONFIG))
    again = parse_manifests("\n---\n".join(documents))
    assert [m.name for m in again] == ["db", "c"]
    assert again[1].body == CONFIG
    assert is_withheld(again[0].body)
    assert not is_withheld(again[1].body)


def test_secrets_inside_of_lists_are_found() -> None:
    documents, values = split_secrets(parsed({"apiVersion": "v1", "kind": "List", "items": [SECRET]}))
    assert "canary-string" not in documents[0]
    assert "canary-string" in values
