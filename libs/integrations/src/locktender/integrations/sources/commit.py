"""A commit, as people see it."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from locktender.integrations.sources.git_program import Git
from locktender.integrations.sources.git_remote import NORMAL, translated
from locktender.integrations.templates.folder import private_folder

_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, as people see it. The texts are printable, on one line, and cut to 200 characters."""

    sha: str
    subject: str
    author: str
    email: str
    committed_at: datetime


async def read_commit(directory: Path) -> Commit:
    """The commit that is checked out in a repository.

    Raises:
        SourceRefused: it is no repository, has no commit, or belongs to another user of the machine.
        SourceUnavailable: git is not here or took too long.
    """
    async with translated(NORMAL), private_folder({}) as home:
        return await read_head(Git(home, (), NORMAL.seconds, NORMAL.most_bytes, (str(directory),)), directory)


async def read_head(git: Git, directory: Path) -> Commit:
    form = "--format=%H%x00%s%x00%an%x00%ae%x00%cI"
    told = await git.run(directory, "log", "-1", "--no-show-signature", "--no-color", "--encoding=UTF-8", form, "HEAD")
    sha, subject, author, email, moment = told.decode("utf-8", "replace").rstrip("\n").split("\0")
    return Commit(sha, _shown(subject), _shown(author), _shown(email), datetime.fromisoformat(moment))


def _shown(text: str) -> str:
    clean = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return clean if len(clean) <= _LONGEST_TEXT else f"{clean[: _LONGEST_TEXT - 1]}…"
