"""Exact commits by the real git: what a name means, what is checked out, and that nothing of a repository is run."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from locktender.integrations.sources.credentials import SshKey, Token
from locktender.integrations.sources.errors import CommitUnknown, RefUnknown, SourceRefused, SourceUnavailable
from locktender.integrations.sources.git import check_out, resolve
from locktender.integrations.sources.git_remote import GitLimits
from locktender.integrations.sources.reach import THIS_MACHINE, Reach
from locktender.integrations.sources.subfolder import subfolder
from locktender.testkit.git_repository import Repository

LIMITS = GitLimits(seconds=20, schemes=("file", "http", "https", "ssh"), reach=Reach({"*", *THIS_MACHINE}))
TOKEN = "canary-token-of-a-repository"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where private folders are made; whatever happens, none is left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository of one commit, for copies."""
    made = Repository.made(tmp_path_factory.mktemp("fresh"))
    made.commit("# first", "First\tone ✓")
    return made


@pytest.fixture
def repository(fresh: Repository, tmp_path: Path) -> Repository:
    return Repository(shutil.copytree(fresh.folder, tmp_path / "repository"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "checkout"


async def test_a_branch_is_pinned_to_the_commit_that_it_stands_for(repository: Repository, directory: Path) -> None:
    pinned = await resolve(repository.url, "main", limits=LIMITS)
    assert pinned == repository.head == await resolve(repository.url, "HEAD", limits=LIMITS)
    repository.commit("# second")
    commit = await check_out(repository.url, pinned, directory, limits=LIMITS)
    assert (directory / "main.tf").read_text() == "# first"
    assert (commit.sha, commit.subject, commit.author, commit.email) == (
        pinned,
        "First one ✓",
        "Ada",
        "ada@example.com",
    )
    assert commit.committed_at.tzinfo is not None


async def test_a_tag_is_the_commit_behind_it_and_not_its_own_object(repository: Repository) -> None:
    repository.git("tag", "--annotate", "--message=one", "v1")
    repository.git("tag", "light")
    for ref in ("v1", "light", "refs/tags/v1", "refs/heads/main"):
        assert await resolve(repository.url, ref, limits=LIMITS) == repository.head


async def test_a_name_means_one_thing_or_nothing(repository: Repository) -> None:
    first = repository.head
    repository.git("branch", "feature/main")
    repository.git("tag", "release")
    assert await resolve(repository.url, "release", limits=LIMITS) == first
    repository.git("branch", "release")
    assert await resolve(repository.url, "release", limits=LIMITS) == first
    repository.commit("# second")
    repository.git("branch", "--force", "release")
    with pytest.raises(RefUnknown, match="refs/heads/release"):
        await resolve(repository.url, "release", limits=LIMITS)
    assert await resolve(repository.url, "refs/tags/release", limits=LIMITS) == first
    # What ends in /main is another branch.
    repository.git("branch", "--move", "main", "trunk")
    with pytest.raises(RefUnknown):
        await resolve(repository.url, "main", limits=LIMITS)


async def test_a_commit_that_is_gone_is_told(repository: Repository, directory: Path) -> None:
    assert await resolve(repository.url, "a" * 40, limits=LIMITS) == "a" * 40
    with pytest.raises(CommitUnknown, match="forced push"):
        await check_out(repository.url, "a" * 40, directory, ref="main", limits=LIMITS)
    tree = repository.git("rev-parse", "HEAD^{tree}").strip()
    with pytest.raises((CommitUnknown, SourceRefused, SourceUnavailable)):
        await check_out(repository.url, tree, directory.with_name("other"), limits=LIMITS)


async def test_a_repository_of_the_longer_ids_is_checked_out_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = Repository.made(tmp_path / "longer", "--object-format=sha256")
    pinned = longer.commit("# longer")
    assert await resolve(longer.url, "main", limits=LIMITS) == pinned
    monkeypatch.chdir(tmp_path)
    assert (await check_out(longer.url, pinned, Path("relative"), limits=LIMITS)).sha == pinned
    assert (tmp_path / "relative/main.tf").read_text() == "# longer"


async def test_a_moved_branch_does_not_move_what_was_pinned(repository: Repository, directory: Path) -> None:
    pinned = repository.head
    repository.git("commit", "--quiet", "--amend", "--message=rewritten")
    repository.git("branch", "kept", pinned)
    commit = await check_out(repository.url, pinned, directory, ref="main", limits=LIMITS)
    assert commit.sha == pinned


async def test_nothing_of_a_repository_or_of_our_own_settings_is_run(
    repository: Repository, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    hook = tmp_path / "templates/hooks/post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o700)
    (tmp_path / ".gitconfig").write_text(
        f"[init]\ntemplateDir={tmp_path}/templates\n[core]\nhooksPath={hook.parent}\n"
        f'fsmonitor={hook}\n[filter "f"]\nsmudge=touch {ran}\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    (repository.folder / ".gitattributes").write_text("* filter=f\n")
    commit = repository.commit("# second")
    await check_out(repository.url, commit, directory, limits=LIMITS)
    assert not ran.exists()
    assert not (directory / ".git/hooks").exists()


async def test_submodules_stay_empty(repository: Repository, directory: Path) -> None:
    allow = ("-c", "protocol.file.allow=always")
    repository.git(*allow, "submodule", "--quiet", "add", repository.url, "module")
    await check_out(repository.url, repository.commit("# second"), directory, limits=LIMITS)
    assert list((directory / "module").iterdir()) == []


async def test_what_is_too_large_is_not_written_out(repository: Repository, directory: Path) -> None:
    # Two kilobytes in the pack, two megabytes on disk.
    bomb = repository.commit("#" * 2_000_000)
    with pytest.raises(SourceRefused, match="more files or bytes"):
        await check_out(repository.url, bomb, directory, limits=replace(LIMITS, most_bytes=1_000_000))
    assert not (directory / "main.tf").exists()
    with pytest.raises(SourceRefused, match="more files or bytes"):
        await check_out(repository.url, bomb, directory.with_name("b"), limits=replace(LIMITS, most_files=0))


async def test_the_folder_of_a_stack_is_inside_its_source(repository: Repository, directory: Path) -> None:
    (repository.folder / "stacks").mkdir()
    (repository.folder / "stacks/main.tf").write_text("")
    (repository.folder / "linked").symlink_to("/etc")
    await check_out(repository.url, repository.commit("# second"), directory, limits=LIMITS)
    assert subfolder(directory, "stacks") == directory / "stacks"
    assert subfolder(directory, "") == directory
    for path in ("linked", "../x", "/etc", "nowhere", ".git", "stacks/main.tf", "a\0b"):
        with pytest.raises(SourceRefused):
            subfolder(directory, path)


async def test_a_remote_that_is_away_is_told_without_its_address(tmp_path: Path) -> None:
    for url in ((tmp_path / "gone").as_uri(), "http://127.0.0.1:9/shop.git"):
        with pytest.raises(SourceUnavailable) as caught:
            await resolve(url, "main", limits=LIMITS)
        assert str(tmp_path) not in str(caught.value)
        assert "shop.git" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c true",
        "file:///srv/shop",
        "http://example.com/a",
        "git://example.com/a",
        "https://user:secret@example.com/a",
        "https://secret@example.com/a",
        "ssh://git:secret@example.com/a",
        "ssh://-oProxyCommand=secret/a",
        "-oProxyCommand@secret:a",
        "git@-secret:a",
        "git@secret:-a",
        "https://example.com/a?token=secret",
        "https://example.com:port/secret",
        "https://[bad/secret",
        "https:///secret",
        "https://example.com/a b",
        "https://example.com/\nsecret",
        "--upload-pack=secret",
        "",
    ],
)
async def test_an_address_that_could_be_misread_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SourceRefused) as caught:
        await resolve(url, "main", Token("x"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "ref", ["", "-u", "--all", "a..b", "a b", "a*", "a~1", "a^", "@{u}", "a:b", "x.lock", "/a", "a\n"]
)
async def test_a_ref_is_a_name_and_nothing_else(directory: Path, ref: str) -> None:
    with pytest.raises(RefUnknown):
        await resolve("https://example.com/a", ref, limits=LIMITS)
    with pytest.raises(RefUnknown):
        await check_out("https://example.com/a", "a" * 40, directory, ref=ref, limits=LIMITS)


async def test_only_a_full_commit_id_is_checked_out(repository: Repository, directory: Path) -> None:
    for commit in ("main", "abc", "--help", repository.head.upper()):
        with pytest.raises(SourceRefused):
            await check_out(repository.url, commit, directory, limits=LIMITS)


async def test_credentials_fit_the_address_or_are_not_sent() -> None:
    key = SshKey("key", "host")
    for url, credentials in (
        ("http://example.com/a", Token(TOKEN)),
        ("ssh://git@example.com/a", Token(TOKEN)),
        ("https://example.com/a", key),
        ("git@example.com:a", None),
        ("https://example.com/a", Token(f"{TOKEN}\nX: y")),
    ):
        with pytest.raises(SourceRefused) as caught:
            await resolve(url, "main", credentials, LIMITS)
        assert TOKEN not in str(caught.value)
    assert TOKEN not in repr(Token(TOKEN))


async def test_a_git_that_hangs_is_ended_in_time(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, "git", f"echo $$ >{tmp_path}/pid\nexec /bin/sleep 60", monkeypatch)
    with pytest.raises(SourceUnavailable, match=r"within 0\.3 seconds"):
        await resolve(repository.url, "main", limits=replace(LIMITS, seconds=0.3))
    assert not _alive(tmp_path / "pid")


async def test_without_git_it_is_told_what_to_do(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceUnavailable, match="install it"):
        await resolve(repository.url, "main", limits=LIMITS)


def _alive(pid: Path) -> bool:
    return Path(f"/proc/{pid.read_text().strip()}").exists()


def _program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
