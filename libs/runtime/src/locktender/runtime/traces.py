"""Traces: W3C trace context through headers, and an exporter where one is configured."""

from collections.abc import Callable, Mapping

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_propagator = TraceContextTextMapPropagator()


def configure_traces(service: str, instance: str, endpoint: str | None) -> Callable[[], None]:
    """Export the spans of this process to `endpoint` (OTLP over HTTP); do nothing without one.

    Returns:
        What flushes and ends the export; call it last. It may take up to the exporter's timeout (3 s).
    """
    if endpoint is None:
        return _nothing
    # Imported here because the SDK and its exporter cost a process without traces half a second at start.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - see above

    resource = Resource.create({"service.name": f"locktender-{service}", "service.instance.id": instance})
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=3)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider.shutdown


def tracer(name: str) -> trace.Tracer:
    """A tracer; its spans cost next to nothing while no exporter is configured."""
    return trace.get_tracer(name)


def inject() -> dict[str, str]:
    """The current trace context as headers; empty outside a trace."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier


def extract(headers: Mapping[str, str] | None) -> Context:
    """The trace context of a message or request; a fresh one when it has none."""
    return _propagator.extract(dict(headers or {}))


def _nothing() -> None:
    """There is nothing to flush."""
