"""The encrypted store, on a local folder and in memory: misses have names, and nothing in clear reaches the disk."""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from locktender.contracts.kernel.errors import NotFound, Unavailable
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.errors import (
    ObjectExists,
    ObjectMissing,
    ObjectTooLarge,
    ObjectUnreadable,
    Unreadable,
)
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.store import ObjectStore

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))

WRITER = """
import asyncio, sys
from locktender.integrations.objects.store import ObjectStore
async def main():
    store = ObjectStore.open(sys.argv[1], bytes(range(32)))
    for number in range(10_000):
        await store.put("states/shop/1", bytes([number % 256]) * 300_000)
        print(number, flush=True)
asyncio.run(main())
"""


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    url = "memory:///" if request.param == "memory" else (tmp_path / "objects").as_uri()
    return ObjectStore.open(url, KEY, most_bytes=1_000_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


def local(folder: Path, *keys: bytes) -> ObjectStore:
    return ObjectStore.open(folder.as_uri(), KeyRing(keys or (KEY,)))


async def test_what_is_put_is_got(store: ObjectStore) -> None:
    await store.put("states/shop/1", b"one")
    await store.put("states/shop/1", b"two")
    assert await store.get("states/shop/1") == b"two"
    assert await store.exists("states/shop/1")
    await store.put("empty", b"")
    assert await store.get("empty") == b""


async def test_what_is_not_there_has_a_name(store: ObjectStore) -> None:
    await store.put("states/shop/1", b"one")
    for key in ("states/shop/2", "states/shop", "states/shop/1/2", "nowhere"):
        assert not await store.exists(key)
        with pytest.raises(ObjectMissing) as caught:
            await store.get(key)
        assert isinstance(caught.value, NotFound)
        await store.delete(key)
    assert await store.get("states/shop/1") == b"one"


async def test_a_write_once_object_is_answered_again_but_never_changed(store: ObjectStore) -> None:
    await store.put("runs/1/analysis.json", b"{}", once=True)
    await store.put("runs/1/analysis.json", b"{}", once=True)
    with pytest.raises(ObjectExists):
        await store.put("runs/1/analysis.json", b"[]", once=True)
    assert await store.get("runs/1/analysis.json") == b"{}"


async def test_of_many_that_create_at_once_one_content_wins(store: ObjectStore) -> None:
    async def create(content: bytes) -> bool:
        try:
            await store.put("states/shop/1", content, once=True)
        except ObjectExists:
            return False
        return True

    async with asyncio.TaskGroup() as group:
        creating = {content: group.create_task(create(content)) for content in (b"1", b"2", b"3", b"4", b"5", b"6")}
    won = [content for content, task in creating.items() if task.result()]
    assert won == [await store.get("states/shop/1")]


async def test_a_list_is_sorted_bounded_and_of_whole_folders(store: ObjectStore) -> None:
    for key in ("logs/a/000000000020", "logs/a/000000000003", "logs/ab/1", "logs/a-b", "other/a"):
        await store.put(key, b"x")
    assert await store.list("logs/a") == ["logs/a/000000000003", "logs/a/000000000020"]
    assert await store.list("logs", limit=2) == ["logs/a-b", "logs/a/000000000003"]
    assert await store.list("logs", after="logs/a/000000000003") == ["logs/a/000000000020", "logs/ab/1"]
    assert len(await store.list()) == 5
    assert await store.list("nowhere") == []


async def test_a_folder_is_removed_with_all_that_is_in_it_and_nothing_else(store: ObjectStore) -> None:
    for key in ("logs/a/1", "logs/a/b/2", "logs/ab/3"):
        await store.put(key, b"x")
    assert await store.delete_prefix("logs/a") == 2
    assert await store.delete_prefix("logs/a") == 0
    assert await store.list() == ["logs/ab/3"]


async def test_what_is_too_large_is_neither_written_nor_read(store: ObjectStore, folder: Path) -> None:
    with pytest.raises(ObjectTooLarge):
        await store.put("large", b"x" * 1_000_001)
    assert await store.list() == []
    await store.put("fits", b"x" * 1_000_000)
    assert len(await store.get("fits")) == 1_000_000
    await local(folder).put("larger", b"x" * 1_000_001)
    with pytest.raises(ObjectTooLarge):
        await ObjectStore.open(folder.as_uri(), KEY, most_bytes=1_000_000).get("larger")


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".incoming/a", "a/.b", "a#1", "ü", "a b", "a\n"]
)
async def test_a_name_cannot_lead_out_of_the_store(store: ObjectStore, key: str) -> None:
    for call in (store.get(key), store.put(key, b""), store.exists(key), store.delete(key), store.delete_prefix(key)):
        with pytest.raises(ValueError, match="name"):
            await call


@pytest.mark.parametrize(
    "url",
    ["", "/var/x", "file://", "file:///", "http://x/y", "s3://", "s3://user:secret@bucket/x", "s3://b/x?y=secret"],
)
def test_an_address_of_another_kind_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="object store") as caught:
        ObjectStore.open(url, KEY)
    assert "secret" not in str(caught.value)


def everything(folder: Path) -> list[Path]:
    return [folder, *folder.rglob("*")]


async def test_nothing_is_on_the_disk_in_clear_and_all_of_it_is_for_this_user_alone(folder: Path) -> None:
    await local(folder).put("states/shop/1", b'{"password": "hunter2"}')
    found = everything(folder)
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}
    assert [stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()] == [0o600]
    assert not any(b"hunter2" in path.read_bytes() for path in found if path.is_file())


async def test_objects_cannot_be_altered_or_swapped(folder: Path) -> None:
    store = local(folder)
    await store.put("states/shop/1", b"one")
    await store.put("states/blog/1", b"two")
    shop, blog = folder / "states/shop/1", folder / "states/blog/1"
    kept = shop.read_bytes()
    for content in (blog.read_bytes(), kept[:-1], kept[:-1] + b"x", b""):
        shop.write_bytes(content)
        with pytest.raises(ObjectUnreadable):
            await store.get("states/shop/1")
    # Neither is one that cannot be read taken for the same content.
    with pytest.raises(ObjectExists):
        await store.put("states/shop/1", b"one", once=True)


async def test_keys_rotate_and_a_missing_one_is_told(folder: Path) -> None:
    await local(folder, KEY).put("old", b"1")
    rotated = local(folder, OTHER, KEY)
    assert await rotated.get("old") == b"1"
    await rotated.put("old", b"1", once=True)
    with pytest.raises(ObjectUnreadable, match="add that key") as caught:
        await local(folder, OTHER).get("old")
    assert caught.value.reason is Unreadable.UNKNOWN_KEY


async def test_a_link_in_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    store = local(folder)
    (tmp_path / "outside").write_bytes(Cipher(KeyRing([KEY])).seal("object/a", b"x"))
    (folder / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(Unavailable):
        await store.get("a")


async def test_removing_leaves_no_empty_folders_and_races_with_no_write(folder: Path) -> None:
    store = local(folder)

    async def turn(key: str) -> None:
        for _ in range(20):
            await store.put(key, b"x")
            await store.delete(key)

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(turn(f"runs/a/b/{number}"))
    assert everything(folder) == [folder, folder / ".incoming"]


def _killed_while_writing(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, folder.as_uri()], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(5):
            writer.stdout.readline()
        writer.kill()


async def test_a_process_killed_while_it_writes_leaves_whole_objects_only(folder: Path) -> None:
    await asyncio.to_thread(_killed_while_writing, folder)
    store = local(folder)
    content = await store.get("states/shop/1")
    assert len(content) == 300_000
    assert len(set(content)) == 1
    assert await store.list() == ["states/shop/1"]


async def test_what_crashes_left_is_swept_after_a_day(folder: Path) -> None:
    local(folder)
    old, young = folder / ".incoming/old", folder / ".incoming/young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert await local(folder).list() == []
    assert everything(folder) == [folder, folder / ".incoming", young]


async def test_a_folder_that_cannot_be_used_is_told_without_a_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable) as caught:
        ObjectStore.open((tmp_path / "file").as_uri(), KEY)
    assert str(tmp_path) not in str(caught.value)


@pytest.fixture
async def silent() -> AsyncIterator[int]:
    """A server that takes connections and never answers."""

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(wait, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_bucket_that_does_not_answer_is_given_up_in_time(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{silent}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "here")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    store = ObjectStore.open("s3://bucket/prefix", KEY, seconds=0.3)
    for call in (
        store.get("a"),
        store.put("a", b"x", once=True),
        store.exists("a"),
        store.list("a"),
        store.delete("a"),
    ):
        with pytest.raises(Unavailable) as caught:
            await call
        assert "canary" not in str(caught.value)
