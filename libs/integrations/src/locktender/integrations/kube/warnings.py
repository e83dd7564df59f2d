"""What an API server warns of besides its answer: `Warning` headers, read and bounded."""

import re
from collections.abc import Sequence

from locktender.integrations.kube.faults import shown

_MOST = 10
_LENGTH = 300
# `299 - "text"`, with quotes inside the text escaped; several may share a header.
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


def warnings_of(headers: Sequence[str]) -> tuple[str, ...]:
    """The texts of `Warning` headers, each once, at most ten, each short enough to show."""
    found = (re.sub(r"\\(.)", r"\1", text) for header in headers for text in _WARNING.findall(header))
    return tuple(dict.fromkeys(shown(text, _LENGTH) for text in found))[:_MOST]
