"""`locktender stack queue|queue-clear`: what waits, and dropping what waits for a runner."""

from locktender.cli.commands.stack_ending import skipped_text
from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.queue import queue_parts
from locktender.cli.session import Session, command
from locktender.cli.stacks.confirming import agreed
from locktender.cli.stacks.options import YesOption
from locktender.runtime.clock import SystemClock


@command
async def queue(session: Session) -> Exit:
    """Show what waits in the workspace. In the order in which it is served, with the reason."""
    found = await session.stacks.queue()
    session.output.result(found)
    if not session.output.as_json:
        for part in queue_parts(found, SystemClock().now()):
            session.output.say(part)
    return Exit.OK


@command
async def queue_clear(session: Session, *, yes: YesOption = False) -> Exit:
    """Skip everything in the workspace that waits for a runner. What waits behind may move up: look again."""
    question = f"skip everything in workspace {session.workspace} that waits for a runner?"
    agreement = agreed(session, question, yes=yes)
    if agreement is None:
        raise CommandError(Exit.USAGE, "this needs a yes, and nobody is here to ask", "Pass --yes.")
    if not agreement:
        raise CommandError(Exit.INTERRUPTED, "nothing was skipped")
    session.answer(await session.stacks.clear_queue(), skipped_text)
    return Exit.OK
