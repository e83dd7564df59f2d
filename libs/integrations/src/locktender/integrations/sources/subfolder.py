"""The folder of a stack inside its source."""

from pathlib import Path, PurePosixPath

from locktender.integrations.sources.errors import SourceRefused


def subfolder(root: Path, path: str) -> Path:
    """The folder at the relative `path` below `root` ("" is `root` itself), reached through no symbolic link.

    Raises:
        SourceRefused: there is no such folder, or the path leads out of the source.
    """
    parts = PurePosixPath(path).parts
    if "\0" in path or "\\" in path or any(part in ("..", "/", ".git") for part in parts) or path.startswith("/"):
        raise SourceRefused("the path of the stack is not a plain relative one")
    folder = root
    for part in parts:
        folder /= part
        if folder.is_symlink() or not folder.is_dir():
            raise SourceRefused(f"the source has no plain folder {path}")
    return folder
