"""The parts of one cluster, put together."""

import asyncio
from dataclasses import dataclass, field

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.auth import Tokens
from locktender.embedded.cluster.clock import LoopClock
from locktender.embedded.cluster.crds.kinds import CustomKinds
from locktender.embedded.cluster.faults import Faults
from locktender.embedded.cluster.journal import Saved
from locktender.embedded.cluster.ledger import Ledger
from locktender.embedded.cluster.objects import Key, Store
from locktender.embedded.cluster.policies.gate import POD_LIMIT, Gate
from locktender.embedded.cluster.resources import Registry
from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.writes import Author, Writer

_SERVER = Author("kube-apiserver")


@dataclass
class Cluster:
    """Everything that a request or a controller works on.

    Attributes:
        pods: how many pods the cluster takes at most.
    """

    clock: Clock = field(default_factory=LoopClock)
    registry: Registry = field(default_factory=Registry)
    store: Store = field(init=False)
    faults: Faults = field(default_factory=Faults)
    watches: set[asyncio.Event] = field(default_factory=set[asyncio.Event])
    pods: int = POD_LIMIT

    def __post_init__(self) -> None:
        # Milliseconds: a cluster that starts anew is ahead of all versions of its earlier life.
        self.store = Store(int(self.clock.now().timestamp() * 1000))
        self.tokens = Tokens(self.clock)
        self.ledger = Ledger(self.clock)
        self.kinds = CustomKinds(self.store, self.registry)
        self.writer = Writer(self.store, self.registry, self.clock)
        self.gate = Gate(self.store, self.registry, self.faults, self.pods)
        self.writer.admit = self.gate.admit
        self.found()

    def found(self) -> None:
        """Create what every new cluster has, where it is missing."""
        for name in ("default", "kube-system"):
            self._ensure("namespaces", "", {"metadata": {"name": name}})
        self._ensure("nodes", "", _node())
        self._ensure("storageclasses.storage.k8s.io", "", _storage_class())
        self._ensure("services", "default", _api_service())

    def restore(self, saved: Saved) -> None:
        """Go on from what another cluster saved. Call it before the cluster serves or its controllers run."""
        self.store.restore(saved.version, saved.objects)
        self.kinds.refresh()
        self.found()

    def end_watches(self) -> None:
        """End every open watch, so that the server can close."""
        for stop in self.watches:
            stop.set()
        self.store.wake()

    def reset(self) -> None:
        """An empty cluster again: no objects, faults or ledger entries. Watchers see the removals."""
        self.store.clear()
        self.faults.clear()
        self.ledger.clear()
        self.found()

    def _ensure(self, kind: str, namespace: str, obj: Obj) -> None:
        resource = self.registry.named(kind)
        if self.store.get(Key(kind, namespace, obj["metadata"]["name"])) is None:
            created = self.writer.create(resource, namespace, obj, _SERVER)
            if "status" in obj:
                self.writer.set_status(resource, created, obj["status"], _SERVER.manager)


def _node() -> Obj:
    capacity = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "metadata": {
            "name": "sandbox",
            "labels": {"kubernetes.io/hostname": "sandbox", "kubernetes.io/os": "linux"},
        },
        "spec": {"podCIDR": "10.244.0.0/16"},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "sandbox"}],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "sandbox",
                "containerRuntimeVersion": "sandbox://1",
                "kernelVersion": "sandbox",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.37.0",
                "machineID": "sandbox",
                "operatingSystem": "linux",
                "osImage": "sandbox",
                "systemUUID": "sandbox",
            },
        },
    }


def _storage_class() -> Obj:
    return {
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "sandbox.locktender.dev/disk",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }


def _api_service() -> Obj:
    spec = {"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443, "targetPort": 6443}]}
    return {"metadata": {"name": "kubernetes"}, "spec": spec}
