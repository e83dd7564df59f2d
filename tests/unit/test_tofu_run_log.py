"""The log of a run, as whoever reads it sees it."""

from typing import Any, cast

from locktender.contracts.stacks.wire import RunPort
from locktender.integrations.tofu.run_log import RunLog
from locktender.runtime.scrub import Scrubber, ScrubStream


class _Kept:
    """The one thing of a port that a log needs."""

    def __init__(self) -> None:
        self.text = ""

    async def log(self, chunk: bytes) -> None:
        self.text += chunk.decode()


def _log(*secrets: str) -> tuple[RunLog, _Kept]:
    kept = _Kept()
    return RunLog(cast("RunPort", cast("Any", kept)), ScrubStream(Scrubber(secrets))), kept


async def test_a_line_of_ours_begins_a_line_whatever_a_command_left_unfinished() -> None:
    log, kept = _log()
    await log.line("$ bash")
    await log.write(b"no line break at the end")
    await log.line("Done.")
    assert kept.text == "$ bash\nno line break at the end\nDone.\n"


async def test_output_that_was_held_back_is_told_before_the_next_line_and_withheld_where_it_is_secret() -> None:
    log, kept = _log("correct-horse-battery")
    await log.write(b"first\n")
    await log.write(b"correct-horse-")
    await log.write(b"battery")
    await log.line("Done.")
    assert kept.text == "first\n[withheld]\nDone.\n"
