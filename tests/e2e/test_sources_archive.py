"""Archives of folders: the same bytes for the same files, and nothing let in that could reach outside."""

import gzip
import hashlib
import io
import os
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from locktender.integrations.sources.archive_limits import ArchiveLimits
from locktender.integrations.sources.errors import ArchiveRefused, DigestMismatch, SourceUnavailable
from locktender.integrations.sources.extracting import extract
from locktender.integrations.sources.packing import pack
from locktender.integrations.sources.working_tree import WorkingTree, working_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "stack"
    write(made, {"main.tf": "# main", "modules/a/main.tf": "# a", ".terraform.lock.hcl": "# lock", "run.sh": "true"})
    (made / "run.sh").chmod(0o755)
    return made


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "work" / "source"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    command = ["git", *who, *arguments]
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=30, env=env)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def packed(data: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.getnames()


async def test_a_folder_comes_out_as_it_was_packed(folder: Path, target: Path) -> None:
    (folder / "link.tf").symlink_to("modules/a/main.tf")
    archive = await pack(folder)
    await extract(archive.data, archive.sha256, target)
    assert names(target) == [".terraform.lock.hcl", "link.tf", "main.tf", "modules/a/main.tf", "run.sh"]
    assert (target / "link.tf").read_text() == "# a"
    assert archive.files == 5
    assert [stat.S_IMODE((target / name).stat().st_mode) for name in ("main.tf", "run.sh")] == [0o600, 0o700]


async def test_the_same_files_are_the_same_bytes_wherever_they_are(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    write(other, {name: (folder / name).read_text() for name in reversed(names(folder))})
    (other / "run.sh").chmod(0o700)
    os.utime(other / "main.tf", (1, 1))
    first, second = await pack(folder), await pack(other)
    assert first == second
    assert first.sha256 == hashlib.sha256(first.data).hexdigest()
    (other / "main.tf").write_text("# other")
    assert (await pack(other)).sha256 != first.sha256


async def test_states_and_caches_stay_at_home(folder: Path) -> None:
    before = await pack(folder)
    write(
        folder,
        {"terraform.tfstate": "s", "terraform.tfstate.backup": "s", "modules/a/.terraform/x": "x", "crash.log": ""},
    )
    assert await pack(folder) == before
    assert "modules/a/.terraform/x" in packed((await pack(folder, ignore=())).data)


async def test_in_a_working_tree_git_says_what_belongs_to_it(folder: Path, tmp_path: Path) -> None:
    write(folder, {".gitignore": "*.secret\n", "a.secret": "x", "new.tf": "# new"})
    git(tmp_path, "init", "--quiet")
    git(folder, "add", "main.tf", "run.sh")
    git(folder, "commit", "--quiet", "--message=one")
    (folder / "run.sh").unlink()
    found = packed((await pack(folder)).data)
    assert found == [".gitignore", ".terraform.lock.hcl", "main.tf", "modules/a/main.tf", "new.tf"]
    (tmp_path / ".gitignore").write_text("stack\n")
    git(folder, "rm", "--quiet", "--cached", "-r", ".")
    assert "a.secret" in packed((await pack(folder)).data)


async def test_a_folder_is_dirty_when_its_own_files_are_not_as_committed(folder: Path, tmp_path: Path) -> None:
    assert await working_tree(folder) is None
    git(tmp_path, "init", "--quiet")
    assert await working_tree(folder) == WorkingTree(None, dirty=True)
    git(tmp_path, "add", "stack")
    git(tmp_path, "commit", "--quiet", "--message=one")
    clean = await working_tree(folder)
    assert clean is not None
    assert clean.commit is not None
    assert not clean.dirty
    (tmp_path / "beside").write_text("x")
    assert await working_tree(folder) == clean
    (folder / "main.tf").write_text("# changed")
    assert await working_tree(folder) == WorkingTree(clean.commit, dirty=True)


async def test_what_is_above_a_limit_or_no_file_is_not_packed(folder: Path) -> None:
    for limits in (ArchiveLimits(packed_bytes=100), ArchiveLimits(bytes=500), ArchiveLimits(entries=3)):
        with pytest.raises(ArchiveRefused):
            await pack(folder, limits=limits)
    os.mkfifo(folder / "pipe")
    with pytest.raises(ArchiveRefused, match="pipe"):
        await pack(folder)
    (folder / "pipe").unlink()
    (folder / "out").symlink_to("../secret")
    with pytest.raises(ArchiveRefused, match="out leads out"):
        await pack(folder)
    with pytest.raises(SourceUnavailable):
        await pack(folder / "nowhere")


async def test_a_wrong_digest_is_told_before_a_byte_is_unpacked(target: Path) -> None:
    with pytest.raises(DigestMismatch):
        await extract(b"no archive at all", "0" * 64, target)
    with pytest.raises(DigestMismatch):
        await extract(b"", "ü", target)
    assert everything(target.parent) == []


def tar(*members: tarfile.TarInfo, content: bytes = b"x") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as made:
        for member in members:
            made.addfile(member, io.BytesIO(content))
    return file.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 1) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = size if kind == tarfile.REGTYPE else 0
    return info


def link(name: str, to: str) -> tarfile.TarInfo:
    return entry(name, tarfile.SYMTYPE, to)


def header(size: int) -> bytes:
    """The beginning of an entry of further headers that is `size` bytes long."""
    info = entry("x")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf(tarfile.GNU_FORMAT)


BAD: dict[str, Callable[[], bytes]] = {
    "absolute": lambda: tar(entry("/tmp/evil")),  # noqa: S108 - the attack itself
    "parent": lambda: tar(entry("a/../../evil")),
    "backwards": lambda: tar(entry("..")),
    "device": lambda: tar(entry("null", tarfile.CHRTYPE)),
    "pipe": lambda: tar(entry("pipe", tarfile.FIFOTYPE)),
    "hard link": lambda: tar(entry("a"), entry("b", tarfile.LNKTYPE, "a")),
    "hard link out": lambda: tar(entry("b", tarfile.LNKTYPE, "/etc/passwd")),
    "absolute link": lambda: tar(link("a", "/etc/passwd")),
    "link out": lambda: tar(link("a/b", "../../secret")),
    "links out in steps": lambda: tar(
        entry("z/x"), entry("p/q/x"), link("p/q/k", "../../z"), link("m", "p/q/k/../.."), entry("y")
    ),
    "write through a link": lambda: tar(link("a", "b"), entry("a/evil")),
    "write through a later link": lambda: tar(entry("a/evil"), link("a", "b")),
    "twice": lambda: tar(entry("a"), entry("a")),
    "file as folder": lambda: tar(entry("a"), entry("a/b")),
    "git": lambda: tar(entry("x/.git/config")),
    "control": lambda: tar(entry("a\nb")),
    "cut": lambda: gzip.compress(gzip.decompress(tar(entry("a", size=5_000), content=b"x" * 5_000))[:2_000]),
    "cut zip": lambda: tar(entry("a", size=500), content=os.urandom(500))[:200],
    "no zip": lambda: b"PK\x03\x04 something else",
    "no tar": lambda: gzip.compress(b"x" * 2_000),
    "nothing": lambda: b"",
    "bomb in a header": lambda: gzip.compress(header(3_000_000) + bytes(3_000_000)),
    "bomb in a claim": lambda: gzip.compress(header(1 << 40) + bytes(3_000_000)),
    "bomb in a file": lambda: tar(entry("a", size=3_000_000), content=bytes(3_000_000)),
    "bomb of nothing": lambda: gzip.compress(bytes(3_000_000)),
    "headers without an end": lambda: gzip.compress(header(0) * 3_000),
    "many": lambda: tar(*(entry(f"a{number}") for number in range(101))),
    "large": lambda: tar(entry("a", size=300_000), content=os.urandom(300_000)),
    "long name": lambda: tar(entry("a/" * 1_000 + "b")),
    "longer part": lambda: tar(entry("a" * 300)),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_archive_is_refused_and_leaves_nothing(name: str, target: Path, tmp_path: Path) -> None:
    data = BAD[name]()
    limits = ArchiveLimits(packed_bytes=200_000, bytes=2_000_000, entries=100)
    before = everything(tmp_path)
    with pytest.raises((ArchiveRefused, SourceUnavailable)):
        await extract(data, hashlib.sha256(data).hexdigest(), target, limits)
    assert everything(tmp_path) == before


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def by_tar(folder: Path, *arguments: str) -> bytes:
    command = ["tar", "--create", "--gzip", "--file=-", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=10).stdout


async def test_a_sparse_file_is_refused(tmp_path: Path, target: Path) -> None:
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", 1 << 40)
    data = by_tar(tmp_path, "--sparse", "hole")
    with pytest.raises(ArchiveRefused):
        await extract(data, hashlib.sha256(data).hexdigest(), target)


async def test_plain_archives_of_other_programs_are_taken(folder: Path, target: Path) -> None:
    data = by_tar(folder, ".")
    target.mkdir()  # noqa: ASYNC240 - nothing else runs here
    await extract(data, hashlib.sha256(data).hexdigest().upper(), target)
    assert names(target) == names(folder)


async def test_a_folder_that_holds_something_is_not_written_into(folder: Path, target: Path) -> None:
    write(target, {"mine": "x"})
    archive = await pack(folder)
    with pytest.raises(SourceUnavailable):
        await extract(archive.data, archive.sha256, target)
    assert everything(target.parent) == [target, target / "mine"]
