"""Whether a source can be used at all, before a stack is made of it. Nothing is asked of a repository."""

from collections.abc import Collection

from locktender.api.http.body import pointer
from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.errors import Finding
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.models import ArchiveSource, GitSource, SourceSpec
from locktender.integrations.sources.address import check_ref, is_commit, scheme_of
from locktender.integrations.sources.errors import RefUnknown, SourceRefused


def check_source(source: SourceSpec, schemes: Collection[str]) -> None:
    """Refuse an address or a ref that could be misread.

    Raises:
        ProblemError: `source-refused`, with the place. Nothing of the source is repeated.
    """
    match source:
        case ArchiveSource():
            return
        case GitSource():
            try:
                scheme_of(source.url, schemes)
            except SourceRefused as error:
                raise _refused("url", str(error)) from None
            try:
                if not is_commit(source.ref):
                    check_ref(source.ref)
            except RefUnknown as error:
                raise _refused("ref", str(error)) from None


def _refused(member: str, words: str) -> ProblemError:
    return ProblemError(Problem.SOURCE_REFUSED, words, [Finding(pointer("source", member), words, f"invalid-{member}")])
