"""The stack of the demo: its repository, its deployments as they are followed, and what has to hold of them."""

import asyncio
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.words import runs_of
from locktender.cli.scenarios.stage import Stage
from locktender.cli.stacks.following import follow
from locktender.cli.stacks.planning import Planned, planned
from locktender.integrations.sources.git_program import Git

Json = dict[str, Any]

_CONFIGURATION = Path(__file__).parent.parent / "examples" / "stack"
_AUTHOR = {"user.name": "Demo", "user.email": "demo@example.com"}
_GIT_SECONDS = 30.0
_GIT_BYTES = 10_000_000


def should(holds: object, otherwise: str) -> None:
    """Raises `CommandError` when something is not as it should be: the demo has then failed, and says at what."""
    if not holds:
        raise CommandError(Exit.FAILED, otherwise)


def tools_are_here() -> None:
    """Raises `CommandError` where the stack could not be shown, for want of a program."""
    missing = [] if shutil.which("git") else ["git"]
    if not (shutil.which("tofu") or shutil.which("terraform")):
        missing.append("tofu or terraform")
    if missing:
        hint = "Install what is missing; it is looked for on the PATH."
        raise CommandError(Exit.UNAVAILABLE, f"a stack needs {' and '.join(missing)}, and that is not here", hint)


@dataclass(frozen=True, slots=True)
class Shop:
    """A stack of its own for one showing."""

    stage: Stage
    name: str
    url: str
    password: str = field(repr=False)

    @classmethod
    async def made(cls, stage: Stage) -> "Shop":
        """Commit the configuration into a new repository in the state folder, and make a stack of it.

        Raises:
            CommandError: the API refuses.
            GitFailed: git did not do it.
        """
        name = f"shop-{secrets.token_hex(3)}"
        folder = stage.folder / "repositories" / name
        await asyncio.to_thread(shutil.copytree, _CONFIGURATION, folder)
        git = Git(folder, (), _GIT_SECONDS, _GIT_BYTES, configuration=_AUTHOR)
        await git.run(folder, "init", "--quiet", "--template=", "--initial-branch=main")
        await git.run(folder, "add", "--all")
        await git.run(folder, "commit", "--quiet", "--message=A shop with two servers")
        source = {"kind": "git", "url": folder.as_uri(), "ref": "main", "path": "."}
        await stage.stacks.create({"name": name, "source": source})
        return cls(stage, name, folder.as_uri(), secrets.token_urlsafe(12))

    async def set(self, variable: str, value: str, *, sensitive: bool = False) -> None:
        """Set a variable, and say so."""
        body = {"value": value, "sensitive": sensitive}
        await self.stage.stacks.set_variable(self.name, "variable", variable, body)
        shown = "(sensitive value)" if sensitive else value
        self.stage.output.say(Text.assemble("  ", (variable, "bold"), f" = {shown}"))

    async def deploy(self, note: str) -> Json:
        """A new deployment that plans."""
        return await self.stage.stacks.deploy(self.name, {"mode": "plan", "note": note})

    async def followed(self, deployment: Json, *expected: str) -> Planned:
        """Show a deployment with its log until it has ended or waits for a person.

        Raises:
            CommandError: it is then in none of the expected statuses.
        """
        self.stage.output.say("")
        latest = await follow(self.stage.stacks, self.stage.output, deployment, log=True)
        told = f"deployment #{latest['number']} is {latest['status']}, and should be {' or '.join(expected)}"
        should(latest["status"] in expected, f"{told}. {latest['ending'] or ''}".rstrip())
        return await planned(self.stage.stacks, latest)

    async def keeps_its_secret(self, *shown: object) -> None:
        """Raises `CommandError` when the password is in any log of the stack, or in anything that was shown."""
        page = await self.stage.stacks.deployments(self.name, {"limit": "50"})
        told = [str(each) for each in shown]
        for row in page["deployments"]:
            deployment = await self.stage.stacks.deployment(self.name, row["number"])
            told.append(str(await planned(self.stage.stacks, deployment)))
            told += [await self.stage.stacks.log(self.name, row["number"], run["id"]) for run in runs_of(deployment)]
        should(not any(self.password in text for text in told), "the password is told somewhere")
