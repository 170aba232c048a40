"""The template of the model: shown as data, tried while it is typed, used and taken back; by keyboard too."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QLabel, QPlainTextEdit, QPushButton

from app.chat.model_state import ModelPhase
from app.ui import aio
from app.ui.prompt_view import PromptView
from app.ui.template_text import TemplateText, is_heavy
from tests.fakes import FakeModelHost
from tests.gui.desk import Desk, turns_of_the_loop, until
from tests.gui.test_names import nameless


class Opened:
    """The dialog, opened by its shortcut."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.dialog = desk.find(QDialog, "templateDialog")
        self.text = self.part(TemplateText, "templateText")
        self.choice = self.part(QComboBox, "templateChoice")
        self.preview = self.part(PromptView, "templatePreview")
        self.apply = self.part(QPushButton, "applyTemplateButton")
        self.restore = self.part(QPushButton, "restoreTemplateButton")

    def part(self, kind, name):
        found = self.dialog.findChild(kind, name)
        assert found is not None, name
        return found

    @property
    def verdict(self) -> str:
        return self.part(QLabel, "templateVerdict").text()

    @property
    def in_use(self) -> str:
        return self.part(QLabel, "templateInUse").text()

    async def says(self, words: str) -> None:
        await until(lambda: words in self.verdict, f"{words!r}, not {self.verdict!r}")

    async def close(self) -> None:
        self.dialog.reject()
        await until(lambda: not self.desk.window.findChild(QDialog, "templateDialog"))


async def opened(desk: Desk) -> Opened:
    desk.window.activateWindow()  # no window manager does it here
    await until(desk.window.isActiveWindow, "keys go to the window")
    desk.control(Qt.Key.Key_P, shift=True)
    await until(lambda: desk.window.findChild(QDialog, "templateDialog"), "the dialog")
    return Opened(desk)


def test_it_shows_what_is_in_use_and_what_an_example_becomes(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        assert it.text.template() == "{{ main }}"
        assert [it.choice.itemText(n) for n in range(it.choice.count())] == [
            "The model's own",
            "The model's “tool_use”",
            "Your own",
        ]
        assert it.in_use == "In use: the model's own."
        await it.says("It works.")
        await until(lambda: not it.preview.busy)
        assert "⟦<|turn|>⟧What is the capital of France?" in it.preview.toPlainText()
        assert not it.apply.isEnabled()
        assert not it.restore.isEnabled()
        assert QApplication.focusWidget() is it.text
        assert nameless(it.dialog) == []
        await it.close()

    with_desk(scenario)


def test_an_edit_is_tried_applied_and_taken_back(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        prompts = desk.host.prompt_format
        it.text.moveCursor(it.text.textCursor().MoveOperation.End)
        QTest.keyClicks(it.text, " mine")
        assert it.choice.currentText() == "Your own"
        await it.says("It works.")
        assert prompts.tried[-1] == "{{ main }} mine"
        assert "is not in use yet" in it.in_use
        assert prompts.present == ""
        desk.click(it.apply)
        await until(lambda: prompts.present == "{{ main }} mine")
        await until(lambda: it.in_use.startswith("In use: edited by you."), it.in_use)
        assert "next message of every chat with this model is read anew" in it.in_use
        assert not it.apply.isEnabled()
        desk.click(it.restore)
        await until(lambda: prompts.present == "")
        await until(lambda: it.text.template() == "{{ main }}")
        assert it.choice.currentText() == "The model's own"
        await it.close()

    with_desk(scenario)


def test_a_bad_one_is_refused_with_its_line_and_does_not_count(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        await it.says("It works.")
        it.text.setPlainText("one\ntwo\nBAD\nfour")
        await it.says("Line 3: It says: 'BAD' is undefined")
        (mark,) = it.text.extraSelections()
        assert mark.cursor.block().text() == "BAD"
        assert it.preview.toPlainText() == ""
        assert not it.apply.isEnabled()
        it.text.setPlainText("good")
        assert it.apply.isEnabled()
        await it.says("It works.")
        assert it.text.extraSelections() == []
        await it.close()

    with_desk(scenario)


def test_one_that_is_too_slow_says_so_and_typing_goes_on(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        await it.says("It works.")
        prompts = desk.host.prompt_format
        prompts.gate = asyncio.Event()
        it.text.setPlainText("SLOW")
        await until(lambda: prompts.tried[-1] == "SLOW")
        assert it.verdict == "Checking…"
        it.text.setPlainText("SLOW and more")
        await until(lambda: prompts.withdrawn == 1, "what does not count any more is withdrawn")
        await until(lambda: prompts.tried[-1] == "SLOW and more")
        prompts.gate.set()
        await it.says("took longer")
        await it.close()

    with_desk(scenario)


def test_a_named_template_can_be_chosen(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        it.choice.setFocus()
        QTest.keyClick(it.choice, Qt.Key.Key_Down)
        assert it.text.template() == "{{ tools }}"
        desk.click(it.apply)
        await until(lambda: desk.host.prompt_format.present == "{{ tools }}")
        await it.close()

    with_desk(scenario)


def test_what_was_typed_and_not_used_is_there_again(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        it.text.setPlainText("half done")
        QTest.keyClick(it.dialog, Qt.Key.Key_Escape)
        await until(lambda: not desk.window.findChild(QDialog, "templateDialog"))
        assert desk.host.prompt_format.present == ""
        it = await opened(desk)
        assert it.text.template() == "half done"
        assert "is not in use yet" in it.in_use
        await it.close()

    with_desk(scenario)


def test_a_failure_to_keep_it_is_told_in_the_dialog(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        desk.host.prompt_format.refusal = "The template could not be saved: no room."
        it.text.setPlainText("good")
        await it.says("It works.")
        desk.click(it.apply)
        await it.says("no room")
        assert it.apply.isEnabled()
        await it.close()

    with_desk(scenario)


@pytest.mark.parametrize("refusal", ["", "There is no room."])
def test_who_leaves_while_it_is_applied_is_told_only_what_went_wrong(with_desk, refusal):
    async def scenario(desk):
        it = await opened(desk)
        prompts = desk.host.prompt_format
        prompts.refusal, prompts.use_gate = refusal, asyncio.Event()
        it.text.setPlainText("good")
        await it.says("It works.")
        desk.click(it.apply)
        QTest.keyClick(it.dialog, Qt.Key.Key_Escape)
        assert it.dialog.isHidden()
        prompts.use_gate.set()
        await until(lambda: not desk.window.findChild(QDialog, "templateDialog"))
        assert prompts.present == ("" if refusal else "good")
        assert ("There is no room." in desk.window.banner.text()) is bool(refusal)

    with_desk(scenario)


def test_a_fault_is_told_and_leaves_the_dialog_as_it_was(with_desk):
    async def scenario(desk):
        it = await opened(desk)
        await it.says("It works.")
        prompts = desk.host.prompt_format
        faults: list[BaseException] = []
        aio.report_to(faults.append)
        prompts.fault = RuntimeError("a bug")
        it.text.setPlainText("good")
        await it.says("could not be tried, by a fault in Tutti")
        await until(lambda: faults == [prompts.fault], "it is reported")
        prompts.fault = None
        it.text.setPlainText("very good")
        await it.says("It works.")
        prompts.fault = RuntimeError("another")
        desk.click(it.apply)
        await it.says("could not be used, by a fault in Tutti")
        await until(lambda: faults[1:] == [prompts.fault], "this one too")
        assert prompts.present == ""
        prompts.fault = None
        desk.click(it.apply)
        await until(lambda: prompts.present == "very good")
        await it.close()

    with_desk(scenario)


def test_asked_for_twice_it_opens_once_and_the_other_one_does_not_cover_it(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        prompts = desk.host.prompt_format
        prompts.list_gate = asyncio.Event()
        desk.window.activateWindow()
        await until(desk.window.isActiveWindow, "keys go to the window")
        for key in (Qt.Key.Key_P, Qt.Key.Key_P, Qt.Key.Key_E):
            desk.control(key, shift=True)
        await until(lambda: prompts.listed == 1)
        await turns_of_the_loop()
        assert not desk.window.findChildren(QDialog)
        prompts.list_gate.set()
        await until(lambda: desk.window.findChild(QDialog, "templateDialog"), "the dialog")
        await turns_of_the_loop()
        assert prompts.listed == 1
        assert [one.objectName() for one in desk.window.findChildren(QDialog)] == ["templateDialog"]
        await Opened(desk).close()

    with_desk(scenario)


def test_templates_of_a_model_that_went_meanwhile_are_not_shown(with_desk):
    async def scenario(desk):
        prompts = desk.host.prompt_format
        prompts.list_gate = asyncio.Event()
        desk.window.activateWindow()
        await until(desk.window.isActiveWindow, "keys go to the window")
        desk.control(Qt.Key.Key_P, shift=True)
        await until(lambda: prompts.listed == 1)
        desk.host.move(path="/models/other.gguf")
        prompts.list_gate.set()
        await until(lambda: "The model was changed" in desk.window.banner.text(), "it is told")
        assert not desk.window.findChild(QDialog, "templateDialog")

    with_desk(scenario)


def test_with_another_model_the_dialog_goes(with_desk):
    async def scenario(desk):
        await opened(desk)
        desk.host.move(path="/models/other.gguf")
        await until(lambda: not desk.window.findChild(QDialog, "templateDialog"))

    with_desk(scenario)


def test_the_menu_of_the_model_leads_to_it_where_there_is_one(with_desk):
    host = FakeModelHost()

    async def scenario(desk):
        action = next(
            action
            for action in desk.window.model_button.menu().actions()
            if action.objectName() == "promptTemplateMenuAction"
        )
        host.move(phase=ModelPhase.UNLOADED)
        assert not action.isVisible()
        host.move(phase=ModelPhase.READY)
        assert action.isVisible()
        action.trigger()
        await until(lambda: desk.window.findChild(QDialog, "templateDialog"))
        await Opened(desk).close()

    with_desk(scenario, host=host)


def test_the_status_line_names_a_format_that_is_not_the_models_own(with_desk):
    async def scenario(desk):
        assert "prompt format" not in desk.window.status.text()
        desk.host.move(format_name="ChatML")
        assert "prompt format: ChatML" in desk.window.status.text()

    with_desk(scenario)


# --- hostile texts -------------------------------------------------------------------------------------------

HOSTILE = (
    "<b>bold</b><img src='file:///etc/passwd'>{# \u202e #}\u200b\u00a0\u2028\x00\r\n"
    "\u2066{{ x }}\u2069\ufdd0 ⟨U+202E⟩ 你好 שלום"
)


@pytest.mark.parametrize("text", [HOSTILE, "\r\n\r", "a\u2029b", "⟨U+27E8⟩U+0000⟩"])
def test_the_editor_shows_everything_and_means_it_exactly(qtbot, text):
    editor = TemplateText()
    qtbot.addWidget(editor)
    editor.set_template(text)
    assert editor.template() == text
    assert not {"\u202e", "\u200b", "\x00", "\u2066"} & set(editor.toPlainText())
    assert "<b>" not in text or "<b>bold</b>" in editor.toPlainText()


def test_a_code_that_is_typed_is_the_character(qtbot):
    editor = TemplateText()
    qtbot.addWidget(editor)
    editor.setPlainText("a⟨U+202E⟩b")
    assert editor.template() == "a\u202eb"


@pytest.mark.parametrize("text", ["x" * 1_000_000, "x\n" * 20_000])
def test_a_template_too_large_to_lay_out_is_shown_in_part_and_kept_whole(qtbot, text):
    editor = TemplateText()
    qtbot.addWidget(editor)
    assert is_heavy(text)
    editor.set_template(text)
    assert editor.isReadOnly()
    assert editor.template() == text
    lines = editor.toPlainText().split("\n")
    assert len(lines) <= 10_000
    assert max(map(len, lines)) <= 30_001


def test_a_hostile_template_of_a_model_is_listed_as_text(with_desk):
    host = FakeModelHost()
    host.prompt_format.own = {"": HOSTILE, "<b>&x\u202e": "y"}

    async def scenario(desk):
        it = await opened(desk)
        assert it.text.template() == HOSTILE
        await it.says("It works.")
        await until(lambda: not it.preview.busy)
        assert "⟨U+202E⟩" in it.preview.toPlainText()
        plain = [*it.dialog.findChildren(QPlainTextEdit), *it.dialog.findChildren(QLabel)]
        assert all(not isinstance(one, QLabel) or one.textFormat() == Qt.TextFormat.PlainText for one in plain)  # fmt: skip
        await it.close()

    with_desk(scenario, host=host)
