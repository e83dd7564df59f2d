"""Real deployments, good and broken, all the way to a cluster, in virtual time: does each get the right verdict?"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyOptions, ApplyState, Card
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import Rejected
from locktender.contracts.kernel.faults import NO_FAULTS
from locktender.embedded.cluster.cluster import Cluster
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import parse_manifests
from locktender.runner.executors.deploying import Means
from locktender.runner.executors.direct import DirectExecutor
from locktender.runner.executors.run import Work
from locktender.runner.executors.terms import Bounds
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.corpus import Case, read_case, read_cases
from locktender.testkit.recorded_run import RecordedRun, work_for
from locktender.testkit.virtual_time import VIRTUAL_TIME, VirtualClock, bounded

pytestmark = pytest.mark.takes(seconds=30)

HERE = Path(__file__).parent
GOOD, BROKEN = read_cases(HERE / "good"), read_cases(HERE / "broken")
NAMESPACE = "default"
MINUTE, LARGE = 60.0, 20_000_000
REAL_SECONDS, JUMPS = 60.0, 60_000


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """One loop for all of this module; time in it passes while nothing happens."""
    return VIRTUAL_TIME


@dataclass(frozen=True, slots=True)
class Deployed:
    """How a deployment ended, and after how many seconds of cluster time."""

    run: RecordedRun
    seconds: float

    @property
    def reason(self) -> str:
        """Of the failure, "" for none."""
        return self.run.failure[0] if self.run.failure else ""

    @property
    def message(self) -> str:
        """What people are told about the failure."""
        return self.run.failure[2] if self.run.failure else ""

    @property
    def hint(self) -> str:
        """What they can do about it."""
        return (self.run.failure[3] or "") if self.run.failure else ""

    def texts(self) -> str:
        """All that people could read of it."""
        plan = self.run.plan.model_dump_json() if self.run.plan else ""
        return "\n".join((*self.run.messages, self.message, self.hint, plan, self.run.timeline.model_dump_json()))


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster at realistic speed, and everything that a case does to it."""

    clock: VirtualClock
    cluster: Cluster
    sandbox: SandboxCluster

    async def play(self, case: Case) -> Deployed:
        """Carry out a case from an empty cluster. Raises `Rejected` for a text that is refused."""
        self.cluster.reset()
        for name in case.present:
            await self._by_somebody_else(HERE / "steps" / name)
        for path in case.deleted:
            code, answer = await self.sandbox.request("DELETE", path)
            assert code in {HTTPStatus.OK, HTTPStatus.ACCEPTED}, answer
        for name in case.before:
            earlier = read_case(HERE / "steps" / name)
            ended = await self._deploy(work_for(earlier.text, self.sandbox.kubeconfig, namespace=NAMESPACE))
            assert ended.run.status == earlier.verdict, f"{name}: {ended.message}"
        self.cluster.ledger.clear()
        options = ApplyOptions.model_validate(case.options)
        work = work_for(case.text, await self._kubeconfig(case), namespace=NAMESPACE, options=options)
        async with asyncio.TaskGroup() as group:
            meanwhile = group.create_task(self._meanwhile(case))
            deployed = await self._deploy(work)
            meanwhile.cancel()
        return deployed

    async def _kubeconfig(self, case: Case) -> str:
        if case.cluster == "down":
            port = self.sandbox.server.rpartition(":")[2]
            return self.sandbox.kubeconfig.replace(f":{port}", f":{_free_port()}")
        if case.account is None:
            return self.sandbox.kubeconfig
        account = dict(case.account)
        rules = tuple(account.pop("rules", ()))
        return self.sandbox.kubeconfig_for(await self.sandbox.add_token(rules=rules, **account))

    async def _meanwhile(self, case: Case) -> None:
        """What happens while the deployment runs, in its order."""
        began = self.clock.monotonic()
        for what in sorted((*case.trouble, *case.answers), key=lambda each: each.get("at", 0)):
            due = began + what.get("at", 0) - self.clock.monotonic()
            if due > 0:
                await self.clock.sleep(due)
            if "path" in what:
                await self._answer(what["path"], {"status": what["status"]})
            else:
                self.cluster.faults.replace({key: value for key, value in what.items() if key != "at"})

    async def _answer(self, path: str, body: Mapping[str, Any]) -> None:
        code, answer = await self.sandbox.request("PATCH", path, body, content_type="application/merge-patch+json")
        assert code == HTTPStatus.OK, answer

    async def _by_somebody_else(self, file: Path) -> None:
        async with KubeClient(read_kubeconfig(self.sandbox.kubeconfig)) as client:
            for manifest in parse_manifests(read_case(file).text):
                await client.apply(manifest.body, field_manager="kubectl-edit", namespace=NAMESPACE)

    async def _deploy(self, work: Work) -> Deployed:
        means = Means(clock=self.clock, faults=NO_FAULTS, bounds=Bounds(), readiness_seconds=Deadlines().readiness)
        executor = DirectExecutor(means)
        run, began = RecordedRun(), self.clock.monotonic()
        async with bounded(real_seconds=REAL_SECONDS, jumps=JUMPS):
            await run.carry_out(executor, work)
        return Deployed(run, self.clock.monotonic() - began)


@pytest.fixture(scope="module")
async def stage() -> AsyncGenerator[Stage]:
    """One cluster for all cases; each starts from an empty one."""
    clock = VirtualClock()
    cluster = Cluster(clock=clock)
    async with sandbox_cluster(cluster=cluster, pace=1) as sandbox:
        yield Stage(clock, cluster, sandbox)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
async def test_a_good_application_is_deployed_and_ready(stage: Stage, case: Case) -> None:
    deployed = await stage.play(case)
    run = deployed.run
    assert run.status == "completed", (run.failure, [_told(card) for card in _late(run)])
    assert not _late(run)
    assert all(card.apply in {ApplyState.APPLIED, ApplyState.UNCHANGED} for card in run.timeline.cards)
    assert deployed.seconds <= case.within
    assert _strangers(stage, run) == []
    _as_expected(case, deployed)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
async def test_a_broken_application_gets_the_right_verdict_in_time(stage: Stage, case: Case) -> None:
    if case.verdict == "refused":
        with pytest.raises(Rejected) as caught:
            await stage.play(case)
        _refused_as_expected(case, caught.value)
        assert stage.cluster.ledger.entries() == []
        return
    deployed = await stage.play(case)
    run = deployed.run
    assert run.status == case.verdict, run.failure or run.messages[-3:]
    assert deployed.reason == case.reason, run.failure
    assert case.after <= deployed.seconds <= case.within, (deployed.seconds, run.failure)
    _as_expected(case, deployed)


def test_the_collection_is_as_large_as_it_claims_to_be() -> None:
    assert len(GOOD) >= 40
    assert len(BROKEN) >= 60
    assert len({case.about for case in BROKEN}) == len(BROKEN)


def test_a_bad_image_is_tried_on_every_workload_kind_and_flagged_within_a_minute() -> None:
    bad = [case for case in BROKEN if case.name.startswith("bad-image") and case.within <= MINUTE]
    assert {case.blames.split()[0] for case in bad} == {
        "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "ReplicationController", "StatefulSet",
    }  # fmt: skip


def test_a_text_beyond_the_limit_is_refused_by_the_name_of_the_limit() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {blob: " + "x" * LARGE + "}\n"
    with pytest.raises(Rejected, match="total_bytes"):
        parse_manifests(text)


def _as_expected(case: Case, deployed: Deployed) -> None:
    message = deployed.message
    for words in case.says:
        assert words.lower() in message.lower(), message
    for words in case.hints:
        assert words.lower() in deployed.hint.lower(), deployed.hint
    cards = {f"{card.ref.kind} {card.ref.name}": card for card in deployed.run.timeline.cards}
    if case.blames:
        card = cards[case.blames]
        assert card.status in {CardStatus.FAILED, CardStatus.BLOCKED, CardStatus.UNKNOWN}, _told(card)
        assert card.ref.name in message, message
    for named, status in case.expects.items():
        assert cards[named].status == status, _told(cards[named])
    for words in case.never:
        assert words not in deployed.texts()


def _refused_as_expected(case: Case, refusal: Rejected) -> None:
    said = [(finding.code, finding.message) for finding in refusal.findings]
    assert case.reason in [code for code, _ in said], said
    whole = "\n".join(message for _, message in said)
    for words in case.says:
        assert words.lower() in whole.lower(), whole
    for words in case.never:
        assert words not in whole


def _strangers(stage: Stage, run: RecordedRun) -> list[dict[str, Any]]:
    """Writes by anybody but this run's field manager, or to objects that no document names."""
    ours = {card.ref.name for card in run.timeline.cards}
    written = [entry for entry in stage.cluster.ledger.entries() if not entry["dryRun"]]
    # A status is written by what stands in for a controller.
    writes = [entry for entry in written if entry["subresource"] != "status"]
    return [entry for entry in writes if entry["fieldManager"] != "locktender" or entry["name"] not in ours]


def _late(run: RecordedRun) -> list[Card]:
    return [card for card in run.timeline.cards if card.required and card.status is not CardStatus.RUNNING]


def _told(card: Card) -> str:
    return f"{card.ref}: {card.apply} {card.status} {card.reason}: {card.message}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
