"""A client that is interrupted holds on to no connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.nats_rig import eventually
from locktender.testkit.proxy import TcpProxy


@asynccontextmanager
async def client_of(cluster: SandboxCluster) -> AsyncGenerator[tuple[KubeClient, TcpProxy]]:
    where = urlsplit(cluster.server)
    async with TcpProxy(where.hostname or "", where.port or 0) as proxy:
        access = replace(read_kubeconfig(cluster.kubeconfig), server=f"https://127.0.0.1:{proxy.port}")
        yield KubeClient(access), proxy


async def test_a_client_that_is_cancelled_while_it_closes_closes_every_connection(cluster: SandboxCluster) -> None:
    async with client_of(cluster) as (client, proxy):
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(client.version())
        assert proxy.connections == 5
        async with asyncio.TaskGroup() as group:
            closing = group.create_task(client.aclose())
            await asyncio.sleep(0)
            closing.cancel()
        assert closing.cancelled()

        async def closed() -> bool:
            return proxy.connections == 0

        await eventually(closed, 5)


async def test_a_call_that_is_cancelled_in_its_handshake_closes_its_connection(cluster: SandboxCluster) -> None:
    async with client_of(cluster) as (client, proxy):
        proxy.blackhole()

        async def connected() -> bool:
            return proxy.connections == 1

        async def closed() -> bool:
            return proxy.connections == 0

        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.version())
            await eventually(connected, 5)
            call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        await proxy.heal()
        await eventually(closed, 5)
        await client.aclose()
