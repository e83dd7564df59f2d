"""What differs between two values, written the way the engine itself writes it."""

from dataclasses import dataclass

from locktender.contracts.stacks.analysis import MASKED
from locktender.integrations.tofu.analysis.literals import encoded, is_block, scalar, text_line, write_value
from locktender.integrations.tofu.analysis.page import LONGEST, Page, counted, keyed
from locktender.integrations.tofu.analysis.reading import is_array, is_object
from locktender.integrations.tofu.analysis.sequences import fingerprint, first_difference, stretches
from locktender.integrations.tofu.analysis.trees import Masked, Unknown, same
from locktender.integrations.tofu.analysis.withholding import Withheld

Path = tuple[str | int, ...]

_AROUND = 3
_SHOWN_ALWAYS = ("id", "name")
ABSENT = object()


@dataclass(frozen=True, slots=True)
class Differences:
    """Writes differences onto one page. `forcing` are the paths that make the engine replace the object."""

    page: Page
    withheld: Withheld
    forcing: frozenset[Path] = frozenset()

    def members(self, depth: int, before: dict[str, object], after: dict[str, object], path: Path = ()) -> None:
        """Of two objects. Equal members are counted, except for those that tell which object it is."""
        # A missing attribute and one that is null are the same; in a nested value they are not.
        absent = ABSENT if path else None
        pairs = {key: (before.get(key, absent), after.get(key, absent)) for key in sorted({**before, **after})}
        shown: dict[str, tuple[object, object]] = {}
        hidden = 0
        for key, (old, new) in pairs.items():
            if not same(old, new) or (not path and key in _SHOWN_ALWAYS and old is not None):
                shown[key] = (old, new)
            elif old is not None:
                hidden += 1
        width = max((len(keyed(key)) for key in shown), default=0)
        for key, (old, new) in shown.items():
            self.value(depth, f"{keyed(key):<{width}} = ", old, new, (*path, key))
        if hidden:
            word = "element" if path else "attribute"
            self.page.write(depth, " ", f"# ({counted(hidden, f'unchanged {word}')} hidden)")

    def value(self, depth: int, prefix: str, before: object, after: object, path: Path, end: str = "") -> None:
        """Of two values in the same place. `end` is what separates them from the next one."""
        tail = end + self._forces(path, before, after)
        if same(before, after):
            write_value(self.page, depth, " ", prefix, before, self.withheld, end)
        elif before is ABSENT or before is None:
            write_value(self.page, depth, "+", prefix, after, self.withheld, tail)
        elif after is ABSENT:
            write_value(self.page, depth, "-", prefix, before, self.withheld, tail)
        elif isinstance(before, Masked) or isinstance(after, Masked):
            self._masked(depth, prefix, before, after, tail)
        elif after is None or isinstance(after, Unknown):
            mark = "-" if after is None else "~"
            write_value(self.page, depth, mark, prefix, before, self.withheld, f" -> {_text(after, self)}{tail}")
        elif (is_object(before) and is_object(after)) or (is_array(before) and is_array(after)):
            self._containers(depth, prefix, before, after, path, end)
        elif isinstance(before, str) and isinstance(after, str):
            self._texts(depth, prefix, before, after, path, end)
        elif is_block(before) or is_block(after):
            write_value(self.page, depth, "-", prefix, before, self.withheld, end)
            write_value(self.page, depth, "+", prefix, after, self.withheld, tail)
        else:
            self.page.write(depth, "~", f"{prefix}{_text(before, self)} -> {_text(after, self)}{tail}")

    def _containers(self, depth: int, prefix: str, before: object, after: object, path: Path, end: str) -> None:
        forces = self._forces(path, before, after)
        first, last = "{}" if is_object(before) else "[]"
        self.page.write(depth, "~", f"{prefix}{first}{forces}")
        if is_object(before) and is_object(after):
            self.members(depth + 1, before, after, path)
        elif is_array(before) and is_array(after):
            self._elements(depth + 1, before, after, path)
        self.page.write(depth, " ", f"{last}{end}")

    def _masked(self, depth: int, prefix: str, before: object, after: object, tail: str) -> None:
        """One is sensitive, so neither is shown; that the marks differ may be all that changes."""
        words = ""
        if not isinstance(before, Masked):
            words = " # becomes sensitive"
        elif isinstance(after, Unknown):
            words = f" -> {after!r}"
        elif after is None:
            words = " -> null"
        elif not isinstance(after, Masked):
            words = " # no longer sensitive"
        self.page.write(depth, "-" if after is None else "~", f"{prefix}{MASKED}{words}{tail}")

    def _texts(self, depth: int, prefix: str, before: str, after: str, path: Path, end: str) -> None:
        forces = self._forces(path, before, after)
        old, new = self.withheld.text(before), self.withheld.text(after)
        was, becomes = encoded(old), encoded(new)
        if was is not None and type(was) is type(becomes) and not same(was, becomes):
            self.page.write(depth, "~", f"{prefix}jsonencode({forces}")
            # The engine knows no paths inside of a text, so nothing in it forces a replacement by itself.
            Differences(self.page, self.withheld).value(depth + 1, "", was, becomes, (*path, "jsonencode"))
            self.page.write(depth, " ", f"){end}")
        elif is_block(old) or is_block(new):
            self.page.write(depth, "~", f"{prefix}<<-EOT{forces}")
            self._lines(depth + 1, old, new)
            self.page.write(depth, " ", f"EOT{end}")
        else:
            long = max(len(old), len(new)) > LONGEST
            start = max(0, first_difference(old, new) - LONGEST // 4) if long else 0
            words = f"{scalar(old, self.withheld, start)} -> {scalar(new, self.withheld, start)}"
            self.page.write(depth, "~", f"{prefix}{words}{end}{forces}")

    def _lines(self, depth: int, before: str, after: str) -> None:
        old, new = before.removesuffix("\n").split("\n"), after.removesuffix("\n").split("\n")
        for stretch in stretches(old, new, str):
            marked = ((" ", stretch.after),) if stretch.stays else (("-", stretch.before), ("+", stretch.after))
            for mark, lines in marked:
                for line in _context(lines) if stretch.stays else map(text_line, lines):
                    self.page.write(depth, mark, line)
        if before.endswith("\n") is not after.endswith("\n"):
            words = "ends in a line break" if after.endswith("\n") else "no longer ends in a line break"
            self.page.write(depth, "~", f"# (the text {words})")

    def _elements(self, depth: int, before: list[object], after: list[object], path: Path) -> None:
        hidden = place = 0
        for stretch in stretches(before, after, fingerprint):
            if stretch.stays:
                hidden += len(stretch.after)
            elif _alike(stretch.before, stretch.after):
                for offset, (old, new) in enumerate(zip(stretch.before, stretch.after, strict=True)):
                    self.value(depth, "", old, new, (*path, place + offset), ",")
            else:
                for mark, values in (("-", stretch.before), ("+", stretch.after)):
                    for value in values:
                        write_value(self.page, depth, mark, "", value, self.withheld, ",")
            place += len(stretch.after)
        if hidden:
            self.page.write(depth, " ", f"# ({counted(hidden, 'unchanged element')} hidden)")

    def _forces(self, path: Path, before: object, after: object) -> str:
        if not self.forcing:
            return ""
        # What is written as a whole stands for everything below it; so does a list, whose elements move about.
        whole = not (is_object(before) and is_object(after))
        hit = path in self.forcing or (whole and any(each[: len(path)] == path for each in self.forcing))
        return " # forces replacement" if hit else ""


def _context(lines: list[str]) -> list[str]:
    """Lines that stayed; of many, those beside what changed."""
    shown = [text_line(line) for line in lines]
    if len(lines) <= 2 * _AROUND + 1:
        return shown
    hidden = f"# ({counted(len(lines) - 2 * _AROUND, 'unchanged line')} hidden)"
    return [*shown[:_AROUND], hidden, *shown[-_AROUND:]]


def _alike(before: list[object], after: list[object]) -> bool:
    """Whether elements that took the place of others are best shown as changed ones."""
    pairs = zip(before, after, strict=False)
    return len(before) == len(after) and all(
        (is_object(old) or is_array(old)) and type(old) is type(new) for old, new in pairs
    )


def _text(value: object, differences: Differences) -> str:
    return scalar(value, differences.withheld)
