"""Become another program that ends when its parent ends. Run as a script, with nothing imported from Locktender.

Arguments: PARENT_PID SIGNAL UID GID PROGRAM [ARGUMENT...]; a SIGNAL of 0 asks for none, a UID of -1 keeps the user.

The order matters. The user is changed here and not by the parent, because Linux forgets the death signal when
the user changes; and the interpreter may lie where only root can read, so it has to be loaded before.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, death, uid, gid = (int(argument) for argument in sys.argv[1:5])
    program = sys.argv[5:]
    libc = ctypes.CDLL(None) if death and sys.platform == "linux" else None
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, death, 0, 0, 0)
    if death and os.getppid() != parent:
        sys.exit("the parent ended before the program was started")
    # Python ignores these two for itself; the program must not inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execv(program[0], program)  # noqa: S606 - the caller resolved the path; there is no shell on purpose


if __name__ == "__main__":
    main()
