"""Which repositories, refs and commits may be named at all."""

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from locktender.integrations.sources.errors import RefUnknown, SourceRefused

SCHEMES = frozenset({"https", "ssh"})
"""What is fetched from unless an operator says otherwise; `file` and `http` are for a machine of one's own."""
_LONGEST_URL = 2_000
_LONGEST_REF = 200
_SHA1_DIGITS = 40
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9-])?|\[[0-9A-Fa-f:.]+\]")
_LOGIN = re.compile("[A-Za-z0-9_][A-Za-z0-9._-]*")
_PATH = re.compile("/[^-].*")
_SHORT_SSH = re.compile(
    r"(?P<login>[A-Za-z0-9_][A-Za-z0-9._-]*)@(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>[^-/:].*)"
)
_NOT_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|[./]$|^[-/.]|^@$")


def scheme_of(url: str, allowed: Collection[str] = SCHEMES) -> str:
    """How the repository is reached: https://host/path, ssh://user@host/path, user@host:path, or what else is allowed.

    Not guaranteed: that its host may be talked to; `Reach` says that.

    Raises:
        SourceRefused: the address could be misread, carries credentials, or its kind is not allowed. The message
            repeats nothing of it.
    """
    if len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or set(url) & set(" \\?#'\"`$"):
        raise SourceRefused("the address of the repository holds characters that are not taken")
    if _SHORT_SSH.fullmatch(url) and "://" not in url:
        scheme, plain = "ssh", True
    else:
        scheme, plain = url.partition("://")[0], _is_plain(url)
    if scheme not in allowed:
        kinds = ", ".join(f"{kind}://" for kind in sorted(allowed))
        raise SourceRefused(f"the address of a repository begins with one of: {kinds}")
    if not plain:
        raise SourceRefused("the address of the repository is not a plain one; credentials are given apart from it")
    return scheme


def host_of(url: str) -> str:
    """The host of a checked address, in small letters; "" for a local one."""
    short = None if "://" in url else _SHORT_SSH.fullmatch(url)
    return short["host"].lower() if short else urlsplit(url).hostname or ""


def is_commit(text: str) -> bool:
    """Whether it is a full commit id, in lower case."""
    return _COMMIT.fullmatch(text) is not None


def object_format(commit: str) -> str:
    """What git calls the hash of a repository that has this commit.

    Raises:
        SourceRefused: it is not a full commit id.
    """
    if not is_commit(commit):
        raise SourceRefused("a commit is named by its full id in lower case")
    return "sha1" if len(commit) == _SHA1_DIGITS else "sha256"


def check_ref(ref: str) -> None:
    """Follow git's own rules for names, so that nothing can be read as an option, a pattern or a range.

    Raises:
        RefUnknown: there can be no such ref.
    """
    if not ref or len(ref) > _LONGEST_REF or not ref.isprintable() or _NOT_IN_REF.search(ref):
        raise RefUnknown("this cannot be the name of a branch or a tag")


def _is_plain(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if parts.scheme == "file":
        return not parts.netloc and _PATH.fullmatch(parts.path) is not None
    login, at, host = parts.netloc.rpartition("@")
    if at and not (parts.scheme == "ssh" and _LOGIN.fullmatch(login)):
        return False
    name = host if host.endswith("]") else re.sub(":[0-9]+$", "", host)
    return _HOST.fullmatch(name) is not None and _PATH.fullmatch(parts.path) is not None
