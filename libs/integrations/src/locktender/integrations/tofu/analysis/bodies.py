"""The text of one change: what it is, and what differs."""

from dataclasses import dataclass, field

from locktender.contracts.stacks.analysis import ChangeAction
from locktender.integrations.tofu.analysis.actions import Meaning
from locktender.integrations.tofu.analysis.differences import Differences, Path
from locktender.integrations.tofu.analysis.literals import write_members
from locktender.integrations.tofu.analysis.page import MOST_LINES, Page, quoted
from locktender.integrations.tofu.analysis.reading import Json, a_text, an_array, is_object
from locktender.integrations.tofu.analysis.trees import overlaid, pruned, sensitivity
from locktender.integrations.tofu.analysis.withholding import Withheld

_ALL_LINES = 200_000


@dataclass(slots=True)
class Room:
    """How many lines all texts of one document may take together."""

    left: int = _ALL_LINES

    def page(self) -> Page:
        return Page(min(MOST_LINES, self.left))

    def finish(self, page: Page) -> tuple[tuple[str, ...], int]:
        """The lines of a page, and how many are missing from it."""
        self.left -= len(page.lines)
        return page.finished(), page.elided


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the texts of one document, without any of its secrets."""

    withheld: Withheld
    room: Room = field(default_factory=Room)

    def resource(self, entry: Json, change: Json, meaning: Meaning) -> tuple[tuple[str, ...], int]:
        """The text about a resource: a line of what it is, one for each attribute that differs, and a brace."""
        page = self.room.page()
        word = "data" if entry.get("mode") == "data" else "resource"
        kind, name = a_text(entry.get("type")), a_text(entry.get("name"))
        page.write(0, meaning.mark, f"{word} {quoted(kind)} {quoted(name)} {{")
        before, after = self._sides(kind, change)
        if meaning.action in {ChangeAction.CREATE, ChangeAction.READ} and not meaning.forgets:
            write_members(page, 1, "+", _stated(after), self.withheld)
        elif meaning.action is ChangeAction.DELETE:
            write_members(page, 1, "-", _stated(before), self.withheld)
        else:
            self._compared(page, before, before if meaning.action is ChangeAction.FORGET else after, change, meaning)
        page.write(0, " ", "}")
        return self.room.finish(page)

    def output(self, name: str, change: Json) -> tuple[tuple[str, ...], int]:
        """The text about an output: its value before and after."""
        page = self.room.page()
        before, after = self._output_sides(change)
        Differences(page, self.withheld).value(1, f"{name} = ", before, after, (name,))
        return self.room.finish(page)

    def _compared(self, page: Page, before: Json, after: Json, change: Json, meaning: Meaning) -> None:
        paths = frozenset(_path(each) for each in an_array(change.get("replace_paths")))
        written = len(page.lines)
        Differences(page, self.withheld, paths).members(1, before, after)
        changed = any(line.lstrip()[:2] in {"+ ", "- ", "~ "} for line in page.lines[written:])
        if not changed and not page.elided and meaning.action is ChangeAction.UPDATE:
            page.write(1, " ", "# (nothing that can be shown differs)")

    def _sides(self, kind: str, change: Json) -> tuple[Json, Json]:
        old = overlaid(change.get("before"), sensitivity(kind, change.get("before_sensitive")), None)
        marks = sensitivity(kind, change.get("after_sensitive"))
        new = overlaid(change.get("after"), marks, pruned(change.get("after_unknown")))
        return _object(old), _object(new)

    def _output_sides(self, change: Json) -> tuple[object, object]:
        old = overlaid(change.get("before"), pruned(change.get("before_sensitive")), None)
        new = overlaid(change.get("after"), pruned(change.get("after_sensitive")), pruned(change.get("after_unknown")))
        return old, new


def _object(value: object) -> Json:
    """The attributes; of a resource that is sensitive or unknown as a whole they have no names."""
    if value is None:
        return {}
    return value if is_object(value) else {"(all)": value}


def _stated(attributes: Json) -> Json:
    return {key: value for key, value in attributes.items() if value is not None}


def _path(steps: object) -> Path:
    return tuple(step for step in an_array(steps) if isinstance(step, str | int))
