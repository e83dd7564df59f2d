"""A folder of this process alone, for programs that read files. It never outlives its use."""

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from locktender.integrations.machine.threads import in_thread


@asynccontextmanager
async def private_folder(files: Mapping[str, str]) -> AsyncGenerator[Path, None]:
    """A new folder, readable by this user alone, with `files` by their checked paths. Removed however it is left."""
    folder = Path(tempfile.mkdtemp(prefix="locktender-"))
    try:
        await in_thread(partial(_fill, folder, files))
        yield folder
    finally:
        await in_thread(partial(shutil.rmtree, folder, ignore_errors=True))


def _fill(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
