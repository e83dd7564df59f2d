"""What the references of an expression lead to, through the variables and outputs of modules."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from locktender.integrations.tofu.analysis.reading import Json, an_object, is_array, is_object, objects, texts

_INDEX = re.compile(r'\[(?:"(?:[^"\\]|\\.)*"|[^\]]*)\]')


@dataclass(slots=True, eq=False)
class Module:
    """A module of the configuration, once, however often it is repeated."""

    address: str
    config: Json
    parent: "Module | None" = None
    call: Json = field(default_factory=dict[str, Any])
    children: dict[str, "Module"] = field(default_factory=dict[str, "Module"])
    resources: dict[str, Json] = field(default_factory=dict[str, Json])

    def full(self, address: str) -> str:
        """The address of a resource of this module, from the root."""
        return f"{self.address}.{address}" if self.address else address

    def within(self: "Module") -> "Iterator[Module]":
        """This module and all below it."""
        waiting: list[Module] = [self]
        while waiting:
            module = waiting.pop()
            yield module
            waiting.extend(reversed(module.children.values()))


@dataclass(frozen=True, slots=True)
class Found:
    """Where references lead. `partial`: through a local value as well, which the engine does not describe."""

    targets: frozenset[str] = frozenset()
    partial: bool = False

    def __or__(self, other: "Found") -> "Found":
        return Found(self.targets | other.targets, self.partial or other.partial)


_NOTHING = Found()


def module_tree(config: Json, address: str = "", parent: Module | None = None, call: Json | None = None) -> Module:
    """The modules of a configuration.

    Raises:
        Unreadable: the document is not what the engine writes.
    """
    module = Module(address, config, parent, call or {})
    module.resources = {str(each.get("address")): each for each in objects(config.get("resources"))}
    for name, each in sorted(an_object(config.get("module_calls")).items()):
        made = an_object(each)
        module.children[name] = module_tree(an_object(made.get("module")), module.full(f"module.{name}"), module, made)
    return module


def references(expression: object) -> list[str]:
    """What an expression, or a block of them, refers to: without indexes, and only the longest of each reference."""
    found: dict[str, None] = {}
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        if is_array(each):
            waiting.extend(each)
        elif is_object(each):
            if is_array(each.get("references")):
                found.update(dict.fromkeys(_INDEX.sub("", text) for text in texts(each["references"])))
            else:
                waiting.extend(value for key, value in each.items() if key != "constant_value")
    shorter = {
        text[:place] for text in found for place in range(len(text)) if text[place] == "."
    }  # Of `a.b.c` the engine also names `a.b`.
    return [text for text in found if text not in shorter]


class Resolver:
    """Follows references to resources. Cycles, which no valid configuration has, lead nowhere."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Found] = {}

    def expression(self, module: Module, expression: object) -> Found:
        """Everything that an expression refers to."""
        found = _NOTHING
        for each in references(expression):
            found |= self.reference(module, each)
        return found

    def reference(self, module: Module, reference: str) -> Found:
        """What one reference in a module leads to."""
        key = (module.address, reference)
        if key not in self._known:
            self._known[key] = _NOTHING
            self._known[key] = self._follow(module, reference.split("."))
        return self._known[key]

    def _follow(self, module: Module, parts: list[str]) -> Found:
        match parts:
            case ["local", *_]:
                return Found(partial=True)
            case ["var", name, *_]:
                given = an_object(module.call.get("expressions")).get(name)
                return self.expression(module.parent, given) if module.parent else _NOTHING
            case ["module", name, *rest]:
                child = module.children.get(name)
                return self._outputs(child, rest) if child else _NOTHING
            case ["data" | "ephemeral" as mode, kind, name, *_]:
                address = f"{mode}.{kind}.{name}"
            case [kind, name, *_]:
                address = f"{kind}.{name}"
            case _:
                return _NOTHING
        return Found(frozenset({module.full(address)})) if address in module.resources else _NOTHING

    def _outputs(self, child: Module, rest: list[str]) -> Found:
        outputs = an_object(child.config.get("outputs"))
        chosen = [outputs[rest[0]]] if rest and rest[0] in outputs else list(outputs.values())
        found = _NOTHING
        for each in chosen:
            output = an_object(each)
            found |= self.expression(child, output.get("expression"))
            found |= self.explicit(child, output)
        return found

    def explicit(self, module: Module, block: Json) -> Found:
        """What `depends_on` of a block names; of a module, everything in it."""
        found = _NOTHING
        for reference in texts(block.get("depends_on")):
            match _INDEX.sub("", reference).split("."):
                case ["module", name] if name in module.children:
                    below = module.children[name].within()
                    found |= Found(frozenset(each.full(address) for each in below for address in each.resources))
                case parts:
                    found |= self.reference(module, ".".join(parts))
        return found
