import asyncio
import json

import pytest

from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime import health as health_module
from locktender.runtime.health import Health, serve_health
from locktender.runtime.stop import Stop


async def fine() -> None:
    await asyncio.sleep(0)


async def broken() -> None:
    raise Unavailable("no connection to NATS")


async def leaking() -> None:
    raise ValueError("postgresql://joe:hunter22@db")


async def get(port: int, request: str) -> tuple[int, dict[str, object]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{request} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), json.loads(body)


async def test_ready_when_every_check_passes() -> None:
    health = Health(Stop())
    health.opened()
    health.add("database", fine)
    async with serve_health(health, 0, "127.0.0.1") as port:
        assert await get(port, "GET /readyz") == (200, {"ready": True, "checks": {"database": {"ok": True}}})
        assert await get(port, "GET /healthz") == (200, {"alive": True})


async def test_a_failed_check_is_named_and_shows_no_foreign_text() -> None:
    health = Health(Stop())
    health.opened()
    health.add("database", leaking)
    health.add("bus", broken)
    health.add("disk", fine)
    async with serve_health(health, 0, "127.0.0.1") as port:
        status, body = await get(port, "GET /readyz")
        assert status == 503
        assert body["checks"] == {
            "disk": {"ok": True},
            "database": {"ok": False, "reason": "ValueError"},
            "bus": {"ok": False, "reason": "no connection to NATS"},
        }
        assert (await get(port, "GET /healthz"))[0] == 200


async def test_a_check_that_hangs_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "CHECK_SECONDS", 0.05)
    health = Health(Stop())
    health.opened()
    health.add("database", asyncio.Event().wait)
    report = await health.report()
    assert report.faults == {"database": "no answer within 0.05 s"}


async def test_a_process_that_has_not_opened_is_alive_but_not_ready() -> None:
    async with serve_health(Health(Stop()), 0, "127.0.0.1") as port:
        assert (await get(port, "GET /readyz"))[0] == 503
        assert (await get(port, "GET /healthz"))[0] == 200


async def test_a_stopping_process_is_alive_but_not_ready() -> None:
    stop = Stop()
    stop.request()
    async with serve_health(Health(stop), 0, "127.0.0.1") as port:
        assert (await get(port, "GET /readyz"))[0] == 503
        assert (await get(port, "GET /healthz"))[0] == 200


async def test_other_requests_are_told_what_there_is() -> None:
    async with serve_health(Health(Stop()), 0, "127.0.0.1") as port:
        assert (await get(port, "GET /metrics"))[0] == 404
        assert (await get(port, "POST /healthz"))[0] == 405


async def test_rubbish_and_silence_end_nothing() -> None:
    async with serve_health(Health(Stop()), 0, "127.0.0.1") as port:
        for rubbish in (b"", b"\x00" * 100, b"x" * 100_000):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(rubbish)
            writer.close()
        assert (await get(port, "GET /healthz"))[0] == 200


async def test_a_taken_port_says_which_setting_to_change() -> None:
    async with serve_health(Health(Stop()), 0, "127.0.0.1") as port:
        with pytest.raises(Unavailable, match="LOCKTENDER_HEALTH_PORT"):
            async with serve_health(Health(Stop()), port, "127.0.0.1"):
                pass
