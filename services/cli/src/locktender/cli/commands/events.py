"""`locktender events`: what was recorded about a deployment."""

from rich.text import Text

from locktender.cli.exits import Exit
from locktender.cli.options import TaskArgument
from locktender.cli.session import Session, command

_PAGES = 1000


@command
async def events(session: Session, task_id: TaskArgument, *, after: int = 0) -> Exit:
    """Every event of one deployment, oldest first; one JSON object a line with --json."""
    for _ in range(_PAGES):
        page = (await session.api.events(task_id, after))["events"]
        for event in page:
            session.answer(event, _line)
        if not page:
            break
        after = page[-1]["revision"]
    return Exit.OK


def _line(event: dict[str, object]) -> Text:
    moment = str(event["createdAt"])[11:23]
    return Text.assemble(
        (f"{event['revision']:>4} {moment} ", "dim"), (f"{event['kind']:<18}", "bold"), str(event["message"])
    )
