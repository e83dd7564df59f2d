"""Making a volume for a claim, or saying why there is none."""

from dataclasses import dataclass

from locktender.embedded.cluster.controllers.plane import CLAIMS, Plane
from locktender.embedded.cluster.controllers.script import word
from locktender.embedded.cluster.controllers.volumes import VOLUMES
from locktender.embedded.cluster.shapes import Obj, clone, name_of, namespace_of, obj_at, text_at, uid_of

_IN_TREE = "kubernetes.io/"
# Provisioners that were once part of Kubernetes and are known everywhere.
_KNOWN = frozenset({"aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "portworx-volume", "vsphere-volume"})
_BY_HAND = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class NoVolume:
    """The event that tells why no volume is made."""

    reason: str
    message: str
    normal: bool = False


def refusal_of(claim: Obj, storage_class: Obj) -> NoVolume | None:
    """Why the provisioner of a class makes no volume for a claim now, None when it does."""
    provisioner = text_at(storage_class, "provisioner")
    if provisioner == _BY_HAND:
        message = "no persistent volumes available for this claim and no storage class is set"
        return NoVolume("FailedBinding", message, normal=True)
    if provisioner.startswith(_IN_TREE) and provisioner.removeprefix(_IN_TREE) not in _KNOWN:
        return NoVolume("ProvisioningFailed", f"no volume plugin matched name: {provisioner}")
    if word(storage_class) == "never" or "does-not-exist" in provisioner:
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        return NoVolume("ExternalProvisioning", message, normal=True)
    if "fail" in (word(storage_class), word(claim)):
        message = (
            f'failed to provision volume with StorageClass "{name_of(storage_class)}": rpc error: '
            "code = ResourceExhausted desc = no space left in the pool"
        )
        return NoVolume("ProvisioningFailed", message)
    return None


def provision(plane: Plane, claim: Obj, storage_class: Obj) -> Obj:
    """The volume made for a claim; the same one when it is made again."""
    name = f"pvc-{uid_of(claim)}"
    known = plane.get(VOLUMES, "", name)
    if known is not None:
        return known
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "uid": uid_of(claim)}
    provisioner = text_at(storage_class, "provisioner")
    volume: Obj = {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": provisioner}},
        "spec": {
            "capacity": {"storage": obj_at(claim, "spec", "resources", "requests").get("storage") or "1Gi"},
            "accessModes": clone(obj_at(claim, "spec").get("accessModes", [])),
            "storageClassName": name_of(storage_class),
            "persistentVolumeReclaimPolicy": text_at(storage_class, "reclaimPolicy") or "Delete",
            "claimRef": reference | {"namespace": namespace_of(claim), "name": name_of(claim)},
            "csi": {"driver": provisioner, "volumeHandle": name},
        },
    }
    created = plane.create(VOLUMES, "", volume)
    plane.tell(CLAIMS, claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name}", normal=True)
    return created
