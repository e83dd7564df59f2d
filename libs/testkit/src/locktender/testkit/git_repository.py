"""Real Git repositories for tests, made without the settings of whoever runs them."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GIT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nowhere",
}
"""The whole environment of git."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a working tree in `folder`."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, *options: str) -> "Repository":
        """A new one without commits, on the branch `main`."""
        folder.mkdir(parents=True, exist_ok=True)
        repository = cls(folder)
        repository.git("init", "--quiet", "--template=", "--initial-branch=main", *options)
        return repository

    @property
    def url(self) -> str:
        """Its address as a file URL."""
        return self.folder.as_uri()

    @property
    def head(self) -> str:
        """The id of the commit that is checked out."""
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        """What git wrote; raises `CalledProcessError` when it fails."""
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        command = ["git", *who, *arguments]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, env=GIT, timeout=30)
        return done.stdout.decode()

    def commit(self, text: str, subject: str = "more") -> str:
        """Commit all files, with `text` as `main.tf`; the id of the commit."""
        (self.folder / "main.tf").write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", f"--message={subject}")
        return self.head
