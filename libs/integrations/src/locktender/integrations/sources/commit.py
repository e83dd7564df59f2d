"""A commit, as people see it."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from locktender.integrations.sources.git_program import Git

_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, as people see it. The texts are printable, on one line, and cut to 200 characters."""

    sha: str
    subject: str
    author: str
    email: str
    committed_at: datetime


async def read_head(git: Git, directory: Path) -> Commit:
    """The commit that is checked out in a repository. Raises `GitFailed`."""
    form = "--format=%H%x00%s%x00%an%x00%ae%x00%cI"
    told = await git.run(directory, "log", "-1", "--no-show-signature", "--no-color", "--encoding=UTF-8", form, "HEAD")
    sha, subject, author, email, moment = told.decode("utf-8", "replace").rstrip("\n").split("\0")
    return Commit(sha, _shown(subject), _shown(author), _shown(email), datetime.fromisoformat(moment))


def _shown(text: str) -> str:
    clean = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return clean if len(clean) <= _LONGEST_TEXT else f"{clean[: _LONGEST_TEXT - 1]}…"
