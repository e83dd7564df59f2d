"""Exact commits of Git repositories: found by the name of a branch or tag, and checked out by their id."""

import re
from pathlib import Path

from locktender.integrations.sources.address import check_ref, is_commit, object_format, scheme_of
from locktender.integrations.sources.commit import Commit, read_head
from locktender.integrations.sources.credentials import Credentials
from locktender.integrations.sources.errors import CommitUnknown, RefUnknown, SourceRefused
from locktender.integrations.sources.git_program import Failure, Git, GitFailed
from locktender.integrations.sources.git_remote import NORMAL, GitLimits, remote

_ANNOUNCED = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\t(\S+)")
_WHERE = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--quiet")
_EVERYTHING = ("+refs/heads/*:refs/locktender/heads/*", "+refs/tags/*:refs/locktender/tags/*")
_NOT_GIVEN_BARE = re.compile(
    "not our ref|unadvertised object|does not support shallow|couldn't find remote ref|no such remote ref",
    re.IGNORECASE,
)


async def resolve(url: str, ref: str, credentials: Credentials | None = None, limits: GitLimits = NORMAL) -> str:
    """The id of the commit that a branch, a tag or `HEAD` of the remote stands for at this moment.

    A full commit id stands for itself, and is not looked for. A name that is both a branch and a tag has to be given
    in full (`refs/heads/…`), unless both are the same commit.

    Raises:
        RefUnknown: there is no such branch or tag, or it is not clear which is meant.
        SourceRefused: the address or the credentials are not accepted.
        SourceUnavailable: the remote is away or did not answer in time.
    """
    scheme = scheme_of(url, limits.schemes)
    if is_commit(ref):
        return ref
    check_ref(ref)
    async with remote(url, scheme, credentials, limits) as git:
        names = (ref, f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}", f"{ref}^{{}}")
        listed = await git.run(git.home, "ls-remote", "--quiet", "--", url, *names)
    lines = map(_ANNOUNCED.fullmatch, listed.decode("utf-8", "replace").splitlines())
    return _meant(ref, {line[2]: line[1] for line in lines if line})


async def check_out(
    url: str,
    commit: str,
    directory: Path,
    credentials: Credentials | None = None,
    *,
    ref: str | None = None,
    limits: GitLimits = NORMAL,
) -> Commit:
    """Write the files of exactly this commit into `directory`, which is new or empty.

    Guaranteed: when it returns, `HEAD` is the commit and every file is as committed; no hook, filter or setting of the
    repository, the user or the machine was run or read; the address and the credentials are nowhere in `directory`.
    Submodules stay empty folders and files of Git LFS stay pointers. When it raises, what is in `directory` is of no
    use.

    Args:
        url: the address.
        commit: a full commit id.
        directory: its parent exists.
        credentials: what opens a private repository.
        ref: where the commit was found; a server that does not give out a bare commit is asked for this first.
        limits: the bounds of the whole call.

    Raises:
        CommitUnknown: no branch or tag of the remote reaches the commit any more.
        SourceRefused: the address, the credentials or the size are not accepted.
        SourceUnavailable: the remote is away or did not answer in time, or the files cannot be written.
    """
    scheme = scheme_of(url, limits.schemes)
    form = object_format(commit)
    if ref is not None:
        check_ref(ref)
    directory = directory.absolute()  # noqa: ASYNC240 - it asks for the working directory alone
    async with remote(url, scheme, credentials, limits) as git:
        await git.run(git.home, "init", "--quiet", "--template=", f"--object-format={form}", "--", str(directory))
        await _fetch(git, url, commit, directory, ref)
        files, size = await git.written_out(directory, commit)
        if files > limits.most_files or size > limits.most_bytes:
            raise SourceRefused(
                "the commit has more files or bytes than are allowed; keep the stack in a smaller repository"
            )
        await git.run(directory, "checkout", "--quiet", "--force", "--detach", commit)
        checked_out = await read_head(git, directory)
    if checked_out.sha != commit:
        raise CommitUnknown(commit)
    return checked_out


async def _fetch(git: Git, url: str, commit: str, directory: Path, ref: str | None) -> None:
    """Get the commit at the least cost that the server allows, or all that its branches and tags reach."""
    wanted: list[tuple[str, ...]] = [("--depth=1", "--", url, commit)]
    wanted += [("--", url, f"+{ref}:refs/locktender/ref")] if ref and not is_commit(ref) else []
    wanted += [("--", url, *_EVERYTHING)]
    for what in wanted:
        try:
            await git.run(directory, "fetch", *_WHERE, *what)
        except GitFailed as failed:
            if failed.failure is not Failure.REFUSED or not _NOT_GIVEN_BARE.search(failed.said):
                raise
        if await _has(git, directory, commit):
            return
    raise CommitUnknown(commit)


async def _has(git: Git, directory: Path, commit: str) -> bool:
    try:
        await git.run(directory, "cat-file", "-e", f"{commit}^{{commit}}")
    except GitFailed as failed:
        if failed.failure is not Failure.REFUSED:
            raise
        return False
    return True


def _meant(ref: str, announced: dict[str, str]) -> str:
    """Which of the announced is the ref. A tag with a message of its own is announced with its commit as `^{}`."""
    exact = announced.get(f"{ref}^{{}}") or announced.get(ref)
    if exact and (ref == "HEAD" or ref.startswith("refs/")):
        return exact
    branch = announced.get(f"refs/heads/{ref}")
    tag = announced.get(f"refs/tags/{ref}^{{}}") or announced.get(f"refs/tags/{ref}")
    if branch and tag and branch != tag:
        raise RefUnknown(f"{ref} is a branch and a tag; write refs/heads/{ref} or refs/tags/{ref}")
    if found := branch or tag:
        return found
    raise RefUnknown(f"the repository has no branch or tag {ref}")
