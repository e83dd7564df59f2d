"""What a template asks for, and which answers it takes. No message repeats a value."""

import json

import pytest

from locktender.contracts.deployments.inputs import InputType, Scalar
from locktender.contracts.kernel.errors import Finding
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.inputs import Checked, checked, form
from locktender.integrations.templates.package import Package, read_package
from locktender.integrations.templates.render import allocated, render
from locktender.integrations.templates.template import Template, read_template

VARIABLES = {"SEALOS_NAMESPACE": "ns-1", "SEALOS_CLOUD_DOMAIN": "example.org"}

HEAD = """apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: shop}
spec:
  defaults:
    host: {type: string, value: "${{ defaults.app_name }}-web"}
    app_name: {type: string, value: "shop-${{ random(8) }}"}
    release: {type: string, value: 1.10}
  inputs:
%s"""


def package(inputs: str) -> Package:
    lines = "".join(f"    {line}\n" for line in inputs.strip("\n").split("\n"))
    return read_package({"index.yaml": HEAD % lines})


SHOP = package("""
public:
  description: Serve at ${{ SEALOS_CLOUD_DOMAIN }}?
  type: boolean
domain:
  description: Where
  default: ${{ defaults.host }}.${{ SEALOS_CLOUD_DOMAIN }}
  required: true
  if: ${{ inputs.public === 'true' }}
title:
  type: string
  default: Shop on ${{ SEALOS_CLOUD_DOMAIN }}
workers:
  type: Number
  default: 2
size:
  type: choice
  default: s
  options: [s, m, 010]
  required: true
admin_password:
  type: string
  required: true
license:
  type: password
  default: none
  required: true
note/~:
  type: string
""")
REQUIRED: dict[str, Scalar] = {"admin_password": "hunter22"}


def answered(values: dict[str, Scalar], source: Package = SHOP, **more: object) -> Checked:
    return checked(source, values, VARIABLES, pointer="/inputs", **more)  # type: ignore[arg-type] # one keyword


def refused(values: dict[str, Scalar]) -> Finding:
    done = answered({**REQUIRED, **values})
    [finding] = done.findings
    [key] = values
    assert key not in done.values
    return finding


def test_a_form_asks_for_every_input_with_its_texts_worked_out() -> None:
    asked = {each.key: each for each in form(SHOP, {}, VARIABLES)}
    assert list(asked) == [
        "public", "domain", "title", "workers", "size", "admin_password", "license", "note/~",
    ]  # fmt: skip
    assert asked["public"].description == "Serve at example.org?"
    assert (asked["public"].type, asked["public"].default) == (InputType.BOOLEAN, "false")
    assert asked["domain"].condition == "inputs.public === 'true'"
    assert asked["title"].default == "Shop on example.org"
    assert (asked["workers"].type, asked["workers"].default) == (InputType.NUMBER, "2")
    assert asked["size"].options == ("s", "m", "010")
    assert asked["size"].required


def test_a_default_that_only_an_instance_can_have_is_not_shown_and_need_not_be_answered() -> None:
    domain = form(SHOP, {}, VARIABLES)[1]
    assert (domain.default, domain.required) == (None, False)


def test_a_secret_default_is_not_shown_and_need_not_be_answered() -> None:
    asked = {each.key: each for each in form(SHOP, {}, VARIABLES)}
    assert (asked["license"].default, asked["license"].sensitive, asked["license"].required) == (None, True, False)
    assert (asked["admin_password"].sensitive, asked["admin_password"].required) == (True, True)


def test_what_is_missing_is_named_and_what_does_not_apply_is_not() -> None:
    assert answered({}).missing == ("admin_password",)
    assert answered(REQUIRED) == Checked(
        {"admin_password": "hunter22"}, (), (), frozenset({"admin_password", "license"})
    )
    asks = package("""
kind: {type: choice, options: [own, none], default: none}
url: {type: string, required: true, if: "inputs.kind === 'own'"}
user: {type: string, required: true, if: "inputs.url !== ''"}
""")
    assert answered({}, asks).missing == ()
    assert answered({"kind": "own"}, asks).missing == ("url",)
    assert answered({"kind": "own", "url": "x"}, asks).missing == ("user",)
    # What does not apply counts as not given, for the conditions after it too.
    assert answered({"url": "x", "user": "y"}, asks).values == {}


def test_a_condition_may_look_at_an_input_that_comes_later() -> None:
    asks = package("""
url: {type: string, required: true, if: "inputs.kind === 'own'"}
kind: {type: choice, options: [own, none], default: own}
""")
    assert answered({}, asks).missing == ("url",)
    assert answered({"kind": "none"}, asks).missing == ()


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("workers", 3, "3"),
        ("workers", 3.0, "3"),
        ("workers", 0.5, "0.5"),
        ("workers", " -1.5e3 ", "-1.5e3"),
        ("workers", "", ""),
        ("public", True, "true"),
        ("public", "false", "false"),
        ("title", 7, "7"),
        ("title", True, "true"),
        ("title", " two words\n\tand a line ", " two words\n\tand a line "),
        ("title", "${{ inputs.admin_password }}", "${{ inputs.admin_password }}"),
        ("title", "", ""),
        ("size", "010", "010"),
        ("note/~", "é\u2028🎈", "é\u2028🎈"),
    ],
)
def test_a_value_is_taken_as_text(key: str, value: Scalar, text: str) -> None:
    done = answered({**REQUIRED, key: value})
    assert done.findings == ()
    assert done.values[key] == text


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("workers", "three", "not-a-number"),
        ("workers", "0x10", "not-a-number"),
        ("workers", "01", "not-a-number"),
        ("workers", float("nan"), "not-a-number"),
        ("workers", float("inf"), "not-a-number"),
        ("workers", True, "not-a-number"),
        ("public", "yes", "not-a-boolean"),
        ("public", 1, "not-a-boolean"),
        ("size", "xl", "not-an-option"),
        ("size", 10, "not-an-option"),
        ("size", " \n", "blank"),
        ("title", "a\0b", "unusable-character"),
        ("title", "a\rb", "unusable-character"),
        ("title", "a\ud800b", "unusable-character"),
        ("title", "é" * 32_769, "too-long"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(key: str, value: Scalar, code: str) -> None:
    finding = refused({key: value})
    assert (finding.code, finding.pointer) == (code, f"/inputs/{key}")


def test_a_pointer_escapes_the_name_of_the_input() -> None:
    assert refused({"note/~": "\0"}).pointer == "/inputs/note~1~0"


@pytest.mark.parametrize("value", ["abc", " ab ", 123])
def test_a_secret_that_is_too_short_to_be_found_again_is_refused(value: Scalar) -> None:
    done = answered({"admin_password": value})
    assert [each.code for each in done.findings] in (["too-short"], [])
    assert refused({"license": "abc"}).code == "too-short"


def test_a_blank_answer_to_a_required_question_is_refused() -> None:
    assert refused_password("").code == "blank"
    assert refused_password("   ").code == "blank"
    # Here the author declared a default that nobody is shown: blank means that one.
    assert answered({**REQUIRED, "license": ""}) == answered(REQUIRED)


def refused_password(value: str) -> Finding:
    done = answered({"admin_password": value})
    [finding] = done.findings
    assert done.missing == ()
    return finding


def test_no_message_repeats_a_value() -> None:
    canary = "canary\0four-and-twenty"
    done = answered(dict.fromkeys(("workers", "public", "size", "title", "admin_password", "license"), canary))
    assert len(done.findings) == 6
    assert "four-and-twenty" not in json.dumps([each.message for each in done.findings])
    assert "four-and-twenty" not in repr(done)


def test_names_that_nobody_asks_for_are_ignored_but_known_to_be_secret() -> None:
    done = answered({**REQUIRED, "apiToken": "\0", "colour": "red"}, declared_sensitive=("colour", "title"))
    assert done.values == REQUIRED
    assert done.findings == ()
    assert done.sensitive == {"admin_password", "license", "apiToken", "colour", "title"}


def test_a_value_that_the_caller_calls_secret_is_held_to_the_rules_of_secrets() -> None:
    [finding] = answered({**REQUIRED, "title": "abc"}, declared_sensitive=("title",)).findings
    assert finding.code == "too-short"


def template(inputs: str) -> Template:
    found = package(inputs).template
    assert found is not None
    return found


def test_a_default_of_an_input_may_refer_to_defaults_and_to_inputs_before_it_and_draws_its_own_letters() -> None:
    source = read_template(
        HEAD % '    a: {default: "${{ defaults.app_name }}"}\n    b: {default: "${{ inputs.a }}-${{ random(12) }}"}\n'
        "---\nkind: A\nb: ${{ inputs.b }}\n"
    )

    def value(seed: bytes, **given: str) -> str:
        instance = allocated(source, VARIABLES, seed)
        return str(render(source, instance, VARIABLES, given, seed=seed).documents[0]["b"])

    assert value(b"1") == value(b"1")
    assert value(b"1").startswith("shop-")
    assert value(b"1").rsplit("-", 1)[1] != value(b"2").rsplit("-", 1)[1], "nobody can guess them without the seed"
    assert value(b"1", a="x").startswith("x-")


def test_defaults_may_refer_to_one_another_in_any_order_and_keep_what_was_written() -> None:
    instance = allocated(template("a: {}"), VARIABLES, b"s")
    assert instance.defaults["host"] == f"{instance.app_name}-web"
    assert instance.defaults["release"] == "1.10"
    assert list(instance.defaults) == ["host", "app_name", "release"]


def test_what_is_recorded_of_an_instance_stays_and_the_rest_follows_it() -> None:
    instance = allocated(template("a: {}"), VARIABLES, b"s", {"app_name": "shop-before", "gone": "x"})
    assert instance.defaults == {"host": "shop-before-web", "app_name": "shop-before", "release": "1.10"}


@pytest.mark.parametrize(
    ("defaults", "code"),
    [
        ({"app_name": "${{ defaults.b }}", "b": "${{ defaults.app_name }}"}, "circular-defaults"),
        ({"app_name": "${{ defaults.app_name.trim() }}"}, "circular-defaults"),
        ({"app_name": "${{ inputs.name }}"}, "default-needs-input"),
        ({"app_name": "${{ nonsense( }}"}, "bad-expression"),
    ],
)
def test_defaults_that_cannot_be_settled_are_refused(defaults: dict[str, str], code: str) -> None:
    text = f"kind: Template\nspec: {json.dumps({'defaults': {key: {'value': v} for key, v in defaults.items()}})}\n"
    with pytest.raises(TemplateFault) as fault:
        allocated(read_template(text), VARIABLES, b"s")
    assert fault.value.code == code
