"""Asking a person for the inputs of a form, in order, until nothing that is needed is missing."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.forms.fields import Form, applies, read
from locktender.cli.forms.terminal import Person
from locktender.contracts.deployments.inputs import InputField, InputType

_MOST_QUESTIONS = 1_000
_MOST_TRIES = 20


def ask(form: Form, given: Mapping[str, str], somebody: Person, *, whole: bool = False) -> dict[str, str]:
    """The values that were given, and the answers to what was not.

    A field is asked once its condition holds over the answers so far. What is left blank is left out where it can be;
    the default of a secret one is not shown, and holds when it is left blank. A default that was accepted is left out
    as well: the run works it out anew, and knows more for it, such as the name of the instance. With `whole`, every
    answer is kept, for a run that has asked and is answered all of what was seen.

    Raises:
        CommandError: the person left, or gave no usable answer after many tries.
    """
    answers, asked = dict(given), set(given)
    for _ in range(_MOST_QUESTIONS):
        fields = form(answers)
        field = _next(fields, answers, asked)
        if field is None:
            break
        asked.add(field.key)
        answer = _answer(field, somebody)
        if whole or (answer.strip() and answer != field.default) or _clears(field, answer):
            answers[field.key] = answer
    return answers


def confirmed(question: str, somebody: Person) -> bool:
    """Whether the person says yes. No answer is a no."""
    return somebody.line(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def _next(fields: Sequence[InputField], answers: Mapping[str, str], asked: set[str]) -> InputField | None:
    return next((field for field in fields if field.key not in asked and applies(field, fields, answers)), None)


def _clears(field: InputField, answer: str) -> bool:
    """Whether a blank takes the place of a default that was shown."""
    return not answer.strip() and bool((field.default or "").strip())


def _answer(field: InputField, somebody: Person) -> str:
    somebody.tell(_heading(field))
    for number, option in enumerate(field.options, start=1):
        somebody.tell(Text(f"    {number}) {option}", style="dim"))
    for _ in range(_MOST_TRIES):
        typed = _typed(field, somebody)
        try:
            return read(field, typed)
        except ValueError as fault:
            somebody.tell(Text(f"    {fault}", style="yellow"))
    raise CommandError(Exit.USAGE, f"no usable answer for {field.key} after {_MOST_TRIES} tries")


def _typed(field: InputField, somebody: Person) -> str:
    prompt = f"    {field.key}: "
    if field.sensitive:
        return somebody.hidden(prompt)
    if field.type is InputType.BOOLEAN:
        usual = field.default == "true"
        return somebody.line(f"    {field.key} [{'Y/n' if usual else 'y/N'}]: ").strip() or ("y" if usual else "n")
    return somebody.line(prompt, field.default or "")


def _heading(field: InputField) -> Text:
    notes = [] if field.type is InputType.STRING else [field.type.value]
    notes += ["required"] if field.required else ["optional"]
    notes += ["not shown"] if field.sensitive else []
    described = f"  {field.description.strip()}" if field.description.strip() else ""
    return Text.assemble("  ", (field.key, "bold"), described, (f"  ({', '.join(notes)})", "dim"))
