"""Server-sent events on the wire."""

from collections.abc import AsyncGenerator

from litestar.response.streaming import ASGIStreamingResponse

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": heartbeat\n\n"
RETRY = b"retry: 1000\n\n"


def frame(event: str, data: str, event_id: int | str | None = None) -> bytes:
    """One event. `data` is JSON on one line."""
    number = "" if event_id is None else f"id: {event_id}\n"
    return f"event: {event}\n{number}data: {data}\n\n".encode()


RESYNC = frame("resync", '{"message": "what was told before may be incomplete; what follows is all there is"}')
"""Says that a reader has to forget what it knows: the whole state follows."""


def event_stream(frames: AsyncGenerator[bytes]) -> ASGIStreamingResponse:
    """The response that sends `frames` as they come, and that no proxy holds back."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return ASGIStreamingResponse(iterator=frames, media_type=MEDIA_TYPE, headers=headers)
