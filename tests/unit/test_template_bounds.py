"""A template that means harm ends in a fault that says so: soon, in little memory, and never in an error of Python."""

import sys
import time

import pytest

from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.render import Rendered, allocated, render
from locktender.integrations.templates.template import read_template

HEAD = "kind: Template\nspec:\n  defaults:\n    app_name: {value: shop}\n"
LONG = "'x'.repeat(262144)"
SECONDS = 20.0
"""Ten times what the slowest takes on an idle machine."""


def rendered(body: str) -> Rendered:
    template = read_template(f"{HEAD}---\n{body}\n")
    return render(template, allocated(template, {}, b"s"), {}, {}, seed=b"s")


HARM = {
    "quotes that could be read in many ways": ("a: ${{ " + "''" * 250_000 + " }} '", "bad-expression"),
    "braces that are closed in quotes only": ("a: " + "${{" * 250_000 + " ' }} '", "unclosed-expression"),
    "many openings": ("a: " + "${{ " * 250_000 + "}}", "bad-expression"),
    "many expressions": ("a: " + "${{ 1 }}" * 30_000, "too-many-expressions"),
    "a long join": (f"a: ${{{{ {LONG}.split('x').join({LONG}) }}}}", "bad-expression"),
    "a long list": (f"a: ${{{{ {LONG}.split('') }}}}", "bad-expression"),
    "a replacement between all letters": (f"a: ${{{{ {LONG}.replaceAll('', {LONG}) }}}}", "bad-expression"),
    "long texts all over": ("\n".join(f"a{n}: ${{{{ {LONG} }}}}" for n in range(15_000)), "too-large"),
    "long texts that leave nothing": (
        "\n".join(f"a{n}: ${{{{ {LONG}.length }}}}" for n in range(15_000)),
        "bad-expression",
    ),
    "one long text in many places": (f"a: &x ${{{{ {LONG} }}}}\nb: [{'*x,' * 150_000}]", "too-large"),
    "aliases of aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "\n".join(f"{c}: &{c} [{','.join([f'*{p}'] * 10)}]" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "too-large",
    ),
    "an alias of itself": ("a: &a [*a]", "unknown-alias"),
    "many merges": (
        "a: &a {" + ",".join(f"k{n}: 1" for n in range(5_000)) + "}\n"
        + "\n".join(f"m{n}: {{<<: *a}}" for n in range(5_000)),
        "too-large",
    ),
    "open brackets": ("a: " + "[" * 900_000, "malformed-yaml"),
    "open braces": ("a: " + "{a: " * 200_000, "too-deep"),
    "many values": ("a: [" + "a," * 500_000 + "]", "too-large"),
    "many documents": ("a: 1\n---\n" * 2_000, "too-many-documents"),
    "a tag that makes objects": ("a: !!python/object:os.system x", "unknown-tag"),
    "deep blocks": ("${{ if(1) }}\n" * 70_000, "too-deep"),
    "half a character": (r"a: ${{ '\ud800' }}", "bad-expression"),
    "the character 0": (r"a: ${{ '\0' }}", "unusable-character"),
    "too many random letters": ("a: ${{ random(257) }}", "bad-expression"),
}  # fmt: skip


@pytest.mark.parametrize("harm", HARM)
def test_a_template_that_means_harm_is_refused_in_time(harm: str) -> None:
    body, code = HARM[harm]
    began = time.process_time()
    with pytest.raises(TemplateFault) as fault:
        rendered(body)
    assert fault.value.code == code
    assert time.process_time() - began < SECONDS
    assert len(str(fault.value)) < 500


def test_the_deepest_expressions_that_are_allowed_work_out() -> None:
    deepest = {
        "(" * 31 + "1" + ")" * 31: 1,
        "1 ? 1 : " * 60 + "1": 1,
        "!" * 60 + "1": True,
        "+".join(["1"] * 149): 149,
        "'a'" + ".trim()" * 59: "a",
        "'a'" + "[0]" * 98: "a",
    }
    for source, value in deepest.items():
        assert rendered(f"a: ${{{{ {source} }}}}").documents == [{"a": value}], source


def test_a_caller_that_is_deep_down_already_gets_a_fault_and_no_recursion_error() -> None:
    template = read_template(f"{HEAD}---\na: ${{{{ {'(' * 31}7 * 6{')' * 31} }}}}\n")
    instance = allocated(template, {}, b"s")

    def down(left: int) -> None:
        if left:
            down(left - 1)
        else:
            render(template, instance, {}, {}, seed=b"s")

    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    with pytest.raises(TemplateFault, match="nested too deeply"):
        down(sys.getrecursionlimit() - depth - 120)


@pytest.mark.parametrize("text", ["\ud800", f"{HEAD}---\na: \ud800"])
def test_a_template_that_is_no_text_is_refused(text: str) -> None:
    with pytest.raises(TemplateFault, match="UTF-8"):
        read_template(text)


@pytest.mark.parametrize(("group", "code"), [("defaults", "too-many-defaults"), ("inputs", "too-many-inputs")])
def test_declarations_are_bounded(group: str, code: str) -> None:
    entries = "".join(f"    k{n}: {{value: a}}\n" for n in range(201))
    with pytest.raises(TemplateFault) as fault:
        read_template(f"{HEAD}{entries}" if group == "defaults" else f"{HEAD}  {group}:\n{entries}")
    assert fault.value.code == code
