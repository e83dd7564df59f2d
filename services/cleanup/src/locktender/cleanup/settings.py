"""What the cleanup service is told from outside."""

from pydantic import Field

from locktender.runtime.settings import ProcessSettings


class CleanupSettings(ProcessSettings):
    """The settings of the cleanup service.

    Attributes:
        cleanup_slots: most jobs that are claimed at a time.
    """

    cleanup_slots: int = Field(default=100, ge=1, le=1000)
