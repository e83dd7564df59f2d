"""The values that a command was given: as options, in a file, on standard input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from locktender.cli.exits import CommandError, Exit
from locktender.cli.files import STDIN, text_of
from locktender.cli.forms.fields import is_sensitive
from locktender.contracts.deployments.inputs import InputField
from locktender.integrations.kube.json_value import Json
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Marks
from locktender.integrations.templates.scalars import Filler, Read

_MOST = 400


@dataclass(frozen=True, slots=True)
class Values:
    """Given values.

    Attributes:
        given: by their input; texts, as they were written.
        hidden: inputs that came on standard input, because they are secret.
        visible: inputs whose values stand in the arguments, where everybody on the machine can read them.
    """

    given: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    hidden: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()


def values_of(pairs: Sequence[str], file: Path | None, from_stdin: str | None) -> Values:
    """What `--input`, `--inputs-file` and `--input-stdin` bring; a later one of these wins over an earlier.

    Raises:
        CommandError: one cannot be understood. Never repeats a value.
    """
    given = {} if file is None else _in_file(file)
    named = dict(pair_of(pair, "--input") for pair in pairs)
    given |= named
    if from_stdin is not None:
        # The end of line belongs to how it was written, as in `echo`, and not to the value.
        given[from_stdin] = text_of(STDIN).removesuffix("\n").removesuffix("\r")
        if not given[from_stdin]:
            raise CommandError(Exit.USAGE, f"standard input brought no value for {from_stdin}")
    if len(given) > _MOST:
        raise CommandError(Exit.USAGE, f"there are more than {_MOST} inputs")
    hidden = () if from_stdin is None else (from_stdin,)
    return Values(given, hidden, tuple(key for key in named if key not in hidden))


def exposed(values: Values, fields: Sequence[InputField] = ()) -> str | None:
    """A warning about secrets among the arguments; None when there are none."""
    keys = [key for key in values.visible if is_sensitive(key, fields)]
    if not keys:
        return None
    named = ", ".join(keys)
    return f"warning: {named} stands in the list of processes; give it with --input-stdin {keys[0]} or at the prompt"


def pair_of(pair: str, option: str) -> tuple[str, str]:
    """The two sides of KEY=VALUE. Raises `CommandError` when it has another form."""
    key, mark, value = pair.partition("=")
    if not mark or not key:
        hint = "A secret is better given at the prompt." if option == "--input" else None
        raise CommandError(Exit.USAGE, f"{option} has the form KEY=VALUE", hint)
    return key, value


def _in_file(file: Path) -> dict[str, str]:
    """A mapping of inputs to values, in YAML or JSON; numbers stay as they are written there."""
    try:
        documents = Filler(Marks(), lambda _: None).documents(text_of(file), lambda line: line + 1)
    except TemplateFault as fault:
        raise CommandError(Exit.USAGE, f"{file}: {fault}") from None
    if not documents:
        return {}
    found = documents[0]
    if len(documents) > 1 or not isinstance(found.value, dict):
        raise CommandError(Exit.USAGE, f"{file} is no mapping of inputs to values")
    return {key: _text(found, found.value, key, file) for key in found.value}


def _text(found: Read, holder: dict[str, Json], key: str, file: Path) -> str:
    value = holder[key]
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict | list):
        raise CommandError(Exit.USAGE, f"{file}: {key[:60]} is no text, number or boolean")
    if isinstance(value, bool):
        return "true" if value else "false"
    return found.written.get((id(holder), key), str(value))
