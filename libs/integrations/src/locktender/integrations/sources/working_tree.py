"""What git knows of a folder of the user's own: which files belong to it, and whether they are as committed."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from locktender.integrations.machine.programs import TooMuchOutput, run
from locktender.integrations.sources.errors import SourceRefused, SourceUnavailable

_SECONDS = 30.0
_MOST_OUTPUT = 16 * 1_048_576
# A folder that somebody else prepared must not get its monitor started by being looked at.
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")

# A hook of git that runs us names its own repository by these.
_OF_ANOTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """A folder in a working tree of git.

    Attributes:
        commit: the id of the commit that it stands on, None before the first.
        dirty: whether any file of the folder is changed, added or removed since; files that git ignores do not count.
    """

    commit: str | None
    dirty: bool


async def working_tree(folder: Path) -> WorkingTree | None:
    """Where the folder stands; None when git is not here or the folder is in no working tree.

    Unlike elsewhere, the user's own settings of git hold here, as they say what is ignored.

    Raises:
        SourceUnavailable: git did not answer in time.
        SourceRefused: git names more files than can be read.
    """
    if (await _asked(folder, "rev-parse", "--is-inside-work-tree")) != b"true\n":
        return None
    head = await _asked(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    changes = await _asked(folder, "status", "--porcelain", "-z", "--untracked-files=normal", "--", ".")
    return WorkingTree(head.decode("ascii").strip() if head else None, changes != b"")


async def files_of(folder: Path) -> list[str] | None:
    """Relative paths of the files that git tracks in the folder or would add to it, sorted; None as `working_tree`.

    A submodule is one path, that of its folder. A file that is tracked may be missing.

    Raises:
        SourceUnavailable: git did not answer in time.
        SourceRefused: git names more files than can be read.
    """
    if (await _asked(folder, "rev-parse", "--is-inside-work-tree")) != b"true\n":
        return None
    listed = await _asked(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return None if listed is None else sorted({os.fsdecode(name).rstrip("/") for name in listed.split(b"\0") if name})


async def _asked(folder: Path, *arguments: str) -> bytes | None:
    """The answer of git, None when it has none."""
    program = shutil.which("git")
    if program is None:
        return None
    env = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER} | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
    }
    command = (program, *_OPTIONS, *arguments)
    try:
        ran = await run(command, cwd=folder, env=env, seconds=_SECONDS, most_bytes=_MOST_OUTPUT)
    except TimeoutError:
        raise SourceUnavailable(f"git did not answer within {_SECONDS:g} seconds") from None
    except TooMuchOutput:
        raise SourceRefused("the folder has more files than can be listed") from None
    except OSError as error:
        raise SourceUnavailable(f"the folder cannot be read ({error.strerror})") from None
    return ran.out if ran.code == 0 else None
