"""Shared observation of a cluster: who shares what, and what happens to it when streams and clusters break."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.errors import KubeDenied, KubeUnauthorized
from locktender.integrations.kube.informing.hub import InformerHub, Subscriber, informer_hub
from locktender.integrations.kube.informing.interest import Interest, Named, Selected
from locktender.integrations.kube.informing.pace import InformerPace
from locktender.integrations.kube.informing.view import Lost, Refused, Sure, View
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.resource import Resource
from locktender.runtime.clock import SystemClock
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.proxy import TcpProxy

MAPS = Resource("v1", "ConfigMap", "configmaps", namespaced=True)
PATH = "/api/v1/namespaces/default/configmaps"
QUICK = InformerPace(level=0.4, unwatched=0.1, linger=0.05)
RARE = InformerPace(level=600, silence=600, linger=0.05)
"""With this pace, nothing but the watch can bring news."""


@pytest.fixture
async def cluster() -> AsyncGenerator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


@asynccontextmanager
async def hub_of(pace: InformerPace = RARE) -> AsyncGenerator[InformerHub]:
    async with informer_hub(clock=SystemClock(), pace=pace) as hub:
        yield hub


class Looking:
    """A view, and a way to wait for what it shows."""

    def __init__(self, subscriber: Subscriber, interest: Interest, resource: Resource = MAPS) -> None:
        self._changed = asyncio.Event()
        self.view = subscriber.look(resource, "default", interest, self._changed.set)

    async def until(self, holds: Callable[[View], object], seconds: float = 10.0) -> View:
        try:
            async with asyncio.timeout(seconds):
                while not holds(self.view):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"still not: {self.view.standing} {dict(self.view.objects)}") from None
        return self.view

    async def shows(self, name: str, value: str) -> None:
        def holds(view: View) -> bool:
            body: Any = view.objects.get(name, {})
            return body.get("data", {}).get("a") == value

        await self.until(holds)


def known(view: View) -> bool:
    return view.standing is Sure.KNOWN


async def write(cluster: SandboxCluster, name: str, value: str, **labels: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "data": {"a": value},
    }
    code, _ = await cluster.request(
        "PATCH", f"{PATH}/{name}?fieldManager=test", body, content_type="application/apply-patch+yaml"
    )
    assert code in (200, 201)


async def counted(cluster: SandboxCluster) -> dict[str, int]:
    table = await cluster.fault_table()
    return {rule["verb"]: rule["hits"] for rule in table["rules"]}


async def count(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "watch"}, {"verb": "list"}, {"verb": "get"})


def behind(cluster: SandboxCluster, proxy: TcpProxy) -> ClusterAccess:
    return read_kubeconfig(cluster.kubeconfig.replace(cluster.server, f"https://127.0.0.1:{proxy.port}"))


def proxy_of(cluster: SandboxCluster) -> TcpProxy:
    where = urlsplit(cluster.server)
    return TcpProxy(where.hostname or "", where.port or 0)


async def test_twenty_who_look_at_one_namespace_share_one_list_and_one_watch(cluster: SandboxCluster) -> None:
    access = read_kubeconfig(cluster.kubeconfig)
    for number in range(20):
        await write(cluster, f"c{number}", "1")
    await count(cluster)
    async with hub_of() as hub:
        with hub.subscribed(access) as one, hub.subscribed(access) as other:
            looking = [Looking(one if number % 2 else other, Named(f"c{number}")) for number in range(20)]
            for each in looking:
                await each.until(known)
            await write(cluster, "c7", "2")
            await looking[7].shows("c7", "2")
        assert await counted(cluster) == {"watch": 1, "list": 1, "get": 0}


async def test_who_comes_later_is_served_by_the_same_watch(cluster: SandboxCluster) -> None:
    access = read_kubeconfig(cluster.kubeconfig)
    await write(cluster, "early", "1", app="web")
    await write(cluster, "late", "1")
    async with hub_of() as hub:
        with hub.subscribed(access) as subscriber:
            first, second = Looking(subscriber, Named("early")), Looking(subscriber, Selected("app in (web),!old"))
            await first.until(known)
            await second.until(known)
            await write(cluster, "early", "2", app="web")
            await first.shows("early", "2")
            await count(cluster)
            third, fourth = Looking(subscriber, Named("late")), Looking(subscriber, Selected("app=web"))
            await third.shows("late", "1")
            await fourth.shows("early", "2")
            await write(cluster, "late", "2")
            await third.shows("late", "2")
            assert (await counted(cluster))["watch"] == 0
            await write(cluster, "early", "1", app="other")
            await second.until(lambda view: not view.objects)
            await fourth.until(lambda view: not view.objects)
            assert "early" in first.view.objects


async def test_a_view_shows_births_and_deaths_and_nothing_else(cluster: SandboxCluster) -> None:
    async with hub_of() as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            looking = Looking(subscriber, Named("x"))
            assert not (await looking.until(known)).objects
            await write(cluster, "x", "1")
            await write(cluster, "y", "1")
            await looking.shows("x", "1")
            assert set(looking.view.objects) == {"x"}
            assert "managedFields" not in str(looking.view.objects)
            await cluster.request("DELETE", f"{PATH}/x")
            await looking.until(lambda view: not view.objects)
            assert hub.status() == {"accounts": 1, "informers": 1, "watches": 1, "objects": 0}


async def test_nobody_sees_anything_through_the_rights_of_another(cluster: SandboxCluster) -> None:
    token = await cluster.add_token("dev", rules=({"effect": "deny", "verbs": ["list", "watch"]},))
    await write(cluster, "x", "1")
    async with hub_of() as hub:
        with (
            hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as admin,
            hub.subscribed(read_kubeconfig(cluster.kubeconfig_for(token))) as dev,
        ):
            allowed, denied = Looking(admin, Named("x")), Looking(dev, Named("x"))
            await allowed.shows("x", "1")
            view = await denied.until(lambda view: isinstance(view.standing, Refused))
            assert not view.objects
            assert isinstance(view.standing, Refused)
            assert isinstance(view.standing.error, KubeDenied)
            assert hub.status()["accounts"] == 2


async def test_a_token_that_expires_is_told_to_all_who_look_with_it(cluster: SandboxCluster) -> None:
    await write(cluster, "x", "1")
    async with hub_of(QUICK) as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            looking = Looking(subscriber, Named("x"))
            await looking.until(known)
            await cluster.faults({"verb": "list", "status": 401})
            view = await looking.until(lambda view: isinstance(view.standing, Refused))
            assert isinstance(view.standing, Refused)
            assert isinstance(view.standing.error, KubeUnauthorized)
            await cluster.faults()
            again = Looking(subscriber, Named("x"))
            await again.shows("x", "1")


async def test_who_may_list_and_not_watch_is_served_by_lists(cluster: SandboxCluster) -> None:
    token = await cluster.add_token("dev", rules=({"effect": "deny", "verbs": ["watch"]},))
    async with hub_of(QUICK) as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig_for(token))) as subscriber:
            looking = Looking(subscriber, Named("x"))
            await looking.until(known)
            await write(cluster, "x", "1")
            await looking.shows("x", "1")
            assert hub.status()["watches"] == 0


async def test_beyond_the_bound_on_watches_lists_do_the_work(cluster: SandboxCluster) -> None:
    pace = InformerPace(level=600, silence=600, unwatched=0.1, watches=1)
    secrets = Resource("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
    async with hub_of(pace) as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            first = Looking(subscriber, Named("x"), secrets)
            await first.until(known)
            await asyncio.sleep(0)
            second = Looking(subscriber, Named("x"))
            await second.until(known)
            await write(cluster, "x", "1")
            await second.shows("x", "1")
            assert hub.status()["watches"] == 1


async def test_a_watch_from_a_forgotten_version_begins_with_a_new_list(cluster: SandboxCluster) -> None:
    await write(cluster, "x", "1")
    await cluster.faults({"verb": "watch", "status": 410, "count": 1})
    async with hub_of() as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            looking = Looking(subscriber, Named("x"))
            await looking.shows("x", "1")
            await write(cluster, "x", "2")
            await looking.shows("x", "2")


@pytest.mark.parametrize("trouble", [{"drop": True}, {"cut": True}, {"status": 500}, {"status": 429, "retry_after": 1}])
async def test_a_watch_that_breaks_is_begun_again_and_nothing_is_missed(
    cluster: SandboxCluster, trouble: dict[str, Any]
) -> None:
    await write(cluster, "x", "1")
    async with hub_of() as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            await cluster.faults({"verb": "watch", "count": 2} | trouble)
            looking = Looking(subscriber, Named("x"))
            await looking.shows("x", "1")
            for value in ("2", "3", "4"):
                await write(cluster, "x", value)
                await looking.shows("x", value)
            assert looking.view.standing is Sure.KNOWN


async def test_a_reset_of_all_connections_is_healed(cluster: SandboxCluster) -> None:
    await write(cluster, "x", "1")
    async with proxy_of(cluster) as proxy, hub_of() as hub:
        with hub.subscribed(behind(cluster, proxy)) as subscriber:
            looking = Looking(subscriber, Named("x"))
            await looking.shows("x", "1")
            await proxy.reset()
            await write(cluster, "x", "2")
            await looking.shows("x", "2")


async def test_a_watch_that_falls_silent_without_an_end_is_noticed(cluster: SandboxCluster) -> None:
    pace = InformerPace(level=600, silence=0.5, connect=0.5, read=0.5)
    await write(cluster, "x", "1")
    async with proxy_of(cluster) as proxy, hub_of(pace) as hub:
        with hub.subscribed(behind(cluster, proxy)) as subscriber:
            looking = Looking(subscriber, Named("x"))
            await looking.shows("x", "1")
            proxy.blackhole()
            await write(cluster, "x", "2")
            lost = await looking.until(lambda view: isinstance(view.standing, Lost))
            assert set(lost.objects) == {"x"}
            await proxy.heal()
            await looking.shows("x", "2")
            await looking.until(known)


async def test_a_cluster_that_is_away_is_lost_since_a_moment_and_read_anew_when_it_is_back(
    cluster: SandboxCluster,
) -> None:
    await write(cluster, "x", "1")
    await write(cluster, "y", "1")
    async with proxy_of(cluster) as proxy, hub_of() as hub:
        with hub.subscribed(behind(cluster, proxy)) as subscriber:
            x, y = Looking(subscriber, Named("x")), Looking(subscriber, Named("y"))
            await x.shows("x", "1")
            await proxy.cut()
            lost = await x.until(lambda view: isinstance(view.standing, Lost))
            await y.until(lambda view: isinstance(view.standing, Lost))
            assert isinstance(lost.standing, Lost)
            assert lost.standing.since <= SystemClock().now()
            await write(cluster, "x", "2")
            await cluster.request("DELETE", f"{PATH}/y")
            await proxy.heal()
            await x.shows("x", "2")
            await y.until(lambda view: known(view) and not view.objects)


async def test_what_a_watch_does_not_tell_is_found_by_the_next_full_list(cluster: SandboxCluster) -> None:
    # A watch of this account never shows a change: what it asks for is answered late, and then with nothing.
    await cluster.faults({"verb": "watch", "latency": 3600})
    async with hub_of(InformerPace(level=0.3, silence=600, linger=0.05)) as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            looking = Looking(subscriber, Named("x"))
            await looking.until(known)
            await write(cluster, "x", "1")
            await looking.shows("x", "1")


async def test_the_last_who_looks_takes_watch_and_credentials_along(cluster: SandboxCluster) -> None:
    access = read_kubeconfig(cluster.kubeconfig)
    async with hub_of() as hub:
        with hub.subscribed(access) as first:
            looking = Looking(first, Named("x"))
            await looking.until(known)
        with hub.subscribed(access) as second:
            await Looking(second, Named("x")).until(known)
            await asyncio.sleep(3 * RARE.linger)
            assert hub.status()["watches"] == 1
        nothing = {"accounts": 0, "informers": 0, "watches": 0, "objects": 0}
        async with asyncio.timeout(5):
            while hub.status() != nothing:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.01)


async def test_a_hub_that_ends_leaves_no_connection_behind(cluster: SandboxCluster) -> None:
    async with hub_of() as hub:
        with hub.subscribed(read_kubeconfig(cluster.kubeconfig)) as subscriber:
            await Looking(subscriber, Named("x")).until(known)
            assert hub.status()["watches"] == 1
    assert hub.status()["watches"] == 0
