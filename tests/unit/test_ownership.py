"""Who owns which field after a handover, without a cluster."""

from typing import Any

from locktender.integrations.kube.ownership import handover


def entry(manager: str, operation: str, fields: dict[str, Any], **rest: str) -> dict[str, Any]:
    plausible = {"apiVersion": "v1", "fieldsType": "FieldsV1", "time": "2030-01-01T00:00:00Z"}
    return {"manager": manager, "operation": operation, **plausible, **rest, "fieldsV1": fields}


def live(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "x", "resourceVersion": "7", "managedFields": list(entries)}}


CSA = "kubectl-client-side-apply"
A, B = {"f:data": {"f:a": {}}}, {"f:data": {".": {}, "f:b": {}}}


def test_nothing_is_handed_over_where_no_such_manager_owns_anything() -> None:
    assert handover(live(entry("locktender", "Apply", A), entry("hpa", "Update", B)), [CSA]) is None
    assert handover({"metadata": {}}, [CSA]) is None


def test_fields_of_a_named_manager_become_ours() -> None:
    change = handover(live(entry(CSA, "Update", A), entry("hpa", "Update", B)), [CSA])
    assert change is not None
    mine, other = change.managed_fields
    assert mine == entry("locktender", "Apply", A)
    assert other == entry("hpa", "Update", B)
    assert (change.resource_version, change.managers) == ("7", (CSA,))


def test_they_join_what_is_ours_already() -> None:
    change = handover(live(entry("locktender", "Apply", A), entry(CSA, "Update", B)), [CSA])
    assert change is not None
    [mine] = change.managed_fields
    assert isinstance(mine, dict)
    assert mine["fieldsV1"] == {"f:data": {".": {}, "f:a": {}, "f:b": {}}}


def test_what_we_own_by_plain_updates_counts_as_well() -> None:
    change = handover(live(entry("locktender", "Update", A)), [])
    assert change is not None
    assert change.managed_fields == [entry("locktender", "Apply", A)]


def test_the_status_and_other_subresources_stay_with_whoever_writes_them() -> None:
    status = entry(CSA, "Update", {"f:status": {}}, subresource="status")
    assert handover(live(status), [CSA]) is None
    change = handover(live(status, entry(CSA, "Update", A)), [CSA])
    assert change is not None
    assert status in change.managed_fields


def test_fields_of_another_api_version_lose_their_owner() -> None:
    old = entry(CSA, "Update", B, apiVersion="v1beta1")
    change = handover(live(entry("locktender", "Apply", A), old), [CSA])
    assert change is not None
    assert change.managed_fields == [entry("locktender", "Apply", A)]


def test_the_object_that_was_read_is_not_changed() -> None:
    body = live(entry("locktender", "Apply", A), entry(CSA, "Update", B))
    before = str(body)
    handover(body, [CSA])
    assert str(body) == before
