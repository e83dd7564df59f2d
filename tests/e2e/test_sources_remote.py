"""Repositories over smart and dumb http and ssh: credentials open them, and are seen nowhere else."""

import base64
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from locktender.integrations.sources.credentials import SshKey, Token
from locktender.integrations.sources.errors import CommitUnknown, SourceRefused
from locktender.integrations.sources.git import check_out, resolve
from locktender.integrations.sources.git_remote import GitLimits
from locktender.integrations.sources.reach import THIS_MACHINE, Reach
from locktender.testkit.git_repository import GIT, Repository


async def anywhere(_host: str, _port: int) -> list[str]:
    return ["192.0.2.1"]


SCHEMES = ("file", "http", "https", "ssh")
LIMITS = GitLimits(seconds=20, schemes=SCHEMES, reach=Reach({"*", *THIS_MACHINE}))
BACKEND = shutil.which("git") or "git"
TOKEN = "canary-token-of-a-repository"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where private folders are made; whatever happens, none is left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.made(tmp_path / "repository")
    made.commit("# first")
    return made


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "checkout"


@dataclass
class Served:
    """A repository behind http that asks for a token."""

    url: str
    authorizations: list[str | None] = field(default_factory=list[str | None])
    command_lines: list[str] = field(default_factory=list[str])


@contextmanager
def _served(handler: object) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def private(repository: Repository) -> Iterator[Served]:
    served = Served("")
    expected = f"Basic {base64.b64encode(f'x-access-token:{TOKEN}'.encode()).decode()}"

    class Handler(BaseHTTPRequestHandler):
        """The program git-http-backend as its own little web server."""

        def do_GET(self) -> None:
            served.authorizations.append(self.headers["Authorization"])
            served.command_lines.append(_command_lines())
            if self.path.startswith("/moved"):
                self._answer(302, [("Location", self.path.removeprefix("/moved"))])
            elif self.headers["Authorization"] != expected:
                self._answer(401, [("WWW-Authenticate", 'Basic realm="git"')])
            else:
                self._backend()

        do_POST = do_GET  # noqa: N815 - the server looks for this name

        def _backend(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            env = GIT | {
                "GIT_PROJECT_ROOT": str(repository.folder.parent),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers["Content-Type"] or "",
                "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": self.headers["Git-Protocol"] or "",
                "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "",
            }
            told = subprocess.run(
                [BACKEND, "http-backend"], input=body, env=env, capture_output=True, timeout=20, check=True
            )
            head, _, content = told.stdout.partition(b"\r\n\r\n")
            self._answer(200, [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")], content)

        def _answer(self, status: int, headers: list[tuple[str, ...]], content: bytes = b"") -> None:
            self.send_response(status)
            for name, value in (*headers, ("Content-Length", str(len(content)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
            pass

    with _served(Handler) as port:
        served.url = f"http://127.0.0.1:{port}/repository/.git"
        yield served


def _written(directory: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in directory.rglob("*") if path.is_file())


def _command_lines() -> str:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


async def test_a_token_opens_a_private_repository_and_is_seen_nowhere(private: Served, directory: Path) -> None:
    token = Token(TOKEN)
    pinned = await resolve(private.url, "main", token, LIMITS)
    await check_out(private.url, pinned, directory, token, limits=LIMITS)
    assert (directory / "main.tf").read_text() == "# first"
    assert all(private.authorizations)
    encoded = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    lines = "\n".join(private.command_lines)
    assert "ls-remote" in lines
    on_disk = _written(directory)
    for secret in (TOKEN, encoded):
        assert secret not in lines
        assert secret not in on_disk
    assert private.url not in on_disk


async def test_a_wrong_or_missing_token_is_refused_and_not_asked_for(private: Served) -> None:
    for credentials in (None, Token("wrong-canary")):
        with pytest.raises(SourceRefused, match="credentials") as caught:
            await resolve(private.url, "main", credentials, LIMITS)
        assert "canary" not in str(caught.value)
        assert private.url not in str(caught.value)


async def test_a_repository_that_moved_is_not_followed(private: Served) -> None:
    for credentials in (Token(TOKEN), None):
        with pytest.raises(SourceRefused, match="at another address"):
            await resolve(private.url.replace("/repository", "/moved/repository"), "main", credentials, LIMITS)
    assert len(private.authorizations) == 2


async def test_a_server_that_gives_out_no_bare_commit_is_asked_for_its_branches(
    repository: Repository, directory: Path
) -> None:
    pinned = repository.head
    repository.commit("# second")
    repository.git("update-server-info")

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
            pass

    with _served(partial(Handler, directory=str(repository.folder.parent))) as port:
        url = f"http://127.0.0.1:{port}/repository/.git"
        assert await resolve(url, "main", limits=LIMITS) == repository.head
        for ref in ("main", None):
            where = directory.with_name(f"by-{ref}")
            commit = await check_out(url, pinned, where, ref=ref, limits=LIMITS)
            assert commit.sha == pinned
            assert (where / "main.tf").read_text() == "# first"
        with pytest.raises(CommitUnknown):
            await check_out(url, "a" * 40, directory, limits=LIMITS)


async def test_git_connects_to_the_address_that_was_looked_at_and_asks_nobody_else(
    repository: Repository, directory: Path
) -> None:
    repository.git("update-server-info")
    asked: list[tuple[str, int]] = []

    async def look_up(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
            pass

    with _served(partial(Handler, directory=str(repository.folder.parent))) as port:
        # No resolver knows this name.
        url = f"http://git.invalid:{port}/repository/.git"
        listed = replace(LIMITS, reach=Reach({"git.invalid"}, look_up))
        pinned = await resolve(url, "main", limits=listed)
        await check_out(url, pinned, directory, ref="main", limits=listed)
        with pytest.raises(SourceRefused, match="never talked to"):
            await resolve(url, "main", limits=replace(LIMITS, reach=Reach({"*"}, look_up)))
    assert (directory / "main.tf").read_text() == "# first"
    assert asked == [("git.invalid", port)] * 3


async def test_ssh_trusts_only_the_named_hosts_and_its_key_is_gone_afterwards(
    repository: Repository, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    script = (
        f'echo "$@" >>{seen}\nwhile [ "$1" != "-i" ]; do shift; done\n'
        f'stat -c %a "$2" >>{seen}\ncat "$2" >>{seen}\nfor last in "$@"; do :; done\nexec sh -c "$last"'
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "bin/ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    key = SshKey("-----BEGIN KEY-----\ncanary\n-----END KEY-----", "example.com ssh-ed25519 AAAA")
    url = f"ssh://git@example.com{repository.folder}"
    limits = replace(LIMITS, reach=Reach(look_up=anywhere))
    pinned = await resolve(url, "main", key, limits)
    await check_out(url, pinned, directory, key, limits=limits)
    assert (directory / "main.tf").read_text() == "# first"
    told = seen.read_text()
    for part in ("StrictHostKeyChecking=yes", "BatchMode=yes", "-F /dev/null", "600", "canary"):
        assert part in told
    assert "canary" not in _written(directory)
    assert shutil.which("ssh") == str(tmp_path / "bin/ssh")
