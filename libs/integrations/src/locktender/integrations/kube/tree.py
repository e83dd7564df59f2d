"""Parts of a text to plain JSON values, without recursion, counting everything that can explode."""

from collections.abc import Sequence
from dataclasses import dataclass

from locktender.integrations.kube.dialect import Ambiguous, Scalar, plain
from locktender.integrations.kube.faults import Findings, path_of, shown
from locktender.integrations.kube.json_value import Json, JsonObject, copied
from locktender.integrations.kube.limits import ManifestLimits

# Below these, what is unquoted may be a secret, so that no message shows it.
_PRIVATE = frozenset({"data", "stringData", "binaryData", "env", "args", "command", "annotations"})


class Malformed(Exception):
    """The text is not what its syntax asks for. `problem` never repeats scalars of the text."""

    def __init__(self, problem: str, line: int, code: str = "malformed-yaml") -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.code = code


Lines = dict[str, int] | list[int]
"""The line of each key of a mapping, or of each item of a list."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One document: its value, the line it begins on, and the lines of each mapping and list by `id`."""

    value: Json
    line: int
    lines: dict[int, Lines]

    def line_of(self, start: Json, path: Sequence[str | int], default: int) -> int:
        """The line of what `path` leads to from `start`, a part of this tree.

        Values that an alias or a merge brought in have no lines of their own; the closest line above them stands for
        theirs, and `default` when there is none.
        """
        line, value = default, start
        for step in path:
            line = self._line_at(value, step, line)
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                break
        return line

    def _line_at(self, holder: Json, step: str | int, default: int) -> int:
        known = self.lines.get(id(holder), [])
        if isinstance(known, dict):
            return known.get(str(step), default)
        return known[step] if isinstance(step, int) and step < len(known) else default


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A value with what it costs to place it once more."""

    value: Json
    nodes: int
    height: int


class _Frame:
    """A mapping or list that is still open."""

    __slots__ = (
        "anchor",
        "height",
        "items",
        "key",
        "keys",
        "line",
        "lines",
        "mapping",
        "merge_line",
        "merged",
        "merging",
        "nodes_before",
    )

    def __init__(self, value: JsonObject | list[Json], line: int, anchor: str | None, nodes_before: int) -> None:
        # Exactly one of `mapping` with `keys` and `items` with `lines` is used.
        self.mapping: JsonObject | None = None
        self.items: list[Json] | None = None
        self.keys: dict[str, int] = {}
        self.lines: list[int] = []
        if isinstance(value, dict):
            self.mapping = value
        else:
            self.items = value
        self.line = line
        self.anchor = anchor
        self.nodes_before = nodes_before
        self.height = 0
        self.key: str | None = None
        self.merging = False
        self.merge_line = 0
        self.merged: list[JsonObject] = []

    def step(self) -> str | int | None:
        """Where the next value goes, as a step of a path."""
        return len(self.items) if self.items is not None else self.key


class Builder:
    """Builds the documents of one text; whoever reads it says what comes next.

    Values are counted over all documents. Faults that leave the rest readable go to `findings`; those that end the
    document raise `Malformed`. `block` is the settings block that refusals name, empty where there is none.
    """

    def __init__(self, limits: ManifestLimits, findings: Findings, *, block: str = "manifests") -> None:
        self._limits = limits
        self._findings = findings
        self._block = block
        self._nodes_left = limits.nodes
        self.begin()

    def begin(self) -> None:
        """A document begins. Anchors of earlier ones are forgotten."""
        self._stack: list[_Frame] = []
        self._top: _Frame | None = None
        self._anchors: dict[str, _Anchored] = {}
        self._open_anchors: set[str] = set()
        self._lines: dict[int, Lines] = {}
        self._aliases = 0
        self._done: Tree | None = None

    def take(self) -> Tree | None:
        """The value that has just been completed at the top, once."""
        tree, self._done = self._done, None
        return tree

    def open(self, value: JsonObject | list[Json], line: int, anchor: str | None = None) -> None:
        """The empty `value` begins; what follows, up to `close`, goes into it."""
        self._nodes_left -= 1
        if self._nodes_left < 0 or len(self._stack) >= self._limits.depth:
            self._count(0, line)
            self._check_depth(1, line)
        top = self._top
        if top is not None and top.items is not None:
            top.lines.append(line)
        elif top is not None and top.key is None:
            raise Malformed("a mapping key must be a plain word or a quoted text", line, "complex-key")
        if anchor is not None:
            self._check_anchor(anchor, line)
            self._open_anchors.add(anchor)
        frame = _Frame(value, line, anchor, self._nodes_left)
        self._lines[id(value)] = frame.lines if frame.mapping is None else frame.keys
        self._stack.append(frame)
        self._top = frame

    def close(self) -> None:
        """The innermost mapping or list ends."""
        frame = self._stack.pop()
        value: Json = frame.items
        if frame.mapping is not None:
            value = frame.mapping
            for source in frame.merged:
                self._add_merged(source, frame.mapping, frame.line)
        if frame.anchor is not None:
            self._open_anchors.discard(frame.anchor)
            nodes = frame.nodes_before - self._nodes_left + 1
            self._anchors[frame.anchor] = _Anchored(value, nodes, frame.height)
        top = self._top = self._stack[-1] if self._stack else None
        if top is not None and top.height <= frame.height:
            top.height = frame.height + 1
        self._place(value, frame.line)

    def text(self, text: str, line: int) -> None:
        """A scalar that is text, of letters that need no check, without an anchor: what most of a manifest is."""
        self._nodes_left -= 1
        top = self._top
        if self._nodes_left < 0 or top is None or top.merging:
            self._nodes_left += 1
            self.scalar(text, text, line)
        elif top.items is not None:
            top.items.append(text)
            top.lines.append(line)
        elif top.key is None:
            top.key = text
            if text in top.keys:
                self._repeated(top, text, line)
            else:
                top.keys[text] = line
        elif top.mapping is not None:
            top.mapping[top.key] = text
            top.key = None

    def scalar(self, value: Scalar | Ambiguous, text: str, line: int, anchor: str | None = None) -> None:
        """A scalar: a key of a mapping, or else a value. `text` is what was written, without quotes."""
        self._count(1, line)
        top = self._top
        if top is not None and top.mapping is not None and top.key is None:
            if anchor is not None:
                self._check_anchor(anchor, line)
                self._anchors[anchor] = _Anchored(text, 1, 0)
            self._key(top, value, text, line)
            return
        if top is not None and top.items is not None:
            top.lines.append(line)
        if isinstance(value, str):
            self._check_text(value, line)
        elif isinstance(value, Ambiguous):
            public = _PRIVATE.isdisjoint(self._path())
            self._fault("ambiguous-scalar", f"the unquoted value {value.said(public=public)}", line)
            value = None
        if anchor is not None:
            self._check_anchor(anchor, line)
            self._anchors[anchor] = _Anchored(value, 1, 0)
        self._place(value, line)

    def merge_key(self, line: int) -> None:
        """An unquoted `<<` where a key is due, which is no scalar."""
        self._count(1, line)
        frame = self._top
        if frame is None:
            return
        frame.key, frame.merging = "<<", True
        if frame.merge_line:
            first = f"first on line {frame.merge_line}"
            self._fault("duplicate-key", f"`<<` appears twice, {first}; write one with a list of aliases", line)
        frame.merge_line = line

    def wants_key(self) -> bool:
        """Whether a key of a mapping is due."""
        return self._top is not None and self._top.mapping is not None and self._top.key is None

    def alias(self, anchor: str, line: int) -> None:
        """A use of an earlier anchor."""
        self._aliases += 1
        if self._aliases > self._limits.aliases:
            problem = f"more than the limit of {self._limits.aliases} aliases in one document{self._setting('aliases')}"
            raise Malformed(f"{problem}; write the values out", line, "too-many-aliases")
        found = self._anchors.get(anchor)
        name = shown(anchor)
        if anchor in self._open_anchors:
            raise Malformed(f"the alias *{name} stands inside of its own anchor", line, "alias-cycle")
        if found is None:
            raise Malformed(f"the alias *{name} has no anchor &{name} before it", line, "unknown-alias")
        self._count(found.nodes, line)
        self._check_depth(found.height + isinstance(found.value, dict | list), line)
        top = self._top
        if top is None or top.mapping is None or top.key is not None:
            if top is not None:
                top.height = max(top.height, found.height + isinstance(found.value, dict | list))
                if top.items is not None:
                    top.lines.append(line)
                elif top.merging and isinstance(found.value, list):
                    self._fault("bad-merge", "`<<` takes no alias of a list; name the mappings in the list", line)
            self._place(copied(found.value), line)
        elif isinstance(found.value, str):
            self._key(top, found.value, found.value, line)
        else:
            raise Malformed("a mapping key must be a plain word or a quoted text", line, "complex-key")

    def _check_anchor(self, anchor: str, line: int) -> None:
        """Readers disagree on which of two anchors of one name, one inside the other, an alias after both means."""
        if anchor in self._open_anchors:
            problem = f"the anchor &{shown(anchor)} stands inside of what it names already; give one another name"
            self._fault("ambiguous-anchor", problem, line)

    def _key(self, frame: _Frame, value: Scalar | Ambiguous, text: str, line: int) -> None:
        frame.key = text
        if not isinstance(value, str):
            if isinstance(value, Ambiguous):
                self._fault("ambiguous-key", f"the unquoted key {value.looks}; put the key in quotes", line)
            elif _json_word(value) != text:
                self._fault("ambiguous-key", "the unquoted key is not text; put the key in quotes", line)
        else:
            self._check_text(text, line)
        if text in frame.keys:
            self._repeated(frame, text, line)
        else:
            frame.keys[text] = line

    def _repeated(self, frame: _Frame, key: str, line: int) -> None:
        self._fault("duplicate-key", f"the key appears twice, first on line {frame.keys[key]}; keep one", line)

    def _place(self, value: Json, line: int) -> None:
        frame = self._top
        if frame is None:
            self._done = Tree(value, line, self._lines)
            self._lines = {}
        elif frame.items is not None:
            frame.items.append(value)
        elif frame.mapping is not None and frame.key is not None:
            if frame.merging:
                self._merge(frame, value, line)
            else:
                frame.mapping[frame.key] = value
            frame.key, frame.merging = None, False

    def _merge(self, frame: _Frame, value: Json, line: int) -> None:
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                self._fault("bad-merge", "`<<` takes a mapping or a list of mappings", line)
                continue
            if source.keys() & frame.keys.keys():
                self._fault(
                    "merge-order",
                    "`<<` repeats a key from above it, which readers resolve differently; put `<<` first",
                    line,
                )
            frame.merged.append(source)

    def _add_merged(self, source: JsonObject, mapping: JsonObject, line: int) -> None:
        for key, item in source.items():
            if key not in mapping:
                mapping[key] = copied(item)
            elif not isinstance(plain(key), str):
                # To some readers 1 and "1" are two keys until they write JSON.
                message = "`<<` brings a key like a number or a word of YAML that stands here too; name such keys once"
                self._fault("ambiguous-key", message, line)

    def _count(self, nodes: int, line: int) -> None:
        self._nodes_left -= nodes
        if self._nodes_left < 0:
            raise Malformed(
                f"the text has more than the limit of {self._limits.nodes} values{self._setting('nodes')}, "
                "aliases written out",
                line,
                "too-many-values",
            )

    def _check_depth(self, height: int, line: int) -> None:
        if len(self._stack) + height > self._limits.depth:
            limit = f"{self._limits.depth} levels{self._setting('depth')}"
            raise Malformed(f"the document nests deeper than the limit of {limit}", line, "too-deep")

    def _setting(self, name: str) -> str:
        return f" ({self._block}.{name})" if self._block else ""

    def _check_text(self, text: str, line: int) -> None:
        if "\0" in text:
            self._fault("nul-byte", "the text holds a NUL character, which cannot be stored; remove it", line)
        elif not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            self._fault("lone-surrogate", "the text holds half of a surrogate pair; write the whole character", line)

    def _path(self) -> list[str | int]:
        return [step for frame in self._stack if (step := frame.step()) is not None]

    def _fault(self, code: str, message: str, line: int) -> None:
        path = path_of(self._path())
        self._findings.add(code, f"{path}: {message}" if path else message, line=line)


def _json_word(value: float | None) -> str | None:
    """How every reader writes `value` as the text of a key; None where they differ, as for fractions and null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None
