"""A commit of a remote repository as people see it, without its files where the remote can leave them out."""

from locktender.integrations.sources.address import object_format, scheme_of
from locktender.integrations.sources.commit import Commit, read_head
from locktender.integrations.sources.credentials import Credentials
from locktender.integrations.sources.git_remote import GitLimits, remote

_ALONE = ("--quiet", "--depth=1", "--filter=tree:0", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")


async def glance(url: str, commit: str, credentials: Credentials | None, limits: GitLimits) -> Commit:
    """Who made the commit, when, and its subject.

    A remote that cannot leave files out sends those of this one commit, up to the limits. One that does not give out
    a commit by its id refuses. What is shown of a commit is worth no more than one try.

    Raises:
        SourceRefused: the address, the credentials or the size are not accepted.
        SourceUnavailable: the remote is away, did not answer in time, or does not give out this commit.
    """
    scheme = scheme_of(url, limits.schemes)
    form = object_format(commit)
    async with remote(url, scheme, credentials, limits) as git:
        directory = git.home / "glance"
        await git.run(
            git.home, "init", "--quiet", "--bare", "--template=", f"--object-format={form}", "--", str(directory)
        )
        await git.run(directory, "fetch", *_ALONE, "--", url, commit)
        await git.run(directory, "update-ref", "--no-deref", "HEAD", commit)
        return await read_head(git, directory)
