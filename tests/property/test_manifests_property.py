"""Whatever is submitted: objects or findings, soon, and never anything else."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.secrets import split_secrets
from locktender.testkit.dialect.promises import keeps_promises
from locktender.testkit.dialect.strategies import BYTES, FRAGMENTS, MADE_UP, NOISE, real_texts, spoiled

NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
# A cluster keeps neither NUL nor halves of surrogate pairs; everything else comes back as it was.
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    # Beyond these, a float is written as a whole number with digits of its own, as kubectl writes it.
    | st.floats(-(2.0**53), 2.0**53)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.builds(
    lambda name, kind, spec: {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec},
    NAMES,
    st.sampled_from(["Pod", "Service", "Widget"]),
    st.dictionaries(st.just("x"), VALUES, max_size=1),
)
REAL = real_texts(Path(__file__).parents[2] / "examples")


@given(NOISE | BYTES)
def test_any_text_is_read_or_refused(text: str) -> None:
    keeps_promises(text)


@given(FRAGMENTS)
@settings(max_examples=400)
def test_any_mixture_of_yaml_syntax_is_read_or_refused(text: str) -> None:
    keeps_promises(text)


@given(FRAGMENTS)
def test_any_mixture_of_yaml_syntax_inside_an_object_is_read_or_refused(text: str) -> None:
    keeps_promises(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {text}")


@given(MADE_UP)
@settings(max_examples=400)
def test_made_up_manifests_are_read_or_refused(text: str) -> None:
    keeps_promises(text)


@given(spoiled(REAL))
@settings(max_examples=300)
def test_real_manifests_with_bytes_changed_are_read_or_refused(text: str) -> None:
    keeps_promises(text)


@given(OBJECTS, st.sampled_from([None, 2]), st.booleans())
def test_a_json_object_comes_back_as_it_was(body: dict[str, Any], indent: int | None, ascii_only: bool) -> None:  # noqa: FBT001 - drawn
    text = json.dumps(body, indent=indent, ensure_ascii=ascii_only)
    if any(c in text for c in "\x7f\u2028\u2029\ufeff\ufffe\uffff") or any("\x80" <= c <= "\x9f" for c in text):
        keeps_promises(text)  # such characters have to be written as escapes
    else:
        [manifest] = parse_manifests(text)
        assert manifest.body == body


@given(st.lists(OBJECTS, min_size=1, max_size=3, unique_by=lambda body: (body["kind"], body["metadata"]["name"])))
def test_what_is_stored_reads_back_as_what_was_read(bodies: list[dict[str, Any]]) -> None:
    first = parse_manifests(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
    documents, _ = split_secrets(first)
    assert [json.loads(document) for document in documents] == [m.body for m in first] == bodies


@given(FRAGMENTS | st.text(st.characters(), max_size=200))
def test_any_text_is_no_kubeconfig(text: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_kubeconfig(text)
    assert caught.value.findings
