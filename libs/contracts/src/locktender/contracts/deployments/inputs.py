"""The values that a run needs from a person: what is asked, and what an answer has to be. Texts, all of them."""

from enum import StrEnum

from pydantic import Field, SecretStr

from locktender.contracts.deployments.wire import Wire


class InputType(StrEnum):
    """What may be entered."""

    STRING = "string"
    NUMBER = "number"
    CHOICE = "choice"
    BOOLEAN = "boolean"


class InputField(Wire):
    """One value that is asked for."""

    key: str
    type: InputType = InputType.STRING
    description: str = ""
    default: str | None = Field(
        default=None, description="As declared, never an earlier answer. Absent where there is none, or it is secret."
    )
    required: bool = False
    sensitive: bool = Field(default=False, description="Hidden while typed, never stored, asked for again each time.")
    options: tuple[str, ...] = ()
    condition: str | None = Field(
        default=None, description="An expression over the other inputs. While it is not true, the value is not asked."
    )


class AskedCode(StrEnum):
    """Why inputs are asked for."""

    MISSING = "missing"
    """The run needs values that it was not given, or that are never kept."""
    REJECTED = "rejected"
    """A value that was given cannot be used."""
    VALUES_LOST = "values-lost"
    """The values that were given got lost before the run could read them."""


class Asked(Wire):
    """What a blocked task waits for: always the whole form."""

    inputs: tuple[InputField, ...] = Field(min_length=1)
    code: AskedCode = AskedCode.MISSING
    message: str = Field(description="Why, in words without any submitted value.")
    key: str | None = Field(default=None, description="The input that was refused, if it was one.")


Scalar = str | int | float | bool
"""What may be submitted for an input; a run sees texts, as `true`, `3` or `0.5`."""


class SubmitInput(Wire):
    """Answers to what a blocked task asks for. Keys that nobody asked for are ignored."""

    values: dict[str, Scalar] = Field(default_factory=dict, max_length=400, json_schema_extra={"writeOnly": True})
    kubeconfig: SecretStr | None = Field(
        default=None, description="As on create: the run needs it to go on. Kept in memory alone."
    )
