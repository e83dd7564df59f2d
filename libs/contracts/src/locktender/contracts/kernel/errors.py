"""Every refusal that Locktender raises on purpose.

LocktenderError
├── NotFound            the row does not exist (or belongs to another workspace)
├── WrongState          the row is not in a state that allows the transition
├── LeaseLost           another epoch owns the row, the caller may no longer write
├── Conflict            a uniqueness rule was hit
├── Unavailable         something outside did not answer in time
└── Rejected            the input itself cannot be accepted, with one finding per fault
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

Pointer = NewType("Pointer", str)
"""A JSON pointer (RFC 6901) into the request body, or `""` for the whole of it."""


class LocktenderError(Exception):
    """Root of every error raised on purpose."""


class NotFound(LocktenderError):
    """The row is not there, or not there for this caller."""

    def __init__(self, what: str, key: object) -> None:
        super().__init__(f"{what} {key} does not exist")
        self.what = what
        self.key = key


class WrongState(LocktenderError):
    """The row stands in a state that the transition does not start from."""

    def __init__(self, key: object, transition: str, actual: str) -> None:
        super().__init__(f"{key} is {actual}, so it cannot {transition.replace('_', ' ')}")
        self.key = key
        self.transition = transition
        self.actual = actual


class LeaseLost(LocktenderError):
    """The row moved on to another epoch. The caller must stop and must not write again."""

    def __init__(self, key: object, held: int, current: int) -> None:
        super().__init__(f"{key} is at epoch {current}; epoch {held} may no longer write")
        self.key = key
        self.held = held
        self.current = current


class Conflict(LocktenderError):
    """A uniqueness rule was hit. `rule` is the name of the constraint or index."""

    def __init__(self, rule: str) -> None:
        super().__init__(f"another row already holds {rule}")
        self.rule = rule


class Unavailable(LocktenderError):
    """Something outside this process did not answer in time. Trying again later is reasonable."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault in an input.

    Attributes:
        pointer: where, as a JSON pointer into the request body.
        message: what is wrong and what to do about it. Never contains a submitted value that may be secret.
        code: stable machine-readable name of the fault, kebab-case.
    """

    pointer: Pointer
    message: str
    code: str


class Rejected(LocktenderError):
    """The input cannot be accepted. Nothing was created or changed."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(f.message for f in findings) or "the input cannot be accepted")
        self.findings = tuple(findings)
