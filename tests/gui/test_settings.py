"""The dialogs of settings, for all and for one chat."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app import settings
from app.chat.models import ConversationSettings, Sampling
from app.settings import Settings
from app.ui import theme
from app.ui.settings_dialog import SettingsDialog
from tests.gui.desk import until


async def opened(desk, name):
    await until(lambda: desk.window.findChild(QWidget, name))
    return desk.find(QWidget, name)


def test_what_is_set_is_saved_and_used(with_desk):
    async def scenario(desk):
        desk.control(Qt.Key.Key_Comma)
        dialog = await opened(desk, "settingsDialog")
        dialog.findChild(QComboBox, "setting_theme").setCurrentIndex(2)
        dialog.findChild(QSpinBox, "setting_pool_tokens").setValue(4096)
        dialog.findChild(QDoubleSpinBox, "setting_temperature").setValue(0.25)
        dialog.findChild(QPlainTextEdit, "setting_system_prompt").setPlainText("Be brief.")
        QTest.keyClicks(dialog.findChild(QLineEdit, "setting_seed"), "42")
        desk.click(dialog.findChild(QPushButton, "saveButton"))
        await until(lambda: desk.preferences.current.theme == "dark")
        current = desk.preferences.current
        assert current.pool_tokens == 4096
        assert current.system_prompt == "Be brief."
        assert current.sampling == Sampling(temperature=0.25, seed=42)
        assert theme.tokens() is theme.DARK
        await desk.preferences.save()
        assert settings.load(settings.settings_path()).settings == current
        await desk.say("hello")
        await desk.answered()
        request = desk.generator.requests[0]
        assert request.messages[0].content == "Be brief."
        assert request.sampling.seed == 42

    with_desk(scenario, current=Settings(theme="light"))


def test_cancel_changes_nothing(with_desk):
    async def scenario(desk):
        before = desk.preferences.current
        desk.control(Qt.Key.Key_Comma)
        dialog = await opened(desk, "settingsDialog")
        dialog.findChild(QSpinBox, "setting_sequences").setValue(3)
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: not desk.window.findChild(QWidget, "settingsDialog"))
        assert desk.preferences.current is before

    with_desk(scenario)


def test_what_is_not_touched_stays_exact(qtbot):
    exact = Settings(sampling=Sampling(top_p=0.123456, min_p=0.987654), threads=3)
    dialog = SettingsDialog(exact)
    qtbot.addWidget(dialog)
    assert dialog.value(exact) == exact
    dialog.findChild(QSpinBox, "setting_threads").setValue(2)
    assert dialog.value(exact) == replace(exact, threads=2)


def test_the_dialog_knows_the_ranges_of_the_settings(qtbot):
    dialog = SettingsDialog(Settings())
    qtbot.addWidget(dialog)
    boxes = [*dialog.findChildren(QSpinBox), *dialog.findChildren(QDoubleSpinBox)]
    assert len(boxes) >= 12
    for box in boxes:
        name = box.objectName().removeprefix("setting_")
        assert (box.minimum(), box.maximum()) == settings.RANGES[name]


def test_a_chat_has_settings_of_its_own(with_desk):
    async def scenario(desk):
        desk.click(desk.find(QWidget, "chatSettingsButton"))
        dialog = await opened(desk, "chatSettingsDialog")
        assert not dialog.findChild(QPlainTextEdit, "chat_system_prompt").isEnabled()
        assert dialog.findChild(QPlainTextEdit, "chat_system_prompt").toPlainText() == "General."
        dialog.findChild(QCheckBox, "chat_own_prompt").click()
        dialog.findChild(QPlainTextEdit, "chat_system_prompt").setPlainText("Own.")
        desk.click(dialog.findChild(QPushButton, "saveButton"))
        await until(lambda: desk.front.conversation.settings.system_prompt == "Own.")
        assert desk.front.conversation.settings == ConversationSettings(system_prompt="Own.")
        await desk.say("hello")
        await desk.answered()
        assert desk.generator.requests[0].messages[0].content == "Own."

    with_desk(scenario, current=Settings(system_prompt="General."))


def test_the_list_of_shortcuts(with_desk):
    async def scenario(desk):
        desk.key(Qt.Key.Key_F1)
        dialog = await opened(desk, "shortcutsDialog")
        desk.click(dialog.findChild(QPushButton, "closeButton"))
        await until(lambda: not desk.window.findChild(QWidget, "shortcutsDialog"))

    with_desk(scenario)


# --- pages ---------------------------------------------------------------------------------------------------


def test_every_page_is_reached_by_keyboard_and_shows_its_own_fields(qtbot):
    dialog = SettingsDialog(Settings())
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    names = dialog.findChild(QListWidget, "sectionList")
    field_of = {
        "Window": "setting_theme",
        "Model": "setting_pool_tokens",
        "Answers": "setting_system_prompt",
        "Sampling": "setting_temperature",
    }
    names.setFocus()
    for row, shown in enumerate(field_of):
        assert names.item(row).text() == shown
        for page, field in field_of.items():
            assert dialog.findChild(QWidget, field).isVisible() is (page == shown)
        QTest.keyClick(names, Qt.Key.Key_Down)


def test_what_cannot_be_used_is_shown_with_its_page(qtbot):
    dialog = SettingsDialog(Settings())
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    wrong = dialog.findChild(QLineEdit, "setting_logit_bias")
    QTest.keyClicks(wrong, "no token")
    QTest.mouseClick(dialog.findChild(QPushButton, "saveButton"), Qt.MouseButton.LeftButton)
    assert dialog.isVisible()
    assert wrong.isVisible()
    assert dialog.focusWidget() is wrong
