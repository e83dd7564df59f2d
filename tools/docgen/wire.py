"""What travels: subjects, streams, consumers, rights; and the problems that HTTP answers with."""

from collections.abc import Iterable

from locktender.contracts.deployments.events import CONTEXT, KINDS
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.permissions import RIGHTS
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks import events as stacks


def problems_page() -> str:
    """Every problem document that the HTTP interface can answer with."""
    rows = [f"| `{p.value.urn}` | {p.value.status} | {p.value.title} |" for p in Problem]
    return _page("Problems", "Answers other than success are `application/problem+json` (RFC 9457).", [
        _table(("type", "status", "title"), rows),
    ])  # fmt: skip


def subjects_page() -> str:
    """Everything on NATS."""
    streams = [
        f"| `{s.name}` | {_code(s.subjects)} | {'work queue' if s.work_queue else 'limits'} |"
        f" {s.max_age_seconds // 3600} h | {s.max_bytes // 1024**2} MiB | {s.duplicate_window_seconds} s |"
        f" {s.description} |"
        for s in subjects.STREAMS
    ]
    consumers = [
        f"| `{c.name}` | `{c.stream}` | `{c.filter_subject}` | {c.ack_wait_seconds} s | {c.max_ack_pending} |"
        f" {c.description} |"
        for c in subjects.CONSUMERS
    ]
    others = [
        f"| `{subjects.poke('<service>')}` | wakes a service before its next poll; may be lost |",
        f"| `{subjects.CANCELS}` | a cancel request is on the row; may be lost |",
        f"| `{subjects.custody('<instance>')}` | asks an API instance for the credentials it holds |",
    ]
    rights = [
        f"| `{identity}` | {_code(right.publish)} | {_code(right.subscribe)} | {'yes' if right.answers else 'no'} |"
        for identity, right in RIGHTS.items()
    ]
    return _page("Subjects", f"Events are told on `{subjects.EVENT_SUBJECT}`, with ids and facts only.", [
        "## Streams\n\n" + _table(("stream", "subjects", "kind", "age", "size", "dedup", "what"), streams),
        "## Consumers\n\n" + _table(("consumer", "stream", "filter", "ack wait", "pending", "what"), consumers),
        f"## Events of `{CONTEXT}`\n\n{_code(KINDS)}",
        f"## Events of `{stacks.CONTEXT}`\n\n{_code(stacks.KINDS)}",
        f"Of the stacks themselves: {_code(stacks.STACK_KINDS)}",
        "## Not stored\n\n" + _table(("subject", "what"), others),
        "## Rights\n\n" + _table(("identity", "publishes", "subscribes", "answers"), rights),
    ])  # fmt: skip


def _page(title: str, lead: str, parts: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", lead, *parts]) + "\n"


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *rows])


def _code(words: Iterable[str]) -> str:
    return " ".join(f"`{word}`" for word in words)
