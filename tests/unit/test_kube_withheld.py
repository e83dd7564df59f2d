"""Stored manifests whose secret values have to be entered again."""

import base64
import json
from typing import Any

import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.integrations.kube.secrets import WITHHELD
from locktender.integrations.kube.withheld import asked_for, filled
from locktender.runner.executors.documents import ValuesMissing, documents

KEY: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"},
    "data": {"tls.crt": WITHHELD}, "stringData": {"password": WITHHELD, "user": "ada"},
}  # fmt: skip
CERTIFICATE, PASSWORD = "Secret/shop/key/data/tls.crt", "Secret/shop/key/stringData/password"


def source(*bodies: object) -> str:
    return json.dumps({"documents": [{"index": index, "line": 1, "body": body} for index, body in enumerate(bodies)]})


def test_each_withheld_value_is_one_required_and_sensitive_field() -> None:
    fields = asked_for([KEY])
    assert [field.key for field in fields] == [CERTIFICATE, PASSWORD]
    assert all(field.required and field.sensitive and field.default is None for field in fields)


def test_values_of_data_are_encoded_and_those_of_string_data_are_not() -> None:
    whole = filled(KEY, {CERTIFICATE: "-----BEGIN é", PASSWORD: "sesame"})
    assert base64.b64decode(whole["data"]["tls.crt"]).decode() == "-----BEGIN é"
    assert whole["stringData"] == {"password": "sesame", "user": "ada"}
    assert KEY["stringData"]["password"] == WITHHELD


def test_a_secret_is_applied_only_once_all_of_its_values_are_there() -> None:
    [document] = documents(source(KEY), {}, new_id(), {CERTIFICATE: "x", PASSWORD: "y"})
    assert document.ref.name == "key"
    with pytest.raises(ValuesMissing) as missing:
        documents(source(KEY), {}, new_id(), {CERTIFICATE: "x"})
    assert [field.key for field in missing.value.fields] == [PASSWORD]


@pytest.mark.parametrize(
    "body",
    [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"url": WITHHELD}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {WITHHELD: "x"}},
        {"apiVersion": "example.org/v1", "kind": "Secret", "metadata": {"name": "m"}, "list": [[WITHHELD]]},
        {**KEY, "data": WITHHELD},
        {**KEY, "metadata": {"name": "key", "annotations": {"note": WITHHELD}}},
        {**KEY, "stringData": {WITHHELD: "x"}},
    ],
)
def test_what_cannot_be_asked_for_piece_by_piece_needs_the_whole_source(body: dict[str, Any]) -> None:
    with pytest.raises(ValuesMissing, match="deploy again with the whole source") as missing:
        documents(source(KEY, body), {}, new_id())
    assert missing.value.fields == ()


def test_two_secrets_that_an_answer_could_not_tell_apart_need_the_whole_source() -> None:
    generated = {**KEY, "metadata": {"generateName": "key-"}}
    assert asked_for([generated])[0].key == "Secret//key-*/data/tls.crt"
    assert asked_for([generated, generated]) == ()


def test_more_values_than_can_be_entered_at_once_need_the_whole_source() -> None:
    assert asked_for([{**KEY, "data": {str(number): WITHHELD for number in range(400)}}]) == ()


def test_a_whole_body_from_custody_is_taken_as_it_is() -> None:
    whole = {**KEY, "data": {"tls.crt": "eA=="}, "stringData": {}}
    [document] = documents(source(KEY), {0: whole}, new_id())
    assert document.body == whole
