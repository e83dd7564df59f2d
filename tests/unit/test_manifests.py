"""Manifests: what is read, and what is refused with which words."""

import json
import time
from pathlib import Path

import pytest

from locktender.contracts.kernel.errors import Finding, Rejected
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import parse_manifests

BOUTIQUE = Path(__file__).parents[2] / "examples" / "online-boutique.yaml"
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def refused(text: str, limits: ManifestLimits | None = None) -> tuple[Finding, ...]:
    with pytest.raises(Rejected) as caught:
        parse_manifests(text, limits=limits or ManifestLimits())
    assert caught.value.findings
    return caught.value.findings


def codes(text: str, limits: ManifestLimits | None = None) -> list[str]:
    return [finding.code for finding in refused(text, limits)]


def value_of(scalar: str) -> object:
    return parse_manifests(f"{HEAD}spec: {{k: {scalar}}}")[0].body["spec"]["k"]


def test_a_real_application_is_read_in_order_with_lines() -> None:
    manifests = parse_manifests(BOUTIQUE.read_text(encoding="utf-8"))
    assert len(manifests) == 35
    assert [m.index for m in manifests] == list(range(35))
    first = manifests[0]
    assert (str(first.ref), first.api_version, first.line) == ("Deployment frontend", "apps/v1", 21)
    assert {m.kind for m in manifests} == {"Deployment", "Service", "ServiceAccount"}


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("text", "text"),
        ("'1'", "1"),
        ("1", 1),
        ("-7", -7),
        ("0644", 420),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1.0", 1),
        (".5", 0.5),
        ("1.5e+3", 1500),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("500m", "500m"),
        ("1Gi", "1Gi"),
        ("10.0.0.1", "10.0.0.1"),
        ("8080:80", "8080:80"),
        ("v1.2.3", "v1.2.3"),
        ("!!str 1", "1"),
        ("!!int 5", 5),
    ],
)
def test_scalars_that_every_reader_reads_alike_are_read_so(scalar: str, value: object) -> None:
    read = value_of(scalar)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "scalar",
    [
        "6063e25", "1e10", "22:22", "2020-01-01", "0o777", "yes", "No", "on", "OFF", "y", "0b11", "1_000", "08",
        "2001-12-14t21:59:43.10-05:00", "=", "-0x1F", "+.5",
    ],
)  # fmt: skip
def test_a_scalar_that_readers_disagree_on_is_refused_with_its_place(scalar: str) -> None:
    [finding] = refused(f"{HEAD}spec:\n  deep: [1, {{k: {scalar}}}]")
    assert finding.code == "ambiguous-scalar"
    assert finding.message.startswith("line 5: spec.deep[1].k: ")
    assert "quotes" in finding.message
    assert scalar == "=" or scalar not in finding.message.split(": ", 2)[2].split()


@pytest.mark.parametrize("scalar", [".inf", ".nan", "9223372036854775808", "1.0e+999"])
def test_numbers_that_json_or_a_cluster_cannot_hold_are_refused(scalar: str) -> None:
    assert codes(f"{HEAD}spec: {{k: {scalar}}}") == ["ambiguous-scalar"]


@pytest.mark.parametrize("key", ["y", "yes", "1.50", "0x1F", "~", "True", "1e3"])
def test_a_key_that_is_no_text_for_some_reader_is_refused(key: str) -> None:
    assert codes(f"{HEAD}spec: {{{key}: a}}") == ["ambiguous-key"]


def test_a_key_of_plain_digits_is_its_own_text() -> None:
    assert parse_manifests(f"{HEAD}data: {{8080: a, true: b}}")[0].body["data"] == {"8080": "a", "true": "b"}


def test_every_fault_of_a_document_and_of_its_neighbours_is_named_at_once() -> None:
    text = f"{HEAD}spec: {{a: 1e3, a: x}}\n---\nkind: [\n---\nkind: Service\n"
    found = refused(text)
    assert [f.code for f in found] == [
        "ambiguous-scalar",
        "duplicate-key",
        "malformed-yaml",
        "missing-api-version",
        "missing-name",
    ]
    assert all(f.pointer == "/source/manifests" for f in found)


def test_a_duplicate_key_is_refused_with_both_lines() -> None:
    [finding] = refused(f"{HEAD}spec:\n  a: x\n  b: x\n  a: z\n")
    assert finding.message == "line 7: spec.a: the key appears twice, first on line 5; keep one"


def test_a_duplicate_key_in_json_is_refused_too() -> None:
    assert "duplicate-key" in codes('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "name": "b"}}')


@pytest.mark.parametrize("opening", ["[", "{", '{"a":', "- ", "{a: ", "? "])
def test_two_thousand_levels_are_refused_at_once(opening: str) -> None:
    begun = time.perf_counter()
    assert set(codes(opening * 2_000)) <= {"too-deep", "complex-key", "malformed-yaml"}
    assert time.perf_counter() - begun < 2


def test_two_thousand_complete_levels_of_json_are_too_deep() -> None:
    text = '{"a":' * 2_000 + "1" + "}" * 2_000
    [finding] = refused(text)
    assert finding.code == "too-deep"
    assert "100" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "1" * 1_000_000 + "x",
        "1:" * 500_000,
        "_1" * 500_000,
        "-" * 1_000_000,
        "." * 1_000_000,
        "".join(f"%TAG !t{n}! x\n" for n in range(60_000)) + "--- a",
        "".join(f"&a{n} x: *a{n}\n" for n in range(60_000)),
        "? " * 500_000,
        ": " * 500_000,
        "{}" * 500_000,
        '{"a":1}' * 100_000,
        "---\n" * 250_000,
        "a\n" * 500_000,
        "'" + "a''" * 300_000,
        "!" * 1_000_000,
        "&" * 1_000_000,
        "#" * 1_000_000,
        f"{HEAD}metadata: {{name: {'a-' * 500_000}}}",
    ],
    ids=range(18),
)
def test_a_megabyte_of_malice_is_answered_soon(text: str) -> None:
    begun = time.perf_counter()
    assert refused(text)
    assert time.perf_counter() - begun < 15


@pytest.mark.parametrize("directive", ["%YAML 1.2", "%TAG ! tag:x,2000:"])
def test_directives_are_refused(directive: str) -> None:
    assert codes(f"{directive}\n---\n{HEAD}") == ["yaml-directive"]


def test_block_style_nesting_is_bounded_too() -> None:
    assert codes("\n".join(" " * level + "a:" for level in range(150))) == ["too-deep"]


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 10):
        before, name = chr(96 + level), chr(97 + level)
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    [finding] = refused("\n".join(lines))
    assert finding.code == "too-many-values"
    assert f"limit of {ManifestLimits().nodes} values (manifests.nodes)" in finding.message


def test_values_are_counted_over_all_documents() -> None:
    text = "---\n".join(HEAD.replace("name: a", f"name: a{n}") for n in range(20))
    assert codes(text, ManifestLimits(nodes=100)) == ["too-many-values"]


def test_anchors_do_not_reach_into_the_next_document() -> None:
    assert codes(f"{HEAD}spec: &b x\n---\n{HEAD.replace('name: a', 'name: b')}spec: *b") == ["unknown-alias"]


def test_aliases_that_nest_too_deeply_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 150)]
    assert codes("\n".join(lines)) == ["too-deep"]


def test_too_many_aliases_name_the_limit() -> None:
    text = "a: &a x\nb: [" + ", ".join(["*a"] * 6) + "]"
    [finding] = refused(text, ManifestLimits(aliases=5))
    assert finding.code == "too-many-aliases"
    assert "5" in finding.message


@pytest.mark.parametrize(("text", "code"), [("a: &a [*a]", "alias-cycle"), ("a: *b", "unknown-alias")])
def test_aliases_without_a_finished_anchor_are_refused(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_anchors_and_merge_keys_work_and_share_nothing() -> None:
    body = parse_manifests(
        f"{HEAD}base: &b {{p: [x], q: u}}\nspec:\n  <<: *b\n  q: z\nmore: {{<<: [*b, {{r: s, p: t}}]}}"
    )[0].body
    assert body["spec"] == {"q": "z", "p": ["x"]}
    assert body["more"] == {"p": ["x"], "q": "u", "r": "s"}
    assert body["spec"]["p"] is not body["base"]["p"]


def test_a_merge_that_repeats_a_key_from_above_is_refused() -> None:
    assert codes(f"{HEAD}base: &b {{p: x}}\ndata: {{p: z, <<: *b}}") == ["merge-order"]


def test_a_merge_of_something_else_than_mappings_is_refused() -> None:
    assert codes(f"{HEAD}data: {{<<: text}}") == ["bad-merge"]


@pytest.mark.parametrize(
    "value", ["!!python/object:os.system x", "!!binary aGk=", "!foo x", "!!timestamp 2020-01-01", "!!set {a}"]
)
def test_tags_are_refused(value: str) -> None:
    assert codes(f"{HEAD}spec: {{k: {value}}}") == ["yaml-tag"]


def test_complex_keys_are_refused() -> None:
    assert codes(f"{HEAD}spec:\n  ? [a]\n  : b\n") == ["complex-key"]


@pytest.mark.parametrize("text", ["", "\n", "---\n---\n", "# only words\n", "~", "---\nnull\n"])
def test_no_object_at_all_is_an_error(text: str) -> None:
    assert codes(text) == ["no-objects"]


def test_empty_documents_between_others_are_skipped() -> None:
    text = f"---\n# a comment\n---\n{HEAD}---\n---\n{HEAD.replace('name: a', 'name: b')}---\n"
    assert [(m.index, m.name, m.line) for m in parse_manifests(text)] == [(0, "a", 4), (1, "b", 9)]


@pytest.mark.parametrize("text", ["just text", "- a\n- b", "42"])
def test_a_document_that_is_no_mapping_is_refused(text: str) -> None:
    assert codes(text) == ["not-a-mapping"]


def test_content_beside_the_separator_is_refused() -> None:
    assert codes(f"--- {{kind: x}}\n---\n{HEAD}") == ["inline-document"]


def test_a_second_document_after_an_end_mark_is_not_dropped_silently() -> None:
    assert "malformed-yaml" in codes(f"{HEAD}...\n{HEAD}")
    assert "malformed-yaml" in codes(f"{HEAD}...\n--- \n{HEAD}...\nx: y\n")


def test_lists_are_taken_apart_with_the_line_of_each_item() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"
        "- apiVersion: v1\n  kind: Secret\n  metadata: {name: b, namespace: x}\n"
    )
    assert [(m.index, m.kind, m.namespace, m.line) for m in parse_manifests(text)] == [
        (0, "ConfigMap", None, 4),
        (1, "Secret", "x", 7),
    ]


def test_a_list_inside_of_a_list_is_refused_where_it_stands() -> None:
    text = f"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: []\n---\n{HEAD}"
    [finding] = refused(text)
    assert (finding.code, finding.message.partition(": ")[0]) == ("nested-list", "line 4")


def test_an_object_with_items_that_is_no_list_is_refused() -> None:
    [finding] = refused(f"{HEAD}items: [a]\n")
    assert (finding.code, finding.message.partition(": ")[0]) == ("misplaced-items", "line 4")


def test_json_documents_may_follow_one_another() -> None:
    one = '{"apiVersion": "v1", "kind": "ConfigMap",\n "metadata": {"name": "a"}, "n": 1e22, "z": "\\ud83d\\ude00"}\n'
    manifests = parse_manifests(one + one.replace('"a"', '"b"'))
    assert [(m.name, m.line) for m in manifests] == [("a", 1), ("b", 3)]
    assert manifests[0].body["n"] == 1e22
    assert manifests[0].body["z"] == "😀"


@pytest.mark.parametrize(
    ("character", "code"),
    [("\0", "nul-byte"), ("\x1b", "control-character"), ("\x85", "control-character"), ("\ud800", "lone-surrogate")],
)
def test_characters_that_cannot_be_kept_are_refused_with_their_line(character: str, code: str) -> None:
    [finding] = refused(f"{HEAD}data: {{k: 'a{character}b'}}")
    assert finding.code == code
    assert finding.message.startswith("line 4: ")


@pytest.mark.parametrize("escape", ["\\0", "\\u0000", "\\ud800"])
def test_the_same_characters_as_escapes_are_refused(escape: str) -> None:
    as_json = f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{"k":"{escape}"}}}}'
    for text in (as_json, f'{HEAD}data: {{k: "{escape}"}}'):
        assert codes(text)[0] in {"nul-byte", "lone-surrogate"}


def test_other_control_characters_may_be_written_as_escapes() -> None:
    assert parse_manifests(f'{HEAD}data: {{k: "\\e[1m"}}')[0].body["data"] == {"k": "\x1b[1m"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kind: A\nmetadata: {name: a}", "missing-api-version"),
        ("apiVersion: v1\nmetadata: {name: a}", "missing-kind"),
        ("apiVersion: v1\nkind: A", "missing-name"),
        ("apiVersion: v1\nkind: A\nmetadata: {}", "missing-name"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: 7}", "invalid-name"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: Big_Name}", "invalid-name"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a/../b}", "invalid-name"),
        (f"apiVersion: v1\nkind: A\nmetadata: {{name: {'a' * 254}}}", "invalid-name"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: a.b}", "invalid-namespace"),
        ("apiVersion: ../v1\nkind: A\nmetadata: {name: a}", "missing-api-version"),
    ],
)
def test_an_object_without_a_proper_identity_is_refused(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_rights_may_have_colons_in_their_names() -> None:
    text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:reader'}"
    assert parse_manifests(text)[0].name == "system:reader"


@pytest.mark.parametrize("field", ["managedFields: []", "resourceVersion: '7'", "uid: u"])
def test_fields_that_only_a_cluster_sets_are_refused(field: str) -> None:
    assert codes(HEAD.replace("name: a", f"name: a, {field}")) == ["server-field"]


def test_two_documents_for_one_object_are_refused() -> None:
    [finding] = refused(f"{HEAD}---\n{HEAD}")
    assert finding.code == "duplicate-object"
    assert "first on line 1" in finding.message


def test_one_name_in_two_namespaces_is_two_objects() -> None:
    assert len(parse_manifests(f"{HEAD}---\n{HEAD.replace('name: a', 'name: a, namespace: b')}")) == 2


def test_lists_count_by_their_items() -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"a{n}"}} for n in range(4)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert codes(text, ManifestLimits(documents=3)) == ["too-many-documents"]


def test_findings_are_bounded() -> None:
    text = HEAD + "spec: [" + ", ".join(["1e3"] * 500) + "]"
    assert len(refused(text)) == ManifestLimits().findings


def test_a_body_cut_in_half_is_refused() -> None:
    whole = BOUTIQUE.read_text(encoding="utf-8")
    with pytest.raises(Rejected):
        parse_manifests(whole[:300] + "\n  broken: [")
    with pytest.raises(Rejected):
        parse_manifests('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"na')


def test_messages_never_repeat_values() -> None:
    canary = "1_000e5"
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{password: {canary}}}"
    assert all(canary not in finding.message for finding in refused(text))
