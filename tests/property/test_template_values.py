"""Whatever a person enters, a template keeps its shape, and nothing that was entered is ever worked out."""

from hypothesis import given
from hypothesis import strategies as st

from locktender.integrations.kube.json_value import Json, JsonObject
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.render import Rendered, allocated, render
from locktender.integrations.templates.template import read_template

TEXT = """apiVersion: app.sealos.io/v1
kind: Template
spec:
  defaults:
    app_name: {value: "shop-${{ random(8) }}"}
  inputs:
    given: {type: string}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${{ defaults.app_name }}
  annotations:
    plain: ${{ inputs.given }}
    single: '${{ inputs.given }}'
    double: "a ${{ inputs.given }} b"
    flow: "${{ [inputs.given, inputs.given].join('') }}"
data:
  plain: ${{ inputs.given }}
  joined: a-${{ inputs.given }}
  folded: >-
    a ${{ inputs.given }}
    b
  literal: |
    key: ${{ inputs.given }}
    - ${{ inputs.given }}
  # ${{ inputs.given }}
  chosen: "${{ inputs.given === 'never' ? 'yes' : 'no' }}"
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "${{ defaults.app_name }}", labels: {app: ${{ defaults.app_name }}, of: shop}}
spec:
  selector: {matchLabels: {app: ${{ defaults.app_name }}}}
  template:
    metadata: {labels: {app: ${{ defaults.app_name }}}}
    spec:
      containers:
        - name: web
          image: ${{ inputs.given }}
          args: [${{ inputs.given }}, "--x=${{ inputs.given }}"]
          env:
            - name: GIVEN
              value: ${{ inputs.given }}
${{ if(inputs.given === 'never') }}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
${{ endif() }}
"""
TEMPLATE = read_template(TEXT)
INSTANCE = allocated(TEMPLATE, {}, b"seed")

PIECES = st.sampled_from(
    [
        "\n", "\n\n", "---\n", "\n---\n", "...\n", ": ", ":", "- ", "-", "?", "#", " #", "'", '"', "''", '\\"', "\\",
        "|", ">", "&a", "*a", "!!str", "<<", "{", "}", "{}", "[", "]", "[]", ",", "${{", "}}", "${{ 1 + 1 }}",
        "${{ inputs.given }}", "${{ defaults.app_name }}", "${{ if(true) }}\n", "${{ endif() }}", "\t", " ", "  ",
        "true", "null", "~", "yes", "no", "0", "0123", "1e3", "0x10", "1.0", ".5", "NaN", ".inf", "=", "%", "@", "`",
        "é", "\u2028", "\x85", "\ufeff", "\ue000", "\ue0000\ue001", "🎈", "kind: Secret", "apiVersion: v1",
    ]
)  # fmt: skip
VALUES = st.one_of(
    st.lists(PIECES, max_size=8).map("".join),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40),
    st.text("\n\t :-#'\"{}[]$|>&*!%", max_size=20),
)


def done(value: str) -> Rendered:
    return render(TEMPLATE, INSTANCE, {}, {"given": value}, seed=b"seed")


def shape(value: Json) -> object:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


HARMLESS = [shape(document) for document in done("harmless").documents]


def data(document: JsonObject) -> JsonObject:
    found = document["data"]
    assert isinstance(found, dict)
    return found


@given(VALUES)
def test_no_value_changes_the_shape_of_what_is_rendered(value: str) -> None:
    if value == "":
        return
    assert [shape(document) for document in done(value).documents] == HARMLESS


@given(VALUES)
def test_a_value_stands_where_it_was_put_and_is_never_worked_out(value: str) -> None:
    config, deployment = done(value).documents
    assert data(config)["joined"] == f"a-{value}"
    assert data(config)["literal"] == f"key: {value}\n- {value}\n"
    assert data(config)["chosen"] == "no"
    assert config["metadata"]["annotations"]["double"] == f"a {value} b"  # type: ignore[index] # as rendered
    assert config["metadata"]["annotations"]["flow"] == value * 2  # type: ignore[index] # as rendered
    spec = deployment["spec"]["template"]["spec"]["containers"][0]  # type: ignore[index] # as rendered
    if value:
        assert spec["args"] == [value, f"--x={value}"]
        assert spec["env"][0]["value"] == spec["image"] == value


@given(VALUES)
def test_what_is_written_down_reads_back_as_it_was_rendered(value: str) -> None:
    rendered = done(value)
    assert [manifest.body for manifest in parse_manifests(rendered.yaml())] == rendered.documents


@given(VALUES)
def test_a_value_that_stands_alone_has_its_own_kind_or_is_text(value: str) -> None:
    text = TEXT.split("---\n", maxsplit=1)[0] + "---\nkind: Thing\nspec: {it: ${{ inputs.given }}}\n"
    template = read_template(text)
    [document] = render(template, INSTANCE, {}, {"given": value}, seed=b"seed").documents
    it = document["spec"]["it"]  # type: ignore[index] # as rendered
    assert isinstance(it, str | int | float | bool | None)
    if isinstance(it, str):
        assert it == value
    elif it is None:
        assert value == ""
