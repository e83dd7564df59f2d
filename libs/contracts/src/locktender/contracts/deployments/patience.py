"""How long trouble may last before it fails a deployment: decisions of whoever runs the system, as settings."""

from pydantic import BaseModel, ConfigDict, Field

from locktender.contracts.deployments.cards import Doubt, Grace, Trouble


class Patience(BaseModel):
    """Seconds for which each class of trouble may last without a break. A settings block of the runner.

    The field of a class is named as the class, and a class without a field is refused when this module is loaded.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    image_name: float = Field(default=5.0, ge=0, description="an image name that cannot be one")
    image: float = Field(default=30.0, ge=0, description="an image that cannot be pulled")
    start: float = Field(default=30.0, ge=0, description="a container that cannot be created or run")
    config: float = Field(default=60.0, ge=0, description="a Secret, ConfigMap or key that is missing")
    crash: float = Field(default=60.0, ge=0, description="a container that keeps ending")
    crashes: int = Field(
        default=5, ge=1, description="restarts after which a container that is down has failed at once"
    )
    create: float = Field(default=60.0, ge=0, description="pods that the cluster refuses to create: quota, policy")
    claim: float = Field(default=120.0, ge=0, description="a claim for which no volume can be made")
    mount: float = Field(default=180.0, ge=0, description="a volume that cannot be attached or mounted")
    schedule: float = Field(
        default=300.0, ge=0, description="a pod that no node takes; long, because clusters add nodes by themselves"
    )
    refused: float = Field(default=60.0, ge=0, description="an object that its controller says it cannot carry out")
    progress: float = Field(
        default=600.0, gt=0, description="no change at all, for objects that have no deadline of their own"
    )
    steady: float = Field(
        default=15.0, ge=0, description="a container that crashed before has to run this long before it counts as ready"
    )
    silence: float = Field(
        default=5.0, ge=0, description="an object of a kind unknown here, of which no controller has said anything yet"
    )

    def of(self, grace: Grace) -> float:
        """Seconds for which a trouble of this class may last."""
        seconds: float = getattr(self, grace.value)
        return seconds

    def before(self, doubt: Doubt) -> float:
        """Seconds without a change after which a doubt is over."""
        match doubt:
            case Doubt.CRASHED:
                return self.steady
            case Doubt.SILENT:
                return self.silence

    def spent(self, trouble: Trouble, troubled_for: float) -> bool:
        """Whether `trouble`, seen for `troubled_for` seconds without a break, is to be taken for final."""
        if trouble.latent:
            return False
        if trouble.grace is Grace.CRASH and trouble.count >= self.crashes:
            return True
        return troubled_for >= self.of(trouble.grace)


if missing := [grace for grace in Grace if grace.value not in Patience.model_fields]:
    raise AssertionError(f"no patience is declared for {missing}")
