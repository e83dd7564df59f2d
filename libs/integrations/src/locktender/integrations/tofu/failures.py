"""Why an engine could not do what a run asks of it.

TofuError
├── EngineMissing           neither `tofu` nor `terraform` is there, or not the one that was asked for
├── EngineUnusable          it is there and does not say its version in time
├── ExcludesUnsupported     the run leaves resources out, which only OpenTofu 1.9 or later can
├── UnsafeAddress           what should be the address of a resource is none
├── UnsafeVariable          a name or value cannot be given to a process, or is one of ours
├── BackendBypassed         the configuration keeps its state elsewhere than in our backend
├── SourceUnusable          what was checked out has no such directory
├── PlanMismatch            what was confirmed is not what is there now
├── PlanNotKept             the plan file could not be stored
├── TokenKept               the plan file holds an identity token
├── ArtifactUnavailable     the plan file could not be fetched
├── CommandFailed           the engine, or the script, exited with an error
├── CommandUnstartable      the system refused to start the command
├── ProcessesLeft           something that a run started does not die
├── TooMuchOutput           a command wrote more of what we must keep in memory than it may
└── Halted                  the run is to end before its time

Every message is one line for people: what happened and what to do next. None repeats a value of a variable.
"""

from collections.abc import Collection

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.vocabulary import RunFailureReason


class TofuError(LocktenderError):
    """Root of what goes wrong with an engine. `reason` is what the run reports, unless a subclass knows better."""

    reason = RunFailureReason.ENGINE_FAILED


class EngineMissing(TofuError):
    """Nothing was started."""

    reason = RunFailureReason.ENGINE_MISSING

    def __init__(self, asked: str | None) -> None:
        names = asked or "tofu or terraform"
        super().__init__(f"the runner has no {names}; install it and put it on the PATH of the runner")
        self.asked = asked


class EngineUnusable(TofuError):
    """The program exists, yet does not answer as an engine does."""

    reason = RunFailureReason.ENGINE_MISSING

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} does not say its version: {why}; check the installation on the runner")


class ExcludesUnsupported(TofuError):
    """Nothing was started. Planning without the excludes would plan more than was asked for."""

    def __init__(self, engine: str) -> None:
        super().__init__(f"{engine} cannot exclude resources; use targets, or a runner with OpenTofu 1.9 or later")


class UnsafeAddress(TofuError):
    """Nothing was started. `place` counts from 0 within the list that the address came in."""

    def __init__(self, option: str, place: int) -> None:
        super().__init__(f"{option}[{place}] is not the address of a resource or module")
        self.option = option
        self.place = place


class UnsafeVariable(TofuError):
    """Nothing was started. The name is shown, the value never."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the variable {name!r} {why}")
        self.name = name


class TokenKept(TofuError):
    """The plan was thrown away."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the plan would keep the identity token {name}; declare its variable `ephemeral = true`"
            " (Terraform 1.10, OpenTofu 1.11), and use tokens for providers alone"
        )
        self.name = name


class BackendBypassed(TofuError):
    """The configuration keeps its state elsewhere in spite of us, so nothing else was run."""

    def __init__(self) -> None:
        super().__init__(
            "the configuration keeps its state elsewhere; remove the backend from its override files and try again"
        )


class SourceUnusable(TofuError):
    """Nothing of the engine was started."""

    reason = RunFailureReason.SOURCE_UNAVAILABLE


class PlanMismatch(TofuError):
    """Nothing was applied. `what` names the part of the binding, for people."""

    reason = RunFailureReason.BINDING_MISMATCH

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not what was confirmed; nothing was applied, so plan again")
        self.what = what


class PlanNotKept(TofuError):
    """The plan has changes that nobody could ever apply."""

    reason = RunFailureReason.PLAN_NOT_KEPT

    def __init__(self) -> None:
        super().__init__("the plan has changes, but its file could not be stored; plan again")


class ArtifactUnavailable(TofuError):
    """Nothing was applied."""

    reason = RunFailureReason.SOURCE_UNAVAILABLE

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} could not be fetched, so nothing was started; try again")
        self.name = name


class CommandFailed(TofuError):
    """`code` is the exit code; negative means the number of the signal that ended it."""

    def __init__(self, shown: str, code: int) -> None:
        ending = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        super().__init__(f"{shown} {ending}; the log says why")
        self.code = code


class CommandUnstartable(TofuError):
    """The system refused. Nothing of the command ran."""

    def __init__(self, program: str, why: str) -> None:
        super().__init__(f"{program} could not be started: {why}")


class ProcessesLeft(TofuError):
    """Something that a run started is still alive, so nobody may say that the run has ended."""

    def __init__(self, pids: Collection[int]) -> None:
        shown = ", ".join(str(pid) for pid in sorted(pids)[:10]) or "unknown"
        super().__init__(f"processes of the run cannot be killed (pid {shown}); look at the machine of the runner")
        self.pids = frozenset(pids)


class TooMuchOutput(TofuError):
    """The command was killed."""

    def __init__(self, program: str, most_bytes: int) -> None:
        super().__init__(f"{program} wrote more than {most_bytes} bytes")


class Halted(TofuError):
    """The run was asked to end, so this command was stopped, or never started."""

    def __init__(self) -> None:
        super().__init__("the run was ended before its time")
