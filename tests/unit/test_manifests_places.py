"""Where a value stands decides whether it must be text; a refusal names the place, the line and the cure."""

import pytest

from locktender.contracts.kernel.errors import Finding, Rejected
from locktender.integrations.kube.manifests import parse_manifests

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata:
      labels:
        tier: 1
    spec:
      nodeSelector:
        fast: true
      containers:
      - name: web
        args:
        - --port
        - 8080
        command: [run, 1]
        env:
        - name: GOOD
          value: "1"
        - name: BAD
          value: 5
"""


def refused(text: str) -> tuple[Finding, ...]:
    with pytest.raises(Rejected) as caught:
        parse_manifests(text)
    return caught.value.findings


def test_every_place_of_a_workload_is_named_with_its_own_line() -> None:
    template = "Deployment web: spec.template"
    pod = f"{template}.spec"
    assert [finding.message for finding in refused(DEPLOYMENT)] == [
        f'line 8: {template}.metadata.labels.tier must be text but is a number; put it in quotes, such as "8080"',
        f'line 11: {pod}.nodeSelector.fast must be text but is a boolean; put it in quotes, such as "true"',
        f'line 17: {pod}.containers[0].command[1] must be text but is a number; put it in quotes, such as "8080"',
        f'line 16: {pod}.containers[0].args[1] must be text but is a number; put it in quotes, such as "8080"',
        f'line 22: {pod}.containers[0].env[1].value must be text but is a number; put it in quotes, such as "8080"',
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: true}", "data.k"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: [a]}", "data.k"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [k]", "data"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: 1}", "stringData.k"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {v: 1}}", "spec.selector.v"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {b: 1}}", "metadata.labels.b"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {b: {}}}", "metadata.annotations.b"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a, finalizers: [1]}", "metadata.finalizers[0]"),
        ("apiVersion: x.y/v1\nkind: A\nmetadata: {name: a}\nspec: {selector: {matchLabels: {v: 1}}}",
         "spec.selector.matchLabels.v"),
    ],
)  # fmt: skip
def test_numbers_booleans_and_structures_are_no_text(text: str, path: str) -> None:
    [finding] = refused(text)
    assert finding.code == "not-text"
    assert f": {path} must be " in finding.message


def test_the_line_is_that_of_the_value_inside_of_lists_too() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n"
    )
    [finding] = refused(f"# first\n---\n{text}    fine: x\n    bad: 1\n")
    assert finding.message.startswith("line 12: ConfigMap a: data.bad ")


def test_a_value_that_an_alias_brought_has_the_line_of_the_alias() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbase: &b {k: 1}\ndata:\n  *b\n"
    assert refused(text)[0].message.startswith("line 5: ConfigMap a: data.k ")


def test_an_empty_value_is_an_empty_text_and_is_taken() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {b: }}\ndata: {k: }"
    assert parse_manifests(text)[0].body["data"] == {"k": None}


@pytest.mark.parametrize(
    ("scalar", "words"),
    [
        ("no", 'write "no" in quotes for text, or false'),
        ("On", 'write "On" in quotes for text, or true'),
        ("22:22", 'put it in quotes, such as "12:30"'),
        ("2020-01-01", 'put it in quotes, such as "2020-12-31"'),
        ("1_000", 'such as "1e3", else write it in plain digits'),
        ("0o777", 'such as "0o17", else write it in decimal'),
        ("=", 'put it in quotes: "="'),
    ],
)
def test_an_ambiguous_scalar_comes_with_what_to_write(scalar: str, words: str) -> None:
    [finding] = refused(
        f"apiVersion: x.y/v1\nkind: A\nmetadata: {{name: a}}\nspec:\n  at:\n  - b:\n      c: {scalar}\n"
    )
    assert finding.message.startswith("line 7: spec.at[0].b.c: the unquoted value ")
    assert words in finding.message


@pytest.mark.parametrize(
    "place",
    [
        "kind: Secret\nstringData:\n  k: {}\n",
        "kind: Secret\ndata:\n  k: {}\n",
        "kind: Pod\nspec:\n  containers:\n  - env:\n    - name: A\n      value: {}\n",
        "kind: Pod\nspec:\n  containers:\n  - args: [{}]\n",
    ],
)
@pytest.mark.parametrize("scalar", ["no", "yes", "22:33", "1_234e5", "2031-07-08", "0o765"])
def test_what_may_be_a_secret_is_never_repeated(place: str, scalar: str) -> None:
    [finding] = refused("apiVersion: v1\nmetadata: {name: a}\n" + place.replace("{}", scalar))
    assert finding.code == "ambiguous-scalar"
    assert f'"{scalar}"' not in finding.message
    assert scalar not in finding.message.split()
    assert "in quotes" in finding.message


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ("labels: x", "not-text"),
        ("annotations: [a]", "not-text"),
        ("finalizers: a", "not-text"),
        ("ownerReferences: x", "invalid-owner"),
        ("ownerReferences: [{name: a}]", "invalid-owner"),
        ("creationTimestamp: '2020-12-31T00:00:00Z'", "server-field"),
        ("generation: 2", "server-field"),
    ],
)
def test_metadata_is_what_a_cluster_can_decode(metadata: str, code: str) -> None:
    [finding] = refused(f"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  {metadata}\n")
    assert finding.code == code
    assert finding.message.startswith("line 5: A a: metadata.")


def test_a_creation_time_that_a_generator_left_empty_is_no_fault() -> None:
    assert parse_manifests("apiVersion: v1\nkind: A\nmetadata: {name: a, creationTimestamp: null}")
