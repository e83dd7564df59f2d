"""What the cleanup service is told from outside."""

from pydantic import BaseModel, ConfigDict, Field

from locktender.runtime.settings import ProcessSettings


class StoreSettings(BaseModel):
    """Where the objects of stacks lie; without a `url` nothing of stacks is removed.

    `url`: the same that the API has. Credentials of a cloud come from the environment, and have to allow to list and
    to delete. No key is needed: nothing is read.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    url: str | None = None


class StackRetentionSettings(BaseModel):
    """How long what stacks leave is kept.

    Attributes:
        log_days: logs and analyses, sources that were uploaded, and versions of states are kept that long after the
            end of their deployment, of the last deployment of them, or after they were written; and the objects of a
            stack after it was deleted.
        state_versions: versions of the state of a stack that are kept however old they are.
        plan_seconds: pause between two looks for deployments that are over, whose plan files go at once.
        pass_seconds: pause between two passes over everything else.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    log_days: float = Field(default=90.0, ge=1.0)
    state_versions: int = Field(default=200, ge=1)
    plan_seconds: float = Field(default=20.0, gt=0)
    pass_seconds: float = Field(default=3_600.0, gt=0)


class CleanupSettings(ProcessSettings):
    """The settings of the cleanup service.

    Attributes:
        cleanup_slots: most jobs that are claimed at a time.
        objects: where what belongs to stacks is kept, as in `LOCKTENDER_OBJECTS__URL`.
        stack_retention: how long that is kept, as in `LOCKTENDER_STACK_RETENTION__LOG_DAYS=30`.
    """

    cleanup_slots: int = Field(default=100, ge=1, le=1000)
    objects: StoreSettings = StoreSettings()
    stack_retention: StackRetentionSettings = StackRetentionSettings()
