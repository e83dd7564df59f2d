"""Templates: what they declare, what they render to, and that no value gets out of its place."""

import pytest

from locktender.contracts.deployments.inputs import InputType
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.render import Rendered, allocated, render
from locktender.integrations.templates.template import read_template

VARIABLES = {"SEALOS_NAMESPACE": "ns-1", "SEALOS_CLOUD_DOMAIN": "example.org"}

HEAD = """apiVersion: app.sealos.io/v1
kind: Template
metadata:
  name: ${{ defaults.app_name }}
spec:
  title: 'Shop: a demo'
  defaults:
    app_name: {type: string, value: "shop-${{ random(8) }}"}
    port:
      type: number
      value: 8080
  inputs:
    enabled:
      description: 'Serve at ${{ SEALOS_CLOUD_DOMAIN }}?'
      type: boolean
    password:
      description: The password
      type: string
      default: ''
      required: true
    size:
      type: choice
      default: small
      options: [small, large]
      if: inputs.enabled === 'true'
"""


def rendered(resources: str, head: str = HEAD, seed: bytes = b"s", **inputs: str) -> Rendered:
    template = read_template(f"{head}---\n{resources}")
    return render(template, allocated(template, VARIABLES, seed), VARIABLES, inputs, seed=seed)


def value_of(line: str, **inputs: str) -> object:
    return rendered(f"apiVersion: v1\nkind: Thing\nspec:\n  it: {line}\n", **inputs).documents[0]["spec"]["it"]


def test_a_template_says_what_it_asks_for() -> None:
    template = read_template(HEAD)
    assert template.about["title"] == "Shop: a demo"
    assert [(each.key, each.type, each.required) for each in template.inputs] == [
        ("enabled", InputType.BOOLEAN, False), ("password", InputType.STRING, True), ("size", InputType.CHOICE, False),
    ]  # fmt: skip
    assert template.inputs[2].options == ("small", "large")


def test_an_instance_has_the_same_name_whenever_it_is_worked_out_from_the_same_seed() -> None:
    template = read_template(HEAD)
    first = allocated(template, VARIABLES, b"one")
    assert first == allocated(template, VARIABLES, b"one")
    assert first.app_name != allocated(template, VARIABLES, b"two").app_name
    assert first.app_name.startswith("shop-")
    assert len(first.app_name) == 13
    assert first.defaults["port"] == "8080"


@pytest.mark.parametrize(
    ("line", "inputs", "value"),
    [
        ("${{ inputs.password }}", {"password": "3"}, 3),
        ("${{ inputs.password }}", {"password": "true"}, True),
        ("${{ inputs.password }}", {"password": "1.5"}, 1.5),
        ("${{ inputs.password }}", {}, None),
        ("${{ inputs.password }}", {"password": "no"}, "no"),
        ("${{ inputs.password }}", {"password": "1e3"}, "1e3"),
        ("${{ inputs.password }}", {"password": "null"}, "null"),
        ("null", {}, None),
        ("~", {}, None),
        ("${{ defaults.port }}", {}, 8080),
        ("${{ inputs.enabled === 'true' }}", {"enabled": "true"}, True),
        ("${{ defaults.port * 2 }}", {}, 16160),
        ('"${{ inputs.password }}"', {"password": "3"}, "3"),
        ("'${{ inputs.password }}'", {"password": "it's"}, "it's"),
        ("a-${{ inputs.password }}", {"password": "3"}, "a-3"),
        ("${{ inputs.password }}${{ defaults.port }}", {"password": "3"}, 38080),
        ("${{ inputs.enabled === 'true' ? 'a: b' : \"c # d\" }}", {}, "c # d"),
        ("${{ '}}' + defaults.port }}", {}, "}}8080"),
        ("${{inputs.password}}", {"password": "x"}, "x"),
        ("[${{ inputs.password }}, {a: ${{ defaults.port }}}]", {"password": "x"}, ["x", {"a": 8080}]),
        ("|\n    a=${{ inputs.password }}\n    b", {"password": "1\n2"}, "a=1\n2\nb\n"),
        ("# ${{ nonsense(", {}, None),
        ("$${{ defaults.port }}", {}, "$8080"),
        ("$(X)-${X}", {}, "$(X)-${X}"),
    ],
)
def test_what_a_value_becomes(line: str, inputs: dict[str, str], value: object) -> None:
    assert value_of(line, **inputs) == value


@pytest.mark.parametrize(
    "value",
    ["a: b", "- a", "{a: b}", "x\ny: z", "a # b", "'", '"', "&a", "*a", "!t", "| x", "---", "a\n---\nb", "\t",
     "${{ 1 }}", "%", "@", "`", "[", "yes", "<<", "=", "\\", "\x7f", "é", "\u2028"],
)  # fmt: skip
def test_a_value_never_changes_the_shape_of_the_yaml(value: str) -> None:
    assert value_of("${{ inputs.password }}", password=value) == value
    assert value_of('"x${{ inputs.password }}"', password=value) == f"x{value}"
    assert value_of("|-\n    x${{ inputs.password }}", password=value) == f"x{value}"
    documents = rendered("apiVersion: v1\nkind: A\n${{ inputs.password }}: 1\n", password=value).documents
    assert list(documents[0]) == ["apiVersion", "kind", value]


def test_where_only_text_can_be_numbers_and_words_stay_what_was_written() -> None:
    done = rendered(
        """apiVersion: apps/v1
kind: Deployment
metadata: {name: "${{ defaults.app_name }}", labels: {n: 0123}, annotations: {on: yes}}
spec:
  template:
    spec:
      containers:
      - name: web
        args: [1.0, ${{ defaults.port }}]
        env: [{name: A, value: 5}, {name: B, value: ${{ inputs.password }}}, {name: C, value: on}]
        ports: [{containerPort: ${{ defaults.port }}}]
""",
        password="true",
    )
    [manifest] = parse_manifests(done.yaml())
    assert manifest.body == done.documents[0]
    container = manifest.body["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["1.0", "8080"]
    assert [each["value"] for each in container["env"]] == ["5", "true", "on"]
    assert container["ports"] == [{"containerPort": 8080}]
    assert manifest.body["metadata"]["labels"] == {"n": "0123"}


BLOCKS = """apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  ${{ if(inputs.enabled === 'true') }}
  on: "1"
    ${{ if( inputs.size === 'large' ) }}
  large: "1"
    ${{ endif() }}
  ${{ elif(inputs.size === 'large') }}
  elif: "1"
  ${{ else() }}
  off: "1"
  ${{ endif() }}
${{ if(inputs.enabled === 'true') }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
${{ endif() }}
"""


@pytest.mark.parametrize(
    ("inputs", "keys", "documents"),
    [
        ({}, ["off"], 1),
        ({"enabled": "true"}, ["on"], 2),
        ({"enabled": "true", "size": "large"}, ["on", "large"], 2),
    ],
)
def test_lines_and_whole_documents_are_there_on_condition(
    inputs: dict[str, str], keys: list[str], documents: int
) -> None:
    found = rendered(BLOCKS, **inputs).documents
    assert list(found[0]["data"]) == keys
    assert len(found) == documents


def test_a_condition_in_a_branch_that_is_not_taken_is_not_worked_out() -> None:
    assert rendered(
        "${{ if(inputs.size === '') }}\n${{ if(nobody.at() ) }}\nx\n${{ endif() }}\n${{ endif() }}\nkind: A\n"
    ).documents == [{"kind": "A"}]


FAULTS = {
    "no-template": "kind: Deployment\n",
    "no-app-name": "kind: Template\nspec: {}\n",
    "unknown-type": HEAD.replace("type: boolean", "type: colour"),
    "no-options": HEAD.replace("options: [small, large]", ""),
    "unclosed-if": f"{HEAD}---\n${{{{ if(true) }}}}\nkind: A\n",
    "stray-branch": f"{HEAD}---\n${{{{ endif() }}}}\n",
    "branch-after-else": f"{HEAD}---\n${{{{ if(1) }}}}\n${{{{ else() }}}}\n${{{{ else() }}}}\n${{{{ endif() }}}}\n",
    "bad-expression": f"{HEAD}---\nkind: ${{{{ inputs. }}}}\n",
    "malformed-yaml": f"{HEAD}---\nkind: [\n",
    "not-a-mapping": f"{HEAD}---\n- a\n",
    "duplicate-key": f"{HEAD}---\nkind: A\nkind: B\n",
    "private-character": f"{HEAD}---\nkind: \ue000\n",
    "too-deep": f"{HEAD}---\n" + "${{ if(1) }}\n" * 40,
    "too-large": "x" * 2_000_000,
}  # fmt: skip


@pytest.mark.parametrize("code", FAULTS)
def test_a_template_that_cannot_be_used_says_why_and_where(code: str) -> None:
    def use() -> None:
        template = read_template(FAULTS[code])
        render(template, allocated(template, VARIABLES, b"s"), VARIABLES, {}, seed=b"s")

    with pytest.raises(TemplateFault) as fault:
        use()
    assert fault.value.code == code


def test_a_fault_names_the_line_of_the_template_and_no_value() -> None:
    text = f"{HEAD}---\nkind: A\nx: ${{{{ if(inputs.enabled) }}}}\ny: ${{{{ inputs.password.nope() }}}}\n"
    text = text.replace("x: ${{ if(inputs.enabled) }}\n", "${{ if(inputs.enabled) }}\nz: 1\n${{ endif() }}\n")
    template = read_template(text)
    with pytest.raises(TemplateFault, match="nope") as fault:
        render(template, allocated(template, VARIABLES, b"s"), VARIABLES, {"password": "hunter2"}, seed=b"s")
    assert fault.value.line == text.split("\n").index("y: ${{ inputs.password.nope() }}") + 1
    assert "hunter2" not in str(fault.value)


def test_random_letters_depend_on_the_seed_and_the_place_alone() -> None:
    text = (
        "kind: A\na: ${{ random(8) }}-${{ random(8) }}\n${{ if(inputs.enabled === 'true') }}\n"
        "b: ${{ random(8) }}\n${{ endif() }}\nc: ${{ random(8) }}\n"
    )
    without, with_b = rendered(text).documents[0], rendered(text, enabled="true").documents[0]
    assert without["c"] == with_b["c"]
    first, second = str(without["a"]).split("-")
    assert first != second
    assert without != rendered(text, seed=b"other").documents[0]


def test_an_escape_that_looks_like_the_mark_of_an_expression_is_text() -> None:
    made_up = '"\\ue000' + "0" * 9 + '\\ue001"'
    document = rendered(f'kind: A\n"\\ue0000\\ue001": x\na: {made_up}\nb: ${{{{ defaults.app_name }}}}\n').documents[0]
    assert document["\ue0000\ue001"] == "x"
    assert document["a"] == "\ue000" + "0" * 9 + "\ue001"
