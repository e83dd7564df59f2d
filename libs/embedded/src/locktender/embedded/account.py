"""Who a server runs as. PostgreSQL refuses to run as root, and containers are often root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NOBODY = 65534
_PROBE_TIMEOUT = 10


@dataclass(frozen=True, slots=True)
class Account:
    """A user and a group that a child is started as."""

    uid: int
    gid: int

    def can_enter(self, folder: Path) -> bool:
        """Whether a process of this account reaches `folder`. Asked of the kernel, not guessed from mode bits."""
        return self.can_run(("/bin/sh", "-c", 'cd "$1"', "sh", str(folder)))

    def can_run(self, argv: tuple[str, ...]) -> bool:
        """Whether `argv` starts and succeeds as this account."""
        try:
            answer = subprocess.run(  # noqa: PLW1510 - the code is the answer
                argv,
                user=self.uid,
                group=self.gid,
                extra_groups=(),
                cwd="/",
                env={"PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_PROBE_TIMEOUT,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return answer.returncode == 0


def serving_account(*owners: Path) -> Account | None:
    """The account to drop to, or `None` when this process is not root.

    The first of `owners` that exists and belongs to a known user other than root decides, so that data stays
    with whoever owns it; otherwise it is `nobody`. No user is ever created.
    """
    if os.geteuid() != 0:
        return None
    for path in owners:
        if path.exists():
            owner = path.stat()
            if owner.st_uid != 0 and _is_known(owner.st_uid):
                return Account(owner.st_uid, owner.st_gid)
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account(_NOBODY, _NOBODY)
    return Account(entry.pw_uid, entry.pw_gid)


def _is_known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
