"""Which hosts git may talk to: their names, and every address that these stand for."""

from collections.abc import Iterable

import pytest
from pydantic import TypeAdapter, ValidationError

from locktender.api.settings import ApiSettings
from locktender.integrations.sources.errors import SourceRefused, SourceUnavailable
from locktender.integrations.sources.reach import THIS_MACHINE, HostPattern, Reach
from locktender.runner.settings import RunnerSettings

URL = "https://git.example.com/net.git"


def reach(*addresses: str, hosts: Iterable[str] = ("*",)) -> Reach:
    async def look_up(_host: str, _port: int) -> list[str]:
        return [*addresses]

    return Reach(frozenset(hosts), look_up)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",  # noqa: S104 - nothing is bound
        "0.1.2.3",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ],
)
async def test_metadata_and_what_is_no_single_machine_is_never_talked_to(address: str) -> None:
    for hosts in (("*",), ("git.example.com",)):
        for found in ((address,), ("192.0.2.1", address)):
            with pytest.raises(SourceRefused, match="never talked to") as caught:
                await reach(*found, hosts=hosts).settings_for(URL, "https")
            assert "example" not in str(caught.value)
            assert address not in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"])
async def test_this_machine_is_talked_to_only_under_a_name_that_is_listed(address: str) -> None:
    for hosts in (("*",), ("*.example.com",)):
        with pytest.raises(SourceRefused, match="never talked to"):
            await reach(address, hosts=hosts).settings_for(URL, "https")
    assert await reach(address, hosts=("git.example.com",)).settings_for(URL, "https")


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST"]
)
async def test_no_way_to_write_this_machine_gets_through(host: str) -> None:
    with pytest.raises((SourceRefused, SourceUnavailable)):
        await Reach().settings_for(f"https://{host}/a", "https")


async def test_private_networks_are_talked_to_and_git_is_held_to_what_was_looked_at() -> None:
    found = reach("10.0.0.5", "fd12::5", "192.168.1.1", "100.64.0.1")
    pinned = "10.0.0.5,[fd12::5],192.168.1.1,100.64.0.1"
    assert await found.settings_for(URL, "https") == {"http.curloptResolve": f"git.example.com:443:{pinned}"}
    told = await found.settings_for("https://Git.example.com:8443/net.git", "https")
    assert told == {"http.curloptResolve": f"git.example.com:8443:{pinned}"}
    assert await found.settings_for("http://git.example.com/net.git", "http") == {
        "http.curloptResolve": f"git.example.com:80:{pinned}"
    }
    for url in ("git@git.example.com:net.git", "ssh://git@git.example.com:2222/net.git"):
        assert await found.settings_for(url, "ssh") == {}, "ssh looks it up itself"


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://git.example.com/a", True),
        ("https://GIT.example.com/a", True),
        ("git@Git.example.com:a", True),
        ("https://a.b.example.org/a", True),
        ("https://example.org/a", False),
        ("https://notexample.org/a", False),
        ("https://git.example.com.evil.test/a", False),
        ("https://[fd12::5]/a", True),
        ("https://10.0.0.6/a", False),
    ],
)
async def test_a_host_has_to_fit_the_list(url: str, *, taken: bool) -> None:
    listed = reach("192.0.2.1", hosts=("git.example.com", "*.example.org", "fd12::5"))
    scheme = "https" if "://" in url else "ssh"
    if taken:
        await listed.settings_for(url, scheme)
    else:
        with pytest.raises(SourceRefused, match="not taken here"):
            await listed.settings_for(url, scheme)


async def test_a_local_repository_has_no_host() -> None:
    assert await reach(hosts=()).settings_for("file:///srv/net", "file") == {}


async def test_a_host_without_an_address_is_unavailable_unless_a_proxy_looks_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nobody(_host: str, _port: int) -> list[str]:
        raise OSError("no such host")

    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SourceUnavailable, match="no address"):
        await Reach(look_up=nobody).settings_for(URL, "https")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
    assert await Reach(look_up=nobody).settings_for(URL, "https") == {}
    with pytest.raises(SourceRefused):
        await reach("169.254.169.254").settings_for(URL, "https")


def test_the_list_is_a_setting_of_both_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKTENDER_STACK_GIT_HOSTS", '["git.example.com", "*.example.org", "::1"]')
    given = {"database_url": "postgresql://x/y", "nats_url": "nats://x:1", "instance": "one"}
    for settings in (ApiSettings(**given), RunnerSettings(**given)):
        assert settings.stack_git_hosts == {"git.example.com", "*.example.org", "::1"}


@pytest.mark.parametrize("pattern", ["", "git*.example.com", "https://git.example.com", "Git.example.com", "a b", "*."])
def test_what_can_fit_no_host_is_refused_as_a_pattern(pattern: str) -> None:
    patterns: TypeAdapter[str] = TypeAdapter(HostPattern)
    with pytest.raises(ValidationError):
        patterns.validate_python(pattern)
    for fine in ("*", *THIS_MACHINE, "*.example.com", "10.0.0.1"):
        assert patterns.validate_python(fine) == fine
