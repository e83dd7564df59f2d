"""The dry run of one document: look at the object, let the cluster try, tell the difference."""

from collections.abc import Collection

from locktender.contracts.deployments.models import ApplyOptions
from locktender.contracts.deployments.plan import PlannedAction, PlannedDocument, PlanWarning
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.client import ABSENT, Applied, Known, KubeClient, Outcome
from locktender.integrations.kube.desired import Desired, desired
from locktender.integrations.kube.diff import FieldDiff, field_diff
from locktender.integrations.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeImmutable,
    KubeNotFound,
    KubeUnknownKind,
)
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.live import Live, live_of
from locktender.integrations.kube.naming import named
from locktender.integrations.kube.ownership import handover
from locktender.integrations.kube.planning import verdicts
from locktender.integrations.kube.planning.asking import Asking, Item, about_one
from locktender.integrations.kube.planning.leaving import without_leaving
from locktender.integrations.kube.planning.surroundings import Place, Surroundings
from locktender.integrations.kube.stamps import MANAGER, Stamp, stamped

_UNREADABLE = "the account may not read it, so what would change cannot be told"


class DryRun:
    """The dry runs of one survey. `secrets` are texts that may not show anywhere."""

    def __init__(
        self,
        client: KubeClient,
        around: Surroundings,
        asking: Asking,
        namespace: str | None,
        options: ApplyOptions,
        stamp: Stamp,
        secrets: Collection[str],
    ) -> None:
        self._client = client
        self._around = around
        self._asking = asking
        self._namespace = namespace
        self._options = options
        self._stamp = stamp
        self._secrets = secrets

    async def verdict(self, item: Item) -> tuple[PlannedDocument, Live | None]:
        """The line of the plan for `item`, and what to remember of its object if there is one.

        Raises:
            KubeUnauthorized, KubeUnavailable: not about this document, but about the cluster.
        """
        resource = self._around.kinds[item.ref.api_version, item.ref.kind]
        if isinstance(resource, KubeError):
            return self._unserved(item, resource), None
        namespace = self._client.namespace_of(resource, item.ref.namespace or self._namespace)
        ref = item.ref.model_copy(update={"namespace": namespace})
        place, brought = self._around.place(namespace), namespace in self._around.brought
        warnings = [verdicts.terminating(namespace)] if place is Place.TERMINATING else []
        if place is Place.MISSING or (place is Place.TERMINATING and brought):
            return verdicts.no_namespace(item.index, ref, warnings, brought=brought), None
        try:
            return await self._looked_at(item, ref, warnings)
        except KubeError as error:
            about_one(error)
            if isinstance(error, KubeNotFound) and brought:
                return verdicts.no_namespace(item.index, ref, warnings, brought=True), None
            return verdicts.refused(item.index, ref, error, warnings=warnings), None

    def _unserved(self, item: Item, error: KubeError) -> PlannedDocument:
        if isinstance(error, KubeUnknownKind) and self._around.defines(item.ref):
            return verdicts.later(item.index, item.ref, "known once its definition is applied")
        return verdicts.refused(item.index, item.ref, error)

    async def _looked_at(
        self, item: Item, ref: ObjectRef, warnings: list[PlanWarning]
    ) -> tuple[PlannedDocument, Live | None]:
        body = named(item.body, self._stamp.task_id, item.index)
        there, known = await self._read(ref, body)
        managers = self._options.migrate_from
        want = desired(body, live=there, autoscalers=self._around.autoscalers, ours=(MANAGER, *managers))
        given = None if there is None else handover(there, managers)
        if given is not None:
            warnings.append(verdicts.migrated(given.managers))
        written = "replicas" in as_object(body.get("spec"))
        warnings += verdicts.warnings_before(want, written=written, exists=there is not None)
        live = known if isinstance(known, Live) else None
        try:
            applied = await self._tried(want, known)
        except KubeConflict as error:
            told = self._others(error)
            return verdicts.refused(item.index, ref, told, warnings=warnings), live
        except KubeImmutable as error:
            changes = FieldDiff(()) if there is None else self._diff(there, want.body, partial=True)
            refusal = verdicts.refused(
                item.index, ref, error, changes=changes, replace=self._options.replace, warnings=warnings
            )
            return refusal, live
        warnings += verdicts.said(applied.warnings)
        if applied.outcome is Outcome.CREATED:
            return verdicts.settled(item.index, ref, PlannedAction.CREATE, FieldDiff(()), warnings), live
        if there is None:
            return verdicts.later(item.index, ref, _UNREADABLE, warnings), live
        after = applied.body if given is None else without_leaving(applied.body, stamped(want.body, self._stamp), given)
        changes = self._diff(there, after)
        action = PlannedAction.CHANGE if changes.changes else PlannedAction.UNCHANGED
        return verdicts.settled(item.index, ref, action, changes, warnings), live

    async def _read(self, ref: ObjectRef, body: JsonObject) -> tuple[JsonObject | None, Known]:
        real = ref.model_copy(update={"name": as_text(as_object(body.get("metadata")).get("name"))})
        try:
            there = await self._asking.ask(lambda: self._client.get(real, namespace=self._namespace))
        except KubeDenied:
            return None, None
        return there, ABSENT if there is None else live_of(there)

    async def _tried(self, want: Desired, known: Known) -> Applied:
        try:
            return await self._apply(want, known, force=self._options.force)
        except KubeConflict as error:
            giving = {*self._options.migrate_from, MANAGER}
            if not error.causes or any(cause.manager not in giving for cause in error.causes):
                raise
        # Their fields will be ours by then, so there will be no conflict.
        return await self._apply(want, known, force=True)

    async def _apply(self, want: Desired, known: Known, *, force: bool) -> Applied:
        body = stamped(want.body, self._stamp)
        return await self._asking.ask(
            lambda: self._client.apply(body, dry_run=True, force=force, namespace=self._namespace, known=known)
        )

    def _others(self, error: KubeConflict) -> KubeConflict:
        """The conflict without the fields that will be ours by then."""
        left = [cause for cause in error.causes if cause.manager not in self._options.migrate_from]
        return error if len(left) == len(error.causes) else KubeConflict(str(error), left, hint=error.hint)

    def _diff(self, before: JsonObject, after: JsonObject, *, partial: bool = False) -> FieldDiff:
        return field_diff(before, after, partial=partial, secrets=self._secrets)
