"""Whether what is said about a task is what happened: the record beside the cluster's ledger and beside JetStream."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from nats.js.errors import NotFoundError

from locktender.contracts.deployments.events import TaskEvent
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.kernel.subjects import EVENTS_STREAM, event
from locktender.testkit.nats_rig import eventually
from locktender.testkit.system import PATIENCE, SystemRig, ToldEvent

_VERDICT = "engine-resolved"
_BEGINNINGS = frozenset({"started", "resumed"})
_NEVER_SENT = frozenset({"pending", "not-applied"})
_TAKEN = frozenset({"applied", "unchanged"})
_MADE = _TAKEN | {"removed"}
_PATHS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Secret": "/api/v1/namespaces/default/secrets",
    "Service": "/api/v1/namespaces/default/services",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
}
_TASK = "locktender.dev/task"

Snapshot = dict[str, Any]
Effects = dict[tuple[str, str], list[dict[str, Any]]]
"""Requests of a task that changed the cluster, by plural and name, oldest first."""


async def assert_true(rig: SystemRig, snapshot: Snapshot, *, late: timedelta = timedelta(0)) -> None:
    """Fail unless an ended task tells the truth about the cluster.

    Completed: every document took effect once, is in the cluster under this task, and is ready. Otherwise: what is
    called applied took effect, what is called removed did and is gone, what is called not applied was never even sent,
    and only what is called `applying` may be either. No effect carries an epoch that the task did not have, and none
    came after the verdict of the engine, except, within `late`, of the one document that was under way.
    """
    task, cards = snapshot["task"], snapshot["timeline"]["cards"]
    assert task["status"] in DEPLOYMENT_TASK.terminal, task
    assert task["blockedBy"] is None, task
    assert not [step for step in snapshot["timeline"]["steps"] if step["status"] == "running"], snapshot["timeline"]
    asked, effects = await _asked(rig, task["id"])
    for card in cards:
        _assert_card(card, asked, effects)
        if card["apply"] == "removed":
            await _assert_removed(rig, card, task["id"])
    events = await rig.events(task["id"])
    epochs = {str(event["epoch"]) for event in events if event["kind"] in _BEGINNINGS}
    strangers = [entry for found in effects.values() for entry in found if entry["epoch"] not in epochs]
    assert not strangers, f"effects under an epoch that nobody had: {strangers}"
    _assert_fenced(events, cards, effects, late)
    if task["status"] == "completed":
        await _assert_complete(rig, snapshot)
    elif task["status"] == "failed":
        assert task["failure"]["reason"], task
        assert task["failure"]["message"], task


async def told(rig: SystemRig, task_id: str) -> list[ToldEvent]:
    """The events of a task that JetStream holds, in the order of the stream."""
    found: list[ToldEvent] = []
    subject = event("*", "deployments", task_id, "*")  # pyright: ignore[reportArgumentType]  # a wildcard
    async with rig.bus() as bus:
        sequence = 0
        while True:
            try:
                message = await bus.jetstream.get_msg(EVENTS_STREAM, sequence + 1, subject, next=True)
            except NotFoundError:
                return found
            sequence = message.seq or 0
            kind = (message.subject or "").rpartition(".")[2]
            found.append(ToldEvent(sequence, message.subject or "", _revision(message.data or b""), kind))


async def assert_told_in_order(rig: SystemRig, task_id: str, *, last: int | None = None) -> None:
    """Fail unless JetStream comes to hold every event of a task exactly once, in the order of its revisions.

    `last` is the revision of the last event, when the task is no longer there to be asked.
    """
    wanted = last or (await rig.snapshot(task_id))["task"]["revision"]
    found: list[ToldEvent] = []

    async def complete() -> bool:
        nonlocal found
        found = await told(rig, task_id)
        return len({each.revision for each in found}) >= wanted

    try:
        await eventually(complete, PATIENCE)
    except TimeoutError:
        raise AssertionError(f"task {task_id} stands at {wanted}, JetStream holds {found}") from None
    assert [each.revision for each in found] == list(range(1, wanted + 1)), found


async def _asked(rig: SystemRig, task_id: str) -> tuple[Effects, Effects]:
    """Every request of the task, and those that took effect."""
    asked: Effects = {}
    effects: Effects = {}
    for entry in await rig.cluster.ledger():
        if entry["task"] == task_id and not entry["dryRun"]:
            key = (entry["resource"], entry["name"])
            asked.setdefault(key, []).append(entry)
            if entry["code"] < HTTPStatus.BAD_REQUEST:
                effects.setdefault(key, []).append(entry)
    return asked, effects


def _key(card: dict[str, Any]) -> tuple[str, str]:
    return f"{card['ref']['kind'].lower()}s", card["ref"]["name"]


def _assert_card(card: dict[str, Any], asked: Effects, effects: Effects) -> None:
    found = effects.get(_key(card), [])
    assert len(found) <= 1, f"{card['ref']} was applied {len(found)} times: {found}"
    if card["apply"] in _MADE:
        assert found, f"{card['ref']} is called {card['apply']}, yet the cluster never took it"
    if card["apply"] in _NEVER_SENT:
        assert _key(card) not in asked, f"{card['ref']} is called {card['apply']}, yet it was sent"
    if card["apply"] == "refused":
        assert not found, f"{card['ref']} is called refused, yet the cluster took it"


def _assert_fenced(
    events: list[dict[str, Any]], cards: list[dict[str, Any]], effects: Effects, late: timedelta
) -> None:
    verdicts = [datetime.fromisoformat(event["createdAt"]) for event in events if event["kind"] == _VERDICT]
    if not verdicts:
        return
    after = {
        key: entry["time"]
        for key, found in effects.items()
        for entry in found
        if datetime.fromisoformat(entry["time"]) > verdicts[0]
    }
    under_way = {_key(card) for card in cards if card["apply"] == "applying"}
    assert after.keys() <= under_way, f"after the verdict at {verdicts[0]} the cluster was changed: {after}"
    tardy = [moment for moment in after.values() if datetime.fromisoformat(moment) > verdicts[0] + late]
    assert not tardy, f"the effect under way came later than {late} after the verdict at {verdicts[0]}: {tardy}"


async def _assert_removed(rig: SystemRig, card: dict[str, Any], task_id: str) -> None:
    """Another task may have made it anew; what this one had made is gone."""
    status, found = await rig.cluster.request("GET", f"{_PATHS[card['ref']['kind']]}/{card['ref']['name']}")
    gone = status == HTTPStatus.NOT_FOUND or found["metadata"]["annotations"][_TASK] != task_id
    assert gone, f"{card['ref']} is called removed, and is there"


async def _assert_complete(rig: SystemRig, snapshot: Snapshot) -> None:
    for card in snapshot["timeline"]["cards"]:
        assert card["apply"] in _TAKEN, card
        assert card["status"] == "running", card
        status, found = await rig.cluster.request("GET", f"{_PATHS[card['ref']['kind']]}/{card['ref']['name']}")
        assert status == HTTPStatus.OK, f"{card['ref']} is called ready and is not in the cluster"
        assert found["metadata"]["annotations"][_TASK] == snapshot["task"]["id"], found["metadata"]


def _revision(body: bytes) -> int:
    return TaskEvent.model_validate_json(body).revision
