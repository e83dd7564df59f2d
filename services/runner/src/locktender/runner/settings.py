"""What the runner is told from outside."""

from pathlib import Path

from pydantic import Field, SecretStr

from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.policy import Deadlines
from locktender.integrations.kube.informing.pace import InformerPace
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.runs.means import default_work_root
from locktender.integrations.sources.address import SCHEMES
from locktender.integrations.sources.reach import EVERY_HOST, HostPattern
from locktender.runtime.settings import ProcessSettings


class RunnerSettings(ProcessSettings):
    """Settings of the runner service.

    Attributes:
        deadlines: how long each wait may take; the blocks `run` and `readiness` are the runner's.
        slots: deployments of each kind carried out at once.
        noop_runner: also take tasks that do nothing. For benchmarks.
        noop_slots: of those at once.
        custody_seconds: how long a claimed run asks for its credentials.
        apply_seconds: how long one document is tried against a cluster that is busy or away.
        plan_seconds: for the dry runs of one run together.
        write_seconds: for one write to an object that exists. Writes without a precondition get less: what is left of
            a lease that was just confirmed.
        namespace_seconds: how long a run waits for a namespace that is being deleted.
        definition_seconds: how long a run waits until the cluster serves the kinds that its source defines.
        replacement_seconds: how long a run waits for the end of an object that it is to replace.
        cleanup_seconds: how long a run may take to remove what it has made, when applying a template failed half-way.
        render_seconds: for a program of others that renders a kustomization or a chart.
        instance_key: what the random values of templates come from, together with the instance, so that a redeploy
            makes them again. The same for all runners. Without it each process makes its own, and says so.
        manifests: how much a template may come to, as in `LOCKTENDER_MANIFESTS__DOCUMENTS=2000`.
        apply_at_once: documents of one run that are sent at the same time, where there are many.
        patience: how long each class of trouble may last until it fails a run.
        observation: how objects are watched, and how often they are listed; shared by all runs.
        database_connections: besides those that renew leases.
        api_url: the API, without `/v1`. Runs of stacks need it; without it this runner takes none.
        stack_runs_at_once: runs of stacks carried out at once.
        stack_work_dir: a directory of this runner's own, in which each run works. Keep its path short.
        stack_engine_path: where `tofu`, `terraform` and what they start are looked for; the PATH by default.
        stack_plugin_cache: a directory in which runs share downloaded providers.
        stack_cli_config: a CLI configuration (mirrors, registries) for every run.
        stack_git_schemes: kinds of addresses of repositories that are checked out.
        stack_git_hosts: hosts that they may be on, as in `["git.example.com", "*.example.org"]`. One that is listed by
            its own name, and by no pattern, may be this machine.
    """

    deadlines: Deadlines = Deadlines()
    slots: int = Field(default=64, ge=1)
    noop_runner: bool = False
    noop_slots: int = Field(default=1024, ge=1)
    custody_seconds: float = Field(default=15.0, gt=0)
    apply_seconds: float = Field(default=60.0, gt=0)
    plan_seconds: float = Field(default=120.0, gt=0)
    write_seconds: float = Field(default=30.0, gt=0)
    namespace_seconds: float = Field(default=60.0, ge=0)
    definition_seconds: float = Field(default=30.0, gt=0)
    replacement_seconds: float = Field(default=120.0, gt=0)
    cleanup_seconds: float = Field(default=60.0, gt=0)
    render_seconds: float = Field(default=30.0, gt=0)
    instance_key: SecretStr | None = Field(default=None, min_length=16)
    manifests: ManifestLimits = ManifestLimits()
    apply_at_once: int = Field(default=8, ge=1, le=64)
    patience: Patience = Patience()
    observation: InformerPace = InformerPace()
    database_connections: int = Field(default=4, ge=1)
    api_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+(/[^\s]*)?$")
    stack_runs_at_once: int = Field(default=2, ge=1, le=64)
    stack_work_dir: Path = Field(default_factory=default_work_root)
    stack_engine_path: str | None = None
    stack_plugin_cache: Path | None = None
    stack_cli_config: Path | None = None
    stack_git_schemes: frozenset[str] = SCHEMES
    stack_git_hosts: frozenset[HostPattern] = EVERY_HOST
