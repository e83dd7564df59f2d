"""Asking for inputs: in order, each once it applies, and never with a secret on the screen."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.forms.asking import ask, confirmed
from locktender.cli.forms.fields import Form, fixed, missing
from locktender.cli.forms.values import exposed, values_of
from locktender.cli.packages import form_of, inline_template
from locktender.contracts.deployments.inputs import InputField

TEMPLATE = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: tea}
spec:
  defaults:
    app_name: {type: string, value: "tea-${{ random(8) }}"}
  inputs:
    cups: {description: How many, type: number, default: "2", required: true}
    host:
      description: Host for ${{ inputs.cups }} cups
      type: string
      default: h${{ inputs.cups }}
      required: true
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "${{ defaults.app_name }}"}
"""


def field(key: str, **more: Any) -> dict[str, Any]:
    return InputField.model_validate({"key": key, **more}).model_dump(mode="json", by_alias=True)


class Typist:
    """A person who types what was prepared, and remembers all that was on the screen."""

    def __init__(self, *typed: str | None) -> None:
        self._typed = list(typed)
        self.screen: list[str] = []
        self.begun: list[str] = []

    def tell(self, text: Text) -> None:
        self.screen.append(text.plain.strip())

    def line(self, prompt: str, begun: str = "") -> str:
        self.begun.append(begun)
        typed = self._typed.pop(0)
        shown = begun if typed is None else typed
        self.screen.append(f"{prompt.strip()} {shown}")
        return shown

    def hidden(self, prompt: str) -> str:
        self.screen.append(prompt.strip())
        return self._typed.pop(0) or ""


def asked(fields: Sequence[dict[str, Any]], *typed: str | None, **given: str) -> tuple[dict[str, str], Typist]:
    person = Typist(*typed)
    return ask(fixed(fields), given, person), person


def test_inputs_are_asked_in_order_with_their_descriptions_and_defaults_already_there() -> None:
    fields = [field("name", description="What it is called", required=True), field("title", default="Welcome")]
    answers, person = asked(fields, "tea", "Good evening")
    assert answers == {"name": "tea", "title": "Good evening"}
    assert person.screen[0] == "name  What it is called  (required)"
    assert person.begun == ["", "Welcome"]


def test_what_was_given_is_not_asked_again() -> None:
    answers, person = asked([field("a"), field("b")], "2", a="1")
    assert answers == {"a": "1", "b": "2"}
    assert person.screen == ["b  (optional)", "b: 2"]


def test_conditions_are_worked_out_as_answers_come_in() -> None:
    fields = [
        field("expose", type="boolean", default="false"),
        field("host", condition="inputs.expose === 'true'", required=True),
        field("port", type="number", condition="inputs.host !== ''"),
    ]
    answers, _ = asked(fields, "n")
    assert answers == {}
    answers, person = asked(fields, "y", "example.com", "8080")
    assert answers == {"expose": "true", "host": "example.com", "port": "8080"}
    assert person.screen[1] == "expose [y/N]: y"


def test_an_answer_further_down_can_make_an_earlier_input_apply() -> None:
    fields = [field("early", condition="inputs.late === 'yes'"), field("late")]
    answers, person = asked(fields, "yes", "now")
    assert answers == {"late": "yes", "early": "now"}
    assert [line.split()[0] for line in person.screen if "(optional)" in line] == ["late", "early"]


def test_a_condition_that_needs_more_than_is_known_here_is_left_to_the_run() -> None:
    answers, _ = asked([field("a", condition="SEALOS_CLOUD_DOMAIN === 'x'")], "1")
    assert answers == {"a": "1"}


def test_numbers_choices_and_booleans_are_checked_and_asked_again() -> None:
    fields = [
        field("copies", type="number", required=True),
        field("size", type="choice", options=["small", "large"], required=True),
        field("level", type="choice", options=["3", "2", "1"]),
        field("on", type="boolean"),
    ]
    answers, person = asked(fields, "many", "NaN", "3", "huge", "2", "2", "maybe", "yes")
    assert answers == {"copies": "3", "size": "large", "level": "2", "on": "true"}
    assert person.screen.count("enter a number, such as 3 or 0.5") == 2
    assert "enter one of small, large" in person.screen
    assert "1) small" in person.screen
    assert "enter y or n" in person.screen


def test_a_required_input_is_asked_until_it_has_a_value_and_an_optional_one_may_stay_blank() -> None:
    answers, person = asked([field("must", required=True), field("may")], "", "  ", "x", "")
    assert answers == {"must": "x"}
    assert person.screen.count("a value is needed") == 2


def test_a_secret_is_hidden_never_shown_and_has_no_default_on_the_screen() -> None:
    answers, person = asked([field("password", sensitive=True, required=True)], "abc", "canary-1234")
    assert answers == {"password": "canary-1234"}
    assert "canary" not in " ".join(person.screen)
    assert "a secret needs 4 characters or more" in person.screen


def test_a_default_that_was_accepted_is_left_to_the_run_and_a_cleared_one_is_an_answer() -> None:
    fields = [field("a", default="x"), field("b", default="y")]
    assert asked(fields, None, "")[0] == {"b": ""}


def test_a_run_that_has_asked_is_answered_all_that_was_seen() -> None:
    person = Typist(None, "")
    fields = [field("a", default="x"), field("secret", sensitive=True)]
    assert ask(fixed(fields), {}, person, whole=True) == {"a": "x", "secret": ""}


def test_the_texts_of_a_template_follow_the_answers() -> None:
    person = Typist("5", None)
    assert ask(form_of_tea(), {}, person) == {"cups": "5"}
    assert person.begun == ["2", "h5"]
    assert "host  Host for 5 cups  (required)" in person.screen


def test_what_a_run_would_miss_is_known_beforehand() -> None:
    fields = [
        field("a", required=True), field("b", required=True, default="1"), field("c"),
        field("d", required=True, condition="inputs.c === 'x'"),
    ]  # fmt: skip
    assert [each.key for each in missing(fixed(fields), {})] == ["a"]
    assert [each.key for each in missing(fixed(fields), {"a": "1", "c": "x"})] == ["d"]


def test_only_a_clear_yes_is_one() -> None:
    assert confirmed("go on?", Typist("y"))
    assert not confirmed("go on?", Typist(""))
    assert not confirmed("go on?", Typist("whatever"))


def test_values_come_from_options_a_file_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "inputs.yaml"
    file.write_text("version: 1.10\nexpose: true\nname: from file\nempty: ''\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"canary=1\n")))
    values = values_of(["name=a=b", "none="], file, "password")
    assert values.given == {
        "version": "1.10", "expose": "true", "name": "a=b", "empty": "", "none": "", "password": "canary=1",
    }  # fmt: skip
    assert values.hidden == ("password",)
    assert "canary" not in repr(values)


@pytest.mark.parametrize("text", ["- a\n", "a: [1]\n", "a: null\n", "a: 1\n---\nb: 2\n", "a: {b: 1}\n", "a: 'x\n"])
def test_a_file_that_is_no_mapping_of_scalars_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "inputs.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError) as refused:
        values_of([], file, None)
    assert refused.value.code is Exit.USAGE


def test_a_pair_without_a_value_is_refused_without_repeating_it() -> None:
    with pytest.raises(CommandError) as refused:
        values_of(["canary"], None, None)
    assert "canary" not in refused.value.message


def test_a_secret_among_the_arguments_is_warned_about_by_name_alone() -> None:
    by_name = exposed(values_of(["db_password=canary"], None, None))
    assert by_name is not None
    assert "db_password" in by_name
    assert "--input-stdin db_password" in by_name
    assert "canary" not in by_name
    declared = [InputField(key="pin", sensitive=True)]
    assert exposed(values_of(["pin=canary"], None, None), declared) is not None
    assert exposed(values_of(["size=small"], None, None), declared) is None


def form_of_tea() -> Form:
    package = inline_template(TEMPLATE)
    assert package is not None
    return form_of(package, {})
