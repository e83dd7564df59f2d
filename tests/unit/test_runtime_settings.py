from pathlib import Path

import pytest

from locktender.runtime.settings import ProcessSettings, load


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCKTENDER_DATABASE_URL", "postgresql://joe:hunter22@db/locktender")
    monkeypatch.setenv("LOCKTENDER_NATS_URL", "nats://joe:hunter22@nats:4222")


def test_settings_come_from_the_environment_and_show_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKTENDER_INSTANCE", "runner.pod/7")
    settings = load(ProcessSettings)
    assert settings.database_url.get_secret_value() == "postgresql://joe:hunter22@db/locktender"
    assert settings.instance == "runner-pod-7"
    assert "hunter22" not in repr(settings)


def test_every_wrong_setting_is_named_in_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LOCKTENDER_DATABASE_URL")
    monkeypatch.setenv("LOCKTENDER_HEALTH_PORT", "hunter22")
    with pytest.raises(SystemExit) as exit_:
        load(ProcessSettings)
    assert exit_.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["LOCKTENDER_DATABASE_URL", "LOCKTENDER_HEALTH_PORT"]
    assert "hunter22" not in "".join(lines)


def test_leases_must_be_renewed_well_before_they_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCKTENDER_LEASE_TTL_SECONDS", "40")
    with pytest.raises(SystemExit):
        load(ProcessSettings)
    assert capsys.readouterr().err == "settings: renew_seconds must be less than half of lease_ttl_seconds\n"
