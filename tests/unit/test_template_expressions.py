"""The expressions of templates mean what their authors think they mean, and nothing else can be said in them."""

import pytest

from locktender.integrations.templates.expression import ExpressionFault, Scope, as_text, evaluate, parse, truthy

INPUTS = {"enabled": "true", "port": "80", "api-key": "k", "empty": "", "list": "a,b", "name": " Web App "}
SCOPE = Scope(
    {"SEALOS_NAMESPACE": "ns-1"}, {"inputs": INPUTS, "defaults": {"app_name": "shop-x"}}, lambda count: "r" * count
)

WORTH = {
    # Groups and variables.
    "defaults.app_name": "shop-x",
    "inputs.port": "80",
    "inputs['api-key']": "k",
    "inputs.api-key": "k",
    "SEALOS_NAMESPACE": "ns-1",
    "inputs.nobody": "",
    "SEALOS_NOTHING": "",
    # Inputs are texts.
    "inputs.enabled === 'true'": "true",
    "inputs.enabled === true": "false",
    "inputs.port === 80": "false",
    "inputs.port == 80": "true",
    "inputs.empty == 0": "true",
    "inputs.nobody == null": "true",
    "inputs.nobody === ''": "false",
    "inputs.port !== '443'": "true",
    "inputs.port != 80": "false",
    # Logic gives back one of its sides.
    "inputs.empty || 'none'": "none",
    "inputs.enabled && inputs.port": "80",
    "inputs.empty && inputs.port": "",
    "inputs.nobody ?? 'x'": "x",
    "inputs.empty ?? 'x'": "",
    "!inputs.empty": "true",
    "!!inputs.port": "true",
    "!inputs.empty && inputs.port === '80' || false": "true",
    # Joining and counting.
    "'a' + 'b'": "ab",
    "'a' + 1 + 2": "a12",
    "1 + 2 + 'a'": "3a",
    "1 + 2": "3",
    "0.1 + 0.2": "0.30000000000000004",
    "inputs.port * 2 - 1": "159",
    "10 / 4": "2.5",
    "7 % 4": "3",
    "-inputs.port": "-80",
    "2 + 3 * 4": "14",
    "(2 + 3) * 4": "20",
    "1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 3": "false",
    "'a' < 'b'": "true",
    # Choices.
    "inputs.enabled === 'true' ? 'on' : 'off'": "on",
    "inputs.port === '443' ? 'tls' : inputs.port === '80' ? 'plain' : 'other'": "plain",
    # Functions.
    "random(4)": "rrrr",
    "base64('a:b')": "YTpi",
    "base64(inputs.api-key + inputs.port)": "azgw",
    "base64('ä')": "w6Q=",
    "Number(inputs.port) + 1": "81",
    "String(1) + 1": "11",
    # Texts.
    "inputs.name.trim().toLowerCase().replace(' ', '-')": "web-app",
    "'a-b-c'.replaceAll('-', '')": "abc",
    "'a-b-c'.replace('-', '')": "ab-c",
    "inputs.list.split(',')[1]": "b",
    "inputs.list.split(',').join('-')": "a-b",
    "['80', '443'].includes(inputs.port)": "true",
    "'abc'.includes('b')": "true",
    "'abc'.startsWith('ab') && 'abc'.endsWith('c')": "true",
    "'abcdef'.slice(1, 3) + 'abcdef'.slice(-2)": "bcef",
    "'abcdef'.substring(3, 1)": "bc",
    "'abc'.length": "3",
    "'abc'[1] + 'abc'.charAt(9)": "b",
    "'7'.padStart(3, '0') + 'x'.padEnd(2)": "007x ",
    "'ab'.repeat(2)": "abab",
    "'abc'.indexOf('c') + 'abc'.indexOf('x')": "1",
    r"'it\'s' + \"\"": "it's",
    "`a`": "a",
    r"'\u0041\n'": "A\n",
}  # fmt: skip


@pytest.mark.parametrize("source", WORTH)
def test_an_expression_is_worth(source: str) -> None:
    assert as_text(evaluate(parse(source.replace('\\"\\"', '""')), SCOPE)) == WORTH[source]


REFUSED = {
    "1 +": "the end stands where a value is needed",
    "(1": r"the end stands where \) is needed",
    "a b": "`b` stands where",
    "1 2": "a number stands where",
    "'open": "character 1 cannot be read",
    "a = 1": "character 3 cannot be read",
    "`${inputs.port}`": "cannot be read",
    "/a/": "`/` stands where",
    "foo(1)": "no function `foo`",
    "inputs": "`inputs` is a group",
    "inputs.nobody.trim()": "on a missing value",
    "inputs.nobody.length": "asks a missing value",
    "'a'.constructor('x')": "no method `constructor`",
    "'a'.toString.call()": "no function|missing value",
    "random(0)": "from 1 to 256",
    "random(100000)": "from 1 to 256",
    "random('x')": "from 1 to 256",
    "1 / 0": "divides by zero",
    "'x'.repeat(200000).repeat(9)": "more than 262144 characters",
    "'x'.repeat(200000) + 'x'.repeat(200000)": "more than 262144 characters",
    "'x'.repeat(9000).replaceAll('x', 'y'.repeat(9000))": "more than 262144 characters",
    "(" * 100 + "1" + ")" * 100: "nested too deeply",
    "!" * 200 + "1": "nested too deeply",
    "1" + "+1" * 200: "more than 300 parts",
    "1" * 5000: "more than 4096 characters",
    "a ? b": "the end stands where : is needed",
}


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_not_of_the_language_is_refused_by_name(number: int) -> None:
    source, words = list(REFUSED.items())[number]
    with pytest.raises(ExpressionFault, match=words):
        evaluate(parse(source), SCOPE)


def test_names_that_were_asked_for_in_vain_are_told() -> None:
    scope = Scope({}, {"inputs": {}}, str)
    evaluate(parse("inputs.colour || SEALOS_NOTHING || inputs.port"), scope)
    assert scope.missing == {"inputs.colour", "SEALOS_NOTHING", "inputs.port"}


def test_a_branch_that_is_not_taken_is_not_looked_at() -> None:
    assert as_text(evaluate(parse("false && nothing.here() || true ? 'a' : nothing.here()"), SCOPE)) == "a"


def test_truth_is_that_of_javascript() -> None:
    assert [truthy(value) for value in ("", 0.0, None, False, float("nan"))] == [False] * 5
    assert [truthy(value) for value in ("false", "0", -1.0, True, [])] == [True] * 5
