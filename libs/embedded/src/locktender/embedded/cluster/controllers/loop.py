"""The loop that runs the controllers: a queue of keys and timers on the injected clock; idle when nothing happens."""

import asyncio
import heapq
import logging
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.apiservices import ApiServiceController
from locktender.embedded.cluster.controllers.autoscalers import AutoscalerController
from locktender.embedded.cluster.controllers.budgets import BudgetController
from locktender.embedded.cluster.controllers.claims import ClaimController
from locktender.embedded.cluster.controllers.cronjobs import CronJobController
from locktender.embedded.cluster.controllers.daemonsets import DaemonSetController
from locktender.embedded.cluster.controllers.deployments import DeploymentController
from locktender.embedded.cluster.controllers.garbage import GarbageController
from locktender.embedded.cluster.controllers.gateways import GatewayController, RouteController
from locktender.embedded.cluster.controllers.ingresses import IngressController
from locktender.embedded.cluster.controllers.jobs import JobController
from locktender.embedded.cluster.controllers.namespaces import NamespaceController
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.controllers.pods import PodController
from locktender.embedded.cluster.controllers.quotas import QuotaController
from locktender.embedded.cluster.controllers.recorder import EventController
from locktender.embedded.cluster.controllers.replicasets import ReplicaSetController
from locktender.embedded.cluster.controllers.services import ServiceController
from locktender.embedded.cluster.controllers.statefulsets import StatefulSetController
from locktender.embedded.cluster.controllers.volumes import VolumeController
from locktender.embedded.cluster.crds.establish import DefinitionController
from locktender.embedded.cluster.objects import Change, Key

_RETRY = 1.0
_BATCH = 200
# Seconds of the machine after which requests have their turn again.
_TURN = 0.02
_log = logging.getLogger(__name__)


class Controller(Protocol):
    """Makes one kind live."""

    def keys(self, change: Change) -> Iterable[Key]:
        """The objects of this controller that a change concerns."""
        ...

    def reconcile(self, key: Key) -> float | None:
        """Bring one object a step further; it may be gone. Returns the seconds after which to look again."""
        ...


_Item: TypeAlias = tuple[Controller, Key]


class ControllerLoop:
    """Runs the controllers of one cluster, each object by itself and never two at a time."""

    def __init__(self, cluster: Cluster, pace: Pace) -> None:
        plane = Plane(cluster, pace)
        self._cluster = cluster
        self._clock = cluster.clock
        self._controllers: tuple[Controller, ...] = (
            NamespaceController(plane),
            DefinitionController(plane),
            GarbageController(plane),
            DeploymentController(plane),
            ReplicaSetController(plane),
            ReplicaSetController(plane, "replicationcontrollers", "ReplicationController"),
            StatefulSetController(plane),
            DaemonSetController(plane),
            CronJobController(plane),
            JobController(plane),
            AutoscalerController(plane),
            BudgetController(plane),
            QuotaController(plane),
            VolumeController(plane),
            ClaimController(plane),
            PodController(plane),
            ServiceController(plane),
            IngressController(plane),
            ApiServiceController(plane),
            GatewayController(plane),
            RouteController(plane),
            EventController(cluster),
        )
        # A dict as an ordered set: an object that is queued already is not queued twice.
        self._queue: dict[_Item, None] = {}
        self._due: dict[_Item, float] = {}
        self._timers: list[tuple[float, int, _Item]] = []
        self._sequence = 0
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled."""
        for resource in self._cluster.registry:
            for obj in self._cluster.store.select(resource.qualified):
                key = Key(resource.qualified, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
                self._look(Change(0, "ADDED", key, None, obj))
        self._cluster.store.listen(self._look)
        async with asyncio.TaskGroup() as group:
            while True:
                await self._work()
                alarm = group.create_task(self._ring()) if self._timers else None
                await self._wake.wait()
                if alarm is not None:
                    alarm.cancel()

    def _look(self, change: Change) -> None:
        for controller in self._controllers:
            for key in controller.keys(change):
                self._queue[controller, key] = None
        self._wake.set()

    async def _work(self) -> None:
        self._wake.clear()
        done, since = 0, asyncio.get_running_loop().time()
        self._take_due()
        while self._queue:
            item = next(iter(self._queue))
            del self._queue[item]
            self._reconcile(item)
            done += 1
            if done % _BATCH == 0 or asyncio.get_running_loop().time() - since > _TURN:
                await asyncio.sleep(0)
                since = asyncio.get_running_loop().time()

    def _reconcile(self, item: _Item) -> None:
        controller, key = item
        try:
            delay = controller.reconcile(key)
        except Exception:  # noqa: BLE001 - one bad object must not stop the others; it is looked at again
            _log.exception("the controller of %s failed", key.kind)
            delay = _RETRY
        if delay is not None:
            self._later(item, self._clock.monotonic() + max(delay, 0.0))

    def _later(self, item: _Item, due: float) -> None:
        if item in self._due and self._due[item] <= due:
            return
        self._due[item] = due
        self._sequence += 1
        heapq.heappush(self._timers, (due, self._sequence, item))

    def _take_due(self) -> None:
        now = self._clock.monotonic()
        while self._timers and self._timers[0][0] <= now:
            due, _, item = heapq.heappop(self._timers)
            if self._due.get(item) == due:
                del self._due[item]
                self._queue[item] = None

    async def _ring(self) -> None:
        await self._clock.sleep(max(0.0, self._timers[0][0] - self._clock.monotonic()))
        self._wake.set()
