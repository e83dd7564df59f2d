"""A catalogue in a Git repository, fetched by the real git: news, outages, bounds, and what is not let in."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from locktender.contracts.kernel.errors import Unavailable
from locktender.embedded.child import eventually
from locktender.integrations.templates.catalogue import CatalogueSettings, GitCatalogue, catalogue_of
from locktender.integrations.templates.faults import TemplateFault
from locktender.testkit.clock import FakeClock

TEMPLATE = "kind: Template\nspec: {title: %s, defaults: {app_name: {value: x}}}\n"
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "HOME": "/nowhere"}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where private folders are made; whatever happens, none is left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


class Repository:
    """A repository with templates in its folder `template`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = folder.as_uri()
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit({"template/shop/index.yaml": TEMPLATE % "Shop", "README.md": "hello"})

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always")
        command = ["git", *who, *arguments]
        return subprocess.run(
            command, cwd=self.folder, check=True, capture_output=True, env=GIT, timeout=30
        ).stdout.decode()

    def commit(self, files: dict[str, str]) -> str:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=more")
        return self.git("rev-parse", "HEAD").strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def settings(repository: Repository, **more: object) -> CatalogueSettings:
    fields = {"git_url": repository.url, "git_subfolder": "template", **more}
    return CatalogueSettings.model_validate(fields)


def catalogue(repository: Repository, clock: FakeClock | None = None, **more: object) -> GitCatalogue:
    return GitCatalogue(settings(repository, **more), clock or FakeClock())


async def titles(found: GitCatalogue) -> list[str]:
    return [entry.title for entry in await found.list()]


async def failure(found: GitCatalogue) -> str:
    with pytest.raises(Unavailable) as caught:
        await found.list()
    return str(caught.value)


async def test_templates_are_those_of_one_commit(repository: Repository) -> None:
    revision = repository.git("rev-parse", "HEAD").strip()
    found = catalogue(repository)
    [shop] = await found.list()
    assert (shop.name, shop.title, shop.revision) == ("shop", "Shop", revision)
    assert (await found.get("shop")).digest == shop.digest
    assert [entry.name for entry in await found.search("sho")] == ["shop"]


async def test_news_come_with_the_next_refresh_and_not_before(repository: Repository) -> None:
    clock = FakeClock()
    found = catalogue(repository, clock, refresh_seconds=600)
    assert await titles(found) == ["Shop"]
    revision = repository.commit({"template/blog.yaml": TEMPLATE % "Blog"})
    assert await titles(found) == ["Shop"]
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(found.keep_fresh())
        await _asleep(clock)
        assert await titles(found) == ["Blog", "Shop"]
        assert (await found.shelf()).revision == revision
        repository.commit({"template/cafe.yaml": TEMPLATE % "Cafe"})
        clock.advance(600)
        await _asleep(clock)
        assert await titles(found) == ["Blog", "Cafe", "Shop"]
        keeping.cancel()


async def _asleep(clock: FakeClock) -> None:
    """Return when the keeper waits for its next turn; git takes real time."""
    assert await eventually(lambda: clock.asleep > 0, within=20)


async def test_while_the_remote_is_away_the_last_good_commit_is_served(repository: Repository) -> None:
    clock = FakeClock()
    found = catalogue(repository, clock)
    assert await titles(found) == ["Shop"]
    away = repository.folder.rename(repository.folder.with_name("away"))
    clock.advance(60)
    await found.refresh()
    since = clock.now()
    clock.advance(60)
    await found.refresh()
    assert await titles(found) == ["Shop"]
    assert (await found.shelf()).stale_since == since
    away.rename(repository.folder)
    await found.refresh()
    assert (await found.shelf()).stale_since is None


async def test_a_remote_that_was_never_reached_is_told_and_not_asked_at_every_call(tmp_path: Path) -> None:
    clock = FakeClock()
    gone = CatalogueSettings(git_url=(tmp_path / "gone").as_uri())
    found = GitCatalogue(gone, clock)
    told = await failure(found)
    assert "git ls-remote failed" in told
    assert str(tmp_path) not in told
    Repository(tmp_path / "gone")
    assert await failure(found) == told
    clock.advance(10)
    await found.list()


async def test_a_branch_a_tag_or_a_commit_can_be_asked_for(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD").strip()
    repository.git("tag", "--annotate", "--message=one", "v1")
    repository.commit({"template/shop/index.yaml": TEMPLATE % "Newer"})
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
    for ref, title in (("main", "Newer"), ("HEAD", "Newer"), ("v1", "Shop"), (first, "Shop")):
        found = catalogue(repository, git_ref=ref)
        assert await titles(found) == [title]
        await found.refresh()
        assert (await found.shelf()).stale_since is None
    assert "git_ref" in await failure(catalogue(repository, git_ref="nowhere"))


async def test_the_top_of_a_repository_can_be_the_catalogue(repository: Repository) -> None:
    repository.commit({"whole.yaml": TEMPLATE % "Whole"})
    assert await titles(catalogue(repository, git_subfolder="")) == ["Whole"]
    assert "git_subfolder" in await failure(catalogue(repository, git_subfolder="nowhere"))


async def test_what_is_too_large_is_not_written_out(repository: Repository) -> None:
    # Ten kilobytes in the pack, ten megabytes on disk.
    repository.commit({"template/bomb/index.yaml": TEMPLATE % "Bomb" + "#" * 10_000_000})
    assert "more files or bytes" in await failure(catalogue(repository, max_bytes=1_000_000))


async def test_a_pack_that_is_too_large_ends_the_fetching(repository: Repository) -> None:
    (repository.folder / "noise").write_bytes(os.urandom(3_000_000))
    repository.commit({})
    assert "git fetch failed" in await failure(catalogue(repository, max_bytes=1_000_000))


async def test_links_and_submodules_of_a_repository_lead_nowhere(repository: Repository, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    repository.git("submodule", "--quiet", "add", other.url, "template/module")
    (repository.folder / "template/passwd.yaml").symlink_to("/etc/passwd")
    (repository.folder / "template/outside").symlink_to("../..")
    (repository.folder / "linked").symlink_to("template")
    repository.commit({})
    found = catalogue(repository)
    assert [(entry.name, entry.fault is None) for entry in await found.list()] == [
        ("outside", False),
        ("passwd", False),
        ("shop", True),
    ]
    with pytest.raises(TemplateFault) as caught:
        await found.get("passwd")
    assert caught.value.code == "link"
    assert await failure(catalogue(repository, git_subfolder="linked"))


async def test_nothing_of_a_repository_or_of_our_own_settings_is_run(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    hook = tmp_path / "templates/hooks/post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o700)
    (tmp_path / ".gitconfig").write_text(
        f'[init]\ntemplateDir={tmp_path}/templates\n[core]\nhooksPath={hook.parent}\n[filter "f"]\nsmudge=touch {ran}\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {ran}")
    repository.commit({"template/.gitattributes": "* filter=f\n"})
    assert await titles(catalogue(repository)) == ["Shop"]
    assert not ran.exists()


async def test_a_git_that_hangs_is_ended_in_time(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_git(tmp_path, monkeypatch)
    assert "clone_seconds" in await failure(catalogue(repository, clone_seconds=0.3))
    assert not _runs(tmp_path / "pid")


async def test_a_cancelled_fetch_leaves_nothing_behind(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_git(tmp_path, monkeypatch)
    pid = tmp_path / "pid"
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(catalogue(repository).list())
        assert await eventually(lambda: pid.exists() and bool(pid.read_text().strip()), within=10)
        asking.cancel()
    assert not _runs(pid)


def _runs(pid: Path) -> bool:
    return Path(f"/proc/{pid.read_text().strip()}").exists()


def _fake_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/git").write_text(f"#!/bin/sh\necho $$ >{folder}/pid\nexec /bin/sleep 60\n")
    (folder / "bin/git").chmod(0o700)
    monkeypatch.setenv("PATH", str(folder / "bin"))


async def test_without_git_it_is_told_what_to_do(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = catalogue(repository)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install it" in await failure(found)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c true",
        "http://example.com/a",
        "ssh://example.com/a",
        "git@example.com:a",
        "https://user:pass@example.com/a",
        "https://example.com/a b",
        "-u",
        "file",
    ],
)
def test_only_plain_urls_are_taken_and_a_refusal_repeats_nothing(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CatalogueSettings(git_url=url)
    assert "pass" not in str(caught.value.errors()[0]["msg"])


@pytest.mark.parametrize("more", [{"git_ref": "--upload-pack=x"}, {"git_ref": ""}, {"git_subfolder": "../x"}])
def test_settings_cannot_smuggle_options_or_leave_the_repository(more: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        CatalogueSettings.model_validate({"git_url": "https://example.com/a", **more})


def test_a_url_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    both = CatalogueSettings(folder=tmp_path, git_url="https://example.com/a")
    assert isinstance(catalogue_of(both, FakeClock()), GitCatalogue)
