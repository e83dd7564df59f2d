"""The one way in which git is run: without the settings of the user or the machine; nothing of a repository is run."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from locktender.contracts.kernel.errors import LocktenderError
from locktender.integrations.machine.programs import Ran, TooMuchOutput, run

_MOST_OUTPUT = 8 * 1_048_576
_BLOCK = 512
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "credential.helper="),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "submodule.recurse=false"),
    *("-c", "advice.detachedHead=false"),
)
# How this machine reaches the network is its administrator's to say; nothing else of the environment is passed on.
_PASSED_ON = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO")


class Failure(StrEnum):
    """In which way git did not do what was asked."""

    MISSING = "missing"
    UNSTARTABLE = "unstartable"
    LATE = "late"
    TOO_MUCH = "too_much"
    REFUSED = "refused"


class GitFailed(LocktenderError):
    """git did not do it. `said` is what it told, on one line and without anything hidden; it may be empty."""

    def __init__(self, failure: Failure, verb: str, said: str = "") -> None:
        super().__init__(f"git {verb} failed ({failure}): {said}")
        self.failure = failure
        self.verb = verb
        self.said = said


@dataclass(frozen=True, slots=True)
class Git:
    """git for one remote.

    Attributes:
        home: a private folder that stands for the home of the user and takes temporary files.
        schemes: the kinds of URL that it may fetch from, such as https; no other transport is ever used.
        seconds: how long each command may take.
        most_bytes: how large any file may grow that git writes, the pack included.
        hidden: texts that `GitFailed.said` shows as "the repository".
        configuration: further settings. They pass through the environment, so that no other user can see them.
        ssh: the command that stands for ssh.
    """

    home: Path
    schemes: Sequence[str]
    seconds: float
    most_bytes: int
    hidden: Sequence[str] = ()
    configuration: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    ssh: str | None = None

    async def run(self, cwd: Path, *arguments: str) -> bytes:
        """What git wrote. `arguments` are visible to every user of the machine: never a secret.

        Raises:
            GitFailed: it did not do it, or is not here.
        """
        verb = arguments[0]
        program = shutil.which("git")
        if program is None:
            raise GitFailed(Failure.MISSING, verb)
        ran = await self._ran(program, cwd, arguments)
        if ran.code:
            raise GitFailed(Failure.REFUSED, verb, self._shown(ran.said))
        return ran.out

    async def written_out(self, cwd: Path, revision: str, *paths: str) -> tuple[int, int]:
        """How many files and bytes a revision comes to on disk, which may be far more than its pack."""
        listed = await self.run(cwd, "ls-tree", "-r", "-l", "-z", revision, "--", *paths)
        entries = [entry for entry in listed.split(b"\0") if entry]
        sizes = (entry.split(b"\t")[0].split()[-1] for entry in entries)
        return len(entries), sum(int(size) for size in sizes if size.isdigit())

    async def _ran(self, program: str, cwd: Path, arguments: Sequence[str]) -> Ran:
        # A shell is there for its one built-in: a file that grows beyond this ends the program that writes it.
        limited = ("/bin/sh", "-c", f'ulimit -f {self.most_bytes // _BLOCK + 1} && exec "$0" "$@"', program)
        allowed = [part for scheme in self.schemes for part in ("-c", f"protocol.{scheme}.allow=always")]
        command = (*limited, *_OPTIONS, *allowed, *arguments)
        try:
            return await run(command, cwd=cwd, env=self._env(), seconds=self.seconds, most_bytes=_MOST_OUTPUT)
        except TimeoutError:
            raise GitFailed(Failure.LATE, arguments[0]) from None
        except TooMuchOutput:
            raise GitFailed(Failure.TOO_MUCH, arguments[0]) from None
        except OSError as error:
            raise GitFailed(Failure.UNSTARTABLE, arguments[0], error.strerror or "") from None

    def _shown(self, said: str) -> str:
        for text in sorted((*self.hidden, str(self.home)), key=len, reverse=True):
            said = said.replace(text, "the repository") if text else said
        return said

    def _env(self) -> dict[str, str]:
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_ALLOW_PROTOCOL": ":".join(self.schemes),
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_CONFIG_COUNT": str(len(self.configuration)),
        }
        for number, (name, value) in enumerate(self.configuration.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        if self.ssh is not None:
            env |= {"GIT_SSH_COMMAND": self.ssh, "GIT_SSH_VARIANT": "ssh"}
        return env
