"""At the window: a chat that gets full has a summary, which is shown where it stands, as long as it is wanted."""

from PySide6.QtWidgets import QComboBox, QPushButton

from app.chat.ports import Text
from app.settings import Settings
from app.ui.settings_dialog import SettingsDialog
from tests.fakes import FakeGenerator
from tests.gui.desk import until

LONG = "word " * 40
STANDS = "A summary stands for it."


def test_it_is_shown_when_it_is_there_and_goes_when_it_is_not_wanted(with_desk):
    answer = [Text(LONG, tokens=40)]
    generator = FakeGenerator(scripts=[answer, answer, answer, [Text("Of words.")]])
    generator.context_tokens = 300

    async def scenario(desk):
        for number in range(3):
            await desk.say(f"{number} {LONG.strip()}")
            await until(lambda number=number: len(generator.requests) > number, "a turn")
            await desk.answered()
        await until(lambda: STANDS in desk.front.transcript.plain_text(), "the summary")
        texts = [desk.front.transcript.message_text(index) for index in range(6)]
        assert [STANDS in text for text in texts] == [False, False, True, False, False, False]
        desk.window.settings()
        await until(lambda: desk.window.findChild(SettingsDialog))
        choice = desk.find(QComboBox, "setting_when_full")
        assert choice.currentText() == "Summarise its oldest messages"
        choice.setCurrentText("Leave out its oldest messages")
        desk.click(desk.find(QPushButton, "saveButton"))
        await until(lambda: STANDS not in desk.front.transcript.plain_text(), "it is not wanted")
        desk.preferences.update(when_full="summarise")
        await until(lambda: STANDS in desk.front.transcript.plain_text(), "it is wanted again")

    with_desk(scenario, generator=generator, current=Settings(when_full="summarise"))
