"""Headers that are written in one go. The client spells them out one by one, which costs more than all the rest."""

from typing import Any

from nats.aio.client import Client
from nats.errors import BadHeaderError


class HeaderBlock(dict[str, str]):
    """Headers whose names are ours. A value that holds a line break is refused, never changed."""

    def encode(self) -> bytes:
        """The block as it goes over the wire.

        Raises:
            BadHeaderError: a value would begin a line of its own.
        """
        text = "".join([f"{name}: {value}\r\n" for name, value in self.items()])
        if text.count("\n") != len(self) or text.count("\r") != len(self):
            raise BadHeaderError("a header value holds a line break")
        return f"NATS/1.0\r\n{text}\r\n".encode()


class BlockClient(Client):
    """The client, with a short way for `HeaderBlock`. Every other message goes the client's own way."""

    async def _send_publish(
        self, subject: str, reply: str, payload: bytes, payload_size: int, headers: dict[str, Any] | None
    ) -> None:
        if not isinstance(headers, HeaderBlock):
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        block = headers.encode()
        line = f"HPUB {subject} {reply} {len(block)} {len(block) + payload_size}\r\n".encode()
        command = b"".join((line, block, payload, b"\r\n"))
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(command)
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()
