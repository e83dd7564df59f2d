"""Everything of deployment tasks that the API serves, put together."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.canvas.controller import CanvasRoutes
from locktender.api.deployments.canvas.placing import PlaceOnCanvas
from locktender.api.deployments.deciding.cancel import CancelDeployment
from locktender.api.deployments.deciding.controller import DecidingRoutes
from locktender.api.deployments.deciding.input import SubmitInputs
from locktender.api.deployments.deploying.controller import DeployingRoutes
from locktender.api.deployments.deploying.create import CreateDeployment
from locktender.api.deployments.deploying.lineage import Lineage
from locktender.api.deployments.deploying.preview import PreviewDeployment
from locktender.api.deployments.deploying.redeploy import RedeployQueries
from locktender.api.deployments.examining.examiner import Examiner
from locktender.api.deployments.examining.manifested import ManifestExaminer
from locktender.api.deployments.examining.templated import TemplateExaminer
from locktender.api.deployments.reading.controller import ReadingRoutes
from locktender.api.deployments.reading.queries import DeploymentQueries, ProjectionQueries
from locktender.api.deployments.watching.side import open_watching
from locktender.api.events.fanout import Fanout
from locktender.api.http.auth import Gate
from locktender.api.http.idempotency import Digests
from locktender.api.http.paging import Cursors
from locktender.api.http.tracing import Tracing
from locktender.api.settings import ApiSettings
from locktender.api.templates.side import TemplateSide
from locktender.runtime.custody import Custodian, CustodyLimits
from locktender.runtime.service import Service
from locktender.storage.deployments.projections import ProjectionReads
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database


@dataclass(frozen=True, slots=True)
class DeploymentSide:
    """The routes, the memory of credentials, and what feeds the streams."""

    handlers: list[HTTPRouteHandler]
    custodian: Custodian
    fanout: Fanout

    def close(self) -> None:
        """End the streams, so that the server can drain."""
        self.fanout.close()


@asynccontextmanager
async def open_deployments(
    service: Service[ApiSettings], database: Database, gate: Gate, key: bytes, templates: TemplateSide
) -> AsyncGenerator[DeploymentSide]:
    """Deployment tasks for the life of a process. Credentials are given to runners for as long as the block lasts.

    Args:
        service: the process.
        database: the record.
        gate: in front of every route that people use.
        key: signs cursors and keys the digests of idempotent requests.
        templates: packages and their rendering.
    """
    settings, marks, reads = service.settings, ProjectionReads(database), DeploymentReads(database)
    queries = DeploymentQueries(reads, Cursors(key), settings.deadlines)
    projections = ProjectionQueries(marks, settings.limits.grace_seconds)
    custodian_name = service.owner.replace("/", "-")
    custodian = _custodian(service, custodian_name, reads)
    given = _Given(
        service=service, gate=gate, key=key, templates=templates, reads=reads, writes=DeploymentWrites(database),
        custodian=custodian, custodian_name=custodian_name,
        tracing=Tracing(exported=settings.otlp_endpoint is not None),
    )  # fmt: skip
    reading = ReadingRoutes(gate=gate, queries=queries, projections=projections, limits=settings.limits)
    parts = (_deploying(given), _deciding(given), reading, _canvas(given, queries, projections))
    watched = open_watching(service, gate, marks=marks, queries=queries, projections=projections)
    async with watched as watching, custodian.serving(service.bus):
        routes = [handler for part in parts for handler in part.handlers()]
        yield DeploymentSide([*routes, *watching.handlers], custodian, watching.fanout)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the commands stand on."""

    service: Service[ApiSettings]
    gate: Gate
    key: bytes
    templates: TemplateSide
    reads: DeploymentReads
    writes: DeploymentWrites
    custodian: Custodian
    custodian_name: str
    tracing: Tracing


def _custodian(service: Service[ApiSettings], name: str, reads: DeploymentReads) -> Custodian:
    settings = service.settings
    return Custodian(
        name,
        clock=service.clock,
        verify=lambda task_id, epoch: reads.custody_workspace(task_id, epoch, name),
        limits=CustodyLimits(total_bytes=settings.custody_bytes, item_bytes=settings.limits.max_secret_bytes),
    )


def _deploying(given: _Given) -> DeployingRoutes:
    service, settings, templates = given.service, given.service.settings, given.templates
    examiner, lineage = _examiner(settings, templates), Lineage(given.reads, settings.deadlines)
    create = CreateDeployment(
        writes=given.writes, reads=given.reads, custodian=given.custodian, custodian_name=given.custodian_name,
        examiner=examiner, lineage=lineage, digests=Digests(given.key), deadlines=settings.deadlines,
        bus=service.bus, faults=service.faults,
    )  # fmt: skip
    preview = PreviewDeployment(
        examiner=examiner, lineage=lineage, renderer=templates.renderer, manifests=settings.manifests,
        limits=settings.preview, clock=service.clock,
    )  # fmt: skip
    return DeployingRoutes(
        gate=given.gate,
        create=create,
        preview=preview,
        redeploys=RedeployQueries(given.reads, templates.packages),
        body_seconds=settings.limits.body_seconds,
        tracing=given.tracing,
    )


def _examiner(settings: ApiSettings, templates: TemplateSide) -> Examiner:
    most = settings.limits.max_secret_bytes
    return Examiner(
        manifests=ManifestExaminer(limits=settings.manifests, max_secret_bytes=most),
        templates=TemplateExaminer(packages=templates.packages, platforms=settings.platforms, max_secret_bytes=most),
        noop_runner=settings.noop_runner,
    )


def _deciding(given: _Given) -> DecidingRoutes:
    service, settings = given.service, given.service.settings
    submit = SubmitInputs(
        writes=given.writes, reads=given.reads, custodian=given.custodian, custodian_name=given.custodian_name,
        packages=given.templates.packages, max_secret_bytes=settings.limits.max_secret_bytes,
        deadlines=settings.deadlines, bus=service.bus, faults=service.faults,
    )  # fmt: skip
    cancel = CancelDeployment(
        writes=given.writes, reads=given.reads, custodian=given.custodian, deadlines=settings.deadlines,
        bus=service.bus, faults=service.faults,
    )  # fmt: skip
    return DecidingRoutes(
        gate=given.gate,
        submit=submit,
        cancel=cancel,
        body_seconds=settings.limits.body_seconds,
        tracing=given.tracing,
    )


def _canvas(given: _Given, queries: DeploymentQueries, projections: ProjectionQueries) -> CanvasRoutes:
    place = PlaceOnCanvas(writes=given.writes, queries=queries, projections=projections, bus=given.service.bus)
    seconds = given.service.settings.limits.body_seconds
    return CanvasRoutes(gate=given.gate, place=place, body_seconds=seconds, tracing=given.tracing)
