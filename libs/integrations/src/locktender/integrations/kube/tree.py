"""Events to plain JSON values, without recursion, counting everything that can explode."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from locktender.integrations.kube.dialect import Ambiguous
from locktender.integrations.kube.events import Alias, Close, Event, Leaf, Malformed, Open
from locktender.integrations.kube.faults import Findings, shown
from locktender.integrations.kube.json_value import Json, JsonObject, copied
from locktender.integrations.kube.limits import ManifestLimits


@dataclass(frozen=True, slots=True)
class Tree:
    """One document: its value, the line it begins on, and the line of each mapping and list by `id`."""

    value: Json
    line: int
    lines: dict[int, int]


@dataclass(slots=True)
class _Part:
    """A value with what it would cost to place it once more."""

    value: Json
    line: int
    nodes: int = 1
    height: int = 0


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is still open."""

    part: _Part
    anchor: str | None
    key: str | None = None
    key_line: int = 0
    merging: bool = False
    key_lines: dict[str, int] = field(default_factory=dict[str, int])
    merged: list[JsonObject] = field(default_factory=list[JsonObject])

    def step(self) -> str:
        """Where the next value goes, as a step of a path."""
        if isinstance(self.part.value, list):
            return f"[{len(self.part.value)}]"
        return f".{shown(self.key)}" if self.key is not None else ""


class Builder:
    """Builds the documents of one text, one event stream after the other.

    Values are counted over all of them. Faults that leave the rest readable go to `findings`; those that end the
    document raise `Malformed`.
    """

    def __init__(self, limits: ManifestLimits, findings: Findings) -> None:
        self._limits = limits
        self._findings = findings
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Part] = {}
        self._open_anchors: set[str] = set()
        self._lines: dict[int, int] = {}
        self._aliases = 0
        self._nodes = 0
        self._root: _Part | None = None

    def trees(self, events: Iterable[Event]) -> Iterator[Tree]:
        """Each top-level value of `events`. Anchors of earlier streams are forgotten."""
        self._stack, self._lines, self._aliases = [], {}, 0
        self._anchors.clear()
        self._open_anchors.clear()
        for event in events:
            self._take(event)
            if self._root is not None:
                yield Tree(self._root.value, self._root.line, self._lines)
                self._root, self._lines = None, {}

    def _take(self, event: Event) -> None:
        match event:
            case Open():
                self._open(event)
            case Close():
                self._close()
            case Leaf():
                self._leaf(event)
            case Alias():
                self._alias(event)
            case _:
                assert_never(event)

    def _open(self, event: Open) -> None:
        self._count(1, event.line)
        self._check_depth(1, event.line)
        if self._wants_key():
            raise Malformed("a mapping key must be a plain word or a quoted text", event.line, "complex-key")
        value: Json = {} if event.kind == "map" else []
        self._lines[id(value)] = event.line
        if event.anchor is not None:
            self._open_anchors.add(event.anchor)
        self._stack.append(_Frame(_Part(value, event.line), event.anchor))

    def _close(self) -> None:
        frame = self._stack.pop()
        value = frame.part.value
        if isinstance(value, dict):
            for source in frame.merged:
                for key, item in source.items():
                    if key not in value:
                        value[key] = copied(item)
        if frame.anchor is not None:
            self._open_anchors.discard(frame.anchor)
            self._anchors[frame.anchor] = frame.part
        self._place(frame.part)

    def _leaf(self, event: Leaf) -> None:
        self._count(1, event.line)
        if event.anchor is not None:
            value = event.text if self._wants_key() else event.value
            self._anchors[event.anchor] = _Part(None if isinstance(value, Ambiguous) else value, event.line)
        if self._wants_key():
            self._key(event)
            return
        value = event.value
        if isinstance(value, Ambiguous):
            self._fault("ambiguous-scalar", f"the unquoted value {value.looks}; {value.fix}", event.line)
            value = None
        elif isinstance(value, str):
            self._check_text(value, event.line)
        self._place(_Part(value, event.line))

    def _alias(self, event: Alias) -> None:
        self._aliases += 1
        if self._aliases > self._limits.aliases:
            raise Malformed(
                f"more than {self._limits.aliases} aliases in one document; write the values out",
                event.line,
                "too-many-aliases",
            )
        part = self._anchors.get(event.anchor)
        name = shown(event.anchor)
        if event.anchor in self._open_anchors:
            raise Malformed(f"the alias *{name} stands inside of its own anchor", event.line, "alias-cycle")
        if part is None:
            raise Malformed(f"the alias *{name} has no anchor &{name} before it", event.line, "unknown-alias")
        self._count(part.nodes, event.line)
        self._check_depth(part.height, event.line)
        if not self._wants_key():
            self._place(_Part(copied(part.value), event.line, part.nodes, part.height))
        elif isinstance(part.value, str):
            self._key(Leaf(part.value, part.value, event.line))
        else:
            raise Malformed("a mapping key must be a plain word or a quoted text", event.line, "complex-key")

    def _key(self, leaf: Leaf) -> None:
        frame = self._stack[-1]
        frame.key, frame.key_line, frame.merging = leaf.text, leaf.line, leaf.merge
        if leaf.merge:
            return
        value = leaf.value
        if isinstance(value, Ambiguous):
            self._fault("ambiguous-key", f"the unquoted key {value.looks}; put the key in quotes", leaf.line)
        elif not isinstance(value, str) and _json_word(value) != leaf.text:
            self._fault("ambiguous-key", "the unquoted key is not text; put the key in quotes", leaf.line)
        self._check_text(leaf.text, leaf.line)
        first = frame.key_lines.setdefault(leaf.text, leaf.line)
        holder = frame.part.value
        if isinstance(holder, dict) and leaf.text in holder:
            self._fault("duplicate-key", f"the key appears twice, first on line {first}; keep one", leaf.line)

    def _place(self, part: _Part) -> None:
        if not self._stack:
            self._root = part
            return
        frame = self._stack[-1]
        frame.part.nodes += part.nodes
        frame.part.height = max(frame.part.height, part.height + isinstance(part.value, dict | list))
        holder = frame.part.value
        if isinstance(holder, list):
            holder.append(part.value)
        elif isinstance(holder, dict) and frame.key is not None:
            if frame.merging:
                self._merge(frame, part)
            else:
                holder[frame.key] = part.value
            frame.key, frame.merging = None, False

    def _merge(self, frame: _Frame, part: _Part) -> None:
        sources = part.value if isinstance(part.value, list) else [part.value]
        for source in sources:
            if not isinstance(source, dict):
                self._fault("bad-merge", "`<<` takes a mapping or a list of mappings", part.line)
                continue
            if source.keys() & frame.key_lines.keys():
                self._fault(
                    "merge-order",
                    "`<<` repeats a key from above it, which readers resolve differently; put `<<` first",
                    part.line,
                )
            frame.merged.append(source)

    def _wants_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].part.value, dict) and self._stack[-1].key is None

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > self._limits.nodes:
            raise Malformed(
                f"the text grows beyond {self._limits.nodes} values once aliases are expanded",
                line,
                "too-many-values",
            )

    def _check_depth(self, height: int, line: int) -> None:
        if len(self._stack) + height > self._limits.depth:
            raise Malformed(f"the document nests deeper than {self._limits.depth} levels", line, "too-deep")

    def _check_text(self, text: str, line: int) -> None:
        if "\0" in text:
            self._fault("nul-byte", "the text holds a NUL character, which cannot be stored; remove it", line)
        elif not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            self._fault("lone-surrogate", "the text holds half of a surrogate pair; write the whole character", line)

    def _fault(self, code: str, message: str, line: int) -> None:
        path = "".join(frame.step() for frame in self._stack).removeprefix(".")
        self._findings.add(code, f"{path}: {message}" if path else message, line=line)


def _json_word(value: float | None) -> str:
    """How JSON writes `value` as the text of a key; empty for null, which no object has as a key."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
