"""`${{ if(…) }}`, `elif(…)`, `else()` and `endif()`: lines that decide whether the lines after them are there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from locktender.integrations.templates.faults import TemplateFault

_MARK = re.compile(r"^[ \t]*\$\{\{[ \t]*(if|elif|else|endif)[ \t]*\((.*)\)[ \t]*\}\}[ \t]*\r?$")
_DEEPEST = 32

Condition = Callable[[str, int], bool]
"""(expression, line) to whether it holds."""


class Line(NamedTuple):
    """One line of a template with its number, from 1."""

    number: int
    text: str


@dataclass(slots=True)
class _Block:
    """An `if` that is still open.

    Attributes:
        taken: one of its branches was taken, so that no later one is.
        open: the present branch is the one that was taken.
        outer: whether the lines around it are there at all; if not, no condition in it is looked at.
    """

    line: int
    outer: bool
    taken: bool = False
    open: bool = False
    last: bool = field(default=False)


def selected(lines: Sequence[Line], holds: Condition) -> list[Line]:
    """The lines that are there. A condition is worked out only where its own lines could be.

    Raises:
        TemplateFault: the blocks do not fit together, or a condition cannot be worked out.
    """
    kept: list[Line] = []
    open_blocks: list[_Block] = []
    for line in lines:
        match = _MARK.match(line.text) if "${{" in line.text else None
        if match is not None:
            _step(match[1], match[2], line.number, open_blocks, holds)
        elif not open_blocks or (open_blocks[-1].outer and open_blocks[-1].open):
            kept.append(line)
    if open_blocks:
        raise TemplateFault("unclosed-if", "this `if` has no `endif()`", open_blocks[-1].line)
    return kept


def _step(word: str, expression: str, number: int, blocks: list[_Block], holds: Condition) -> None:
    if word == "if":
        if len(blocks) >= _DEEPEST:
            raise TemplateFault("too-deep", f"there are more than {_DEEPEST} `if` inside one another", number)
        block = _Block(number, outer=all(each.open for each in blocks))
        block.open = block.taken = block.outer and holds(expression, number)
        blocks.append(block)
        return
    if not blocks:
        raise TemplateFault("stray-branch", f"this `{word}` belongs to no `if`", number)
    if word == "endif":
        blocks.pop()
        return
    block = blocks[-1]
    if block.last:
        raise TemplateFault("branch-after-else", f"this `{word}` comes after the `else()` of line {block.line}", number)
    block.last = word == "else"
    block.open = block.outer and not block.taken and (block.last or holds(expression, number))
    block.taken = block.taken or block.open
