"""Which deployment is meant where no number was given."""

from locktender.cli.exits import CommandError, Exit
from locktender.cli.stacks.client import StackClient


async def number_of(api: StackClient, name: str, given: int | None) -> int:
    """The one that was given, else the one that holds the lane, else the newest.

    Raises:
        CommandError: the stack was never deployed, or is not there.
    """
    if given is not None:
        return given
    stack = await api.stack(name)
    found = stack["lane"] or stack["latestDeployment"]
    if found is None:
        raise CommandError(
            Exit.CONFLICT, f"stack {name} was never deployed", f"Begin with: locktender stack plan {name}"
        )
    return int(found["number"])
