"""Objects that leave their name to the cluster: the task and the place of the document decide it."""

from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.naming import PREFIX_LIMIT, named

TASK = UUID("0195f3a0-0000-7000-8000-000000000001")
OTHER = UUID("0195f3a0-0000-7000-8000-000000000002")
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: seed-, labels: {a: b}}\nspec: {x: u}\n"


def code(metadata: str, api_version: str = "v1") -> str | None:
    try:
        parse_manifests(f"apiVersion: {api_version}\nkind: ClusterRole\nmetadata: {metadata}\n")
    except Rejected as refusal:
        return refusal.findings[0].code
    return None


def test_the_name_is_the_prefix_and_five_letters_of_kubernetes() -> None:
    [manifest] = parse_manifests(JOB)
    metadata = named(manifest.body, TASK, 0)["metadata"]
    assert metadata.keys() == {"name", "labels"}
    assert metadata["name"].startswith("seed-")
    assert len(metadata["name"]) == len("seed-") + 5
    assert set(metadata["name"].removeprefix("seed-")) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_one_task_and_place_always_mean_one_object_and_any_other_means_another() -> None:
    [manifest] = parse_manifests(JOB)
    names = {named(manifest.body, task, index)["metadata"]["name"] for task in (TASK, OTHER) for index in range(100)}
    assert len(names) == 200
    assert named(manifest.body, TASK, 7) == named(manifest.body, TASK, 7)


def test_what_was_submitted_keeps_its_prefix() -> None:
    [manifest] = parse_manifests(JOB)
    named(manifest.body, TASK, 0)
    assert manifest.body["metadata"]["generateName"] == "seed-"
    assert (manifest.name, manifest.generate_name, str(manifest.ref)) == ("", "seed-", "Job seed-*")


def test_an_object_with_a_name_keeps_it() -> None:
    [manifest] = parse_manifests(JOB.replace("generateName: seed-", "name: mine, generateName: seed-"))
    assert named(manifest.body, TASK, 0) is manifest.body
    assert (manifest.name, manifest.generate_name) == ("mine", None)


def test_several_objects_may_share_a_prefix() -> None:
    assert [m.index for m in parse_manifests(f"{JOB}---\n{JOB}")] == [0, 1]


@pytest.mark.parametrize(
    "metadata",
    ["{}", "{generateName: ''}", "{name: '', generateName: }"],
)
def test_an_object_with_neither_is_refused(metadata: str) -> None:
    assert code(metadata) == "missing-name"


@pytest.mark.parametrize("prefix", ["Big-", "-a", "a_", "'7.'", "a/", "é", "'5'", "a.b-"])
def test_a_prefix_is_what_a_name_may_begin_with(prefix: str) -> None:
    expected = None if prefix in {"'7.'", "'5'", "a.b-"} else "invalid-name"
    assert code(f"{{generateName: {prefix}}}") == expected


def test_a_prefix_that_kubernetes_would_cut_off_is_refused_with_the_limit() -> None:
    assert code(f"{{generateName: {'a' * PREFIX_LIMIT}}}") is None
    with pytest.raises(Rejected, match="59 characters, more than the limit of 58"):
        parse_manifests(JOB.replace("seed-", "a" * 59))


def test_rights_may_have_colons_in_their_prefix() -> None:
    assert code("{generateName: 'system:x:'}", "rbac.authorization.k8s.io/v1") is None


def test_a_prefix_that_is_no_text_is_refused() -> None:
    assert code("{generateName: 5}") == "invalid-name"
