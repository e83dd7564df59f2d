"""A store without its key: listed in order, page by page, and emptied; names say whose an object is."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.objects.backend import Backend
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.cloud import Cloud
from locktender.integrations.objects.folder import Folder
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.places import Family, RunPlace, origin_of
from locktender.integrations.objects.remover import ObjectRemover
from locktender.integrations.objects.store import ObjectStore
from locktender.runtime.clock import SystemClock

NAMES = ["logs/a-b/1", "logs/a.b/1", "logs/a/1", "logs/a/2", "logs/a/b/3", "logs/a0", "logs/b", "logs/bb/1/2"]


@pytest.fixture(params=["file", "memory"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return Cloud("memory:///", 10) if request.param == "memory" else Folder(tmp_path / "objects")


@pytest.fixture
def store(backend: Backend) -> ObjectStore:
    return ObjectStore(backend, Cipher(KeyRing([b"k" * 32])))


async def test_pages_follow_each_other_in_the_order_of_names_and_leave_nothing_out(
    backend: Backend, store: ObjectStore
) -> None:
    for name in (*reversed(NAMES), "logsx/1", "other/1"):
        await store.put(name, b"x")
    remover = ObjectRemover(backend)
    assert sorted(NAMES) == NAMES
    for limit in (1, 2, 3, 100):
        seen: list[str] = []
        while page := await remover.page("logs", after=seen[-1] if seen else "", limit=limit):
            assert len(page) <= limit
            assert all(abs(each.modified - SystemClock().now()) < timedelta(minutes=5) for each in page)
            seen += [each.name for each in page]
        assert seen == NAMES
    assert await remover.page("nothing", after="", limit=5) == []
    assert await remover.page("logs/b", after="", limit=5) == []


async def test_a_folder_is_emptied_again_and_again_and_its_neighbours_stay(
    backend: Backend, store: ObjectStore
) -> None:
    for name in NAMES:
        await store.put(name, b"x")
    remover = ObjectRemover(backend)
    assert [await remover.delete_folder("logs/a") for _ in range(2)] == [3, 0]
    await remover.delete("logs/b")
    await remover.delete("logs/b")
    assert await store.list() == ["logs/a-b/1", "logs/a.b/1", "logs/a0", "logs/bb/1/2"]
    with pytest.raises(ValueError, match="no name"):
        await remover.delete_folder("../logs")


async def test_a_folder_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    url = (tmp_path / "objects").as_uri()
    remover = ObjectRemover.open(url)
    (tmp_path / "objects" / "logs").mkdir()
    (tmp_path / "objects" / "logs" / "x").symlink_to(tmp_path / "objects" / "logs" / "x" / "y")
    assert await remover.delete_folder("logs") == 1
    with pytest.raises(Unavailable):
        await ObjectRemover.open(url, seconds=0.0).page("logs", after="", limit=1)


def test_a_name_says_whose_the_object_is_or_nothing() -> None:
    stack, run = uuid4(), uuid4()
    place = RunPlace("acme", stack, run)
    named = {
        f"{place.folder(Family.LOG)}/{7:012d}": Family.LOG,
        f"{place.folder(Family.RECORD)}/analysis.json": Family.RECORD,
        f"{place.folder(Family.RECORD)}/plan-summary.json": Family.RECORD,
        f"{place.folder(Family.WORK)}/plan.tfplan": Family.WORK,
        f"states/{stack}/{run}": Family.STATE,
    }
    for name, family in named.items():
        origin = origin_of(name)
        assert origin is not None
        assert (origin.family, origin.stack_id, origin.key) == (family, stack, str(run))
    source = origin_of(f"sources/acme/{stack}/{'ab' * 32}.tar.gz")
    assert source is not None
    assert (source.stack_id, source.key) == (stack, "ab" * 32)
    strange = [
        f"logs/acme/{stack}/{run}/7", f"logs/acme/{stack}/{run}", f"runs/acme/{stack}/{run}/other.json",
        f"states/{stack}/1", f"states/acme/{stack}/{run}", f"work/{stack}/{run}/plan.tfplan", f"x/states/{stack}/{run}",
        f"states/{stack}/{run}\n", str(stack), "",
    ]  # fmt: skip
    assert [origin_of(name) for name in strange] == [None] * len(strange)
