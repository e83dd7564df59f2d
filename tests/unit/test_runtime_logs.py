import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider

from locktender.runtime.logs import configure_logs, withheld
from locktender.runtime.traces import extract, inject


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_log_line_is_one_json_object_that_says_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("runner", "runner-1")
    structlog.get_logger().info("started", row=7)
    structlog.get_logger().debug("not shown")
    (line,) = lines(capsys)
    assert (line["event"], line["row"], line["service"], line["instance"]) == ("started", 7, "runner", "runner-1")
    assert line["timestamp"].endswith("Z")


def test_libraries_are_heard_from_warnings_on(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("runner", "runner-1")
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("%s is odd", "this")
    (line,) = lines(capsys)
    assert (line["event"], line["logger"], line["level"]) == ("this is odd", "some.library", "warning")


def test_withheld_values_are_in_no_part_of_a_line_while_they_are_registered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("runner", "runner-1")
    log = structlog.get_logger()
    with withheld.values(["hunter22"]):
        log.warning("token hunter22", detail={"deep": ["hunter22"]}, error=ValueError("hunter22"))
        try:
            int("hunter22")
        except ValueError:
            log.exception("failed")
    log.warning("hunter22")
    *guarded, free = lines(capsys)
    assert "hunter22" not in json.dumps(guarded)
    assert free["event"] == "hunter22"


def test_a_stack_shows_no_locals(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("runner", "runner-1")

    def fail(token: str) -> None:
        raise ValueError(len(token))

    try:
        fail("hunter22")
    except ValueError:
        structlog.get_logger().exception("failed")
    (line,) = lines(capsys)
    assert "ValueError" in json.dumps(line)
    assert "hunter22" not in json.dumps(line)


def test_the_console_form_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("runner", "runner-1", form="console")
    structlog.get_logger().info("started")
    assert "started" in capsys.readouterr().out


def test_the_trace_goes_along_with_a_message_and_into_the_logs(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("runner", "runner-1")
    tracer = TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("deploy") as sender:
        headers = inject()
    with tracer.start_as_current_span("run", context=extract(headers)) as receiver:
        structlog.get_logger().info("running")
    assert receiver.get_span_context().trace_id == sender.get_span_context().trace_id
    assert lines(capsys)[0]["trace_id"] == f"{sender.get_span_context().trace_id:032x}"
    assert inject() == {}
