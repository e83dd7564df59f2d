"""What the API may answer a runner, besides that the lease is gone."""

from locktender.contracts.kernel.errors import LocktenderError


class RunRefused(LocktenderError):
    """The API does not take a request of the run protocol. Sending it again is pointless.

    Attributes:
        status: of the answer.
        problem: the slug of its problem, such as `not-found`; empty when the answer is no problem document.
    """

    def __init__(self, what: str, status: int, problem: str, detail: str) -> None:
        super().__init__(f"the API does not take {what}: {detail}")
        self.status = status
        self.problem = problem


class Unsealable(LocktenderError):
    """The secrets of a run were not sealed for this runner and this epoch, or are damaged."""

    def __init__(self) -> None:
        super().__init__("the secrets of the run cannot be opened by this runner")
