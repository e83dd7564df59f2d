import socket
import stat
from pathlib import Path

import pytest

from locktender.embedded import ports
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.log import ChildLog
from locktender.embedded.state import StateFolder


def test_a_second_supervisor_of_the_same_folder_is_turned_away_until_the_first_lets_go(tmp_path: Path) -> None:
    first, second = StateFolder(tmp_path / "state"), StateFolder(tmp_path / "state")
    first.acquire("start")
    with pytest.raises(EmbeddedError, match="another Locktender"):
        second.acquire("start")
    first.release()
    second.acquire("start")
    second.release()


def test_private_files_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    state.acquire("start")
    try:
        path = state.write_private("secret", "word")
    finally:
        state.release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "word"


@pytest.mark.parametrize("text", ["", "{", "[]", '"port"', "\x00"])
def test_a_state_file_that_cannot_be_understood_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    assert StateFolder(tmp_path).read() == {}


def test_a_stored_port_is_kept_while_it_is_free_and_given_up_when_it_is_not() -> None:
    port = ports.choose()
    assert ports.choose(port) == port
    with socket.create_server(("127.0.0.1", port)):
        assert not ports.is_free(port)
        assert ports.choose(port) != port


def test_a_log_is_bounded_and_its_tail_holds_only_the_lines_of_this_start(tmp_path: Path) -> None:
    path = tmp_path / "child.log"
    path.write_text("of an earlier start\n")
    log = ChildLog(path, limit=1000)
    handle = log.open()
    with open(handle, "ab", buffering=0) as file:  # noqa: PTH123 - a descriptor, as the child has it
        file.write(b"one\ntwo\n")
        assert log.tail() == "one\ntwo"
        file.write(b"x" * 2000)
        log.trim()
        file.write(b"three\n")
        assert log.tail() == "three"
    assert path.stat().st_size == len(b"three\n")
    assert (tmp_path / "child.log.1").stat().st_size > 2000
