"""What every command that talks to the API has: the options that say where it is, an output, and the API itself.

    @command
    async def show(session: Session, task_id: TaskArgument) -> Exit:
        session.answer(await session.api.snapshot(task_id), lambda found: str(found))
        return Exit.OK

is a command `show TASK_ID` with `--workspace`, `--url`, `--token` and `--json`.
"""

import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from inspect import Parameter, Signature
from typing import Any, Concatenate, get_type_hints

import httpx
from rich.console import RenderableType

from locktender.cli.channel import Channel, Json, http_client
from locktender.cli.client import ApiClient
from locktender.cli.connection import Connection, connect
from locktender.cli.exits import Exit
from locktender.cli.forms.terminal import Person, person
from locktender.cli.options import SessionOptions
from locktender.cli.output import Output
from locktender.cli.running import finish
from locktender.cli.stacks.client import StackClient


class Session:
    """One command at work.

    The API is looked for when it is first needed, so that what is wrong with the other options is told before, and what
    needs no API works without one.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._http: httpx.AsyncClient | None = None
        self.output = Output(as_json=options.as_json)

    @cached_property
    def connection(self) -> Connection:
        """Where the API is. Raises `CommandError` when nothing says so."""
        return connect(self._options.url, self._options.token)

    @cached_property
    def api(self) -> ApiClient:
        """The API. Raises `CommandError` when nothing says where it is; whether it answers shows at the first call."""
        return ApiClient(self._opened, self._options.workspace)

    @cached_property
    def stacks(self) -> StackClient:
        """The same API, where it is about stacks."""
        return StackClient(Channel(self._opened), self._options.workspace)

    @cached_property
    def workspace(self) -> str:
        """The workspace of this command."""
        return self._options.workspace

    @cached_property
    def _opened(self) -> httpx.AsyncClient:
        self._http = http_client(self.connection)
        return self._http

    def somebody(self, *, no_prompt: bool) -> Person | None:
        """Who can be asked; see `person`."""
        return person(self.output, prompts=not no_prompt)

    def answer(self, found: Json, told: Callable[[Json], RenderableType]) -> None:
        """What was asked for: to programs as it is, to people as `told`."""
        if self.output.as_json:
            self.output.result(found)
        else:
            self.output.say(told(found))

    async def work(self, work: Coroutine[Any, Any, Exit]) -> Exit:
        """Do it, and close what was opened for it."""
        try:
            return await work
        finally:
            if self._http is not None:
                await self._http.aclose()


def command(work: Callable[Concatenate[Session, ...], Coroutine[Any, Any, Exit]]) -> Callable[..., None]:
    """The function that typer calls for `work`, whose first parameter is the session.

    Its parameters are those of `work`, with the fields of a dataclass in place of a parameter of that type, and the
    options of every session after them.
    """
    hints = get_type_hints(work, include_extras=True)
    _, *own = (each.replace(annotation=hints[each.name]) for each in inspect.signature(work).parameters.values())
    groups: dict[str, Any] = {each.name: each.annotation for each in own if is_dataclass(each.annotation)}

    def run(**given: Any) -> None:
        session = Session(_taken(SessionOptions, given))
        named = {name: _taken(group, given) for name, group in groups.items()}
        finish(session.output, session.work(work(session, **named, **given)))

    parameters = [
        option for each in own for option in ([each] if each.name not in groups else _fields(each.annotation))
    ]
    parameters += _fields(SessionOptions)
    run.__name__, run.__doc__, run.__module__ = work.__name__, work.__doc__, work.__module__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(run)["__signature__"] = Signature(parameters)
    return run


def _fields(group: Any) -> Iterator[Parameter]:
    """The fields of a dataclass as parameters."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])


def _taken(group: Any, given: dict[str, Any]) -> Any:
    """An instance of a dataclass from its fields, which are taken out of `given`."""
    return group(**{each.name: given.pop(each.name) for each in fields(group)})
