"""Sizes follow the system's font, and everything stays inside the window (case 92)."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFont, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from app.chat.model_state import ModelPhase, ModelState
from app.chat.models import Conversation, Role
from app.settings import Settings
from app.ui import geometry, icons, theme
from app.ui.actions import row_width, words_of
from app.ui.chat_settings_dialog import ChatSettingsDialog
from app.ui.commands import ShortcutsDialog
from app.ui.message_frame import Verb
from app.ui.plain import ElidedLabel
from app.ui.sections import Sections
from app.ui.settings_dialog import SettingsDialog
from app.ui.transcript import Transcript
from tests.fakes import FakeModelHost
from tests.gui.desk import turns_of_the_loop, until
from tests.gui.transcripts import Chat


def system_font(points):
    font = QFont("Sans")
    font.setPointSizeF(points)
    return font


@pytest.fixture
def sized(qapp):
    """Apply the theme as on a system with a font of so many points."""

    def apply(points):
        theme.apply(qapp, "light", system_font(points))
        return theme.scale()

    yield apply
    theme.apply(qapp, "light", system_font(10))


@pytest.mark.parametrize(
    ("points", "scale"), [(9, 1.0), (9.75, 1.0), (10, 1.0), (8, 0.9), (12, 1.2), (1, 0.75)]
)
def test_the_scale_follows_the_systems_font(sized, points, scale):
    assert sized(points) == pytest.approx(scale, abs=0.04)
    assert QFontInfo(theme.body_font()).pixelSize() == theme.px(theme.BODY_PX)
    assert theme.mono_font().pixelSize() == theme.px(theme.MONO_PX)


def test_it_leaves_the_screen_room_for_the_window(sized):
    height = QApplication.primaryScreen().availableGeometry().height()
    assert sized(200) <= height / theme.LOWEST + 0.04
    assert theme.px(geometry.SMALLEST[1]) <= height + 20


def test_a_switch_of_the_theme_keeps_the_scale(sized, qapp):
    sized(15)
    theme.apply(qapp, "dark")
    assert theme.scale() == pytest.approx(1.5, abs=0.04)


def test_a_transcript_grows_with_the_font(sized, qtbot):
    heights = {}
    for points in (10, 15):
        sized(points)
        view = Transcript()
        qtbot.addWidget(view)
        view.resize(700, 500)
        view.show()
        chat = Chat()
        text = "# Head\n\ntext\n\n- item\n\n```\ncode\n```\n\n| a |\n|---|\n| 1 |\n"
        view.set_messages([chat.user("q"), chat.answer(text)])
        heights[points] = view.flow.total
        view.hide()
    assert heights[15] > 1.3 * heights[10]


# --- nothing is cut -----------------------------------------------------------------------------------------------


def cut_off(root):
    """Controls that are out of the window or smaller than what they show needs."""
    found = []
    for child in root.findChildren(QWidget):
        if not child.isVisible() or child.window() is not root.window():
            continue
        if isinstance(child, QLabel) and not isinstance(child, ElidedLabel):
            needed = (
                child.heightForWidth(child.width())
                if child.wordWrap()
                else child.sizeHint().height()
            )
            if child.text() and child.height() < needed:
                found.append(("label", child.text(), child.size(), needed))
        if isinstance(child, (QAbstractButton, QLineEdit, QComboBox, QAbstractSpinBox)):
            if isinstance(child.parent(), (QAbstractSpinBox, QLineEdit, QComboBox)):
                continue
            line = child.fontMetrics().height()
            if child.height() < line or outside(child, root) or hidden_words(child):
                found.append((type(child).__name__, child.objectName(), child.geometry(), line))
    return found


def outside(child, root):
    area = QRect(child.mapTo(root, QPoint(0, 0)), child.size())
    scrolled = any(isinstance(p, QWidget) and p.objectName() in SCROLLED for p in parents(child))
    return not scrolled and not root.rect().contains(area)


SCROLLED = ("sectionArea", "chatSettingsArea", "shortcutsArea", "transcript", "chatTabBar")


def parents(child):
    while (child := child.parent()) is not None:
        yield child


def hidden_words(child):
    if not isinstance(child, QAbstractButton) or not child.text():
        return False
    if getattr(child, "toolButtonStyle", None) and (
        child.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
    ):
        return False
    return child.width() < QFontMetricsF(child.font()).horizontalAdvance(child.text())


@pytest.mark.parametrize("points", [8, 10, 16, 24])
def test_the_controls_beside_the_tabs_stand_in_the_middle_of_the_row(sized, with_desk, points):
    sized(points)

    async def scenario(desk):
        await turns_of_the_loop()
        tabs = desk.window.tabs
        row = tabs.tabBar().geometry()
        for name in ("sidebarButton", "newTabButton", "modelButton", "menuButton"):
            control = desk.find(QAbstractButton, name)
            middle = control.mapTo(tabs, control.rect().center()).y()
            assert abs(middle - row.center().y()) <= 2, name

    with_desk(scenario)


@pytest.mark.parametrize("points", [8, 10, 16, 24])
def test_no_view_of_the_smallest_window_is_cut(sized, with_desk, points):
    sized(points)

    async def scenario(desk):
        desk.window.resize(desk.window.minimumSize())
        await turns_of_the_loop()
        assert cut_off(desk.window) == []
        desk.host.move(phase=ModelPhase.LOADING, name="A model " * 5, fraction=0.5)
        await turns_of_the_loop()
        assert cut_off(desk.window) == []
        desk.host.move(phase=ModelPhase.READY)
        await desk.say("hello")
        await desk.answered()
        desk.front.composer.attach("Pasted text", "x" * 20_000)
        desk.front.composer.edit.insertPlainText("one\ntwo")
        desk.window.tell("This needs more room than there is. Shorten the text.")
        await turns_of_the_loop()
        assert cut_off(desk.window) == []
        assert desk.front.composer.edit.height() >= desk.front.composer.edit.fontMetrics().height()

    host = FakeModelHost()
    host.state = ModelState()
    with_desk(scenario, host=host, current=Settings(theme="light"))


@pytest.mark.parametrize("points", [8, 10, 24])
def test_no_dialog_is_cut(sized, qtbot, points):
    sized(points)
    chat = Conversation(1, "A title", 0.0, 0.0)
    for dialog in (
        SettingsDialog(Settings()),
        ChatSettingsDialog(chat, Settings()),
        ShortcutsDialog(),
    ):
        qtbot.addWidget(dialog)
        with qtbot.waitExposed(dialog):
            dialog.show()
        assert dialog.screen().availableGeometry().size().width() >= dialog.width()
        assert dialog.screen().availableGeometry().size().height() >= dialog.height()
        sections = dialog.findChild(Sections)
        for page in sections.names if sections else [None]:
            if page:
                sections.show_page(page)
            assert cut_off(dialog) == []
        dialog.close()


def test_the_composer_leaves_room_to_read(with_desk):
    async def scenario(desk):
        desk.window.resize(800, 440)
        desk.front.composer.edit.setPlainText("line\n" * 40)
        await until(lambda: desk.front.composer.edit.height() < 0.5 * desk.front.height())
        desk.window.resize(800, 900)
        await until(lambda: desk.front.composer.edit.height() > 180)

    with_desk(scenario)


# --- one look -----------------------------------------------------------------------------------------------------


def text_left(editor):
    """Where the text of a field begins, from the field's left edge."""
    line = editor if isinstance(editor, QLineEdit) else editor.lineEdit()
    line.home(False)
    left = line.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).left()
    return left if line is editor else line.mapTo(editor, QPoint(left, 0)).x()


def test_fields_of_both_dialogs_look_alike(sized, qtbot):
    sized(10)
    lefts, heights = set(), set()
    chat = Conversation(1, "A title", 0.0, 0.0)
    for dialog in (SettingsDialog(Settings()), ChatSettingsDialog(chat, Settings())):
        qtbot.addWidget(dialog)
        with qtbot.waitExposed(dialog):
            dialog.show()
        for kind in (QAbstractSpinBox, QLineEdit):
            for editor in dialog.findChildren(kind):
                if not isinstance(editor.parent(), QAbstractSpinBox):
                    lefts.add(text_left(editor))
                    heights.add(editor.height())
        for choice in dialog.findChildren(QComboBox):
            heights.add(choice.height())
        for area in dialog.findChildren(QPlainTextEdit):
            assert area.width() == dialog.findChildren(QAbstractSpinBox)[0].width()
        dialog.close()
    assert len(lefts) == 1
    assert len(heights) == 1


def test_marks_and_icons_grow_with_the_text(sized):
    sized(10)
    assert icons.small() == 16
    sized(15)
    assert icons.small() == theme.px(icons.SMALL) > 20
    assert icons.icon("plus", "#000000").actualSize(
        icons.icon("plus", "#000000").availableSizes()[0]
    )


def test_the_role_of_a_message_does_not_change_its_size(sized, qtbot):
    sized(12)
    view = Transcript()
    qtbot.addWidget(view)
    view.resize(700, 500)
    chat = Chat()
    view.set_messages([chat.say(Role.USER, "same"), chat.say(Role.ASSISTANT, "same")])
    view.show()
    first, second = (entry.blocks[1].height for entry in view.flow.entries)
    assert first == second
    view.hide()


def test_the_room_of_the_buttons_follows_the_font_back_and_forth(sized):
    verbs = (Verb.COPY_ANSWER, Verb.PROMPT)
    widths = []
    for points in (10, 14, 10):
        sized(points)
        metrics = QFontMetricsF(theme.body_font(theme.SMALL_PX))
        words = sum(metrics.horizontalAdvance(words_of(verb)[0]) for verb in verbs)
        widths.append(row_width(verbs))
        assert widths[-1] >= words
    assert widths[0] == widths[2] < widths[1]
