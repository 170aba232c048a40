"""Every control that a person can use has a name for screen readers and one for checks."""

import pytest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabWidget,
    QWidget,
)

from app.ui.commands import COMMANDS
from tests.gui.desk import until

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabWidget,
)
QT_OWN = ("qt_spinbox_lineedit", "ScrollLeftButton", "ScrollRightButton")


def nameless(root):
    found = []
    for control in root.findChildren(QWidget):
        inside = isinstance(control.parent(), (QComboBox, QAbstractSpinBox))
        clear_button = isinstance(control.parent(), QLineEdit)
        popup = control.window() is not root.window()
        if not isinstance(control, CONTROLS) or inside or clear_button or popup:
            continue
        if control.isHidden() or control.objectName() in QT_OWN:
            continue
        if not control.objectName() or not control.accessibleName():
            found.append(
                (
                    type(control).__name__,
                    control.parent(),
                    control.objectName(),
                    control.accessibleName(),
                )
            )
    return found


def test_the_controls_of_the_window_have_names(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        desk.front.composer.attach("Pasted text", "x" * 20_000)
        desk.window.tell("Something failed.")
        assert nameless(desk.window) == []

    with_desk(scenario)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("settings", "settingsDialog"),
        ("chatSettings", "chatSettingsDialog"),
        ("shortcuts", "shortcutsDialog"),
    ],
)
def test_the_controls_of_the_dialogs_have_names(with_desk, command, name):
    async def scenario(desk):
        getattr(desk.window, command)()
        await until(lambda: desk.window.findChild(QWidget, name))
        dialog = desk.find(QWidget, name)
        assert nameless(dialog) == []
        dialog.close()
        await until(lambda: not desk.window.findChild(QWidget, name))

    with_desk(scenario)


def test_the_names_that_outside_checks_rely_on(with_desk):
    async def scenario(desk):
        for name in (
            "chatTabs",
            "conversationList",
            "searchField",
            "composer",
            "sendButton",
            "transcript",
            "newChatButton",
            "modelButton",
            "notice",
        ):
            assert desk.window.findChild(QWidget, name) is not None, name
        assert desk.window.objectName() == "mainWindow"

    with_desk(scenario)


def test_no_key_has_two_meanings():
    keys = [key for command in COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
