"""Hostile and clumsy input to a template run: what it says of it, and how much it may cost."""

import json
import time
from contextlib import ExitStack
from typing import Any

import pytest

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.diff import field_diff
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.objects import objects_of
from locktender.runtime.logs import Withheld
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.recorded_run import RecordedRun, template_executor, template_work

HEAD = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: odd}
spec:
  defaults: {app_name: {type: string, value: 'odd-${{ random(8) }}'}}
"""
QUICK = 2.0
"""Seconds: many times what it takes, and far less than what grows with the square of a text."""


async def deployed(cluster: SandboxCluster, *resources: str) -> RecordedRun:
    run = RecordedRun()
    text = "---\n".join([HEAD, *resources])
    await run.carry_out(template_executor(), template_work(text, cluster.kubeconfig))
    return run


def config_map(name: str, **data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}) + "\n"


def seconds(before: dict[str, Any], after: dict[str, Any]) -> float:
    began = time.perf_counter()
    assert field_diff({"data": before}, {"data": after}).changes
    return time.perf_counter() - began


async def test_faults_of_what_was_rendered_name_the_object_and_no_line_that_nobody_has_seen(
    cluster: SandboxCluster,
) -> None:
    run = await deployed(cluster, config_map("one"), config_map("same"), config_map("same"), "kind: ConfigMap\n")
    assert run.failure is not None
    assert "object 3: ConfigMap same is described twice, first as object 2; keep one" in run.failure[2]
    assert "object 4: ConfigMap: apiVersion is missing" in run.failure[2]
    assert "line" not in run.failure[2]


async def test_every_kind_that_the_cluster_does_not_know_is_named_at_once(cluster: SandboxCluster) -> None:
    run = await deployed(
        cluster,
        "apiVersion: app.sealos.io/v1\nkind: App\nmetadata: {name: shop}\n",
        "apiVersion: apps.kubeblocks.io/v1alpha1\nkind: Cluster\nmetadata: {name: shop-pg}\n",
        "apiVersion: objectstorage.sealos.io/v1\nkind: ObjectStorageBucket\nmetadata: {name: shop-files}\n",
        config_map("shop"),
    )
    assert run.status == "failed"
    assert run.failure is not None
    assert "nothing was applied: " in run.failure[2]
    for name in ("App in app.sealos.io/v1", "Cluster shop-pg", "ObjectStorageBucket shop-files"):
        assert name in run.failure[2]
    assert not [entry for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


@pytest.mark.parametrize(
    "lines",
    [
        "y" * 500_000,
        f"a:{' ' * 500_000}",
        "_" * 500_000,
        "a=b " * 100_000,
    ],
    ids=["one-word", "spaces", "dashes", "assignments"],
)
def test_the_change_of_a_long_text_is_told_in_no_time(lines: str) -> None:
    assert seconds({"text": lines}, {"text": f"{lines}!"}) < QUICK


def test_the_change_of_many_like_lines_is_told_in_no_time() -> None:
    old, new = ["{", "},"] * 900, ["{", "}"] * 900
    assert seconds({"text": "\n".join(old)}, {"text": "\n".join(new)}) < QUICK


def test_of_many_lines_the_ones_that_differ_are_told() -> None:
    old = [f"line {number}" for number in range(900)]
    new = ["first", *old[1:-1], "last"]
    (change,) = field_diff({"data": {"text": "\n".join(old)}}, {"data": {"text": "\n".join(new)}}).changes
    assert (change.before, change.after) == ('["line 0","line 899"]', '["first","last"]')
    (change,) = field_diff({"data": {"text": "\n".join(old)}}, {"data": {"text": "\n".join(old[::-1])}}).changes
    assert (change.before, change.after) == ('"the lines"', '"in another order"')


@pytest.mark.parametrize("text", ["--set=password=hunter2", "_password=hunter2", "a: b, db.password: hunter2"])
def test_a_secret_behind_another_assignment_is_not_told(text: str) -> None:
    (change,) = field_diff({"data": {"text": "x"}}, {"data": {"text": text}}).changes
    assert change.masked
    assert "hunter2" not in str(change)


def test_characters_that_only_some_readers_take_for_line_ends_are_rendered_like_any_other() -> None:
    body: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "\x7f\u2028\x85"}}
    (manifest,) = objects_of([body], (), limits=ManifestLimits(), pointer="/source")
    assert manifest.body == body


def test_of_two_thousand_objects_the_first_that_is_too_much_is_named() -> None:
    bodies: list[Any] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"x{number}"}} for number in range(30)
    ]
    with pytest.raises(Rejected, match="object 21: ") as refusal:
        objects_of(bodies, (), limits=ManifestLimits(documents=20), pointer="/source")
    assert "manifests.documents" in str(refusal.value)


def test_runs_that_log_nothing_do_not_pay_for_the_values_of_all_others() -> None:
    held = Withheld()
    began = time.perf_counter()
    with ExitStack() as runs:
        for number in range(2_000):
            runs.enter_context(held.values([f"first value {number}", f"second value {number}"]))
    assert time.perf_counter() - began < QUICK


def test_what_is_withheld_while_lines_are_written_is_in_none_of_them() -> None:
    held = Withheld()
    with held.values(["first value"]):
        assert held.processor(None, "info", {"event": "a first value"}) == {"event": "a [withheld]"}
        with held.values(["second value"]):
            assert held.processor(None, "info", {"event": "first value, second value"}) == {
                "event": "[withheld], [withheld]"
            }
    assert held.processor(None, "info", {"event": "first value"}) == {"event": "first value"}


@pytest.mark.parametrize("name", ["pass", "long-secret", "x-long-secret-y"])
def test_an_object_is_never_named_after_a_secret_value(name: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    with pytest.raises(TemplateFault, match="named after a secret input") as fault:
        objects_of([body], (), limits=ManifestLimits(), pointer="/source", secret=["pass", "long-secret"])
    assert name not in str(fault.value)


def test_a_short_secret_that_is_in_a_name_by_chance_does_no_harm() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-admin"}}
    assert objects_of([body], (), limits=ManifestLimits(), pointer="/source", secret=["admin", ""])
