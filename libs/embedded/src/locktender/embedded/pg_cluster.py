"""The data folder of the embedded PostgreSQL: where it lies, how it is made, and what an earlier run left in it.

Nothing here deletes a data folder that ever served.
"""

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from locktender.embedded import orphans
from locktender.embedded.account import Account
from locktender.embedded.child import Ladder
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.pg_binaries import PostgresBinaries
from locktender.embedded.state import StateFolder

_SYSTEM_SHELF = Path("/var/lib/locktender")
_INITDB_SECONDS = 180
STOP: Ladder = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
"""Fast shutdown, then immediate shutdown (recovery at the next start), then what nobody can refuse."""


def server_env() -> dict[str, str]:
    """The whole environment of a PostgreSQL program: no `PG*` variable of the caller gets in."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8" if sys.platform == "linux" else "C", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A data folder and whoever may serve it."""

    home: Path
    account: Account | None

    @property
    def data(self) -> Path:
        """The data folder itself."""
        return self.home / "data"

    def initialise(self, binaries: PostgresBinaries, user: str, password: str, *, durable: bool) -> None:
        """Make the data folder where there is none. It appears only when it is complete.

        Raises:
            EmbeddedError: the folder belongs to another major version, or cannot be made.
        """
        if (self.data / "PG_VERSION").exists():
            self._check_version(binaries)
            return
        fresh = self.home / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)  # left by an interrupted start; it never served
        passwords = self.home / f".password.{secrets.token_hex(4)}"
        try:
            fresh.mkdir(mode=0o700)
            handle = os.open(passwords, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(handle, f"{password}\n".encode())
            os.close(handle)
            if self.account is not None:
                os.chown(fresh, self.account.uid, self.account.gid)
                os.chown(passwords, self.account.uid, self.account.gid)
            self._initdb(binaries, fresh, user, passwords, durable=durable)
            fresh.rename(self.data)
        except OSError as error:
            raise EmbeddedError(
                "postgres data", f"{self.data} cannot be made ({error.strerror})", "Check space and rights there."
            ) from error
        finally:
            passwords.unlink(missing_ok=True)

    async def clear(self) -> None:
        """End whatever an earlier run left running on this data, and remove its stale `postmaster.pid`.

        PostgreSQL itself refuses to start when the process id in that file belongs to *any* living process of
        its user. The caller holds the lock of the state folder, so only an orphan can be using the data.
        """
        heads, rest = self._postmasters, self._processes
        await orphans.retire("postgres", heads, STOP)
        # Backends notice the death of their postmaster by themselves, unless they are deep in a query.
        await orphans.retire("postgres", rest, orphans.KILL, grace=5.0)
        self.data.joinpath("postmaster.pid").unlink(missing_ok=True)

    def is_served_by(self, pid: int) -> bool:
        """Whether the server `pid` says that it accepts connections on this data."""
        with suppress(OSError, ValueError, IndexError):
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            return int(lines[0]) == pid and lines[7].strip() == "ready"
        return False

    def _postmasters(self) -> set[int]:
        return orphans.naming("postgres", self.data)

    def _processes(self) -> set[int]:
        return self._postmasters() | orphans.working_in("postgres", self.data)

    def _check_version(self, binaries: PostgresBinaries) -> None:
        found = (self.data / "PG_VERSION").read_text(encoding="utf-8").strip()
        major = binaries.major()
        if found != major:
            raise EmbeddedError(
                "postgres data",
                f"{self.data} was made by PostgreSQL {found}, the installed one is {major}; nothing was changed",
                f"Copy the data over with pg_dump of version {found}, or choose another state folder.",
            )

    def _initdb(self, binaries: PostgresBinaries, data: Path, user: str, passwords: Path, *, durable: bool) -> None:
        done = subprocess.run(
            (
                binaries.program("initdb"),
                "-D",
                str(data),
                "-U",
                user,
                "--auth=scram-sha-256",
                f"--pwfile={passwords}",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--data-checksums",
                *(() if durable else ("--no-sync",)),
            ),
            capture_output=True,
            check=False,
            cwd="/",
            env=server_env(),
            user=self.account.uid if self.account else None,
            group=self.account.gid if self.account else None,
            extra_groups=() if self.account else None,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_INITDB_SECONDS,
        )
        if done.returncode != 0:
            raise EmbeddedError(
                "postgres data",
                "\n".join(["initdb failed", *done.stderr.splitlines()[-8:]]),
                "Set LOCKTENDER_DATABASE_URL to use a server of your own.",
            )


def settle(state: StateFolder, account: Account | None) -> Cluster:
    """The place for the data: the state folder, or `/var/lib/locktender/<digest>` where `account` cannot enter it.

    The second happens to root with a state folder in a private home: PostgreSQL has to run as another user, and the
    rights of folders that are not ours are never changed. Once chosen the place is remembered.

    Raises:
        EmbeddedError: neither place works.
    """
    if account is None:
        return Cluster(state.path, None)
    stored = state.read().get("home")
    digest = hashlib.sha256(os.fsencode(state.path)).hexdigest()[:16]
    for home in (Path(stored),) if stored else (state.path, _SYSTEM_SHELF / digest):
        with suppress(OSError):
            _make_enterable(home)
        if account.can_enter(home):
            if home != state.path:  # a state folder may be moved; a place outside of it has to be remembered
                state.remember(home=str(home))
            return Cluster(home, account)
    raise EmbeddedError(
        "postgres data",
        f"PostgreSQL cannot run as root, and user {account.uid} can enter neither {stored or state.path} "
        f"nor {_SYSTEM_SHELF}",
        "Choose a state folder that other users can enter, for example below /var/lib, or run as another user.",
    )


def _make_enterable(home: Path) -> None:
    for folder in (home.parent, home):
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o711)
