"""What is said of what a run left and what was removed since."""

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.problems import Problem
from locktender.storage.kernel.database import Row


def check_kept(run: Row, what: str) -> None:
    """Let a run pass whose log and analysis are kept. `what` begins the sentence; `run` says when all of it ended.

    Raises:
        ProblemError: they were removed.
    """
    removed_at, ended_at = run["artifacts_removed_at"], run["ended_at"]
    if removed_at is not None:
        after = "" if ended_at is None else f" {max((removed_at - ended_at).days, 0)} days after the deployment ended"
        raise ProblemError(Problem.REMOVED, f"{what} was removed{after}; the summary of the plan stays")
