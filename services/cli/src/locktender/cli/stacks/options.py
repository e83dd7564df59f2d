"""Options that several commands about stacks share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from locktender.cli.exits import CommandError, Exit
from locktender.cli.files import text_of
from locktender.cli.stacks.durations import limit
from locktender.contracts.stacks.vocabulary import AutoApproveMode, EngineChoice

StackArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a stack.")]
NumberArgument = Annotated[
    int | None,
    typer.Argument(
        metavar="NUMBER",
        min=1,
        help="A deployment of it. Default: the one at work, else the newest.",
        show_default=False,
    ),
]
OneArgument = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="A deployment of it; see `stack show`.")]
FollowOption = Annotated[bool, typer.Option("--wait/--no-wait", help="Follow it until it waits or ends.")]
LogOption = Annotated[
    bool | None,
    typer.Option(
        "--log/--no-log",
        help="Follow the log. Default: not on a terminal, which shows how far it is. A failure shows its end anyway.",
        show_default=False,
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
NoteOption = Annotated[str, typer.Option("--note", help="A remark for people.")]
KeyOption = Annotated[str | None, typer.Option("--idempotency-key", help="The same key never makes two deployments.")]
MarkdownOption = Annotated[
    bool,
    typer.Option("--markdown", help="Print a summary for a comment on a pull request, the rest on standard error."),
]
DetailedOption = Annotated[
    bool, typer.Option("--detailed-exitcode", help="End with 2, as terraform does, where there are changes.")
]
CheckOption = Annotated[
    bool, typer.Option("--exit-code", help="End with 6 where a plan that only looks has found changes.")
]
LimitOption = Annotated[int, typer.Option(help="At most this many.")]
CursorOption = Annotated[str | None, typer.Option(help="Where an earlier list ended.")]


@dataclass(frozen=True, slots=True)
class NarrowOptions:
    """What a plan is restricted to."""

    target: Annotated[
        list[str] | None, typer.Option("--target", metavar="ADDRESS", help="Only this resource. May repeat.")
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="ADDRESS", help="All but this one (OpenTofu only). May repeat."),
    ] = None
    replace: Annotated[
        list[str] | None, typer.Option("--replace", metavar="ADDRESS", help="Make this one anew. May repeat.")
    ] = None

    def body(self) -> dict[str, Any]:
        """As the API takes it."""
        return {"targets": self.target or [], "excludes": self.exclude or [], "replaces": self.replace or []}


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """What a new deployment is made with, whatever it does."""

    commit: Annotated[
        str | None, typer.Option("--commit", help="The whole id of a commit. Default: what the ref is now.")
    ] = None
    note: NoteOption = ""
    key: KeyOption = None

    def body(self) -> dict[str, Any]:
        """As the API takes it; the key is in a header."""
        return {"note": self.note} | ({} if self.commit is None else {"commit": self.commit})


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """Where the configuration of a stack comes from."""

    git: Annotated[str | None, typer.Option("--git", metavar="URL", help="A repository, without credentials.")] = None
    ref: Annotated[str | None, typer.Option("--ref", help="A branch, a tag or HEAD.")] = None
    path: Annotated[str | None, typer.Option("--path", help="The folder in the repository or in DIR.")] = None
    directory: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Upload this folder instead of naming a repository.")
    ] = None
    git_token_file: Annotated[
        str | None,
        typer.Option("--git-token-file", metavar="FILE", help="The token for the repository; - is standard input."),
    ] = None


@dataclass(frozen=True, slots=True)
class StackFacts:
    """How a stack is run, and what it does by itself."""

    project: Annotated[str | None, typer.Option("-p", "--project", help="The project.")] = None
    description: Annotated[str | None, typer.Option("--description", help="A remark for people.")] = None
    engine: Annotated[EngineChoice | None, typer.Option("--engine", help="The tool.")] = None
    group: Annotated[str | None, typer.Option("--group", help="The runner group.")] = None
    label: Annotated[
        list[str] | None, typer.Option("--label", help="What the runner group has to offer. May repeat.")
    ] = None
    auto_approve: Annotated[
        AutoApproveMode | None, typer.Option("--auto-approve", help="Whether plans are applied without a person.")
    ] = None
    confirmation_timeout: Annotated[
        int | None,
        typer.Option(
            "--confirmation-timeout",
            parser=limit,
            metavar="TIME",
            help="Skip a plan that waits longer to be confirmed, as in 90s, 2h or 7d; or never.",
        ),
    ] = None
    queued_timeout: Annotated[
        int | None,
        typer.Option("--queued-timeout", parser=limit, metavar="TIME", help="Skip what waits longer behind others."),
    ] = None
    supersede_after: Annotated[
        int | None,
        typer.Option(
            "--supersede-after",
            parser=limit,
            metavar="TIME",
            help="A new deployment skips waiting ones that are at least this old; 0: all, never: none.",
        ),
    ] = None

    def body(self, policy: dict[str, Any]) -> dict[str, Any]:
        """What was given, as the API takes it; `policy` is the one that holds so far."""
        given: dict[str, Any] = {
            "project": self.project,
            "description": self.description,
            "engine": self.engine,
            "runnerGroup": self.group,
            "labels": self.label,
            "autoApprove": self.auto_approve,
        }
        changed = self._policy()
        if changed:
            given["policy"] = policy | changed
        return {name: value for name, value in given.items() if value is not None}

    def _policy(self) -> dict[str, int | None]:
        timeouts = {
            "confirmationTimeoutSeconds": self.confirmation_timeout,
            "queuedTimeoutSeconds": self.queued_timeout,
        }
        given = {name: value for name, value in timeouts.items() if value is not None}
        found: dict[str, int | None] = {name: value if value > 0 else None for name, value in given.items()}
        if self.supersede_after is not None:
            found["supersedeAfterSeconds"] = None if self.supersede_after < 0 else self.supersede_after
        return found


def source_body(choice: SourceChoice, former: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """The source that options name; of what they do not name, as it was. None when they name nothing.

    An archive is not named by its digest here, as it is yet to be uploaded.

    Raises:
        CommandError: they name two.
    """
    if choice.git is not None and choice.directory is not None:
        raise CommandError(Exit.USAGE, "give either --git or --dir, not both")
    if choice.directory is not None:
        if choice.ref is not None:
            raise CommandError(Exit.USAGE, "a folder has no --ref; that is for --git")
        return {"kind": "archive", "path": choice.path or "."}
    if choice.git is None and choice.ref is None and choice.path is None:
        return None
    if choice.git is None and (former is None or (former["kind"] != "git" and choice.ref is not None)):
        raise CommandError(Exit.USAGE, "nothing says where the configuration is", "Give --git URL or --dir DIR.")
    kept = former or {"kind": "git", "ref": "HEAD", "path": "."}
    if choice.git is not None:
        kept = {"kind": "git", "ref": "HEAD", "path": "."} | (kept if kept["kind"] == "git" else {})
        kept = kept | {"url": choice.git}
    given = {"ref": choice.ref, "path": choice.path}
    return kept | {name: value for name, value in given.items() if value is not None}


def git_token(choice: SourceChoice) -> dict[str, str]:
    """The token of the repository, as the API takes it.

    Raises:
        CommandError: its file cannot be read.
    """
    return {} if choice.git_token_file is None else {"gitToken": text_of(choice.git_token_file).strip()}
