"""How much is read: each refusal names its limit and the setting, and what is allowed stays small in memory."""

import json
import tracemalloc

import pytest

from locktender.api.settings import ApiSettings
from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import parse_manifests
from locktender.testkit.dialect.typical import deployments

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
FOUR = "---\n".join(HEAD.replace("name: a", f"name: a{n}") for n in range(4))
ITEMS = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"a{n}"}} for n in range(4)]


@pytest.mark.parametrize(
    ("text", "limits", "code", "words"),
    [
        ("x" * 51, ManifestLimits(total_bytes=50), "too-large", "limit of 50 (manifests.total_bytes)"),
        (FOUR, ManifestLimits(documents=3), "too-many-documents", "limit of 3 documents (manifests.documents)"),
        (json.dumps({"apiVersion": "v1", "kind": "List", "items": ITEMS}), ManifestLimits(documents=3),
         "too-many-documents", "limit of 3 documents (manifests.documents)"),
        (f"{HEAD}data: {{k: {'x' * 100}}}", ManifestLimits(object_bytes=100), "object-too-large",
         "limit of 100 (manifests.object_bytes)"),
        (f"{HEAD}spec: [[[[a]]]]", ManifestLimits(depth=4), "too-deep", "limit of 4 levels (manifests.depth)"),
        (f"{HEAD}a: &b x\nc: [*b, *b, *b]", ManifestLimits(aliases=2), "too-many-aliases",
         "limit of 2 aliases in one document (manifests.aliases)"),
        (f"{HEAD}a: &b [x, x, x]\nc: [*b, *b, *b]", ManifestLimits(nodes=25), "too-many-values",
         "limit of 25 values (manifests.nodes)"),
    ],
)  # fmt: skip
def test_a_refusal_names_its_limit_and_the_setting(text: str, limits: ManifestLimits, code: str, words: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_manifests(text, limits=limits)
    [finding] = caught.value.findings
    assert finding.code == code
    assert words in finding.message


@pytest.mark.parametrize("name", ["total_bytes", "documents", "object_bytes", "depth", "aliases", "nodes", "findings"])
def test_every_limit_is_a_setting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKTENDER_DATABASE_URL", "postgresql://localhost/x")
    monkeypatch.setenv("LOCKTENDER_NATS_URL", "nats://localhost")
    monkeypatch.setenv(f"LOCKTENDER_MANIFESTS__{name.upper()}", "77")
    settings = ApiSettings()
    assert getattr(settings.manifests, name) == 77
    monkeypatch.setenv(f"LOCKTENDER_MANIFESTS__{name.upper()}", "-1")
    with pytest.raises(ValueError, match=f"{name} must be at least"):
        ApiSettings()


def test_a_body_has_room_for_the_largest_manifests() -> None:
    settings = ApiSettings.model_fields
    assert settings["limits"].default.max_body_bytes >= 2 * settings["manifests"].default.total_bytes


def test_a_thousand_documents_are_read_in_bounded_memory() -> None:
    text = deployments(1_000)
    parse_manifests(deployments(10))
    tracemalloc.start()
    try:
        manifests = parse_manifests(text)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(manifests) == 1_000
    assert peak < 40 * len(text)
    assert peak - kept < 4 * len(text), "besides the objects, no more than a few copies of the text"


def test_a_text_that_is_all_structure_stays_bounded_too() -> None:
    text = HEAD + "spec: [" + "[]," * 20_000 + "]"
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match=r"manifests\.nodes"):
            parse_manifests(text, limits=ManifestLimits(nodes=10_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000
