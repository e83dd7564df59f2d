"""What a plan would change, as it was analysed, and telling it to whoever asked."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from locktender.cli.exits import CommandError, Exit
from locktender.cli.output import Output
from locktender.cli.render.stacks.deployment import endings, next_steps
from locktender.cli.render.stacks.markdown import plan_markdown
from locktender.cli.render.stacks.plan import UNKNOWN, plan_lines, sentence
from locktender.cli.render.stacks.words import plan_run
from locktender.cli.stacks.client import StackClient
from locktender.contracts.stacks.analysis import PlanChanges

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Planned:
    """A deployment with its plan.

    Attributes:
        run: the newest run that planned. None where there is none.
        changes: what it found out. None where that is not known, which is not the same as nothing.
        why: what to say of changes that are not known.
    """

    deployment: Json
    run: Json | None
    changes: Json | None
    why: str = UNKNOWN

    @property
    def document(self) -> Json:
        """For programs."""
        return {"deployment": self.deployment, "planChanges": self.changes}

    @property
    def digest(self) -> str | None:
        """What a confirmation of exactly this plan names."""
        return None if self.run is None or self.run["binding"] is None else self.run["binding"]["planDigest"]


async def planned(api: StackClient, deployment: Json) -> Planned:
    """The plan of a deployment.

    Raises:
        CommandError: the API does not answer.
    """
    run = plan_run(deployment)
    if run is None or not run["analysed"]:
        return Planned(deployment, run, None)
    try:
        found = await api.run_part(deployment["stack"], deployment["number"], run["id"], "plan-changes")
    except CommandError as error:
        if error.code is not Exit.DENIED:
            raise
        # Of what was removed, the log may be gone as well.
        return Planned(deployment, run, None, f"What would change in detail is not known here: {error}")
    return Planned(deployment, run, _read(found))


def tell_plan(output: Output, plan: Planned) -> None:
    """The plan, for people."""
    if plan.run is not None and plan.run["hasChanges"] is not None:
        for line in plan_lines(plan.run, plan.changes, plan.why):
            output.say(line)


def tell_end(output: Output, plan: Planned) -> None:
    """How it ended, and what to do now."""
    for line in (*endings(plan.deployment), *next_steps(plan.deployment)):
        output.say(line)


def tell_sentence(output: Output, plan: Planned) -> None:
    """The plan in one sentence."""
    if plan.run is not None:
        output.say(sentence(plan.run))


def markdown_of(plan: Planned) -> str:
    """The plan, for a comment."""
    return plan_markdown(plan.deployment, plan.changes, plan.why)


def _read(found: Json) -> Json:
    """The section in the shape that is shown, whatever a newer API adds to it."""
    try:
        return PlanChanges.model_validate(found).model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        raise CommandError(Exit.UNAVAILABLE, "the plan is told in a way that this version does not know") from error
