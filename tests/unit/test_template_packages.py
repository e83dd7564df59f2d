"""Packages of files: their form, what they declare, and the documents that come out of them."""

import base64
from dataclasses import dataclass, field
from typing import Any

import pytest

from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.chart import as_values
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import form
from locktender.integrations.templates.package import PackageForm, declared_inputs, read_package
from locktender.integrations.templates.rendering import (
    Instance,
    allocate,
    kept_defaults,
    rendered,
    secret_values,
)
from locktender.integrations.templates.written import written
from locktender.testkit.clock import FakeClock

HEAD = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: shop}
spec:
  title: The shop
  description: Sells things
  author: Ada
  categories: [web, tool]
  i18n: {zh: {title: x}}
  defaults:
    app_name: {type: string, value: 'shop-${{ random(8) }}'}
    db_password: {type: string, value: '${{ random(20) }}'}
  inputs:
    admin_token: {type: string, default: '${{ random(12) }}'}
    colour: {type: string, default: red}
    pin: {type: password, required: true}
"""
BODY = """\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${{ defaults.app_name }}
  creationTimestamp: null
  uid: 4f1d
data: {colour: '${{ inputs.colour }}', token: '${{ inputs.admin_token }}'}
status: {}
"""
CHART = {"Chart.yaml": "apiVersion: v2\nname: Web.Front\nversion: 1.2.3\ndescription: A front\nkeywords: [web]\n"}
NO_VARIABLES: dict[str, str] = {}


@dataclass(frozen=True)
class Kept:
    name: str
    defaults: dict[str, str] = field(default_factory=dict)


async def documents(text: str, inputs: dict[str, str] | None = None) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    package = read_package({"index.yaml": text})
    instance = allocate(package, NO_VARIABLES, b"seed", None)
    found = await rendered(package, instance, NO_VARIABLES, inputs or {}, namespace=None, clock=FakeClock())
    return found.documents, found.missing


def refused(files: dict[str, str]) -> str:
    with pytest.raises(TemplateFault) as caught:
        read_package(files)
    return caught.value.code


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"index.yaml": HEAD}, PackageForm.TEMPLATE),
        ({"index.yml": HEAD, "logo.svg": "<svg/>"}, PackageForm.TEMPLATE),
        ({"anything.yaml": HEAD}, PackageForm.TEMPLATE),
        ({"kustomization.yaml": "resources: []"}, PackageForm.KUSTOMIZE),
        ({"Kustomization": "resources: []", "a.yaml": "a: 1"}, PackageForm.KUSTOMIZE),
        ({**CHART, "index.yaml": "entries: {}"}, PackageForm.HELM),
        ({**CHART, "index.yaml": "{{ not yaml"}, PackageForm.HELM),
    ],
)
def test_the_form_is_told_by_what_is_there(files: dict[str, str], expected: PackageForm) -> None:
    assert read_package(files).form is expected


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "nothing-to-render"),
        ({"README.md": "hello"}, "nothing-to-render"),
        ({"index.yaml": "kind: ConfigMap"}, "no-template"),
        ({"index.yaml": HEAD.replace("app_name", "name")}, "no-app-name"),
        ({"../index.yaml": HEAD}, "bad-path"),
        ({"/etc/passwd": ""}, "bad-path"),
        ({"a\\b.yaml": ""}, "bad-path"),
        ({"a//b.yaml": ""}, "bad-path"),
        ({f"{n}.yaml": "" for n in range(201)}, "too-many-files"),
        ({"index.yaml": HEAD, "big": "x" * 1_048_576}, "too-large"),
        ({"Chart.yaml": "version: 1.0.0"}, "bad-chart"),
        ({"Chart.yaml": "name: x\ntype: library"}, "bad-chart"),
        ({"Chart.yaml": "name: x\ndependencies: [{name: redis, repository: 'https://x'}]"}, "missing-dependency"),
        ({"Chart.yaml": '"\\ue0000\\ue001": x'}, "bad-chart"),
        ({"Chart.yaml": "a: 1\na: 2"}, "duplicate-key"),
    ],
)
def test_what_cannot_be_a_template_is_refused_with_a_reason(files: dict[str, str], code: str) -> None:
    assert refused(files) == code


def test_aliases_within_aliases_are_refused_quickly() -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    assert refused({"Chart.yaml": f"a0: &a0 [x]\n{levels}"}) == "too-large"


def test_a_chart_with_its_dependencies_unpacked_is_taken() -> None:
    files = {"Chart.yaml": "name: x\ndependencies: [{name: redis}]", "charts/redis/Chart.yaml": "name: redis"}
    assert read_package(files).form is PackageForm.HELM


def test_what_is_said_of_a_template_is_texts_alone() -> None:
    package = read_package({"index.yaml": HEAD}, name="shop-1")
    assert (package.name, package.title, package.description) == ("shop-1", "The shop", "Sells things")
    assert package.about["categories"] == ["web", "tool"]
    assert package.about["author"] == "Ada"
    assert "i18n" not in package.about


def test_a_digest_is_of_the_files_that_are_rendered() -> None:
    one = read_package({"index.yaml": HEAD}, name="a")
    assert one.digest == read_package({"index.yaml": HEAD, "logo.svg": "<svg/>"}, name="b").digest
    assert one.digest != read_package({"index.yaml": HEAD + BODY}).digest
    assert list(read_package({"index.yaml": HEAD, "logo.svg": "<svg/>"}).files) == ["index.yaml"]


def test_a_schema_declares_the_inputs_of_a_chart() -> None:
    schema = """{"required": ["replicas"], "properties": {
        "replicas": {"type": "integer", "default": 2, "description": "How many"},
        "tier": {"enum": ["gold", "silver"]},
        "debug": {"type": ["boolean", "null"]},
        "image": {"type": "object"},
        "login": {"type": "string", "writeOnly": true},
        "ratio": {"type": "number"}}}"""
    files = {**CHART, "values.schema.json": schema, "values.yaml": "ratio: 0.5\nimage: {tag: v1}\n"}
    asked = {each.key: each for each in form(read_package(files), {}, NO_VARIABLES)}
    assert list(asked) == ["replicas", "tier", "debug", "login", "ratio"]
    assert (asked["replicas"].type, asked["replicas"].default, asked["replicas"].required) == ("number", "2", True)
    assert (asked["tier"].type, asked["tier"].options) == ("choice", ("gold", "silver"))
    assert (asked["debug"].type, asked["login"].sensitive) == ("boolean", True)
    assert asked["ratio"].default == "0.5"


def test_without_a_schema_the_values_of_a_chart_are_its_inputs() -> None:
    files = {**CHART, "values.yaml": "replicas: 2\nhost: web\ndebug: false\nadminPassword: ''\nimage: {tag: v1}\n"}
    declared = {
        each.key: (each.type.value, each.default, each.required) for each in declared_inputs(read_package(files))
    }
    assert declared == {
        "replicas": ("number", "2", False),
        "host": ("string", "web", False),
        "debug": ("boolean", "false", False),
        "adminPassword": ("string", "", False),
    }
    values = as_values(files, {"replicas": "3", "host": "3", "debug": "true", "unheard": "of"})
    assert values == {"replicas": 3, "host": "3", "debug": True}
    with pytest.raises(TemplateFault, match="must be a number"):
        as_values(files, {"replicas": "NaN"})


def test_an_instance_is_the_same_for_the_same_seed_and_what_is_recorded_stays() -> None:
    package = read_package({"index.yaml": HEAD})
    one = allocate(package, NO_VARIABLES, b"one", None)
    again = allocate(package, NO_VARIABLES, b"one", Kept(one.name, kept_defaults(package, one)))
    other = allocate(package, NO_VARIABLES, b"two", None)
    assert one == again
    assert one.name.startswith("shop-")
    assert one.name != other.name
    assert allocate(package, NO_VARIABLES, b"two", Kept("shop-old")).name == "shop-old"


def test_what_is_kept_of_an_instance_holds_no_secret() -> None:
    package = read_package({"index.yaml": HEAD})
    instance = allocate(package, NO_VARIABLES, b"one", None)
    assert kept_defaults(package, instance) == {"app_name": instance.name}
    assert instance.defaults["db_password"] not in repr(instance)
    assert "one" not in repr(instance)


async def test_secrets_are_found_whether_they_were_entered_drawn_or_made_up() -> None:
    package = read_package({"index.yaml": HEAD + BODY})
    instance = allocate(package, NO_VARIABLES, b"one", None)
    secrets = secret_values(package, instance, {"pin": "tulip", "colour": "green"})
    assert "tulip" in secrets
    assert instance.defaults["db_password"] in secrets
    assert not {"green", "red"} & set(secrets)
    found = await rendered(package, instance, NO_VARIABLES, {}, namespace=None, clock=FakeClock())
    assert found.documents[0]["data"]["token"] in secrets
    assert secret_values(package, instance, {"pin": "abc"}) == secret_values(package, instance, {})


@pytest.mark.parametrize("name", ["Shop", "a_b", "x" * 64, "-a", "'a b'"])
def test_an_instance_without_a_usable_name_is_refused(name: str) -> None:
    package = read_package({"index.yaml": HEAD.replace("'shop-${{ random(8) }}'", name)})
    with pytest.raises(TemplateFault) as caught:
        allocate(package, NO_VARIABLES, b"", None)
    assert caught.value.code == "bad-instance-name"


def test_the_name_of_a_release_is_short_and_plain_whatever_the_chart_is_called() -> None:
    name = allocate(read_package(CHART), NO_VARIABLES, b"seed", None).name
    assert name.startswith("web-front-")
    long = allocate(read_package({"Chart.yaml": f"name: {'x' * 90}"}), NO_VARIABLES, b"seed", None).name
    assert len(long) == 53


async def test_documents_are_labelled_and_free_of_what_only_servers_set() -> None:
    [document], missing = await documents(HEAD + BODY)
    assert document["metadata"]["labels"] == {"locktender.dev/instance": document["metadata"]["name"]}
    assert set(document["metadata"]) == {"name", "labels"}
    assert "status" not in document
    assert missing == ()
    assert [str(manifest.ref.kind) for manifest in parse_manifests(written([document]))] == ["ConfigMap"]


async def test_the_claims_of_a_stateful_set_and_the_items_of_a_list_are_labelled_too() -> None:
    text = """\
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {tier: data}}
spec:
  volumeClaimTemplates:
    - metadata: {name: data, creationTimestamp: null}
      spec: {}
      status: {phase: Bound}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Service, metadata: {name: a, labels: }}
  - {apiVersion: v1, kind: Service, metadata: {name: b}}
"""
    found, _ = await documents(HEAD + text)
    [name] = {each["metadata"]["labels"]["locktender.dev/instance"] for each in found}
    assert [each["metadata"]["name"] for each in found] == ["db", "a", "b"]
    assert found[0]["metadata"]["labels"]["tier"] == "data"
    [claim] = found[0]["spec"]["volumeClaimTemplates"]
    assert claim == {"metadata": {"name": "data", "labels": {"locktender.dev/instance": name}}, "spec": {}}


async def test_a_selector_that_shares_the_labels_of_its_object_is_left_alone() -> None:
    text = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: &labels {app: web}}
spec: {selector: {matchLabels: *labels}, template: {metadata: {labels: *labels}}}
"""
    [document], _ = await documents(HEAD + text)
    assert "locktender.dev/instance" in document["metadata"]["labels"]
    assert document["spec"]["selector"]["matchLabels"] == {"app": "web"}
    assert document["spec"]["template"]["metadata"]["labels"] == {"app": "web"}


async def test_names_that_nobody_set_are_told() -> None:
    _, missing = await documents(HEAD + BODY.replace("inputs.colour", "SEALOS_CLOUD_DOMAIN"))
    assert missing == ("SEALOS_CLOUD_DOMAIN",)


async def test_a_large_template_comes_out_like_a_small_one() -> None:
    small, _ = await documents(HEAD + BODY)
    large, _ = await documents(HEAD + f"# {'x' * 80_000}\n" + BODY)
    assert [each["kind"] for each in large] == [each["kind"] for each in small]


async def test_a_fault_never_tells_a_secret() -> None:
    text = HEAD + "---\nkind: ${{ inputs.pin.nothing() }}\n"
    with pytest.raises(TemplateFault) as caught:
        await documents(text, {"pin": "tulip-fields"})
    assert "tulip" not in str(caught.value)
    assert base64.b64encode(b"tulip-fields").decode() not in str(caught.value)


def test_an_instance_of_a_kustomization_has_a_name_and_nothing_else() -> None:
    package = read_package({"kustomization.yaml": "metadata: {name: site}\nresources: []"})
    instance = allocate(package, NO_VARIABLES, b"seed", None)
    assert instance == Instance(instance.name, b"seed")
    assert instance.name.startswith("site-")
    assert form(package, {}, NO_VARIABLES) == ()
