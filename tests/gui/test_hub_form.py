"""Address, proxy and token of the hub in the settings: over a real hub on loopback, and a keyring that a test plays."""

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from app import settings
from app.errors import KeychainError
from app.hub.access import Access
from app.hub.account import Account
from app.hub.service import HubService
from app.hub.tokens import Tokens
from app.remembered import Remembered, remembered_path
from app.settings import Settings
from app.ui.hub_control import HubControl
from app.ui.sections import Sections
from tests.fake_hub import FakeHub
from tests.fake_keychain import FakeKeychain
from tests.gui.desk import until
from tests.gui.test_model_dialog import part
from tests.gui.test_names import nameless

TOKEN = "hf_verysecret"
NONE = KeychainError("This system has no keyring that is running.", missing=True)


@pytest.fixture
def hub():
    with FakeHub() as fake:
        fake.people = {TOKEN: "ada"}
        yield fake


@pytest.fixture
def at_settings(with_desk, tmp_path):
    """Run `scenario(desk, opened)` with an account; `opened()` opens the settings."""

    def run(scenario, keychain, environment=None, **current):
        async def whole(desk):
            service = HubService(Access(), tmp_path)
            account = Account(service, Tokens(keychain, 30.0), environment or {})
            control = HubControl(account, desk.preferences, desk.window.banner, desk.window)
            desk.window._settings.offer(control, Remembered(remembered_path()))
            await control.start()

            async def opened():
                await until(lambda: not desk.window.findChild(QWidget, "settingsDialog"))
                desk.window.settings()
                await until(lambda: desk.window.findChild(QWidget, "settingsDialog"))
                dialog = desk.find(QWidget, "settingsDialog")
                dialog.findChild(Sections).show_page("Model hub")
                return dialog

            try:
                await scenario(desk, opened)
            finally:
                await service.close()

        with_desk(whole, current=Settings(**current))

    return run


def fields(dialog):
    return (part(dialog, QLineEdit, f"setting_hub_{name}") for name in ("endpoint", "proxy", "token"))  # fmt: skip


def said(dialog):
    return part(dialog, QLabel, "hubTestResult").text()


def test_a_token_is_tried_kept_and_removed(at_settings, hub):
    keychain = FakeKeychain()

    async def scenario(desk, opened):
        dialog = await opened()
        assert nameless(dialog) == []
        endpoint, _, token = fields(dialog)
        endpoint.clear()
        QTest.keyClicks(endpoint, hub.endpoint)
        QTest.keyClicks(token, TOKEN)
        assert token.displayText() != TOKEN
        assert not part(dialog, QPushButton, "hubTokenRemove").isVisible()
        desk.click(part(dialog, QPushButton, "hubTestButton"))
        await until(lambda: "The token belongs to ada." in said(dialog))
        assert keychain.asked == []
        desk.click(part(dialog, QPushButton, "saveButton"))
        await until(lambda: desk.preferences.current.hub_tokens == (hub.endpoint,))
        assert keychain.kept == {hub.endpoint: TOKEN}
        await desk.preferences.save()
        assert TOKEN not in settings.settings_path().read_text()
        assert desk.window.banner.text() == ""

        dialog = await opened()
        _, _, token = fields(dialog)
        assert token.text() == ""
        assert set(token.placeholderText()) == {"•"}
        desk.click(part(dialog, QPushButton, "hubTestButton"))
        await until(lambda: "belongs to ada" in said(dialog))
        desk.click(part(dialog, QPushButton, "hubTokenRemove"))
        assert token.placeholderText() == "None"
        desk.click(part(dialog, QPushButton, "hubTestButton"))
        await until(lambda: "Without a token" in said(dialog))
        assert keychain.kept
        desk.click(part(dialog, QPushButton, "saveButton"))
        await until(lambda: desk.preferences.current.hub_tokens == ())
        assert keychain.kept == {}

    at_settings(scenario, keychain)


def test_without_a_keyring_the_token_is_for_this_run_and_that_is_said(at_settings, hub):
    async def scenario(desk, opened):
        dialog = await opened()
        _, _, token = fields(dialog)
        QTest.keyClicks(token, TOKEN)
        desk.click(part(dialog, QPushButton, "saveButton"))
        await until(lambda: "no keyring" in desk.window.banner.text())
        assert "until Tutti ends, and written nowhere" in desk.window.banner.text()
        assert desk.preferences.current.hub_tokens == ()
        dialog = await opened()
        assert part(dialog, QPushButton, "hubTokenRemove").isVisible()

    at_settings(scenario, FakeKeychain(refusal=NONE), hub_endpoint=hub.endpoint)


def test_a_token_is_not_tried_at_another_address(at_settings, hub):
    with FakeHub() as mirror:

        async def scenario(desk, opened):
            dialog = await opened()
            endpoint, _, token = fields(dialog)
            endpoint.selectAll()
            QTest.keyClicks(endpoint, mirror.endpoint)
            assert token.placeholderText() == "None"
            desk.click(part(dialog, QPushButton, "hubTestButton"))
            await until(lambda: "Without a token" in said(dialog))

        keychain = FakeKeychain({hub.endpoint: TOKEN})
        at_settings(scenario, keychain, hub_endpoint=hub.endpoint, hub_tokens=(hub.endpoint,))
        assert {asked.authorization for asked in mirror.log} == {None}


def test_what_does_not_work_is_said_and_the_test_can_be_stopped(at_settings, hub):
    hub.silent = True

    async def scenario(desk, opened):
        dialog = await opened()
        endpoint, proxy, _ = fields(dialog)
        button = part(dialog, QPushButton, "hubTestButton")
        desk.click(button)
        await until(lambda: hub.log)
        assert button.accessibleName() == "Stop the test"
        desk.click(button)
        assert said(dialog) == "Stopped."
        assert button.text() == "Test"
        endpoint.selectAll()
        QTest.keyClicks(endpoint, "http://127.0.0.1:1")
        desk.click(button)
        await until(lambda: "cannot be reached" in said(dialog))
        QTest.keyClicks(proxy, "ftp://x")
        desk.click(part(dialog, QPushButton, "saveButton"))
        assert dialog.isVisible()
        assert "http://HOST:PORT" in said(dialog)
        assert proxy.hasFocus()

    at_settings(scenario, FakeKeychain(), hub_endpoint=hub.endpoint)


def test_what_the_environment_says_is_shown_and_stays_out_of_the_settings(at_settings, hub):
    environment = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": TOKEN}

    async def scenario(desk, opened):
        dialog = await opened()
        endpoint, _, token = fields(dialog)
        assert (endpoint.text(), endpoint.isEnabled()) == (hub.endpoint, False)
        assert (token.placeholderText(), token.isEnabled()) == ("Given by HF_TOKEN", False)
        desk.click(part(dialog, QPushButton, "hubTestButton"))
        await until(lambda: "belongs to ada" in said(dialog))
        desk.click(part(dialog, QPushButton, "saveButton"))
        await until(lambda: not desk.window.findChild(QWidget, "settingsDialog"))
        assert desk.preferences.current.hub_endpoint == "https://mine.example"

    at_settings(scenario, FakeKeychain(), environment, hub_endpoint="https://mine.example")


def test_a_keyring_that_does_not_answer_stops_nothing(at_settings, hub):
    """The window goes on, and the settings can be opened and left."""
    keychain = FakeKeychain()
    keychain.gate.clear()

    async def scenario(desk, opened):
        dialog = await opened()
        _, _, token = fields(dialog)
        QTest.keyClicks(token, TOKEN)
        desk.click(part(dialog, QPushButton, "saveButton"))
        await until(lambda: keychain.asked == ["put"])
        dialog = await opened()
        desk.click(part(dialog, QPushButton, "cancelButton"))
        await desk.say("hello")
        await desk.answered()
        keychain.gate.set()
        await until(lambda: desk.preferences.current.hub_tokens == (hub.endpoint,))

    at_settings(scenario, keychain, hub_endpoint=hub.endpoint)
