"""The template executor against a cluster: what it asks, what it names, what it applies, and what people are told."""

from typing import Any

from locktender.contracts.deployments.inputs import AskedCode
from locktender.contracts.deployments.models import ApplyState, FailureReason, Identity, StepStatus
from locktender.contracts.deployments.plan import PlannedAction
from locktender.contracts.kernel.ids import new_id
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.recorded_run import RecordedRun, template_executor, template_work

APPS = "/apis/apps/v1/namespaces/default/deployments"
SECRETS = "/api/v1/namespaces/default/secrets"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
INSTANCE = "locktender.dev/instance"

SHOP = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: shop}
spec:
  defaults:
    app_name: {type: string, value: 'shop-${{ random(8) }}'}
    db_password: {type: string, value: '${{ random(20) }}'}
  inputs:
    admin_password: {type: password, required: true, description: The password of the admin}
    colour: {type: choice, default: red, options: [red, green]}
    mail: {type: boolean, default: 'false'}
    mail_token: {type: string, required: true, if: "inputs.mail === 'true'"}
---
apiVersion: v1
kind: Secret
metadata: {name: '${{ defaults.app_name }}'}
stringData: {admin: '${{ inputs.admin_password }}', database: '${{ defaults.db_password }}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: '${{ defaults.app_name }}'}
data: {colour: '${{ inputs.colour }}'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: '${{ defaults.app_name }}'}
spec:
  selector: {matchLabels: {app: '${{ defaults.app_name }}'}}
  template:
    metadata: {labels: {app: '${{ defaults.app_name }}'}}
    spec: {containers: [{name: main, image: 'registry.example/web:1'}]}
"""
PASSWORD = {"admin_password": "open sesame"}


async def deployed(
    cluster: SandboxCluster, template: str = SHOP, *, run: RecordedRun | None = None, **stated: Any
) -> RecordedRun:
    run = run or RecordedRun()
    await run.carry_out(template_executor(), template_work(template, cluster.kubeconfig, **stated))
    return run


async def names(cluster: SandboxCluster, path: str) -> list[str]:
    _, found = await cluster.request("GET", path)
    return [item["metadata"]["name"] for item in found["items"]]


async def effects(cluster: SandboxCluster) -> list[str]:
    return [entry["name"] for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


def steps(run: RecordedRun) -> dict[str, StepStatus]:
    return {step.id: step.status for step in run.timeline.steps}


async def test_a_template_is_rendered_named_applied_and_ready(cluster: SandboxCluster) -> None:
    task = new_id()
    run = await deployed(cluster, task_id=task, given=PASSWORD)
    assert run.status == "completed", run.failure
    assert run.identity is not None
    name = run.identity.instance
    assert name.startswith("shop-")
    assert run.identity == Identity(instance=name, seed=task, defaults={"app_name": name})
    assert await names(cluster, APPS) == [name]
    _, found = await cluster.request("GET", f"{APPS}/{name}")
    assert found["metadata"]["labels"][INSTANCE] == name
    assert found["metadata"]["annotations"]["locktender.dev/task"] == str(task)
    assert {card.apply for card in run.timeline.cards} == {ApplyState.APPLIED}
    assert [card.ref.kind for card in run.timeline.cards] == ["Secret", "ConfigMap", "Deployment"]
    assert steps(run) == {"prepare-template": StepStatus.COMPLETED, "create-resources": StepStatus.COMPLETED}


async def test_the_name_is_recorded_after_the_plan_and_right_before_anything_is_applied(
    cluster: SandboxCluster,
) -> None:
    run = RecordedRun()
    applied: list[list[str]] = []
    run.on_write = lambda _: applied.append([card.ref.name for card in run.timeline.cards if card.apply != "pending"])
    await deployed(cluster, run=run, given=PASSWORD)
    assert run.identity is not None
    assert run.messages[:2] == ["planned: 3 to create", f"the instance is named {run.identity.instance}"]
    assert run.messages[2].startswith("applying Secret ")
    assert applied[:2] == [[], []]


async def test_a_missing_value_parks_the_run_before_anything_is_named_or_even_asked_of_the_cluster(
    cluster: SandboxCluster,
) -> None:
    run = await deployed(cluster)
    assert run.status == "blocked"
    assert run.asked is not None
    assert (run.asked.code, run.asked.message) == (AskedCode.MISSING, "needs values for: admin_password")
    assert [field.key for field in run.asked.inputs] == ["admin_password", "colour", "mail", "mail_token"]
    password, colour, *_ = run.asked.inputs
    assert (password.required, password.sensitive, password.default) == (True, True, None)
    assert (colour.default, colour.options) == ("red", ("red", "green"))
    assert run.identity is None
    assert run.timeline.cards == ()
    assert steps(run)["prepare-template"] is StepStatus.BLOCKED
    assert await cluster.ledger() == []


async def test_a_parked_run_goes_on_with_the_answers(cluster: SandboxCluster) -> None:
    task = new_id()
    parked = await deployed(cluster, task_id=task)
    resumed = RecordedRun(epoch=2, timeline=parked.timeline)
    await deployed(cluster, run=resumed, task_id=task, given=PASSWORD | {"colour": "green"}, asked=parked.asked)
    assert resumed.status == "completed", resumed.failure
    assert resumed.identity is not None
    assert resumed.identity.seed == task
    _, found = await cluster.request("GET", f"{CONFIG_MAPS}/{resumed.identity.instance}")
    assert found["data"] == {"colour": "green"}
    assert steps(resumed)["prepare-template"] is StepStatus.COMPLETED


async def test_a_value_that_cannot_be_used_asks_the_whole_form_again_without_the_value(
    cluster: SandboxCluster,
) -> None:
    given = {"admin_password": "abc", "colour": "purple-haze"}
    run = await deployed(cluster, given=given)
    assert run.asked is not None
    assert (run.asked.code, run.asked.key) == (AskedCode.REJECTED, "admin_password")
    assert len(run.asked.inputs) == 4
    said = run.asked.model_dump_json()
    assert "and 1 more" in said
    assert "purple" not in said
    assert "abc" not in said
    assert run.identity is None


async def test_a_question_that_does_not_apply_is_not_asked(cluster: SandboxCluster) -> None:
    asks = await deployed(cluster, given=PASSWORD, inputs={"mail": "true"})
    assert asks.asked is not None
    assert asks.asked.message == "needs values for: mail_token"
    assert (await deployed(cluster, given=PASSWORD, inputs={"mail": "false"})).status == "completed"


async def test_a_secret_that_was_withheld_is_asked_again_although_it_is_not_required(cluster: SandboxCluster) -> None:
    template = SHOP.replace("type: password, required: true", "type: password")
    redeployed = await deployed(cluster, template, sensitive=["admin_password"])
    assert redeployed.asked is not None
    assert redeployed.asked.message == "needs values for: admin_password"
    left_out = await deployed(cluster, template, sensitive=["admin_password"], asked=redeployed.asked)
    assert left_out.status == "completed", left_out.asked


async def test_what_the_caller_calls_secret_is_asked_as_such(cluster: SandboxCluster) -> None:
    run = await deployed(cluster, sensitive=["colour"], given=PASSWORD)
    assert run.asked is not None
    colour = next(field for field in run.asked.inputs if field.key == "colour")
    assert (colour.sensitive, colour.default) == (True, None)


async def test_no_default_in_the_form_repeats_a_secret_that_was_given(cluster: SandboxCluster) -> None:
    template = SHOP.replace(
        "    colour:", "    url: {type: string, default: 'x://${{ inputs.admin_password }}@host'}\n    colour:"
    )
    run = await deployed(cluster, template, given=PASSWORD, inputs={"colour": "purple"})
    assert run.asked is not None
    assert "sesame" not in run.asked.model_dump_json()


async def test_a_redeploy_goes_on_with_the_same_objects_and_the_same_random_values(cluster: SandboxCluster) -> None:
    first = await deployed(cluster, given=PASSWORD)
    assert first.identity is not None
    name = first.identity.instance
    _, before = await cluster.request("GET", f"{SECRETS}/{name}")
    _, web = await cluster.request("GET", f"{APPS}/{name}")
    second = await deployed(cluster, given=PASSWORD, identity=first.identity, inputs={"colour": "green"})
    assert second.status == "completed", second.failure
    assert second.identity == first.identity
    assert f"goes on as {name}; the identity is reused" in second.messages
    assert await names(cluster, APPS) == [name]
    _, after = await cluster.request("GET", f"{SECRETS}/{name}")
    assert after["data"] == before["data"]
    _, again = await cluster.request("GET", f"{APPS}/{name}")
    assert again["metadata"]["uid"] == web["metadata"]["uid"]
    assert [card.planned for card in second.timeline.cards] == [
        PlannedAction.UNCHANGED, PlannedAction.CHANGE, PlannedAction.UNCHANGED,
    ]  # fmt: skip


async def test_a_chain_of_redeploys_keeps_the_identity_of_its_root(cluster: SandboxCluster) -> None:
    root = new_id()
    identity = None
    for colour in ("red", "green", "red"):
        run = await deployed(
            cluster, task_id=root if identity is None else new_id(), given=PASSWORD, identity=identity,
            inputs={"colour": colour},
        )  # fmt: skip
        assert run.status == "completed", run.failure
        identity = run.identity
    assert identity is not None
    assert identity.seed == root
    assert await names(cluster, APPS) == [identity.instance]


async def test_another_key_gives_other_random_values_and_ids_alone_give_none_away(cluster: SandboxCluster) -> None:
    task = new_id()
    made: list[str] = []
    for key in (b"one key of sixteen", b"another of sixteen"):
        run = RecordedRun()
        work = template_work(SHOP, cluster.kubeconfig, task_id=task, given=PASSWORD)
        await run.carry_out(template_executor(key=key), work)
        assert run.identity is not None
        made.append(run.identity.instance)
    assert made[0] != made[1]


async def test_a_fault_of_the_template_ends_the_run_with_its_line(cluster: SandboxCluster) -> None:
    run = await deployed(cluster, SHOP + "---\nkind: ${{ inputs.colour. }}\n", given=PASSWORD)
    assert run.failure is not None
    reason, stage, message, _ = run.failure
    assert (reason, stage) == (FailureReason.TEMPLATE_INVALID, "prepare")
    assert message.startswith("line 33: ")
    assert await cluster.ledger() == []


async def test_platform_variables_that_nobody_set_are_refused_by_name_before_anything_is_applied(
    cluster: SandboxCluster,
) -> None:
    template = SHOP.replace("'${{ inputs.colour }}'", "'${{ SEALOS_CLOUD_DOMAIN }}${{ SEALOS_CERT_SECRET_NAME }}'")
    run = await deployed(cluster, template, given=PASSWORD, variables={"SEALOS_CLOUD_DOMAIN": "example.com"})
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.TEMPLATE_INVALID, "prepare")
    assert "not set here: SEALOS_CERT_SECRET_NAME;" in run.failure[2]
    assert run.identity is None
    assert await cluster.ledger() == []


async def test_a_kind_that_the_cluster_does_not_know_is_told_when_planning(cluster: SandboxCluster) -> None:
    app = "---\napiVersion: app.sealos.io/v1\nkind: App\nmetadata: {name: '${{ defaults.app_name }}'}\nspec: {}\n"
    run = await deployed(cluster, SHOP + app, given=PASSWORD)
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.UNKNOWN_KIND, "prepare")
    assert "the cluster does not know App in app.sealos.io/v1" in run.failure[2]
    assert run.identity is None
    assert await effects(cluster) == []


async def test_a_template_that_comes_to_nothing_says_so(cluster: SandboxCluster) -> None:
    head, *_ = SHOP.split("---\n")
    nothing = f"{head}---\n${{{{ if(inputs.mail === 'true') }}}}\napiVersion: v1\n${{{{ endif() }}}}\n"
    run = await deployed(cluster, nothing, given=PASSWORD)
    assert run.failure is not None
    assert run.failure[0] is FailureReason.TEMPLATE_INVALID
    assert "no objects at all" in run.failure[2]


async def test_what_is_rendered_and_no_object_at_all_is_refused_like_any_manifest(cluster: SandboxCluster) -> None:
    run = await deployed(cluster, SHOP + "---\nkind: ConfigMap\nmetadata: {name: x}\n", given=PASSWORD)
    assert run.failure is not None
    assert run.failure[0] is FailureReason.INVALID_MANIFEST
    assert "apiVersion" in run.failure[2]


async def test_objects_that_leave_their_name_to_the_cluster_keep_it_over_redeploys(cluster: SandboxCluster) -> None:
    template = SHOP + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: extra-}\n"
    first = await deployed(cluster, template, given=PASSWORD)
    await deployed(cluster, template, given=PASSWORD, identity=first.identity)
    assert len([name for name in await names(cluster, CONFIG_MAPS) if name.startswith("extra-")]) == 1


async def test_every_secret_value_is_withheld_and_ordinary_values_are_not(cluster: SandboxCluster) -> None:
    run = await deployed(cluster, given=PASSWORD | {"colour": "green"})
    assert run.identity is not None
    _, stored = await cluster.request("GET", f"{SECRETS}/{run.identity.instance}")
    assert "open sesame" in run.withheld
    assert stored["data"]["database"] not in run.identity.model_dump_json()
    assert any(len(value) == 20 for value in run.withheld)
    assert "green" not in run.withheld


async def test_a_kustomization_is_deployed_under_a_name_of_its_own(cluster: SandboxCluster) -> None:
    files = {
        "kustomization.yaml": "resources: [map.yaml]\n",
        "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
    }
    run = RecordedRun()
    await run.carry_out(template_executor(), template_work(files, cluster.kubeconfig, name="web"))
    assert run.status == "completed", run.failure
    assert run.identity is not None
    _, found = await cluster.request("GET", f"{CONFIG_MAPS}/settings")
    assert found["metadata"]["labels"][INSTANCE] == run.identity.instance
    assert run.identity.instance.startswith("web-")
