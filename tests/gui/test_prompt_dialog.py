"""The exact prompt of a turn: what was fed, control tokens apart from content, every character to be seen."""

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QFont, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QMenu, QPushButton

from app.prompting import FedPrompt, PromptSpan, PromptText
from app.ui import aio
from app.ui.prompt_control import ANEW, AS_FED, OTHER_MODEL
from app.ui.prompt_view import LINE, PromptView, pieces
from app.ui.token_list import TokenList
from tests.gui.desk import Desk, until
from tests.gui.test_names import nameless


def fed(text: str, model: str = "fake") -> FedPrompt:
    """A prompt of ten tokens, as many as the fake model counts."""
    tokens = (0, *map(ord, text.ljust(9)))
    assert len(tokens) == 10
    return FedPrompt(model, tokens)


class Opened:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.dialog = desk.find(QDialog, "promptDialog")
        self.view = self.part(PromptView, "promptView")

    def part(self, kind, name):
        found = self.dialog.findChild(kind, name)
        assert found is not None, name
        return found

    @property
    def note(self) -> str:
        return self.part(QLabel, "promptNote").text()

    async def says(self, words: str) -> None:
        await until(lambda: words in self.note, f"{words!r}, not {self.note!r}")
        await until(lambda: not self.view.busy)

    async def close(self) -> None:
        self.dialog.reject()
        await until(lambda: not self.desk.window.findChild(QDialog, "promptDialog"))


async def opened(desk: Desk) -> Opened:
    await until(lambda: desk.window.findChild(QDialog, "promptDialog"), "the dialog")
    return Opened(desk)


async def asked(desk: Desk, text: str = "hello") -> None:
    await desk.say(text)
    await desk.answered()


def prompt_button(desk: Desk) -> QPushButton:
    return next(
        button
        for button in desk.front.transcript.action_buttons()
        if button.objectName() == "promptButton"
    )


def choose_prompt(menu: QMenu) -> None:
    """What a click on the row of the menu does; this platform shows no menus."""
    next(a for a in menu.actions() if a.objectName() == "showPromptAction").trigger()


def test_what_was_fed_is_shown_with_its_control_tokens_apart(with_desk):
    async def scenario(desk):
        desk.generator.prompts[desk.front.id] = fed("hello")
        await asked(desk)
        await until(desk.front.transcript.action_buttons)
        button = prompt_button(desk)
        assert button.accessibleName() == "Show exact prompt"
        desk.click(button)
        it = await opened(desk)
        await it.says(AS_FED)
        assert it.view.toPlainText() == "⟦<|turn|>⟧hello    "
        assert "10 tokens, of which 1 control token" in it.part(QLabel, "promptFigures").text()
        assert nameless(it.dialog) == []
        assert "between ⟦ and ⟧" in it.view.accessibleDescription()
        await it.close()

    with_desk(scenario)


def test_an_old_turn_is_rendered_anew_and_says_so(with_desk):
    async def scenario(desk):
        await asked(desk)
        desk.control(Qt.Key.Key_E, shift=True)
        it = await opened(desk)
        await it.says(ANEW)
        assert it.view.toPlainText() == "⟦<|turn|>⟧hello"
        await it.close()

    with_desk(scenario)


def test_a_turn_of_another_model_is_rendered_for_this_one(with_desk):
    async def scenario(desk):
        desk.generator.prompts[desk.front.id] = fed("strange", model="another")
        await asked(desk)
        desk.control(Qt.Key.Key_E, shift=True)
        it = await opened(desk)
        await it.says(OTHER_MODEL)
        assert it.view.toPlainText() == "⟦<|turn|>⟧hello"
        await it.close()

    with_desk(scenario)


def test_tokens_on_demand_and_copies_are_exact(with_desk):
    async def scenario(desk):
        desk.generator.prompts[desk.front.id] = prompt = fed("a\n⟦\u202e\u00a0b")
        await asked(desk)
        desk.control(Qt.Key.Key_E, shift=True)
        it = await opened(desk)
        await it.says(AS_FED)
        assert it.view.toPlainText().startswith("⟦<|turn|>⟧a\n⟨U+27E6⟩⟨U+202E⟩⟨U+00A0⟩b")
        copy = it.part(QPushButton, "promptCopyButton")
        desk.click(copy)
        assert QGuiApplication.clipboard().text() == "<|turn|>a\n⟦\u202e\u00a0b" + " " * 3
        desk.click(it.part(QPushButton, "promptTokensButton"))
        tokens = it.part(TokenList, "promptTokens")
        rows = [tokens.model().index(n, 0).data().split(maxsplit=2) for n in range(5)]
        assert rows[0] == ["1", "0", "⟦<|turn|>⟧"]
        assert rows[2] == ["3", "10", "↵"]
        assert rows[4] == ["5", str(0x202E), "⟨U+202E⟩"]
        assert copy.accessibleName() == "Copy ids"
        desk.click(copy)
        assert QGuiApplication.clipboard().text() == " ".join(map(str, prompt.tokens))
        await it.close()

    with_desk(scenario)


def test_the_menu_of_a_message_leads_to_its_own_turn(with_desk):
    async def scenario(desk):
        await asked(desk, "first")
        desk.seen.clear()
        await asked(desk, "second")
        view = desk.front.transcript
        await until(lambda: view.flow.spots)
        spot = next(s for s in view.flow.spots if s.entry == 0)
        at = QPoint(view.column()[0] + 20, spot.y + 30)
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.mapToGlobal(at))
        choose_prompt(view.menu_of(event))
        it = await opened(desk)
        await it.says(ANEW)
        assert it.view.toPlainText() == "⟦<|turn|>⟧first"
        await it.close()

    with_desk(scenario)


def test_by_keyboard_the_menu_is_for_the_last_message(with_desk):
    async def scenario(desk):
        await asked(desk, "first")
        desk.seen.clear()
        await asked(desk, "second")
        view = desk.front.transcript
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), QPoint(5, 5))
        choose_prompt(view.menu_of(event))
        it = await opened(desk)
        await it.says(ANEW)
        assert it.view.toPlainText() == "⟦<|turn|>⟧first⟦<|turn|>⟧Hello.⟦<|turn|>⟧second"
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)  # Close has the focus
        await until(lambda: not desk.window.findChild(QDialog, "promptDialog"))

    with_desk(scenario)


def test_why_there_is_nothing_to_show_is_told(with_desk):
    async def scenario(desk):
        await asked(desk)
        await desk.store.delete_conversation(desk.front.id)
        desk.control(Qt.Key.Key_E, shift=True)
        it = await opened(desk)
        await it.says("The prompt cannot be shown. This chat was deleted.")
        assert not it.part(QPushButton, "promptCopyButton").isEnabled()
        await it.close()

    with_desk(scenario)


def test_a_fault_is_told_too(with_desk):
    async def scenario(desk):
        await asked(desk)
        faults: list[BaseException] = []
        aio.report_to(faults.append)
        desk.host.prompt_format.fault = RuntimeError("a bug")
        desk.control(Qt.Key.Key_E, shift=True)
        it = await opened(desk)
        await it.says("by a fault in Tutti")
        await until(lambda: faults == [desk.host.prompt_format.fault], "it is reported")
        await it.close()

    with_desk(scenario)


# --- the view ------------------------------------------------------------------------------------------------


@pytest.fixture
def view(qtbot) -> PromptView:
    made = PromptView("promptView", "Prompt")
    qtbot.addWidget(made)
    return made


def test_control_tokens_look_other_than_content_that_imitates_them(qtbot, view):
    spans = (PromptSpan("<|end|>", control=True), PromptSpan("⟦<|end|>⟧"))
    view.show_prompt(PromptText(spans))
    qtbot.waitUntil(lambda: not view.busy)
    assert view.toPlainText() == "⟦<|end|>⟧⟨U+27E6⟩<|end|>⟨U+27E7⟩"
    ranges = view.document().firstBlock().textFormats()
    heavy = [part.format.fontWeight() == QFont.Weight.DemiBold for part in ranges]
    assert heavy == [True, False]


@pytest.mark.parametrize(
    "spans",
    [
        (PromptSpan("x" * 300_000),),
        (PromptSpan("word " * 60_000),),
        (PromptSpan("line\n" * 20_000),),
        (PromptSpan("<|t|>", control=True), PromptSpan("x")) * 10_000,
        (PromptSpan("\u202e" * 100_000),),
    ],
    ids=["unbroken", "words", "lines", "controls", "hidden"],
)
def test_a_long_prompt_comes_in_pieces_that_can_be_laid_out(spans):
    made = list(pieces(PromptText(spans)))
    assert max(len(text) for text, _ in made) <= LINE * len("⟨U+202E⟩")
    line = room = 0
    for text, _ in made:
        for part in text.splitlines(keepends=True):
            line += len(part)
            room = max(room, line)
            line = 0 if part.endswith("\n") else line
    assert room <= (LINE + 10) * len("⟨U+202E⟩")
    content = "".join(text for text, marked in made if not marked)
    assert content.count("x") == "".join(s.text for s in spans if not s.control).count("x")


def test_what_is_cleared_while_it_is_still_coming_stays_empty(qtbot, view):
    view.show_prompt(PromptText((PromptSpan("line\n" * 200_000),)))
    assert view.busy
    view.clear()
    assert not view.busy
    assert view.toPlainText() == ""
    QApplication.sendEvent(view, QEvent(QEvent.Type.PaletteChange))
    assert view.toPlainText() == ""


def test_a_new_prompt_takes_the_place_of_one_that_is_still_coming(qtbot, view):
    view.show_prompt(PromptText((PromptSpan("line\n" * 200_000),)))
    assert view.busy
    view.show_prompt(PromptText((PromptSpan("short"),)))
    qtbot.waitUntil(lambda: not view.busy)
    assert view.toPlainText() == "short"
