"""Logs: one JSON object a line on standard output, without secrets and without the locals of a stack."""

import logging
import sys
from collections.abc import Generator, Iterable, MutableMapping
from contextlib import contextmanager
from typing import Any, Literal

import structlog
from opentelemetry import trace
from structlog.tracebacks import ExceptionDictTransformer

from locktender.runtime.scrub import Scrubber
from locktender.runtime.spellings import spellings

Event = MutableMapping[str, Any]
Form = Literal["json", "console"]


class Withheld:
    """The secret values that no log line of this process may contain. Safe to use from any thread.

    Meant for the values of the runs of one process, some hundred at most: each adds to the cost of every line.
    """

    def __init__(self) -> None:
        self._held: dict[object, _Group] = {}
        self._state = object()
        """Another one whenever something was added or taken away."""
        self._built = (self._state, Scrubber(()))

    @contextmanager
    def values(self, values: Iterable[str | bytes]) -> Generator[None]:
        """Keep these values out of the logs while the context is open."""
        key = object()
        self._held[key] = _Group(tuple(values))
        self._state = object()
        try:
            yield
        finally:
            del self._held[key]
            self._state = object()

    def processor(self, _logger: object, _method: str, event: Event) -> Event:
        """The structlog processor; it must come after exceptions were turned into text."""
        if not self._held:
            return event
        scrubber = self._current()
        return {key: scrubber.structure(_plain(value)) for key, value in event.items()}

    def _current(self) -> Scrubber:
        # Runs come and go far more often than a line is logged, so nothing is built before there is one.
        state = self._state
        built, scrubber = self._built
        if built is not state:
            # What is added meanwhile, by another thread, changes the state once more: the next line will see it.
            forms = [form for group in tuple(self._held.values()) for form in group.forms()]
            scrubber = Scrubber((), spelt=forms)
            self._built = (state, scrubber)
        return scrubber


class _Group:
    """Values that come and go together, spelt out once."""

    def __init__(self, values: tuple[str | bytes, ...]) -> None:
        self._values = values
        self._forms: frozenset[str] | None = None

    def forms(self) -> frozenset[str]:
        if self._forms is None:
            self._forms = frozenset(form for value in self._values for form in spellings(value))
        return self._forms


withheld = Withheld()
"""The one registry of this process."""


def configure_logs(
    service: str, instance: str, *, level: str = "info", form: Literal["json", "console"] = "json"
) -> None:
    """Send every log of this process, those of libraries included, to standard output.

    Libraries are heard from `warning` on. Calling it again replaces the configuration.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _origin(service, instance),
            _trace_ids,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _exceptions(form),
            withheld.processor,
            _renderer(form),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(sys.stdout),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_Forward()]
    root.setLevel(max(number, logging.WARNING))


class _Forward(logging.Handler):
    """Passes records of the standard library's loggers on."""

    def emit(self, record: logging.LogRecord) -> None:
        logger: Any = structlog.get_logger()
        logger.log(record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info)


def _origin(service: str, instance: str) -> structlog.typing.Processor:
    def add(_logger: object, _method: str, event: Event) -> Event:
        event["service"], event["instance"] = service, instance
        return event

    return add


def _trace_ids(_logger: object, _method: str, event: Event) -> Event:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
        event["span_id"] = trace.format_span_id(context.span_id)
    return event


def _exceptions(form: Form) -> structlog.typing.Processor:
    if form == "console":
        return structlog.processors.format_exc_info
    # Locals are never shown: they are where a secret would be.
    return structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False, max_frames=20))


def _renderer(form: Form) -> structlog.typing.Processor:
    if form == "console":
        return structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty())
    return structlog.processors.JSONRenderer(default=str)


def _plain(value: object) -> object:
    # The scrubber sees text, numbers, lists and mappings; anything else becomes text, as the renderer would do.
    if value is None or isinstance(value, str | int | float | bool | list | tuple | dict):
        return value  # pyright: ignore[reportUnknownVariableType]  # any mapping and list will do
    return str(value)
