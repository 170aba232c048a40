"""Address, proxy and token: who is asked, as whom, and that a token goes nowhere else and is written nowhere."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import HubError, HubProblem, KeychainError
from app.hub import access
from app.hub.access import Access
from app.hub.account import Account, of_command
from app.hub.catalog import Catalog
from app.hub.keychain import SystemKeychain
from app.hub.line import Cut, Waits
from app.hub.listing import Query
from app.hub.service import HubService
from app.hub.tokens import Tokens
from app.hub.trial import Trial
from app.hub.wishes import Wishes
from app.settings import Settings, save
from tests.fake_hub import FakeHub
from tests.fake_keychain import FakeKeychain
from tests.hub.conftest import until

pytestmark = pytest.mark.slow

TOKEN = "hf_verysecret"
NONE = KeychainError("This system has no keyring that is running.", missing=True)


@pytest.fixture
def mirror() -> Iterator[FakeHub]:
    with FakeHub() as fake:
        yield fake


def with_account(
    models: Path,
    scenario: Callable[[Account, HubService], Awaitable[None]],
    keychain: FakeKeychain,
    environment: dict[str, str] | None = None,
    longest: float = 30.0,
) -> None:
    async def whole() -> None:
        service = HubService(Access(), models)
        account = Account(service, Tokens(keychain, longest), environment or {})
        try:
            await scenario(account, service)
        finally:
            await service.close()

    asyncio.run(whole())


def sent(hub: FakeHub) -> set[str | None]:
    return {asked.authorization for asked in hub.log}


# --- which hub, as whom --------------------------------------------------------------------------------------


def test_the_environment_goes_before_the_settings_and_its_token_to_its_address_alone() -> None:
    said = {"HF_ENDPOINT": "https://hub.example/", "HF_TOKEN": TOKEN}
    assert access.chosen("https://other.example", environment=said) == Access("https://hub.example", TOKEN)  # fmt: skip
    only_token = {"HF_TOKEN": TOKEN}
    assert access.chosen(environment=only_token).token == TOKEN
    assert access.chosen("https://mirror.example", environment=only_token).token == ""
    assert access.chosen("mirror.example/", environment={}).endpoint == "https://mirror.example"


@pytest.mark.parametrize("proxy", ["ftp://p:1", "http://", "http://p:port", "p q:1", "socks5://p:1"])  # fmt: skip
def test_a_proxy_that_is_none_is_refused(proxy: str) -> None:
    with pytest.raises(HubError) as caught:
        access.chosen(proxy=proxy, environment={})
    assert caught.value.problem is HubProblem.PROXY


def test_what_is_asked_goes_through_the_proxy_of_the_settings(hub: FakeHub) -> None:
    hub.add("o/r")
    catalog = Catalog(access.chosen("http://hub.example", hub.endpoint.removeprefix("http://"), {}))
    assert [one.repo for one in catalog.search(Query("r")).found] == ["o/r"]
    catalog.close()
    assert hub.log[0].headers["host"] == "hub.example"


def test_a_token_goes_to_the_address_that_it_was_given_for_alone(hub: FakeHub, mirror: FakeHub, models: Path) -> None:  # fmt: skip
    keychain = FakeKeychain({hub.endpoint: TOKEN})

    async def scenario(account: Account, service: HubService) -> None:
        kept = (hub.endpoint,)
        for fake in (hub, mirror):
            assert await account.use(Wishes(fake.endpoint, kept=kept)) == ""
            await service.search(Query("x"))
            await account.try_out(fake.endpoint, "")

    with_account(models, scenario, keychain)
    assert f"Bearer {TOKEN}" in sent(hub)
    assert sent(mirror) == {None}
    assert keychain.asked == ["get"]


def test_a_page_on_another_host_does_not_get_the_token(hub: FakeHub, mirror: FakeHub) -> None:
    for number in range(40):
        hub.add(f"o/m{number:02d}")
    catalog = Catalog(Access(hub.endpoint, TOKEN))
    hub.pages_at = mirror.endpoint
    assert catalog.search(Query("m")).next_page == ""
    hub.sends_to = f"{mirror.endpoint}/api/models"
    catalog.search(Query("m"))
    catalog.close()
    assert sent(hub) == {f"Bearer {TOKEN}"}
    assert sent(mirror) == {None}


# --- the keyring ---------------------------------------------------------------------------------------------


def test_a_token_is_kept_in_the_keyring_and_found_there_at_the_next_start(hub: FakeHub, models: Path) -> None:  # fmt: skip
    keychain = FakeKeychain()

    async def first(account: Account, service: HubService) -> None:
        await account.use(Wishes(hub.endpoint))
        assert not account.has_token(hub.endpoint)
        assert await account.keep(hub.endpoint, TOKEN) == ""
        assert account.has_token(hub.endpoint)
        await service.search(Query("x"))

    async def next_start(account: Account, service: HubService) -> None:
        await account.use(Wishes(hub.endpoint, kept=(hub.endpoint,)))
        await service.search(Query("x"))
        assert await account.drop(hub.endpoint) == ""
        await service.search(Query("x"))

    with_account(models, first, keychain)
    assert keychain.kept == {hub.endpoint: TOKEN}
    with_account(models, next_start, keychain)
    assert keychain.kept == {}
    assert [asked.authorization for asked in hub.log] == [f"Bearer {TOKEN}"] * 2 + [None]


def test_without_a_keyring_a_token_is_used_for_this_run_and_that_is_said(hub: FakeHub, models: Path, private_folders: Path) -> None:  # fmt: skip
    keychain = FakeKeychain(refusal=NONE)

    async def scenario(account: Account, service: HubService) -> None:
        await account.use(Wishes(hub.endpoint))
        words = await account.keep(hub.endpoint, TOKEN)
        assert "no keyring" in words
        assert "until Tutti ends" in words
        await service.search(Query("x"))
        assert await account.drop(hub.endpoint) == ""
        assert not account.has_token(hub.endpoint)

    with_account(models, scenario, keychain)
    assert sent(hub) == {f"Bearer {TOKEN}"}
    written = [path for folder in (private_folders, models) for path in folder.rglob("*")]
    assert not [path for path in written if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_a_keyring_that_hangs_is_said_and_what_it_gives_later_is_used(hub: FakeHub, models: Path) -> None:  # fmt: skip
    keychain = FakeKeychain({hub.endpoint: TOKEN})
    keychain.gate.clear()

    async def scenario(account: Account, service: HubService) -> None:
        words = await account.use(Wishes(hub.endpoint, kept=(hub.endpoint,)))
        assert "does not answer" in words
        assert TOKEN not in words
        await service.search(Query("x"))
        assert sent(hub) == {None}
        keychain.gate.set()
        await asyncio.to_thread(until, lambda: account._tokens.known(hub.endpoint))
        await asyncio.sleep(0)
        while sent(hub) == {None}:
            await service.search(Query("x"))

    with_account(models, scenario, keychain, longest=0.02)
    assert sent(hub) == {None, f"Bearer {TOKEN}"}


def test_a_token_that_is_gone_from_the_keyring_is_said(hub: FakeHub, models: Path) -> None:
    async def scenario(account: Account, service: HubService) -> None:
        words = await account.use(Wishes(hub.endpoint, kept=(hub.endpoint,)))
        assert "no access token" in words
        await service.search(Query("x"))

    with_account(models, scenario, FakeKeychain())
    assert sent(hub) == {None}


def test_nobody_has_to_wait_for_a_keyring_that_hangs(hub: FakeHub, models: Path) -> None:
    """Who waits can be cancelled, and the loop ends, while its thread is still inside."""
    keychain = FakeKeychain({hub.endpoint: TOKEN})
    keychain.gate.clear()

    async def scenario(account: Account, _: HubService) -> None:
        task = asyncio.ensure_future(account.use(Wishes(hub.endpoint, kept=(hub.endpoint,))))  # noqa: TID251  ended below
        await asyncio.to_thread(until, lambda: keychain.asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_account(models, scenario, keychain, longest=3600.0)
    keychain.gate.set()
    until(lambda: not [one for one in threading.enumerate() if one.name == "keyring"])


@pytest.mark.parametrize("token", ["hf_a b", "hf_ü"])
def test_what_is_no_token_is_not_kept(models: Path, token: str) -> None:
    keychain = FakeKeychain()

    async def scenario(account: Account, _: HubService) -> None:
        with pytest.raises(HubError):
            await account.keep("https://hub.example", token)
        with pytest.raises(HubError):
            await account.keep("http://hub.example", TOKEN)

    with_account(models, scenario, keychain)
    assert keychain.asked == []


def test_the_real_keyring_says_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    for call in (lambda: SystemKeychain().get("x"), lambda: SystemKeychain().put("x", TOKEN)):
        with pytest.raises(KeychainError) as caught:
            call()
        assert caught.value.missing


def test_settings_hold_addresses_and_never_a_token(hub: FakeHub, tmp_path: Path) -> None:
    assert "token" not in "".join(Settings.__slots__).replace("hub_tokens", "").replace("pool_tokens", "").replace("max_answer_tokens", "")  # fmt: skip
    save(Settings(hub_tokens=(hub.endpoint,)), tmp_path / "settings.json")
    assert hub.endpoint in (tmp_path / "settings.json").read_text()


def test_a_command_goes_on_without_a_keyring(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    said: list[str] = []
    wishes = Wishes(kept=(hub.endpoint,))
    found = of_command(wishes, Tokens(FakeKeychain({hub.endpoint: TOKEN})), said.append)
    assert (found.token, said) == (TOKEN, [])
    found = of_command(wishes, Tokens(FakeKeychain(refusal=NONE)), said.append)
    assert found.token == ""
    assert "without your access token" in said[0]


# --- the test button -----------------------------------------------------------------------------------------


def tried(who: Access) -> str:
    trial = Trial(who)
    try:
        return trial.run().words
    finally:
        trial.close()


def test_a_trial_says_what_works(hub: FakeHub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    hub.people = {TOKEN: "ada\u202e <b>"}
    host = hub.endpoint.removeprefix("http://")
    who = Access(hub.endpoint, TOKEN)
    assert tried(who) == f"{host} answers. The token belongs to ada <b>."
    assert [asked.authorization for asked in hub.log] == [None, f"Bearer {TOKEN}"]
    assert "Without a token" in tried(replace(who, token=""))
    wrong = tried(replace(who, token="hf_wrong"))
    assert wrong.startswith(f"{host} answers. The hub does not accept the access token")
    assert TOKEN not in caplog.text + wrong
    assert "hf_wrong" not in caplog.text + wrong


def test_a_trial_says_what_does_not(hub: FakeHub) -> None:
    hub.raw = b'{"log in": true}'
    assert "not as a model hub does" in tried(Access(hub.endpoint))
    hub.raw = b"<html>"
    assert "makes no sense" in tried(Access(hub.endpoint))
    assert "proxy" in tried(Access("http://hub.example", proxy="http://127.0.0.1:1"))
    assert "cannot be reached" in tried(Access("http://127.0.0.1:1"))


def test_a_trial_that_nobody_waits_for_ends(hub: FakeHub, models: Path) -> None:
    hub.silent = True
    trial = Trial(Access(hub.endpoint), Waits(3600, 3600))
    trial.cut()
    with pytest.raises(Cut):
        trial.run()
    trial.close()

    async def scenario(account: Account, _: HubService) -> None:
        task = asyncio.ensure_future(account.try_out(hub.endpoint, ""))  # noqa: TID251  ended below
        await asyncio.to_thread(until, lambda: hub.log)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_account(models, scenario, FakeKeychain())
