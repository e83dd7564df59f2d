"""The use cases that prepare a redeploy: may it be, what does it overwrite, what was deployed."""

import json
from uuid import UUID

from locktender.api.deployments.deploying.lineage import why_not
from locktender.api.deployments.examining.secret_form import needs_source, secret_form, stored_objects
from locktender.api.deployments.examining.templated import stored_package
from locktender.api.templates.packages import Packages
from locktender.contracts.deployments.flow import REDEPLOYABLE
from locktender.contracts.deployments.inputs import InputField
from locktender.contracts.deployments.models import ApplyOptions, ApplyState, Target, Timeline
from locktender.contracts.deployments.redeploy import (
    RedeployView,
    SourceView,
    StoredManifests,
    StoredNothing,
    StoredTemplate,
)
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.errors import NotFound
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import checked, form
from locktender.integrations.templates.written import written
from locktender.storage.deployments.reads import DeploymentReads, SourceRow

_TOUCHED = frozenset({ApplyState.APPLIED, ApplyState.UNCHANGED, ApplyState.APPLYING})


class RedeployQueries:
    """Looks at tasks that somebody may want to redeploy."""

    def __init__(self, reads: DeploymentReads, packages: Packages) -> None:
        self._reads = reads
        self._packages = packages

    async def outlook(self, workspace: str, task_id: UUID) -> RedeployView:
        """Whether the task can be redeployed at this moment, and what that means. The create decides anew.

        Raises:
            NotFound: this workspace has no such task.
        """
        row = await self._source(workspace, task_id)
        found = await self._reads.snapshot(workspace, task_id)
        if found is None:
            raise NotFound("deployment task", task_id)
        reason = None
        if row.status not in REDEPLOYABLE:
            reason = why_not(row.status)
        elif (winner := await self._reads.active_successor(workspace, task_id)) is not None:
            reason = f"the task is being redeployed by {winner}"
        timeline = Timeline.model_validate_json(found.timeline)
        applied = tuple(card.ref for card in timeline.cards if card.apply in _TOUCHED)
        stored = as_object(json.loads(row.source))
        return RedeployView(
            allowed=reason is None,
            reason=reason,
            source_needed=needs_source(stored),
            warning=_warning(applied),
            applied=applied,
            asks=await self._asks(stored),
        )

    async def source(self, workspace: str, task_id: UUID) -> SourceView:
        """What the task deploys as it is stored, so without secret values.

        Raises:
            NotFound: this workspace has no such task.
        """
        row = await self._source(workspace, task_id)
        stored = as_object(json.loads(row.source))
        return SourceView(
            id=row.id,
            display_name=row.display_name,
            source=_stored(stored),
            target=Target(project=row.project, namespace=row.namespace),
            server=row.server,
            apply=ApplyOptions.model_validate(stored["apply"]) if "apply" in stored else None,
        )

    async def _source(self, workspace: str, task_id: UUID) -> SourceRow:
        row = await self._reads.source(workspace, task_id)
        if row is None:
            raise NotFound("deployment task", task_id)
        return row

    async def _asks(self, stored: JsonObject) -> tuple[InputField, ...]:
        """The fields that the run of an unedited redeploy would ask for."""
        if stored.get("kind") == "manifests":
            return secret_form(stored)
        if stored.get("kind") != "template":
            return ()
        given = {key: as_text(value) for key, value in as_object(stored.get("inputs")).items()}
        variables = {key: as_text(value) for key, value in as_object(stored.get("variables")).items()}
        withheld = {as_text(name) for name in as_array(stored.get("sensitiveKeys"))}
        try:
            package = await stored_package(self._packages, stored)
            held, fields = await self._packages.worked(
                package.files,
                lambda: (checked(package, given, variables, pointer=""), form(package, given, variables)),
            )
        except TemplateFault:
            return ()
        if not withheld and not held.missing:
            return ()
        # Whoever is asked at all is asked for everything that is secret.
        asked = [each for each in fields if each.sensitive or each.key in withheld or each.key in held.missing]
        hidden = {"sensitive": True, "default": None}
        return tuple(each.model_copy(update=hidden) if each.key in withheld else each for each in asked)


def _stored(stored: JsonObject) -> StoredManifests | StoredTemplate | StoredNothing:
    keys = stored.get("sensitiveKeys")
    if stored.get("kind") == "manifests":
        names = {index: tuple(map(as_text, as_array(each))) for index, each in as_object(keys).items()}
        text = written([each.body for each in stored_objects(stored)])
        return StoredManifests(manifests=text, sensitive_keys=names)
    if stored.get("kind") != "template":
        return StoredNothing()
    name = as_text(stored.get("template")) or None
    files = as_object(stored.get("files"))
    return StoredTemplate(
        template=name,
        text=next(map(as_text, files.values()), None) if name is None else None,
        form=as_text(stored.get("form")),
        digest=as_text(stored.get("digest")),
        revision=as_text(stored.get("revision")) or None,
        inputs={key: as_text(value) for key, value in as_object(stored.get("inputs")).items()},
        sensitive_keys=tuple(map(as_text, as_array(keys))),
        variables={key: as_text(value) for key, value in as_object(stored.get("variables")).items()},
    )


def _warning(applied: tuple[ObjectRef, ...]) -> str | None:
    if not applied:
        return None
    names = ", ".join(f"{each.kind} {each.name}" for each in applied[:3])
    more = f" and {len(applied) - 3} more" if len(applied) > 3 else ""  # noqa: PLR2004 - as many as are named
    return f"redeploying overwrites what this task has applied: {names}{more}"
