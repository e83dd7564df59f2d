"""Plain JSON values as YAML text that every reader reads alike."""

import re
from collections.abc import Iterable
from typing import Any, cast

import yaml

from locktender.integrations.kube.dialect import plain
from locktender.integrations.kube.json_value import JsonObject

# Line ends to some readers and letters to others, and what nobody sees: in double quotes they are escaped.
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def written(documents: Iterable[JsonObject]) -> str:
    """The documents as one stream, each begun by `---`. Texts that look like anything else are in double quotes."""
    dump = cast("Any", yaml.dump_all)
    return dump(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1, explicit_start=True)


_BASE = cast("type[yaml.SafeDumper]", getattr(yaml, "CSafeDumper", yaml.SafeDumper))


class _Dumper(_BASE):
    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _string(dumper: Any, text: str) -> yaml.ScalarNode:
    style = None
    if plain(text) != text or _ESCAPED.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)
