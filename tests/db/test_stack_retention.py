"""What stacks leave in the object store goes when its time is over, and nothing goes that somebody needs.

A real database with the role of the cleanup service, and a real folder of objects.
"""

import hashlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from locktender.cleanup.stacks.leftovers import Leftovers
from locktender.cleanup.stacks.rounds import Paced, RetentionRounds, Walk
from locktender.cleanup.stacks.run_files import RunFiles
from locktender.cleanup.stacks.state_versions import StateVersions
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_id, new_owner
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.integrations.objects.places import Family, RunPlace
from locktender.integrations.objects.remover import ObjectRemover
from locktender.integrations.objects.store import ObjectStore
from locktender.runtime.clock import SystemClock
from locktender.runtime.stop import Stop
from locktender.storage.kernel.turn import Turn
from locktender.storage.outbox.relay import Relay
from locktender.storage.roles import apply_roles
from locktender.storage.stacks import retention
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.retention import Leaving
from locktender.storage.stacks.skip import skip
from locktender.storage.stacks.stacks import delete_stack
from locktender.storage.stacks.states import NewState, write_by_person
from locktender.storage.verify import violations
from locktender.testkit.database import TestDatabase
from locktender.testkit.faults import Fault, InjectedFault, PlannedFaults
from locktender.testkit.identities import PASSWORDS, acting_as
from locktender.testkit.stacks import StackRig, new_stack, planned

pytestmark = pytest.mark.takes(seconds=20)

DAY = 86_400.0
KEPT_DAYS = 90
VERSIONS = 3
SHA = "ab" * 32
ARCHIVE = {"kind": "archive", "sha256": SHA, "path": "."}


@dataclass(frozen=True)
class Ground:
    """A database as the cleanup service sees it, and a store."""

    db: TestDatabase
    service: TestDatabase
    store: ObjectStore
    remover: ObjectRemover

    def walks(self, faults: FaultPoints = NO_FAULTS, limit: int = 2) -> dict[str, Walk]:
        """All of them, with small pages."""
        age, rows = KEPT_DAYS * DAY, retention.StackRetention(self.service.database)
        every: Sequence[Walk] = (
            RunFiles(Leaving.PLAN, rows, self.remover, faults, age=0.0, limit=limit),
            RunFiles(Leaving.RECORD, rows, self.remover, faults, age=age, limit=limit),
            StateVersions(rows, self.remover, faults, age=age, versions=VERSIONS, limit=limit),
            Leftovers(
                self.service.database, self.remover, faults,
                now=Relay(self.db.database).now, age=age, limit=limit,
            ),
        )  # fmt: skip
        return {each.name: each for each in every}

    async def clean(self, *names: str, faults: FaultPoints = NO_FAULTS) -> int:
        """One pass over these kinds, or all of them; how many objects it removed."""
        walks = self.walks(faults)
        chosen = [walks[name] for name in names or walks]
        for walk in chosen:
            while not await walk.step():
                pass
        return sum(walk.removed for walk in chosen)

    async def leave(self, rig: StackRig, run_id: UUID) -> None:
        """Everything that a run can leave, as the API keeps it."""
        place = RunPlace("acme", rig.stack_id, run_id)
        for name in (
            f"{place.folder(Family.WORK)}/plan.tfplan", f"{place.folder(Family.RECORD)}/analysis.json",
            f"{place.folder(Family.RECORD)}/plan-summary.json", f"{place.folder(Family.LOG)}/{0:012d}",
            f"{place.folder(Family.LOG)}/{5:012d}",
        ):  # fmt: skip
            await self.store.put(name, b"a secret", once=True)

    async def left(self, run_id: UUID) -> list[str]:
        """The families of which a run has something in the store."""
        return sorted({name.partition("/")[0] for name in await self.store.list() if str(run_id) in name})

    async def planning(self, rig: StackRig, **stated: object) -> tuple[UUID, UUID]:
        """A deployment whose plan waits, and its run, which left everything."""
        key = await rig.deploy(**stated)  # pyright: ignore[reportArgumentType]  # as given
        taken = await rig.take(key)
        await self.leave(rig, taken.lease.row_id)
        await self.db.admin.execute("update locktender.stack_run set analysed = true where id = $1", taken.lease.row_id)
        await rig.report(taken, planned())
        return key, taken.lease.row_id

    async def looked(self, rig: StackRig, **stated: object) -> UUID:
        """The run of a look that is over."""
        _, run = await self.planning(rig, mode=DeploymentMode.PLAN_UNLOCKED, **stated)
        return run

    async def ended(self, rig: StackRig) -> UUID:
        """The run of a deployment that is over, from which the inventory may be read."""
        key, run = await self.planning(rig)
        await rig.transact(lambda tx: skip(tx, key, "ada", {}))
        return run

    async def note(self, run_id: UUID) -> tuple[bool, bool]:
        """Whether the row says that the plan file, and that the rest is gone."""
        row = await self.db.admin.fetchrow(
            "select plan_removed_at, artifacts_removed_at from locktender.stack_run where id = $1", run_id
        )
        assert row is not None
        return row[0] is not None, row[1] is not None

    async def write_state(self, rig: StackRig, serial: int) -> NewState:
        """The next version, as a person writes it."""
        key = new_id()
        name = f"states/{rig.stack_id}/{key}"
        new = NewState(key, serial, "one", name, hashlib.sha256(str(serial).encode()).hexdigest(), 1)
        await self.store.put(name, b"a secret", once=True)
        assert await rig.transact(lambda tx: write_by_person(tx, rig.stack_id, new, "import", "ada"))
        return new

    async def serials(self, rig: StackRig) -> list[int]:
        """Of the versions that are in the record, each of which is in the store."""
        rows = await self.db.admin.fetch(
            "select serial, object_key from locktender.stack_state where stack_id = $1 order by serial", rig.stack_id
        )
        assert all([await self.store.exists(row["object_key"]) for row in rows])
        return [row["serial"] for row in rows]


@pytest.fixture
async def ground(db: TestDatabase, tmp_path: Path) -> AsyncGenerator[Ground]:
    await apply_roles(db.dsn, PASSWORDS)
    url = (tmp_path / "objects").as_uri()
    async with acting_as(db, "cleanup") as service:
        yield Ground(db, service, ObjectStore.open(url, b"k" * 32), ObjectRemover.open(url))


async def test_a_plan_file_goes_when_its_deployment_is_over_and_not_before(ground: Ground) -> None:
    rig = await new_stack(ground.db)
    waits, waiting = await ground.planning(rig)
    over = [await ground.looked(rig) for _ in range(3)]
    await ground.db.advance(KEPT_DAYS * DAY * 2)
    assert await ground.clean("plan") == 3
    assert [await ground.left(run) for run in over] == [["logs", "runs"]] * 3
    assert [await ground.note(run) for run in over] == [(True, False)] * 3
    assert await ground.left(waiting) == ["logs", "runs", "work"]
    await ground.clean()
    # Whoever holds the lane keeps all of it, whatever its age.
    assert (await ground.left(waiting), await ground.note(waiting)) == (["logs", "runs", "work"], (False, False))
    await rig.transact(lambda tx: request_cancel(tx, waits, "ada", {}))
    assert await ground.clean("plan") == 1
    assert await ground.left(waiting) == ["logs", "runs"]


async def test_logs_and_analyses_go_after_their_time_and_what_the_inventory_reads_stays(ground: Ground) -> None:
    rig, other = await new_stack(ground.db), await new_stack(ground.db)
    read = [await ground.ended(rig) for _ in range(8)]
    old, read_too = await ground.looked(rig), await ground.ended(other)
    await ground.db.advance(KEPT_DAYS * DAY - 60)
    young = await ground.looked(rig)
    assert await ground.clean("record") == 0
    await ground.db.advance(120)
    assert await ground.clean("record") == 3 * 4
    assert [await ground.note(run) for run in (*read[:2], old)] == [(False, True)] * 3
    assert [await ground.left(run) for run in (*read[:2], old)] == [["work"]] * 3
    for run in (*read[2:], read_too, young):
        assert (await ground.left(run), await ground.note(run)) == (["logs", "runs", "work"], (False, False))
    rows = await ground.db.admin.fetch("select status, summary from locktender.stack_run where id = $1", old)
    assert [(row["status"], json.loads(row["summary"])["hasChanges"]) for row in rows] == [("success", True)]
    assert [found for found in await violations(ground.db.database) if "removed" in found.message] == []


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("cleanup.before-objects", ("plan", "record")), ("cleanup.after-objects", ("plan", "record")),
        ("cleanup.after-mark", ("plan", "record")), ("cleanup.after-rows", ("states", "leftovers")),
        ("cleanup.before-leftover", ("leftovers",)),
    ],
)  # fmt: skip
async def test_what_a_crash_leaves_is_finished_by_the_next_pass(
    ground: Ground, place: str, names: tuple[str, ...]
) -> None:
    rig = await new_stack(ground.db)
    runs = [await ground.looked(rig) for _ in range(3)]
    for serial in range(1, VERSIONS + 3):
        await ground.write_state(rig, serial)
    lost = f"states/{rig.stack_id}/{uuid4()}"
    await ground.store.put(lost, b"a secret")
    await ground.db.advance((KEPT_DAYS + 1) * DAY)
    crash = PlannedFaults([Fault(place, "fail", 2 if "objects" in place else 1)])
    with pytest.raises(InjectedFault):
        await ground.clean(*names, faults=crash)
    # What the record says is gone is gone, and what it promises is there.
    for run in runs:
        left = await ground.left(run)
        plan, record = await ground.note(run)
        assert not (plan and "work" in left)
        assert not (record and {"logs", "runs"} & set(left))
    if place != "cleanup.after-rows":
        await ground.serials(rig)
    await ground.clean()
    await ground.clean("leftovers")
    assert [await ground.left(run) for run in runs] == [[]] * 3
    assert await ground.serials(rig) == [3, 4, 5]
    assert await ground.store.list() == sorted(await _state_names(ground, rig))


async def _state_names(ground: Ground, rig: StackRig) -> list[str]:
    rows = await ground.db.admin.fetch(
        "select object_key from locktender.stack_state where stack_id = $1", rig.stack_id
    )
    return [row["object_key"] for row in rows]


async def test_the_newest_versions_of_a_state_and_the_young_ones_stay(ground: Ground) -> None:
    rig, short = await new_stack(ground.db), await new_stack(ground.db)
    await ground.write_state(short, 1)
    for serial in range(1, 7):
        await ground.write_state(rig, serial)
    await ground.db.advance((KEPT_DAYS - 1) * DAY)
    assert await ground.clean("states") == 0
    for serial in range(7, 12):
        await ground.write_state(rig, serial)
    await ground.db.advance(2 * DAY)
    # The newest three are young, and so are two more.
    assert await ground.clean("states") == 6
    assert await ground.serials(rig) == [7, 8, 9, 10, 11]
    # The one that counts stays, wherever it stands in the order.
    async with ground.db.unguarded() as superuser:
        await superuser.execute(
            "update locktender.stack set state_version_id = (select id from locktender.stack_state where serial = 7)"
            " where id = $1", rig.stack_id,
        )  # fmt: skip
    await ground.db.advance(KEPT_DAYS * DAY)
    assert await ground.clean("states") == 1
    assert (await ground.serials(rig), await ground.serials(short)) == ([7, 9, 10, 11], [1])


async def test_a_source_stays_while_somebody_may_need_it(ground: Ground) -> None:
    source = json.dumps(ARCHIVE)
    current, waits, retryable, unused = [
        await new_stack(ground.db, **({"source": source} if n == 0 else {})) for n in range(4)
    ]
    names = {rig.stack_id: f"sources/acme/{rig.stack_id}/{SHA}.tar.gz" for rig in (current, waits, retryable, unused)}
    for name in names.values():
        await ground.store.put(name, b"\x1f\x8b")
    await ground.planning(waits, source=ARCHIVE, commit_sha=SHA)
    await ground.db.advance(KEPT_DAYS * DAY)
    local = {"source": ARCHIVE, "commit_sha": SHA, "origin": Origin.LOCAL}
    await ground.looked(retryable, **local)
    assert await ground.clean("leftovers") == 1
    assert not await ground.store.exists(names[unused.stack_id])
    await ground.db.advance((KEPT_DAYS + 1) * DAY)
    assert await ground.clean("leftovers") == 1
    assert [await ground.store.exists(name) for name in names.values()] == [True, True, False, False]


async def test_what_no_row_stands_for_goes_after_a_day_and_what_is_strange_stays(ground: Ground) -> None:
    rig = await new_stack(ground.db)
    key, run = await ground.planning(rig)
    state = await ground.write_state(rig, 1)
    left_over = [
        f"states/{rig.stack_id}/{uuid4()}", f"logs/acme/{rig.stack_id}/{uuid4()}/{0:012d}",
        f"work/acme/{rig.stack_id}/{uuid4()}/plan.tfplan", f"runs/acme/{rig.stack_id}/{uuid4()}/analysis.json",
    ]  # fmt: skip
    strange = [
        f"states/{uuid4()}/{uuid4()}", f"work/acme/{uuid4()}/{run}/plan.tfplan", f"logs/acme/{rig.stack_id}/notes",
        "sources/readme", "backup/one",
    ]  # fmt: skip
    for name in (*left_over, *strange):
        await ground.store.put(name, b"x")
    await ground.db.advance(DAY - 3600)
    assert await ground.clean("leftovers") == 0
    await ground.db.advance(7200)
    assert await ground.clean("leftovers") == len(left_over)
    assert [await ground.store.exists(name) for name in (*left_over, *strange)] == [False] * 4 + [True] * 5
    assert (await ground.left(run), await ground.serials(rig)) == (["logs", "runs", "work"], [state.serial])
    # A runner whose upload was under way when the plan file was removed has put it there once more.
    await rig.transact(lambda tx: skip(tx, key, "ada", {}))
    await ground.clean("plan")
    plan_file = f"work/acme/{rig.stack_id}/{run}/plan.tfplan"
    await ground.store.put(plan_file, b"late")
    assert await ground.clean("leftovers") == 1
    assert not await ground.store.exists(plan_file)


async def test_all_of_a_deleted_stack_goes_after_its_time(ground: Ground) -> None:
    rig = await new_stack(ground.db, source=json.dumps(ARCHIVE))
    run = await ground.ended(rig)
    await ground.write_state(rig, 1)
    await ground.store.put(f"sources/acme/{rig.stack_id}/{SHA}.tar.gz", b"\x1f\x8b")
    await ground.db.advance(KEPT_DAYS * DAY * 2)
    await rig.transact(lambda tx: delete_stack(tx, rig.stack_id, {}))
    await ground.db.advance(KEPT_DAYS * DAY - 60)
    await ground.clean()
    assert len(await ground.store.list()) == 4 + 1 + 1
    await ground.db.advance(120)
    await ground.clean()
    assert (await ground.store.list(), await ground.note(run)) == ([], (True, True))
    assert await ground.serials(rig) == []


async def test_two_replicas_take_turns_and_two_at_once_do_no_harm(ground: Ground) -> None:
    rig = await new_stack(ground.db)
    runs = [await ground.looked(rig) for _ in range(3)]
    clock = SystemClock()
    replicas = [
        RetentionRounds(
            [Paced(each, 0.0) for each in ground.walks().values()],
            Turn(ground.service.database, "cleanup-stacks", new_owner(name), ttl=60.0), clock, Stop(),
        )
        for name in ("one", "two")
    ]  # fmt: skip
    while await replicas[0].round():
        pass
    await replicas[1].round()
    assert [replica.removed["plan"] for replica in replicas] == [3, 0]
    await ground.db.advance((KEPT_DAYS + 1) * DAY)
    # The turn has passed: the other one goes on, while the first is still in the middle of a page.
    first, second = ground.walks()["record"], ground.walks()["record"]
    stalled = PlannedFaults([Fault("cleanup.after-objects", "fail")])
    with pytest.raises(InjectedFault):
        await ground.walks(stalled)["record"].step()
    assert await second.step() is False
    assert await first.step() is True
    while await replicas[1].round():
        pass
    assert [await ground.left(run) for run in runs] == [[]] * 3
    await replicas[1].close()
    assert await Turn(ground.service.database, "cleanup-stacks", new_owner("three"), ttl=60.0).take()


async def test_files_that_cannot_be_removed_hold_nobody_up_and_are_tried_again(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = await new_stack(ground.db)
    runs = [await ground.looked(rig) for _ in range(3)]
    really = ground.remover.delete_folder

    async def stuck(prefix: str) -> int:
        if str(runs[0]) in prefix:
            raise Unavailable("the object store refuses")
        return await really(prefix)

    monkeypatch.setattr(ground.remover, "delete_folder", stuck)
    assert await ground.clean("plan") == 2
    assert [(await ground.note(run))[0] for run in runs] == [False, True, True]
    monkeypatch.undo()
    assert await ground.clean("plan") == 1
