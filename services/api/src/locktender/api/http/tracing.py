"""The trace that a request belongs to, as headers that travel on with what it causes."""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from locktender.runtime.traces import extract, inject, tracer

_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_tracer = tracer(__name__)


class Tracing:
    """Spans of requests where traces are exported; elsewhere the caller's own context is passed on as it came."""

    def __init__(self, *, exported: bool) -> None:
        self._exported = exported

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str]) -> Generator[dict[str, str]]:
        """Yields the headers for what is caused inside of the context; none outside of a trace."""
        if not self._exported:
            yield _carried(headers.get("traceparent"))
            return
        with _tracer.start_as_current_span(name, context=extract(headers)):
            yield inject()


def _carried(traceparent: str | None) -> dict[str, str]:
    known = traceparent is not None and _TRACEPARENT.fullmatch(traceparent)
    return {"traceparent": str(traceparent)} if known else {}
