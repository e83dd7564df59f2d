from datetime import UTC, datetime, timedelta

from locktender.reaper.clock_guard import ClockGuard

START = datetime(2030, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_clocks_that_go_alike_are_trusted_however_long_the_pause_was() -> None:
    guard = ClockGuard(tolerance=60, hold=20)
    assert guard.trusts(at(0), 100)
    assert guard.trusts(at(4), 104)
    assert guard.trusts(at(7204), 7304)


def test_a_jump_below_a_lease_is_ordinary() -> None:
    guard = ClockGuard(tolerance=60, hold=20)
    guard.trusts(at(0), 0)
    assert guard.trusts(at(63), 4)


def test_after_a_jump_nothing_is_judged_until_holders_had_time_to_renew() -> None:
    guard = ClockGuard(tolerance=60, hold=20)
    guard.trusts(at(0), 0)
    assert not guard.trusts(at(3604), 4)
    assert not guard.trusts(at(3608), 8)
    assert guard.trusts(at(3624), 24)


def test_a_jump_back_is_doubted_as_well() -> None:
    guard = ClockGuard(tolerance=60, hold=20)
    guard.trusts(at(0), 0)
    assert not guard.trusts(at(-3600), 4)


def test_a_second_jump_starts_the_wait_anew() -> None:
    guard = ClockGuard(tolerance=60, hold=20)
    guard.trusts(at(0), 0)
    assert not guard.trusts(at(3604), 4)
    assert not guard.trusts(at(7220), 20)
    assert not guard.trusts(at(7239), 39)
    assert guard.trusts(at(7240), 40)
