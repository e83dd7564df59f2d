"""A folder of this machine as the source of a stack."""

import asyncio
from pathlib import Path

from locktender.cli.exits import CommandError, Exit
from locktender.cli.stacks.client import StackClient
from locktender.integrations.sources.packing import Archive, pack
from locktender.integrations.sources.working_tree import working_tree


async def packed(folder: Path) -> Archive:
    """The folder as an archive.

    Raises:
        CommandError: there is no such folder, or nothing in it.
        SourceRefused: it holds what cannot be packed.
    """
    if not await asyncio.to_thread(folder.is_dir):
        raise CommandError(Exit.USAGE, f"{folder} is no folder")
    archive = await pack(folder)
    if not archive.files:
        raise CommandError(Exit.USAGE, f"there is nothing to pack in {folder}")
    return archive


async def uploaded(api: StackClient, name: str, folder: Path) -> str:
    """Upload the folder for a stack; the digest that names it."""
    archive = await packed(folder)
    await api.put_archive(name, archive.sha256, archive.data)
    return archive.sha256


async def described(folder: Path) -> str:
    """What the folder stands on, as a note: `working tree at 1a2b3c4d5e6f, with changes`."""
    tree = await working_tree(folder)
    if tree is None or tree.commit is None:
        return "working tree"
    return f"working tree at {tree.commit[:12]}" + (", with changes" if tree.dirty else "")
