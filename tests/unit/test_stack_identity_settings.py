"""Keys of identity tokens: refused before anything starts where they are no use, and never repeated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from locktender.api.settings import ApiSettings
from locktender.cli.local.folder import LocalFolder
from locktender.contracts.kernel.ids import NAME_PATTERN, WORKSPACE_PATTERN
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.contracts.stacks.wire import RunSecrets
from locktender.integrations.identity.keys import new_key_text, signing_keys
from locktender.runtime.settings import load

KEY = new_key_text()
PRIVATE = signing_keys(KEY)[0].private


def pem(key: Any, *, encryption: Any = None) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()).decode()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCKTENDER_DATABASE_URL", "postgresql://joe@db/locktender")
    monkeypatch.setenv("LOCKTENDER_NATS_URL", "nats://nats:4222")
    monkeypatch.setenv("LOCKTENDER_PUBLIC_URL", "https://locktender.example")


def weak() -> str:
    return pem(rsa.generate_private_key(65537, 1024))  # noqa: S505 - that it is weak is the point


def elliptic() -> str:
    return pem(ec.generate_private_key(ec.SECP256R1()))


def public() -> str:
    return PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def encrypted() -> str:
    return pem(PRIVATE, encryption=BestAvailableEncryption(b"hunter22"))


WRONG: dict[str, tuple[Callable[[], str], str]] = {
    "no-pem": (lambda: "hunter22 hunter22", "give RSA private keys as PEM"),
    "more-than-pem": (lambda: KEY + "hunter22", "give RSA private keys as PEM"),
    "damaged": (lambda: KEY.replace("M", "!", 3), "key 1 is no private key in PEM without a passphrase"),
    "public": (lambda: KEY + public(), "key 2 is no private key"),
    "encrypted": (encrypted, "without a passphrase"),
    "elliptic": (elliptic, "key 1 is no RSA key"),
    "weak": (weak, "key 1 has 1024 bits; 2048 is the least"),
    "twice": (lambda: KEY + KEY, "two keys are the same"),
}


@pytest.mark.parametrize(("keys", "words"), WRONG.values(), ids=WRONG)
def test_the_api_does_not_start_with_keys_that_are_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keys: Callable[[], str], words: str
) -> None:
    given = keys()
    monkeypatch.setenv("LOCKTENDER_IDENTITY__KEYS", given)
    with pytest.raises(SystemExit) as ended:
        load(ApiSettings)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert (said.startswith("LOCKTENDER_IDENTITY: "), said.count("\n"), words in said) == (True, 1, True), said
    assert not any(line in said for line in given.splitlines())


def test_keys_want_an_address_and_may_be_on_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCKTENDER_IDENTITY__KEYS", KEY.replace("\n", "\\n"))
    settings = load(ApiSettings)
    assert settings.identity.keys is not None
    assert [key.thumbprint for key in signing_keys(settings.identity.keys.get_secret_value())] == [
        signing_keys(KEY)[0].thumbprint
    ]
    assert "PRIVATE" not in repr(settings)
    monkeypatch.delenv("LOCKTENDER_PUBLIC_URL")
    with pytest.raises(SystemExit):
        load(ApiSettings)
    assert "give LOCKTENDER_PUBLIC_URL with LOCKTENDER_IDENTITY__KEYS" in capsys.readouterr().err


def test_no_part_of_a_subject_can_have_a_colon() -> None:
    assert ":" not in WORKSPACE_PATTERN.replace("(?:", "") + NAME_PATTERN.replace("(?:", "") + "".join(RunMode)


def test_what_older_apis_seal_can_still_be_opened_and_every_token_is_kept_out_of_logs() -> None:
    assert RunSecrets.model_validate_json('{"variables": {}}').tokens == {}
    secrets = RunSecrets.model_validate_json('{"tokens": {"A": "one"}, "tokenFiles": {"B": "two"}}')
    assert secrets.values() == ["one", "two"]


def test_a_local_system_keeps_its_key(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    folder.acquire()
    first = folder.secrets().identity_key
    folder.release()
    assert LocalFolder(tmp_path).secrets().identity_key == first
    assert len(signing_keys(first)) == 1
    assert (tmp_path / "system" / "identity.pem").stat().st_mode & 0o777 == 0o600
