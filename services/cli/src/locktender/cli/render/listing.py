"""Many things at once: a table where there is room for one, else each thing on lines of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

_GAP = 2
_LAST = 20
"""Columns that the last cell needs at least; it may go over several lines, and no other does."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows below titles. The first cell says what a row is about; the last one is for free text."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str | Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """What fits."""
        widths = [max(map(len, (title, *cells))) for title, *cells in zip(self.titles, *self.rows, strict=True)]
        needed = sum(width + _GAP for width in widths[:-1]) + min(widths[-1], _LAST)
        yield self._table() if needed <= options.max_width else Text("\n").join(self._stacked())

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim")
        for title in self.titles:
            table.add_column(title, no_wrap=title != self.titles[-1], overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def _stacked(self) -> Iterator[Text]:
        for first, *others in self.rows:
            yield Text.assemble(first if isinstance(first, Text) else (first, "bold"))
            for title, cell in zip(self.titles[1:], others, strict=True):
                if len(cell):
                    yield Text.assemble((f"  {title}: ", "dim"), cell)
