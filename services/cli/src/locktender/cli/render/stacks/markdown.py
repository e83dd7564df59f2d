"""A plan as Markdown, for a comment on a pull request: a sentence, a table of changes, and the diffs to unfold."""

from collections.abc import Iterable, Iterator
from typing import Any

from locktender.cli.render.stacks.plan import UNKNOWN, state_notes
from locktender.cli.render.stacks.words import name_of, plan_run, sentence_of, status_text, visible

Json = dict[str, Any]

LONGEST = 60_000
"""Characters. A comment may have 65,536 at the places that are known to us."""
_ACTIONS = {
    "create": "+ create", "update": "~ update", "delete": "- destroy", "replace": "-/+ replace", "read": "<= read",
    "forget": "forget", "no-op": "state only", "unknown": "not known",
}  # fmt: skip
_MARKS = {"+": "+", "-": "-", "~": "!", "-/+": "!", "+/-": "!", "+/.": "+", "./+": "+"}
"""What GitHub and GitLab colour in a block of kind `diff`."""
_ROOM_FOR_STATEMENT = 400
_MOST_ROWS = 200
_LONG_CELL = 200


def plan_markdown(deployment: Json, changes: Json | None, why: str = UNKNOWN) -> str:
    """The summary, at most `LONGEST` characters. What was left out is said; `why` where changes are not known."""
    run = plan_run(deployment)
    lines = [f"### {_plain(name_of(deployment))}: {status_text(deployment).plain}", ""]
    lines += ["There is no plan." if run is None else f"**{_plain(sentence_of(run))}**", ""]
    lines += list(_gaps(run))
    if run is not None and changes is None and run["hasChanges"]:
        lines += [f"> {_plain(why)}", ""]
    lines += list(_end(deployment))
    head = "\n".join(lines)
    return head if changes is None else _with_changes(head, changes)


def _with_changes(head: str, changes: Json) -> str:
    table = list(_table(changes))
    blocks = list(_blocks(changes))
    text = "\n".join([head, *table])
    shown = 0
    for block in blocks:
        if len(text) + len(block) > LONGEST - _ROOM_FOR_STATEMENT:
            break
        text += "\n" + block
        shown += 1
    left = len(blocks) - shown
    if left:
        text += f"\n> {left} of {len(blocks)} diffs do not fit into this comment. See all: `locktender stack show`.\n"
    return text if len(text) <= LONGEST else text[: LONGEST - 80] + "\n\n> The rest does not fit into this comment.\n"


def _gaps(run: Json | None) -> Iterator[str]:
    plan: Json | None = None if run is None else run["plan"]
    if plan is None or plan["countsComplete"]:
        return
    yield "> [!WARNING]"
    yield "> The numbers do not describe the whole plan:"
    for gap in plan["gaps"][:_MOST_ROWS]:
        where = f" ({_code(gap['address'])})" if gap["address"] else ""
        yield f"> - {_plain(gap['message'])}{where}"
    yield ""


def _end(deployment: Json) -> Iterator[str]:
    if deployment["failure"]:
        yield f"> {deployment['failure']['reason']}: {_plain(deployment['failure']['message'])}"
        yield ""
    if "confirm" in deployment["actions"]:
        yield f"Apply it with `locktender stack confirm {deployment['stack']} {deployment['number']}`."
        yield ""


def _table(changes: Json) -> Iterator[str]:
    rows = [(_ACTIONS.get(each["action"], each["action"]), each) for each in changes["resources"]]
    rows += [("changed outside", each) for each in changes["drift"]]
    rows += [("deferred", each) for each in changes["deferred"]]
    if not rows and not changes["outputs"]:
        return
    yield "| action | address | note |"
    yield "|---|---|---|"
    for action, each in rows[:_MOST_ROWS]:
        notes = "; ".join([*state_notes(each), *([visible(each["reason"])] if each["reason"] else [])])
        yield f"| {action} | {_code(each['address'])} | {_cell(notes)} |"
    if len(rows) > _MOST_ROWS:
        yield f"| … | and {len(rows) - _MOST_ROWS} more | |"
    for output in changes["outputs"][:_MOST_ROWS]:
        yield f"| {_ACTIONS.get(output['action'], output['action'])} | output {_code(output['name'])} | |"
    yield ""


def _blocks(changes: Json) -> Iterator[str]:
    for title, entries in (("", "resources"), ("changed outside: ", "drift"), ("deferred: ", "deferred")):
        for each in changes[entries]:
            if each["diff"]:
                yield _block(f"{title}{each['address']}", each["diff"])
    diffs = [line for output in changes["outputs"] for line in output["diff"]]
    if diffs:
        yield _block("outputs", diffs)


def _block(title: str, diff: Iterable[str]) -> str:
    lines = [_diff_line(visible(line)) for line in diff]
    # A fence is longer than any run of backticks within, so that nothing in a diff can end it.
    fence = "`" * max(3, 1 + max((_run_of_ticks(line) for line in lines), default=0))
    body = "\n".join(lines)
    return f"<details><summary>{_html(title)}</summary>\n\n{fence}diff\n{body}\n{fence}\n\n</details>\n"


def _diff_line(line: str) -> str:
    """The mark goes first, where the colouring looks for it."""
    mark, _, _ = line.lstrip().partition(" ")
    return f"{_MARKS.get(mark, ' ')} {line}"


def _run_of_ticks(line: str) -> int:
    longest = run = 0
    for char in line:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest


def _html(text: str) -> str:
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Text that means nothing more in Markdown than it says."""
    return "".join(f"\\{char}" if char in r"\`*_[]|~#" else char for char in _html(text))


def _cell(text: str) -> str:
    plain = visible(text)
    return _plain(plain if len(plain) <= _LONG_CELL else plain[: _LONG_CELL - 1] + "…")


def _code(text: str) -> str:
    """As code, also within a table."""
    return f"<code>{_html(text).replace('|', '&#124;').replace('`', '&#96;')}</code>"
